#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Running pods that state almost nothing about themselves are deleted by force.
# Their node keeps what the pods hold, and neither this controller nor the next
# one crashes when it reads these entries.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
controller() { cluster_controller --node-grace 2s; }
controller
root() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
user() { as kilntest1 kctl "$@"; }
agent() {
    cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 300ms
}
agent
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

# bare NAME SPEC-MEMBERS: a pod with no `requests`.
bare() {
    cat <<TXT
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$1"},
 "spec": {"restartPolicy": "Never", $2 "containers": [{"name": "main",
  "image": "host", "command": ["sleep", "1000"]}]}}
TXT
}
phase_is() { user get pod "$1" -o json | jq -e ".status.phase == \"$2\""; }
remnants() { root get node n1 -o json | jq '.status.remnants // {} | length'; }
nothing_is_left() { [ "$(remnants)" -eq 0 ]; }
log_says() { grep -Eq -- "$1" "$cluster/log/controller"; }

bare plain '' | user create -f - >/dev/null
bare exclusive '"placement": {"cpuPolicy": "exclusive"},' |
    user create -f - >/dev/null
ok "a pod without requests runs" wait_for 20 phase_is plain Running
ok "a pod without requests and with exclusive cores runs, too" \
    wait_for 20 phase_is exclusive Running

# The agent is stopped so that it cannot clean up and the node keeps its
# entries.
signal n1 STOP
user delete pod plain exclusive --force --grace-period=0 >/dev/null 2>&1
not_ok "a pod that was deleted by force no longer exists" user get pod plain
is "the node keeps what both pods held" "$(remnants)" 2
ok "the controller still runs" is_running controller
bare next '' | user create -f - >/dev/null
scheduled() {
    user get pod next -o json | jq -e '.spec.nodeName == "n1"'
}
ok "the controller schedules another pod" wait_for 20 scheduled

stop controller
is "the controller ends with exit status 0" "$stopped_with" 0
controller
ok "another controller starts with these entries" is_running controller
is "the next controller has kept both entries" "$(remnants)" 2

# --- entries that make no sense -----------------------------------------------

# An administrator, or an agent, writes entries that make no sense.
curl -s --max-time 10 --unix-socket "$cluster/state/socket" -X PATCH \
    -H 'Content-Type: application/merge-patch+json' -d '{"status": {
    "remnants": {"x": {"namespace": "default", "name": "x"},
    "y": {"namespace": "", "name": ""},
    "z": {"namespace": "default", "name": "z", "allocation": {
        "cpus": "nine to five", "memoryNodes": "99999", "devices": ["a", "a"],
        "memory": [{"node": 77, "bytes": "1"}]}}}}}' \
    http://kiln/api/v1/nodes/n1/status >"$cluster/log/patch"
ok "the controller still answers after such entries are written" \
    root get node n1
ok "the controller logs which entry it ignores" \
    wait_for 10 log_says "entry 'y' cannot be read"
stop controller KILL
controller
ok "another controller starts with such entries" is_running controller
bare last '' | user create -f - >/dev/null
scheduled() {
    user get pod last -o json | jq -e '.spec.nodeName == "n1"'
}
signal n1 CONT
ok "the controller schedules a pod beside such entries" wait_for 20 scheduled
ok "the agent removes all entries" wait_for 20 nothing_is_left
ok "the agent still runs" is_running n1
finish
