#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A process that cannot be killed keeps its cores until it is gone, whatever
# becomes of its pod, of the agent and of the controller meanwhile.
#
# A process that the freezer of cgroup v1 has frozen does not die of SIGKILL
# before it is thawed, like a process that waits for a broken disk.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
freezer=$(awk '$3 == "cgroup" && $4 ~ /(^|,)freezer(,|$)/ { print $2; exit }' \
    /proc/mounts)
[ -n "$freezer" ] || skip_all "cgroup v1's freezer is not mounted here"
freezer=$freezer/kiln-unkillable-$$
mkdir "$freezer" 2>/dev/null || skip_all "no cgroup can be made in the freezer"

thaw() { echo THAWED >"$freezer/freezer.state"; }
is_thawed() { ! grep -q . "$freezer/cgroup.procs"; }
clean_up() {
    (exit "$1") # for cluster_end
    thaw
    while read -r left; do
        kill -KILL "$left"
    done <"$freezer/cgroup.procs"
    wait_for 10 is_thawed
    rmdir "$freezer"
}
trap 'status=$?; clean_up "$status" 2>/dev/null; (exit "$status"); cluster_end' EXIT
freeze() { # PID: freezes the process
    echo "$1" >"$freezer/cgroup.procs" &&
        echo FROZEN >"$freezer/freezer.state" &&
        wait_for 10 grep -q FROZEN "$freezer/freezer.state"
}

cluster_munge
controller() { cluster_controller --node-grace 2s; }
controller
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
home=$cluster/home/kilntest1
agent() {
    cluster_agent n1 --topology 'numa:2 core:4 pu:1' --heartbeat 300ms
}
agent
wait_for 20 kctl wait --for condition=Ready node n1 || bail_out "no node"
kctl taint n1 "$(kctl get node n1 -o json | jq -r '.spec.taints[] |
    select(.key | contains("virtual")).key')-" >/dev/null

state_is() { kctl get job "$1" --no-headers | grep -qw "$2"; }
of_pod() { kctl get pod "$1" -o json | jq -r "$2"; }
pod_is() { [ "$(of_pod "$1" "$2")" = "$3" ]; }
# hold: runs a job on all cores and freezes it: $id, $pod, $process.
hold() {
    rm -f "$home/pid"
    # shellcheck disable=SC2016 # of the job's shell
    id=$(as kilntest1 ksub --parsable -n 8 -t 1:00:00 -o /dev/null \
        --wrap 'echo $$ >pid; exec sleep 1000')
    pod=job-$id-0
    wait_for 20 test -s "$home/pid" && wait_for 20 state_is "$id" Running
    process=$(cat "$home/pid")
    freeze "$process" || bail_out "process $process cannot be frozen"
}
lives() { ! has_ended "$process"; }
# Submits a job that needs cores and therefore waits: $next.
want() {
    next=$(as kilntest1 ksub --parsable -c 4 --numa single-numa-node \
        -o /dev/null --wrap true)
}
says() { kctl why "$next" | tr -s ' ' | grep -q -- "$1"; }
event() { kctl get events | grep -q -- "$1"; }
log_says() { grep -Eq -- "$1" "$cluster/log/n1"; }
left() { kctl get node n1 -o json | jq -r '.status.remnants[]?.name'; }
nothing_is_left() { [ -z "$(left)" ]; }

# --- deleted by force ---------------------------------------------------------

hold
kctl delete job "$id" >/dev/null
kctl delete pod "$pod" --force --grace-period=0 >/dev/null 2>&1
not_ok "a pod that was deleted by force no longer exists" kctl get pod "$pod"
is "the node keeps its allocation" "$(left)" "$pod"
want
ok "no other job gets its cores" wait_for 20 says 'Insufficient cpu'
ok "the agent logs that the process cannot be killed" \
    wait_for 20 log_says "$pod': 1 of its processes cannot be killed, \
among them process $process [(][a-z]+[)]"
ok "an event says that, too" \
    wait_for 10 event "Unkillable.*$pod.*stay reserved until"
stop n1 KILL
agent
ok "the next agent finds the process" \
    wait_for 20 log_says "$pod. is no longer in the API"
stop controller KILL
controller
wait_for 20 kctl wait --for condition=Ready node n1
ok "another controller does not give the cores to others either" \
    wait_for 20 says 'Insufficient cpu'
is "the node still keeps the allocation" "$(left)" "$pod"
ok "the process still exists" lives
like "the other job waits" "$(kctl get job "$next" --no-headers)" Pending
thaw
ok "the process ends when it is thawed" wait_for 20 has_ended "$process"
ok "the allocation is removed" wait_for 20 nothing_is_left
ok "the other job gets the cores" wait_for 20 state_is "$next" Completed

# --- deleted with a grace period ----------------------------------------------

hold
kctl cancel "$id" >/dev/null
is_leaving() { ! pod_is "$pod" .metadata.deletionTimestamp null; }
wait_for 20 is_leaving
kctl delete pod "$pod" --grace-period=1 >"$cluster/log/delete" 2>&1 & # earlier than its 30 s
deleting=$!
want
ok "an event says that a pod that is being deleted has an unkillable process" \
    wait_for 20 event "Unkillable.*$pod"
ok "the pod still exists" is_leaving
ok "its cores are not free" says 'Insufficient cpu'
thaw
ok "the process ends when it is thawed" wait_for 20 has_ended "$process"
ok "another job gets the cores" wait_for 20 state_is "$next" Completed
wait "$deleting"

# --- the cores are given to another pod ---------------------------------------

# An administrator fences the node as if it were off, but it is not.
hold
signal n1 STOP
phase_is_unknown() { pod_is "$pod" .status.phase Unknown; }
wait_for 20 phase_is_unknown
kctl fence node n1 --yes >/dev/null
wait_for 20 pod_is "$pod" .status.phase Failed
kctl unfence node n1 >/dev/null
as kilntest1 kctl apply -f - >/dev/null <<TXT
apiVersion: v1
kind: Pod
metadata: {name: late}
spec:
  schedulerName: somebody-else
  restartPolicy: Never
  containers:
  - {name: main, image: host, command: ["true"]}
TXT
is "a binding to these CPUs succeeds, because the API has no other pod there" \
    "$(curl -sS \
    -o "$cluster/answer" -w '%{http_code}' \
    --unix-socket "$cluster/state/socket" -H 'Content-Type: application/json' \
    --data '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"late"},
        "target":{"name":"n1"},"allocation":{"cpus":"2-3","memoryNodes":"0"}}' \
    http://localhost/api/v1/namespaces/default/pods/late/binding)" 201
signal n1 CONT
ok "the agent refuses a pod for CPUs that a process still uses" \
    wait_for 20 pod_is late .status.reason AllocationOverlap
like "the message says which pod has them" "$(of_pod late .status.message)" \
    "overlaps that of pod 'default/$pod' here: both have the CPUs 2-3"
is "a condition says that, too" "$(of_pod late '.status.conditions[] |
    select(.type == "AllocationBroken") | .status + " " + .reason')" \
    "True AllocationOverlap"
ok "an event says that, too" wait_for 10 event "AllocationOverlap.*late"
is_left() { [ "$(left)" = "$pod" ]; }
ok "the agent reports the process that the API no longer counted" \
    wait_for 20 is_left
want
ok "other jobs then wait" wait_for 20 says 'Insufficient cpu'
ok "the old process still exists" lives
thaw
ok "it ends when it is thawed" wait_for 20 has_ended "$process"
ok "the allocation is removed then" wait_for 20 nothing_is_left
ok "the other job runs" wait_for 20 state_is "$next" Completed
finish
