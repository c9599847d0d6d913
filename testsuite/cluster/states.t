#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each state of a job in kiln-states(7), as it comes about: the same word in
# the Job's status and in tables, one that outlives the pods, and an exit code
# of `ksub --wait` that is 0 for Completed alone.

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
column() { # NAME: of the table of jobs
    root get jobs -o wide | awk -v name="$1" -v id="$id" '
        NR == 1 { at = index($0, name); next }
        $1 == id { text = substr($0, at); sub(/ .*/, "", text); print text }'
}
state_is() { [ "$(status state)" = "$1" ]; }
# becomes NAME STATE: the job $id does, and every output says so.
becomes() {
    ok "$1: $2" wait_for 40 state_is "$2" || note "it is $(status state)"
    is "and is so in tables" "$(column STATE)" "$2"
}
# waits_as NAME CODE: ksub, whose exit code is in the file $id.
await() { # OPTIONS...: ksub --wait in the background; its job is $id
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
    is "and ksub --wait exits with $1" \
        "$(cat "$cluster/home/kilntest1/code")" "$1"
    rm -f "$cluster/home/kilntest1/id"
}
tells() { # WORDS: ksub --wait does, in one line, or nothing
    is "and tells ${1:-nothing}" \
        "$(grep -v 'no time limit' "$cluster/home/kilntest1/said")" \
        "${1:+ksub: job $id: $1}"
}

# --- waiting and running ---------------------------------------------------------
submit -c 4 --wrap 'exec sleep 1000'
becomes "one that has a node" Running
runner=$id
# A shorter one comes before the other, also when that is there anew at once.
submit -c 4 -t 5 --wrap 'exec sleep 1000'
becomes "one for which there is no room" Pending
waiter=$id
submit --hold --wrap 'exec sleep 1000'
becomes "one that is submitted as held" Held
root cancel "$id" >/dev/null
becomes "one that never ran and is cancelled" Cancelled
is "by whom is told" "$(status cancelledBy)" root
id=$runner
root requeue "$id" >/dev/null
id=$waiter
becomes "one that waited, and runs in the place of another" Running
id=$runner
becomes "one that ran, and waits to start anew" Requeued
id=$waiter
as kilntest1 kctl cancel "$id" >/dev/null
becomes "one that its user has cancelled" Cancelled
is "by whom is told as well" "$(status cancelledBy)" kilntest1
id=$runner
becomes "the other runs again" Running
as kilntest1 kctl cancel "$id" >/dev/null
becomes "until it is cancelled, too" Cancelled

# --- endings ---------------------------------------------------------------------
await --wrap true
becomes "one that succeeds" Completed
exits 0
tells
await --wrap 'exit 3'
becomes "one that fails" Failed
exits 3
tells "Failed on n1, exit code 3"
await --wrap 'kill -9 $$'
becomes "one that is killed" Failed
exits 137
tells "Failed on n1, killed by signal 9 (SIGKILL)"
await --time 0:02 --wrap 'trap "exit 0" TERM; sleep 1000 & wait'
becomes "one that runs into its limit" TimedOut
exits 137
tells "TimedOut on n1, over 0:02"
await --wrap 'trap "exit 0" TERM; sleep 1000 & wait'
becomes "one that runs" Running
as kilntest1 kctl cancel "$id" >/dev/null
becomes "and is cancelled, and ends with 0 at that" Cancelled
exits 137
tells "Cancelled on n1, cancelled by kilntest1"
await -D "$cluster/nowhere" --wrap true
becomes "one that cannot be started" Failed
exits 125
like "and tells why" "$(cat "$cluster/home/kilntest1/said")" \
    "^ksub: job $id: Failed on n1, working directory '.*/nowhere' .*No such"
like "a deadline is set" "$(api kilntest1 POST "$jobs" \
    "$(job_json late '"activeDeadlineSeconds":2,' | sed 's,/bin/true",/bin/sleep"\,"1000",')")" \
    '^201 '
id=$(field root "$jobs/late" .status.id)
becomes "one that is over its deadline" Deadline

# Endings and states stay when the pods and the controller are gone.
root delete pods --all >/dev/null
stop controller
controller
for ended in $(root get jobs -o json | jq -r '.items[] |
    "\(.status.id):\(.status.state)"'); do
    id=${ended%:*}
    is "job $id has its state without pods, and after a restart" \
        "$(column STATE)" "${ended#*:}"
done

# --- what happens to nodes, and what others do ------------------------------------
await --no-requeue -c 4 --wrap 'trap "" TERM; sleep 1000'
becomes "one that nobody will requeue" Running
signal n1 STOP
becomes "one whose node is silent" Unknown
root taint node n1 node.kubernetes.io/out-of-service=x:NoExecute >/dev/null
becomes "one whose node was given up" NodeFailed
exits 137
tells "NodeFailed on n1, node n1 was lost"
finish
