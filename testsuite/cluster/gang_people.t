#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job of several nodes as its user sees it: the script knows its nodes and their
# order, ksub divides tasks and memory among them, and the commands that show jobs
# show all nodes of this one.

# shellcheck disable=SC2015,SC2016,SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl ksub jq curl
cluster_slurm
cluster_user kilntest1 && cluster_user kilntest2 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
node_is() { root get node "$1" --no-headers | grep -qw -- "$2"; }
node() { # NAME CORES
    cluster_agent "$1" --topology "package:1 core:$2 pu:1"
    wait_for 20 node_is "$1" Ready || bail_out "node $1 does not register"
    for key in $(root get node "$1" -o json | jq -r '.spec.taints[]?.key |
        select(test("virtual"))'); do
        root taint node "$1" "$key-" >/dev/null
    done
}
# The largest is found first, and has the highest number.
node n2 4
node n9 6
node n10 8

home=$cluster/home/kilntest1
fails() { ! "$@" >"$cluster/said" 2>&1; }
says() { grep -qF -- "$1" "$cluster/said"; }
submit() { as kilntest1 ksub -D "$home" --parsable -t 5 "$@"; }
job_of() { # ID
    root get jobs -o json | jq -r --argjson id "${1:-0}" '.items[] |
        select(.status.id == $id) | .metadata.name'
}
state_is() { [ "$(root get job "$1" -o json | jq -r '.status.state')" = "$2" ]; }
ends() { wait_for 40 state_is "$(job_of "$1")" "${2:-Completed}"; }

# --- what the script knows -------------------------------------------------------

cat >"$home/known.sh" <<'S'
#!/bin/sh
echo "$KILN_JOB_NODELIST $KILN_NNODES $KILN_NODEID $KILN_NTASKS $KILN_TASKS_PER_NODE"
tr '\n' ' ' <"$KILN_HOSTFILE"; echo
kctl hostnames | tr '\n' ' '; echo
echo "$SLURM_JOB_NODELIST $SLURM_NNODES $SLURM_NODEID $SLURM_NTASKS $SLURM_TASKS_PER_NODE"
echo "$OMPI_MCA_plm $KILN_HOSTFILE"
S
id=$(submit --per-node -N 3 -n 6 "$home/known.sh")
ok "a job of three nodes ends" ends "$id" || note "$(as kilntest1 kctl why "$id" 2>&1)"
said() { sed -n "${2}p" "$home/kiln-$id-$1.out"; }
is "the first node is the first by name" "$(said n2 1)" "n[2,9-10] 3 0 6 2(x3)"
is "... and the second by number" "$(said n9 1)" "n[2,9-10] 3 1 6 2(x3)"
is "... and the third" "$(said n10 1)" "n[2,9-10] 3 2 6 2(x3)"
is "the host file has their slots" "$(said n9 2)" "n2 slots=2 n9 slots=2 n10 slots=2 "
is "kctl hostnames prints them" "$(said n9 3)" "n2 n9 n10 "
is "a script of Kiln's has no variables of Slurm" "$(said n9 4)" "    "
file=$(said n9 5)
file_is_gone() { [ -n "$file" ] && [ ! -e "${file# }" ]; }
ok "the host file goes with the pod" wait_for 20 file_is_gone || note "$file"
group_of_job() { root get podgroup -o json | jq -r --arg job "$1" '.items[] |
    select(any(.metadata.ownerReferences[]?; .name == $job))'; }
is "the PodGroup lists the nodes" "$(group_of_job "$(job_of "$id")" | jq -r .status.nodes)" \
    "n[2,9-10]"
has_start() { group_of_job "$(job_of "$id")" | jq -e .status.startedAt >/dev/null; }
ok "... and says when it started" wait_for 10 has_start

sed 's/^#!.*/&\n#SBATCH -N2 --ntasks=4/' "$home/known.sh" >"$home/slurms.sh"
id=$(submit --sbatch --per-node "$home/slurms.sh")
ok "a script of Slurm's ends" ends "$id"
cat "$home/slurm-$id-"* >"$home/both"
ok "... and has Slurm's names for the same" grep -Eq \
    '^n(\[2,9\]|\[9-10\]|\[2,10\]) 2 0 4 2\(x2\)$' "$home/both" || note "$(cat "$home/both")"
ok "... on the other node, too" grep -Eq '^n.* 2 1 4 2\(x2\)$' "$home/both"
ok "... and Open MPI does not call srun" grep -q '^rsh /' "$home/both"

id=$(submit -n 3 "$home/known.sh")
ok "a job of one node ends" ends "$id"
ok "... and knows its node" grep -Eq '^n(2|9|10) 1 0 3 3$' "$home/kiln-$id.out" ||
    note "$(cat "$home/kiln-$id.out")"
ok "... and has a host file" grep -Eq '^n(2|9|10) slots=3 $' "$home/kiln-$id.out"

is "kctl hostnames prints a list" "$(as kilntest1 kctl hostnames 'n[08-10]' m | tr '\n' ' ')" \
    "n08 n09 n10 m "
ok "a text that is no list is refused" fails as kilntest1 kctl hostnames 'n[1'
ok "... in words" says "is not a list of nodes" || note "$(cat "$cluster/said")"
ok "without a job and a list, too" fails as kilntest1 kctl hostnames
ok "... in words" says "KILN_JOB_NODELIST is not set"

# --- how many nodes ----------------------------------------------------------------

shape() { # ID: pods, tasks and CPUs of each
    root get job "$(job_of "$1")" -o json | jq -r '.spec | [.parallelism,
        (.template.metadata.annotations | .["kiln.hpc/tasks"], .["kiln.hpc/total-tasks"]),
        .template.spec.containers[0].resources.requests.cpu] | map(. // "-") | join(" ")'
}
id=$(submit -n 8 --wrap true 2>"$cluster/said")
is "tasks for which one node has room stay on one" "$(shape "$id")" "1 8 - 8"
ok "... without a word" [ ! -s "$cluster/said" ] || note "$(cat "$cluster/said")"
id=$(submit -n 9 --wrap true 2>"$cluster/said")
is "more tasks than any node has CPUs go to the fewest equal nodes" "$(shape "$id")" "2 5 9 5"
ok "... and ksub says so" says "takes 2 nodes, as no node has room for all tasks"
ok "... and which CPUs are idle" says \
    "9 tasks on 2 nodes: 1 node with 5, 1 with 4; 1 CPU stays idle" || note "$(cat "$cluster/said")"
ok "the job ends" ends "$id"
id=$(submit -n 5 --mem-per-cpu 1M --ntasks-per-node 2 "$home/known.sh" 2>"$cluster/said")
is "tasks for each node say how many nodes" "$(shape "$id")" "3 2 5 2"
tasks_per_node() {
    as kilntest1 scontrol show job "$1" | sed -n 's/.*NtasksPerN:B:S:C=\([^:]*\):.*/\1/p'
}
is "scontrol shows the tasks of a node" "$(tasks_per_node "$id")" 2
is "... and squeue" "$(as kilntest1 squeue -h -t all -j "$id" -O NTPerNode | tr -d ' ')" 2
ok "the job ends" ends "$id"
ok "... and knew how many tasks each node has" grep -q '^n\[2,9-10\] 3 0 5 2(x2),1$' \
    "$home/kiln-$id.out" || note "$(cat "$home/kiln-$id.out")"
ok "... also in its host file" grep -q '^n2 slots=2 n9 slots=2 n10 slots=1 $' "$home/kiln-$id.out"
id=$(submit -w 'n[2,10]' "$home/known.sh")
ok "a job of named nodes ends" ends "$id"
ok "... and was on these" grep -q '^n\[2,10\] 2 0 2 1(x2)$' "$home/kiln-$id.out" ||
    note "$(cat "$home/kiln-$id.out")"
ok "-N that is not the number of names is refused" fails submit -w 'n[2,9]' -N 3 --wrap true
ok "... in words" says "--nodelist names 2 nodes, but --nodes 3" || note "$(cat "$cluster/said")"
ok "another part of a job is refused" fails submit -N 1 : -N 2 "$home/known.sh"
ok "... in words" says "heterogeneous job" || note "$(cat "$cluster/said")"
id=$(submit -n 100 --wrap true 2>"$cluster/said")
ok "tasks for which there are too few nodes are told" says "can never run" ||
    note "$(cat "$cluster/said")"
never() { as kilntest1 kctl why "$id" | grep -q 'Outlook: *it can never run: it needs .* nodes at'; }
ok "... also afterwards" wait_for 10 never || note "$(as kilntest1 kctl why "$id")"
reason_is() { [ "$(as kilntest1 squeue -h -j "$id" -o %r)" = "$1" ]; }
ok "... and in squeue" wait_for 10 reason_is BadConstraints || note "$(as kilntest1 squeue)"
as kilntest1 kctl cancel "$id" >/dev/null

# --- output ------------------------------------------------------------------------

id=$(submit -N 3 --per-node --wrap 'echo "I am $KILN_NODE_NAME"')
ok "a job that writes on each of its nodes ends" ends "$id"
logs() { as kilntest1 kctl logs "$@" 2>/dev/null; }
is "kctl logs shows the output of the first node" "$(logs "$id")" "I am n2"
is "... and of another one with --node" "$(logs "$id" --node n10)" "I am n10"
ok "a node that the job has not is refused" fails logs "$id" --node n7
as kilntest1 kctl logs "$id" --node n7 >"$cluster/said" 2>&1
ok "... in words" says "writes no output on node 'n7'" || note "$(cat "$cluster/said")"

# --- signals ---------------------------------------------------------------------

cat >"$home/signalled.sh" <<'S'
#!/bin/sh
trap 'echo signal' USR1 TERM
echo ready
while :; do sleep 1 & wait; done
S
written() { logs "$id" ${2:+--node "$2"} | grep -c "$1"; }
has_written() { [ "$(written "$1" "$2")" = "${3:-1}" ]; }
runs() { as kilntest1 kctl jobs --no-headers | grep -w "^ *$id" | grep -q Running; }
id=$(submit -N 3 --per-node "$home/signalled.sh")
for name in n2 n9 n10; do wait_for 30 has_written ready "$name"; done
wait_for 30 runs
as kilntest1 kctl signal --signal USR1 --script "$id" >/dev/null
for name in n2 n9 n10; do
    ok "a script on each node gets a signal: $name" wait_for 20 has_written signal "$name"
done
as kilntest1 kctl signal --signal KILL --full "$id" >/dev/null
ok "KILL ends all of them" ends "$id" Failed
id=$(submit -N 3 "$home/signalled.sh")
wait_for 30 has_written ready ''
wait_for 30 runs
as kilntest1 kctl signal --signal USR1 --script "$id" >/dev/null
ok "the script on the first node gets one, too" wait_for 20 has_written signal ''
as kilntest1 kctl signal --signal TERM --full "$id" >/dev/null
ok "... and TERM with all that it has started" wait_for 20 has_written signal '' 2
is "TERM spares the programs that hold the other nodes" "$(root get pods -A -o json | jq -r '
    [.items[] | select(.status.phase == "Running") | .metadata.annotations["kiln.hpc/signals"] |
        select(. != null) | sub(".*TERM:"; "")] | sort | join(" ")')" "All Children Children"
as kilntest1 kctl signal --signal KILL --full "$id" >/dev/null
ok "KILL ends it by its own exit" ends "$id" Failed
is "... as history says" "$(as kilntest1 kctl history --no-headers -j "$id" -o exit | tr -d ' ')" 0:9

# --- when ----------------------------------------------------------------------------

submit -N 3 -c 4 --test-only --wrap true >"$cluster/said"
ok "--test-only says where a job of three nodes could start" says "It could start now, on n[2,9-10]" || note "$(cat "$cluster/said")"
ok "... with its amounts" says "4 CPUs on each of 3 nodes" || note "$(cat "$cluster/said")"
long=$(submit -w n9 -c 4 --wrap 'exec sleep 300')
is_running() { as kilntest1 kctl jobs --no-headers | grep -w "^ *$1" | grep -q Running; }
wait_for 20 is_running "$long"
submit -N 3 -c 4 --test-only --wrap true >"$cluster/said"
ok "while one of them is busy, it is later" says "It could start at " || note "$(cat "$cluster/said")"
ok "... on all three" says "at the earliest, on n[2,9-10]" || note "$(cat "$cluster/said")"
submit -N 2 -c 4 --test-only --wrap true >"$cluster/said"
ok "a job of two nodes could start now on the others" says "now, on n[2,10]" ||
    note "$(cat "$cluster/said")"
id=$(submit -N 3 -c 4 --wrap true)
outlook() { as kilntest1 kctl why "$id" | grep -q 'Outlook: .* on n\[2,9-10\]'; }
ok "a job that waits for one of them is told so, too" wait_for 20 outlook ||
    note "$(as kilntest1 kctl why "$id")"
as kilntest1 kctl cancel "$id" >/dev/null
as kilntest1 kctl cancel "$long" >/dev/null

# --- history -----------------------------------------------------------------------

history() { as kilntest1 kctl history --no-headers "$@"; }
id=$(submit -N 3 -n 6 --mem 100M --wrap 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done')
ok "a job of three nodes ends" ends "$id"
one_row() { [ "$(history -j "$id" | wc -l)" = 1 ]; }
ok "it is one row of history" wait_for 20 one_row || note "$(history -j "$id")"
is "... with all nodes, their CPUs and the end of its script" \
    "$(history -j "$id" -o id,state,cpus,node,exit,memory | tr -s ' ' | sed 's/ *$//')" \
    "$id Completed 6 n[2,9-10] 0 300Mi"
is "--nodes shows each of them" "$(history -j "$id" --nodes -o id,state,cpus,node |
    tr -s ' ' | sed 's/ *$//' | sort | tr '\n' ';')" \
    "${id}_0 Completed 2 n2;${id}_1 Completed 2 n9;${id}_2 Completed 2 n10;"
is "... and --node one" "$(history -j "$id" --node n9 -o id,cpus | tr -s ' ' | sed 's/ *$//')" \
    "${id}_1 2"
show() { as kilntest1 kctl show "$id"; }
ok "kctl show says how many nodes and tasks" sh -c \
    'printf "%s" "$1" | grep -q "^Nodes: *3; 6 tasks; the script runs on the first$"' _ "$(show)" ||
    note "$(show)"
ok "... and what each node has" sh -c 'printf "%s" "$1" | grep -q "asked for 100Mi on each node"' \
    _ "$(show)"
efficiency() { as kilntest1 kctl efficiency "$id"; }
ok "kctl efficiency is about the whole job" sh -c 'printf "%s" "$1" | grep -q "^CPUs: *6$"' _ \
    "$(efficiency)" || note "$(efficiency)"
id=$(submit -N 2 --per-node --wrap '[ "$KILN_NODEID" = 0 ] || exit 7; sleep 60')
ok "a job that fails on one of its nodes ends" ends "$id" Failed
ok "it is one row of history" wait_for 20 one_row || note "$(history -j "$id")"
is "... with the code of that node" "$(history -j "$id" -o state,exit | tr -s ' ' | sed 's/ *$//')" \
    "Failed 7"
id=$(submit -N 2 --hold --wrap true)
as kilntest1 kctl cancel "$id" >/dev/null
ok "one that never started is one row, too" wait_for 20 one_row || note "$(history -j "$id")"
is "... with the CPUs of all nodes" "$(as kilntest1 kctl history -j "$id" -o json |
    jq '.. | .cpuMillis? // empty')" 2000

# --- Slurm's commands --------------------------------------------------------------

slurm() { (cd "$home" && as kilntest1 "$@" 2>&1); }
record() { slurm scontrol -o show job "$id" | tr ' ' '\n' | grep -E "^($1)=" | tr '\n' ' '; }
account() { slurm sacct -n -P -j "$id" "$@" | tr '\n' ' '; }
is "sbatch --test-only counts the CPUs of all nodes" \
    "$(slurm sbatch --test-only -t 5 -N 3 --ntasks-per-node 2 --wrap true | sed 's/.*using/using/')" \
    "using 6 processors on nodes n[2,9-10] in partition all"
like "... and refuses what can never run" "$(slurm sbatch --test-only -t 5 -n 99 --wrap true)" \
    'allocation failure: Requested node configuration is not available'
id=$(slurm sbatch --parsable -t 5 -n 9 --wrap true)
is "sbatch takes more nodes for more tasks than a node has CPUs" "$(shape "$id")" "2 5 9 5"
ends "$id"
id=$(slurm sbatch --parsable --requeue -t 5 -N 3 -n 7 -c 1 --mem 100M --wrap 'exec sleep 300')
wait_for 20 is_running "$id"
is "scontrol show job has the amounts of all nodes" \
    "$(record 'Requeue|Restarts|BatchHost|NumNodes|NumCPUs|NumTasks|CPUs/Task|TRES')" \
    "Requeue=1 Restarts=0 BatchHost=n2 NumNodes=3 NumCPUs=9 NumTasks=7 CPUs/Task=1 TRES=cpu=9,mem=300M,node=3,billing=9 "
has_run() { [ "$(account -X -o elapsedraw | tr -d ' ')" -gt 0 ]; }
wait_for 10 has_run
is "the script of a job that runs is on the first node" \
    "$(account -o jobid,alloccpus,nnodes,nodelist,reqmem,alloctres)" \
    "$id|9|3|n[2,9-10]|300M|billing=9,cpu=9,mem=300M,node=3 $id.batch|3|1|n2||cpu=3,mem=100M,node=1 $id.extern|9|3|n[2,9-10]||billing=9,cpu=9,mem=300M,node=3 "
is "... also in squeue" "$(slurm squeue -h -s -j "$id" -o '%i %N' | tr '\n' ' ')" \
    "$id.batch n2 $id.extern n[2,9-10] "
slurm scontrol requeue "$id" >/dev/null
has_restarted() { record 'JobState|Restarts' | grep -q 'JobState=RUNNING Restarts=1'; }
ok "a job that was requeued has been restarted once" wait_for 40 has_restarted ||
    note "$(record 'JobState|Restarts')"
ok "... and kctl show says so" sh -c 'printf "%s" "$1" | grep -q "^Attempts: *2$"' _ "$(show)" ||
    note "$(show)"
slurm scancel "$id"
two_rows() { [ "$(history -j "$id" | wc -l)" = 2 ]; }
wait_for 40 two_rows
is "sacct -D has both attempts, with the same amounts" \
    "$(account -D -o jobid,state,alloccpus,reqmem,alloctres | sed "s/ by [0-9]*//")" \
    "$id|REQUEUED|9|300M|billing=9,cpu=9,mem=300M,node=3 $id.batch|CANCELLED|3||cpu=3,mem=100M,node=1 $id.extern|COMPLETED|9||billing=9,cpu=9,mem=300M,node=3 $id|CANCELLED|9|300M|billing=9,cpu=9,mem=300M,node=3 $id.batch|CANCELLED|3||cpu=3,mem=100M,node=1 $id.extern|COMPLETED|9||billing=9,cpu=9,mem=300M,node=3 "
ok "seff knows how much memory the job asked for" sh -c \
    'printf "%s" "$1" | grep -q "^Memory Efficiency: .*% of 300.00 MB$"' _ "$(slurm seff "$id")" ||
    note "$(slurm seff "$id")"
id=$(slurm sbatch --parsable --hold -t 5 -N 3 -n 6 -c 2 --wrap true)
is "the command of a job is its script" \
    "$(echo '#!/bin/sh' >"$home/empty.sh"; slurm sbatch -Q --hold -J empty -t 5 empty.sh a b
    slurm squeue -h -n empty -o %o; slurm scancel -n empty)" "$home/empty.sh a b"
is "an update of the tasks" "$(slurm scontrol update jobid="$id" NumTasks=4; shape "$id")" "3 2 4 4"
is "... is of all nodes" "$(record 'NumCPUs|NumTasks|CPUs/Task')" \
    "NumCPUs=12 NumTasks=4 CPUs/Task=2 "
is "... which may have the same number again" \
    "$(slurm scontrol update jobid="$id" NumTasks=6; shape "$id")" "3 2 - 4"
like "... and need one each" "$(slurm scontrol update jobid="$id" NumTasks=2)" \
    'it has 3 nodes, and each needs at least one task'
is "an update of the nodes names all of them" \
    "$(slurm scontrol update jobid="$id" NumTasks=3 'ReqNodeList=n[2,9-10]'; record ReqNodeList)" \
    "ReqNodeList=n[2,9-10] "
like "... and no fewer" "$(slurm scontrol update jobid="$id" ReqNodeList=n2)" \
    "'n2' names 1 node, but this job has 3"
like "... or none" "$(slurm kctl update "$id" nodelist=none; record ReqNodeList)" \
    'ReqNodeList=\(null\)'
like "one after which the job can never run is told" \
    "$(slurm scontrol update jobid="$id" NumTasks=900)" '^scontrol: warning: the job can never run'
slurm scancel "$id"

finish
