#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kctl suspend and resume: a running job is frozen with its memory and cores,
# on nodes with and without a freezer, and its time limit is stopped, too, even
# if daemons are killed meanwhile. Only operators can do it, and a suspended
# job that is cancelled ends.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl unshare
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
controller() {
    cluster_controller --socket "$cluster/socket" --operators kilntest2
}
agent() { # with cgroups, if this machine has any
    cluster_agent n1 --topology 'package:1 core:4 pu:1' \
        --cgroup-base "/kiln-suspend-$$"
}
plain_agent() { # that sees no cgroups
    directory "$cluster/n2" 711
    start n2 unshare --mount sh -c 'umount -a -t cgroup,cgroup2
        exec kiln-agent "$@"' agent --controller "$cluster_url" --cluster test \
        --service-user "$(id -un)" --munge-socket "$munge_socket" \
        --node-name n2 --state-dir "$cluster/n2/state" \
        --run-dir "$cluster/n2/run" --shepherd "$cluster/bin/kiln-shepherd" \
        --topology 'package:1 core:4 pu:1'
}
v1_agent() { # that sees only cgroups of version 1
    directory "$cluster/n3" 711
    start n3 unshare --mount sh -c 'umount -a -t cgroup2
        exec kiln-agent "$@"' agent --controller "$cluster_url" --cluster test \
        --service-user "$(id -un)" --munge-socket "$munge_socket" \
        --node-name n3 --state-dir "$cluster/n3/state" \
        --run-dir "$cluster/n3/run" --shepherd "$cluster/bin/kiln-shepherd" \
        --topology 'package:1 core:4 pu:1' --cgroup-base "/kiln-suspend-$$-v1"
}
controller
agent
plain_agent
v1_agent
wait_for 20 root wait --for condition=Ready node n1 n2 n3 || bail_out "no nodes"
for node in n1 n2 n3; do
    for key in $(root get node $node -o json | jq -r '.spec.taints[]?.key'); do
        root taint node $node "$key-" >/dev/null
    done
done

k1() { as kilntest1 kctl "$@" </dev/null; }
operator() { as kilntest2 kctl "$@" </dev/null; }
pod() { root get pod "job-$1-0" -o json | jq -r "$2"; }
frozen() { pod "$1" '.status.conditions[] | select(.type == "Frozen") | .status'; }
frozen_is() { [ "$(frozen "$1")" = "$2" ]; }
count() { # ID: prints how often its loops have counted
    wc -c <"$cluster/home/kilntest1/count.$1"
}
grows() { # ID
    grown_from=$(count "$1")
    wait_for 10 has_grown "$1"
}
has_grown() { [ "$(count "$1")" -gt "$grown_from" ]; }
# The job was frozen for more than seven seconds, and its time limit is six.
history_is_right() { # ID
    root history --all --job "$1" -o json | jq -e \
        '.items[0].frozenMicroseconds > 6500000' >/dev/null \
        && root history --all --job "$1" -o elapsed | grep -q '00:00:0[0-9]'
}
# A job with two processes that count, so that one that is not frozen is
# noticed.
submit() {
    as kilntest1 ksub --parsable -o /dev/null "$@" --wrap '
        (while :; do printf x >>count.$KILN_JOB_ID; sleep 0.05; done) &
        trap "echo warned >>warned.$KILN_JOB_ID" USR2
        while :; do printf x >>count.$KILN_JOB_ID; sleep 0.05; done'
}
stands_still() { # ID: for the time of several counts
    still=$(count "$1")
    sleep 0.3
    [ "$(count "$1")" -eq "$still" ]
}

one=$(submit -w n1 -c 3 -t 30)
two=$(submit -w n2)
ok "a job runs on a node with a freezer" wait_for 20 state_is "$one" Running
ok "a job runs on a node without a freezer" wait_for 20 state_is "$two" Running
ok "both jobs count" eval 'grows $one && grows $two'

# --- who may suspend ----------------------------------------------------------
like "a user cannot suspend a job, not even an own one" \
    "$(k1 suspend "$one" 2>&1)" \
    'only operators and administrators suspend and resume jobs'
like "a user cannot do it through the API" \
    "$(api kilntest1 PATCH "$jobs/job-$one" \
    '{"metadata":{"annotations":{"kiln.hpc/freeze":"x"}}}' $merge)" '^403 .*Freeze'
like "a user cannot do it to the pod" \
    "$(api kilntest1 PATCH "$pods/job-$one-0" \
    '{"metadata":{"annotations":{"kiln.hpc/freeze":"x"}}}' $merge)" '^403 '

# --- a suspended job ----------------------------------------------------------
is "an operator can suspend a job" \
    "$(operator suspend "$one")" "job/$one suspended"
is "suspending it again says so" \
    "$(operator suspend "$one")" "job/$one is suspended already"
operator suspend "$two" >/dev/null
for id in $one $two; do
    ok "$id: its node reports that it is frozen" \
        wait_for 20 frozen_is "$id" True
    ok "$id: it does not count" stands_still "$id"
    ok "$id: the job's state is Frozen" wait_for 20 state_is "$id" Frozen
    like "$id: the table has the reason" \
        "$(k1 jobs -o id,state,reason --no-headers | grep "^ *$id ")" \
        'Frozen +suspended by operator kilntest2'
done
is "the job says who suspended it" \
    "$(job "$one" '.metadata.annotations["kiln.hpc/freeze"]')" \
    kilntest2
is "Slurm's code S selects suspended jobs" \
    "$(root jobs --all-users --state S -o id --no-headers |
    tr -d ' ' | sort | tr '\n' ' ')" "$one $two "
like "kctl why says who suspended it" \
    "$(k1 why "$one")" 'suspended by operator kilntest2'
other=$(submit -w n1 -c 2)
ok "the cores of a suspended job are not given to others" wait_for 20 eval \
    '[ "$(pod "$other" .status.cause.code)" = Resources ]'
root cancel "$other" >/dev/null
like "its owner cannot resume it" "$(k1 resume "$one" 2>&1)" \
    'only operators and administrators'
like "its owner cannot release it" \
    "$(k1 release "$one" 2>&1)" 'an operator resumes it'
like "its owner cannot resume it through the API" \
    "$(api kilntest1 PATCH "$jobs/job-$one" \
    '{"metadata":{"annotations":{"kiln.hpc/freeze":null}}}' $merge)" \
    '^403 .*Freeze'

pkill -CONT -u kilntest1
ok "without a freezer, a job that its user continues with SIGCONT is stopped again" \
    wait_for 10 stands_still "$two"

# --- the agent and the controller are killed ----------------------------------
stop n1 KILL
stop n2 KILL
stop controller KILL
ok "a job stays frozen without daemons" stands_still "$one"
controller
operator resume "$two" >/dev/null
agent
plain_agent
ok "a job that was resumed while no agent ran continues" \
    wait_for 30 frozen_is "$two" False
ok "that job counts" grows "$two"
ok "the other job is still frozen" wait_for 20 frozen_is "$one" True
ok "it does not count" stands_still "$one"

# --- resume -------------------------------------------------------------------
is "an operator can resume a job" "$(operator resume "$one")" "job/$one resumed"
is "resuming it again says that it is not suspended" \
    "$(operator resume "$one")" "job/$one is not suspended"
ok "the job is Running" wait_for 20 state_is "$one" Running
ok "it counts" grows "$one"
ok "its pod has the time for which it was frozen" eval \
    '[ "$(pod "$one" .status.frozenMicroseconds)" -gt 100000 ]'
for _ in 1 2 3 4 5; do
    operator suspend "$one" >/dev/null
    operator resume "$one" >/dev/null
done
ok "a job that is suspended and resumed at once counts" grows "$one"
not_ok "it has no annotation left" eval \
    'pod "$one" ".metadata.annotations[\"kiln.hpc/freeze\"]" | grep -v null'

# --- the time limit -----------------------------------------------------------
# The job is suspended before its time limit and resumed after the time at
# which it would have ended.
late=$(submit -w n1 -t 0:06 --signal B:USR2@2)
ok "a job with a short time limit runs" wait_for 20 state_is "$late" Running
operator suspend "$late" >/dev/null
ok "it is frozen" wait_for 20 frozen_is "$late" True
stop n1 KILL
agent
sleep 7
ok "it is not ended while it is frozen" frozen_is "$late" True
not_ok "it does not get the warning signal while it is frozen" \
    test -e "$cluster/home/kilntest1/warned.$late"
operator resume "$late" >/dev/null
ok "it gets the signal after it has been resumed" wait_for 20 \
    test -e "$cluster/home/kilntest1/warned.$late"
ok "it is ended at its time limit" wait_for 40 state_is "$late" TimedOut

# --- the end of suspended jobs ------------------------------------------------
for id in $one $two; do
    operator suspend "$id" >/dev/null
    ok "$id is frozen again" wait_for 20 frozen_is "$id" True
    k1 cancel "$id" >/dev/null
    ok "$id ends when it is cancelled" wait_for 20 state_is "$id" Cancelled
done
ok "history does not count the frozen time" wait_for 20 history_is_right "$late"
is "a job that has ended cannot be suspended" "$(operator suspend "$one")" \
    "job/$one has ended already"
held=$(submit -H)
is "a job that does not run cannot be suspended" "$(operator suspend "$held")" \
    "job/$held does not run; 'kctl hold' keeps it from starting"

# --- a suspended job without its pod ------------------------------------------
three=$(submit -w n1)
ok "another job runs" wait_for 20 state_is "$three" Running
operator suspend "$three" >/dev/null
ok "it is frozen" wait_for 20 frozen_is "$three" True
root requeue "$three" >/dev/null
ok "a suspended job that is requeued is held" wait_for 20 state_is "$three" Held
like "kctl why says by whom" "$(k1 why "$three")" 'held by operator kilntest2'
operator resume "$three" >/dev/null
ok "it runs when it is resumed" wait_for 20 state_is "$three" Running

# --- the freezer of cgroup v1 -------------------------------------------------
freezer=/sys/fs/cgroup/freezer/kiln-suspend-$$-v1
if [ -d "$freezer" ]; then
    first=$(submit -w n3 --requeue)
    freezer_says() { # STATE: checks that some cgroup there has that state
        find "$freezer" -name freezer.state -exec cat {} + | grep -qx "$1"
    }
    ok "a job runs on a node that has only cgroup v1" \
        wait_for 20 state_is "$first" Running
    ok "it counts" grows "$first"
    operator suspend "$first" >/dev/null
    ok "it is Frozen when it is suspended" wait_for 20 state_is "$first" Frozen
    ok "it does not count" stands_still "$first"
    ok "the freezer of cgroup v1 is frozen" freezer_says FROZEN
    pkill -CONT -u kilntest1
    ok "SIGCONT does not continue it" stands_still "$first"
    stop n3 KILL
    v1_agent
    operator resume "$first" >/dev/null
    ok "the next agent continues it when it was resumed" \
        wait_for 30 state_is "$first" Running
    ok "it counts again" grows "$first"
    operator suspend "$first" >/dev/null
    ok "it is frozen again" wait_for 20 state_is "$first" Frozen
    k1 cancel "$first" >/dev/null
    ok "it ends when it is cancelled" wait_for 20 state_is "$first" Cancelled
    not_ok "no cgroup stays frozen" freezer_says FROZEN
fi

# --- an agent of a former release ---------------------------------------------
api root PATCH /api/v1/nodes/n1/status '{"status":{"agentFeatures":null}}' \
    $merge >/dev/null
like "a job whose agent cannot suspend is refused, and the message names the node" \
    "$(operator suspend "$three" 2>&1)" 'agent of node n1 is of an earlier release'
like "so is one whose agent cannot send a signal" "$(operator signal "$three" 2>&1)" \
    'agent of node n1 is of an earlier release'
finish
