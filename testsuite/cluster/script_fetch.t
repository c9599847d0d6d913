#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The controller stops between the binding of a pod and the fetch of its script
# by the agent. The agent repeats the request until it gets an answer.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --node-grace 30s
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 300ms
is_ready() { kctl get node n1 --no-headers | grep -qw Ready; }
wait_for 20 is_ready || bail_out "no node"
wait_for 20 grep -q 'is registered' "$cluster/log/n1" || bail_out "no agent"
kctl taint n1 "$(kctl get node n1 -o json | jq -r '.spec.taints[] |
    select(.key | contains("virtual")).key')-" >/dev/null
pods_of() { # ID JQ
    kctl get pods -o json | jq -r --arg job "job-$1" '.items[] |
        select(.metadata.ownerReferences[0].name == $job) | '"$2"
}
is_bound() { pods_of "$1" .spec.nodeName | grep -q n1; }
state_is() { kctl get job "$1" --no-headers | grep -qw "$2"; }

# Prints how many bytes wait in the sockets to the controller for their readers.
unread() {
    awk -v port="$(printf ':%04X' "${cluster_url##*:}")" 'substr($3, 9) == port {
        split($5, queues, ":"); print "0x" queues[2] }' /proc/net/tcp |
        { sum=0; while read -r n; do sum=$((sum + n)); done; echo "$sum"; }
}
has_more() { [ "$(unread)" -gt $((before + 1000)) ]; }
# The agent is stopped so that it cannot fetch. The event of the watch stays in
# the agent's socket until the agent continues.
turn() { # HOW
    # The agent asks for its pods again some time after the controller is back. Without
    # that watch there would be no event.
    id=$(as kilntest1 ksub --parsable --wrap true)
    wait_for 60 state_is "$id" Completed || note "the agent does not see pods ($1)"
    signal n1 STOP
    before=$(unread)
    id=$(as kilntest1 ksub --parsable --wrap "echo script $1 >>ran")
    wait_for 20 is_bound "$id" || note "job $id is not bound"
    wait_for 20 has_more || note "the watch has not sent the event"
    sleep 1 # the rest of it
    stop controller "$1"
    signal n1 CONT
    asks() { grep -q "cannot fetch the script.*job-$id" "$cluster/log/n1"; }
    ok "an agent that cannot fetch a script logs that ($1)" wait_for 20 asks
    cluster_controller --node-grace 30s
    ok "the agent runs the job when the controller is back ($1)" \
        wait_for 30 state_is "$id" Completed
    is "the job has one pod ($1)" "$(pods_of "$id" .metadata.name | wc -l)" 1
}
turn KILL
turn TERM
is "each job has run once" "$(sort "$cluster/home/kilntest1/ran")" \
    "script KILL
script TERM"
unlike "no start has failed" "$(kctl get pods -o json)" StartError
finish
