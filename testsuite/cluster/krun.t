#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# krun and srun in a job of one node: tasks, their CPUs, variables and files,
# srun's words about their ends, and steps beside each other. The expected words
# and numbers are those of Debian's Slurm 22.05, unless doc/slurm.md says otherwise.

# shellcheck disable=SC2015,SC2016,SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-step krun ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_slurm
printf '#!/bin/sh\necho export SITE=yes\n' >"$cluster/task-prolog"
chmod 755 "$cluster/task-prolog"
echo "taskProlog: $cluster/task-prolog" >"$cluster/agent.yaml"
cluster_agent n1 --config "$cluster/agent.yaml" --topology 'package:1 core:8 pu:1'
node_is_ready() { root get node n1 --no-headers | grep -qw Ready; }
wait_for 20 node_is_ready || bail_out "node n1 does not register"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key | select(test("virtual"))'); do
    root taint node n1 "$key-" >/dev/null
done

home=$cluster/home/kilntest1
# The output of the last job, if a point about it has failed.
failed_before=0
show_said() {
    [ "$tap_failed" -eq "$failed_before" ] || printf 'The output of the job:\n%s\n' "$said" | note
    failed_before=$tap_failed
}

# job OPTIONS: runs the script on standard input as Slurm's, in a job; its output is in $said.
job() {
    show_said
    cat >"$home/script"
    rm -f "$home/said"
    as kilntest1 ksub --sbatch -Q --wait -t 5 -o said "$@" script >"$cluster/job" 2>&1 || :
    said=$(cat "$home/said" 2>&1)
}
said_line() { printf '%s\n' "$said" | grep -cxF -- "$1"; }

# ended_with WORDS AFTER BEFORE: the tasks that srun said have ended so, between the lines that begin
# with these words. On a busy machine tasks that end together may have a line each.
ended_with() {
    printf '%s\n' "$said" | awk -v words="$1" -v after="$2" -v before="$3" '
        $1 == before { exit }
        $1 == after { is_there = 1 }
        is_there && /^srun: error: n1: tasks? [0-9,-]*: / && substr($0, index($0, ": " words) + 2) == words {
            sub(/:$/, "", $5)
            n = split($5, parts, ",")
            for (i = 1; i <= n; i++) {
                if (split(parts[i], ends, "-") == 1)
                    ends[2] = ends[1]
                for (t = ends[1] + 0; t <= ends[2] + 0; t++)
                    seen[t] = 1
            }
        }
        END { for (t = 0; t < 64; t++) if (t in seen) printf "%s%d", count++ ? "," : "", t }'
}

# --- tasks and their variables ------------------------------------------------

job -n 4 <<'E'
#!/bin/bash
command -v srun
srun -l sh -c 'echo "$SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS $SLURM_STEP_ID $SLURM_STEP_NODELIST"'
srun -n 2 -c 2 sh -c 'echo "$KILN_PROCID of $KILN_STEP_NUM_TASKS: $SLURM_CPUS_PER_TASK $SLURM_GTIDS $SLURM_STEPID"'
srun -n 1 --export=A=1 sh -c 'echo "A=$A HOME=$HOME"'
srun -n 1 -D /tmp pwd
printf '0 echo zero %%t %%o\n1-2 echo others %%t %%o\n* sh -c "echo rest"\n' >programs
srun -l --multi-prog programs
printf '#!/bin/sh\necho "export FOO=bar baz"\necho "print from the prolog"\n' >prolog
chmod 755 prolog
srun -n 1 --task-prolog="$PWD/prolog" sh -c 'echo "SITE=$SITE FOO=$FOO"'
echo in | srun -n 2 -l cat
E
is "srun is Kiln's in a script for Slurm" "$(printf '%s\n' "$said" | head -1)" "$cluster/bin/slurm/srun"
is "a step without -n has the job's tasks" \
    "$(printf '%s\n' "$said" | grep -E '^[0-3]: [0-3] [0-3] 4 0 n1$' | sort | tr '\n' ';')" \
    '0: 0 0 4 0 n1;1: 1 1 4 0 n1;2: 2 2 4 0 n1;3: 3 3 4 0 n1;'
is "-n and -c are the step's" "$(said_line '1 of 2: 2 0,1 1')" 1
is "--export chooses variables" "$(said_line 'A=1 HOME=')" 1
is "--chdir is the directory" "$(said_line /tmp)" 1
is "--multi-prog gives each task its program" \
    "$(printf '%s\n' "$said" | grep -E 'zero|others|rest' | sort | tr '\n' ';')" \
    '0: zero 0 0;1: others 1 0;2: others 2 1;3: rest;'
is "task prologs of site and user change variables and print" \
    "$(said_line 'SITE=yes FOO=bar baz')$(said_line 'from the prolog')" 11
is "all tasks read the input" "$(said_line '0: in')$(said_line '1: in')" 11

# --- ends, in srun's words ----------------------------------------------------

job -n 4 <<'E'
#!/bin/bash
srun sh -c '[ $SLURM_PROCID != 1 ] || exit 7'; echo "seven $?"
srun sh -c 'exit 5'; echo "five $?"
srun -n 2 sh -c 'kill -SEGV $$'; echo "signal $?"
srun -n 1 nosuchprogram; echo "none $?"
srun -n 40 hostname; echo "large $?"
srun -n 3 -K sh -c '[ $SLURM_PROCID != 1 ] || exit 3; exec sleep 300'; echo "bad $?"
srun -n 3 -W 1 sh -c '[ $SLURM_PROCID = 1 ] || exec sleep 300'; echo "wait $?"
srun -n 2 -t 0:02 sleep 300; echo "limit $?"
srun; echo "nothing $?"
srun --bcast true; echo "refused $?"
srun -p gpu --qos=x -n 1 true; echo "noted $?"
SLURM_EXIT_ERROR=42 srun -n 0 true; echo "own $?"
srun -n 2 sh -c 'trap "echo got it; exit 0" USR1; echo ready; while :; do sleep 0.1; done' >signal &
while [ "$(grep -c ready signal)" != 2 ]; do sleep 0.1; done
kill -USR1 $!; wait $!; echo "usr1 $? $(grep -c 'got it' signal)"
E
is "a failed task has a line, and its exit status is srun's" \
    "$(said_line 'srun: error: n1: task 1: Exited with exit code 7')$(said_line 'seven 7')" 11
is "so have others, which share it if they end together" \
    "$(ended_with 'Exited with exit code 5' seven five) $(said_line 'five 5')" "0,1,2,3 1"
is "a signal has its name, and 128 is added" "$(ended_with 'Segmentation fault' five signal)" 0,1
is "... to its number" "$(said_line 'signal 139')" 1
like "a program that does not exist is told" "$said" 'nosuchprogram: '
like "a step larger than the job is refused at once" "$said" \
    'srun: error: Unable to create step for job [0-9]+: More processors requested than permitted'
is "... with 1" "$(said_line 'large 1')" 1
is "--kill-on-bad-exit ends the others" \
    "$(ended_with Terminated large bad) $(said_line 'bad 143')" "0,2 1"
is "--wait ends the others, too" \
    "$(said_line 'srun: First task exited 1s ago')$(said_line 'wait 137')" 11
like "--time ends all" "$said" 'srun: error: \*\*\* STEP [0-9]+\.[0-9]+ CANCELLED AT .* DUE TO TIME LIMIT'
is "... with SIGTERM" "$(said_line 'limit 143')" 1
is "a command is needed" \
    "$(said_line 'srun: error: No command given to execute.')$(said_line 'nothing 1')" 11
like "options that a step cannot have are refused" "$said" 'srun: error: --bcast: .*'
is "... with 1 " "$(said_line 'refused 1')" 1
is "options of the job are noted" \
    "$(said_line 'srun: only a job can ask for this, so it has no effect here: --partition, --qos')$(said_line 'noted 0')" 11
is "a script can choose the status of srun's own errors" "$(said_line 'own 42')" 1
is "a signal for srun is for the tasks" "$(said_line 'usr1 0 2')" 1

# --- files ----------------------------------------------------------------------

job -n 2 -J ring <<'E'
#!/bin/bash
srun -o 'task.%t.%2t.%s.%n.%N.%x.%%' sh -c 'echo "task $SLURM_PROCID"'
srun -o 'node.%n' sh -c 'echo "task $SLURM_PROCID"; echo "error $SLURM_PROCID" >&2'
srun -o 'one.%s' -e 'other.%s' -l sh -c 'echo "task $SLURM_PROCID"; echo "error $SLURM_PROCID" >&2'
srun -o one.2 --open-mode=append echo more
srun -o 1 sh -c 'echo "task $SLURM_PROCID"'
srun -o none sh -c 'echo "task $SLURM_PROCID"'
srun -i one.2 -l sh -c 'wc -l'
srun -o /nonexist/x true; echo "cannot $?"
E
is "a file for each task" \
    "$(cat "$home/task.0.00.0.0.n1.ring.%" "$home/task.1.01.0.0.n1.ring.%" | tr '\n' ';')" \
    'task 0;task 1;'
is "a file for each node has all its tasks" "$(sort "$home/node.0" | tr '\n' ';')" \
    'error 0;error 1;task 0;task 1;'
is "one file has the output, with labels" "$(grep -v more "$home/one.2" | sort | tr '\n' ';')" \
    '0: task 0;1: task 1;'
is "... and another one the errors" "$(sort "$home/other.2" | tr '\n' ';')" \
    '0: error 0;1: error 1;'
is "--open-mode=append appends" "$(grep -c more "$home/one.2")" 2
is "the number of a task lets only its output through" "$(said_line 'task 1')$(said_line 'task 0')" 10
is "a file is the input of all" "$(said_line '0: 4')$(said_line '1: 4')" 11
like "a file that cannot be opened is told" "$said" "Could not open stdout file '/nonexist/x'"
is "... with 1" "$(said_line 'cannot 1')" 1

# --- steps beside each other --------------------------------------------------------

job -n 4 --mem 100M <<'E'
#!/bin/bash
# Two steps that meet run at the same time.
meet='touch here.$0; while [ ! -e here.$1 ]; do sleep 0.1; done; echo "met $1"'
srun -n 2 --exact sh -c "$meet" a b & srun -n 2 --exact sh -c "$meet" b a & wait
# The third waits until a half of the CPUs is free.
for i in 1 2 3; do srun -n 1 -c 2 sh -c "sleep 1; echo step $i" & done; wait
# All CPUs are busy.
srun -n 4 sleep 300 & busy=$!
until srun -I -n 1 true 2>immediate; rc=$?; [ $rc = 1 ]; do sleep 0.1; done
echo "immediate $rc"; cat immediate
srun --overlap -n 4 echo overlaps
srun -I1 -n 1 true; echo "patience $?"
kill $busy; wait $busy
srun -n 9 -O sh -c 'echo many' | sort | uniq -c | tr -s ' '
# Memory is held by those that ask for it.
srun --mem=60M -n 1 sleep 300 & busy=$!
until srun -I --mem=60M -n 1 true; [ $? = 1 ]; do sleep 0.1; done
srun -n 1 echo "needs no memory"
srun --overlap --mem=60M -n 1 echo "shares memory"
srun --mem=2G -n 1 true
kill $busy; wait $busy
E
is "two steps run side by side" "$(said_line 'met a')$(said_line 'met b')" 22
like "a third waits, and says so once" "$said" \
    'srun: Job [0-9]+ step creation temporarily disabled, retrying \(Requested nodes are busy\)'
is "... and runs then" "$(printf '%s\n' "$said" | grep -c '^step [123]$')" 3
like "--immediate does not wait" "$(printf '%s\n' "$said" | grep -A1 '^immediate 1$')" \
    'Unable to create step for job [0-9]+: (Requested nodes are busy|other steps of the job wait)'
is "--overlap does not need free CPUs" "$(said_line overlaps)" 4
is "--immediate=SECONDS waits so long" "$(said_line 'patience 1')" 1
is "a step without --mem does not wait for memory" \
    "$(said_line 'needs no memory')$(said_line 'shares memory')" 11
like "--mem cannot be more than the job has" "$said" \
    'Memory required by task is not available: --mem asks for 2048 MiB, and the job has 100 MiB on n1'
is "--overcommit lets tasks share CPUs" "$(said_line ' 9 many')" 1

job -n 1 <<'E'
#!/bin/bash
srun --mem=999T -n 1 true; echo "too much $?"
srun --mem=10M -n 1 echo "a little"
E
like "a step of a job without --mem cannot have more than the node" "$said" \
    'Memory required by task is not available: --mem asks for 1047527424 MiB'
is "... and has what there is" "$(said_line 'too much 1')$(said_line 'a little')" 11

# --- MPI -------------------------------------------------------------------------

# MPICH's library, which finds the other ranks by PMI-1.
mpich() {
    cat >"$home/ring.c" <<'E'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size, token = 0, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && rank == 1 && argv[1][0] == 'a')
        MPI_Abort(MPI_COMM_WORLD, 5);
    if (argc > 1 && rank == 1)
        _Exit(atoi(argv[1]));
    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token++;
    if (size > 1)
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    if (rank == 0 && size > 1)
        MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("token %d sum %d\n", token, sum);
    return MPI_Finalize();
}
E
    mpicc.mpich -o "$home/ring" "$home/ring.c" >"$cluster/log/mpicc" 2>&1
}

# UCX opens all network interfaces of the machine, and fails if one of them goes at that moment.
if mpich; then
    job -n 4 <<'E'
#!/bin/bash
export UCX_NET_DEVICES=lo
srun ./ring
srun --mpi=none -n 2 ./ring
srun ./ring abort; echo "abort $?"
srun ./ring 3; echo "exit $?"
srun ./ring 0; echo "left $?"
E
    is "a program of MPICH has all ranks" "$(said_line 'token 4 sum 6')" 1
    is "without PMI each rank is alone" "$(said_line 'token 1 sum 0')" 2
    is "the code of MPI_Abort is srun's" "$(said_line 'abort 5')" 1
    is "a rank that ends inside MPI ends the step, with its code" "$(said_line 'exit 3')" 1
    is "... and with 1, if it has none" "$(said_line 'left 1')" 1
    like "the others are told why" "$said" \
        'Killed, because task 1 has ended and other tasks wait for it'
else
    skip "programs of MPICH" "there is no mpicc.mpich"
fi

# --- outside of a job ------------------------------------------------------------

status=0
as kilntest1 krun hostname >"$cluster/out" 2>&1 || status=$?
like "outside of a job krun says what to do" "$(cat "$cluster/out")" \
    "krun: error: krun runs tasks of a job, and this is none: submit a script"
is "... with 1" "$status" 1
show_said
finish
