#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a job finds on its node: everything that it inherits, variables for the
# runtimes of threads and GPUs, unless the user has set them, the memory
# policy, and the limits of its cgroup.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317,SC3045 # the jobs' shells expand; cluster.sh

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller

# The agent has all that a job must not inherit from it.
directory "$cluster/odd" 755
cat >"$cluster/odd/kiln-agent" <<TXT
#!/bin/sh
trap '' HUP INT QUIT USR1 USR2 PIPE ALRM WINCH RTMIN RTMAX 2>/dev/null ||
    trap '' HUP INT QUIT USR1 USR2 PIPE ALRM WINCH
umask 077
ulimit -S -n 900
LEAKED=1 exec nice -n 5 ionice -c 2 -n 7 "$cluster/bin/kiln-agent" "\$@" 9</dev/null
TXT
chmod 755 "$cluster/odd/kiln-agent"
PATH=$cluster/odd:$PATH
cluster_agent n1
PATH=${PATH#*:}
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
ready() { wait_for 20 kctl wait --for condition=Ready node "$1"; }
ok "a node is ready" ready n1
home=$cluster/home/kilntest1

# run [NAME=VALUE]... -- OPTION...: runs a job of $home/script that is
# submitted with these variables. $out is the file with its output.
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

# --- jobs do not inherit a sandbox --------------------------------------------

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
    is "a job's $name is the same as that of this test" "$(says "$name")" \
        "$(own_status "$name")"
done
for name in mnt net ipc uts user pid; do
    is "a job is in the $name namespace of the host" "$(says "$name")" \
        "$(readlink "/proc/self/ns/$name")"
done

# --- the state of a job's process -----------------------------------------------

# All that a process inherits, so that whatever is added must be added here,
# too. The descriptor 3 is ls's own.
script <<'TXT'
#!/bin/sh
sed -n 's/^\(Sig[BIC][a-z]*\):[[:space:]]*/\1 /p' /proc/self/status
# shellcheck disable=SC2046 # the fields of proc_pid_stat(5)
set -- $(cat /proc/self/stat)
echo "session $(($6 - $$)) terminal $7 nice ${19} policy ${41}"
ionice
echo "oom_score_adj $(cat /proc/self/oom_score_adj)"
echo "personality $(cat /proc/self/personality)"
echo "umask $(umask)"
echo descriptors $(ls /proc/self/fd)
echo "input $(readlink /proc/self/fd/0)"
cat /proc/self/limits >limits
env | sed 's/=.*//' | sort >names
TXT
submitted=$(umask 027 && ulimit -S -n 333 && ulimit -S -c 0 && as kilntest1 cat /proc/self/limits)
(umask 027 && ulimit -S -n 333 && ulimit -S -c 0 &&
    as kilntest1 env SECRET=1 ksub --wait --export NONE -c 1 --mem 64M -o state ./script) >/dev/null
is "whatever the agent is like, a job starts as from a login shell" \
    "$(cat "$home/state")" "SigBlk 0000000000000000
SigIgn 0000000000000000
SigCgt 0000000000000000
session 0 terminal 0 nice 0 policy 0
none: prio 0
oom_score_adj 0
personality 00000000
umask 0027
descriptors 0 1 2 3
input /dev/null"
is "a job has the limits of its submission" "$(cat "$home/limits")" "$submitted"
is "with --export NONE, it has these variables and no other" \
    "$(tr '\n' ' ' <"$home/names")" "HOME KILN_CPUS KILN_CPUS_ON_NODE \
KILN_CPUS_PER_TASK KILN_JOB_ACCOUNT KILN_JOB_ID KILN_JOB_NAME KILN_JOB_NODELIST KILN_JOB_NUM_NODES KILN_JOB_PARTITION \
KILN_JOB_USER KILN_MEMORY_NODES KILN_MEM_MB KILN_NNODES KILN_NODEID KILN_NODE_NAME KILN_NTASKS KILN_POD_NAME KILN_POD_UID \
KILN_RESTART_COUNT KILN_STEP_SOCKET KILN_SUBMIT_DIR KILN_SUBMIT_HOST KILN_TASKS_PER_NODE LOGNAME OMP_NUM_THREADS PATH PWD SHELL \
TMPDIR USER "

# --- threads ------------------------------------------------------------------

script <<'TXT'
#!/bin/sh
env | grep -E '^(OMP_|GOMP_|KILN_CPUS)'
TXT
omp() { grep -cE '^(OMP_PLACES|OMP_PROC_BIND|GOMP_CPU_AFFINITY)=' "$out"; }
run -- -c 1
own=$(of_pod .status.allocation.cpus)
is "KILN_CPUS has the job's CPUs" "$(says KILN_CPUS)" "$own"
is "with -c, OMP_NUM_THREADS has that number, and no thread is bound" \
    "$(says OMP_NUM_THREADS) $(omp)" "1 0"
run -- -n 1
is "without -c, OMP_NUM_THREADS is not set" "$(says OMP_NUM_THREADS) $(omp)" " 0"
run -- -c 1 --thread-bind
is "with --thread-bind, OpenMP keeps each thread on its core" \
    "$(says OMP_PLACES) $(says OMP_PROC_BIND) $(says GOMP_CPU_AFFINITY)" "cores close $own"
run -- -c 1 --thread-bind -m scatter
is "with -m scatter, OpenMP distributes the threads" \
    "$(says OMP_PROC_BIND)" spread
run OMP_NUM_THREADS=7 -- -c 1 --thread-bind
is "OMP_NUM_THREADS of the user is not changed" \
    "$(says OMP_NUM_THREADS)" 7
is "the variables for binding are set all the same" "$(omp)" 3
run OMP_PROC_BIND=false -- -c 1 --thread-bind
is "if the user sets OMP_PROC_BIND, the other variables for binding are not set" \
    "$(says OMP_PROC_BIND) $(omp)" "false 1"
like "--thread-bind for several tasks is refused" \
    "$(as kilntest1 ksub -n 2 --thread-bind ./script 2>&1)" 'a job of one task'
run -- --shared 0.5
is "a job in the shared pool has the number of threads of its share" \
    "$(says OMP_NUM_THREADS) $(omp)" "1 0"

cat >"$cluster/threads.c" <<'TXT'
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    cpu_set_t set;
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads += 1;
    if (fork() == 0) {
        sched_getaffinity(0, sizeof(set), &set);
        printf("%d threads, a child on %d CPUs\n", threads, CPU_COUNT(&set));
        return 0;
    }
    return wait(NULL) < 0;
}
TXT
if [ "$(nproc --all)" -lt 2 ]; then
    skip "a job of several tasks can use all its CPUs" "one CPU is all this machine has"
else
    script <<'TXT'
#!/bin/sh
echo "nproc=$(nproc)"
TXT
    run -- -n 2
    is "a job of several tasks can use all its CPUs" "$(says nproc)" 2
    # A parallel region in a parent binds the threads of its children, too.
    if ${CC:-cc} -fopenmp -D_GNU_SOURCE -o "$cluster/threads" \
        "$cluster/threads.c" 2>/dev/null; then
        chmod 755 "$cluster/threads"
        printf '#!/bin/sh\nexec %s\n' "$cluster/threads" | script
        run -- -c 2
        is "a process that is forked after a parallel region can use all CPUs" \
            "$(sort -u "$out")" "2 threads, a child on 2 CPUs"
        run -- -c 2 --thread-bind
        is "with --thread-bind it is on the core of the first thread" \
            "$(sort -u "$out")" "2 threads, a child on 1 CPUs"
    else
        skip "a process that is forked after a parallel region can use all CPUs" \
            "no compiler with OpenMP"
    fi
fi

# --- memory -------------------------------------------------------------------

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
    is "memory has the policy $policy" "$(says policy)" \
        "$policy:$(of_pod .status.allocation.memoryNodes)"
done
run -- -c 1 --mem 64M --mem-bind preferred
like "memory has the policy preferred" "$(says policy)" '^prefer'
case $(cat "$out") in
*memory.max=*)
    is "the memory is limited" "$(says memory.max)" "$((64 << 20))"
    is "no swap can be used in addition" "$(says memory.swap.max)" 0
    ;;
*memory.limit_in_bytes=*)
    is "the memory is limited" "$(says memory.limit_in_bytes)" "$((64 << 20))"
    case $(cat "$out") in
    *memsw*)
        is "the limit includes swap" "$(says memory.memsw.limit_in_bytes)" \
            "$((64 << 20))"
        ;;
    *) skip "the limit includes swap" "the kernel does not count swap" ;;
    esac
    ;;
*) skip "the memory is limited" "there is no memory controller here" ;;
esac

# --- GPUs ---------------------------------------------------------------------

# A topology with GPUs of two vendors: nothing is bound, but the variables are
# set.
machines=$(cd "$top_srcdir/testsuite/data/topology" && pwd)
cp "$machines/two-sockets-devices.xml" "$cluster/machine.xml"
chmod 644 "$cluster/machine.xml"
cluster_agent v1 --devices --topology "$cluster/machine.xml"
ok "a node with GPUs is ready" ready v1
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
is "a job sees its GPUs, numbered per vendor" "$(gpus)" \
    "gpu0,gpu1: 0/0"
is "CUDA uses the order of the PCI bus" "$(says CUDA_DEVICE_ORDER)" PCI_BUS_ID
run -- -c 1 --gpus "1:accelerator 01"
is "a job sees only the GPU that it requested" "$(gpus)" "gpu0: 0/"
run CUDA_VISIBLE_DEVICES=0,1 ROCR_VISIBLE_DEVICES=0 -- -c 1
is "a job without GPUs sees none, whatever variables it was submitted with" \
    "$(gpus) $(grep -c '_VISIBLE_DEVICES=$' "$out")" ": / 2"
finish
