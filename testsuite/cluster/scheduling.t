#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Scheduling as an administrator uses it: configuration, leases, scheduling
# gates, priorities, taints, disruption budgets and extenders, and what the
# scheduler reports about itself.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl curl python3 openssl
cluster_munge

# --- the configuration --------------------------------------------------------
find_free_port
extender_port=$free_port
find_free_port
secure_port=$free_port
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
    -subj /CN=safes -addext subjectAltName=DNS:safes.example.com \
    -keyout "$cluster/safe.key" -out "$cluster/safe.crt" 2>/dev/null ||
    bail_out "no certificate"
cat >"$cluster/scheduler.yaml" <<TXT
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaseDuration: 3s
  renewDeadline: 2s
  retryPeriod: 500ms
extenders:
- urlPrefix: http://127.0.0.1:$extender_port/licences
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 10
  httpTimeout: 500ms
  nodeCacheCapable: true
  managedResources: [{name: example.com/licence, ignoredByScheduler: true}]
- urlPrefix: http://127.0.0.1:$extender_port/desks
  bindVerb: bind
  managedResources: [{name: example.com/desk, ignoredByScheduler: true}]
- urlPrefix: https://127.0.0.1:$secure_port/safes
  filterVerb: filter
  enableHTTPS: true
  tlsConfig:
    caFile: $cluster/safe.crt
    certFile: $cluster/safe.crt
    keyFile: $cluster/safe.key
    serverName: safes.example.com
  managedResources: [{name: example.com/safe, ignoredByScheduler: true}]
profiles:
- schedulerName: default-scheduler
- schedulerName: packed
  pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy:
        type: MostAllocated
        resources: [{name: cpu, weight: 1}]
TXT
sed 's/MostAllocated/MostOften/' "$cluster/scheduler.yaml" >"$cluster/bad.yaml"
sed 's/profiles:/profile:/' "$cluster/scheduler.yaml" >"$cluster/worse.yaml"
sed 's/weight: 10/weight: 0/' "$cluster/scheduler.yaml" >"$cluster/light.yaml"
sed 's/certFile/#&/' "$cluster/scheduler.yaml" >"$cluster/half.yaml"
check() { # FILE
    kiln-controller --state-dir "$cluster/unused" --check-config \
        --scheduler-config "$1" 2>&1
}
ok "a valid configuration is accepted" check "$cluster/scheduler.yaml"
out=$(check "$cluster/bad.yaml")
is "an unknown scoring strategy is refused" "$?" 78
like "the message names it" "$out" 'MostOften'
out=$(check "$cluster/worse.yaml")
is "a misspelt field is refused" "$?" 78
like "the message names the field" "$out" 'profile'

out=$(check "$cluster/light.yaml")
is "an extender with weight 0 is refused" "$?" 78
like "the message says so" \
    "$out" 'extenders\[0\].weight: 0: must have a positive'

out=$(check "$cluster/half.yaml")
is "a client certificate without its key is refused" "$?" 78
like "the message says that they go together" "$out" \
    'extenders\[2\].tlsConfig: a certificate requires its key, and a key its certificate'

ok "--write-config-to writes the effective configuration" kiln-controller \
    --state-dir "$cluster/unused" --scheduler-config "$cluster/scheduler.yaml" \
    --write-config-to "$cluster/effective.yaml"
like "it contains the defaults" "$(cat "$cluster/effective.yaml")" \
    'podInitialBackoffSeconds: 1'
ok "it is itself a valid configuration" check "$cluster/effective.yaml"

# --- a cluster with that configuration ----------------------------------------
cluster_controller --allow-root-jobs --scheduler-config "$cluster/scheduler.yaml"
cluster_agent n1 --allow-root-jobs --topology 'package:1 core:4 pu:1'
socket=$cluster/state/socket
admin() { kctl --server "http+unix://$socket" "$@"; }
get() { curl -fsS --unix-socket "$socket" "http://localhost$1"; }
node_is_ready() { admin get nodes | grep -qw Ready; }
ok "a node is ready" wait_for 20 node_is_ready

like "/configz shows both profiles" "$(get /configz)" '"schedulerName":"packed"'
# at URL-PATH KEY...: prints the value at this path of keys in an object, "spec
# nodeName". In a list of conditions, a key is the type of a condition: "status
# conditions PodScheduled reason".
at() { # URL-PATH KEY...
    at_path=$1
    shift
    get "$at_path" 2>/dev/null | python3 -c '
import json, sys
o = json.load(sys.stdin)
for key in sys.argv[1:]:
    if isinstance(o, list):
        o = next((c for c in o if c.get("type") == key), {})
    else:
        o = o.get(key, {})
print(o if o != {} else "")' "$@"
}
holder() { # NAME
    at "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/$1" \
        spec holderIdentity
}
has_holder() { [ -n "$(holder "$1")" ]; }
ok "the scheduler holds its lease" wait_for 10 has_holder kube-scheduler
ok "the lifecycle controllers hold their lease" \
    wait_for 10 has_holder kube-controller-manager

# --- pods ---------------------------------------------------------------------
# Prints a pod that would run for a long time. $3 has further members of its
# spec, $4 of its metadata.
pod() { # NAME CPU SPEC METADATA
    cat <<TXT
apiVersion: v1
kind: Pod
metadata:
  name: $1
  labels: {app: $1}
${4:-}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists, effect: NoSchedule}]
${3:-}
  containers:
  - name: main
    image: host
    command: [sleep, "600"]
    resources: {requests: {cpu: "$2"}}
TXT
}
field() { # NAME KEY...
    field_of=$1
    shift
    at "/api/v1/namespaces/default/pods/$field_of" "$@"
}
condition() { # NAME
    field "$1" status conditions PodScheduled reason
}
is_on_a_node() { [ "$(field "$1" spec nodeName)" = n1 ]; }
is_gone() { ! admin get pod "$1" >/dev/null 2>&1; }
are_gone() {
    for pod_name; do
        is_gone "$pod_name" || return 1
    done
}
is_running_pod() { [ "$(field "$1" status phase)" = Running ]; }
says() { [ "$(condition "$1")" = "$2" ]; }

pod gated 100m '  schedulingGates: [{name: example.com/wait}]' | admin apply -f - \
    >/dev/null
ok "the condition of a gated pod says SchedulingGated" \
    wait_for 10 says gated SchedulingGated
ungate() {
    curl -fsS --unix-socket "$socket" -X PATCH \
        -H 'Content-Type: application/merge-patch+json' \
        -d '{"spec":{"schedulingGates":null}}' \
        http://localhost/api/v1/namespaces/default/pods/gated
}
like "kctl why names the scheduling gate" "$(admin why pod gated)" \
    'scheduling gate example.com/wait \(SchedulingGated\)'
ok "the scheduling gate can be removed" ungate
ok "the pod is then scheduled" wait_for 20 is_on_a_node gated
admin delete pod gated >/dev/null

pod packed 100m '  schedulerName: packed' | admin apply -f - >/dev/null
ok "the second profile schedules its pods" wait_for 20 is_on_a_node packed
pod nobody 100m '  schedulerName: nobody' | admin apply -f - >/dev/null
pod big 64 '' | admin apply -f - >/dev/null
ok "the condition of a pod that fits nowhere says Unschedulable" \
    wait_for 10 says big Unschedulable
is "a pod of another scheduler is not scheduled" \
    "$(field nobody spec nodeName)" \
    ""
like "kctl describe says which resource is missing" \
    "$(admin describe pod big)" 'cpu'
out=$(admin why pod big)
like "kctl why names the node that comes nearest" "$out" \
    'Nearest: *n1 has .* of 4 CPUs and'
like "kctl why says with which smaller request the pod would fit" "$out" \
    'Would fit: *on 1 node with -c 3 or less'
like "kctl why says that no scheduler handles the other pod" \
    "$(admin why pod nobody)" \
    "no scheduler named 'nobody' has looked at it yet .NoScheduler."
admin delete pod nobody big packed >/dev/null

# --- priority -----------------------------------------------------------------
admin apply -f - >/dev/null <<'TXT'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
TXT
pod stubborn 3 '' | sed -e 's/PeriodSeconds: 1/PeriodSeconds: 60/' \
    -e 's/\[sleep, "600"\]/[sh, -c, "trap : TERM; while :; do sleep 1; done"]/' |
    admin apply -f - >/dev/null
ok "a pod that ends slowly runs" wait_for 20 is_running_pod stubborn
pod high 3 '  priorityClassName: urgent' | admin apply -f - >/dev/null
makes_room() { admin why pod high | grep -q "room on n1, .* (Nominated)"; }
ok "kctl why says on which node the pod of higher priority is nominated" \
    wait_for 10 makes_room
is "the nominated pod is not bound before the victim has ended" \
    "$(field high spec nodeName)" ""
admin delete pod stubborn --force --grace-period=0 >/dev/null 2>&1
admin delete pod high >/dev/null
ok "both pods are deleted" wait_for 20 are_gone stubborn high
pod low 3 '' '  finalizers: [example.net/look]' | admin apply -f - >/dev/null
ok "a pod occupies most of the node" wait_for 20 is_on_a_node low
ok "the pod runs" wait_for 20 is_running_pod low
pod high 3 '  priorityClassName: urgent
  schedulerName: packed' | admin apply -f - >/dev/null
ok "a pod of higher priority preempts it" wait_for 20 is_on_a_node high
like "the victim's condition says which scheduler preempted it" \
    "$(field low status conditions DisruptionTarget message)" 'packed: preempting to accommodate'
pod low 3 '' | admin apply -f - >/dev/null
ok "the victim is deleted" wait_for 20 is_gone low
events() { admin get events --no-headers; }
has_event() { events | grep -q "$1"; }
ok "the victim's event names the preempting pod" wait_for 10 \
    has_event 'Preempted.*default/high'

# A job with requeue: true gets what is free on the node.
admin delete pod high >/dev/null
ok "the pod of higher priority is deleted" wait_for 20 is_gone high
admin apply -f - >/dev/null <<'TXT'
apiVersion: batch/v1
kind: Job
metadata: {name: again}
spec:
  requeue: true
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      tolerations: [{operator: Exists, effect: NoSchedule}]
      containers:
      - name: main
        image: host
        command: [sleep, "600"]
        resources: {requests: {cpu: "3"}}
TXT
ok "a job with requeue: true runs" wait_for 20 is_running_pod again-0
pod high 3 '  priorityClassName: urgent' | admin apply -f - >/dev/null
ok "its pod is preempted" wait_for 20 is_on_a_node high
is_waiting() { says again-0-r1 Unschedulable; }
ok "a second attempt of the job waits" wait_for 30 is_waiting
is_active_job() { ! admin get job again --no-headers | grep -q Failed; }
ok "the job has not failed" is_active_job
admin delete job again >/dev/null

# --- budgets ------------------------------------------------------------------
admin apply -f - >/dev/null <<'TXT'
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: keep}
spec: {minAvailable: 1, selector: {matchLabels: {app: high}}}
TXT
budget() { # KEY
    at /apis/policy/v1/namespaces/default/poddisruptionbudgets/keep status "$1"
}
counts() { [ "$(budget currentHealthy)" = "$1" ]; }
ok "a disruption budget counts its healthy pods" wait_for 20 counts 1
is "it allows no disruption" "$(budget disruptionsAllowed)" 0
out=$(curl -sS --unix-socket "$socket" -H 'Content-Type: application/json' \
    -d '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"high"}}' \
    http://localhost/api/v1/namespaces/default/pods/high/eviction)
like "an eviction is refused because of the budget" "$out" 'disruption budget'

# --- extenders ----------------------------------------------------------------
# One extender filters and scores pods that request licences, and another binds
# pods that request desks. Both are in one process.
start_extender() {
    start extender "$top_srcdir/testsuite/cluster/extender.py" \
        "$extender_port" "$cluster/liked" "$socket"
}
cluster_agent n2 --allow-root-jobs --topology 'package:1 core:4 pu:1'
cluster_agent n3 --allow-root-jobs --topology 'package:1 core:4 pu:1'
n3_is_ready() { admin get node n3 | grep -qw Ready; }
ok "two more nodes are ready" wait_for 20 n3_is_ready
asking() { # NAME RESOURCE
    pod "$1" 100m | sed "s|requests: {\(.*\)}}|requests: {\1, $2: \"1\"}, limits: {$2: \"1\"}}|" |
        admin apply -f - >/dev/null
}
licensed() { asking "$1" example.com/licence; }
message() { # NAME
    field "$1" status conditions PodScheduled message
}
tells() { message "$1" | grep -q "$2"; }
is_on() { [ "$(field "$1" spec nodeName)" = "$2" ]; }

licensed early
ok "without its extender a pod waits" \
    wait_for 10 tells early 'cannot reach the extender'
echo n2 n3 >"$cluster/liked"
start_extender
ok "the pod is scheduled when the extender runs" wait_for 20 is_on early n3
echo n2 >"$cluster/liked"
licensed picky
ok "an extender filters nodes" wait_for 20 is_on picky n2
echo none >"$cluster/liked"
licensed refused
ok "the pod's condition has the extender's reason" \
    wait_for 20 tells refused '3 no licence there'
echo n2 slow >"$cluster/liked"
licensed late
pod quick 100m | admin apply -f - >/dev/null
scheduled() { [ -n "$(field "$1" spec nodeName)" ]; }
ok "while an extender is slow, other pods are scheduled" \
    wait_for 20 scheduled quick
ok "the condition says that the extender has not answered" \
    wait_for 20 tells late 'has not answered'
echo n2 >"$cluster/liked"
ok "the pod is scheduled later" wait_for 30 is_on late n2
pod seated 1 '  placement: {cpuPolicy: exclusive}' |
    sed 's|requests: {\(.*\)}}|requests: {\1, example.com/desk: "1"}, limits: {cpu: "1", example.com/desk: "1"}}|' |
    admin apply -f - >/dev/null
ok "an extender binds a pod" wait_for 20 scheduled seated
has_cpus() { [ -n "$(field "$1" status allocation cpus)" ]; }
ok "the pod has its CPUs" wait_for 20 has_cpus seated
stop extender

# This extender uses TLS, identifies the scheduler by its certificate, and gets
# whole Node objects.
start_safe() { # CERTIFICATE
    start safe "$top_srcdir/testsuite/cluster/extender.py" \
        "$secure_port" "$cluster/liked" "$socket" "$1.crt" "$1.key"
}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
    -subj /CN=other -addext subjectAltName=DNS:safes.example.com \
    -keyout "$cluster/other.key" -out "$cluster/other.crt" 2>/dev/null
start_safe "$cluster/other"
asking safe example.com/safe
ok "an extender with another certificate is not trusted" \
    wait_for 20 tells safe 'certificate'
is "the pod waits" "$(field safe spec nodeName)" ""
stop safe
start_safe "$cluster/safe"
ok "an extender with the right certificate is used" wait_for 30 is_on safe n2
stop safe

# --- taints -------------------------------------------------------------------
pod stays 100m '  nodeSelector: {kubernetes.io/hostname: n1}' | sed 's/tolerations: .*/tolerations: [{operator: Exists}]/' |
    admin apply -f - >/dev/null
ok "a pod that tolerates all taints is on the node" \
    wait_for 20 is_on_a_node stays
ok "a node gets a NoExecute taint" admin taint nodes n1 away=now:NoExecute
ok "a pod that does not tolerate it is deleted" wait_for 20 is_gone high
ok "a pod that tolerates it keeps its node" is_on_a_node stays

# --- metrics and the debugger -------------------------------------------------
get /metrics >"$cluster/metrics"
for name in scheduler_schedule_attempts_total scheduler_pending_pods \
    scheduler_preemption_victims scheduler_framework_extension_point_duration_seconds \
    scheduler_queue_incoming_pods_total scheduler_event_handling_duration_seconds \
    scheduler_plugin_execution_duration_seconds scheduler_plugin_evaluation_total \
    scheduler_queueing_hint_execution_duration_seconds scheduler_inflight_events \
    scheduler_preemption_goroutines_execution_total \
    scheduler_async_api_call_execution_total scheduler_pending_async_api_calls; do
    ok "/metrics has $name" grep -q "^$name" "$cluster/metrics"
done
get /metrics/resources >"$cluster/resources"
ok "/metrics/resources has the requests of each pod" grep -q \
    '^kube_pod_resource_request{namespace="default",pod="stays",node="n1",scheduler="default-scheduler",priority="0",resource="cpu",unit="cores"} 0.1$' \
    "$cluster/resources"
is "/metrics/resources needs authentication" "$(curl -s -o "$cluster/out" \
    -w '%{http_code}' "$cluster_url/metrics/resources")" 401
ok "/metrics says who is the leader" grep -q \
    '^leader_election_master_status{name="kube-scheduler"} 1$' \
    "$cluster/metrics"
signal controller USR2
has_compared() {
    grep -q 'comparison: the cache has the same [0-9]* pods' "$cluster/log/controller" &&
        grep -q 'comparison: the cache has the same [0-9]* nodes' "$cluster/log/controller"
}
ok "SIGUSR2 compares the scheduler's cache with the API" \
    wait_for 10 has_compared
ok "SIGUSR2 logs the cache" \
    grep -q 'node n1: pod default/stays' "$cluster/log/controller"
finish
