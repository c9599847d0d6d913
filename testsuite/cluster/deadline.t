#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job must end before its deadline: a job that cannot end before is refused,
# or ends as soon as that is known, and a job that still runs then is ended.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
submit() { as kilntest1 ksub --parsable "$@" 2>&1; }
state_is() { [ "$(root get job "$1" -o json | jq -r .status.state)" = "$2" ]; }

like "a deadline in the past is refused" \
    "$(submit --deadline 2020-01-01 --wrap true)" 'Deadline: the deadline .* is in the past'
like "a deadline before the end of the time limit is refused" \
    "$(submit --deadline now+10minutes -t 20 --wrap true)" \
    'Deadline: there is not enough time for the time limit of 0:20:00 before'
like "a deadline before the end of the time limit after --begin is refused" \
    "$(submit --begin now+1hour --deadline now+61minutes -t 5 --wrap true)" \
    'Deadline: there is not enough time for the time limit of 0:05:00'
like "an invalid time is refused" "$(submit --deadline soon --wrap true)" \
    'deadline.*is not a time .did you mean .noon'

wide=$(submit -c 4 -t 60 --wrap 'exec sleep 1000')
ok "a job occupies the node" wait_for 10 state_is "$wide" Running
late=$(submit -c 4 -t 20 --deadline now+30minutes --wrap true)
why() { as kilntest1 kctl why "$1" | grep -q "$2"; }
ok "a job that could only start too late for its deadline says so" wait_for 10 \
    why "$late" 'too late to end before its deadline, 20.*no reservation is made'
planned() {
    [ "$(root get pods -l "batch.kubernetes.io/job-name=job-$1" -o json |
        jq -r '.items[0].status.cause.node')" = "$2" ]
}
ok "no node is reserved for it" planned "$late" null
as kilntest1 kctl update "$late" deadline=now+2hours >/dev/null
ok "a node is reserved for it when its deadline is later" \
    wait_for 10 planned "$late" n1
as kilntest1 kctl update "$late" deadline=none >/dev/null
ok "a node is reserved for it without a deadline" planned "$late" n1
as kilntest1 kctl cancel "$wide" "$late" >/dev/null

id=$(submit --deadline now+66 -t 1 -c 100 --wrap true | tail -n 1)
runs=$(submit --deadline now+1hour -t 10 --wrap 'exec sleep 1000')
held=$(submit -H --deadline now+1hour -t 1 --wrap true)
ok "a job with a deadline runs" wait_for 10 state_is "$runs" Running
ok "a waiting job that can no longer end before its deadline ends" \
    wait_for 20 state_is "$id" Deadline
like "kctl why names the deadline" "$(as kilntest1 kctl why "$id")" 'deadline'
row_of() { as kilntest1 kctl history "$1" -o json |
    jq -r '.items[] | "\(.state) \(.endedBy) \(.startTime)"'; }
has_row() { [ "$(row_of "$1")" = "$2" ]; }
ok "history has a row of the job, which never started" \
    wait_for 5 has_row "$id" "Deadline deadline null"
like "the deadline of a running job can be changed" \
    "$(as kilntest1 kctl update "$runs" deadline=now+4seconds)" updated
ok "a running job is ended at its deadline" \
    wait_for 20 state_is "$runs" Deadline
in_history() { as kilntest1 kctl history | grep -q Deadline; }
ok "history has the state Deadline" wait_for 10 in_history

like "the deadline of a held job can be changed" \
    "$(as kilntest1 kctl update "$held" deadline=now+2hours)" "updated"
like "it cannot be changed to a time in the past" \
    "$(as kilntest1 kctl update "$held" deadline=2020-01-01 2>&1)" 'is in the past'
like "the time limit cannot be changed to one that does not fit" \
    "$(as kilntest1 kctl update "$held" time=3:00:00 2>&1)" 'not enough time'
like "the deadline can be removed" \
    "$(as kilntest1 kctl update "$held" deadline=none)" "updated"
is "the job then has no deadline" \
    "$(root get job "$held" -o json | jq -r .spec.deadline)" null
ok "any time limit is then accepted" \
    as kilntest1 kctl update "$held" time=3:00:00
finish
