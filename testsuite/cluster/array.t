#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job array from its user's view: files and variables of each task, a task
# that fails, ranges of tasks that are held, released and cancelled, and a
# throttle.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
cd "$cluster/home/kilntest1" || bail_out "no home"
user() { as kilntest1 kctl "$@"; }
job() { # ID FILTER
    root get job "$1" -o json | jq -r "$2"
}
state_is() { [ "$(job "$1" .status.state)" = "$2" ]; }
files() {
    for file; do
        printf '%s: %s\n' "$file" "$(cat "$file" 2>&1)"
    done
}
running() { # ID: prints the tasks that run
    root get pods -o json | jq -r --arg job "job-$1" '[.items[] |
        select(.metadata.ownerReferences[0].name == $job and
            .status.phase == "Running" and
            .metadata.deletionTimestamp == null) |
        .metadata.annotations["kiln.hpc/array-task"] | tonumber] | sort |
        map(tostring) | join(" ")'
}
runs() { [ "$(running "$1")" = "$2" ]; }

# --- files and variables ------------------------------------------------------
id=$(submit -a 3,10-20:5 --wrap 'echo $KILN_ARRAY_JOB_ID $KILN_ARRAY_TASK_ID \
    $KILN_ARRAY_TASK_COUNT $KILN_ARRAY_TASK_MIN $KILN_ARRAY_TASK_MAX \
    $KILN_ARRAY_TASK_STEP $JOB_COMPLETION_INDEX $KILN_JOB_ID')
ok "an array completes" wait_for 30 state_is "$id" Completed
is "each task has its own output file and its own variables" \
    "$(files "kiln-${id}_3.out" "kiln-${id}_10.out" "kiln-${id}_15.out" \
        "kiln-${id}_20.out")" \
    "kiln-${id}_3.out: $id 3 4 3 20 7 0 $id
kiln-${id}_10.out: $id 10 4 3 20 7 1 $id
kiln-${id}_15.out: $id 15 4 3 20 7 2 $id
kiln-${id}_20.out: $id 20 4 3 20 7 3 $id"
told() { # ID: counts the Events of the array and its tasks by reason
    root get events -o json | jq -r --arg job "job-$1" '[.items[] |
        select(.involvedObject.name | . == $job or startswith($job + "-")) |
        .reason] | group_by(.) | map("\(.[0]) \(length)") | join(", ")'
}
tells() { [ "$(told "$1")" = "$2" ]; }
ok "the array's end has an Event, and the single tasks have none" \
    wait_for 10 tells "$id" "Completed 1"
cat >theirs.sh <<'END'
#!/bin/sh
#SBATCH --array=7-8
#SBATCH --output=s-%A_%3a.txt
echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT
END
id=$(submit theirs.sh 2>/dev/null)
ok "a script with array directives of Slurm runs as an array" \
    wait_for 30 state_is "$id" Completed
is "it has Slurm's variables and file names" \
    "$(files "s-${id}_007.txt" "s-${id}_008.txt")" \
    "s-${id}_007.txt: $id 7 2
s-${id}_008.txt: $id 8 2"

# --- a task that fails --------------------------------------------------------
id=$(submit -a 1-5 -o f-%a --wrap 'echo ran; test $KILN_ARRAY_TASK_ID -ne 4 || exit 3')
ok "an array with a failed task has failed" wait_for 30 state_is "$id" Failed
is "the other tasks have run" "$(files f-1 f-2 f-3 f-4 f-5)" "f-1: ran
f-2: ran
f-3: ran
f-4: ran
f-5: ran"
has_rows() { [ "$(user history "$1" --no-headers | wc -l)" -eq "$2" ]; }
ok "history has a row for each task" wait_for 10 has_rows "$id" 5
is "each row has the task's number, state and exit code" \
    "$(user history "$id" -o id,state,exit --no-headers | sort |
        sed 's/  */ /g')" "${id}_1 Completed 0
${id}_2 Completed 0
${id}_3 Completed 0
${id}_4 Failed 3
${id}_5 Completed 0"
like "kctl status says how many tasks failed, which, and how" \
    "$(user status "$id" | tr '\n' ' ')" \
    '1 of 5 tasks failed .*Tasks: *5: 4 succeeded, 1 failed .* 1 Failed, exit code 3: 4 '
is "history has a task by its number" \
    "$(user history "${id}_4" -o id,index,task --no-headers |
    sed 's/  */ /g; s/^ //')" "${id}_4 3 4"
is "the output of a single task is shown" "$(user logs "${id}_4" 2>&1)" ran
like "kctl why says why a task ended" "$(user why "${id}_4")" \
    'attempt 1  Failed: NonZeroExitCode'
like "kctl why names the existing tasks when the task does not exist" \
    "$(user why "${id}_6" 2>&1)" \
    'has no task 6; it has 1-5'
is "the Job counts the completed and the failed tasks" \
    "$(job "$id" '"\(.status.succeeded) \(.status.failed)"')" '4 1'

# --- ranges and the throttle --------------------------------------------------
id=$(submit -H -a 1-9%2 --wrap 'exec sleep 1000')
is "tasks can be held" "$(user hold "${id}_1" "${id}_[3-9]")" \
    "job/${id}_[1,3-9] held; running pods are not affected"
user release "$id" >/dev/null
ok "the tasks that are not held run" wait_for 20 runs "$id" '2'
is "some tasks can be released" "$(user release "${id}_[4-8:2]")" \
    "job/${id}_[4-8:2] released"
ok "as many of them run as the throttle allows" wait_for 20 runs "$id" '2 4'
like "the throttle of a running array can be changed" \
    "$(user update "$id" throttle=3)" "job/$id updated"
ok "more tasks run then" wait_for 20 runs "$id" '2 4 6'
is "tasks can be cancelled" "$(user cancel "${id}_[3-4]")" \
    "job/${id}_[3-4] cancelled"
ok "the cancelled tasks end, and others start" wait_for 20 runs "$id" '2 6 8'
like "a task that is cancelled again is reported as cancelled already" \
    "$(user cancel "${id}_4")" 'cancelled already'
user cancel "$id" >/dev/null
like "kctl why of a task that will not start says at once that it is cancelled" \
    "$(user why "${id}_9")" "Cancelled"
ok "the whole array can be cancelled" wait_for 30 state_is "$id" Cancelled
never_started() { user why "${id}_9" | grep -qx '20.*  never started  Cancelled by [a-z0-9]*'; }
ok "... and later that it never started, and who cancelled it" wait_for 10 never_started

# --- the throttle, and how ranges of tasks are shown --------------------------
id=$(submit -a 1-4%1 --wrap 'echo begun; exec sleep 1000')
ok "one task runs with a throttle of one" wait_for 20 runs "$id" '1'
like "the throttle can be raised" \
    "$(user update "$id" throttle=3)" "job/$id updated"
ok "three tasks run then" wait_for 20 runs "$id" '1 2 3'
user hold "${id}_4" >/dev/null
is "running tasks have a line each, waiting tasks have one line together" \
    "$(user jobs --state Running,Held,Pending --no-headers \
        -o id,state,node,reason | sed 's/^ *//; s/ *$//; s/  */ /g')" \
    "${id}_1 Running n1
${id}_2 Running n1
${id}_3 Running n1
${id}_4 Held held"
like "kctl why says why a task is held" "$(user why "${id}_4")" \
    "Held; 'kctl release ${id}_4' lets it start"
like "a task that has not started has no output" "$(user logs "${id}_4" 2>&1)" \
    'has not been started'
like "kctl why says where a task runs" "$(user why "${id}_2")" \
    "^Task ${id}_2 .*: Running on n1"
says() { [ "$(user logs "$1")" = "$2" ]; }
ok "the output of a running task is shown" wait_for 10 says "${id}_2" begun
user release "${id}_4" >/dev/null
like "the table says that tasks wait because of the throttle" \
    "$(user jobs -o id,state,reason)" \
    "${id}_4 *Pending *throttle of 3 tasks"
like "kctl get jobs has a row for the waiting task" \
    "$(user get jobs)" "^${id}_4 "
like "a verb for whole jobs refuses a task" \
    "$(user delete job "${id}_2" 2>&1)" 'this command works on whole jobs'
like "a task that does not exist is refused" \
    "$(user cancel "${id}_77" 2>&1)" 'no such task; it has 1-4'
for verb in cancel hold release requeue why logs 'get job' wait; do
    # shellcheck disable=SC2086 # "get job"
    user $verb "${id}_77" >/dev/null 2>&1
    printf '%s ' $?
done >"$cluster/codes"
is "... with the same exit status by each command" "$(cat "$cluster/codes")" \
    "66 66 66 66 66 66 66 66 "
like "a list with a task that does not exist names that task" \
    "$(user hold "${id}_[4,77]" 2>&1)" 'not affected; the array has no task 77$'
like "a task of a job that is not an array is refused" \
    "$(user cancel "$(submit --wrap true)_1" 2>&1)" 'is not a job array'
user cancel "$id" >/dev/null
ok "the array can be cancelled as a whole" wait_for 30 state_is "$id" Cancelled
finish
