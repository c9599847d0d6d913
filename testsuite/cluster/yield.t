#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs that stand still while a more important one runs on their cores
# (preemptionMode: Suspend): with their memory, their limit waiting, and going on
# by themselves, whoever is killed in between. Never do two run on one core.

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
controller() {
    cluster_controller --socket "$cluster/socket"
}
agent() {
    cluster_agent n1 --topology 'package:1 core:4 pu:1' \
        --cgroup-base "/kiln-yield-$$"
}
controller
agent
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
root create -f - >/dev/null <<'TXT'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: utmost
  annotations: {kiln.hpc/allowed-users: kilntest2}
value: 2000
TXT
partition() { # NAME SPEC
    printf '{apiVersion: kiln.hpc/v1, kind: Partition, metadata: {name: %s},
        spec: %s}' "$1" "$2" | root apply -f - 2>&1
}
partition low '{preemptionMode: Suspend}' >/dev/null

job() { root get job "$1" -o json | jq -r "$2"; }
pod() { root get pod "job-$1-0" -o json | jq -r "$2"; }
state_is() { [ "$(job "$1" .status.state)" = "$2" ]; }
count() { # ID: what its loop has counted
    wc -c <"$cluster/home/kilntest1/count.$1"
}
grows() { # ID
    grown_from=$(count "$1")
    wait_for 10 has_grown "$1"
}
has_grown() { [ "$(count "$1")" -gt "$grown_from" ]; }
stands_still() { # ID
    still=$(count "$1")
    sleep 0.3
    [ "$(count "$1")" -eq "$still" ]
}
submit() { # OPTION...: one that counts
    as kilntest1 ksub --parsable -o /dev/null -p low "$@" --wrap '
        while :; do printf x >>count.$KILN_JOB_ID; sleep 0.02; done'
}
urgent() { # OPTION...
    as kilntest2 ksub --parsable -o /dev/null --priority urgent "$@" \
        --wrap 'exec sleep 1000'
}
over() { as kilntest2 kctl cancel "$1" >/dev/null; }
waits_for() {
    [ "$(root get pod "job-$1-0" -o json | jq -r .status.cause.code)" = "$2" ]
}
cpus() { pod "$1" .status.allocation.cpus; }
is_to_yield() { pod "$1" '.metadata.annotations["kiln.hpc/yield"]' | grep -q job; }

# --- one stands still for another -------------------------------------------------
low=$(submit -c 4 -t 30)
ok "a job runs on all cores" wait_for 20 state_is "$low" Running
ok "and counts" grows "$low"
high=$(urgent -c 2)
ok "a more important one runs" wait_for 20 state_is "$high" Running
ok "the other is Frozen" wait_for 20 state_is "$low" Frozen
ok "and stands still" stands_still "$low"
is "with the cores that it has" "$(cpus "$low")" 0-3
like "two of which are the other's" "$(cpus "$high")" '^[0-3]-[0-3]$'
like "its owner reads for whom" \
    "$(as kilntest1 kctl jobs -o id,state,reason --no-headers)" \
    "$low +Frozen +suspended for job $high \(user kilntest2\)"
like "why says so" "$(as kilntest1 kctl why "$low")" "suspended for job $high"
third=$(as kilntest1 ksub --parsable -o /dev/null -c 1 --wrap 'exec sleep 1000')
ok "the rest of its cores is nobody's" wait_for 20 waits_for "$third" Resources
root cancel "$third" >/dev/null
like "to resume it is not an operator's" "$(root resume "$low" 2>&1)" \
    "suspended for job $high.* goes on by itself"
like "nor is its annotation its owner's" "$(api kilntest1 PATCH \
    "$pods/job-$low-0" '{"metadata":{"annotations":{"kiln.hpc/yield":null}}}' \
    $merge)" '^403 '
like "nor do its cores come back while the other has them" "$(api root PATCH \
    "$pods/job-$low-0" '{"metadata":{"annotations":{"kiln.hpc/yield":null}}}' \
    $merge)" '^409 .*cannot go on yet'
over "$high"
ok "once that has ended it goes on" wait_for 20 state_is "$low" Running
ok "and counts" grows "$low"
ok "how long it stood is kept" eval \
    '[ "$(pod "$low" .status.frozenMicroseconds)" -gt 100000 ]'
not_ok "and its wish is gone" is_to_yield "$low"
as kilntest1 kctl cancel "$low" >/dev/null

finish
