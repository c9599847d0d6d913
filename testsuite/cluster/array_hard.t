#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Hard cases of job arrays: an array that is larger than its quota, an array
# whose tasks do not fit its quota, the position of an array between other
# jobs, and an agent that receives events of its elements late and twice.

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
agent() { cluster_agent n1 --topology 'package:1 core:2 pu:1' --heartbeat 300ms; }
agent
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
home=$cluster/home/kilntest1
submit() { as kilntest1 ksub --parsable -o /dev/null "$@"; }
ran() { sort -n "$home/$1" | tr '\n' ' '; }
pods() { root get pods -o json | jq '[.items[] |
    select(.status.phase == "Pending" or .status.phase == "Running")] | length'; }

# --- larger than its quota ----------------------------------------------------

root create -f - >/dev/null <<'TXT'
{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
 "spec": {"hard": {"pods": "2", "requests.cpu": "2"}}}
TXT
counted() { [ "$(root get resourcequota small -o json |
    jq -r '.status.used.pods')" = 0 ]; }
wait_for 10 counted || bail_out "no quota"
id=$(submit -a 1-9 --wrap 'echo $KILN_ARRAY_TASK_ID >>large; sleep 0.2')
most=0
ended() {
    now=$(pods)
    [ "$now" -le "$most" ] || most=$now
    state_is "$id" Completed
}
ok "an array that is larger than its quota completes" wait_for 40 ended
is "each of its tasks has run once" "$(ran large)" "1 2 3 4 5 6 7 8 9 "
ok "never more pods exist than the quota allows" test "$most" -le 2
is_busy() { [ "$(root get resourcequota small -o json | jq -r .status.used.pods)" = 2 ]; }
busy=$(submit -a 1-2 --wrap 'sleep 60')
wait_for 20 is_busy || note "the quota is not used up"
like "ksub --test-only says that a quota would hold the job back" \
    "$(as kilntest1 ksub --test-only --wrap true 2>&1)" \
    'it would wait until its quota has room: .*small'
as kilntest1 kctl cancel "$busy" >/dev/null
free() { [ "$(root get resourcequota small -o json |
    jq -r '.status.used | "\(.pods) \(.["requests.cpu"])"')" = "0 0" ]; }
ok "the quota is free again" wait_for 30 free
root delete resourcequota small >/dev/null

# --- no task fits its quota ---------------------------------------------------

tight() {
    printf '{"apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "tight"},
        "spec": {"hard": {"requests.cpu": "%s"}}}' "$1" |
        root apply -f - >/dev/null
}
tight 1
known() { root get resourcequota tight -o json | jq -e '.status.used'; }
wait_for 10 known || bail_out "no quota"
id=$(submit -c 2 -a 1-3 --wrap 'echo $KILN_ARRAY_TASK_ID >>raised')
plain=$(submit -c 2 --wrap 'echo 0 >>raised')
words='quota tight: 2 CPUs wanted, it has 1 in all'
says() {
    as kilntest1 kctl why "$1" | grep -F ", $words (AssocGrpCpuLimit)"
}
ok "an array whose tasks do not fit the quota says so" wait_for 20 says "$id"
ok "a plain job that does not fit says the same" wait_for 20 says "$plain"
ok "each task of the array says the same" says "${id}_2"
like "the list of jobs says the same" \
    "$(as kilntest1 kctl jobs)" "${id}_.*$words"
is "the status of the Job says the same" \
    "$(job "$id" .status.cause.message)" "$words"
stop controller
cluster_controller --socket "$cluster/socket"
tight 1500m
words='quota tight: 2 CPUs wanted, it has 1500m in all'
ok "after a restart the message has the changed quota" wait_for 40 says "$id"
tight 8
ok "the array completes when the quota is raised" \
    wait_for 40 state_is "$id" Completed
ok "the plain job completes, too" wait_for 40 state_is "$plain" Completed
is "each task and the job have run once" "$(ran raised)" "0 1 2 3 "
is "the Job has no such message any more" \
    "$(job "$id" '.status.cause // "none"')" none
root delete resourcequota tight >/dev/null

# --- the position between other jobs ------------------------------------------

a=$(submit -c 2 --wrap 'exec sleep 1000')
wait_for 20 state_is "$a" Running || bail_out "it does not run"
for name in one two three four; do
    case $name in
    one | three) set -- -a 1-2 ;;
    *) set -- ;;
    esac
    last=$(submit -c 2 -J "$name" "$@" --wrap "echo $name >>order")
done
as kilntest1 kctl cancel "$a" >/dev/null
ok "all jobs and arrays have run" wait_for 40 state_is "$last" Completed
is "arrays and jobs ran in the order of submission" \
    "$(tr '\n' ' ' <"$home/order")" "one one two three three four "

# --- an agent that receives events late, and twice ----------------------------

id=$(submit -a 1-14 --wrap 'echo $KILN_ARRAY_TASK_ID >>heard; sleep 0.2')
begun() { [ -s "$home/heard" ]; }
wait_for 20 begun || bail_out "no task runs"
signal n1 STOP
sleep 1
as kilntest1 kctl cancel "${id}_14" >/dev/null
signal n1 CONT
more() { [ "$(wc -l <"$home/heard")" -ge 6 ]; }
wait_for 20 more || bail_out "the tasks do not go on"
signal n1 KILL
await_end n1
agent
done_all() { [ "$(job "$id" .status.succeeded)" = 13 ]; }
ok "the array completes although its agent was stopped and killed" \
    wait_for 60 done_all
is "each task has run once, and the cancelled task has not run" \
    "$(ran heard)" "1 2 3 4 5 6 7 8 9 10 11 12 13 "
rows() { [ "$(as kilntest1 kctl history --job "$id" -o json | jq -s '[.[] |
    if type == "array" then .[] else (.items // [.])[] end |
    select(.state == "Completed")] | length')" = 13 ]; }
ok "history has one row for each completed task" wait_for 20 rows
finish
