#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Reservation of a number of nodes: one of them becomes silent before the
# start. Another node is taken, and an event says so.

# shellcheck disable=SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged munge kiln-controller kiln-agent kctl
cluster_munge
cluster_controller --socket "$cluster/socket" --node-grace 5s
cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 500ms
cluster_agent n2 --topology 'package:1 core:4 pu:1' --heartbeat 500ms
root() { kctl --server "http+unix://$cluster/socket" "$@"; }
are_ready() { [ "$(root get nodes --no-headers | grep -cw Ready)" = 2 ]; }
wait_for 20 are_ready || bail_out "no nodes"
root taint nodes n1 n2 kiln.hpc/virtual- >/dev/null

root reserve some --count 1 --start now+1hour --duration 1h --users root >/dev/null
node() { root get reservation some -o 'jsonpath={.status.nodes[0]}'; }
has_one() { [ -n "$(node)" ]; }
ok "a node is chosen long before the start" wait_for 10 has_one
was=$(node)
other=n1
[ "$was" = n2 ] || other=n2
signal "$was" STOP
has() { [ "$(node)" = "$1" ]; }
ok "another node is taken for a silent one" wait_for 30 has "$other"
told() {
    root describe reservation some >"$cluster/out" 2>&1
    grep -q "NodeReplaced.*node $was is not ready, and is replaced" "$cluster/out"
}
ok "an event says which node was replaced, and why" wait_for 10 told
signal "$was" CONT
ok "the silent node becomes Ready again" wait_for 30 are_ready
ok "it does not replace the other node" has "$other"
told_again() { cat "$cluster"/log/n[12] | grep -c "considered this node not ready"; }
ok "an agent whose node was given up does not log this again and again" \
    test "$(told_again)" -le 5

# A user's node is always free, so it would be in each reservation by number.
root delete reservation some >/dev/null
root annotate node n2 kiln.hpc/uid=54321 >/dev/null
root reserve both --count 2 --start now+1hour --duration 1h --users root \
    >"$cluster/out" 2>&1
ok "the node of a user is in no reservation by number" \
    grep -q 'only 1 with these labels' "$cluster/out"
root annotate node n2 kiln.hpc/uid- >/dev/null

# --- host lists ---------------------------------------------------------------

# Prints what a command writes, on one line.
line_of() { "$@" 2>&1 | tr '\n' ' '; }
is "a host list names several nodes" "$(line_of root cordon 'n[1-2]')" \
    "node/n1 cordoned node/n2 cordoned "
is "it is accepted after the type, too" \
    "$(line_of root uncordon 'node/n[1,2],n1')" \
    "node/n1 uncordoned node/n2 uncordoned "
is "kctl taint accepts one" "$(line_of root taint 'n[1-2]' a=b:NoSchedule)" \
    "node/n1 tainted node/n2 tainted "
is "kctl label accepts one" "$(line_of root label nodes 'n[1-2]' rack=r1)" \
    "node/n1 labeled node/n2 labeled "
is "kctl get accepts one" "$(line_of root get nodes 'n[1-2]' -o name)" \
    "node/n1 node/n2 "
is "kctl nodes accepts one" "$(line_of root nodes -o name 'n[1-2]')" \
    "node/n1 node/n2 "
like "a node that is missing is named" "$(line_of root nodes 'n[2-3]')" \
    'node "n3" not found'
like "an error has the position" "$(line_of root drain 'n[1-')" \
    'a number is missing at character 5'
root reserve all --nodes n2,n1 --start now+9hours --duration 1h --users root \
    --overlap >/dev/null
like "tables show nodes in the short form" \
    "$(root get reservations all --no-headers)" ' n\[1-2\] '
finish
