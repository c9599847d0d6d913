#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The document of kctl timeline on a cluster with more nodes than one answer
# contains: the first nodes by name, and of each node a part of its jobs.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kctl jq curl
cluster_munge
cluster_controller --node-grace 3600s
root() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
jq -n '{apiVersion: "v1", kind: "List", items: [range(600) | {apiVersion: "v1",
    kind: "Node", metadata: {name: "n\(.)"}}]}' >"$cluster/nodes.json"
root create -f "$cluster/nodes.json" >/dev/null
jq -n '{apiVersion: "v1", kind: "List", items: [range(20) | {apiVersion: "v1",
    kind: "Pod", metadata: {name: "p\(.)", namespace: "default"}, spec: {
    nodeName: "n1", securityContext: {runAsUser: 54321},
    activeDeadlineSeconds: 3600, containers: [{name: "main", image: "host"}]}}]}' \
    >"$cluster/pods.json"
root create -f "$cluster/pods.json" >/dev/null
jq -n '{apiVersion: "kiln.hpc/v1", kind: "Reservation", metadata: {name: "all"},
    spec: {nodes: [range(600) | "n\(.)"], start: (now + 3600 | todate),
    duration: "2h", recurrence: "Daily", maintenance: true}}' >"$cluster/all.json"
root create -f "$cluster/all.json" >/dev/null 2>&1
look() { # QUERY FILTER
    curl -sg --unix-socket "$cluster/state/socket" \
        "http://kiln/kiln/v1/timeline?$1" | jq -c "$2"
}
is "the first nodes are those with the lowest numbers" \
    "$(look limit=4 '[.total, .nodes[].name]')" '[600,"n0","n1","n2","n3"]'
is "an answer has at most 256 nodes" \
    "$(look limit=256 '[(.nodes | length), .nodes[255].name]')" \
    '[256,"n255"]'
is "the answer for one node has all of its twenty jobs" \
    "$(look nodes=n1 '.nodes[0] | [(.jobs | length), .more]')" '[20,null]'
is "an answer for many nodes has fewer jobs per node, and the number of the others" \
    "$(look limit=256 '.nodes[1] | [(.jobs | length), .more]')" '[16,4]'
is "a recurring reservation of all nodes is on each node with its next eight windows" \
    "$(look limit=256 '[.nodes[].reservations | length] | unique')" '[8]'
finish
