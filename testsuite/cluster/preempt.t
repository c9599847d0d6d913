#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What becomes of jobs whose room a more important one needs, by their
# partition: they start anew with the number that they have, they end, or they
# stay; how long they have to end, and the signal that they asked for. Partitions
# of a higher tier go first.

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

job() { root get job "$1" -o json | jq -r "$2"; }
state_is() { [ "$(job "$1" .status.state)" = "$2" ]; }
submit() { as kilntest1 ksub --parsable -o /dev/null -c 4 "$@"; }
urgent() {
    high=$(as kilntest2 ksub --parsable -o /dev/null -c 4 \
        --priority urgent "$@" --wrap 'exec sleep 1000')
}
waits_for() { [ "$(root get pod "job-$1-0" -o json | jq -r .status.cause.code)" = "$2" ]; }
over() { as kilntest2 kctl cancel "$high" >/dev/null; }

like "a mode that is none is refused in words" \
    "$(partition frozen '{preemptionMode: Gang}')" \
    'supported values: "Cancel", "Off", "Requeue", "Suspend"'
like "and a grace of more than a day" \
    "$(partition slow '{graceTime: 2-00:00:00}')" 'graceTime: .*at most a day'

# --- they stay --------------------------------------------------------------------
id=$(submit -p stays --requeue --wrap 'exec sleep 1000')
ok "a job runs where nothing is preempted" wait_for 20 state_is "$id" Running
urgent
ok "a more important one waits for it" wait_for 20 waits_for "$high" Resources
ok "it runs on" state_is "$id" Running
like "and why the other waits is told" "$(as kilntest2 kctl why "$high")" \
    'waits for 4 CPUs on n1'

over
as kilntest1 kctl cancel "$id" >/dev/null

# --- they start anew ----------------------------------------------------------------
id=$(submit -p again --requeue --wrap 'exec sleep 1000')
ok "a job runs where they start anew" wait_for 20 state_is "$id" Running
urgent
ok "it makes room" wait_for 20 state_is "$high" Running
ok "and waits" wait_for 20 state_is "$id" Requeued
over
ok "until it has room" wait_for 20 state_is "$id" Running
is "with the number that it had, for the second time" \
    "$(as kilntest1 kctl jobs -t Running -o id,attempts --no-headers |
        awk '{ print $1, $2 }')" "$id 2"
as kilntest1 kctl cancel "$id" >/dev/null

# --- they end -------------------------------------------------------------------
id=$(submit -p ends --requeue --wrap 'exec sleep 1000')
ok "a job runs where preempted jobs end" wait_for 20 state_is "$id" Running
urgent
ok "a more important one takes its place" wait_for 20 state_is "$high" Running
ok "it has ended" wait_for 20 state_is "$id" Preempted
like "and its owner reads for whom" "$(as kilntest1 kctl why "$id")" \
    "preempted by job $high"
like "in its history, too" "$(as kilntest1 kctl history --job "$id" 2>&1)" \
    'Preempted'
like "with the job that had its room" \
    "$(as kilntest1 kctl history --job "$id" -o state,by 2>&1)" \
    "Preempted +job $high"
over
is "it does not come back" "$(job "$id" .status.attempts)" 1

# --- tiers -------------------------------------------------------------------------
like "a tier beyond Slurm's is refused" \
    "$(partition first '{priorityTier: 70000}')" 'priorityTier: .*65533'
partition first '{priorityTier: 2}' >/dev/null
id=$(submit -p again --requeue --wrap 'exec sleep 1000')
ok "a job runs in a partition of the usual tier" \
    wait_for 20 state_is "$id" Running
urgent --requeue
ok "a more important one takes its place" wait_for 20 state_is "$high" Running
tier=$(submit -p first --wrap 'exec sleep 1000')
ok "one of a higher tier goes before both, whatever their priority" \
    wait_for 20 state_is "$tier" Running
not_ok "the important one has made room" state_is "$high" Running
partition first '{priorityTier: 1}' >/dev/null
ok "when the tiers are equal again the priority counts" \
    wait_for 20 state_is "$high" Running
over
as kilntest1 kctl cancel "$id" >/dev/null
as kilntest1 kctl cancel "$tier" >/dev/null

# --- modes of priority classes -----------------------------------------------------
class() { # NAME MODE
    printf '{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 0,
        metadata: {name: %s, annotations: {kiln.hpc/preemption-mode: %s}}}' \
        "$1" "$2" | root apply -f - 2>&1
}
like "of a class, too" "$(class odd Gang)" \
    'PreemptionMode: .*Off, Cancel, Requeue or Suspend'
class cheap Cancel >/dev/null
id=$(submit -p stays --priority cheap --requeue --wrap 'exec sleep 1000')
ok "a job of a class whose jobs end runs where others stay" \
    wait_for 20 state_is "$id" Running
urgent
ok "it makes room" wait_for 20 state_is "$high" Running
ok "and has ended" wait_for 20 state_is "$id" Preempted
over

# --- the signal and the grace --------------------------------------------------------
id=$(submit -p patient --requeue --signal B:USR2@60 -t 10 --wrap '
    trap "echo saved >saved; exit 3" USR2
    sh -c "trap \"echo heard >heard\" USR2; while :; do sleep 0.1; done" &
    while :; do sleep 0.1; done')
ok "a job runs that asks for a signal" wait_for 20 state_is "$id" Running
ok "and listens" wait_for 20 eval \
    '[ "$(pgrep -u kilntest1 -c -x sleep)" -gt 0 ]'
urgent
ok "preempted, its script hears it" wait_for 20 \
    test -e "$cluster/home/kilntest1/saved"
not_ok "which its other processes do not" test -e "$cluster/home/kilntest1/heard"
ok "it ends long before its grace" wait_for 30 state_is "$high" Running
over
as kilntest1 kctl cancel "$id" >/dev/null

id=$(submit -p patient --requeue --signal USR2@60 -t 10 --wrap '
    trap "" TERM
    trap "echo all >all" USR2
    while :; do sleep 0.1; done')
ok "one that asks for it for all runs" wait_for 20 state_is "$id" Running
urgent
ok "and hears it" wait_for 20 test -e "$cluster/home/kilntest1/all"
ok "it has the grace of its partition" eval \
    '[ "$(root get pod "job-$id-0" -o json |
        jq .metadata.deletionGracePeriodSeconds)" = 480 ]'
ok "in which it is Ending" wait_for 20 state_is "$id" Ending
as kilntest1 kctl cancel "$id" >/dev/null
over

finish
