#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm's sacct, with real daemons: the output as Debian's Slurm 22.05 has it

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"

cluster_begin
need jq
cluster_slurm
cluster_user kilntest1
cluster_user kilntest2
cluster_munge
# shellcheck disable=SC2119
cluster_controller
cluster_agent n1 --topology 'package:2 core:4 pu:1'
admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
wait_for 20 admin wait --for condition=Ready node n1 || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done
a() { as kilntest1 sacct "$@" 2>&1; }
is_in_state() { [ "$(a -n -X -P -j "$1" -o state | sort -u)" = "$2" ]; }

fail=$(as kilntest1 sbatch --parsable -J 'a b|c' -c 2 --mem 100M -t 10 --comment 'my note' --wrap 'exit 3')
# shellcheck disable=SC2016 # the jobs expand these variables
array=$(as kilntest1 sbatch --parsable -J arr -a 1-5%2 -t 10 --wrap \
    'if [ "$SLURM_ARRAY_TASK_ID" -gt 2 ]; then sleep 600; fi')
# shellcheck disable=SC2016
killed=$(as kilntest1 sbatch --parsable -J sig -t 10 --wrap 'kill -9 $$')
held=$(as kilntest1 sbatch --parsable -J held -H -t 10 --wrap true)
run=$(as kilntest1 sbatch --parsable -J run -t 1-02:03:04 --requeue --wrap 'sleep 600')
other=$(as kilntest2 sbatch --parsable -J other -t 10 --wrap true)
wait_for 20 is_in_state "$fail" FAILED
wait_for 20 is_in_state "$killed" FAILED
wait_for 20 is_in_state "$run" RUNNING
wait_for 20 is_in_state "$other" COMPLETED
wait_for 20 is_in_state "${array}_3" RUNNING
wait_for 20 is_in_state "${array}_1" COMPLETED
has_usage() { [ -n "$(a -n -P -j "$fail.batch" -o maxrss)" ]; }
wait_for 20 has_usage

is "the usual table" "$(a -j "$fail")" \
    "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode 
------------ ---------- ---------- ---------- ---------- ---------- -------- 
$(printf '%-12s' "$fail")      a b|c        all    default          2     FAILED      3:0 
$(printf '%-12s' "$fail.batch")      batch               default          2     FAILED      3:0 
$(printf '%-12s' "$fail.extern")     extern               default          2  COMPLETED      0:0 "
is "-b" "$(a -b -j "$fail" -X)" "JobID             State ExitCode 
------------ ---------- -------- 
$(printf '%-12s' "$fail")     FAILED      3:0 "
like "-B prints the script" "$(a -B -j "$fail.batch" | tr '\n' '+')" \
    "^Batch Script for $fail\\+-{80}\\+#!/bin/sh\\+.*exit 3\\+\\+\$"
is "... of an array once" "$(a -B -j "$array" | grep -c '^Batch Script')" 1
like "--env-vars prints the environment" "$(a --env-vars -j "$fail" | tr '\n' '+')" \
    "^Environment used for $fail \\(must be batch to display\\)\\+-{80}\\+(.*\\+)?HOME=$cluster/home/kilntest1\\+"
is "not that of another user's job" "$(a --env-vars -j "$other" | grep -c HOME)" 0
gone=$(as kilntest1 sbatch --parsable -J gone -t 10 --wrap true)
wait_for 20 is_in_state "$gone" COMPLETED
as kilntest1 kctl delete job "$gone" >/dev/null
is_told() {
    [ "$(a -B -j "$gone"; echo "$?")" = "sacct: error: job $gone was deleted, and its script with it
1" ]
}
ok "a job that was deleted has no script" wait_for 20 is_told
is "-g is for the users' primary groups" "$(a -n -X -P -o jobid -j "$fail" -g "$(id -g kilntest1)"
    a -n -X -P -o jobid -j "$fail" -g "$(id -gn kilntest2)")" "$fail"
is "-P has delimiters between values" "$(a -X -P -j "$fail" -o jobid,jobname,state)" \
    "JobID|JobName|State
$fail|a b|c|FAILED"
is "-p also behind the last" "$(a -X -p -n -j "$fail" -o jobid,state)" "$fail|FAILED|"
is "another delimiter" "$(a -X -P -n -j "$fail" --delimiter "$(printf '\037')" -o jobid,jobname)" \
    "$(printf '%s\037a b|c' "$fail")"
is "widths" "$(a -X -n -j "$fail" -o jobid%-6,state%3,exitcode%6)" "$(printf '%-6s' "$fail") FA+    3:0 "
is "what a job asked for and used" \
    "$(a -X -P -n -j "$fail" -o user,uid,group,partition,qos,timelimit,timelimitraw,reqmem,alloctres,nodelist,nnodes,reqcpus,derivedexitcode,comment)" \
    "kilntest1|1001|kilntest1|all|normal|00:10:00|10|100M|billing=2,cpu=2,mem=100M,node=1|n1|1|2|0:0|my note"
like "memory and CPU time are in the line of the script" \
    "$(a -P -n -j "$fail.batch" -o jobid,maxrss,averss,maxrssnode,avecpu,ntasks,totalcpu)" \
    "^$fail.batch\\|[0-9]+[KM]\\|[0-9]+[KM]\\|n1\\|00:00:00\\|1\\|00:00\\.[0-9]{3}\$"
is "and not in that of the job" "$(a -X -P -n -j "$fail" -o maxrss,avecpu,ntasks)" "||"
is "a job that a signal killed" "$(a -P -n -j "$killed" -o jobid,state,exitcode)" \
    "$killed|FAILED|0:9
$killed.batch|CANCELLED|0:9
$killed.extern|COMPLETED|0:0"
is "a running job has no end" "$(a -X -P -n -j "$run" -o state,end,exitcode,timelimit,nodelist)" \
    "RUNNING|Unknown|0:0|1-02:04:00|n1"
is "a held job is shown if it is named" "$(a -P -n -j "$held" -o jobid,state,reason,start,nodelist)" \
    "$held|PENDING|JobHeldUser|Unknown|None assigned"
is "and otherwise not" "$(a -X -P -n -o jobid | grep -cx "$held")" 0
is "tasks, and those that wait" "$(a -X -P -n -j "$array" -o jobid,state)" \
    "${array}_1|COMPLETED
${array}_2|COMPLETED
${array}_3|RUNNING
${array}_4|RUNNING
${array}_[5%2]|PENDING"
is "one task" "$(a -X -P -n -j "${array}_2" -o jobid)" "${array}_2"
is "several tasks" "$(a -X -P -n -j "${array}_[1-2]" -o jobid | tr '\n' ' ')" "${array}_1 ${array}_2 "
is "only mine without -a" "$(a -X -P -n -o user | sort -u)" kilntest1
is "one's own by name" "$(as kilntest2 sacct -X -P -n -u kilntest2 -o jobid,jobname)" "$other|other"
is "a waiting task" "$(a -X -P -n -j "${array}_5" -o jobid,state)" "${array}_5|PENDING"
is "a list of tasks has those that were asked for" \
    "$(a -X -P -n -j "${array}_[4-9]" -o jobid,state | tr '\n' ' ')" "${array}_4|RUNNING ${array}_5|PENDING "
holds=$(as kilntest1 sbatch --parsable -J holds -a 1-6 -H -t 10 --wrap true)
is "a task of a held array, none of the ends of the list" \
    "$(a -X -P -n -j "${holds}_3" -o jobid,state)" "${holds}_3|PENDING"
as kilntest1 scancel "$holds"
holds=$(as kilntest1 sbatch --parsable -J holds -c 8 -a 1-6 -t 10 --wrap true)
as kilntest1 scontrol hold "${holds}_4" >/dev/null
is "a held task of an array" "$(a -X -P -n -j "${holds}_4" -o jobid,state,reason)" \
    "${holds}_4|PENDING|JobHeldUser"
is "... is beside the others" "$(a -X -P -n -j "$holds" -o jobid | tr '\n' ' ')" \
    "${holds}_4 ${holds}_[1-3,5-6] "
is "... in squeue of all states, too" \
    "$(as kilntest1 squeue -h -t all -j "$holds" -o %i | sort | tr '\n' ' ')" \
    "${holds}_4 ${holds}_[1-3,5-6] "
as kilntest1 scancel --name holds
is "by state" "$(a -X -P -n -s F -S now-1hour -E now -o jobid | sort -n | tr '\n' ' ')" "$fail $killed "
is "... with --starttime alone, at that moment" "$(a -X -P -n -s F,R,CD -S now-1hour -o jobid)" ""
is "... running at any time, as it is now" \
    "$(a -X -P -n -s R --name 'a b|c,run' -S now-1hour -E now -o jobid,state | sort -n | tr '\n' ' ')" \
    "$fail|FAILED $run|RUNNING "
is "... waiting at any time" \
    "$(a -X -P -n -s PD --name 'a b|c,run' -S now-1hour -E now -o jobid,state | sort -n | tr '\n' ' ')" \
    "$fail|FAILED $run|RUNNING "
is "... of a named job, ever" "$(a -X -P -n -s F,CA -j "$fail,$run" -o jobid)" "$fail"
is "running now" "$(a -X -P -n -s R -o jobname | sort -u | tr '\n' ' ')" "arr run "
is "by name" "$(a -X -P -n --name 'a b|c,nosuch' -o jobid)" "$fail"
is "by node and partition" "$(a -X -P -n -N n1 -r all --name run -o jobid)" "$run"
is "another node" "$(a -X -P -n -N n7 -o jobid)" ""
is "before all of them" "$(a -X -P -n -S now-2hours -E now-1hour -o jobid)" ""
is "units" "$(a -X -P -n -j "$fail" --units=G -o reqmem)" "0.10G"
is "SACCT_FORMAT" "$(as kilntest1 env SACCT_FORMAT=state,jobid%3 sacct -X -n -P -j "$fail")" "FAILED|$fail"
is "the fields are listed" "$(a --helpformat | head -n 1)" \
    "Account             AdminComment        AllocCPUS           AllocNodes         "
is "JSON has Slurm's shape" \
    "$(a --json -j "$fail" | jq -r '.jobs[] | .job_id, .state.current, .exit_code.return_code, .required.memory, .comment.job, .steps[0].step.id, .association.user' | tr '\n' ' ')" \
    "$fail FAILED 3 100 my note batch kilntest1 "

# seff, sstat, sshare
e=$(as kilntest1 seff "$fail" 2>&1)
like "seff says what a job was" "$e" \
    "^Job ID: $fail
Cluster: test
User/Group: kilntest1/kilntest1
State: FAILED \(exit code 3\)
Cores: 2
CPU Utilized: 00:00:00
CPU Efficiency: [0-9.]+% of 00:00:0[0-9] core-walltime
Job Wall-clock time: 00:00:0[0-9]
Memory Utilized: [0-9.]+ [KM]B
Memory Efficiency: [0-9.]+% of 100\.00 MB\$"
like "a task of an array" "$(as kilntest1 seff "${array}_1")" "Array Job ID: ${array}_1"
is "a held job" "$(as kilntest1 seff "$held" | tail -n 1)" \
    "Efficiency not available for jobs in the PENDING state."
is "no such job" "$(as kilntest1 seff 4711 2>&1; echo $?)" "Job not found.
2"
st() { as kilntest1 sstat "$@" 2>&1; }
has_memory() { st -n -P -j "$run" -o maxrss | grep -q '[KM]$'; }
wait_for 60 has_memory
like "sstat shows what a running job uses" "$(st -n -P -a -j "$run.batch" -o jobid,avecpu,maxrss,ntasks,maxrssnode)" \
    "^$run.batch\|00:00:0[0-9]\|[0-9]+[KM]\|1\|n1\$"
is "one task of an array" "$(st -n -P -j "${array}_3" -o jobid)" "${array}_3.batch"
is "a job that does not run" "$(st -n -j "$held")" "sstat: error: couldn't get steps for job $held"
is "sshare lists accounts" "$(as kilntest1 sshare -U --format Account%256 --noheader | tr -d ' ')" default
like "but no shares" "$(as kilntest1 sshare 2>&1)" "Kiln has no fair shares"
like "sprio is refused" "$(as kilntest1 kiln-slurm sprio 2>&1)" "You are not running a supported priority plugin"

# An allocation has no script.
holds=$(as kilntest1 salloc --no-shell -n 2 -t 10 2>&1 | sed -n 's/.*Granted job allocation //p')
is "an allocation has no batch step in sacct" "$(a -n -P -j "$holds" -o jobid,jobname | tr '\n' ' ')" \
    "$holds|no-shell $holds.extern|extern "
is "... in its JSON" "$(a --json -j "$holds" | jq -c '[.jobs[].steps[].step.id]')" '["extern"]'
is "... in squeue -s" "$(as kilntest1 squeue -h -s "$holds" -o %i)" "$holds.extern"
is "... in scontrol show step" \
    "$(as kilntest1 scontrol show step "$holds" | sed -n 's/^StepId=\([^ ]*\).*/\1/p')" "$holds.extern"
is "... and in sstat" "$(st -n -P -a -j "$holds" -o jobid)" "$holds.extern"
is "a job without steps has nothing in sstat" "$(st -n -P -j "$holds" -o jobid)" ""
as kilntest1 scancel "$holds"
wait_for 20 is_in_state "$holds" "CANCELLED by 1001"
has_row() { admin history --job "$holds" -o json 2>/dev/null | jq -e '.items[0].allocation' >/dev/null; }
ok "history knows that it was one" wait_for 40 has_row
admin delete job "job-$holds" >/dev/null
is "... also without its Job" "$(a -n -P -j "$holds" -o jobid | tr '\n' ' ')" "$holds $holds.extern "

# Numbered steps, which agents tell about some seconds later.
steps=$(as kilntest1 sbatch --parsable -n 4 -t 10 --requeue -o steps.out --wrap \
    'srun -n 4 -J four true; srun -n 1 sh -c "kill -9 \$\$"; srun -n 2 false; srun -n 1 -t 8 -m block -J long sh -c "trap \"echo usr1\" USR1; while :; do sleep 0.1; done"; echo "step $?"; srun -n 1 sleep 300; srun -n 1 sleep 301')
tasks=$(as kilntest1 sbatch --parsable -a 3,5 -n 1 -t 10 -o steps.out --wrap 'srun true')
has_steps() { [ "$(a -n -P -j "$steps" -o jobid | tail -n 1)" = "$steps.3" ]; }
ok "numbered steps have rows" wait_for 40 has_steps
is "... with state, exit code, tasks and CPUs" \
    "$(a -n -P -j "$steps" -o jobid,jobname,state,exitcode,ntasks,alloccpus,nodelist)" \
    "$steps|wrap|RUNNING|0:0||4|n1
$steps.batch|batch|RUNNING|0:0|1|4|n1
$steps.extern|extern|RUNNING|0:0|1|4|n1
$steps.0|four|COMPLETED|0:0|4|4|n1
$steps.1|sh|CANCELLED|0:9|1|1|n1
$steps.2|false|FAILED|1:0|2|2|n1
$steps.3|long|RUNNING|0:0|1|1|n1"
like "... and with what they used" \
    "$(a -n -P -j "$steps.0" -o jobid,maxrss,maxrsstask,avecpu,usercpu,systemcpu,partition,user)" \
    "^$steps.0\\|[0-9]+[KM]\\|\\|00:00:00\\|00:00\\.[0-9]+\\|00:00\\.[0-9]+\\|\\|\$"
is "the job knows the highest code of its steps" \
    "$(a -X -n -P -j "$steps" -o state,exitcode,derivedexitcode)" "RUNNING|0:0|1:0"
is "... in JSON, too" \
    "$(a --json -j "$steps" | jq -c '.jobs[].steps[] | [.step.id, .step.name, .state, .exit_code.return_code, .exit_code.signal.signal_id, .tasks.count]' | tr '\n' ' ')" \
    '["batch","batch","RUNNING",0,null,1] ["extern","extern","RUNNING",0,null,1] [0,"four","COMPLETED",0,null,4] [1,"sh","CANCELLED",null,9,1] [2,"false","FAILED",1,null,2] [3,"long","RUNNING",0,null,1] '
is "a step by its number" "$(a -n -P -j "$steps.1,$steps.batch" -o jobid | tr '\n' ' ')" \
    "$steps.batch $steps.1 "
is "-X has none" "$(a -X -n -P -j "$steps" -o jobid)" "$steps"
is "another user has none" "$(as kilntest2 sacct -a -n -P -j "$steps.0" -o jobid)" ""
has_task_steps() { a -n -P -j "$tasks" -o jobid | grep -q "^${tasks}_5.0\$"; }
ok "steps of tasks of an array" wait_for 40 has_task_steps
is "... are below each" "$(a -n -P -j "${tasks}_5" -o jobid,state | tr '\n' ' ')" \
    "${tasks}_5|COMPLETED ${tasks}_5.batch|COMPLETED ${tasks}_5.extern|COMPLETED ${tasks}_5.0|COMPLETED "
is "squeue -s has those that run, before the script" \
    "$(as kilntest1 squeue -h -s "$steps" -o '%i %j %A %u %N')" "$steps.3 long 1 kilntest1 n1
$steps.batch batch 1 kilntest1 n1
$steps.extern extern 1 kilntest1 n1"
is "... or the one that was named" "$(as kilntest1 squeue -h -s "$steps.3" -o %i)" "$steps.3"
is "scontrol show step" "$(as kilntest1 scontrol show step "$steps.3" |
    sed 's/StartTime=[^ ]*/StartTime=T/; s/Pid=\(.*\):[1-9][0-9]*$/Pid=\1:PID/')" \
    "StepId=$steps.3 UserId=1001 StartTime=T TimeLimit=00:08:00
   State=RUNNING Partition=all NodeList=n1
   Nodes=1 CPUs=1 Tasks=1 Name=long Network=(null)
   TRES=cpu=1,node=1
   ResvPorts=(null)
   CPUFreqReq=Default Dist=Block
   SrunHost:Pid=n1:PID"
is "... and sbatch" "$(a -n -X -P -j "$steps" -o submitline | cut -c 1-60)" \
    "sbatch --parsable -n 4 -t 10 --requeue -o steps.out --wrap s"
is "what srun was asked for" "$(a -n -P -j "$steps" -o jobid,layout,submitline | tail -n 3)" \
    "$steps.1|Cyclic|srun -n 1 sh -c kill -9 \$\$
$steps.2|Block|srun -n 2 false
$steps.3|Block|srun -n 1 -t 8 -m block -J long sh -c trap \"echo usr1\" USR1; while :; do sleep 0.1; done"
is "... in squeue" "$(as kilntest1 squeue -h -s "$steps.3" -o %l)" 8:00
is "one that has ended" "$(as kilntest1 scontrol show step "$steps.0" 2>&1)" "Job step $steps.0 not found"
is "sstat shows the numbered step that runs" "$(st -n -P -j "$steps" -o jobid,ntasks)" "$steps.3|1"
is "... and with -a the script, too" "$(st -n -P -a -j "$steps" -o jobid | sort | tr '\n' ' ')" \
    "$steps.3 $steps.batch $steps.extern "
is "... or tells that a step does not run" "$(st -n -P -j "$steps.7")" \
    "sstat: error: StepId=$steps.7 not found running."
is "scancel signals a step" "$(as kilntest1 scancel -v -s USR1 "$steps.3" 2>&1; echo "$?")" \
    "scancel: Signal 10 to job step $steps.3
0"
has_line() { grep -q "$1" "$cluster/home/kilntest1/steps.out"; }
ok "... and its program gets that signal" wait_for 20 has_line '^usr1$'
is "nobody else does" "$(as kilntest2 scancel "$steps.3" 2>&1; echo "$?")" \
    "scancel: error: Kill job error on job step id $steps.3: Access/permission denied
210"
by_operator() { KILN_SERVER=http+unix://$cluster/state/socket "$@"; }
is "an operator does" "$(by_operator scancel -s USR1 "$steps.3" 2>&1; echo "$?")" 0
has_lines() { [ "$(grep -c "$1" "$cluster/home/kilntest1/steps.out")" = "$2" ]; }
ok "... and its program gets that signal, once" wait_for 20 has_lines '^usr1$' 2
is "... but none if it has ended" "$(by_operator scancel "$steps.0" 2>&1; echo "$?")" \
    "scancel: error: Kill job error on job step id $steps.0: Invalid job id specified
225"
like "nor copies files to its nodes" "$(as kilntest2 sbcast -j "$steps" /etc/passwd there 2>&1)" \
    "^sbcast: error: Job $steps: .*kilntest1"
is "nor with options that steps do not have" "$(as kilntest1 scancel -u kilntest1 "$steps.3" 2>&1)" \
    "scancel: error: Kill job error on job step id $steps.3: a step is ended by its name alone, without filters, --interactive and --batch"
is "scancel ends a step" "$(as kilntest1 scancel "$steps.3" 2>&1; echo "$?")" 0
ok "... as its srun tells" wait_for 20 has_line "^srun: error: \*\*\* STEP $steps.3 CANCELLED AT "
ok "... in the words for a signal" wait_for 20 has_line "^srun: error: n1: task 0: Terminated"
ok "... and its script goes on" wait_for 20 has_line '^step 143$'
was_cancelled() {
    [ "$(a -n -P -j "$steps" -o jobid,state,exitcode | tail -n 2 | tr '\n' ' ')" = "$1" ]
}
ok "... and its record says so" wait_for 60 was_cancelled "$steps.3|CANCELLED by 1001|0:9 $steps.4|RUNNING|0:0 "
is "... and does not know one that has ended" "$(as kilntest1 scancel "$steps.0" 2>&1)" \
    "scancel: error: Kill job error on job step id $steps.0: Invalid job id specified"
is "... and what is named" "$(st -n -P -j "$steps.batch" -o jobid)" "$steps.batch"
is "an operator ends a step" "$(by_operator scancel "$steps.4" 2>&1; echo "$?")" 0
ok "... as its srun tells" wait_for 20 has_line "^srun: error: \*\*\* STEP $steps.4 CANCELLED AT "
has_ender() { [ "$(a -n -P -j "$1" -o state)" = "CANCELLED by $2" ]; }
ok "... and its record says who it was" wait_for 60 has_ender "$steps.4" 0
has_last_step() { [ "$(a -n -P -j "$steps" -o jobid | tail -n 1)" = "$steps.5" ]; }
wait_for 40 has_last_step
as kilntest1 scancel "$steps"
wait_for 20 is_in_state "$steps" "CANCELLED by 1001"
is "a step ends with its job, also before its agent tells" "$(a -n -P -j "$steps.5" -o state)" CANCELLED

# A job that was requeued has its last attempt, and -D all of them.
as kilntest1 kctl requeue "$run" >/dev/null
again() { [ "$(a -X -P -n -D -j "$run" -o state)" = 'REQUEUED
RUNNING' ]; }
wait_for 30 again
is "a requeued job has one line" "$(a -X -P -n -j "$run" -o state,exitcode)" "RUNNING|0:0"
is "and all attempts with -D" "$(a -X -P -n -D -j "$run" -o state | tr '\n' ' ')" "REQUEUED RUNNING "

as kilntest1 kctl cancel "$run" >/dev/null
admin cancel "$array" >/dev/null
wait_for 20 is_in_state "$run" "CANCELLED by 1001"
is "who cancelled it" "$(a -P -n -j "$run" -o jobid,state,exitcode | head -n 2)" \
    "$run|CANCELLED by 1001|0:0
$run.batch|CANCELLED|0:15"
# The task itself may say so a moment before history has its row.
is_ended() { [ "$(a -X -P -n -j "${array}_5" -o jobid,state)" = "${array}_[5]|CANCELLED by 0" ]; }
wait_for 20 is_ended
is "who cancelled one that ran" "$(a -X -P -n -j "${array}_3" -o state,exitcode)" "CANCELLED by 0|0:0"
is "tasks that never started" "$(a -X -P -n -j "${array}_5" -o jobid,state,start,elapsed |
    sed 's/|20[0-9T:-]*|/|T|/')" "${array}_[5]|CANCELLED by 0|T|00:00:00"

# A job that is cancelled while it is held after a requeue has an end, too.
again=$(as kilntest1 sbatch --parsable --wrap 'sleep 300')
wait_for 30 is_in_state "$again" RUNNING
as kilntest1 scontrol requeuehold "$again"
wait_for 30 is_in_state "$again" PENDING
has_end() { [ "$(a -X -P -n -D -j "$again" -o state | tr '\n' ' ')" = "REQUEUED $1 " ]; }
wait_for 30 has_end PENDING
as kilntest1 scancel "$again"
ok "a job that ends while it waits after a requeue has an end" \
    wait_for 30 has_end "CANCELLED by 1001"
is "which is the last one" "$(a -X -P -n -j "$again" -o state,exitcode)" "CANCELLED by 1001|0:0"
admin delete job "$again" >/dev/null
is "also when the job is deleted" "$(a -X -P -n -D -j "$again" -o state | tr '\n' ' ')" \
    "REQUEUED CANCELLED by 1001 "
is "and kctl shows both" "$(as kilntest1 kctl history "$again" --no-headers | wc -l)" 2

# Errors, in Slurm's words
is "a job that there is not" "$(a -n -j 4711; echo $?)" 0
is "what is no job" "$(a -j abc; echo $?)" "sacct: fatal: Bad job/step specified: abc
1"
is "what is no field" "$(a -o foo; echo $?)" 'sacct: error: Invalid field requested: "foo"
1'
is "what is no state" "$(a -s foo; echo $?)" "sacct: fatal: unrecognized job state value 'foo'
1"
is "what is no user" "$(a -u nosuch; echo $?)" "sacct: error: Invalid user id: nosuch
1"
is "what is no time" "$(a -S foo; echo $?)" "Invalid time specification (pos=0): foo
1"

# As tools ask and read.
is "snakemake" "$(a -X --parsable2 --clusters all --noheader --format=JobIdRaw,State \
    --starttime "$(date +%Y-%m-%dT00:00)" --endtime now --name 'a b|c')" "$fail|FAILED"
is "submitit" "$(a -o JobID,State,NodeList --parsable2 -j "$fail" -j "$killed" | head -n 2)" \
    "JobID|State|NodeList
$fail|FAILED|n1"
is "parsl" "$(a -X --noheader --format=jobid,state%20 --job "$fail,$killed" | tr -s ' ' | tr '\n' ';')" \
    "$fail FAILED ;$killed FAILED ;"
is "batchtools" "$(a --user=kilntest1 --noheader --parsable2 --allocations --format=State \
    --jobs="$fail" --starttime="$(date +%Y-%m-%d)")" FAILED

fields=$(a --helpformat | tr -s ' \n' ',')
is "aiida asks for all fields" \
    "$(a --format="${fields%,}" --parsable --jobs="$killed" | awk -F'|' '{ print NF }' | sort -u)" 110
is "Open OnDemand" "$(a -P --delimiter "$(printf '\037')" -n --units G --allocations \
    -o User,Group,JobId,JobName,ReqMem,AllocCPUS,ReqCPUS,Timelimit,State,MaxRSS,Partition,ReqTRES \
    -j "$fail" | tr '\037' ';')" \
    "kilntest1;kilntest1;$fail;a b|c;0.10G;2;2;00:10:00;FAILED;;all;billing=2,cpu=2,mem=0.10G,node=1"

# --- accounts as a site spells them -------------------------------------------

admin create account six@v100 >/dev/null
admin annotate namespace six-v100 kiln.hpc/members=kilntest1 >/dev/null
is "kctl create account makes the namespace with its other name" \
    "$(admin get namespace six@v100 -o json |
        jq -r '.metadata.name + " " + .metadata.annotations["kiln.hpc/account"]')" 'six-v100 six@v100'
like "an account that exists is told" "$(admin create account SIX@V100 2>&1)" \
    "account 'SIX@V100' already exists: it is namespace 'six-v100'"
like "... and a namespace that has another name" "$(admin create account six+v100 2>&1)" \
    "the namespace of account 'six\+v100' would be 'six-v100', which exists"
like "another one of that name in other letters is refused" \
    "$(admin create namespace other 2>&1 && admin annotate namespace other kiln.hpc/account=SIX@v100 2>&1)" \
    "AccountName: the account 'SIX@v100' is namespace six-v100 already"
like "... and a namespace with the name of an account" \
    "$(admin annotate namespace other kiln.hpc/account=third 2>&1 && admin create namespace third 2>&1)" \
    "AccountName: the account 'third' is namespace other already"
like "only administrators name accounts" \
    "$(as kilntest1 kctl annotate --overwrite namespace six-v100 kiln.hpc/account=mine 2>&1)" \
    "user 'kilntest1' cannot patch"
# shellcheck disable=SC2016
id=$(as kilntest1 sbatch --parsable -A SIX@V100 -t 10 -o acc.out --wait --wrap 'echo $SLURM_JOB_ACCOUNT')
like "a job has its account in any letters, and its spelling in its environment" \
    "$(cat "$cluster/home/kilntest1/acc.out")" '^six@v100$'
is_in_history() { as kilntest1 kctl history --account six@v100 -o json | jq -e '.items | length > 0' >/dev/null; }
wait_for 20 is_in_history
is "sacct -A finds it, and shows it" "$(a -n -X -P -A Six@v100 -o jobid,account)" "$id|six@v100"
is "... by the name of the namespace, too" "$(a -n -X -P -A six-v100 -o jobid,account)" "$id|six@v100"
is "kctl history does, too" \
    "$(as kilntest1 kctl history --account six@v100 -o json | jq -r '.items[].account')" six@v100
held=$(as kilntest1 sbatch --parsable -A six@v100 -H -t 10 --wrap true)
is "squeue -A, for another user" \
    "$(as kilntest2 squeue -h -A six@v100,default -o '%i %a' | grep "^$held ")" "$held six@v100"
is "kctl jobs --account" \
    "$(as kilntest1 kctl jobs --account six@v100 -o json | jq -r '.items[].status.id' | sort -n | tail -n 1)" \
    "$held"
as kilntest1 kctl annotate --overwrite job "$held" kiln.hpc/account=mine >/dev/null 2>&1
is "nobody changes the spelling of his own job" \
    "$(as kilntest1 squeue -h -j "$held" -o %a)" six@v100
ok "scancel -A ends it" as kilntest1 scancel -A six@V100
wait_for 20 is_in_state "$held" CANCELLED
is "a Reservation may name it so" "$(admin reserve course --nodes n1 --start now+1hour --duration 1h \
    --accounts SIX@v100 >/dev/null 2>&1; admin get reservation course -o json | jq -c .spec.accounts)" \
    '["six-v100"]'
printf '{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: forsix, annotations: {
    kiln.hpc/allowed-namespaces: "nosuch, SIX@V100"}}, value: 1000}' >"$cluster/class.yaml"
like "so may a priority class; one that does not exist is told" \
    "$(admin create -f "$cluster/class.yaml" 2>&1)" "there is no account 'nosuch'"
ok "... which jobs of the account use" as kilntest1 sbatch -A six@v100 --qos=forsix -H -t 10 --wrap true

# Another process has the file of history, so that no row is written meanwhile.
hold_history() {
    /usr/bin/python3 - "$cluster/state/history.db" "$cluster/held" "$cluster/let-go" <<'EOF'
import os, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)
db.execute("BEGIN IMMEDIATE")
open(sys.argv[2], "w").close()
end = time.time() + 100
while time.time() < end and not os.path.exists(sys.argv[3]):
    time.sleep(0.1)
db.execute("ROLLBACK")
EOF
}
hold_history &
wait_for 20 test -e "$cluster/held"
id=$(as kilntest1 sbatch --parsable -J late -t 10 --wait --wrap 'exit 4')
array=$(as kilntest1 sbatch --parsable -J late -a 3,5 -t 10 --wait --wrap true)
killed=$(as kilntest1 sbatch --parsable -J ended -t 10 --wrap 'sleep 300')
tasks=$(as kilntest1 sbatch --parsable -J ended -a 1-3 -t 10 --wrap 'sleep 300')
wait_for 20 is_in_state "$killed" RUNNING
wait_for 20 is_in_state "$tasks" RUNNING
as kilntest1 scancel "$killed" "${tasks}_2"
wait_for 20 is_in_state "$killed" "CANCELLED by 1001"
is "the script of a job that was cancelled has a signal, before history has it, too" \
    "$(a -P -n -j "$killed.batch" -o state,exitcode)" "CANCELLED|0:15"
ok "... and who cancelled a task is known" \
    wait_for 20 is_in_state "${tasks}_2" "CANCELLED by 1001"
as kilntest1 scancel "$tasks"
is "history has no row of the job yet" "$(as kilntest1 kctl history -j "$id" -o json | jq '.items | length')" 0
is "sacct shows a job that has just ended, and the tasks of an array, by their name" \
    "$(a -X -P -n --name late -S now-1hour -o jobid,state,exitcode)" "$id|FAILED|4:0
${array}_3|COMPLETED|0:0
${array}_5|COMPLETED|0:0"
is "... with -D, too" "$(a -D -X -P -n --name late -S now-1hour -o jobid | sort -u | wc -l)" 3
: >"$cluster/let-go"
has_late_rows() { [ "$(as kilntest1 kctl history -o json | jq '[.items[] | select(.name == "late")] | length')" = 3 ]; }
wait_for 40 has_late_rows
is "... and once when history has it" "$(a -D -X -P -n --name late -S now-1hour -o jobid,state)" \
    "$id|FAILED
${array}_3|COMPLETED
${array}_5|COMPLETED"

stop controller
like "a controller that is away" "$(as kilntest1 timeout 60 sacct 2>&1; echo $?)" \
    'sacct: error: Problem talking to the database: Unable to contact slurm controller \(connect failure\)
1$'
finish
