#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The queue is in the order of submission, also after a restart of the
# controller: the order is by the time at which a job could first have run,
# which a user cannot set.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller
root() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
cluster_agent n1 --topology 'package:1 core:1 pu:1' --heartbeat 300ms
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
home=$cluster/home/kilntest1
one() { as kilntest1 "$@"; }
submit() { # NAME [OPTION...]: submits a job that writes its name when it runs; prints its number
    submit_name=$1
    shift
    one ksub --parsable -J "$submit_name" -c 1 -o /dev/null "$@" \
        --wrap "echo $submit_name >>order"
}
eligible() {
    root get "$@" -o json | jq -r '.metadata.annotations["kiln.hpc/eligible-at"]'
}
state_is() { root get job "$1" --no-headers | grep -qw "$2"; }
order() { tr '\n' ' ' <"$home/order"; }
has_run() { [ "$(wc -l <"$home/order")" -ge "$1" ]; }

blocker=$(one ksub --parsable -c 1 -o /dev/null --wrap 'sleep 1000')
ok "a job occupies the only core" wait_for 20 state_is "$blocker" Running

# These jobs are submitted first, but held back. They may not run before jobs
# that could run earlier.
hoarded=$(submit hoarded -H)
begun=$(submit begun --begin now+1hour)
submit a >/dev/null
submit b >/dev/null
one kctl create -f - >/dev/null <<TXT
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "array"},
 "spec": {"completions": 2, "parallelism": 2, "completionMode": "Indexed",
  "template": {"spec": {"restartPolicy": "Never", "containers": [{
   "name": "main", "image": "host", "workingDir": "$home",
   "command": ["sh", "-c", "echo array >>order"],
   "resources": {"requests": {"cpu": "1"}}}]}}}}
TXT
submit c >/dev/null
gone=$(eligible job "job-$hoarded")
one kctl release "$hoarded" >/dev/null
ok "a release sets the time anew" \
    test "$(eligible job "job-$hoarded")" \> "$gone"
curl -s --unix-socket "$cluster/state/socket" -X PATCH \
    -H 'Content-Type: application/merge-patch+json' \
    -d '{"spec": {"beginTime": "2020-01-01T00:00:00Z"}}' \
    "http://kiln/apis/batch/v1/namespaces/default/jobs/job-$begun" \
    >"$cluster/log/begin"
ok "an earlier begin time sets the time anew" \
    test "$(eligible job "job-$begun")" \> "$(eligible job "job-$hoarded")"
ok "that time is not in the future" \
    test "$(eligible job "job-$begun")" \< "$(date -u +%Y-%m-%dT%H:%M:%S --date '5 minutes')"
one kctl annotate job "job-$hoarded" --overwrite \
    kiln.hpc/eligible-at=1970-01-01T00:00:00.000000Z >/dev/null 2>&1
ok "a user cannot set the annotation" \
    test "$(eligible job "job-$hoarded")" \> "$gone"
waits() { root get pod "$1" -o json | grep -q '"phase": *"Pending"'; }
ok "all jobs wait" wait_for 20 waits "job-$begun-0"
is "pods have the time of their job" "$(eligible pod array-1)" \
    "$(eligible job array)"

stop controller KILL
cluster_controller
ok "the node is Ready again after a kill of the controller" \
    wait_for 20 root wait --for condition=Ready node n1
one kctl cancel "$blocker" >/dev/null
ok "all jobs run after the restart" wait_for 30 has_run 7
is "they run in the order of the times" \
    "$(order)" "a b array array c hoarded begun "
finish
