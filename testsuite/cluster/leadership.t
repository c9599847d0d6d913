#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may schedule: one controller to a state directory, and of all that use an
# API the one that holds the lease.

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
is_held_by() { spec_of holderIdentity | grep -q "$1"; }
tells_why() {
    grep -q "lease 'elections/kube-scheduler' can be neither taken.*elections" \
        "$cluster/log/controller"
}
ok "who cannot take its lease says so" wait_for 10 tells_why
admin create namespace elections >/dev/null
ok "the scheduler holds its lease" wait_for 10 is_held_by "$cluster/state"
is "for as long as the configuration says" "$(spec_of leaseDurationSeconds)" 3
renewed=$(spec_of renewTime)
is_renewed() { [ "$(spec_of renewTime)" != "$renewed" ]; }
ok "and renews it" wait_for 10 is_renewed

# --- two at one state directory -----------------------------------------------
out=$(kiln-controller --state-dir "$cluster/state" --cluster test \
    --munge-socket "$munge_socket" --socket "$cluster/second" 2>&1)
is "a second controller is refused" "$?" 75
like "and says why" "$out" 'state.*another'
ok "the first goes on" is_held_by "$cluster/state"

# --- another holds the lease --------------------------------------------------
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
ok "who leads schedules" wait_for 20 is_running_pod before

# Somebody else writes itself into the lease, for so long. A patch names no
# revision, so that it does not matter how often the holder renews it meanwhile.
take() { # SECONDS
    ask -f -X PATCH -H 'Content-Type: application/merge-patch+json' \
        -d "{\"spec\": {\"holderIdentity\": \"another\",
            \"leaseDurationSeconds\": $1,
            \"renewTime\": \"$(date -u +%Y-%m-%dT%H:%M:%S.%6NZ)\"}}" \
        "http://localhost$leases/kube-scheduler"
}
ok "another takes the lease" take 15
has_lost() { grep -q "lost the lease 'elections/kube-scheduler'" "$cluster/log/controller"; }
ok "the controller notices that" wait_for 10 has_lost
pod waits | admin apply -f - >/dev/null
pod byhand '  nodeName: n1' | admin apply -f - >/dev/null
is "it is well, for it needs not lead" \
    "$(ask -o "$cluster/out" -w '%{http_code}' http://localhost/healthz)" 200
sleep 3 # many times what it takes who leads
ok "the lease is the other's still" is_held_by another
not_ok() { ! "$@"; }
ok "no pod is scheduled" not_ok scheduled waits
ok "nor given an allocation" not_ok has_allocation byhand
ok "what runs goes on" is_running_pod before
ok "when the lease runs out it is taken back" \
    wait_for 30 is_held_by "$cluster/state"
is "and that is counted" "$(spec_of leaseTransitions)" 1
ok "and the pod is scheduled" wait_for 20 is_running_pod waits
ok "the one that somebody bound is adopted" wait_for 20 is_running_pod byhand

# --- a lease that cannot be renewed -------------------------------------------
# Its namespace goes, and with it the leases of all who lead.
admin delete namespace elections >/dev/null
is_sick() {
    [ "$(ask -o "$cluster/out" -w '%{http_code}' http://localhost/healthz)" = 500 ]
}
is_well() { ask -f http://localhost/healthz; }
ok "/healthz fails when a leader cannot renew" wait_for 10 is_sick
like "and says what is the matter" "$(cat "$cluster/out")" 'lease'
has_lost_again() {
    [ "$(grep -c "lost the lease 'elections/kube-scheduler'" \
        "$cluster/log/controller")" = 2 ]
}
ok "past the deadline it leads no longer" wait_for 10 has_lost_again
pod late | admin apply -f - >/dev/null
sleep 1
ok "and schedules nothing" not_ok scheduled late
ok "the namespace is made again" wait_for 10 admin create namespace elections
ok "once it can, it is well again" wait_for 10 is_well
ok "and schedules" wait_for 20 is_running_pod late

# --- without election ---------------------------------------------------------
stop controller
ask_lease() { ask -o "$cluster/out" -w '%{http_code}' "http://localhost$leases/kube-scheduler"; }
cluster_controller --allow-root-jobs --leader-elect=false
admin delete namespace elections >/dev/null
pod alone | admin apply -f - >/dev/null
ok "where no leader is elected, it schedules" wait_for 20 is_running_pod alone
is "and there is no lease" "$(ask_lease)" 404
finish
