#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A node that starts with less hardware than it had reports that and gets no
# jobs, until it has the hardware again or an administrator accepts what it
# has.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged jq curl
cluster_begin
need kiln-controller kiln-agent ksub kctl
cluster_munge

node_is_ready() { admin get node n1 --no-headers | grep -qw Ready; }
agent() { # CORES
    cluster_agent n1 --topology "package:1 core:$1 pu:1" --heartbeat 500ms
}
expects() {
    admin get node n1 -o json | jq -r '.metadata.annotations
        ["kiln.hpc/expected-hardware"] // ""' | grep -q "cpu=$1 "
}
is_tainted() { admin get node n1 -o json | jq -e '
    .spec.taints[]? | select(.key == "kiln.hpc/hardware-missing")'; }
is_untainted() { ! is_tainted; }
said() { admin get node n1 -o json | jq -r '.status.conditions[] |
    select(.type == "HardwareMissing" and .status == "True") | .message'; }
says() { said | grep -q "$1"; }
cluster_controller
agent 4
wait_for 20 node_is_ready || bail_out "no node"
ok "the hardware of a new node is stored" wait_for 20 expects 4
ok "the new node has no taint" is_untainted

stop n1
agent 3
ok "a node that starts with fewer CPUs gets a taint" wait_for 20 is_tainted
ok "the condition says what is missing" wait_for 20 says 'cpu 3 of 4'
like "the condition says how to accept it" "$(said)" \
    'kctl annotate node n1 kiln.hpc/expected-hardware-'
happened() { admin get events -A | grep -q 'HardwareMissing.*cpu 3 of 4'; }
ok "an event says it, too" wait_for 20 happened
stop n1
agent 4
ok "the taint is removed when the node has all CPUs again" \
    wait_for 20 is_untainted

stop n1
agent 2
ok "the node gets the taint again with fewer CPUs" wait_for 20 is_tainted
admin annotate node n1 kiln.hpc/expected-hardware- >/dev/null
ok "when an administrator accepts it, fewer CPUs are expected" \
    wait_for 20 expects 2
ok "the taint is removed then" wait_for 20 is_untainted
stop n1
agent 6
ok "additional CPUs are stored as the new expectation" wait_for 20 expects 6
ok "they cause no taint" is_untainted
finish
