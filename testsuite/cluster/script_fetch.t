#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The controller goes away between the binding of a pod and the fetch of what
# its agent needs to start it. The agent asks until it has an answer.

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

# An agent that does not run cannot fetch; what the watch told it waits in its
# socket, and is there when it goes on.
turn() { # HOW
    signal n1 STOP
    id=$(as kilntest1 ksub --parsable --wrap "echo script $1 >>ran")
    wait_for 20 is_bound "$id" || note "job $id is not bound"
    sleep 2 # the watch has told of it, too
    stop controller "$1"
    signal n1 CONT
    asks() { grep -q "cannot fetch the script.*job-$id" "$cluster/log/n1"; }
    ok "an agent that cannot fetch a script says so ($1)" wait_for 20 asks
    cluster_controller --node-grace 30s
    ok "and runs the job when the controller is back" \
        wait_for 30 state_is "$id" Completed
    is "whose pod was made once" "$(pods_of "$id" .metadata.name | wc -l)" 1
}
turn KILL
turn TERM
is "each has run once" "$(sort "$cluster/home/kilntest1/ran")" \
    "script KILL
script TERM"
unlike "no start has failed" "$(kctl get pods -o json)" StartError
finish
