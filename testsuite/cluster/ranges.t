#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Many jobs are changed by one request: ids and ranges of them, and selections.
# Each is asked for its owner's rights and has its own line in the audit log.

# shellcheck disable=SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller ksub kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket" --operators kilntest2

status_is() {
    status_name=$1 status_wanted=$2 status=0
    shift 2
    "$@" >/dev/null 2>&1 || status=$?
    is "$status_name" "$status" "$status_wanted"
}
submit() { as kilntest1 ksub --parsable -H "$@" --wrap true; }
k1() { as kilntest1 kctl "$@" </dev/null; }
active() { as kilntest1 kctl jobs --state active -o id --no-headers "$@" 2>&1 |
    tr -d ' ' | paste -sd, -; }
# How many requests for jobs there were.
requests() {
    curl -s --unix-socket "$cluster/socket" http://kiln/metrics | awk '
        /^apiserver_request_total/ && /resource="jobs"/ { n += $2 }
        END { print n + 0 }'
}
lines() { jq -r 'select(.verb == "patch" and .resource == "jobs.batch") |
    [.user, .name, .code] | map(tostring) | join(" ")' \
    "$cluster"/state/audit.log; }

has_line() { lines | grep -qx "$1"; }

# --- ids and ranges -------------------------------------------------------------

for i in $(seq 30); do submit -J "sweep-$i" >/dev/null; done
other=$(as root ksub --parsable -H --wrap true 2>/dev/null ||
    as kilntest2 ksub --parsable -H --wrap true)
is "thirty jobs and another's have ids in a row" "$other" 31

before=$(requests)
is "ids with commas are several" "$(k1 cancel 5,6)" "job/5 cancelled
job/6 cancelled"
is "by one request" "$(($(requests) - before))" 1
is "one that has ended says so" "$(k1 cancel 5)" "job/5 has ended already"
before=$(requests)
is "a range of many is summed up" "$(k1 release 1-31 2>/dev/null)" \
    "28 jobs (1-4,7-30): released
job/5 has ended already
job/6 has ended already"
is "by one request, too" "$(($(requests) - before))" 1
like "one of another is refused in words" "$(k1 release 1-31 2>&1 >/dev/null)" \
    "job/31: user 'kilntest1' cannot change it, it is 'kilntest2's"
status_is "and that is a failure" 77 k1 hold 7,31
is "the rest was done all the same" \
    "$(k1 jobs -o state --no-headers --name sweep-7)" Held
ok "each has its line in the audit log" \
    has_line "kilntest1 job-30 200"
ok "so has what was refused" \
    has_line "kilntest1 job-31 403"
like "ids of a range that are not there are told, and no failure" \
    "$(k1 hold 29-40 2>/dev/null)" '9 jobs \(32-40\): there is no such job'
status_is "one that is named has to be there" 66 k1 cancel 999
like "and is not" "$(k1 cancel 999 2>&1)" 'job 999 not found'
is "names work as well" "$(k1 cancel job-7)" "job/7 cancelled"
is "with their type before" "$(k1 cancel job/8 job/job-9)" "job/8 cancelled
job/9 cancelled"

# --- mistakes ---------------------------------------------------------------------

for wrong in 5- -5 5,,6 20-10 0 1-2-3 ''; do
    status_is "'$wrong' is refused" 64 k1 cancel -- "$wrong"
done
like "a million ids are refused in words" "$(k1 cancel 1-1000000 2>&1)" \
    '1-1000000 are 1000000 jobs; one command takes 10000'
many=$(seq 1 2 40000 | paste -sd, -)
like "so are many ids" "$(k1 cancel "$many" 2>&1)" 'more than 10000 jobs'
like "a state is suggested" "$(k1 cancel --state Runing 2>&1)" \
    "did you mean 'Running'"
like "a selection and names do not go together" \
    "$(k1 cancel --state Held 5 2>&1)" 'and not both'
status_is "and something has to be meant" 64 k1 cancel
like "the server bounds them, too" "$(api kilntest1 POST \
    /kiln/v1/jobs/cancel '{"ids":"1-1000000"}')" '^400 .*1000000 jobs'
like "and reads no nonsense" "$(api kilntest1 POST \
    /kiln/v1/jobs/cancel '[1]')" '^400 '
like "a verb that there is not is not found" "$(api kilntest1 POST \
    /kiln/v1/jobs/explode '{"ids":"1"}')" '^404 '
like "a job is changed by POST alone" "$(api kilntest1 GET \
    /kiln/v1/jobs/cancel)" '^405 '

# --- selections -------------------------------------------------------------------

is "a selection finds one's own alone" \
    "$(k1 hold --all | sed 's/ jobs.*//')" 25
like "more than a few are not ended without a question" \
    "$(k1 cancel --name 'sweep-1?' 2>&1)" '10 jobs are meant, of which 0 run; say --yes'
is "and nothing was done" "$(active --name 'sweep-1?')" \
    10,11,12,13,14,15,16,17,18,19
before=$(requests)
is "--yes says that it is right" \
    "$(k1 cancel --yes --name 'sweep-1?' --state Held | wc -l)" 10
is "by one request, however many have ended before" \
    "$(($(requests) - before))" 1
is "a few are ended at once" "$(k1 cancel --name 'sweep-2?' --state Pending 2>&1)" \
    "No active jobs that you may change"
like "an operator ends another's" \
    "$(as kilntest2 kctl cancel --user kilntest1 --name sweep-1 </dev/null)" \
    'job/1 cancelled'
is "a user does not" "$(k1 cancel --user kilntest2 --yes 2>&1)" \
    "No active jobs that you may change"
is "on a terminal it is asked for" "$(printf 'y\n' | script -qec \
    "setpriv --reuid kilntest1 --regid kilntest1 --init-groups \
        kctl cancel --all" /dev/null | tr -d '\r' |
    grep -o 'Cancel [0-9]* jobs, of which 0 run')" \
    "Cancel 14 jobs, of which 0 run"
gone() { ! active --name 'sweep*' | grep -qv '^No'; }
ok "and done when the answer is yes" wait_for 10 gone

# --- a controller that dies in the middle -------------------------------------------

for i in $(seq 60); do submit >/dev/null; done
last=$(submit)
k1 cancel --yes --all >/dev/null 2>&1 &
pid=$!
signal controller KILL
stop controller
cluster_controller --socket "$cluster/socket" --operators kilntest2
wait "$pid" 2>/dev/null
k1 cancel --yes --all >/dev/null 2>&1
ok "what was cut off is done when it is asked for again" wait_for 20 sh -c \
    "! kctl --server http+unix://$cluster/socket get job $last -o json |
        jq -e '.metadata.annotations[\"kiln.hpc/cancel\"] == null' >/dev/null"
finish
