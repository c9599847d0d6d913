#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs on models of real machines: sub-NUMA clusters, one and four NUMA nodes
# per package, no SMT, memory that is all fast or partly fast, GPUs. Each model
# is a node. The allocations of jobs with several policies are compared with
# the correct ones, and again with those that the kubelet would make.

# shellcheck disable=SC2016,SC2119,SC2154 # jq expands; cluster.sh

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need ksub kctl kiln-controller kiln-agent munged jq
cluster_munge
cluster_controller --allow-root-jobs
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
machines=$(cd "$top_srcdir/testsuite/data/topology" && pwd)
nodes="xeon-2s-snc4 epyc-2s-nps1 epyc-2s-nps4 grace-superchip a64fx gpu-box \
dram-and-hbm xeon-max-2s-snc4-flat"
for node in $nodes; do
    cluster_agent "$node" --allow-root-jobs --devices \
        --topology "$machines/$node.xml"
done
for node in $nodes; do
    wait_for 30 kctl wait --for condition=Ready node "$node" ||
        bail_out "no node $node"
    kctl taint "$node" "$(kctl get node "$node" -o json |
        jq -r '.spec.taints[] | select(.key | contains("virtual")) | .key')-" \
        >/dev/null
done
cd "$cluster/home" || bail_out "no home"
phase_is() { [ "$(kctl get pod "$1" -o json | jq -r .status.phase)" = "$2" ]; }

# --- the reported topology ----------------------------------------------------

said() { kctl get node "$1" -o json | jq -c ".status.topology | $2"; }
is "the topology has a version" "$(said epyc-2s-nps4 .version)" 1
is "caches that belong to one core each are reported as a word" \
    "$(said epyc-2s-nps4 .l2)" '"cores"'
is "caches that are shared are reported as a list" \
    "$(said a64fx '[.l2, .l3] | map(length)')" "[4,0]"
is "fast memory is marked" \
    "$(said dram-and-hbm '[.numaNodes[] | .kind, .package]')" \
    '[null,null,"HBM",0]'
is "an offline CPU is listed" "$(said dram-and-hbm .offline)" '"3"'
for node in $nodes; do
    kctl get node "$node" -o json | jq -c .status.topology | wc -c
done >sizes
ok "each topology has less than 4 KiB" \
    [ "$(sort -n sizes | tail -n 1)" -lt 4096 ]
like "kctl topology draws memory without cores and offline CPUs" \
    "$(kctl topology dram-and-hbm | tr '\n' ';')" \
    'CPU 3 is offline.*NUMA node 1 +3.7Gi HBM +memory only'
like "kctl describe summarizes the machine" "$(kctl describe node dram-and-hbm |
    tr -s ' \n' ' ')" 'Machine: 1 package, 2 NUMA nodes \(1 of HBM\), 3 cores, 3 CPUs CPU 3 is offline'
like "the summary counts packages, NUMA nodes, caches, cores and CPUs" \
    "$(kctl describe node epyc-2s-nps4 | tr -s ' ')" \
    'Machine: 2 packages, 8 NUMA nodes, 24 L3 caches, 192 cores, 384 CPUs'

# --- what jobs are allocated --------------------------------------------------

# has NODE OPTION... = CPUS[/WITHHELD] NODES[=GIB,...] [DEVICE,...]: checks
# that a job with these options gets that allocation on an empty node.
# waits NODE OPTION... = TEXT: checks that such a job gets no allocation, and
# that kctl why prints TEXT.
given() {
    kctl get pod "job-$1-0" -o json | jq -r '.status.allocation |
        if . == null then "nothing" else
        .cpus + (if .withheld then "/" + .withheld else "" end) + " " +
        .memoryNodes + (if .memory then "=" + ([.memory[].bytes |
            if endswith("Ki") then .[:-2] | tonumber / 1048576 * 10 | round / 10
            else .[:-2] | tonumber end | tostring] | join(","))
            else "" end) +
        (if .devices then " " + (.devices | join(",")) else "" end) end'
}
submit() { # NODE OPTION... =
    set_node=$1 options=
    shift
    while [ "$1" != = ]; do
        options="$options $1"
        shift
    done
    # shellcheck disable=SC2086 # one word each
    id=$(ksub --parsable -o /dev/null -w "$set_node" $options \
        --wrap 'sleep 1000') || bail_out "no job"
    name="$set_node:$options"
}
expected() {
    while [ "$1" != = ]; do shift; done
    shift
    echo "$*"
}
drop() {
    kctl cancel "$id" >/dev/null
    wait_for 20 sh -c "! kctl get pod job-$id-0 >/dev/null 2>&1" || true
}
has() {
    submit "$@"
    wait_for 20 phase_is "job-$id-0" Running
    is "$name" "$(given "$id")" "$(expected "$@")"
    drop
}
waits() {
    submit "$@"
    ok "$name waits" wait_for 20 sh -c \
        "kctl why $id | grep -q '$(expected "$@")'"
    is "$name has no allocation" "$(given "$id")" nothing
    drop
}

# Sub-NUMA clusters: 14 cores of two threads and 59.6 GiB each.
has xeon-2s-snc4 -c 28 --numa single-numa-node = 0-27 0
waits xeon-2s-snc4 -c 29 --numa single-numa-node = NodeTooSmall
has xeon-2s-snc4 -c 40 --numa best-effort = 0-39 0-1
has xeon-2s-snc4 -c 4 --mem 100G --numa restricted = 0-3 0-1=59.6,40.4
has xeon-2s-snc4 -c 8 --threads-per-core 1 --mem 10G = \
    0,2,4,6,8,10,12,14/1,3,5,7,9,11,13,15 0=10
has xeon-2s-snc4 -c 16 --distribution scatter = \
    0-1,28-29,56-57,84-85,112-113,140-141,168-169,196-197 0-7
# One NUMA node per package: an L3 cache has eight cores of two threads.
has epyc-2s-nps1 -c 16 = 0-15 0
has epyc-2s-nps1 -c 8 --distribution scatter = \
    0-1,16-17,192-193,208-209 0-1
has epyc-2s-nps1 -c 194 --numa restricted = 0-193 0-1
# Four NUMA nodes per package: three caches and 89.4 GiB each.
has epyc-2s-nps4 -c 32 --numa single-numa-node = 0-31 0
has epyc-2s-nps4 -c 64 --numa restricted = 0-63 0-1
has epyc-2s-nps4 -c 4 --mem 200G = 0-3 0-2=89.4,55.3,55.3
# 72 cores without SMT in each half.
has grace-superchip -c 72 --numa single-numa-node = 0-71 0
has grace-superchip -c 73 --numa restricted = 0-72 0-1
has grace-superchip -c 4 --mem 300G --numa best-effort = 0-3 0-1=223.5,76.5
waits grace-superchip -c 4 --mem 300G --numa single-numa-node = NodeTooSmall
# Core memory groups of 12 cores and 7.4 GiB.
has a64fx -c 12 --mem 7G --numa single-numa-node = 0-11 0=7
has a64fx -c 13 --numa restricted = 0-12 0-1
has a64fx -c 48 --mem 28G = 0-47 0-3=7,7,7,7
has a64fx -c 8 --distribution cyclic = 0-1,12-13,24-25,36-37 0-3
# Memory without cores: the memory beside the cores is used first.
has dram-and-hbm -c 2 --mem 3G --numa single-numa-node = 0-1 0=3
has dram-and-hbm -c 2 --mem 16G --numa restricted = 0-1 0-1=14.9,1.1
waits dram-and-hbm -c 2 --mem 16G --numa single-numa-node = NodeTooSmall
has xeon-max-2s-snc4-flat -c 28 --mem 50G --numa single-numa-node = 0-27 0=50
# The HBM appears slightly farther away than the memory of the next cluster, so
# that no job gets it by chance, but nearer than the memory of the other
# package.
has xeon-max-2s-snc4-flat -c 28 --mem 70G --numa restricted = \
    0-27 0-1=59.6,10.4
has xeon-max-2s-snc4-flat -c 28 --mem 250G = \
    0-27 0-3,8=59.6,59.6,59.6,56.3,14.9
has xeon-max-2s-snc4-flat -c 16 --distribution scatter = \
    0-1,28-29,56-57,84-85,112-113,140-141,168-169,196-197 0-7
# GPUs on every other NUMA node, each with 16 cores of two threads.
has gpu-box -c 32 --gpus 2 --numa single-numa-node = 32-63 1 gpu0,gpu1
waits gpu-box -c 4 --gpus 3 --numa single-numa-node = NodeTooSmall

# --- many jobs at once --------------------------------------------------------

many=
for node in $nodes; do
    for shape in '-c 1' '-c 2 --numa single-numa-node' '-c 3 --mem 1G' \
        '-c 6 --distribution scatter' '-c 5 --threads-per-core 1' \
        '-c 4 --numa restricted --mem 2G'; do
        # shellcheck disable=SC2086 # one word each
        many="$many $(ksub --parsable -o /dev/null -w "$node" $shape \
            --wrap 'sleep 1000')"
    done
done
pods() { kctl get pods -o json | jq -c "[.items[] | select(.metadata.name |
    IN($(for id in $many; do printf '"job-%s-0",' "$id"; done | sed 's/,$//')))] |
    $1"; }
# The jobs on the machine with three cores have to wait for each other.
settled() { [ "$(pods 'map(select(.status.phase == "Running")) | length')" -ge 43 ]; }
ok "jobs of several kinds run on all nodes" wait_for 60 settled
is "no CPU and no sibling that is kept idle is allocated twice" \
    "$(pods '[.[] | select(.status.allocation) | .spec.nodeName as $node |
        .status.allocation | [.cpus, .withheld] | map(select(.)) | join(",") |
        split(",")[] | split("-") | map(tonumber) |
        range(.[0]; (.[1] // .[0]) + 1) | [$node, .]] |
        length - (unique | length)')" 0
is "no pod failed after it was bound" \
    "$(pods 'map(select(.status.phase == "Failed")) | length')" 0
for id in $many; do kctl cancel "$id" >/dev/null; done
none_left() { [ "$(kctl get pods -o json | jq '[.items[] |
    select(.status.phase | IN("Running", "Pending"))] | length')" = 0 ]; }
ok "all jobs end" wait_for 60 none_left

# --- as the kubelet allocates -------------------------------------------------

cat >"$cluster/scheduler.yaml" <<'TXT'
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NumaFit
    args:
      numaStrategy: kubelet
      cpuManagerOptions: [full-pcpus-only, prefer-align-cpus-by-uncorecache]
TXT
stop controller
cluster_controller --allow-root-jobs --scheduler-config "$cluster/scheduler.yaml"
has xeon-2s-snc4 -c 28 --mem 8G --numa single-numa-node = 0-27 0=8
waits xeon-2s-snc4 -c 3 --mem 1G = NoFreeCores
# The CPUs fit into one NUMA node and the memory needs two, so the kubelet does
# not consider them aligned.
waits xeon-2s-snc4 -c 4 --mem 100G --numa restricted = NotAligned
has xeon-2s-snc4 -c 4 --mem 100G --numa best-effort = 0-3 0-1=59.6,40.4
has epyc-2s-nps1 -c 16 --mem 1G = 0-15 0=1
has epyc-2s-nps4 -c 32 --mem 1G --numa single-numa-node = 0-31 0=1
has a64fx -c 13 --numa restricted = 0-12 0-1
has gpu-box -c 4 --gpus 2 --mem 1G --numa restricted = 32-35 1=1 gpu0,gpu1
waits gpu-box -c 4 --gpus 4 --mem 1G --numa restricted = NotAligned
# A job with an option that the kubelet does not know is placed by Kiln's
# rules.
has epyc-2s-nps1 -c 8 --distribution scatter = \
    0-1,16-17,192-193,208-209 0-1
finish
