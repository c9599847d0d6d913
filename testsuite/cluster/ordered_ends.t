#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job that handles SIGTERM, saves its state and exits with 0 has not completed:
# who ordered its end decides how it ended, for jobs and array tasks, in the
# table, in history and for the jobs that depend on it. A job that ended by
# itself before the order reached it has completed.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"
agent() { cluster_agent n1 --topology 'package:1 core:32 pu:1'; }
agent
cluster_agent n2 --topology 'package:1 core:2 pu:1'
for node in n1 n2; do
    wait_for 20 root wait --for condition=Ready node "$node" || bail_out "no node"
    for key in $(root get node "$node" -o json | jq -r '.spec.taints[]?.key'); do
        root taint node "$node" "$key-" >/dev/null
    done
done
root create -f - >/dev/null <<'TXT'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: urgent
  annotations: {kiln.hpc/allowed-users: kilntest2}
value: 1000
TXT
for partition in again:Requeue ends:Cancel; do
    printf '{apiVersion: kiln.hpc/v1, kind: Partition, metadata: {name: %s},
        spec: {preemptionMode: %s}}' "${partition%:*}" "${partition#*:}" |
        root apply -f - >/dev/null
done
home=$cluster/home/kilntest1

starts() { [ -e "$home/begun.$1.${2:-1}" ]; }
# Prints the attempts in history: "1 Requeued 0" is attempt, state, exit code.
rows() {
    as kilntest1 kctl history "$1" -o json |
        jq -r '.items[] | "\(.attempt) \(.state) \(.exitCode)"' | sort | paste -sd,
}
has_rows() { [ "$(rows "$1")" = "$2" ]; }
submit() { as kilntest1 ksub --parsable -o /dev/null --time 10 "$@"; }
after() { as kilntest1 ksub --parsable -o /dev/null -d "afterok:$1" --wrap true; }
kctl1() { as kilntest1 kctl "$@" >/dev/null; }
name='n=${KILN_ARRAY_JOB_ID:-$KILN_JOB_ID}${KILN_ARRAY_TASK_ID:+_$KILN_ARRAY_TASK_ID}
    exec 2>/dev/null; i=$((KILN_RESTART_COUNT + 1))'
loops="touch begun.\$n.\$i; while :; do sleep 0.1; done"
# Saves on SIGTERM, or on SIGUSR1, and exits with 0.
saves="$name; trap 'exit 0' TERM USR1; $loops"

# --- jobs ---------------------------------------------------------------------
urgent() { as kilntest2 ksub --parsable -o /dev/null -w n2 -c 1 --priority urgent \
    --wrap 'exec sleep 1000'; }
again=$(submit --requeue -w n1 --wrap "$saves")
held=$(submit --requeue -w n1 --wrap "$saves")
kept=$(submit --requeue -w n1 -o kept.out --checkpoint-command true --wrap "
    echo try \$((KILN_RESTART_COUNT + 1))
    $saves")
cancelled=$(submit -w n1 --wrap "$saves")
deleted=$(submit -w n1 --wrap "$saves")
podless=$(submit -w n1 --wrap "$saves")
preempted=$(submit --requeue -p again -w n2 --signal B:USR1@60 --wrap "$saves")
ended=$(submit -p ends -w n2 --wrap "$saves")
array=$(submit -w n1 -a 1-3 --wrap "$saves")
whole=$(submit -w n1 -a 1-2 --wrap "$saves")
after_again=$(after "$again")
after_cancelled=$(after "$cancelled")
after_task=$(after "${array}_1")
corr=$(as kilntest1 ksub --parsable -o /dev/null -a 1-3 -d "aftercorr:$array" --wrap true)
for id in "$again" "$held" "$kept" "$cancelled" "$deleted" "$podless" "$preempted" \
    "$ended" "${array}_1" "${array}_2" "${array}_3" "${whole}_1" "${whole}_2"; do
    wait_for 20 starts "$id" || bail_out "job $id does not start"
done
kctl1 requeue "$again"
kctl1 requeue --hold "$held"
kctl1 requeue "$kept"
kctl1 cancel "$cancelled"
kctl1 delete job "$deleted"
root delete pod "job-$podless-0" >/dev/null
kctl1 cancel "${array}_1"
kctl1 requeue "${array}_2"
kctl1 cancel "$whole"
first=$(urgent)
urgent >/dev/null

ok "a requeued job starts again" wait_for 20 starts "$again" 2
ok "its first attempt is Requeued, with its exit code" \
    wait_for 10 has_rows "$again" "1 Requeued 0"
ok "a job that is requeued and held is held" wait_for 20 state_is "$held" Held
ok "its attempt is Requeued" wait_for 10 has_rows "$held" "1 Requeued 0"
ok "a job with a checkpoint command starts again" wait_for 20 starts "$kept" 2
ok "its first attempt is Requeued" wait_for 10 has_rows "$kept" "1 Requeued 0"
is "its second attempt appends to the output" "$(paste -sd, "$home/kept.out")" "try 1,try 2"
like "kctl logs -p finds the output of the first attempt" \
    "$(as kilntest1 kctl logs -p "$kept" 2>&1)" "try 1"
like "so does --attempt" "$(as kilntest1 kctl logs --attempt 1 "$kept" 2>/dev/null)" "^try 1"
like "an attempt that does not exist is still refused" \
    "$(as kilntest1 kctl logs --attempt 5 "$kept" 2>&1)" "has no attempt 5"
ok "a cancelled job is Cancelled" wait_for 20 state_is "$cancelled" Cancelled
ok "history says so" wait_for 10 has_rows "$cancelled" "1 Cancelled 0"
ok "a deleted job is Cancelled in history" wait_for 10 has_rows "$deleted" "1 Cancelled 0"
ok "a job whose pod is deleted is Cancelled" wait_for 20 state_is "$podless" Cancelled
ok "history says so" wait_for 10 has_rows "$podless" "1 Cancelled 0"
like "kctl why says so" "$(as kilntest1 kctl why "$podless")" "its pod was deleted"
ok "the preempting jobs run" wait_for 20 state_is "$first" Running
ok "a job that saves on its own signal and is preempted is Requeued" \
    wait_for 20 state_is "$preempted" Requeued
ok "its attempt is Preempted" wait_for 10 has_rows "$preempted" "1 Preempted 0"
ok "a job of a partition with mode Cancel is Preempted" wait_for 20 state_is "$ended" Preempted
ok "history says so" wait_for 10 has_rows "$ended" "1 Preempted 0"
ok "the job that depends on a cancelled job never runs" \
    wait_for 20 state_is "$after_cancelled" Cancelled
is "the job that depends on the requeued job waits" "$(job "$after_again" '.status.state // "Pending"')" Pending

# --- array tasks --------------------------------------------------------------
ok "a cancelled task is Cancelled in history" wait_for 10 has_rows "${array}_1" "1 Cancelled 0"
is "the array counts no task as completed" "$(job "$array" '.status.succeeded // 0')" 0
ok "a requeued task starts again" wait_for 20 starts "${array}_2" 2
ok "its first attempt is Requeued" wait_for 10 has_rows "${array}_2" "1 Requeued 0"
ok "an array that is cancelled as a whole is Cancelled" wait_for 20 state_is "$whole" Cancelled
ok "history says so of each task" wait_for 10 has_rows "$whole" "1 Cancelled 0,1 Cancelled 0"
ok "the job that depends on the cancelled task never runs" \
    wait_for 20 state_is "$after_task" Cancelled
kctl1 cancel "$array"
ok "no task runs by aftercorr" wait_for 20 state_is "$corr" Cancelled
is "its tasks had no attempt" "$(job "$corr" '.status.succeeded // 0')" 0

# --- fail-fast ----------------------------------------------------------------
# The first failure is the job's, however the others end. Some of them are ended
# before they have started.
for others in 'exec sleep 1000' "trap 'exit 0' TERM; while :; do sleep 0.1; done"; do
    status=0
    as kilntest1 ksub --parsable --wait -w n1 -o /dev/null -a 0-7 --array-fail-fast --wrap "
        [ \$KILN_ARRAY_TASK_ID != 3 ] || exit 7
        $others" >"$cluster/id" 2>"$cluster/said" || status=$?
    is "ksub --wait exits with the code of the first failure" "$status" 7
    like "it says so" "$(cat "$cluster/said")" "Failed on n1, exit code 7\$"
    fast=$(head -n 1 "$cluster/id")
    like "kctl why says so" "$(as kilntest1 kctl why "$fast" 2>&1)" "Failed, .*NonZeroExitCode"
    task_ends() { as kilntest1 kctl history "$fast" -o json |
        jq -r '[.items[].state] | sort | unique | join(" ")'; }
    ends_are() { [ "$(task_ends)" = "$1" ]; }
    ok "the others are Cancelled" wait_for 10 ends_are "Cancelled Failed"
    unlike "no reason is unknown to kiln-reasons(7)" \
        "$(as kilntest1 kctl history "$fast" -o csv=state,reason,message)" "CalledOff|Other"
done

# --- the order and the job's own end ------------------------------------------
own=$(submit --requeue -w n1 --wrap "$name; echo \$\$ >own.pid; touch begun.\$n.\$i
    until [ -e go ]; do sleep 0.1; done; exit 0")
slow=$(submit --requeue -w n1 --wrap "$name; trap 'touch told; sleep 1; exit 0' TERM; $loops")
# Cancelled while their agent is away, in which time the first two end by themselves.
good=$(submit --requeue -w n1 --wrap "$name; touch begun.\$n.\$i; until [ -e go ]; do sleep 0.1; done")
bad=$(submit -w n1 --wrap "$name; touch begun.\$n.\$i; until [ -e go ]; do sleep 0.1; done; exit 3")
both=$(submit -w n1 -a 0-1 --wrap "$name; touch begun.\$n.\$i; until [ -e go ]; do sleep 0.1; done
    exit \$((KILN_ARRAY_TASK_ID * 4))")
long=$(submit -w n1 --wrap "$name; $loops")
follows=$(after "$good")
for id in "$own" "$slow" "$good" "$bad" "${both}_0" "${both}_1" "$long"; do
    wait_for 20 starts "$id"
done
wait_for 20 state_is "$own" Running
kctl1 requeue "$slow"
wait_for 20 test -e "$home/told"
stop n1 KILL
kctl1 requeue "$own"
kctl1 cancel "$good" "$bad" "$both" "$long"
ends() { as kilntest1 kctl jobs "$1" -o state,reason --no-headers | grep -q "Ending .*[Cc]ancelled by kilntest1"; }
ok "a job that was cancelled while its agent is away is Ending, and says by whom" wait_for 10 ends "$long"
stop controller KILL
as kilntest1 touch "$home/go"
over() {
    has_ended "$(cat "$home/own.pid")" && ! pgrep -u kilntest1 -f "begun.*until .*/go\|until \[ -e go" >/dev/null
}
wait_for 20 over
cluster_controller --socket "$cluster/socket"
agent
ok "a job that ended before the order reached it is Completed" \
    wait_for 20 state_is "$own" Completed
ok "history says so" wait_for 10 has_rows "$own" "1 Completed 0"
ok "a job that was told before the agent and the controller were killed is Requeued" \
    wait_for 20 has_rows "$slow" "1 Requeued 0"
ok "it starts again" wait_for 20 starts "$slow" 2
# Prints the states in the table, the Job and history, and who ended the job.
said() {
    printf '%s %s ' "$(as kilntest1 kctl jobs "$1" -o state --no-headers | tr -d ' ')" \
        "$(job "$1" '"\(.status.state) \(.status.cancelledBy)"')"
    as kilntest1 kctl history "$1" -o json |
        jq -r '[.items[] | "\(.state) \(.exitCode) \(.endedBy)"] | sort | join(",")'
}
says() { [ "$(said "$1")" = "$2" ] || { said "$1" >"$cluster/said.$1"; false; }; }
ok "a job that completed before it was cancelled is Completed everywhere" \
    wait_for 20 says "$good" "Completed Completed null Completed 0 null"
ok "the job that waits for it runs" wait_for 20 state_is "$follows" Completed
ok "one that failed before is Failed everywhere" \
    wait_for 20 says "$bad" "Failed Failed null Failed 3 null"
ok "an array whose tasks all ended before has failed as they did" \
    wait_for 20 says "$both" "Failed Failed null Completed 0 null,Failed 4 null"
ok "one that was still running is Cancelled everywhere" \
    wait_for 20 says "$long" "Cancelled Cancelled kilntest1 Cancelled 143 kilntest1"

# --- a job that ignores the end of its time ------------------------------------
deaf=$(as kilntest1 ksub --parsable -o /dev/null -w n1 --time 0:01 --wrap "
    trap '' TERM; while :; do sleep 0.1; done")
task=$(as kilntest1 ksub --parsable -o /dev/null -w n1 --time 0:01 -a 1 --wrap "
    trap '' TERM; while :; do sleep 0.1; done")
ids_of() { as kilntest1 kctl jobs --state "$1" -o json |
    jq -r --argjson id "$deaf" '.items[].status.id | select(. == $id)'; }
is_ending() { as kilntest1 kctl jobs "$1" --no-headers | grep -q ' Ending .*over its time limit'; }
ok "a job over its limit that ignores SIGTERM is Ending" wait_for 15 state_is "$deaf" Ending
ok "the table says so" wait_for 5 is_ending "$deaf"
is "kctl jobs --state Ending finds it" "$(ids_of Ending)" "$deaf"
is "kctl jobs --state Running does not" "$(ids_of Running)" ""
like "kctl why says so" "$(as kilntest1 kctl why "$deaf")" 'Ending.*over its time limit'
like "kctl show says so" "$(as kilntest1 kctl show "$deaf")" 'State: *Ending'
ok "a task of an array is Ending, too" wait_for 15 is_ending "$task"
like "kctl show says so of the task" "$(as kilntest1 kctl show "${task}_1")" 'State: *Ending'
like "so does kctl why" "$(as kilntest1 kctl why "${task}_1")" 'Ending on n1, over its time limit'
stop n1 KILL
stop controller KILL
cluster_controller --socket "$cluster/socket"
agent
wait_for 20 root wait --for condition=Ready node n1
is "it is Ending after a restart of the controller and the agent" "$(ids_of Ending)" "$deaf"
root delete pod "job-$task-1-0" --grace-period 0 >/dev/null 2>&1
root delete pod "job-$deaf-0" --grace-period 0 >/dev/null 2>&1

# --- by their state -----------------------------------------------------------
# The state of a Job is written up to a second after its pods have changed.
fresh=
for _ in 1 2 3; do
    fresh="$fresh $(submit --requeue -w n1 --wrap "$saves")"
done
waiting=$(submit --hold --wrap true)
for id in $fresh; do wait_for 20 starts "$id"; done
kctl1 cancel --state Pending,Held --yes
like "kctl cancel --state Pending ends no job that runs" \
    "$(root get pods -o json | jq -r --arg jobs "$fresh" '[.items[] | select(.metadata.labels
        ["job-name"] | IN($jobs | split(" ")[] | "job-" + .)) | .metadata.deletionTimestamp] |
        map(. // "lives") | join(" ")')" '^lives lives lives$'
ok "it ends those that wait" wait_for 10 state_is "$waiting" Cancelled

# --- the output of a job that never starts ------------------------------------
never=$(submit --hold --wrap true)
as kilntest1 timeout 30 kctl logs -f "$never" >"$cluster/followed" 2>&1 &
follower=$!
sleep 0.5
kctl1 cancel "$never"
status=0
wait "$follower" || status=$?
is "kctl logs -f of a job that ends before it starts ends" "$status" 66
like "it says why" "$(cat "$cluster/followed")" \
    "job $never has ended without having started; 'kctl why' says more"

# --- the deadline of a Job --------------------------------------------------------
# The agent is away when jobs end by themselves, and when their deadline passes.
limited() { # NAME COMMAND
    printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"%s"},"spec":{
        "backoffLimit":0,"activeDeadlineSeconds":8,"podReplacementPolicy":"Failed","template":{"spec":{"restartPolicy":"Never",
        "containers":[{"name":"main","image":"host","workingDir":"%s",
        "command":["/bin/sh","-c","touch begun.%s.1; %s"]}]}}}}' "$1" "$home" "$1" "$2" |
        as kilntest1 kctl create -f - >/dev/null
}
limited well 'sleep 2'
limited badly 'sleep 2; exit 3'
limited told "trap 'exit 0' TERM; while :; do sleep 0.1; done"
for name in well badly told; do wait_for 20 starts "$name" || note "$name has not begun"; done
signal n1 STOP
is_told() { root get pod "$1-0" -o json | jq -e '.metadata.deletionTimestamp'; }
ok "jobs are told to end at their deadline" wait_for 30 is_told told
wait_for 10 is_told well
why_failed() { [ "$(root get job "$1" -o json | jq -r '.status.conditions[]? |
    select(.type == "Failed") | .reason')" = "$2" ]; }
signal n1 CONT
ok "one that had completed before is Completed" wait_for 30 state_is well Completed
ok "one that had failed before has failed so" wait_for 30 why_failed badly BackoffLimitExceeded
ok "one that ended as it was told has not completed" wait_for 30 why_failed told DeadlineExceeded
is "kctl wait knows the code of one that had failed" \
    "$(as kilntest1 kctl wait badly >/dev/null 2>&1; echo $?)" 3

# --- a node that is drained ---------------------------------------------------
root drain n1 --evict >/dev/null 2>&1
ok "a job that is evicted waits to run again" wait_for 20 state_is "$again" Requeued
ok "its attempt is Preempted" wait_for 10 has_rows "$again" "1 Requeued 0,2 Preempted 0"
like "a report counts as completed the five that ended by themselves, and none that was ended" \
    "$(as kilntest1 kctl report -o json | jq -r '[.[].completed] | add')" '^5$'

finish
