#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands that users type fifty times a day, on their own jobs: the list of
# jobs, waiting for them, and all ways to name them.

# shellcheck disable=SC2016,SC2154,SC2317 # of the inner shell; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq script
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:2 core:4 pu:2'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
home=$cluster/home/kilntest1

k1() { as kilntest1 kctl "$@" </dev/null; }
status_is() { # NAME STATUS COMMAND...
    status_name=$1 status_wanted=$2 status=0
    shift 2
    "$@" >/dev/null 2>&1 || status=$?
    is "$status_name" "$status" "$status_wanted"
}
ids() { k1 jobs -o id --no-headers "$@" 2>/dev/null | tr -d ' ' | paste -sd' ' -; }

# --- kctl wait ----------------------------------------------------------------

good=$(submit -J good --wrap true)
bad=$(submit -J bad --wrap 'exit 7')
is "kctl wait waits for the end of a job, without a limit of time" \
    "$(k1 wait "$good")" "job $good Completed"
status_is "it exits with the job's exit code" 7 k1 wait "$bad"
like "it prints how the job ended" "$(k1 wait "$bad")" \
    "^job $bad Failed on n1, exit code 7\$"
status_is "of several jobs it exits with the highest code" 7 k1 wait "$good,$bad" "$good"
array=$(submit -a 1-3 --wrap 'exit $((KILN_ARRAY_TASK_ID - 1))')
is "lists of tasks and jobs may be mixed" "$(k1 wait "$good,${array}_[1-2]")" \
    "job $good Completed
task ${array}_1 Completed
task ${array}_2 Failed"
status_is "it exits with the code of a task" 2 k1 wait "${array}_3"
# The row of a task that has ended is written a little later, here much later.
if command -v python3 >/dev/null; then
    late=$(submit -a 1 --hold --wrap 'exit 3')
    python3 - "$cluster/state/history.db" "$cluster/locked" <<'PY' &
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
open(sys.argv[2], "w").close()
time.sleep(4)
db.execute("COMMIT")
PY
    wait_for 20 test -e "$cluster/locked"
    k1 release "$late" >/dev/null
    status_is "also if its row of history is late" 3 k1 wait "${late}_1"
else
    skip "also if its row of history is late" "python3 is missing"
fi
status_is "--for condition=Complete is as before" 0 \
    k1 wait --for condition=Complete "$good"
status_is "and gives up" 69 k1 wait --for condition=Complete --timeout 1s "$bad"
long=$(submit -J long --wrap 'sleep 300')
status_is "--timeout gives up, with timeout(1)'s code" 124 k1 wait --timeout 1s "$long"
like "another type needs --for" "$(k1 wait node n1 2>&1)" '--for is required'
progress() {
    as kilntest1 script -qec "stty cols 80; kctl wait --timeout 5s $long" /dev/null
}
like "on a terminal there is a line of progress" "$(progress | tr '\r' '\n')" \
    "job $long: Running .*on n1"
unlike "without a terminal there is none" "$(k1 wait --timeout 1s "$long" 2>&1)" Running

# --- kctl jobs ----------------------------------------------------------------

like "kctl jobs shows a job by its id" "$(k1 jobs "$bad")" "^ *$bad +bad .*Failed"
is "a list and a range of ids" "$(ids "$good-$bad" "$long")" "$good $bad $long"
is "tasks are shown, too" "$(k1 jobs --no-headers "${array}_3" |
    awk '{ print $1, $2 }')" "${array}_3 Failed"
status_is "a job that does not exist is an error" 66 k1 jobs 999
like "the error names it" "$(k1 jobs 999 2>&1)" 'job 999 not found'
is "jobs of a range may be gone" "$(ids "$long-999" | tr ' ' '\n' | head -n 1)" "$long"
like "jobs and options do not go together" "$(k1 jobs --user kilntest1 "$bad" 2>&1)" \
    'not both'
many=$(submit -a 0-11 --parsable --wrap true)
k1 wait "$many" >/dev/null
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    last=$(submit -J "n$i" --wrap true)
done
k1 wait "$((last - 11))-$last" >/dev/null
is "kctl jobs shows the active jobs and the last ten that ended" \
    "$(ids)" "$long $(seq -s ' ' "$((last - 9))" "$last")"
like "--all shows the others, too" " $(ids --all) " " $good $bad .* $((last - 11)) "
is "--all is not for other users" "$(ids --all | wc -w)" \
    "$(k1 get jobs --mine -o name | wc -l)"
held=$(submit -J held -H --wrap true)
other=$(as kilntest2 ksub --parsable -H --wrap true)
like "--all-users shows their jobs" " $(ids --all-users) " " $other "
is "-o json has the same jobs" "$(k1 jobs -o json | jq '.items | length')" 12
status_is "an unknown user is an error" 66 k1 jobs --user nobodyhere
like "the error says so" "$(k1 jobs --user nobodyhere 2>&1)" "no user 'nobodyhere'"
status_is "an unknown partition is an error" 66 k1 jobs -p gpux
status_is "an unknown node is an error" 66 k1 jobs --node n9
status_is "kctl cancel refuses an unknown user, too" 66 k1 cancel --user nobodyhere
status_is "and history an unknown partition" 66 k1 history -p gpux

# --- the same lists everywhere ------------------------------------------------

names() { "$@" -o name 2>&1 | sed 's,.*/job-,,' | paste -sd' ' -; }
is "kctl get takes a range" "$(names k1 get jobs "$good-$bad")" "$good $bad"
is "kctl get takes a list" "$(names k1 get "$good,$bad" "$long")" "$good $bad $long"
is "kctl describe takes a list" \
    "$(k1 describe "$good,$bad" | grep -c '^Job id:')" 2
is "kctl history takes job/ID and the type" \
    "$(k1 history job "job/$good" "$bad" -o id --no-headers | tr -d ' ' |
        paste -sd' ' -)" "$good $bad"
is "kctl efficiency takes a list" \
    "$(k1 efficiency "$good,$bad" | awk '$1 ~ /^[0-9]+$/ { print $1 }' |
        paste -sd' ' -)" "$good $bad"
is "kctl why takes a list" "$(k1 why "$good,$bad" 2>&1 | grep -c '^Job')" 2
like "kctl logs takes one job" "$(k1 logs "$good,$bad" 2>&1)" 'one object; these are 2'
status_is "more are a mistake of the command line" 64 k1 script "$good" "$bad"
like "a range that ends before it begins is refused" \
    "$(k1 get jobs 9-3 2>&1)" 'ends before it begins'
status_is "a range without any job is an error" 66 k1 get jobs 800-900
k1 cancel "$long" >/dev/null
is "a job that is not there is named as the user named it" "$(k1 wait 999 2>&1)" \
    'kctl: wait: job 999 not found'

# --- kctl show, script and resubmit -------------------------------------------

cat >"$home/steps.sh" <<'TXT'
#!/bin/sh
#KSUB -J steps -c 2 --mem 100M -t 5
#KSUB -o out-%4j-%x-%N -e logs/%j.err
echo "$1 of $SHOWN"
echo wrong >&2
exit 4
TXT
chown kilntest1: "$home/steps.sh"
as kilntest1 mkdir logs
steps=$(as kilntest1 env SHOWN=all ksub --parsable --comment 'a note' steps.sh first)
k1 wait "$steps" >/dev/null
shown=$(k1 show "$steps")
for line in "Job: +$steps \(steps\)" 'User: +kilntest1, account default' \
    'State: +Failed, exit code 4' 'Arguments: +first' "Directory: +$home" \
    "Script: +$(wc -c <"$home/steps.sh") bytes" \
    "Output: +$home/out-$(printf %04d "$steps")-steps-n1" "Error: +$home/logs/$steps.err" \
    'Submitted: +20[0-9-]* [0-9:]*' 'Ended: +20' 'Time: +0:0[0-9] of 5:00' 'Node: +n1' \
    'CPUs: +2' 'Memory: +[0-9.]+[KM]i at most; asked for 100Mi' 'Comment: +a note'; do
    like "kctl show has: ${line%%: *}" "$shown" "^$line"
done
ok "the output file is where it says" test -f "$home/out-$(printf %04d "$steps")-steps-n1"
ok "it fits a screen" test "$(printf '%s\n' "$shown" | wc -l)" -le 24
like "kctl show of a job without a script of its own shows the command" \
    "$(k1 show "$long")" 'Command: +sleep 300'
like "it says who cancelled a job" "$(k1 show "$long")" 'Ended by: +kilntest1'
like "kctl show of a task has the task's files" "$(k1 show "${array}_2")" \
    "Output: +$home/kiln-${array}_2.out"
is "kctl show of several jobs separates them" \
    "$(k1 show "$good,$bad" | grep -c '^Job:')" 2
is "kctl script prints the script" "$(k1 script "$steps")" "$(cat "$home/steps.sh")"
like "and the environment" "$(k1 script --environment "$steps")" '^SHOWN=all'
status_is "another user's script is denied" 77 as kilntest2 kctl script "$steps"
is "kctl logs --stderr shows the standard error" "$(k1 logs --stderr "$steps")" wrong
is "without it there is the output" "$(k1 logs "$steps")" 'first of all'
like "a job that does not separate them is named" "$(k1 logs --stderr "$good" 2>&1)" \
    'standard error to the same file'
like "times of its lines are not known" "$(k1 logs --stderr --timestamps "$steps" 2>&1)" \
    'recorded for standard output only'
errors=$(submit -a 1-2 -e 'err-%A-%a' --wrap 'echo "bad $KILN_ARRAY_TASK_ID" >&2')
k1 wait "$errors" >/dev/null
gone() { [ "$(k1 get pods -l "batch.kubernetes.io/job-name=job-$errors" -o name | wc -l)" = 0 ]; }
ok "the pods of the tasks are removed" wait_for 20 gone
task_error() { [ "$(k1 logs --stderr "${errors}_2")" = 'bad 2' ]; }
ok "the standard error of a task is still shown" wait_for 10 task_error
again=$(k1 resubmit --parsable "$steps")
k1 wait "$again" >/dev/null
is "kctl resubmit runs the job again, with its arguments and environment" \
    "$(cat "$home/out-$(printf %04d "$again")-steps-n1")" 'first of all'
like "it keeps what was asked for" "$(k1 show "$again")" 'asked for 100Mi'
like "--hold holds the new job" \
    "$(k1 jobs -o state --no-headers "$(k1 resubmit --parsable --hold "$steps")")" Held
part=$(k1 resubmit --parsable "${array}_[2-3]")
is "tasks of an array are resubmitted alone" \
    "$(k1 wait "${part}_[2-3]" | paste -sd' ' -)" "task ${part}_2 Failed task ${part}_3 Failed"
like "it says that it is a task" "$(k1 resubmit --hold "${array}_2")" "^Submitted job [0-9]+, a copy of task ${array}_2$"
status_is "a task that is not there is an error" 66 k1 resubmit "${array}_9"
status_is "another user's job is denied" 77 as kilntest2 kctl resubmit "$steps"
like "and its owner is named" "$(as kilntest2 kctl resubmit "$steps" 2>&1)" \
    "job $steps belongs to kilntest1"
is "files of another user's job are hidden, and not said to be elsewhere" \
    "$(as kilntest2 kctl show "$steps" | grep -c -e Output -e "$home")" 0
is "all tasks have the script of the array" "$(k1 script "${array}_2")" "$(k1 script "$array")"
status_is "a task that is not there has none" 66 k1 script "${array}_9"
k1 delete job "$again" >/dev/null
like "kctl show of a deleted job shows history" "$(k1 show "$again")" \
    'deleted.*history'
brief=$(submit -J brief --wrap true)
k1 wait "$brief" >/dev/null
k1 delete job "job-$brief" >/dev/null
is "kctl wait of a job that is deleted at once finds its end as well" \
    "$(k1 wait "$brief" 2>&1)" "job $brief Completed"
like "kctl wait of a deleted job, too" "$(k1 wait "$again")" \
    "^job $again Failed on n1, exit code 4"

# --- kctl update: files, nodes, features, requeue ------------------------------

parts=$(submit -a 1-2%1 -c 2 -t 5 --mem 20M --wrap 'sleep 300')
runs() { [ "$(k1 jobs "${parts}_1" -o json | jq -r '.items[0].state')" = Running ]; }
ok "the first task runs" wait_for 20 runs
like "kctl wait says for which job the time was up" \
    "$(k1 wait --timeout 100ms "$parts" 2>&1)" "for the end of job $parts\$"
k1 update "$parts" time=10 cpus-per-task=1 mem=30M >/dev/null
for line in 'Time: +0:[0-9]+ of 5:00' 'CPUs: +2 \(numbers? [0-9,-]+\)' 'Memory: .*asked for 20Mi'; do
    like "a task that runs keeps what it has: ${line%%: *}" "$(k1 show "${parts}_1")" "^$line"
done
for line in 'Time: +- of 10:00' 'CPUs: +1$' 'Memory: .*asked for 30Mi'; do
    like "one that waits gets what was changed: ${line%%: *}" "$(k1 show "${parts}_2")" "^$line"
done
runs_in_part() { k1 show "$parts" | grep -q '^State: *Running, the rest is Pending, throttle'; }
ok "an array that runs in part does not look as if it only waited" wait_for 10 runs_in_part
has_run() { k1 show "${parts}_1" | grep -qE '^Time: +0:0[1-9]'; }
ok "the time of a task that runs is counted" wait_for 10 has_run
k1 cancel "$parts" >/dev/null
huge=$(submit -c 1000 --wrap true 2>/dev/null)
is "CPUs are a number, and no quantity" "$(k1 jobs -o cpus --no-headers "$huge" | tr -d ' ')" 1000
k1 cancel "$huge" >/dev/null

block=$(submit -c 16 --wrap 'sleep 300')
is_running_job() { [ "$(k1 jobs -o state --no-headers "$1" | tr -d ' ')" = Running ]; }
wait_for 20 is_running_job "$block"
waits=$(submit -c 16 -x n7 --wrap 'echo moved; echo wrong >&2')
terms() { # JOB: the terms of its affinity, one a line
    k1 get job "$1" -o json | jq -c '.spec.template.spec.affinity.nodeAffinity
        .requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms // [] | .[] |
        [(.matchExpressions // [])[], (.matchFields // [])[] |
            "\(.key) \(.operator) \(.values // [] | join(","))"] | sort | join("; ")'
}
set_to() { # JOB FIELD...
    k1 update "$@" 2>&1
}
like "an update changes the output of a waiting job" \
    "$(set_to "$waits" output=new-%j.txt error=new-%A.err)" updated
set_to "$waits" exclude='n[8-9]' >/dev/null
is "exclude replaces the nodes that are excluded" "$(terms "$waits")" \
    '"metadata.name NotIn n8; metadata.name NotIn n9"'
set_to "$waits" constraint='avx|zone=east' >/dev/null
is "constraint adds alternatives, and keeps the names" "$(terms "$waits" | paste -sd' ' -)" \
    '"feature.kiln.hpc/avx Exists ; metadata.name NotIn n8; metadata.name NotIn n9" "metadata.name NotIn n8; metadata.name NotIn n9; zone In east"'
set_to "$waits" ReqNodeList=n1 exclude=none >/dev/null
is "nodelist adds the node to each" "$(terms "$waits" | paste -sd' ' -)" \
    '"feature.kiln.hpc/avx Exists ; metadata.name In n1" "metadata.name In n1; zone In east"'
set_to "$waits" constraint=none Requeue=1 >/dev/null
is "none removes the features" "$(terms "$waits")" '"metadata.name In n1"'
set_to "$waits" nodelist= >/dev/null
is "without any the affinity is gone" "$(terms "$waits")" ''
is "requeue is set" "$(k1 get job "$waits" -o json | jq .spec.requeue)" true
like "a pattern that is unknown is refused" "$(set_to "$waits" output=%q)" 'unknown pattern'
like "the task of a job that is no array is refused" "$(set_to "$waits" output=%a)" \
    'not a job array'
like "several nodes are refused" "$(set_to "$waits" nodelist='n[1-2]')" 'one node'
like "a malformed constraint is refused" "$(set_to "$waits" constraint='[a|b]')" 'is not a list of features'
like "the files of a running job stay" "$(set_to "$block" output=late)" 'has a node already'
tasks=$(submit -a 1-2 -c 16 --wrap 'echo "task $KILN_ARRAY_TASK_ID"')
set_to "$tasks" output='task-%a-%A.txt' >/dev/null
k1 cancel "$block" >/dev/null
k1 wait "$waits" "$tasks" >/dev/null
is "the job writes to its new files" \
    "$(cat "$home/new-$waits.txt" "$home/new-$waits.err" | paste -sd' ' -)" 'moved wrong'
is "and so does each task" "$(cat "$home/task-1-$tasks.txt" "$home/task-2-$tasks.txt" |
    paste -sd' ' -)" 'task 1 task 2'

# --- what is not there, and where it is -----------------------------------------

for what in 'get jobs' report history jobs; do
    # shellcheck disable=SC2086 # two words
    status_is "kctl $what reports an unknown user" 66 k1 $what --user nobody-here
    # shellcheck disable=SC2086
    like "kctl $what reports an unknown partition" "$(k1 $what --partition typo 2>&1)" \
        "--partition: .*typo\" not found; 'kctl partitions'"
done
status_is "a known user without jobs is no error" 0 k1 get jobs --user kilntest2
is "kctl history -A is of all users, as kctl jobs -A" "$(as kilntest2 kctl history -A -o id)" \
    "$(as kilntest2 kctl history --all -o id)"
like "kctl history of a state that it cannot have is a mistake" \
    "$(k1 history --state Ending 2>&1)" "only what has ended; 'kctl jobs --state'"
like "kctl cancel says what it looked for" "$(k1 cancel --state Frozen 2>&1)" \
    '^No active jobs in state Frozen that you may change$'
is "jobs that are not there are named together" "$(k1 cancel 990,991 995 2>&1)" \
    "kctl: cancel: 3 jobs (990-991,995): there is no such job"
gone=$(submit --wrap true)
k1 wait "$gone" >/dev/null
root delete job "job-$gone" >/dev/null
for what in logs script resubmit cancel hold requeue; do
    like "kctl $what of a deleted job points to history" "$(k1 "$what" "$gone" 2>&1)" \
        "job $gone not found; 'kctl history $gone'"
done
asks=$(submit --hold -w n1 -x n7,n8,n9 -C 'gold|zone=east' -d "afterany:$good" --wrap true 2>/dev/null)
asks=$(k1 show "$asks" | tr -s ' ')
for line in 'Nodelist: n1' 'Excluded: n\[7-9\]' 'Constraint: gold\|zone=east' \
    "Dependency: afterany:$good"; do
    like "kctl show has ${line%%:*}" "$asks" "$line"
done
top=$(submit -D / --hold --wrap true)
like "a file in / has one slash" "$(k1 show "$top")" 'Output: +/kiln-'

# --- the controller is away ---------------------------------------------------

stop controller
status_is "--no-wait fails at once" 69 as kilntest1 timeout 10 kctl --no-wait jobs
status_is "so does ksub --no-wait" 69 as kilntest1 timeout 10 ksub --no-wait --wrap true
like "the error says where the server is configured" \
    "$(k1 jobs --no-wait 2>&1)" 'refused.*--server, KILN_SERVER'
as kilntest1 kctl jobs --all -o id,name >"$cluster/jobs" 2>"$cluster/said" &
asks=$!
as kilntest1 kctl update "$held" comment=later >"$cluster/updated" 2>&1 &
changes=$!
ok "after three seconds kctl says that it waits" \
    wait_for 10 grep -q 'cannot reach the controller.*(waiting until it answers; --no-wait' "$cluster/said"
cluster_controller --socket "$cluster/socket"
wait "$asks"
is "it succeeds when the controller is back" $? 0
like "with the whole answer" "$(cat "$cluster/jobs")" "$bad +bad"
is "and two lines were said" "$(wc -l <"$cluster/said")" 2
wait "$changes"
is "a change is made then, too" $? 0
is "the job has changed" "$(k1 get job "$held" -o json |
    jq -r '.metadata.annotations["kiln.hpc/comment"]')" later
signal controller STOP
as kilntest1 kctl jobs -o id >"$cluster/jobs" 2>"$cluster/said" &
asks=$!
ok "it also says so if the controller hangs" \
    wait_for 10 grep -q 'does not answer; waiting' "$cluster/said"
signal controller CONT
wait "$asks"
is "and succeeds" $? 0

like "without a replicated store kctl controllers shows the one that there is" \
    "$(as kilntest1 kctl controllers --no-wait)" "$(uname -n)"
unlike "and nobody can take over from it" "$(admin controllers handover --no-wait 2>&1)" 'cannot reach'
ok "it goes on" admin controllers --no-wait -o json
finish
