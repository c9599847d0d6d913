#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kctl suspend and resume: a job that runs stands still with its memory and
# cores, on nodes with a freezer and without, and its time limit with it, whoever
# is killed in between; only operators do so, and one that is cancelled ends.

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
agent() { # which has cgroups, where this machine has any
    cluster_agent n1 --topology 'package:1 core:4 pu:1' \
        --cgroup-base "/kiln-suspend-$$"
}
plain_agent() { # which sees none
    directory "$cluster/n2" 711
    start n2 unshare --mount sh -c 'umount -a -t cgroup,cgroup2
        exec kiln-agent "$@"' agent --controller "$cluster_url" --cluster test \
        --service-user "$(id -un)" --munge-socket "$munge_socket" \
        --node-name n2 --state-dir "$cluster/n2/state" \
        --run-dir "$cluster/n2/run" --shepherd "$cluster/bin/kiln-shepherd" \
        --topology 'package:1 core:4 pu:1'
}
v1_agent() { # which sees the hierarchies of version 1 alone
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
job() { root get job "$1" -o json | jq -r "$2"; }
pod() { root get pod "job-$1-0" -o json | jq -r "$2"; }
state_is() { [ "$(job "$1" .status.state)" = "$2" ]; }
frozen() { pod "$1" '.status.conditions[] | select(.type == "Frozen") | .status'; }
frozen_is() { [ "$(frozen "$1")" = "$2" ]; }
count() { # ID: what its loop has counted
    wc -c <"$cluster/home/kilntest1/count.$1"
}
grows() { # ID
    grown_from=$(count "$1")
    wait_for 10 has_grown "$1"
}
has_grown() { [ "$(count "$1")" -gt "$grown_from" ]; }
# It stood still for seven seconds and more, and its limit was six.
history_is_right() { # ID
    root history --all --job "$1" -o json | jq -e \
        '.items[0].frozenMicroseconds > 6500000' >/dev/null \
        && root history --all --job "$1" -o elapsed | grep -q '00:00:0[0-9]'
}
# A loop of two processes, so that one alone that stands still shows.
submit() {
    as kilntest1 ksub --parsable -o /dev/null "$@" --wrap '
        (while :; do printf x >>count.$KILN_JOB_ID; sleep 0.02; done) &
        trap "echo warned >>warned.$KILN_JOB_ID" USR2
        while :; do printf x >>count.$KILN_JOB_ID; sleep 0.02; done'
}
stands_still() { # ID: over some of its steps
    still=$(count "$1")
    sleep 0.3
    [ "$(count "$1")" -eq "$still" ]
}

one=$(submit -w n1 -c 3 -t 30)
two=$(submit -w n2)
ok "a job runs where there is a freezer" wait_for 20 state_is "$one" Running
ok "and one where there is none" wait_for 20 state_is "$two" Running
ok "both count" eval 'grows $one && grows $two'

# --- whose it is to say ---------------------------------------------------------
like "a user suspends no job, not their own either" \
    "$(k1 suspend "$one" 2>&1)" \
    'suspended and resumed by operators and administrators'
like "nor by the API" "$(api kilntest1 PATCH "$jobs/job-$one" \
    '{"metadata":{"annotations":{"kiln.hpc/freeze":"x"}}}' $merge)" '^403 .*Freeze'
like "nor their pod" "$(api kilntest1 PATCH "$pods/job-$one-0" \
    '{"metadata":{"annotations":{"kiln.hpc/freeze":"x"}}}' $merge)" '^403 '

# --- it stands still --------------------------------------------------------------
is "an operator does" "$(operator suspend "$one")" "job/$one suspended"
is "twice is said" "$(operator suspend "$one")" "job/$one is suspended already"
operator suspend "$two" >/dev/null
for id in $one $two; do
    ok "$id: its node says that it does" wait_for 20 frozen_is "$id" True
    ok "and it does" stands_still "$id"
    ok "the job is Frozen" wait_for 20 state_is "$id" Frozen
    like "with a reason" "$(k1 jobs -o id,state,reason --no-headers | grep "^ *$id ")" \
        'Frozen +suspended by operator kilntest2'
done
is "who asked is known" "$(job "$one" '.metadata.annotations["kiln.hpc/freeze"]')" \
    kilntest2
is "by Slurm's word, too" "$(root jobs --all --state S -o id --no-headers |
    tr -d ' ' | sort | tr '\n' ' ')" "$one $two "
like "why says so" "$(k1 why "$one")" 'suspended by operator kilntest2'
other=$(submit -w n1 -c 2)
ok "its cores stay its own" wait_for 20 eval \
    '[ "$(pod "$other" .status.cause.code)" = Resources ]'
root cancel "$other" >/dev/null
like "its owner does not resume it" "$(k1 resume "$one" 2>&1)" \
    'by operators and administrators'
like "nor release it" "$(k1 release "$one" 2>&1)" 'an operator resumes it'
like "nor by the API" "$(api kilntest1 PATCH "$jobs/job-$one" \
    '{"metadata":{"annotations":{"kiln.hpc/freeze":null}}}' $merge)" \
    '^403 .*Freeze'

pkill -CONT -u kilntest1
ok "woken by its user where there is no freezer, it is stopped again" \
    wait_for 10 stands_still "$two"

# --- the agent and the controller are killed ---------------------------------------
stop n1 KILL
stop n2 KILL
stop controller KILL
ok "without anybody it stands still" stands_still "$one"
controller
operator resume "$two" >/dev/null
agent
plain_agent
ok "resumed while no agent was there it goes on" wait_for 30 frozen_is "$two" False
ok "and counts" grows "$two"
ok "the other stays" wait_for 20 frozen_is "$one" True
ok "as still as it was" stands_still "$one"

# --- it goes on ------------------------------------------------------------------
is "resumed" "$(operator resume "$one")" "job/$one resumed"
is "twice is said" "$(operator resume "$one")" "job/$one is not suspended"
ok "it goes on" wait_for 20 state_is "$one" Running
ok "and counts" grows "$one"
ok "how long it stood is kept" eval \
    '[ "$(pod "$one" .status.frozenMicroseconds)" -gt 100000 ]'
for _ in 1 2 3 4 5; do
    operator suspend "$one" >/dev/null
    operator resume "$one" >/dev/null
done
ok "suspended and resumed at once it runs" grows "$one"
not_ok "and is not marked" eval \
    'pod "$one" ".metadata.annotations[\"kiln.hpc/freeze\"]" | grep -v null'

# --- its limit -------------------------------------------------------------------
# Suspended before its limit and resumed after that would have been.
late=$(submit -w n1 -t 0:06 --signal USR2@2)
ok "a short job runs" wait_for 20 state_is "$late" Running
operator suspend "$late" >/dev/null
ok "and stands still" wait_for 20 frozen_is "$late" True
stop n1 KILL
agent
sleep 7
ok "its limit does not come while it does" frozen_is "$late" True
not_ok "nor its warning" test -e "$cluster/home/kilntest1/warned.$late"
operator resume "$late" >/dev/null
ok "once it goes on it is warned" wait_for 20 \
    test -e "$cluster/home/kilntest1/warned.$late"
ok "and ended at its limit" wait_for 40 state_is "$late" TimedOut

# --- the end ---------------------------------------------------------------------
for id in $one $two; do
    operator suspend "$id" >/dev/null
    ok "$id stands still again" wait_for 20 frozen_is "$id" True
    k1 cancel "$id" >/dev/null
    ok "and ends when it is cancelled" wait_for 20 state_is "$id" Cancelled
done
ok "history leaves out what it stood still" wait_for 20 history_is_right "$late"
is "what has ended is not suspended" "$(operator suspend "$one")" \
    "job/$one has ended already"
held=$(submit -H)
is "nor what does not run" "$(operator suspend "$held")" \
    "job/$held does not run; 'kctl hold' keeps it from starting"

# --- its pod is lost ------------------------------------------------------------
three=$(submit -w n1)
ok "another runs" wait_for 20 state_is "$three" Running
operator suspend "$three" >/dev/null
ok "and stands still" wait_for 20 frozen_is "$three" True
root requeue "$three" >/dev/null
ok "requeued it waits until it is resumed" wait_for 20 state_is "$three" Held
like "which why tells" "$(k1 why "$three")" 'held by operator kilntest2'
operator resume "$three" >/dev/null
ok "then it runs" wait_for 20 state_is "$three" Running

# --- the freezer of cgroup v1 -------------------------------------------------------
freezer=/sys/fs/cgroup/freezer/kiln-suspend-$$-v1
if [ -d "$freezer" ]; then
    first=$(submit -w n3 --requeue)
    freezer_says() { # STATE: of some cgroup there
        find "$freezer" -name freezer.state -exec cat {} + | grep -qx "$1"
    }
    ok "a job runs on a node that has version 1 alone" \
        wait_for 20 state_is "$first" Running
    ok "and counts" grows "$first"
    operator suspend "$first" >/dev/null
    ok "suspended it is Frozen" wait_for 20 state_is "$first" Frozen
    ok "it stands still" stands_still "$first"
    ok "by the freezer" freezer_says FROZEN
    pkill -CONT -u kilntest1
    ok "and no signal wakes it" stands_still "$first"
    stop n3 KILL
    v1_agent
    operator resume "$first" >/dev/null
    ok "another agent has it go on" wait_for 30 state_is "$first" Running
    ok "and it counts" grows "$first"
    operator suspend "$first" >/dev/null
    ok "it stands still again" wait_for 20 state_is "$first" Frozen
    k1 cancel "$first" >/dev/null
    ok "and ends when it is cancelled" wait_for 20 state_is "$first" Cancelled
    not_ok "nothing of it stays frozen" freezer_says FROZEN
fi

# --- an agent of a former release -----------------------------------------------
api root PATCH /api/v1/nodes/n1/status '{"status":{"agentFeatures":null}}' \
    $merge >/dev/null
like "one whose agent cannot is not, and the node is named" \
    "$(operator suspend "$three" 2>&1)" 'agent of node n1 is of a former release'
finish
