#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which controller may schedule: only one can use a state directory, and of all
# controllers that use an API only the holder of the lease schedules.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl curl python3
cluster_munge

cat >"$cluster/scheduler.yaml" <<'TXT'
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  resourceNamespace: elections
  leaseDuration: 3s
  renewDeadline: 2s
  retryPeriod: 250ms
TXT
cluster_controller --allow-root-jobs --scheduler-config "$cluster/scheduler.yaml"
cluster_agent n1 --allow-root-jobs --topology 'package:1 core:8 pu:1'
socket=$cluster/state/socket
admin() { kctl --server "http+unix://$socket" "$@"; }
ask() { curl -sS --unix-socket "$socket" "$@"; }
leases=/apis/coordination.k8s.io/v1/namespaces/elections/leases
node_is_ready() { admin get nodes | grep -qw Ready; }
ok "a node is ready" wait_for 20 node_is_ready
spec_of() { # KEY
    ask "http://localhost$leases/kube-scheduler" | python3 -c '
import json, sys
print(json.load(sys.stdin).get("spec", {}).get(sys.argv[1], ""))' "$1"
}
holder=$cluster/state
is_file_store || holder=controllers-of-the-database # all heads: one of them leads
is_held_by() { spec_of holderIdentity | grep -q "$1"; }
tells_why() {
    grep -q "lease 'elections/kube-scheduler' can be neither taken.*elections" \
        "$cluster/log/controller"
}
ok "a scheduler that cannot get its lease logs that" wait_for 10 tells_why
admin create namespace elections >/dev/null
ok "the scheduler gets its lease" wait_for 10 is_held_by "$holder"
is "the lease has the duration of the configuration" \
    "$(spec_of leaseDurationSeconds)" 3
renewed=$(spec_of renewTime)
is_renewed() { [ "$(spec_of renewTime)" != "$renewed" ]; }
ok "the scheduler renews its lease" wait_for 10 is_renewed

# --- two controllers with one state directory ---------------------------------
out=$(kiln-controller --state-dir "$cluster/state" ${cluster_store:+--store "$cluster_store"} --cluster test \
    --munge-socket "$munge_socket" --socket "$cluster/second" 2>&1)
is "a second controller with the same state directory is refused" "$?" 75
like "it says why" "$out" 'state.*another'
ok "the first controller still holds the lease" is_held_by "$holder"

# --- another process holds the lease ------------------------------------------
pod() { # NAME MORE
    cat <<TXT
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists, effect: NoSchedule}]
${2:-}
  containers:
  - name: main
    image: host
    command: [sleep, "600"]
    resources: {requests: {cpu: "1"}}
TXT
}
field() { # NAME KEY...
    field_of=$1
    shift
    ask "http://localhost/api/v1/namespaces/default/pods/$field_of" |
        python3 -c '
import json, sys
o = json.load(sys.stdin)
for key in sys.argv[1:]:
    o = o.get(key, {})
print(o if o != {} else "")' "$@"
}
scheduled() { [ -n "$(field "$1" spec nodeName)" ]; }
has_allocation() { [ -n "$(field "$1" status allocation)" ]; }
is_running_pod() { [ "$(field "$1" status phase)" = Running ]; }

pod before | admin apply -f - >/dev/null
ok "the leader schedules a pod" wait_for 20 is_running_pod before

# take SECONDS: another identity is written into the lease for that time. The
# patch has no resourceVersion, so renewals by the holder do not conflict with
# it.
take() { # SECONDS
    ask -f -X PATCH -H 'Content-Type: application/merge-patch+json' \
        -d "{\"spec\": {\"holderIdentity\": \"another\",
            \"leaseDurationSeconds\": $1,
            \"renewTime\": \"$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)\"}}" \
        "http://localhost$leases/kube-scheduler"
}
ok "another identity gets the lease" take 15
has_lost() { grep -q "lost the lease 'elections/kube-scheduler'" "$cluster/log/controller"; }
ok "the controller notices that it has lost the lease" wait_for 10 has_lost
pod waits | admin apply -f - >/dev/null
pod byhand '  nodeName: n1' | admin apply -f - >/dev/null
is "/healthz still reports success, because a controller need not lead" \
    "$(ask -o "$cluster/out" -w '%{http_code}' http://localhost/healthz)" 200
sleep 3 # many times as long as a leader needs
ok "the other identity still holds the lease" is_held_by another
not_ok "no pod is scheduled" scheduled waits
not_ok "a pod that was created with a node gets no allocation" \
    has_allocation byhand
ok "running pods keep running" is_running_pod before
ok "the controller gets the lease when it has expired" \
    wait_for 30 is_held_by "$holder"
is "the lease counts the transition" "$(spec_of leaseTransitions)" 1
ok "the waiting pod is scheduled" wait_for 20 is_running_pod waits
ok "the pod that was created with a node gets its allocation and runs" \
    wait_for 20 is_running_pod byhand

# --- a lease that cannot be renewed -------------------------------------------
# The namespace is deleted, and with it the lease.
admin delete namespace elections >/dev/null
is_sick() {
    [ "$(ask -o "$cluster/out" -w '%{http_code}' http://localhost/healthz)" = 500 ]
}
is_well() { ask -f http://localhost/healthz; }
ok "/healthz fails when a leader cannot renew its lease" wait_for 10 is_sick
like "the answer names the lease" "$(cat "$cluster/out")" 'lease'
has_lost_again() {
    [ "$(grep -c "lost the lease 'elections/kube-scheduler'" \
        "$cluster/log/controller")" = 2 ]
}
ok "after the deadline the controller no longer leads" \
    wait_for 10 has_lost_again
pod late | admin apply -f - >/dev/null
sleep 1
not_ok "no pod is scheduled then" scheduled late
ok "the namespace can be created again" \
    wait_for 10 admin create namespace elections
ok "/healthz reports success when the lease can be renewed" wait_for 10 is_well
ok "the waiting pod is scheduled then" wait_for 20 is_running_pod late

# --- without leader election --------------------------------------------------
stop controller
ask_lease() { ask -o "$cluster/out" -w '%{http_code}' "http://localhost$leases/kube-scheduler"; }
cluster_controller --allow-root-jobs --leader-elect=false
admin delete namespace elections >/dev/null
pod alone | admin apply -f - >/dev/null
ok "a controller without leader election schedules" \
    wait_for 20 is_running_pod alone
is "it creates no lease" "$(ask_lease)" 404
finish
