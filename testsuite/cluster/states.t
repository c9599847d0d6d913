#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each state of a job in kiln-states(7) is brought about: the status of the Job
# and the tables have the same word, which is kept after the pods are gone. The
# exit code of `ksub --wait` is 0 only for Completed.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
controller() { cluster_controller --node-grace 3s --socket "$cluster/socket"; }
controller

node_is() { root get node "$1" --no-headers | grep -qw -- "$2"; }
node() { # NAME CORES
    cluster_agent "$1" --topology "package:1 core:$2 pu:1" --heartbeat 300ms
    wait_for 20 node_is "$1" Ready || bail_out "node $1 does not register"
    for key in $(root get node "$1" -o json | jq -r '.spec.taints[]?.key |
        select(test("virtual"))'); do
        root taint node "$1" "$key-" >/dev/null
    done
}
node n1 4
submit() { id=$(as kilntest1 ksub --parsable "$@"); }
status() { root get job "$id" -o json | jq -r ".status.$1"; }
column() { # NAME: prints this column of the table of jobs
    root get jobs -o wide | awk -v name="$1" -v id="$id" '
        NR == 1 { at = index($0, name); next }
        $1 == id { text = substr($0, at); sub(/ .*/, "", text); print text }'
}
state_is() { [ "$(status state)" = "$1" ]; }
# becomes NAME STATE: waits until the job $id has that state, and checks the
# table.
becomes() {
    ok "$1: $2" wait_for 40 state_is "$2" || note "it is $(status state)"
    is "the table says $2" "$(column STATE)" "$2"
}
# await OPTIONS...: runs ksub --wait in the background. Its exit code goes into the
# file code. The ID of the job is in $id.
await() {
    rm -f "$cluster/home/kilntest1/code"
    # shellcheck disable=SC2016 # expanded by the inner shell
    as kilntest1 sh -c 'ksub --wait -t 10 "$@" >id 2>said; echo $? >code' sh "$@" &
    wait_for 20 has_id
    id=$(tr -dc 0-9 <"$cluster/home/kilntest1/id")
}
has_id() { grep -q '[0-9]' "$cluster/home/kilntest1/id"; }
has_code() { [ -s "$cluster/home/kilntest1/code" ]; }
exits() { # CODE
    wait_for 20 has_code
    is "ksub --wait exits with $1" \
        "$(cat "$cluster/home/kilntest1/code")" "$1"
    rm -f "$cluster/home/kilntest1/id"
}
tells() { # WORDS: checks that ksub --wait printed that message, or none
    is "ksub --wait prints ${1:-no message}" \
        "$(grep -v 'no time limit' "$cluster/home/kilntest1/said")" \
        "${1:+ksub: job $id: $1}"
}

# --- waiting and running ------------------------------------------------------
submit -c 4 --wrap 'exec sleep 1000'
becomes "a job that has a node" Running
runner=$id
# A job with a shorter time limit is before the other in the queue, even if the
# other is requeued at the same time.
submit -c 4 -t 5 --wrap 'exec sleep 1000'
becomes "a job for which there is no room" Pending
waiter=$id
submit --hold --wrap 'exec sleep 1000'
becomes "a job that is submitted with --hold" Held
root cancel "$id" >/dev/null
becomes "a job that is cancelled before it ran" Cancelled
is "the status says who cancelled it" "$(status cancelledBy)" root
id=$runner
root requeue "$id" >/dev/null
id=$waiter
becomes "a job that waited and gets the CPUs of another" Running
id=$runner
becomes "a job that was requeued and waits" Requeued
id=$waiter
as kilntest1 kctl cancel "$id" >/dev/null
becomes "a job that its user cancelled" Cancelled
is "the status says that the user cancelled it" \
    "$(status cancelledBy)" kilntest1
id=$runner
becomes "the requeued job" Running
as kilntest1 kctl cancel "$id" >/dev/null
becomes "the requeued job after a cancel" Cancelled

# --- endings ------------------------------------------------------------------
await --wrap true
becomes "a job that succeeds" Completed
exits 0
tells
await --wrap 'exit 3'
becomes "a job that fails" Failed
exits 3
tells "Failed on n1, exit code 3"
await --wrap 'kill -9 $$'
becomes "a job that is killed by a signal" Failed
exits 137
tells "Failed on n1, killed by signal 9 (SIGKILL)"
await --time 0:02 --wrap 'trap "exit 0" TERM; sleep 1000 & wait'
becomes "a job that reaches its time limit" TimedOut
exits 137
tells "TimedOut on n1, over 0:02"
await --wrap 'trap "exit 0" TERM; sleep 1000 & wait'
becomes "a job that runs" Running
as kilntest1 kctl cancel "$id" >/dev/null
becomes "a job that is cancelled and exits with 0 then" Cancelled
exits 137
tells "Cancelled on n1, cancelled by kilntest1"
await -D "$cluster/nowhere" --wrap true
becomes "a job that cannot be started" Failed
exits 125
like "ksub --wait says why" "$(cat "$cluster/home/kilntest1/said")" \
    "^ksub: job $id: Failed on n1, working directory '.*/nowhere' .*No such"
like "a job with a deadline is created" "$(api kilntest1 POST "$jobs" \
    "$(job_json late '"activeDeadlineSeconds":2,' | sed 's,/bin/true",/bin/sleep"\,"1000",')")" \
    '^201 '
id=$(field root "$jobs/late" .status.id)
becomes "a job that is over its deadline" Deadline

# The states are kept when the pods are deleted and the controller is
# restarted.
root delete pods --all >/dev/null
stop controller
controller
for ended in $(root get jobs -o json | jq -r '.items[] |
    "\(.status.id):\(.status.state)"'); do
    id=${ended%:*}
    is "job $id has the same state after that" \
        "$(column STATE)" "${ended#*:}"
done

# --- lost nodes ---------------------------------------------------------------
await --no-requeue -c 4 --wrap 'trap "" TERM; sleep 1000'
becomes "a job that is not requeued" Running
signal n1 STOP
becomes "a job whose node is silent" Unknown
root taint node n1 node.kubernetes.io/out-of-service=x:NoExecute >/dev/null
becomes "a job whose node is out of service" NodeFailed
exits 137
tells "NodeFailed on n1, node n1 was lost"
finish
