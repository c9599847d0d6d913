#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is known of a job is kept after its pods are gone: where it ran, how
# long, how it ended. Pods that end because their job is held do not count as
# failed.

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
# column NAME ID: prints this column of the job's row in the table of jobs.
column() {
    kctl get jobs -o wide | awk -v name="$1" -v id="$2" '
        NR == 1 { at = index($0, name); next }
        $1 == id { text = substr($0, at); sub(/ .*/, "", text); print text }'
}
runs() { [ "$(column STATE "$1")" = Running ]; }
has_no_pods() { [ "$(kctl get pods -o name 2>/dev/null)" = "" ]; }
# patch ID BODY: patches the job as any client of the API can.
patch() {
    curl -fsS -o "$cluster/answer" --unix-socket "$KILN_SERVER" -X PATCH \
        -H 'Content-Type: application/merge-patch+json' -d "$2" \
        "http://kiln/apis/batch/v1/namespaces/default/jobs/job-$1"
}

# --- suspended while it runs --------------------------------------------------
id=$(ksub --parsable --wrap 'sleep 1000')
ok "a job runs" wait_for 20 runs "$id"
ok "the job is suspended" patch "$id" '{"spec":{"suspend":true}}'
ok "its pod ends" wait_for 60 has_no_pods
is_excused() {
    [ "$(job "$id" '"\(.status.failed) \(.status.excused)"')" = "null 1" ]
}
ok "the pod does not count as failed" wait_for 20 is_excused
is "the job is held" "$(column STATE "$id")" Held
ok "the job is resumed" patch "$id" '{"spec":{"suspend":false}}'
ok "the job runs again" wait_for 20 runs "$id"
is "this is its second attempt" "$(kctl get pods -o name)" "pod/job-$id-0-r1"

# --- cancelled ----------------------------------------------------------------
ok "the job is cancelled" kctl cancel "$id"
ok "the job then has the condition Failed" \
    kctl wait --for condition=Failed --timeout 60s job "$id"
ok "it has no pod left" wait_for 20 has_no_pods
is "the table still shows its node" "$(column NODE "$id")" n1
like "the table shows how long it ran" "$(column TIME "$id")" '^[0-9:]+$'
is "the table says that it was cancelled" "$(column STATE "$id")" Cancelled
is "its status has the time of its end" \
    "$(job "$id" '.status.lastRun | (.startedAt <= .finishedAt)')" true

# --- ended, and its pod deleted -----------------------------------------------
# ended_as NAME ID STATE REASON: checks what is known of the job after its pod
# is deleted.
ended_as() {
    ok "$1 has ended" wait_for 30 sh -c \
        "kctl get job $2 -o json | jq -e '.status.lastRun.finishedAt'"
    kctl delete --wait pod "job-$2-0" >/dev/null
    ok "$1: its pod is deleted" wait_for 20 has_no_pods
    is "$1: the table shows its state" "$(column STATE "$2")" "$3"
    is "the table shows its node" "$(column NODE "$2")" n1
    like "the table shows how long it ran" "$(column TIME "$2")" '^[0-9:]+$'
    like "the table shows why it ended" "$(kctl get job "$2" --no-headers)" "$4"
}
ended_as "a job that succeeds" "$(ksub --parsable --wrap true)" Completed ''
ended_as "a job that fails" "$(ksub --parsable --wrap 'exit 3')" \
    Failed 'exit code 3'
ended_as "a job that is killed" "$(ksub --parsable --wrap 'kill -9 $$')" \
    Failed 'killed by signal 9'
like "kctl describe shows the node of the cancelled job" \
    "$(kctl describe job "$id")" 'n1'

# --- cancelled while it waits -------------------------------------------------
metric() {
    curl -fsS --unix-socket "$KILN_SERVER" http://kiln/metrics | grep -qx "$1"
}
waiting='scheduler_pending_pods{queue="unschedulable"}'
large=$(ksub --parsable -c 9999 --wrap true)
ok "a job that fits nowhere waits" wait_for 20 metric "$waiting 1"
ok "the waiting job is cancelled" kctl cancel "$large"
ok "the scheduler's queue no longer contains it" wait_for 20 metric "$waiting 0"

# --- after a restart of the controller ----------------------------------------
stop controller
cluster_controller --allow-root-jobs
is "the table is the same after a restart of the controller" \
    "$(column STATE "$id") $(column NODE "$id")" "Cancelled n1"
finish
