#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Scripts written for Slurm run unchanged: the variables that they get, and the
# messages of ksub.

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
printf '{apiVersion: kiln.hpc/v1, kind: Partition, metadata: {name: empty},
    spec: {selector: {matchLabels: {none: such}}}}' | kctl apply -f - >/dev/null
cd "$cluster/home" || bail_out "no home"
unset OMP_NUM_THREADS
SLURM_JOB_ID=999
export SLURM_JOB_ID # as if this test ran in a job of Slurm
told() { grep -c "$1" "$cluster/said"; }
value() { sed -n "s/^$1=//p" "$2"; }

# --- OpenMP -------------------------------------------------------------------

if [ "$(nproc)" -lt 2 ]; then
    skip "a script of Slurm runs in the directory of submission, with its threads" \
        "one CPU is all this machine has"
else
    id=$(ksub --parsable --wait -p empty,batch "$scripts/openmp.sh" \
        2>"$cluster/said")
    out=omp_$id.out
    is "a script of Slurm runs in the directory of submission, with its threads" \
        "$(head -n 1 "$out")" "directory=$PWD threads=2"
    is "ksub says in one line that it read the script's directives" \
        "$(told 'read 11 #SBATCH')" 1
    is "another line names the directives without effect" \
        "$(grep effect "$cluster/said")" \
        "ksub: options without effect here: --wckey
ksub: warning: this cluster sends no mail (mailProgram of kiln-controller.yaml), so --mail-type has no effect"
    is "the job has its own ID, not the one from the environment" \
        "$(value SLURM_JOB_ID "$out")" \
        "$id"
    is "of two partitions, the variable has the one in which the job started" \
        "$(value SLURM_JOB_PARTITION "$out")" batch
    is "the variables for CPUs, memory and nodes are correct" \
        "$(for name in SLURM_CPUS_ON_NODE \
        SLURM_MEM_PER_CPU SLURM_MEM_PER_NODE SLURM_NNODES SLURM_JOB_NODELIST \
        SLURM_CLUSTER_NAME SLURM_NTASKS; do
        printf '%s ' "$(value $name "$out")"
    done)" "2 32  1 n1 test 1 "
    # The job has each variable that the document lists for every job, those
    # for which the script asks, and no other.
    documented=$({
        sed -n '/^| `[^|]*| only with/d; s/^| `\(SLURMD*_[A-Z_]*\)`.*/\1/p' \
            "$top_srcdir/doc/slurm.md"
        printf '%s\n' SLURM_NTASKS SLURM_CPUS_PER_TASK SLURM_MEM_PER_CPU SLURM_HINT
    } | sort)
    is "the job has exactly the documented variables" \
        "$(sed -n 's/^\(SLURMD*_[A-Z_]*\)=.*/\1/p' "$out" | sort)" \
        "$(echo "$documented" | grep -v ARRAY)"
    ksub --wait --sbatch -o asked-nothing --wrap 'env' >/dev/null 2>&1
    is "a job that asks for no tasks and CPUs has no variables of them" \
        "$(sed -n 's/^\(SLURM_[NC][PT][RUA][A-Z_]*\)=.*/\1/p' asked-nothing | sort | tr '\n' ' ')" \
        "SLURM_CPUS_ON_NODE "
    is "without -p, the partition is the default" \
        "$(value SLURM_JOB_PARTITION asked-nothing)" all
    ksub --wait --sbatch --ntasks-per-node 2 -o asked --wrap 'env' >/dev/null 2>&1
    is "a job that asks for tasks per node has these variables" \
        "$(sed -n 's/^SLURM_\(N[PT].*\)/\1/p' asked | sort | tr '\n' ' ')" \
        "NPROCS=2 NTASKS=2 NTASKS_PER_NODE=2 "
    ksub --wait --parsable -o plain --no-sbatch "$scripts/openmp.sh" \
        >/dev/null 2>&1
    is "with --no-sbatch the job has no variable of Slurm" \
        "$(grep -c ^SLURM plain)" 0
fi

# --- several tasks on one node ------------------------------------------------

if [ "$(nproc)" -lt 2 ]; then
    skip "the tasks per node are started" "one CPU is all this machine has"
else
    ksub --wait "$scripts/mpi.sh" >/dev/null 2>&1
    is "the tasks per node are started" "$(sort mpi.out | tr '\n' ';')" \
        "rank 0 of 2 on n1;rank 1 of 2 on n1;"
fi
job=$(ksub --sbatch --dry-run -o json "$scripts/gpu.sh")
asked() { printf '%s\n' "$job" | jq -r ".spec.template.spec$1"; }
is "the job requests GPUs, and CPUs and memory per GPU" \
    "$(asked '.containers[0].resources.limits |
        [.["kiln.hpc/gpu"], .cpu, .memory] | join(" ")')" "1 2 64Mi"
is "the job has a signal before its end" \
    "$(asked '.execution.signal | [.name, .secondsBefore, .batchOnly] |
        map(tostring) | join(" ")')" "USR1 120 true"
is "the default output file is that of sbatch" \
    "$(ksub --sbatch --dry-run -o json \
    --wrap true | jq -r .spec.template.spec.execution.stdoutPath)" slurm-%j.out

# --- what ksub refuses --------------------------------------------------------

before=$(kctl get jobs --no-headers | wc -l)
status=0
ksub "$scripts/refused.sh" >"$cluster/said" 2>&1 || status=$?
is "a script with unsupported directives is refused" "$status" 64
is "all of them are reported, each with its line" \
    "$(grep -c "refused.sh:[0-9]*: " "$cluster/said")" 4
is "an invalid array is reported with what is wrong" \
    "$(told 'refused.sh:4: #SBATCH: --array: the range .99-0. ends')" 1
is "no job is submitted" "$(kctl get jobs --no-headers | wc -l)" "$before"
finish
