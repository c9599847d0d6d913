#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job array as its user sees it: files and variables of each task, a task that
# fails, ranges that are held, released and cancelled, and a throttle.

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
submit() { as kilntest1 ksub --parsable "$@"; }
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
running() { # ID: the tasks that run
    root get pods -o json | jq -r --arg job "job-$1" '[.items[] |
        select(.metadata.ownerReferences[0].name == $job and
            .status.phase == "Running" and
            .metadata.deletionTimestamp == null) |
        .metadata.annotations["kiln.hpc/array-task"] | tonumber] | sort |
        map(tostring) | join(" ")'
}
runs() { [ "$(running "$1")" = "$2" ]; }

# --- files and variables ---------------------------------------------------------
id=$(submit -a 3,10-20:5 --wrap 'echo $KILN_ARRAY_JOB_ID $KILN_ARRAY_TASK_ID \
    $KILN_ARRAY_TASK_COUNT $KILN_ARRAY_TASK_MIN $KILN_ARRAY_TASK_MAX \
    $KILN_ARRAY_TASK_STEP $JOB_COMPLETION_INDEX $KILN_JOB_ID')
ok "an array ends" wait_for 30 state_is "$id" Completed
is "each task has its file, and its own numbers" \
    "$(files "kiln-${id}_3.out" "kiln-${id}_10.out" "kiln-${id}_15.out" \
        "kiln-${id}_20.out")" \
    "kiln-${id}_3.out: $id 3 4 3 20 7 0 $id
kiln-${id}_10.out: $id 10 4 3 20 7 1 $id
kiln-${id}_15.out: $id 15 4 3 20 7 2 $id
kiln-${id}_20.out: $id 20 4 3 20 7 3 $id"
told() { # ID: how many Events of each reason there are, of the array and its tasks
    root get events -o json | jq -r --arg job "job-$1" '[.items[] |
        select(.involvedObject.name | . == $job or startswith($job + "-")) |
        .reason] | group_by(.) | map("\(.[0]) \(length)") | join(", ")'
}
tells() { [ "$(told "$1")" = "$2" ]; }
ok "an Event tells of the array's end, and none of what each task did" \
    wait_for 10 tells "$id" "Completed 1"
cat >theirs.sh <<'END'
#!/bin/sh
#SBATCH --array=7-8
#SBATCH --output=s-%A_%3a.txt
echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT
END
id=$(submit theirs.sh 2>/dev/null)
ok "a script of Slurm's is an array too" wait_for 30 state_is "$id" Completed
is "with Slurm's names" "$(files "s-${id}_007.txt" "s-${id}_008.txt")" \
    "s-${id}_007.txt: $id 7 2
s-${id}_008.txt: $id 8 2"

# --- a task that fails ------------------------------------------------------------
id=$(submit -a 1-5 -o f-%a --wrap 'echo ran; test $KILN_ARRAY_TASK_ID -ne 4 || exit 3')
ok "an array of which a task fails has failed" wait_for 30 state_is "$id" Failed
is "the others have run" "$(files f-1 f-2 f-3 f-4 f-5)" "f-1: ran
f-2: ran
f-3: ran
f-4: ran
f-5: ran"
has_rows() { [ "$(user history "$1" --no-headers | wc -l)" -eq "$2" ]; }
ok "what became of each is in history" wait_for 10 has_rows "$id" 5
is "by its number" "$(user history "$id" -o id,state,exit --no-headers | sort |
        sed 's/  */ /g')" "${id}_1 Completed 0
${id}_2 Completed 0
${id}_3 Completed 0
${id}_4 Failed 3
${id}_5 Completed 0"
like "how many, and which, and how" "$(user status "$id" | tr '\n' ' ')" \
    '1 of 5 tasks failed .*Tasks: *5: 4 succeeded, 1 failed .* 1 by Failed, exit code 3: 4 '
is "of one alone" "$(user history "${id}_4" -o id,index,task --no-headers |
    sed 's/  */ /g; s/^ //')" "${id}_4 3 4"
is "its output is shown" "$(user logs "${id}_4" 2>&1)" ran
like "why it ended is told" "$(user why "${id}_4")" \
    'attempt 1  Failed: NonZeroExitCode'
like "of a task that it has not, what it has" "$(user why "${id}_6" 2>&1)" \
    'has no task 6; it has 1-5'
is "and completed" "$(job "$id" '"\(.status.succeeded) \(.status.failed)"')" '4 1'

# --- ranges and the throttle --------------------------------------------------------
id=$(submit -H -a 1-9%2 --wrap 'exec sleep 1000')
is "tasks are held" "$(user hold "${id}_1" "${id}_[3-9]")" \
    "job/${id}_[1,3-9] held; what runs of it goes on"
user release "$id" >/dev/null
ok "then the rest runs alone" wait_for 20 runs "$id" '2'
is "tasks are released" "$(user release "${id}_[4-8:2]")" \
    "job/${id}_[4-8:2] released"
ok "and run, as many as the throttle lets" wait_for 20 runs "$id" '2 4'
like "it changes" "$(user update "$id" throttle=3)" "job/$id updated"
ok "while it runs" wait_for 20 runs "$id" '2 4 6'
is "tasks are cancelled" "$(user cancel "${id}_[3-4]")" \
    "job/${id}_[3-4] cancelled"
ok "those that run end, and others begin" wait_for 20 runs "$id" '2 6 8'
like "twice is once" "$(user cancel "${id}_4")" 'cancelled already'
user cancel "$id" >/dev/null
ok "the whole of it is cancelled" wait_for 30 state_is "$id" Cancelled

# --- the throttle, and what is said of ranges ---------------------------------------
id=$(submit -a 1-4%1 --wrap 'echo begun; exec sleep 1000')
ok "as many run as the throttle lets" wait_for 20 runs "$id" '1'
like "it changes" "$(user update "$id" throttle=3)" "job/$id updated"
ok "while it runs" wait_for 20 runs "$id" '1 2 3'
user hold "${id}_4" >/dev/null
is "tasks that run have a line each, and those that wait one" \
    "$(user jobs --state Running,Held,Pending --no-headers \
        -o id,state,node,reason | sed 's/^ *//; s/ *$//; s/  */ /g')" \
    "${id}_1 Running n1
${id}_2 Running n1
${id}_3 Running n1
${id}_4 Held held"
like "why a task is held is told" "$(user why "${id}_4")" \
    "Held; 'kctl release ${id}_4' lets it start"
like "one that has not begun has no output" "$(user logs "${id}_4" 2>&1)" \
    'has not been started'
like "one that runs shows where" "$(user why "${id}_2")" \
    "^Task ${id}_2 .*: Running on n1"
says() { [ "$(user logs "$1")" = "$2" ]; }
ok "and what it has written" wait_for 10 says "${id}_2" begun
user release "${id}_4" >/dev/null
like "why they wait is told" "$(user jobs -o id,state,reason)" \
    "${id}_4 *Pending *throttle of 3 tasks"
like "an object is one row for others" "$(user get jobs)" "^${id}_4 "
like "what is for whole jobs refuses a task" \
    "$(user delete job "${id}_2" 2>&1)" 'this is for whole jobs'
like "a task that it does not have is refused" \
    "$(user cancel "${id}_77" 2>&1)" 'no such task; it has 1-4'
like "of several, it is told which it does not have" \
    "$(user hold "${id}_[4,77]" 2>&1)" 'goes on; the array has no task 77$'
like "and a task of what is no array" \
    "$(user cancel "$(submit --wrap true)_1" 2>&1)" 'is no job array'
user cancel "$id" >/dev/null
ok "the whole of it is cancelled" wait_for 30 state_is "$id" Cancelled
finish
