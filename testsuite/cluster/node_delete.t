#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No client can delete a node by mistake while a pod runs on it. A node that is
# deleted and registers again has the settings that administrators made.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged jq curl
[ "$(id -u)" -eq 0 ] || skip_all "only root can act for other users"
cluster_begin
need kiln-controller kiln-agent ksub kctl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge

state_is() { admin get job "$1" --no-headers | grep -qw "$2"; }
node() { admin get node n1 -o json | jq -r "$1"; }
node_is_ready() { admin get node n1 --no-headers | grep -qw Ready; }
is_another() { node_is_ready && [ "$(node .metadata.uid)" != "$uid" ]; }
taints() { node '[.spec.taints[]?.key] | sort | join(" ")'; }
by_hand() { # QUERY
    curl -sS -X DELETE --unix-socket "$cluster/state/socket" \
        "http://k/api/v1/nodes$1"
}
start_of() { wc -l <"$cluster/home/kilntest1/starts"; }

cluster_controller --approve-nodes
cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 500ms
wait_for 20 node_is_ready || bail_out "no node"
like "a new node waits for its approval" "$(taints)" 'kiln.hpc/not-approved'
admin approve node n1 >/dev/null
admin taint node n1 kiln.hpc/virtual- >/dev/null
running=$(submit --wrap 'echo start >>starts; while [ ! -e go ]; do sleep 0.2; done')
ok "a job runs" wait_for 20 state_is "$running" Running

# --- a node in use ------------------------------------------------------------
said=$(admin delete node n1 2>&1)
is "a node with a running job is not deleted" "$?" 75
like "the message says what runs there, and what to do" "$said" \
    "1 pod has not ended.*default/job-$running.*kctl drain n1.*kctl fence.*--yes"
is "the API refuses it, too" "$(by_hand /n1 | jq -r '.code, .reason' | xargs)" \
    "409 Conflict"
is "the API refuses to delete all nodes" "$(by_hand '' | jq -r .code)" 409
is "a dry run is refused, too" "$(by_hand '/n1?dryRun=All' | jq -r .code)" 409
ok "the node still exists" node_is_ready
as kilntest1 touch go
ok "the job runs to its end" wait_for 20 state_is "$running" Completed
is "it was started once" "$(start_of)" 1

# --- an empty node that registers again ---------------------------------------
admin cordon n1 >/dev/null
admin label node n1 rack=r7 >/dev/null
admin taint node n1 site/special=yes:NoSchedule >/dev/null
uid=$(node .metadata.uid)
ok "an empty node can be deleted" admin delete node n1
ok "its agent registers it again" wait_for 30 is_another
is "it is still cordoned" "$(node .spec.unschedulable)" true
is "it still has its label" "$(node .metadata.labels.rack)" r7
like "it still has its taint" "$(taints)" 'site/special'
unlike "it is still approved, and the taint that was removed is not added again" \
    "$(taints)" \
    'not-approved|virtual'
admin uncordon n1 >/dev/null
admin taint node n1 site/special- >/dev/null

# --- deletion with --yes ------------------------------------------------------
as kilntest1 rm -f go starts
running=$(submit --wrap 'echo start >>starts; while [ ! -e go ]; do sleep 0.2; done')
ok "another job runs" wait_for 20 state_is "$running" Running
uid=$(node .metadata.uid)
ok "a node with a running job can be deleted with --yes" \
    admin delete node n1 --yes
ok "it registers again" wait_for 30 is_another
is "it has the settings that it had last" \
    "$(node '.spec.unschedulable // false')" false
as kilntest1 touch go

# --- a reset ------------------------------------------------------------------
stop n1
admin label node n1 rack=r8 --overwrite >/dev/null
admin delete node n1 --yes >/dev/null
ok "the settings of a deleted node can be forgotten" \
    admin reset node n1
cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 500ms
ok "the node then registers as a new node" wait_for 30 node_is_ready
is "it has no label" "$(node .metadata.labels.rack)" null
like "it waits for its approval" "$(taints)" 'not-approved'
finish
