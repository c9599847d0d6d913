#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Scripts written for Slurm, as they are: what they find, what they are told.

# shellcheck disable=SC2016,SC2119,SC2317 # backquotes; functions for others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need ksub kctl kiln-controller kiln-agent munged jq
scripts=$(cd "$top_srcdir/testsuite/data/sbatch" && pwd)
cluster_munge
cluster_controller --allow-root-jobs
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
cluster_agent n1 --allow-root-jobs
wait_for 20 kctl wait --for condition=Ready node n1 || bail_out "no node"
kctl label node n1 kiln.hpc/partition=batch >/dev/null
cd "$cluster/home" || bail_out "no home"
unset OMP_NUM_THREADS
SLURM_JOB_ID=999
export SLURM_JOB_ID # of a job of Slurm's around this test
told() { grep -c "$1" "$cluster/said"; }
value() { sed -n "s/^$1=//p" "$2"; }

# --- OpenMP -------------------------------------------------------------------

if [ "$(nproc)" -lt 2 ]; then
    skip 8 "one CPU is all this machine has"
else
    id=$(ksub --parsable --wait -p all,batch "$scripts/openmp.sh" \
        2>"$cluster/said")
    out=omp_$id.out
    is "a script of Slurm's runs where it was submitted, with its threads" \
        "$(head -n 1 "$out")" "directory=$PWD threads=2"
    is "that it was read as one is told in a line" "$(told 'read 11 #SBATCH')" 1
    is "and what has no effect in another" "$(grep effect "$cluster/said")" \
        "ksub: without effect here: --hint, --mail-type, --mail-user, --qos"
    is "its job has its own id, not another's" "$(value SLURM_JOB_ID "$out")" \
        "$id"
    is "the partition is that of the node, of several" \
        "$(value SLURM_JOB_PARTITION "$out")" batch
    is "CPUs, memory and nodes are true" "$(for name in SLURM_CPUS_ON_NODE \
        SLURM_MEM_PER_CPU SLURM_MEM_PER_NODE SLURM_NNODES SLURM_JOB_NODELIST \
        SLURM_CLUSTER_NAME SLURM_NTASKS; do
        printf '%s ' "$(value $name "$out")"
    done)" "2 32 64 1 n1 test 1 "
    # Each of the variables that the document has, but for those of GPUs, arrays and
    # restarts, and none that it has not.
    documented=$(sed -n 's/^| `\(SLURMD*_[A-Z_]*\)`.*/\1/p' \
        "$top_srcdir/doc/slurm.md" | sort)
    is "all that the document says is there, and no more" \
        "$(sed -n 's/^\(SLURMD*_[A-Z_]*\)=.*/\1/p' "$out" | sort)" \
        "$(echo "$documented" | grep -v 'GPU\|ARRAY')"
    ksub --wait --parsable -o plain --no-sbatch "$scripts/openmp.sh" \
        >/dev/null 2>&1
    is "left alone, it is a script like any" "$(grep -c ^SLURM plain)" 0
fi

# --- several tasks of one node --------------------------------------------------

if [ "$(nproc)" -lt 2 ]; then
    skip 1 "one CPU is all this machine has"
else
    ksub --wait "$scripts/mpi.sh" >/dev/null 2>&1
    is "tasks per node are tasks" "$(sort mpi.out | tr '\n' ';')" \
        "rank 0 of 2 on n1;rank 1 of 2 on n1;"
fi
job=$(ksub --sbatch --dry-run -o json "$scripts/gpu.sh")
asked() { printf '%s\n' "$job" | jq -r ".spec.template.spec$1"; }
is "GPUs are asked for, and what goes with each" \
    "$(asked '.containers[0].resources.limits |
        [.["kiln.hpc/gpu"], .cpu, .memory] | join(" ")')" "1 2 64Mi"
is "with a warning before the end" \
    "$(asked '.execution.signal | [.name, .secondsBefore, .batchOnly] |
        map(tostring) | join(" ")')" "USR1 120 true"
is "output is called as sbatch calls it" "$(ksub --sbatch --dry-run -o json \
    --wrap true | jq -r .spec.template.spec.execution.stdoutPath)" slurm-%j.out

# --- what cannot be done --------------------------------------------------------

before=$(kctl get jobs --no-headers | wc -l)
status=0
(PATH=$cluster/bin:/bin:/usr/bin && command -v srun >/dev/null) && srun=5 || srun=6
ksub "$scripts/refused.sh" >"$cluster/said" 2>&1 || status=$?
is "what cannot be done is refused" "$status" 64
is "all of it at once, each with its line" \
    "$(grep -c "refused.sh:[0-9]*: " "$cluster/said")" "$srun"
is "an array by saying what is wrong" \
    "$(told 'refused.sh:4: #SBATCH: --array: the range .99-0. ends')" 1
is "and nothing is submitted" "$(kctl get jobs --no-headers | wc -l)" "$before"
finish
