#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job has ended by its deadline: what cannot end before is refused, or ends as
# soon as that is so, and what runs then is ended.

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

like "a deadline that is over is refused" \
    "$(submit --deadline 2020-01-01 --wrap true)" 'Deadline: the deadline .* is over'
like "as is one before the time limit is" \
    "$(submit --deadline now+10minutes -t 20 --wrap true)" \
    'Deadline: there is no room for the time limit of 0:20:00 before'
like "or before it may begin" \
    "$(submit --begin now+1hour --deadline now+61minutes -t 5 --wrap true)" \
    'Deadline: there is no room for the time limit of 0:05:00'
like "and a time that is none" "$(submit --deadline soon --wrap true)" \
    'deadline.*is no time .did you mean .noon'

wide=$(submit -c 4 -t 60 --wrap 'exec sleep 1000')
ok "a job has the node" wait_for 10 state_is "$wide" Running
late=$(submit -c 4 -t 20 --deadline now+30minutes --wrap true)
why() { as kilntest1 kctl why "$1" | grep -q "$2"; }
ok "one that could start too late only is told so" wait_for 10 \
    why "$late" 'too late to end before its deadline, 20.*nothing is reserved'
planned() {
    [ "$(root get pods -l "batch.kubernetes.io/job-name=job-$1" -o json |
        jq -r '.items[0].status.cause.node')" = "$2" ]
}
ok "and has nothing reserved" planned "$late" null
as kilntest1 kctl update "$late" deadline=now+2hours >/dev/null
ok "a later one is planned for" wait_for 10 planned "$late" n1
as kilntest1 kctl update "$late" deadline=none >/dev/null
ok "as is none" planned "$late" n1
as kilntest1 kctl cancel "$wide" "$late" >/dev/null

id=$(submit --deadline now+62 -t 1 -c 100 --wrap true)
runs=$(submit --deadline now+1hour -t 10 --wrap 'exec sleep 1000')
held=$(submit -H --deadline now+1hour -t 1 --wrap true)
ok "a job runs" wait_for 10 state_is "$runs" Running
ok "one that cannot end before any more ends" wait_for 15 state_is "$id" Deadline
like "and says why" "$(as kilntest1 kctl why "$id")" 'deadline'
like "the deadline of one that runs is changed" \
    "$(as kilntest1 kctl update "$runs" deadline=now+1second)" updated
ok "one that runs is ended by then" wait_for 15 state_is "$runs" Deadline
in_history() { as kilntest1 kctl history | grep -q Deadline; }
ok "history tells so" wait_for 10 in_history

like "a deadline is changed" \
    "$(as kilntest1 kctl update "$held" deadline=now+2hours)" "updated"
like "but not to one that is over" \
    "$(as kilntest1 kctl update "$held" deadline=2020-01-01 2>&1)" 'is over'
like "nor is the time limit to one that does not fit" \
    "$(as kilntest1 kctl update "$held" time=3:00:00 2>&1)" 'no room'
like "it is taken away" \
    "$(as kilntest1 kctl update "$held" deadline=none)" "updated"
is "and is none" "$(root get job "$held" -o json | jq -r .spec.deadline)" null
ok "and time may be what it likes" as kilntest1 kctl update "$held" time=3:00:00
finish
