#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The previous user of the cores is still being removed from the node when the
# cores are given to another job. That job waits, and is not refused.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --node-grace 2s
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
home=$cluster/home/kilntest1
agent() {
    cluster_agent n1 --topology 'package:1 core:1 pu:1' --heartbeat 300ms
}
agent
is_ready() { kctl get node n1 --no-headers | grep -qw Ready; }
is_silent() { kctl get node n1 --no-headers | grep -qw NotReady; }
wait_for 20 is_ready || bail_out "no node"
kctl taint n1 "$(kctl get node n1 -o json | jq -r '.spec.taints[] |
    select(.key | contains("virtual")).key')-" >/dev/null
state_is() { kctl get job "$1" --no-headers | grep -qw "$2"; }
begun() { grep -q . "$home/begun-$1"; }
cat >"$home/clings.sh" <<'TXT'
#!/bin/sh
trap '' TERM
echo $$ >begun-$KILN_JOB_ID
sleep 1000
TXT
chown kilntest1: "$home/clings.sh"

# --- fenced by an administrator while the agent is down -----------------------
id=$(as kilntest1 ksub --parsable clings.sh)
wait_for 20 begun "$id"
next=$(as kilntest1 ksub --parsable --wrap true)
stop n1 KILL
ok "a node without heartbeats is NotReady" wait_for 20 is_silent
kctl fence --yes n1 >/dev/null
is_given_up() {
    kctl get pods -o json | jq -e --arg pod "job-$id-0" '[.items[] |
        select(.metadata.name == $pod and .status.phase != "Failed")] == []'
}
ok "its pod has failed or is gone after the node was fenced" wait_for 20 is_given_up
agent
kctl unfence n1 >/dev/null
ok "when the agent is back, the next job runs" \
    wait_for 40 state_is "$next" Completed
ok "the process of the first job was removed before" \
    wait_for 10 has_ended "$(cat "$home/begun-$id")"
unlike "no job was refused because of overlapping allocations" \
    "$(kctl get pods -o json; cat "$cluster/log/n1")" AllocationOverlap

# --- an agent that is killed again and again, on one core ---------------------
cat >"$home/element.sh" <<'TXT'
#!/bin/sh
echo x >>elements
TXT
ids=
for _ in 1 2 3 4 5 6 7 8 9 10; do
    ids="$ids $(as kilntest1 ksub --parsable element.sh)"
done
for _ in 1 2 3 4 5 6; do
    sleep 0.3
    stop n1 KILL
    agent
done
all_complete() {
    for element in $ids; do
        state_is "$element" Completed || return 1
    done
}
ok "jobs complete on a core whose agent is killed again and again" \
    wait_for 60 all_complete
is "each job ran once" "$(wc -l <"$home/elements")" 10
finish
