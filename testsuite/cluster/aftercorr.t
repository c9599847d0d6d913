#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aftercorr: each task of an array starts when the task of the same number in
# another array has completed, and is cancelled when that can no longer happen,
# also if the controller is killed meanwhile.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:8 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

state() { root get job "job-$1" -o json | jq -r '.status.state // "Pending"'; }
has_state() { [ "$(state "$1")" = "$2" ]; }
# tasks ID: prints each task with its state, "1:Completed 2:Failed".
tasks() {
    as kilntest1 curl -s --unix-socket "$cluster/socket" \
        "http://kiln/apis/batch/v1/namespaces/default/jobs/job-$1/elements" |
        jq -r '[.items[] | "\(.task):\(.state)"] | join(" ")'
}
are() { tasks "$1" | grep -qE "^$2\$"; }

mkdir -m 777 "$cluster/go"
# shellcheck disable=SC2016 # for the script
wait_script='while [ ! -e '"$cluster/go"'/$KILN_ARRAY_TASK_ID ]; do sleep 0.1; done
    [ $KILN_ARRAY_TASK_ID != 7 ]'
a=$(submit -a 3,5,7,9 -t 5 --wrap "$wait_script")
b=$(submit -a 5-7 -d "aftercorr:$a" --wrap true)
c=$(submit -a 5 -d "aftercorr:$b" --wrap true)
d=$(submit -a 7 -d "aftercorr:$a" --wrap true)
e=$(submit -d "aftercorr:$a" --wrap true)
wait_for 20 has_state "$a" Running
ok "no task starts before the task that it waits for has completed" \
    has_state "$c" Pending
: >"$cluster/go/5"
ok "an array of one task that waits for task 5 of such an array completes" \
    wait_for 30 has_state "$c" Completed
ok "the first array still runs" has_state "$a" Running
ok "a task without a counterpart is cancelled, and one whose counterpart runs waits" \
    wait_for 20 are "$b" '5:Completed 6:Cancelled 7:Pending'

signal controller KILL
await_end controller || bail_out "the controller lives"
cluster_controller --socket "$cluster/socket"
ok "the states of the tasks are the same after the controller was killed" \
    wait_for 20 are "$b" '5:Completed 6:Cancelled 7:Pending'
: >"$cluster/go/7"
ok "a task whose counterpart failed is cancelled" \
    wait_for 30 has_state "$b" Cancelled
like "the list of jobs says why" "$(as kilntest1 kctl jobs --all-users --no-headers \
    | awk -v id="$b" '$1 ~ "^" id')" "have not completed"
ok "an array that has only that task is cancelled, too" \
    wait_for 20 has_state "$d" Cancelled
ok "a job that is not an array waits for all tasks" has_state "$e" Pending
: >"$cluster/go/3"
: >"$cluster/go/9"
ok "it is cancelled when all have ended, because one failed" \
    wait_for 30 has_state "$e" Cancelled
f=$(submit -a 3,5,7 -d "aftercorr:$a" --wrap true)
ok "an array that has already ended is known task by task" \
    wait_for 30 are "$f" '3:Completed 5:Completed 7:Cancelled'
finish
