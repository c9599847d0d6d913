#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One request changes many jobs: IDs and ranges of IDs, and selections. The
# rights are checked for each job, and each job has its own line in the audit
# log.

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
# Prints the number of requests for jobs so far.
requests() {
    curl -s --unix-socket "$cluster/socket" http://kiln/metrics | awk '
        /^apiserver_request_total/ && /resource="jobs"/ { n += $2 }
        END { print n + 0 }'
}
lines() { jq -r 'select(.verb == "patch" and .resource == "jobs.batch") |
    [.user, .name, .code] | map(tostring) | join(" ")' \
    "$cluster"/state/audit.log; }

has_line() { lines | grep -qx "$1"; }

# --- IDs and ranges -----------------------------------------------------------

for i in $(seq 30); do submit -J "sweep-$i" >/dev/null; done
other=$(as root ksub --parsable -H --wrap true 2>/dev/null ||
    as kilntest2 ksub --parsable -H --wrap true)
is "thirty jobs and a job of another user have consecutive IDs" "$other" 31

before=$(requests)
is "IDs can be separated by commas" "$(k1 cancel 5,6)" "job/5 cancelled
job/6 cancelled"
is "this takes one request" "$(($(requests) - before))" 1
is "a job that has ended is reported" "$(k1 cancel 5)" "job/5 has ended already"
before=$(requests)
is "the results of a range are summed up" "$(k1 release 1-31 2>/dev/null)" \
    "28 jobs (1-4,7-30): released
job/5 has ended already
job/6 has ended already"
is "a range takes one request, too" "$(($(requests) - before))" 1
like "a job of another user is refused with a message" \
    "$(k1 release 1-31 2>&1 >/dev/null)" \
    "job/31: user 'kilntest1' cannot change it, because it belongs to 'kilntest2'"
status_is "the exit status is then that of a refusal" 77 k1 hold 7,31
is "the other jobs of the list were changed" \
    "$(k1 jobs -o state --no-headers --name sweep-7)" Held
ok "each changed job has a line in the audit log" \
    has_line "kilntest1 job-30 200"
ok "the refused job has a line, too" \
    has_line "kilntest1 job-31 403"
like "jobs of a range that do not exist are reported, without a failure" \
    "$(k1 hold 29-40 2>/dev/null)" '9 jobs \(32-40\): there is no such job'
status_is "a single job that does not exist is a failure" 66 k1 cancel 999
like "the message says that it was not found" \
    "$(k1 cancel 999 2>&1)" 'job 999 not found'
is "a job can be given by its object's name" \
    "$(k1 cancel job-7)" "job/7 cancelled"
is "a job can be given as type/name" \
    "$(k1 cancel job/8 job/job-9)" "job/8 cancelled
job/9 cancelled"

# --- mistakes -----------------------------------------------------------------

for wrong in 5- -5 5,,6 20-10 0 1-2-3 ''; do
    status_is "'$wrong' is refused" 64 k1 cancel -- "$wrong"
done
like "a range of a million IDs is refused with a message" \
    "$(k1 cancel 1-1000000 2>&1)" \
    '1-1000000 are 1000000 jobs; one command accepts at most 10000'
many=$(seq 1 2 40000 | paste -sd, -)
like "a list of too many IDs is refused" \
    "$(k1 cancel "$many" 2>&1)" 'more than 10000 jobs'
like "a similar state is suggested" "$(k1 cancel --state Runing 2>&1)" \
    "did you mean 'Running'"
like "a selection together with IDs is refused" \
    "$(k1 cancel --state Held 5 2>&1)" ', not both'
status_is "a command without IDs and selection is refused" 64 k1 cancel
like "the server refuses a range of a million IDs, too" "$(api kilntest1 POST \
    /kiln/v1/jobs/cancel '{"ids":"1-1000000"}')" '^400 .*1000000 jobs'
like "the server refuses a body that is not an object" "$(api kilntest1 POST \
    /kiln/v1/jobs/cancel '[1]')" '^400 '
like "an unknown verb is a 404" "$(api kilntest1 POST \
    /kiln/v1/jobs/explode '{"ids":"1"}')" '^404 '
like "a GET of such a path is refused" "$(api kilntest1 GET \
    /kiln/v1/jobs/cancel)" '^405 '

# --- selections ---------------------------------------------------------------

is "a selection finds only the user's own jobs" \
    "$(k1 hold --all | sed 's/ jobs.*//')" 25
like "more than a few jobs are not cancelled without --yes" \
    "$(k1 cancel --name 'sweep-1?' 2>&1)" '10 jobs, of which 0 run; give --yes'
is "nothing was cancelled" "$(active --name 'sweep-1?')" \
    10,11,12,13,14,15,16,17,18,19
before=$(requests)
is "--yes cancels them" \
    "$(k1 cancel --yes --name 'sweep-1?' --state Held | wc -l)" 10
is "this takes one request, even if other jobs have ended" \
    "$(($(requests) - before))" 1
is "held jobs are not selected by --state Pending" \
    "$(k1 cancel --name 'sweep-2?' --state Pending 2>&1)" \
    "No active jobs in state Pending named sweep-2? that you may change"
like "an operator can cancel jobs of another user" \
    "$(as kilntest2 kctl cancel --user kilntest1 --name sweep-1 </dev/null)" \
    'job/1 cancelled'
is "a user cannot cancel jobs of another user" \
    "$(k1 cancel --user kilntest2 --yes 2>&1)" \
    "No active jobs of user kilntest2 that you may change"
is "on a terminal kctl asks" "$(printf 'y\n' | script -qec \
    "setpriv --reuid kilntest1 --regid kilntest1 --init-groups \
        kctl cancel --all" /dev/null | tr -d '\r' |
    grep -o 'Cancel [0-9]* jobs, of which 0 run')" \
    "Cancel 14 jobs, of which 0 run"
gone() { ! active --name 'sweep*' | grep -qv '^No'; }
ok "the jobs are cancelled when the answer is yes" wait_for 10 gone

# --- a controller that is killed during such a request ------------------------

for i in $(seq 60); do submit >/dev/null; done
last=$(submit)
k1 cancel --yes --all >/dev/null 2>&1 &
pid=$!
signal controller KILL
stop controller
cluster_controller --socket "$cluster/socket" --operators kilntest2
wait "$pid" 2>/dev/null
k1 cancel --yes --all >/dev/null 2>&1
ok "what was interrupted is done by the same command again" wait_for 20 sh -c \
    "! kctl --server http+unix://$cluster/socket get job $last -o json |
        jq -e '.metadata.annotations[\"kiln.hpc/cancel\"] == null' >/dev/null"
finish
