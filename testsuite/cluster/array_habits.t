#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Habits of users of sbatch and sacct, on two nodes: the first failure ends an
# array, history is queried by lists of jobs and by each filter, and a report
# names first who wasted most.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
{ cluster_user kilntest1 && cluster_user kilntest2; } ||
    skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
cluster_agent n2 --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n1 n2 || bail_out "no nodes"
for node in n1 n2; do
    for key in $(root get node "$node" -o json | jq -r '.spec.taints[]?.key'); do
        root taint node "$node" "$key-" >/dev/null
    done
done

submit() { as kilntest1 ksub --parsable -t 5 "$@"; }
user() { as kilntest1 kctl "$@"; }
job() { root get job "job-$1" -o json | jq -r "$2"; }
has_state() { [ "$(job "$1" .status.state)" = "$2" ]; }
# ids OPTION...: prints the jobs and tasks that history finds, sorted.
ids() { user history -o id --no-headers "$@" 2>/dev/null | sort | xargs; }
finds() { # WANTED OPTION...
    finds_wanted=$1
    shift
    [ "$(ids "$@")" = "$finds_wanted" ]
}

# --- the first failure ends an array ------------------------------------------

mkdir -m 777 "$cluster/go"
# shellcheck disable=SC2016 # for the script
fast=$(submit -a 1-200%4 --array-fail-fast -J fast \
    --wrap '[ $KILN_ARRAY_TASK_ID != 2 ] || exit 3; sleep 120')
ok "the first failure ends an array with --array-fail-fast" \
    wait_for 30 has_state "$fast" Failed
is "one task failed, none completed, and those that were running are cancelled" \
    "$(job "$fast" '"\(.status.failed) \(.status.succeeded // 0) \(.status.array.cancelled)"')" \
    "1 0 3"
all_told() { [ "$(ids --job "$fast" | wc -w)" -ge 3 ]; }
wait_for 20 all_told
is "tasks that ran have a row each, and the rest has one row" \
    "$(ids --job "$fast" | tr ' ' '\n' | grep -c '\[')" 1
like "kctl why says which task failed and how" \
    "$(user why "$fast")" 'Failed, exit code 3: 2'

# shellcheck disable=SC2016 # for the script
wide=$(submit -a 1-60 --array-fail-fast -J wide \
    --wrap '[ $KILN_ARRAY_TASK_ID != 1 ] || { sleep 1; exit 3; }; sleep 120')
ok "so it ends one whose tasks all have pods" wait_for 30 has_state "$wide" Failed
is "the tasks whose pods had no node have not failed" \
    "$(job "$wide" '"\(.status.failed) \(.status.array.cancelled)"')" "1 59"

# --- an array of which some tasks run -----------------------------------------

# shellcheck disable=SC2016 # for the script
part=$(submit -a 1-6%2 -J part --wrap 'until [ -e '"$cluster"'/go/on ]; do
    sleep 0.1; done')
two_run() { [ "$(job "$part" .status.ready)" = 2 ]; }
wait_for 20 two_run
sleep 2 # times have whole seconds, and no time has no efficiency
like "kctl why says that some tasks run and others wait" \
    "$(user why "$part" | head -n 1)" \
    "^Job $part \(part\): Running, the rest is Pending, throttle of 2 tasks"
like "the start of a task is shown as date and time" \
    "$(user --utc get job "${part}_1" --no-headers 2>/dev/null ||
        user get job "${part}_1" --no-headers)" \
    ' [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}'
is "a task is described to its user, and not to another user" \
    "$(user describe job "${part}_1" | head -n 1 | tr -s ' ') $(as kilntest2 kctl describe \
        job "${part}_1" 2>&1 | sed 's/.*cannot/cannot/')" \
    "Task: ${part}_1 cannot get jobs/elements of other users"
: >"$cluster/go/on"
wait_for 30 has_state "$part" Completed

# --- jobs by their numbers ----------------------------------------------------

one=$(submit -J one -w n1 --wrap true)
two=$(submit -J two -w n2 --wrap 'exit 2')
ok "several jobs can be named as operands" \
    wait_for 20 finds "$one $two" "$one" "$two"
is "jobs can be named as a list" "$(ids -j "$one,$two")" "$one $two"
is "jobs can be named as a range" "$(ids "$one-$two")" "$one $two"
is "tasks of an array can be named with other jobs" \
    "$(ids "$one,${part}_[1-2]")" \
    "$(printf '%s\n' "$one" "${part}_1" "${part}_2" | sort | xargs)"
is "a job that is named twice is shown once" "$(ids "$one,$one" "$one")" "$one"
is "the limit applies to a range" "$(ids --limit 1 "$one-$two" | wc -w)" 1
like "a name instead of a number is refused with a hint" \
    "$(user history sweep 2>&1)" \
    "'sweep' is not a job id .*kctl history --name 'sweep'"
like "a range of too many jobs is refused with an explanation" \
    "$(user history 1-2000 2>&1)" \
    'more than 1000 jobs are named'

# --- by each filter -----------------------------------------------------------

filter() { # OPTION VALUEOTHER [WANTED]: VALUE matches WANTED (job two), OTHER matches neither job
    is "$1 finds the matching jobs" \
        "$(ids -j "$one,$two" "$1" "$2")" "${4:-$two}"
    is "$1 leaves out other jobs" "$(ids -j "$one,$two" "$1" "$3")" ""
}
filter --node n2 n3
filter --node 'n[2-3],x' 'n[3-9]'
filter --name 'tw?' 't'
filter --state Failed Cancelled
filter --user kilntest1 kilntest2 "$one $two"
filter --account default other "$one $two"
filter --partition all other "$one $two"
sleep 1 # "now" is in whole seconds
filter --since 1h now "$one $two"
filter --until now 2020-01-01 "$one $two"
is "a period may end in the future" \
    "$(ids -j "$one,$two" --until tomorrow)" "$one $two"
like "a report counts only the past part of such a period" \
    "$(user report --by all --until tomorrow 2>&1)" 'JOBS +GOOD.*UTIL'
is "a period that starts in the future is refused" \
    "$(user history --since tomorrow 2>&1)" \
    "kctl: history: --since: 'tomorrow' is in the future"

# --- how much an array used ---------------------------------------------------

has_sum() {
    user efficiency --tasks "$part" | tail -n 1 |
        grep -qE '^Sum: 6 tasks, 6 attempts; CPU efficiency [0-9.]+% \(00:00:[0-9]+ of 00:[0-9:]+\)'
}
ok "the efficiency of an array has a line with the sum" wait_for 20 has_sum
is "... below all attempts, worst first" \
    "$(user efficiency --tasks "$part" | awk -v id="${part}_" 'index($1, id) == 1 {
        cpu = $7; sub(/%/, "", cpu); cpu += 0 # a number, or 10.1 is below 9.9
        if (n++ && $5 == was_elapsed && cpu < was) print "order"
        was = cpu; was_elapsed = $5 } END { print n }')" 6
user efficiency "$part" >"$cluster/summary"
is "... and without --tasks a summary" \
    "$(sed -n 's/^\(Tasks\|Attempts\|CPUs\): *\(.*\)/\1 \2/p' "$cluster/summary" | tr '\n' ';')" \
    "Tasks 6 ran;Attempts 6: 6 Completed;CPUs 1 for each task;"
like "... with the CPU efficiency of all, the least and the most" "$(cat "$cluster/summary")" \
    'CPU efficiency: +[0-9.]+% \(.* of .*\), from [0-9.]+% to [0-9.]+%'
lists() { awk -v id="$1_" 'index($1, id) == 1 { print $1 }' "$2" | sort | paste -sd' ' -; }
is "... and the tasks that wasted most" "$(lists "$part" "$cluster/summary")" \
    "${part}_1 ${part}_2 ${part}_3 ${part}_4 ${part}_5 ${part}_6"
unlike "the efficiency of a single attempt has no such line" \
    "$(user efficiency "$one")" '^Sum'

# --- who wasted most ----------------------------------------------------------

waste=$(submit -c 4 -J waste --wrap 'sleep 2')
busy=$(as kilntest2 ksub --parsable -t 5 -J busy \
    --wrap 'timeout 1 sh -c "while :; do :; done"; true')
wait_for 30 has_state "$waste" Completed
wait_for 30 has_state "$busy" Completed
first() {
    [ "$(root report --by user --wasted --top 1 -o csv | tail -n 1 |
        cut -d, -f1)" = kilntest1 ]
}
ok "the user who wasted most is first in the report" wait_for 20 first
is "--top 1 shows only that user" \
    "$(root report --by user --wasted --top 1 -o csv | wc -l)" 2
finish
