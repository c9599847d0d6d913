#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every attempt of a job has one row in history when it ends. Nobody can erase
# the row, and a kill of the controller neither duplicates nor loses it.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
cluster_munge
controller() { cluster_controller --allow-root-jobs; }
controller
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
cluster_agent n1 --allow-root-jobs
wait_for 20 kctl wait --for condition=Ready node n1 || bail_out "no node"
cd "$cluster/home" || bail_out "no home"

# ask QUERY: prints the answer of history as JSON.
ask() {
    curl -sf --unix-socket "$cluster/state/socket" \
        "http://localhost/kiln/v1/history?$1"
}
rows() { ask "job=$1" | jq '.items | length'; }
has_rows() { [ "$(rows "$1")" = "$2" ]; }
# field ID NAME [ROW]: prints a field of the job's row, by default of its first
# row.
field() { ask "job=$1" | jq -r ".items[${3:-0}].$2"; }
submit() { ksub --parsable "$@" | grep -o '[0-9]*$'; }
state() { kctl get job "$1" -o json | jq -r .status.state; }
is_state() { [ "$(state "$1")" = "$2" ]; }

# --- how jobs end -------------------------------------------------------------

id=$(submit -J well --wrap 'dd if=/dev/zero of=mebibyte bs=64k count=16 \
    conv=fsync 2>/dev/null; rm mebibyte; sleep 1.2')
ok "a job that succeeds has one row" wait_for 10 has_rows "$id" 1
is "...which says that it completed" \
    "$(field "$id" state)" Completed
is "...which has its node, its name and its account" \
    "$(ask "job=$id" | jq -r '.items[] | "\(.node) \(.name) \(.account)"')" "n1 well default"
is "...which has the CPU time that it used" \
    "$(ask "job=$id" | jq ".items[0].cpuTimeMicros > 0")" true
least=1048576
[ "$(stat -f -c %T .)" != tmpfs ] || least=0 # tmpfs is memory, so nothing is written to storage
is "...which has the bytes that a process of it wrote" \
    "$(ask "job=$id" | jq ".items[0].writtenBytes >= $least")" true
is "...which has the bytes that it read" \
    "$(ask "job=$id" | jq ".items[0].readBytes >= 0")" true
ok "...the history file has its indexes" grep -qs \
    "INDEX by_partition" "$cluster/state/history.db" \
    "$cluster/state/history.db-wal"
is "...an index finds a row by its state" \
    "$(ask "state=Completed&limit=1" | jq '.items[0].job')" "$id"
like "kctl history shows the row" \
    "$(kctl history --job "$id" -o id,state,exit)" "$id +Completed +0"

# --- reports ------------------------------------------------------------------

is "an unknown column is refused, with a suggestion" \
    "$(kctl history -o stat 2>&1 | sed 's/.*there is/there is/')" \
    "there is no column 'stat' (did you mean 'state'?)"
is "more columns than a table can have are refused" \
    "$(kctl history -o "$(seq -s, 49 | sed 's/[0-9][0-9]*/id/g')" 2>&1 | sed 's/.*a table/a table/')" \
    "a table has 48 columns at most"
is "CSV has a header and a line for each row" \
    "$(kctl history --job "$id" -o csv=id,name,exit)" "id,name,exit
$id,well,0"
is "SWF has 18 numbers per line" \
    "$(kctl history --job "$id" -o swf | awk '!/^;/ { print NF, $1, $11 }')" \
    "18 $id 1"
is "a query can ask for some fields only" \
    "$(ask "job=$id&fields=job,state" | jq -c '.items[0]')" \
    "{\"job\":$id,\"state\":\"Completed\"}"
like "...but not for unknown fields" \
    "$(curl -s --unix-socket "$cluster/state/socket" \
        'http://localhost/kiln/v1/history?fields=job,stat' | jq -r .message)" \
    "fields: 'stat' cannot be read"
is "JSON has all rows" \
    "$(kctl history --job "$id" -o json | jq '.items | length')" 1
[ "$least" = 0 ] || like "kctl history has a column for the bytes written" \
    "$(kctl history --job "$id" --no-headers -o written)" '^ *[1-9][0-9.]*Mi'
like "kctl efficiency prints the efficiency of a job" \
    "$(kctl efficiency "$id")" \
    "^CPU efficiency: +[0-9.]+% of 1 CPUs for 00:00:0[1-9]"
is "...and reports a job that does not exist" \
    "$(kctl efficiency 4711 2>&1 | grep -c 'job 4711 has no attempt that has ended')" 1
is "a report counts the jobs of an account" \
    "$(kctl report -o json | jq -r '.[] | "\(.account) \(.completed)"')" \
    "default 1"
like "...and the jobs of a day, with the cluster's utilization" \
    "$(kctl report --by day)" "DAY +JOBS.*UTIL"
is "a report by an unknown field is refused" \
    "$(kctl report --by colour 2>&1)" \
    "kctl: report: --by: cannot sum by 'colour'; use account, user, partition, day, month, all, or account,user"
is "...with a suggestion" \
    "$(kctl report --by months 2>&1 | grep -c "did you mean 'month'")" 1

# The job's files are cached pages, which count as memory, and few are its own.
caches=$(ksub --parsable -t 5 --mem 512M --wrap \
    'dd if=/dev/zero of=big bs=1M count=100 2>/dev/null; cat big >/dev/null')
ok "a job that writes a file has a row" wait_for 20 has_rows "$caches" 1
if [ "$(ask "job=$caches" | jq '.items[0].rssBytes')" != null ] && [ "$least" != 0 ]; then
    is "history has its page cache and its processes' memory apart" \
        "$(ask "job=$caches" | jq '.items[0] |
            .cacheBytes > 50000000 and .rssBytes < 50000000 and .rssBytes > 0 and
            .peakMemoryBytes >= .cacheBytes')" true
    like "kctl efficiency shows both" "$(kctl efficiency "$caches")" \
        '^Memory used: .*, of which processes [0-9.]+Mi; page cache at the end [0-9.]+Mi$'
    like "kctl show does, too" "$(kctl show "$caches")" \
        '^Memory: .*Mi at most, of which processes [0-9.]+Mi, the rest page cache; asked for 512'
    is "the page cache is not used memory" "$(kctl efficiency "$caches" -o json |
        jq '.[0].memoryEfficiencyPercent < 10')" true
else
    skip "history has its page cache and its processes' memory apart" "no cgroup counts memory"
fi

# The row is written a moment after the end: a command that names the job waits for it.
late=
for _ in 1 2 3; do
    quick=$(ksub --parsable --wait -o /dev/null --wrap true | head -n 1)
    kctl efficiency "$quick" >"$cluster/efficiency" 2>&1 || late="$late $(cat "$cluster/efficiency")"
done
is "kctl efficiency finds a job as soon as ksub --wait has returned" "$late" ""

# --- other ends ---------------------------------------------------------------

id=$(submit --wrap 'exit 3')
wait_for 10 has_rows "$id" 1
is "the row of a failed job has its exit code" \
    "$(ask "job=$id" | jq -r '.items[] | "\(.state) \(.exitCode)"')" "Failed 3"

id=$(submit --time 0:02 --wrap 'sleep 60')
ok "a job over its time limit has a row" wait_for 40 has_rows "$id" 1
is "...with the state TimedOut" \
    "$(field "$id" state)" TimedOut
is "...with its time limit" \
    "$(field "$id" timeLimitSeconds)" 2
is "...with the time limit as what ended it" \
    "$(field "$id" endedBy)" "time limit"

id=$(submit --wrap 'sleep 60')
wait_for 10 is_state "$id" Running
kctl cancel "$id" >/dev/null
ok "a cancelled job has a row" wait_for 40 has_rows "$id" 1
is "...with the user who cancelled it" \
    "$(ask "job=$id" | jq -r '.items[] | "\(.state) \(.endedBy)"')" "Cancelled $(id -un)"

id=$(submit --wrap 'sleep 60')
wait_for 10 is_state "$id" Running
kctl requeue "$id" >/dev/null
ok "a requeued job has a row for its first run" \
    wait_for 40 has_rows "$id" 1
is "...with the state Requeued, and the user who requeued it" \
    "$(ask "job=$id" | jq -r '.items[0] | "\(.state) \(.endedBy)"')" \
    "Requeued $(id -un)"
wait_for 20 is_state "$id" Running
kctl cancel "$id" >/dev/null
ok "...and a row for its second run" wait_for 40 has_rows "$id" 2
is "...both with the number of the attempt" \
    "$(ask "job=$id" | jq -r '[.items[].attempt] | join(" ")')" "1 2"

id=$(submit --wrap 'sleep 60')
wait_for 10 is_state "$id" Running
kctl delete job "$id" >/dev/null
ok "a running job that is deleted has a row" wait_for 40 has_rows "$id" 1
is "...with the state Cancelled, and the user who deleted it" \
    "$(ask "job=$id" | jq -r '.items[0] | "\(.state) \(.endedBy)"')" \
    "Cancelled $(id -un)"
job_is_gone() { ! kctl get job "$id"; }
wait_for 20 job_is_gone
ok "...which is kept when the Job is gone" has_rows "$id" 1
like "kctl why explains a job that is gone" "$(kctl why "$id")" \
    "attempt 1  Cancelled by $(id -un): PodDeleted"

id=$(submit --hold --wrap true)
kctl cancel "$id" >/dev/null
ok "a job that ended before it had a pod has a row" \
    wait_for 20 has_rows "$id" 1
like "kctl efficiency says that it held nothing" "$(kctl efficiency "$id")" \
    'CPUs: +none of the 1 it asked for: it never started'
unlike "...and nothing of a run" "$(kctl efficiency "$id")" 'Elapsed|less than a second|unknown'
is "...nor does kctl history" "$(kctl history "$id" --no-headers -o id,cpus | tr -d " ")" "$id"
is "...without a start time" \
    "$(ask "job=$id" | jq -r '.items[] | "\(.state) \(.startTime)"')" "Cancelled null"

# --- kills --------------------------------------------------------------------

# Rows that were not written when the controller was killed are written by the
# next controller, and no row is written twice.
kills=4
[ -z "${KILN_LONG:-}" ] || kills=40
first=
submitted= # the controller skips ids when it was killed
for kill in $(seq "$kills"); do
    for job in 1 2 3 4 5; do
        last=$(submit --wrap "sleep 0.$job")
        submitted="$submitted $last"
        : "${first:=$last}"
        [ "$job" -ne 5 ] || kctl delete job "$last" >/dev/null
    done
    sleep "0.$((kill % 4))"
    signal controller KILL
    await_end controller
    controller
done
all_ended() {
    [ "$(kctl jobs --all-users --state active -o name 2>/dev/null | wc -l)" = 0 ]
}
ok "jobs end although the controller is killed again and again" \
    wait_for 60 all_ended
# The fifth job of each turn may have been deleted before it had an attempt, so
# it may have no row.
wrong=
turn=0
for job in $submitted; do
    n=$(rows "$job")
    turn=$((turn + 1))
    case $((turn % 5)) in
    0) [ "$n" -le 1 ] || wrong="$wrong $job:$n" ;;
    *) wait_for 10 has_rows "$job" 1 || wrong="$wrong $job:$n" ;;
    esac
done
is "each job has exactly one row" \
    "$wrong" ""
is "no row waits to be written" \
    "$(curl -s --unix-socket "$cluster/state/socket" http://localhost/metrics |
    awk '$1 == "kiln_history_waiting" { print $2 }')" 0

# --- a damaged file -----------------------------------------------------------

stop controller
dd if=/dev/urandom of="$cluster/state/history.db" bs=4096 seek=1 count=3 \
    conv=notrunc 2>/dev/null
rm -f "$cluster/state/history.db-wal" "$cluster/state/history.db-shm"
controller
ok "a damaged history file is renamed" \
    wait_for 10 test -e "$cluster/state/history.db.damaged"
ok "...and a new file gets the rows of jobs that the store still has" \
    wait_for 20 has_rows "$first" 1
like "...and kctl status says that the file was damaged" \
    "$(kctl status)" "history: .*damaged"

# --- a lost node --------------------------------------------------------------

id=$(submit --wrap 'sleep 60')
wait_for 20 is_state "$id" Running
signal n1 KILL
await_end n1
kctl fence --yes n1 >/dev/null 2>&1
ok "a job whose node is fenced has a row" wait_for 40 has_rows "$id" 1
is "...with the state NodeFailed and the node's name" \
    "$(ask "job=$id" | jq -r '.items[0] | "\(.state) \(.endedBy)"')" \
    "NodeFailed node n1"
finish
