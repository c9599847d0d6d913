#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Elements of an array start when those of another array with the same task ids
# have completed, and end when these never will, also over a kill.

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

submit() { as kilntest1 ksub --parsable "$@"; }
state() { root get job "job-$1" -o json | jq -r '.status.state // "Pending"'; }
has_state() { [ "$(state "$1")" = "$2" ]; }
# tasks ID: each with its state, "1:Completed 2:Failed".
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
ok "nothing starts before" has_state "$c" Pending
: >"$cluster/go/5"
ok "the array of one task that waits for that completes" \
    wait_for 30 has_state "$c" Completed
ok "while the others go on" has_state "$a" Running
ok "a task that the other array does not have ends, one that waits waits" \
    wait_for 20 are "$b" '5:Completed 6:Cancelled 7:Pending'

signal controller KILL
await_end controller || bail_out "the controller lives"
cluster_controller --socket "$cluster/socket"
ok "what has ended is known after a kill" \
    wait_for 20 are "$b" '5:Completed 6:Cancelled 7:Pending'
: >"$cluster/go/7"
ok "what waits for a task that failed ends" wait_for 30 has_state "$b" Cancelled
like "and says why" "$(as kilntest1 kctl jobs --all --no-headers \
    | awk -v id="$b" '$1 ~ "^" id')" "have not completed"
ok "so does the array of that task alone" wait_for 20 has_state "$d" Cancelled
ok "a job that is no array waits for all" has_state "$e" Pending
: >"$cluster/go/3"
: >"$cluster/go/9"
ok "and in vain, for one has failed" wait_for 30 has_state "$e" Cancelled
f=$(submit -a 3,5,7 -d "aftercorr:$a" --wrap true)
ok "of an array that has ended each task is known" \
    wait_for 30 are "$f" '3:Completed 5:Completed 7:Cancelled'
finish
