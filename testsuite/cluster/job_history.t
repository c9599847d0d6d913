#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every attempt of a job leaves one row when it ends, which nobody can erase
# and no kill doubles or loses.

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

# ask QUERY: of history, as JSON.
ask() {
    curl -sf --unix-socket "$cluster/state/socket" \
        "http://localhost/kiln/v1/history?$1"
}
rows() { ask "job=$1" | jq '.items | length'; }
has_rows() { [ "$(rows "$1")" = "$2" ]; }
# field ID NAME [ROW]: of a job's row, the first unless said.
field() { ask "job=$1" | jq -r ".items[${3:-0}].$2"; }
submit() { ksub --parsable "$@" | grep -o '[0-9]*$'; }
state() { kctl get job "$1" -o json | jq -r .status.state; }
is_state() { [ "$(state "$1")" = "$2" ]; }

# --- how jobs end -----------------------------------------------------------

id=$(submit -J well --wrap 'dd if=/dev/zero of=mebibyte bs=64k count=16 \
    conv=fsync 2>/dev/null; rm mebibyte; sleep 1.2')
ok "a job that succeeds has one row" wait_for 10 has_rows "$id" 1
is "...that says so" \
    "$(field "$id" state)" Completed
is "...where it ran, its name and its account" \
    "$(ask "job=$id" | jq -r '.items[] | "\(.node) \(.name) \(.account)"')" "n1 well default"
is "...and the CPU time it used" \
    "$(ask "job=$id" | jq ".items[0].cpuTimeMicros > 0")" true
least=1048576
[ "$(stat -f -c %T .)" != tmpfs ] || least=0 # which is no storage
is "...and what it wrote, a process of it" \
    "$(ask "job=$id" | jq ".items[0].writtenBytes >= $least")" true
is "...and read" "$(ask "job=$id" | jq ".items[0].readBytes >= 0")" true
ok "...behind the indexes that a new file gets first" grep -qs \
    "INDEX by_partition" "$cluster/state/history.db" \
    "$cluster/state/history.db-wal"
is "...by which a state is found" \
    "$(ask "state=Completed&limit=1" | jq '.items[0].job')" "$id"
like "kctl history shows it" \
    "$(kctl history --job "$id" -o id,state,exit)" "$id +Completed +0"

# --- reports ----------------------------------------------------------------

is "a column that there is none of is refused, with the nearest" \
    "$(kctl history -o stat 2>&1 | sed 's/.*there is/there is/')" \
    "there is no column 'stat' (did you mean 'state'?)"
is "CSV has a heading and a line for each row" \
    "$(kctl history --job "$id" -o csv=id,name,exit)" "id,name,exit
$id,well,0"
is "SWF has 18 numbers" \
    "$(kctl history --job "$id" -o swf | awk '!/^;/ { print NF, $1, $11 }')" \
    "18 $id 1"
is "rows may have fewer fields" \
    "$(ask "job=$id&fields=job,state" | jq -c '.items[0]')" \
    "{\"job\":$id,\"state\":\"Completed\"}"
like "...but none that there is not" \
    "$(curl -s --unix-socket "$cluster/state/socket" \
        'http://localhost/kiln/v1/history?fields=job,stat' | jq -r .message)" \
    "fields: 'stat' cannot be read"
is "JSON has the rows" \
    "$(kctl history --job "$id" -o json | jq '.items | length')" 1
[ "$least" = 0 ] || like "kctl history has it in a column" \
    "$(kctl history --job "$id" --no-headers -o written)" '^ *[1-9][0-9.]*Mi'
like "a job's efficiency is told" "$(kctl efficiency "$id")" \
    "^CPU efficiency: +[0-9.]+% of 1 CPUs for 00:00:0[1-9]"
is "...of a job that there is none of, too" \
    "$(kctl efficiency 4711 2>&1 | grep -c 'job 4711 has not ended')" 1
is "a report counts the jobs of an account" \
    "$(kctl report -o json | jq -r '.[] | "\(.account) \(.completed)"')" \
    "default 1"
like "...and of a day, with how full the cluster was" \
    "$(kctl report --by day)" "DAY +JOBS.*UTIL"
is "a report by what there is none of is refused" \
    "$(kctl report --by colour 2>&1)" \
    "kctl: report: --by: nothing is summed by 'colour'; it is by account, user, partition, day, month, all, or account,user"
is "...with what was meant" "$(kctl report --by months 2>&1 | grep -c "did you mean 'month'")" 1

# --- more ends --------------------------------------------------------------

id=$(submit --wrap 'exit 3')
wait_for 10 has_rows "$id" 1
is "a failure has its exit code" \
    "$(ask "job=$id" | jq -r '.items[] | "\(.state) \(.exitCode)"')" "Failed 3"

id=$(submit --time 0:02 --wrap 'sleep 60')
ok "a job over its time limit has a row" wait_for 40 has_rows "$id" 1
is "...of that state" \
    "$(field "$id" state)" TimedOut
is "...with its limit" \
    "$(field "$id" timeLimitSeconds)" 2
is "...which ended it" "$(field "$id" endedBy)" "time limit"

id=$(submit --wrap 'sleep 60')
wait_for 10 is_state "$id" Running
kctl cancel "$id" >/dev/null
ok "a job that is cancelled has a row" wait_for 40 has_rows "$id" 1
is "...with who did it" \
    "$(ask "job=$id" | jq -r '.items[] | "\(.state) \(.endedBy)"')" "Cancelled $(id -un)"

id=$(submit --wrap 'sleep 60')
wait_for 10 is_state "$id" Running
kctl requeue "$id" >/dev/null
ok "a job that is requeued has a row for its first run" \
    wait_for 40 has_rows "$id" 1
is "...which says so, and who did it" \
    "$(ask "job=$id" | jq -r '.items[0] | "\(.state) \(.endedBy)"')" \
    "Requeued $(id -un)"
wait_for 20 is_state "$id" Running
kctl cancel "$id" >/dev/null
ok "...and one for its second" wait_for 40 has_rows "$id" 2
is "...numbered as its attempts" \
    "$(ask "job=$id" | jq -r '[.items[].attempt] | join(" ")')" "1 2"

id=$(submit --wrap 'sleep 60')
wait_for 10 is_state "$id" Running
kctl delete job "$id" >/dev/null
ok "a job that is deleted while it runs has a row" wait_for 40 has_rows "$id" 1
is "...and was stopped, by whom" \
    "$(ask "job=$id" | jq -r '.items[0] | "\(.state) \(.endedBy)"')" \
    "Cancelled $(id -un)"
job_is_gone() { ! kctl get job "$id"; }
wait_for 20 job_is_gone
ok "...which stays when the job is gone" has_rows "$id" 1
like "kctl why tells of a job that is gone" "$(kctl why "$id")" \
    "attempt 1  Cancelled by $(id -un): PodDeleted"

id=$(submit --hold --wrap true)
kctl cancel "$id" >/dev/null
ok "a job that ended before it had a pod has a row" \
    wait_for 20 has_rows "$id" 1
is "...without a start" \
    "$(ask "job=$id" | jq -r '.items[] | "\(.state) \(.startTime)"')" "Cancelled null"

# --- kills ------------------------------------------------------------------

# Rows that are unwritten when the controller is killed are written by the next one,
# and nothing twice.
first=$((id + 1))
kills=4
[ -z "${KILN_LONG:-}" ] || kills=40
last=$id
for kill in $(seq "$kills"); do
    for job in 1 2 3 4 5; do
        last=$(submit --wrap "sleep 0.$job")
        [ "$job" -ne 5 ] || kctl delete job "$last" >/dev/null
    done
    sleep "0.$((kill % 4))"
    signal controller KILL
    await_end controller
    controller
done
all_ended() {
    [ "$(kctl jobs --all --state active -o name 2>/dev/null | wc -l)" = 0 ]
}
ok "jobs end though the controller is killed again and again" \
    wait_for 60 all_ended
# A job that was deleted while it waited may never have been one.
wrong=
for job in $(seq "$first" "$last"); do
    n=$(rows "$job")
    case $(((job - first) % 5)) in
    4) [ "$n" -le 1 ] || wrong="$wrong $job:$n" ;;
    *) wait_for 10 has_rows "$job" 1 || wrong="$wrong $job:$n" ;;
    esac
done
is "each has exactly one row" \
    "$wrong" ""
is "none waits" \
    "$(curl -s --unix-socket "$cluster/state/socket" http://localhost/metrics |
    awk '$1 == "kiln_history_waiting" { print $2 }')" 0

# --- a file that is damaged -------------------------------------------------

stop controller
dd if=/dev/urandom of="$cluster/state/history.db" bs=4096 seek=1 count=3 \
    conv=notrunc 2>/dev/null
rm -f "$cluster/state/history.db-wal" "$cluster/state/history.db-shm"
controller
ok "a damaged file is kept aside" \
    wait_for 10 test -e "$cluster/state/history.db.damaged"
ok "...and a new one has what the store still has" \
    wait_for 20 has_rows "$first" 1
like "...as kctl status says" \
    "$(kctl status)" "history: .*damaged"

# --- a node that is lost ----------------------------------------------------

id=$(submit --wrap 'sleep 60')
wait_for 20 is_state "$id" Running
signal n1 KILL
await_end n1
kctl fence --yes n1 >/dev/null 2>&1
ok "a job whose node is lost has a row" wait_for 40 has_rows "$id" 1
is "...that says so" \
    "$(ask "job=$id" | jq -r '.items[0] | "\(.state) \(.endedBy)"')" \
    "NodeFailed node n1"
finish
