#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How a node enforces an allocation: the agent reports where the processes of a
# pod really are, beside the allocation, and reports deviations.

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
# run NODE OPTION...: starts a job that keeps running. Its pod's name is $pod.
run() {
    node=$1
    shift
    # shellcheck disable=SC2016 # the job's shell expands it
    id=$(as kilntest1 ksub --parsable -w "$node" -o /dev/null "$@" \
        --wrap 'exec sleep 1000') || bail_out "no job"
    pod=job-$id-0
    wait_for 20 pod_is .status.phase Running
}
live() { cat "$cluster/n1/run/pods/$(of_pod .metadata.uid)/$1"; }
process() { live live | sed -n 's/^job_pid.*://p'; }

# --- processes where they should be -------------------------------------------

run n1 -c 1 --mem 32M
ok "the agent reports the number of processes" \
    wait_for 10 pod_is .status.observed.processes 1
is "they are on the CPUs that were allocated" \
    "$(of_pod .status.observed.cpus)" "$(of_pod .status.allocation.cpus)"
is "their memory is on the NUMA nodes that were allocated" \
    "$(of_pod .status.observed.memoryNodes)" \
    "$(of_pod .status.allocation.memoryNodes)"
is "all of their memory is there" \
    "$(of_pod .status.observed.localMemoryPercent)" 100
like "kctl describe shows this beside the allocation" \
    "$(kctl describe pod "$pod" |
    tr -s ' ' | tr '\n' ';')" 'Allocation.*Observed.*Local Memory Percent: 100'
is "no deviation is reported" "$(of_pod "$broken")" ""

# --- processes where they should not be ---------------------------------------

other_cpu() { # prints a CPU that is not the pod's
    nproc --all | awk -v own="$(of_pod .status.allocation.cpus)" '
        $1 > 1 { print own == "0" ? 1 : 0 }'
}
main=$(process)
kill -0 "$main" || bail_out "no process"
allow() { taskset -apc "$1" "$main" >/dev/null; }
# Moves the process out of the cgroup that keeps it on its CPUs, and allows all
# CPUs.
stray() {
    awk '$3 == "cgroup" && $4 ~ /(^|,)cpuset(,|$)/ { print $2 }
        $3 == "cgroup2" && !v2 { v2 = $2 } END { print v2 }' /proc/mounts |
        while read -r root; do
            [ -n "$root" ] && echo "$main" >"$root/cgroup.procs" && break
        done
    allow "0-$(($(nproc --all) - 1))"
}
if [ -z "$(other_cpu)" ]; then
    skip "a process on other CPUs is reported" "one CPU is all this machine has"
else
    stray
    ok "a process on other CPUs is reported" \
        wait_for 10 pod_is "$broken" "True Misplaced"
    like "the message names the CPUs" "$(of_pod '.status.conditions[] |
        select(.type == "AllocationBroken").message')" \
        'may run on CPUs [01], which are not its own'
    ok "an event reports it" wait_for 10 said 'Misplaced .*kiln-agent'
    stop n1
    log=$(wc -l <"$cluster/log/n1")
    real
    audited() { tail -n "+$((log + 1))" "$cluster/log/n1" | grep -q "$1"; }
    ok "an agent that is restarted checks the running pods" \
        wait_for 20 audited 'which are not its own'
    allow "$(of_pod .status.allocation.cpus)"
    ok "the agent reports when the process is on its CPUs again" \
        wait_for 10 pod_is "$broken" "False AsAllocated"
    ok "the job has kept running" kill -0 "$main"
fi
kctl cancel "${pod%-0}" >/dev/null

# --- the shared pool ----------------------------------------------------------

if [ "$(nproc --all)" -lt 2 ]; then
    skip "a pod in the shared pool runs on all CPUs while nobody has them exclusively" \
        "one CPU is all this machine has"
else
    run n1 --shared 0.1
    sharer=$pod
    observes() { pod_is .status.observed.cpus "$1"; }
    ok "a pod in the shared pool runs on all CPUs while nobody has them exclusively" \
        wait_for 10 observes "0-$(($(nproc --all) - 1))"
    run n1 -c 1
    own=$(of_pod .status.allocation.cpus)
    owner=$pod
    pod=$sharer
    off_it() {
        of_pod .status.observed.cpus | grep -qv "^0-" &&
            [ "$(of_pod .status.observed.cpus)" != "$own" ]
    }
    ok "it leaves the CPUs that are allocated to another pod" wait_for 10 off_it
    kctl cancel "${owner%-0}" >/dev/null
    ok "it uses them again when that pod has ended" \
        wait_for 10 observes "0-$(($(nproc --all) - 1))"
    is "none of this is reported as a deviation" "$(of_pod "$broken")" ""
    kctl cancel "${pod%-0}" >/dev/null
fi

# --- devices ------------------------------------------------------------------

# In this test, two device files of harmless devices (/dev/full, /dev/zero) are
# GPUs.
mkdir "$cluster/dev"
if mknod -m 666 "$cluster/dev/card0" c 1 7 2>/dev/null &&
    mknod -m 666 "$cluster/dev/card1" c 1 5 && : <"$cluster/dev/card0"; then
    stop n1
    cluster_agent n1 --observe 200ms --device-files "gpu=$cluster/dev/card*"
    offers() { kctl get node n1 -o json | jq -e ".status$1"; }
    ok "devices are found by their files" \
        wait_for 20 offers '.allocatable["kiln.hpc/gpu"] == "2"'
    guarded=$(offers '.conditions[] | select(.type == "DevicesEnforced") |
        .status == "True"')
    like "the node reports whether access to devices is restricted" \
        "$guarded" 'true|false'
    cat >"$cluster/open.sh" <<TXT
#!/bin/sh
for card in null $cluster/dev/card0 $cluster/dev/card1; do
    [ "\$card" != null ] || card=/dev/null
    (: <"\$card") 2>/dev/null && printf 'opens '
done
for card in $cluster/dev/card?; do
    (: <"\$card") 2>/dev/null && printf '%s ' "\${card##*/}"
done
echo "of \$KILN_DEVICES: \${CUDA_VISIBLE_DEVICES-unset}"
TXT
    chmod 755 "$cluster/open.sh"
    opened() { # OPTION...: prints the devices that a job with these options can open
        id=$(as kilntest1 ksub --parsable -w n1 -o "$cluster/home/kilntest1/%j" \
            --wait "$@" "$cluster/open.sh" | head -n 1)
        cat "$cluster/home/kilntest1/$id"
    }
    if [ "$guarded" = true ]; then
        is "a job can open the device that was allocated, and no other" \
            "$(opened --gpus 1)" "opens opens card0 of card0: 0"
        is "a job with all devices can open all" "$(opened --gpus 2)" \
            "opens opens opens card0 card1 of card0,card1: 0,1"
        is "a job without devices can open only files that are no such devices" \
            "$(opened -c 1)" \
            "opens of : "
        first=$(as kilntest1 ksub --parsable -w n1 --shared 0.1 --gpus 1 --wrap 'sleep 1000')
        is "CUDA numbers the devices that a job can open, so the second one is 0" \
            "$(opened --shared 0.1 --gpus 1)" "opens opens card1 of card1: 0"
        kctl cancel "$first" >/dev/null
    else
        skip "a job can open the device that was allocated, and no other" \
            "devices cannot be guarded here"
    fi
    rm "$cluster/dev/card1"
    ok "a lost device is reported" \
        wait_for 15 offers '.allocatable["kiln.hpc/gpu"] == "1"'
else
    skip "devices are found by their files" "no device files can be made here"
fi

# --- a machine that changes ---------------------------------------------------

# The node's topology file is replaced by that of another machine without GPUs,
# and restored later.
machines=$top_srcdir/testsuite/data/topology
cp "$machines/gpu-box.xml" "$cluster/machine.xml"
chmod 644 "$cluster/machine.xml"
cc -shared -fPIC -o "$cluster/libnvidia-ml.so.1" \
    "$top_srcdir/testsuite/unit/agent/hardware/fake_nvml.c" 2>/dev/null
v1() {
    cluster_agent v1 --devices --topology "$cluster/machine.xml" \
        --gpu-library "$cluster/libnvidia-ml.so.1" --usage-interval 500ms
}
v1
ok "a node with a topology file is ready" ready v1
kctl taint v1 "$(kctl get node v1 -o json | jq -r '.spec.taints[] |
    select(.key | contains("virtual")).key')-" >/dev/null
has() { kctl get node v1 -o json | jq -e ".status | $1"; }
cpus=$(kctl get node v1 -o json | jq -r .status.allocatable.cpu)
run v1 -c 2 --gpus 1
gpus=$pod
# The library says that /dev/nvidia0 is busy for a quarter of the time.
gone_file() { [ ! -e "$1" ]; }
uses_gpu() { kctl top pods "$gpus" | grep -Eq ' GPUS +GPU MEM$' &&
    kctl top pods "$gpus" | grep -Eq "^$gpus .* 0\.25 +1(\.0)?Gi$"; }
if [ -e "$cluster/libnvidia-ml.so.1" ]; then
    ok "kctl top shows how busy the GPUs of a pod are, and their memory" wait_for 20 uses_gpu
    # The sums outlive the agent that measured them.
    # shellcheck disable=SC2016 # expanded by the job
    used=$(as kilntest1 ksub --parsable -w v1 -o /dev/null -c 1 --gpus 1 \
        --wrap 'while [ ! -e "$HOME/enough" ]; do sleep 0.1; done')
    pod=job-$used-0
    wait_for 20 pod_is .status.phase Running
    file=$cluster/v1/state/pods/$(of_pod .metadata.uid)/gpu
    wait_for 10 test -s "$file"
    stop v1 KILL
    as kilntest1 touch "$cluster/home/kilntest1/enough"
    gone() { ! kill -0 "$1" 2>/dev/null; }
    wait_for 10 gone "$(sed -n 's/^job_pid.*://p' \
        "$cluster/v1/run/pods/$(of_pod .metadata.uid)/live")"
    v1
    has_row() { [ "$(kctl history --job "$used" -o json | jq '.items | length')" = 1 ]; }
    wait_for 20 has_row
    is "history has the use of the GPU, also if the agent was killed meanwhile" \
        "$(kctl history --job "$used" -o csv=gpuutil,gpupeak,gpumemory | tail -n 1)" \
        "75.00,2147483648,85899345920"
    like "kctl efficiency shows it" "$(kctl efficiency "$used" | tr -s ' ' | paste -sd ' ')" \
        'GPU efficiency: 75.00% of 1 GPU GPU memory used: at most 2(\.0)?Gi of 80(\.0)?Gi'
    is "so does -o json" "$(kctl efficiency "$used" -o json |
        jq -r '.[] | "\(.gpus) \(.gpuEfficiencyPercent) \(.gpuMemoryEfficiencyPercent)"')" \
        "1 75 2.5"
    ok "the file of the ended pod is removed" wait_for 10 gone_file "$file"
else
    skip "kctl top shows how busy the GPUs of a pod are, and their memory" "no compiler"
    skip "history has the use of the GPU, also if the agent was killed meanwhile" "no compiler"
    skip "kctl efficiency shows it" "no compiler"
    skip "so does -o json" "no compiler"
    skip "the file of the ended pod is removed" "no compiler"
fi
run v1 -c "$((cpus - 2))"
rest=$pod
cp "$machines/epyc-2s-nps1.xml" "$cluster/machine.xml"
signal v1 HUP
ok "when the machine has changed, the Node changes" \
    wait_for 10 has ".allocatable.cpu != \"$cpus\""
ok "the Node then has no devices" \
    has '.capacity["kiln.hpc/gpu"] == null and .topology.devices == null'
pod=$gpus
ok "a pod that lost its GPU reports it" \
    wait_for 10 pod_is "$broken" "True ResourcesLost"
like "the message names the GPU" "$(of_pod '.status.conditions[] |
    select(.type == "AllocationBroken").message')" 'device gpu0'
ok "an event reports it" wait_for 10 said 'ResourcesLost '
like "an event of the node says what has changed" "$(wait_for 5 sh -c \
    'kctl describe node v1 | grep -q TopologyChanged'; kctl describe node v1)" \
    'Warning.*TopologyChanged'
cp "$machines/gpu-box.xml" "$cluster/machine.xml"
ok "the agent notices that the GPU is back without a signal" \
    wait_for 15 pod_is "$broken" "False AsAllocated"
pod=$rest
ok "a pod that lost CPUs reports that it has them again" wait_for 5 sh -c \
    "! kctl get pod $pod -o json | jq -e '.status.conditions[] |
        select(.type == \"AllocationBroken\" and .status == \"True\")'"

# Memory is removed: the first NUMA node first has huge pages, then less memory
# of both kinds. The node accepts jobs although it has less than before.
kctl annotate --overwrite node v1 kiln.hpc/expected-hardware=any >/dev/null
kctl delete pod "$gpus" "$rest" >/dev/null
machine() { # MEMORY PAGES: sets the memory and huge pages of NUMA node 0
    sed "10s/local_memory=\"[0-9]*\"/local_memory=\"$1\"/
        11s|\$|<page_type size=\"2097152\" count=\"$2\"/>|" \
        "$machines/gpu-box.xml" >"$cluster/machine.new" &&
        cat "$cluster/machine.new" >"$cluster/machine.xml"
    signal v1 HUP
}
pages='.topology.numaNodes[0].hugepages["2Mi"]'
machine 128000000000 1024
ok "huge pages that were added are reported" \
    wait_for 10 has "$pages == \"1024\""
run v1 -c 2 --mem 60G
first=$pod
run v1 -c 2 --mem 40G
second=$pod
run v1 -c 2 --hugepages 1G:2M
huge=$pod
is "all pods have memory of one NUMA node" "$(kctl get pods -o json | jq -c '
    [.items[] | select(.status.phase == "Running" and .spec.nodeName == "v1") |
        .status.allocation.memory[].node] | unique')" '[0]'
machine 100000000000 256
for pod in $first $second $huge; do
    ok "a pod that lost memory reports it" \
        wait_for 10 pod_is "$broken" "True ResourcesLost"
done
like "the message says how many huge pages are missing" \
    "$(of_pod '.status.conditions[] |
    select(.type == "AllocationBroken").message')" \
    'huge pages of 2Mi of NUMA node 0 .1Gi given, 512Mi there.'
pod=$first
like "the message says how much memory was allocated to all pods" \
    "$(of_pod '.status.conditions[] |
    select(.type == "AllocationBroken").message')" \
    'memory of NUMA node 0 .100Gi given, 9[0-9]*Mi there.'
ok "an event reports it" \
    wait_for 10 said 'ResourcesLost .*memory of NUMA node 0'
kctl delete pod "$second" >/dev/null
ok "when another pod gives back its memory, there is enough" \
    wait_for 40 pod_is "$broken" "False AsAllocated"
pod=$huge
is "the pod that lost huge pages still misses them" \
    "$(of_pod "$broken")" "True ResourcesLost"
machine 128000000000 512
ok "the agent notices that the huge pages are back" \
    wait_for 10 pod_is "$broken" "False AsAllocated"
finish
