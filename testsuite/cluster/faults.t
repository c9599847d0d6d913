#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Services that Kiln depends on fail: munged stops, clocks differ, a second
# controller uses the same state directory. Each failure is reported with a
# helpful message, nothing that was acknowledged is lost, and Kiln continues by
# itself when the failure is over.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged jq curl
[ "$(id -u)" -eq 0 ] || skip_all "only root can make users"
cluster_begin
need kiln-controller kiln-agent ksub kctl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge

log_says() { # NAME PATTERN
    grep -Eq "$2" "$cluster/log/$1"
}
state_is() { admin get job "$1" --no-headers | grep -qw "$2"; }
node_is_ready() { # NAME
    admin get node "$1" --no-headers | grep -qw Ready
}
untaint() { # NAME
    for key in $(admin get node "$1" -o json | jq -r '.spec.taints[]?.key'); do
        admin taint node "$1" "$key-" >/dev/null
    done
}
agent() { # NAME
    cluster_agent "$1" --topology 'package:1 core:8 pu:1' --heartbeat 500ms
}
cluster_controller
agent n1
wait_for 20 node_is_ready n1 || bail_out "no node"
untaint n1

# --- munged is stopped --------------------------------------------------------
running=$(submit --wrap "while [ ! -e $cluster/home/kilntest1/go ]; do \
sleep 0.2; done")
ok "a job runs" wait_for 20 state_is "$running" Running
stop munged KILL
rm -f "$munge_socket"
said=$(submit --wrap true 2>&1)
is "without munged a submission fails" "$?" 69
like "the message says what does not answer" "$said" \
    "MUNGE does not answer.*is munged running.*$munge_socket"
agent n2
ok "the log of a new node's agent says it, too" wait_for 20 log_says n2 \
    "cannot register node 'n2'.*MUNGE does not answer.*is munged running"
like "a registered node stays Ready" \
    "$(sleep 1; admin get node n1 --no-headers)" '\bReady\b'
like "the controller is ready" "$(curl -fsS "$cluster_url/readyz")" ok
as kilntest1 touch go
ok "the end of a job is reported over an open connection" \
    wait_for 20 state_is "$running" Completed
cluster_munge
submits() { id=$(submit --wrap true); }
wait_for 20 submits
like "submissions succeed when munged runs again" "$id" '^[0-9]+$'
ok "a submitted job runs" wait_for 20 state_is "$id" Completed
ok "the new node is then registered" wait_for 20 node_is_ready n2
stop n2

# --- clocks -------------------------------------------------------------------
# Two munged with the right key, one an hour late and one an hour early.
skewed() { # NAME OFFSET
    # Only the library is preloaded, because the program faketime would stay
    # the parent of munged.
    munged_beside "$1" "$cluster/munge/$1" \
        env LD_PRELOAD="$library" FAKETIME="$2"
    right=$munge_socket
    munge_socket=$cluster/munge/$1
    cluster_clients
    said=$(submit --wrap true 2>&1)
    code=$?
    agent "$1"
    munge_socket=$right
    cluster_clients
}
if command -v faketime >/dev/null; then
    # shellcheck disable=SC2016 # of the shell that it starts
    library=$(faketime -f +0 sh -c 'echo "$LD_PRELOAD"')
    skewed late -1h
    is "a submission with a clock that is late is refused" "$code" 77
    like "the message says by how much, and what to check" "$said" \
        'expired.*3[56][0-9][0-9] seconds.*clock'
    ok "a node with such a clock is refused" wait_for 20 log_says late \
        "cannot register node 'late'.*expired.*clock"
    skewed early +1h
    is "a submission with a clock that is early is refused" "$code" 77
    like "the message says by how much the clock is early" \
        "$said" '3[56][0-9][0-9] seconds in the future.*clock'
    ok "a node with such a clock is refused, too" wait_for 20 log_says early \
        "cannot register node 'early'.*in the future.*clock"
    for name in late early; do
        stop "$name"
        stop "$name" # the munged of the same name
    done
else
    skip "clocks that differ" "faketime is missing"
fi
empty "the refused nodes were not created" \
    "$(admin get nodes -o name | grep -E 'late|early')"

# --- a second controller ------------------------------------------------------
find_free_port
said=$(kiln-controller --state-dir "$cluster/state" ${cluster_store:+--store "$cluster_store"} --cluster test \
    --listen "127.0.0.1:$free_port" --munge-socket "$munge_socket" \
    --socket "$cluster/second" 2>&1)
is "a second controller with the same state directory is refused" "$?" 75
like "the message names the process of the first one" "$said" \
    "$cluster/state.*(process|pid) $(pid_of controller)"
ok "the first controller still accepts jobs" submit --wrap true

# --- the tests themselves -----------------------------------------------------
# The number of a daemon that has ended soon is another process's. Starts are
# told in hundredths of a second, and a fast machine does all of this in one.
start brief true
wait_for 10 has_ended "$(pid_of brief)"
wait "$(pid_of brief)"
sleep .1
other=$(sh -c 'sleep 60 >/dev/null 2>&1 & echo $!')
cluster_daemons=$(printf '%s' "$cluster_daemons" | sed "s/^brief [0-9]*/brief $other/")
not() { ! "$@"; }
ok "a test does not take another process for its daemon" not is_running brief
ok "a test sends no signal to it" not signal brief KILL
stop brief KILL
ok "stop does not end it" not has_ended "$other"
kill "$other"

finish
