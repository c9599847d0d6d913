#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What happens to preempted jobs depends on their partition: they are requeued
# under the same number, they end, or they keep running. How long they have to
# end, and the signal that they asked for. Partitions of a higher tier go
# first.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
root create -f - >/dev/null <<'TXT'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: urgent
  annotations: {kiln.hpc/allowed-users: kilntest2}
value: 1000
TXT
partition() { # NAME SPEC
    printf '{apiVersion: kiln.hpc/v1, kind: Partition, metadata: {name: %s},
        spec: %s}' "$1" "$2" | root apply -f - 2>&1
}
partition again '{preemptionMode: Requeue}' >/dev/null
partition ends '{preemptionMode: Cancel}' >/dev/null
partition stays '{preemptionMode: "Off"}' >/dev/null
partition patient '{preemptionMode: Requeue, graceTime: 8m}' >/dev/null

submit() { as kilntest1 ksub --parsable -o /dev/null -c 4 "$@"; }
urgent() {
    high=$(as kilntest2 ksub --parsable -o /dev/null -c 4 \
        --priority urgent "$@" --wrap 'exec sleep 1000')
}
waits_for() { [ "$(root get pod "job-$1-0" -o json | jq -r .status.cause.code)" = "$2" ]; }
over() { as kilntest2 kctl cancel "$high" >/dev/null; }

like "an unknown preemption mode is refused with the valid modes" \
    "$(partition frozen '{preemptionMode: Gang}')" \
    'supported values: "Cancel", "Off", "Requeue", "Suspend"'
like "a grace time of more than a day is refused" \
    "$(partition slow '{graceTime: 2-00:00:00}')" 'graceTime: .*at most one day'

# --- mode Off -----------------------------------------------------------------
id=$(submit -p stays --requeue --wrap 'exec sleep 1000')
ok "a job runs in a partition whose jobs are not preempted" \
    wait_for 20 state_is "$id" Running
urgent
ok "a job of higher priority waits for resources" \
    wait_for 20 waits_for "$high" Resources
ok "the first job keeps running" state_is "$id" Running
like "kctl why says what the other job waits for" \
    "$(as kilntest2 kctl why "$high")" \
    'waits for 4 CPUs on n1'

over
as kilntest1 kctl cancel "$id" >/dev/null

# --- mode Requeue -------------------------------------------------------------
id=$(submit -p again --requeue --wrap 'exec sleep 1000')
ok "a job runs in a partition whose jobs are requeued" \
    wait_for 20 state_is "$id" Running
urgent
ok "it is preempted" wait_for 20 state_is "$high" Running
ok "it is requeued" wait_for 20 state_is "$id" Requeued
over
ok "it runs again when it has room" wait_for 20 state_is "$id" Running
is "it has the same number and its second attempt" \
    "$(as kilntest1 kctl jobs -t Running -o id,attempts --no-headers |
        awk '{ print $1, $2 }')" "$id 2"
no_pod() { root get pod "$1" 2>&1 | grep -q 'not found'; }
urgent
ok "it is preempted again" wait_for 20 no_pod "job-$id-0-r1"
stop controller KILL
cluster_controller --socket "$cluster/socket"
ok "a controller that is killed then has its jobs as before" \
    wait_for 20 state_is "$high" Running
over
ok "the requeued job runs once more" wait_for 20 state_is "$id" Running
is "its third attempt has its own number, and none has failed" \
    "$(job "$id" '"\(.status.attempts) \(.status.failed // 0)"')" "3 0"
as kilntest1 kctl cancel "$id" >/dev/null

# --- an end of its own beside a preemption --------------------------------------
id=$(submit -p again --requeue --wrap "until [ -e $cluster/go ]; do sleep 0.1; done; exit 7")
ok "a job runs whose agent is killed" wait_for 20 state_is "$id" Running
stop n1 KILL
: >"$cluster/go"
has_exited() { ! pgrep -u kilntest1 -f "$cluster/go" >/dev/null; }
ok "it fails while no agent is there" wait_for 20 has_exited
urgent
is_asked() { root get pod "job-$id-0" -o json | jq -e .metadata.deletionTimestamp; }
ok "it is preempted meanwhile" wait_for 20 is_asked
cluster_agent n1 --topology 'package:1 core:4 pu:1'
ok "it has failed, and is not requeued" wait_for 20 state_is "$id" Failed
is "with its own exit code, in one attempt" \
    "$(job "$id" '"\(.status.exitCode) \(.status.attempts)"')" "7 1"
like "history says so" "$(as kilntest1 kctl history --job "$id" -o state,exit 2>&1)" 'Failed +7'
over

# --- mode Cancel --------------------------------------------------------------
id=$(submit -p ends --requeue --wrap 'exec sleep 1000')
ok "a job runs in a partition whose preempted jobs end" \
    wait_for 20 state_is "$id" Running
urgent
ok "a job of higher priority preempts it" wait_for 20 state_is "$high" Running
ok "its state is Preempted" wait_for 20 state_is "$id" Preempted
like "kctl why names the preempting job" "$(as kilntest1 kctl why "$id")" \
    "preempted by job $high"
happened=$(as kilntest1 kctl events)
like "the event names that job and its user" "$happened" \
    "Preempted +pod/.* Preempted by job $high of [a-z0-9]+ on node "
unlike "no event shows a uid" "$happened" '[0-9a-f]{8}-[0-9a-f]{4}-'
like "kctl history has the state" \
    "$(as kilntest1 kctl history --job "$id" 2>&1)" \
    'Preempted'
like "kctl history names the preempting job" \
    "$(as kilntest1 kctl history --job "$id" -o state,by 2>&1)" \
    "Preempted +job $high"
over
is "it is not started again" "$(job "$id" .status.attempts)" 1

# --- tiers of partitions ------------------------------------------------------
like "a tier above Slurm's largest is refused" \
    "$(partition first '{priorityTier: 70000}')" 'priorityTier: .*65533'
partition first '{priorityTier: 2}' >/dev/null
id=$(submit -p again --requeue --wrap 'exec sleep 1000')
ok "a job runs in a partition of the default tier" \
    wait_for 20 state_is "$id" Running
urgent --requeue
ok "a job of higher priority preempts it" wait_for 20 state_is "$high" Running
tier=$(submit -p first --wrap 'exec sleep 1000')
ok "a job of a higher tier preempts that job, whatever its priority" \
    wait_for 20 state_is "$tier" Running
not_ok "the job of higher priority does not run" state_is "$high" Running
partition first '{priorityTier: 1}' >/dev/null
ok "when the tiers are equal again, the priority decides" \
    wait_for 20 state_is "$high" Running
over
as kilntest1 kctl cancel "$id" >/dev/null
as kilntest1 kctl cancel "$tier" >/dev/null

# --- preemption modes of priority classes -------------------------------------
class() { # NAME MODE
    printf '{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 0,
        metadata: {name: %s, annotations: {kiln.hpc/preemption-mode: %s}}}' \
        "$1" "$2" | root apply -f - 2>&1
}
like "an unknown mode of a priority class is refused" "$(class odd Gang)" \
    'PreemptionMode: .*Off, Cancel, Requeue or Suspend'
class cheap Cancel >/dev/null
id=$(submit -p stays --priority cheap --requeue --wrap 'exec sleep 1000')
ok "a job of a class with mode Cancel runs in a partition with mode Off" \
    wait_for 20 state_is "$id" Running
urgent
ok "it is preempted" wait_for 20 state_is "$high" Running
ok "its state is Preempted" wait_for 20 state_is "$id" Preempted
over

# --- signal and grace time ----------------------------------------------------
id=$(submit -p patient --requeue --signal B:USR2@60 -t 10 --wrap '
    trap "echo saved >saved; exit 0" USR2
    sh -c "trap \"echo heard >heard\" USR2; while :; do sleep 0.1; done" &
    while :; do sleep 0.1; done')
ok "a job with --signal B: runs" wait_for 20 state_is "$id" Running
ok "the job waits for the signal" wait_for 20 eval \
    '[ "$(pgrep -u kilntest1 -c -x sleep)" -gt 0 ]'
urgent
ok "when it is preempted, its script gets the signal" wait_for 20 \
    test -e "$cluster/home/kilntest1/saved"
not_ok "its other processes do not get the signal" \
    test -e "$cluster/home/kilntest1/heard"
ok "it ends long before its grace time is over" \
    wait_for 30 state_is "$high" Running
over
as kilntest1 kctl cancel "$id" >/dev/null

# The children of the shell ignore SIGTERM, and the shell has no trap for USR2.
id=$(submit -p patient --requeue --signal USR2@60 --wrap '
    trap "" TERM
    sh -c "trap \"echo all >all\" USR2; while :; do sleep 0.1; done" &
    while :; do wait; done')
ok "a job with --signal runs" wait_for 20 state_is "$id" Running
ok "the job waits for the signal" wait_for 20 eval \
    '[ "$(pgrep -u kilntest1 -c -x sleep)" -gt 0 ]'
urgent
ok "the processes that its script started get the signal" \
    wait_for 20 test -e "$cluster/home/kilntest1/all"
ok "it has the grace time of its partition" eval \
    '[ "$(root get pod "job-$id-0" -o json |
        jq .metadata.deletionGracePeriodSeconds)" = 480 ]'
ok "its state is Ending during that time" wait_for 20 state_is "$id" Ending
as kilntest1 kctl cancel "$id" >/dev/null
over

finish
