#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is known of a job outlives its pods: where it ran, how long, how it
# ended; and pods that end because their job is held are not held against it.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
cluster_munge
cluster_controller --allow-root-jobs
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
cluster_agent n1 --allow-root-jobs
wait_for 20 kctl wait --for condition=Ready node n1 || bail_out "no node"
cd "$cluster/home" || bail_out "no home"

job() { kctl get job "$1" -o json | jq -r "$2"; }
# column NAME ID: of the table of jobs.
column() {
    kctl get jobs -o wide | awk -v name="$1" -v id="$2" '
        NR == 1 { at = index($0, name); next }
        $1 == id { text = substr($0, at); sub(/ .*/, "", text); print text }'
}
runs() { [ "$(column STATE "$1")" = Running ]; }
has_no_pods() { [ "$(kctl get pods -o name 2>/dev/null)" = "" ]; }
# patch ID BODY: as anybody's client would.
patch() {
    curl -fsS -o "$cluster/answer" --unix-socket "$KILN_SERVER" -X PATCH \
        -H 'Content-Type: application/merge-patch+json' -d "$2" \
        "http://kiln/apis/batch/v1/namespaces/default/jobs/job-$1"
}

# --- held while it runs --------------------------------------------------------
id=$(ksub --parsable --wrap 'sleep 1000')
ok "a job runs" wait_for 20 runs "$id"
ok "it is suspended" patch "$id" '{"spec":{"suspend":true}}'
ok "its pod goes" wait_for 60 has_no_pods
is_excused() {
    [ "$(job "$id" '"\(.status.failed) \(.status.excused)"')" = "null 1" ]
}
ok "and is not held against it" wait_for 20 is_excused
is "the job is held" "$(column STATE "$id")" Held
ok "it is resumed" patch "$id" '{"spec":{"suspend":false}}'
ok "and runs again" wait_for 20 runs "$id"
is "as its second attempt" "$(kctl get pods -o name)" "pod/job-$id-0-r1"

# --- cancelled -----------------------------------------------------------------
ok "it is cancelled" kctl cancel "$id"
ok "and then it has failed" \
    kctl wait --for condition=Failed --timeout 60s job "$id"
ok "without a pod left" wait_for 20 has_no_pods
is "which was on the node that is still told" "$(column NODE "$id")" n1
like "for a time" "$(column TIME "$id")" '^[0-9:]+$'
is "and was cancelled" "$(column STATE "$id")" Cancelled
is "when it ended is known" \
    "$(job "$id" '.status.lastRun | (.startedAt <= .finishedAt)')" true

# --- ended, and its pod deleted ------------------------------------------------
# ended_as NAME ID STATE REASON
ended_as() {
    ok "$1 has ended" wait_for 30 sh -c \
        "kctl get job $2 -o json | jq -e '.status.lastRun.finishedAt'"
    kctl delete --wait pod "job-$2-0" >/dev/null
    ok "$1 and its pod is gone" wait_for 20 has_no_pods
    is "$1 and its state is told" "$(column STATE "$2")" "$3"
    is "and its node" "$(column NODE "$2")" n1
    like "and its time" "$(column TIME "$2")" '^[0-9:]+$'
    like "and why" "$(kctl get job "$2" --no-headers)" "$4"
}
ended_as "a job that succeeds" "$(ksub --parsable --wrap true)" Completed ''
ended_as "one that fails" "$(ksub --parsable --wrap 'exit 3')" \
    Failed 'exit code 3'
ended_as "one that is killed" "$(ksub --parsable --wrap 'kill -9 $$')" \
    Failed 'killed by signal 9'
like "a description tells it too" "$(kctl describe job "$id")" 'n1'

# --- cancelled while it waited ---------------------------------------------------
metric() {
    curl -fsS --unix-socket "$KILN_SERVER" http://kiln/metrics | grep -qx "$1"
}
waiting='scheduler_pending_pods{queue="unschedulable"}'
large=$(ksub --parsable -c 9999 --wrap true)
ok "a job that fits nowhere waits" wait_for 20 metric "$waiting 1"
ok "it is cancelled" kctl cancel "$large"
ok "and the scheduler waits with it no longer" wait_for 20 metric "$waiting 0"

# --- and over a restart of the controller ---------------------------------------
stop controller
cluster_controller --allow-root-jobs
is "after a restart of the controller, all of it is there" \
    "$(column STATE "$id") $(column NODE "$id")" "Cancelled n1"
finish
