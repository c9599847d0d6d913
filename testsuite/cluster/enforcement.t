#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the node makes of an allocation: where its processes are found to be is
# reported beside where they were put, and what is wrong is said aloud.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller
real() { cluster_agent n1 --observe 200ms; }
real
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
ready() { wait_for 20 kctl wait --for condition=Ready node "$1"; }
ok "a node is ready" ready n1

of_pod() { kctl get pod "$pod" -o json | jq -r "$1"; }
pod_is() { [ "$(of_pod "$1")" = "$2" ]; }
broken=".status.conditions[]? | select(.type == \"AllocationBroken\") |
    .status + \" \" + .reason"
said() { kctl describe pod "$pod" | grep -q -- "$1"; }
# run NODE OPTION...: a job that stays; its pod's name is $pod.
run() {
    node=$1
    shift
    # shellcheck disable=SC2016 # the job's shell expands it
    pod=job-$(as kilntest1 ksub --parsable -w "$node" -o /dev/null "$@" \
        --wrap 'exec sleep 1000')-0
    wait_for 20 pod_is .status.phase Running
}
live() { cat "$cluster/n1/run/pods/$(of_pod .metadata.uid)/$1"; }
process() { live live | sed -n 's/^job_pid.*://p'; }

# --- as it was found ----------------------------------------------------------

run n1 -c 1 --mem 32M
ok "where its processes are is looked at" \
    wait_for 10 pod_is .status.observed.processes 1
is "they are on the CPUs that they were given" \
    "$(of_pod .status.observed.cpus)" "$(of_pod .status.allocation.cpus)"
is "and on its NUMA nodes" "$(of_pod .status.observed.memoryNodes)" \
    "$(of_pod .status.allocation.memoryNodes)"
is "with all of their memory" \
    "$(of_pod .status.observed.localMemoryPercent)" 100
like "describe shows it beside the allocation" "$(kctl describe pod "$pod" |
    tr -s ' ' | tr '\n' ';')" 'Allocation.*Observed.*Local Memory Percent: 100'
is "nothing is said to be broken" "$(of_pod "$broken")" ""

# --- not as it was given --------------------------------------------------------

other_cpu() { # one that is not the pod's
    nproc --all | awk -v own="$(of_pod .status.allocation.cpus)" '
        $1 > 1 { print own == "0" ? 1 : 0 }'
}
main=$(process)
kill -0 "$main" || bail_out "no process"
allow() { taskset -apc "$1" "$main" >/dev/null; }
# Out of the cgroup that keeps it on its CPUs, and onto all of them.
stray() {
    awk '$3 == "cgroup" && $4 ~ /(^|,)cpuset(,|$)/ { print $2 }
        $3 == "cgroup2" && !v2 { v2 = $2 } END { print v2 }' /proc/mounts |
        while read -r root; do
            [ -n "$root" ] && echo "$main" >"$root/cgroup.procs" && break
        done
    allow "0-$(($(nproc --all) - 1))"
}
if [ -z "$(other_cpu)" ]; then
    skip 5 "one CPU is all this machine has"
else
    stray
    ok "a process that went astray is found" \
        wait_for 10 pod_is "$broken" "True Misplaced"
    like "in words" "$(of_pod '.status.conditions[] |
        select(.type == "AllocationBroken").message')" \
        'may run on CPUs [01], which are not its own'
    ok "with an event" wait_for 10 said 'Misplaced .*kiln-agent'
    stop n1
    log=$(wc -l <"$cluster/log/n1")
    real
    audited() { tail -n "+$((log + 1))" "$cluster/log/n1" | grep -q "$1"; }
    ok "an agent that comes back audits what it takes up" \
        wait_for 20 audited 'which are not its own'
    allow "$(of_pod .status.allocation.cpus)"
    ok "and says when it is right again" \
        wait_for 10 pod_is "$broken" "False AsAllocated"
    ok "the job has run through all of that" kill -0 "$main"
fi
kctl cancel "${pod%-0}" >/dev/null
finish
