#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a job finds around it on its node: variables for the runtimes of threads
# and GPUs, unless its user has said otherwise, the policy of its memory, and the
# limits of its cgroup.

# shellcheck disable=SC2016,SC2119,SC2154 # the jobs' shells expand; cluster.sh

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller
cluster_agent n1
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
ready() { wait_for 20 kctl wait --for condition=Ready node "$1"; }
ok "a node is ready" ready n1
home=$cluster/home/kilntest1

# run [NAME=VALUE]... -- OPTION...: a job of $home/script has run, submitted with
# these variables; $out is what it wrote.
run() {
    set_variables=
    while [ "$1" != -- ]; do
        set_variables="$set_variables $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # one word each
    id=$(as kilntest1 env $set_variables ksub --parsable -o out-%j "$@" \
        ./script) || bail_out "no job"
    wait_for 60 ended || bail_out "job $id does not end"
    out=$home/out-$id
}
of_pod() { kctl get pod "job-$id-0" -o json | jq -r "$1"; }
ended() { case $(of_pod .status.phase) in Succeeded | Failed) ;; *) false ;; esac; }
says() { sed -n "s/^$1=//p" "$out"; }
script() { cat >"$home/script" && chmod 755 "$home/script"; }

# --- what is of the agent alone ----------------------------------------------------

script <<'TXT'
#!/bin/sh
sed -n 's/^\(NoNewPrivs\|Seccomp\|CapBnd\):[[:space:]]*/\1=/p' /proc/self/status
for name in mnt net ipc uts user pid; do
    echo "$name=$(readlink /proc/self/ns/$name)"
done
TXT
run -- -c 1
own_status() { sed -n "s/^$1:[[:space:]]*//p" /proc/self/status; }
for name in NoNewPrivs Seccomp CapBnd; do
    is "a job's $name is that of any process here" "$(says "$name")" \
        "$(own_status "$name")"
done
for name in mnt net ipc uts user pid; do
    is "and it is in the host's namespace ($name)" "$(says "$name")" \
        "$(readlink "/proc/self/ns/$name")"
done

# --- threads ----------------------------------------------------------------------

script <<'TXT'
#!/bin/sh
env | grep -E '^(OMP_|GOMP_|KILN_CPUS)'
TXT
omp() { grep -cE '^(OMP_PLACES|OMP_PROC_BIND|GOMP_CPU_AFFINITY)=' "$out"; }
run -- -c 1
own=$(of_pod .status.allocation.cpus)
is "a job knows its CPUs" "$(says KILN_CPUS)" "$own"
is "OpenMP starts a thread for each" "$(says OMP_NUM_THREADS)" 1
is "and keeps each on its core" "$(says OMP_PLACES) $(says OMP_PROC_BIND)" \
    "cores close"
is "in libgomp's words, too" "$(says GOMP_CPU_AFFINITY)" "$own"
run -- -c 1 -m scatter
is "cores far apart are taken far apart" "$(says OMP_PROC_BIND)" spread
run OMP_NUM_THREADS=7 -- -c 1
is "how many threads its user wants is how many it gets" \
    "$(says OMP_NUM_THREADS)" 7
is "and where they go is said all the same" "$(omp)" 3
run OMP_PROC_BIND=false -- -c 1
is "where its user wants them is where they go" \
    "$(says OMP_PROC_BIND) $(omp)" "false 1"
run OMP_PLACES=threads -- -c 1
is "whatever word says it" "$(says OMP_PLACES) $(omp)" "threads 1"
run GOMP_CPU_AFFINITY=0 -- -c 1
is "or whose" "$(says GOMP_CPU_AFFINITY) $(omp)" "0 1"
run -- --shared 0.5
is "a job without cores of its own has one thread, anywhere" \
    "$(says OMP_NUM_THREADS) $(omp)" "1 0"

cat >"$cluster/threads.c" <<'TXT'
#include <omp.h>
#include <sched.h>
#include <stdio.h>
int main(void) {
#pragma omp parallel
#pragma omp critical
    {
        cpu_set_t set;
        sched_getaffinity(0, sizeof(set), &set);
        printf("thread of %d on %d CPUs\n", omp_get_num_threads(),
               CPU_COUNT(&set));
    }
}
TXT
if [ "$(nproc --all)" -lt 2 ]; then
    skip 3 "one CPU is all this machine has"
else
    script <<'TXT'
#!/bin/sh
env | grep -E '^(OMP_|GOMP_)'
TXT
    run -- -n 2
    is "several tasks share its cores" "$(says OMP_NUM_THREADS)" 1
    is "and all would begin on the first" "$(omp)" 0
    if ${CC:-cc} -fopenmp -D_GNU_SOURCE -o "$cluster/threads" \
        "$cluster/threads.c" 2>/dev/null; then
        chmod 755 "$cluster/threads"
        printf '#!/bin/sh\nexec %s\n' "$cluster/threads" | script
        run -- -c 2
        is "a program of OpenMP has a thread to a core" "$(sort -u "$out")" \
            "thread of 2 on 1 CPUs"
    else
        skip 1 "no compiler with OpenMP"
    fi
fi

# --- memory ------------------------------------------------------------------------

script <<'TXT'
#!/bin/sh
echo "policy=$(head -n 1 /proc/self/numa_maps | cut -d ' ' -f 2)"
while read -r line; do
    case $line in
    0::*) v2=${line#0::} ;;
    *:memory:*) memory=${line##*:} ;;
    *:hugetlb:*) huge=${line##*:} ;;
    esac
done </proc/self/cgroup
for file in /sys/fs/cgroup$v2/memory.max /sys/fs/cgroup$v2/memory.swap.max \
    /sys/fs/cgroup/memory$memory/memory.limit_in_bytes \
    /sys/fs/cgroup/memory$memory/memory.memsw.limit_in_bytes; do
    [ -e "$file" ] && echo "${file##*/}=$(cat "$file")"
done
TXT
for policy in bind interleave; do
    run -- -c 1 --mem 64M --mem-bind $policy
    is "memory comes by the policy $policy" "$(says policy)" \
        "$policy:$(of_pod .status.allocation.memoryNodes)"
done
run -- -c 1 --mem 64M --mem-bind preferred
like "and preferred" "$(says policy)" '^prefer'
case $(cat "$out") in
*memory.max=*)
    is "memory is limited" "$(says memory.max)" "$((64 << 20))"
    is "and no swap is beside it" "$(says memory.swap.max)" 0
    ;;
*memory.limit_in_bytes=*)
    is "memory is limited" "$(says memory.limit_in_bytes)" "$((64 << 20))"
    case $(cat "$out") in
    *memsw*)
        is "swap and all" "$(says memory.memsw.limit_in_bytes)" \
            "$((64 << 20))"
        ;;
    *) skip 1 "the kernel does not count swap" ;;
    esac
    ;;
*) skip 2 "there is no memory controller here" ;;
esac

# --- GPUs --------------------------------------------------------------------------

# A description with GPUs of two makes: nothing is bound, the variables are set.
machines=$(cd "$top_srcdir/testsuite/data/topology" && pwd)
cp "$machines/two-sockets-devices.xml" "$cluster/machine.xml"
chmod 644 "$cluster/machine.xml"
cluster_agent v1 --devices --topology "$cluster/machine.xml"
ok "a node has GPUs" ready v1
kctl taint v1 "$(kctl get node v1 -o json | jq -r '.spec.taints[] |
    select(.key | contains("virtual")).key')-" >/dev/null
kctl cordon n1 >/dev/null
script <<'TXT'
#!/bin/sh
env | grep -E '^(CUDA|ROCR)_|^KILN_DEVICES'
TXT
gpus() {
    echo "$(says KILN_DEVICES): $(says CUDA_VISIBLE_DEVICES)/$(says \
        ROCR_VISIBLE_DEVICES)"
}
run -- -c 1 --gpus 2
is "a job sees the GPUs it was given, each make by its own numbers" "$(gpus)" \
    "gpu0,gpu1: 0/0"
is "in the order of the bus" "$(says CUDA_DEVICE_ORDER)" PCI_BUS_ID
run -- -c 1 --gpus "1:accelerator 01"
is "or of one make" "$(gpus)" "gpu0: 0/"
run CUDA_VISIBLE_DEVICES=0,1 ROCR_VISIBLE_DEVICES=0 -- -c 1
is "and none where it asked for none, whatever it was submitted with" \
    "$(gpus) $(grep -c '_VISIBLE_DEVICES=$' "$out")" ": / 2"
finish
