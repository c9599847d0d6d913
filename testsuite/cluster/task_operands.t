#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every verb of kctl that takes a job is called with a task of an array and
# with a range of tasks: it answers, or names the command to use instead.

# shellcheck disable=SC2086,SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:2 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
user() { as kilntest1 kctl "$@"; }

mkdir -m 0777 "$cluster/flags"

# Task 1 completes, tasks 2 and 3 run, the others wait.
# shellcheck disable=SC2016 # for the job
a=$(as kilntest1 ksub --parsable -a 1-9 -o "$cluster/flags/out.%a" \
    --wrap 'echo here; test $KILN_ARRAY_TASK_ID = 1 || exec sleep 1000')
are_running() {
    [ "$(root get job "job-$a" -o json | jq -r '.status | "\(.succeeded) \(.ready)"')" = "1 2" ]
}
wait_for 20 are_running || bail_out "the tasks do not run"

# --- each verb that takes a job -----------------------------------------------
# Adds the further operands that a verb needs. A new verb whose usage names a
# job is called without further operands.

extra() {
    case $1 in
    priority) echo "low $2" ;;
    update) echo "$2 time=1:00" ;;
    label | annotate) echo "job $2 a=b" ;;
    describe | delete) echo "job $2" ;;
    get) echo "job $2" ;;
    wait) echo "--timeout 1s $2" ;;
    top) echo "jobs $2" ;;
    exec) echo "$2 -- echo there" ;;
    history | efficiency) echo "$2" ;;
    *) echo "$2" ;;
    esac
}
verbs=$(user --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p')
taking=
for verb in $verbs; do
    case $verb in
    reserve | reservations | create | apply | replace | explain | drain) continue ;;
    esac
    user "$verb" --help 2>&1 | sed -n '1,4p' | grep -qE 'JOB|TYPE NAME|\[NAME\]' && taking="$taking $verb"
done
like "the help of kctl names the verbs that take jobs" "$taking" \
    " get .*describe.* why .*logs.* wait .*cancel.*hold.*release.*requeue.*update"

# An answer is wrong if kctl is killed by a signal, prints nothing, or fails
# without naming a command.
asked() {
    # shellcheck disable=SC2046 # several words, or none
    user "$1" $(extra "$1" "$2") >"$cluster/said" 2>&1 </dev/null
    code=$?
    [ -s "$cluster/said" ] || return 1
    [ $code -lt 125 ] || return 1 # 124: the time is up
    [ $code -eq 0 ] ||
        grep -qE "kctl [a-z]+|'(cancel|hold|get)'|ksub|only its number|only the number|have not all ended|name of one object|$a" \
            "$cluster/said"
}
for verb in $taking; do
    case $verb in cancel | requeue) continue ;; esac # these end the tasks
    case $verb in attach) continue ;; esac           # follows the output of a task that runs
    for tasks in "${a}_2" "${a}_[2-3]"; do
        asked "$verb" "$tasks" || sed "s/^/# $verb $tasks: /" "$cluster/said"
        ok "$verb $tasks: it answers or names another command" \
            asked "$verb" "$tasks"
    done
done

# --- answers of some verbs ----------------------------------------------------

like "kctl exec runs a program in a task" "$(user exec "${a}_2" -- echo there 2>&1)" '^there$'
like "kctl attach shows the output of a task that has ended, and ends" \
    "$(user attach "${a}_1" 2>&1)" '^here$'
like "it follows one task only" "$(user attach "${a}_[2-3]" 2>&1 | head -1)" 'one task|kctl logs'
user release "$a" "${a}_[1-9]" >"$cluster/said" 2>&1
user get job "${a}_[1-4]" >"$cluster/said"
like "kctl get shows tasks with and without pods" \
    "$(tr -s ' ' <"$cluster/said" | tr '\n' ';')" \
    "^ID STATE .*${a}_1 Completed 1 n1 .* 0;.*${a}_2 Running 1 n1 .*${a}_4 Pending"
is "kctl get prints tasks as JSON" \
    "$(user get "${a}_1" -o json | jq -r '.items[] | "\(.task) \(.state) \(.exitCode)"')" \
    "1 Completed 0"
like "kctl get pods shows the pod of a task" \
    "$(user get pods "${a}_2" --no-headers)" "^job-$a-1 "
like "for a task without a pod it names another command" \
    "$(user get pods "${a}_1" 2>&1)" \
    "has no pod.*kctl get job ${a}_1"
like "for a task that does not exist it names another command" \
    "$(user get job "${a}_77" 2>&1)" "none of these tasks.*kctl describe job $a"
like "kctl describe describes a task that has ended, and not its array" \
    "$(user describe job "${a}_1" | tr -s ' ' | tr '\n' ';')" \
    "^Task: ${a}_1;Index: 0;State: Completed;Attempt: 1;Node: n1;Started: .*;Exit code: 0;.*Array: job/job-$a .*Events:"
unlike "it shows none of the array's own fields" \
    "$(user describe job "${a}_1")" 'Completions'
like "kctl describe describes a task that waits" \
    "$(user describe "${a}_4" | tr -s ' ' | tr '\n' ';')" \
    "^Task: ${a}_4;Index: 3;State: Pending;.*(Array: job/job-$a |Name: job-$a-3;)"
like "for a running task it describes the pod" \
    "$(user describe job "${a}_2" | tr -s ' ' | tr '\n' ';')" \
    "^Task: ${a}_2;Index: 1;State: Running;.*;Name: job-$a-1;.*Execution:"
ok "kctl wait returns for a task that has ended" \
    user wait --for condition=Complete "${a}_1"
like "kctl wait gives up for a running task after its timeout" \
    "$(user wait --timeout 1s "${a}_2" 2>&1)" \
    "have not all ended"
like "kctl delete refuses tasks and names kctl cancel" \
    "$(user delete job "${a}_[2-3]" 2>&1)" "use 'kctl cancel' for tasks"
user cancel "${a}_[2-9]" >/dev/null
like "kctl wait waits for the end of a range" \
    "$(user wait --timeout 60s "${a}_[1-9]" | tr '\n' ' ')" \
    "task ${a}_1 Completed task ${a}_2 Cancelled .*task ${a}_9 Cancelled"
ok "kctl wait --for condition=Complete fails if tasks were cancelled" \
    sh -c '! "$@"' - as kilntest1 kctl wait --for condition=Complete "${a}_[1-9]"
finish
