#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Scheduling as an administrator meets it: its configuration, leases, gates,
# priorities, taints and budgets, and what it tells of itself.

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
ok "a good configuration passes" check "$cluster/scheduler.yaml"
out=$(check "$cluster/bad.yaml")
is "one with a strategy nobody knows does not" "$?" 78
like "and it says where" "$out" 'MostOften'
out=$(check "$cluster/worse.yaml")
is "nor one with a misspelt field" "$?" 78
like "and it says which" "$out" 'profile'

out=$(check "$cluster/light.yaml")
is "nor one with an extender whose scores weigh nothing" "$?" 78
like "and it says so" "$out" 'extenders\[0\].weight: 0: must have a positive'

out=$(check "$cluster/half.yaml")
is "nor one with half an identity" "$?" 78
like "and it says which half is missing" "$out" \
    'extenders\[2\].tlsConfig: a certificate and its key go together'

ok "what is in effect can be written" kiln-controller \
    --state-dir "$cluster/unused" --scheduler-config "$cluster/scheduler.yaml" \
    --write-config-to "$cluster/effective.yaml"
like "with all that was left out" "$(cat "$cluster/effective.yaml")" \
    'podInitialBackoffSeconds: 1'
ok "and is a configuration itself" check "$cluster/effective.yaml"

# --- a cluster by that configuration ------------------------------------------
cluster_controller --allow-root-jobs --scheduler-config "$cluster/scheduler.yaml"
cluster_agent n1 --allow-root-jobs --topology 'package:1 core:4 pu:1'
socket=$cluster/state/socket
admin() { kctl --server "http+unix://$socket" "$@"; }
get() { curl -fsS --unix-socket "$socket" "http://localhost$1"; }
node_is_ready() { admin get nodes | grep -qw Ready; }
ok "a node is ready" wait_for 20 node_is_ready

like "/configz shows both profiles" "$(get /configz)" '"schedulerName":"packed"'
# What stands at a path in an object: "spec nodeName"; of a list of conditions,
# the one whose type that is: "status conditions PodScheduled reason".
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
ok "the lifecycle loops hold theirs" \
    wait_for 10 has_holder kube-controller-manager

# --- pods ---------------------------------------------------------------------
# A pod that would run for long; $2: more of its spec, $3: more of its metadata.
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
ok "a gated pod is told so" wait_for 10 says gated SchedulingGated
ungate() {
    curl -fsS --unix-socket "$socket" -X PATCH \
        -H 'Content-Type: application/merge-patch+json' \
        -d '{"spec":{"schedulingGates":null}}' \
        http://localhost/api/v1/namespaces/default/pods/gated
}
like "kctl why names them" "$(admin why pod gated)" \
    'scheduling gate example.com/wait \(SchedulingGated\)'
ok "its gates are taken away" ungate
ok "and it starts" wait_for 20 is_on_a_node gated
admin delete pod gated >/dev/null

pod packed 100m '  schedulerName: packed' | admin apply -f - >/dev/null
ok "the second profile schedules its pods" wait_for 20 is_on_a_node packed
pod nobody 100m '  schedulerName: nobody' | admin apply -f - >/dev/null
pod big 64 '' | admin apply -f - >/dev/null
ok "a pod that fits nowhere is told so" wait_for 10 says big Unschedulable
is "one of another scheduler is left alone" "$(field nobody spec nodeName)" \
    ""
like "kctl describe says what is missing" "$(admin describe pod big)" 'cpu'
out=$(admin why pod big)
like "kctl why says which node comes nearest" "$out" \
    'Nearest: *n1 has .* of 4 CPUs and'
like "and with how much less it would fit" "$out" \
    'Would fit: *on 1 node with -c 3 or less'
like "of one that no scheduler takes it says so" "$(admin why pod nobody)" \
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
ok "a pod that takes its time runs" wait_for 20 is_running_pod stubborn
pod high 3 '  priorityClassName: urgent' | admin apply -f - >/dev/null
makes_room() { admin why pod high | grep -q "room on n1, .* (Nominated)"; }
ok "kctl why says where a more important one is to have room" \
    wait_for 10 makes_room
is "which it does not take before it is there" "$(field high spec nodeName)" ""
admin delete pod stubborn --force --grace-period=0 >/dev/null 2>&1
admin delete pod high >/dev/null
ok "both are gone" wait_for 20 are_gone stubborn high
pod low 3 '' '  finalizers: [example.net/look]' | admin apply -f - >/dev/null
ok "a pod takes most of the node" wait_for 20 is_on_a_node low
ok "and runs" wait_for 20 is_running_pod low
pod high 3 '  priorityClassName: urgent
  schedulerName: packed' | admin apply -f - >/dev/null
ok "a more important one takes its place" wait_for 20 is_on_a_node high
like "the victim's condition says which scheduler wanted what" \
    "$(field low status conditions DisruptionTarget message)" 'packed: preempting to accommodate'
pod low 3 '' | admin apply -f - >/dev/null
ok "and the victim goes" wait_for 20 is_gone low
events() { admin get events --no-headers; }
has_event() { events | grep -q "$1"; }
ok "the victim's event names who it was for" wait_for 10 \
    has_event 'Preempted.*default/high'

# A job that may start again, which has what is left of the node.
admin delete pod high >/dev/null
ok "the more important one ends" wait_for 20 is_gone high
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
ok "a job that may start again runs" wait_for 20 is_running_pod again-0
pod high 3 '  priorityClassName: urgent' | admin apply -f - >/dev/null
ok "it makes way" wait_for 20 is_on_a_node high
is_waiting() { says again-0-r1 Unschedulable; }
ok "and waits again, as another attempt" wait_for 30 is_waiting
is_active_job() { ! admin get job again --no-headers | grep -q Failed; }
ok "its job has not failed" is_active_job
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
ok "a budget counts its healthy pods" wait_for 20 counts 1
is "and allows none to go" "$(budget disruptionsAllowed)" 0
out=$(curl -sS --unix-socket "$socket" -H 'Content-Type: application/json' \
    -d '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"high"}}' \
    http://localhost/api/v1/namespaces/default/pods/high/eviction)
like "so that an eviction is refused" "$out" 'disruption budget'

# --- extenders ----------------------------------------------------------------
# One that is asked about pods with licences alone, and one that binds those
# that sit at desks.
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
ok "without its extender a pod waits" wait_for 10 tells early 'cannot reach the extender'
echo n2 n3 >"$cluster/liked"
start_extender
ok "and is placed once it is there" wait_for 20 is_on early n3
echo n2 >"$cluster/liked"
licensed picky
ok "an extender filters" wait_for 20 is_on picky n2
echo none >"$cluster/liked"
licensed refused
ok "what it refuses is told" wait_for 20 tells refused '3 no licence there'
echo n2 slow >"$cluster/liked"
licensed late
pod quick 100m | admin apply -f - >/dev/null
scheduled() { [ -n "$(field "$1" spec nodeName)" ]; }
ok "while one is slow, others are placed" wait_for 20 scheduled quick
ok "one that does not answer is told" wait_for 20 tells late 'has not answered'
echo n2 >"$cluster/liked"
ok "and the pod is not lost" wait_for 30 is_on late n2
pod seated 1 '  placement: {cpuPolicy: exclusive}' |
    sed 's|requests: {\(.*\)}}|requests: {\1, example.com/desk: "1"}, limits: {cpu: "1", example.com/desk: "1"}}|' |
    admin apply -f - >/dev/null
ok "an extender binds" wait_for 20 scheduled seated
has_cpus() { [ -n "$(field "$1" status allocation cpus)" ]; }
ok "and the pod has its cores" wait_for 20 has_cpus seated
stop extender

# One by TLS, which knows us by our certificate, and is told whole nodes.
start_safe() { # CERTIFICATE
    start safe "$top_srcdir/testsuite/cluster/extender.py" \
        "$secure_port" "$cluster/liked" "$socket" "$1.crt" "$1.key"
}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
    -subj /CN=other -addext subjectAltName=DNS:safes.example.com \
    -keyout "$cluster/other.key" -out "$cluster/other.crt" 2>/dev/null
start_safe "$cluster/other"
asking safe example.com/safe
ok "an extender with another certificate is not believed" \
    wait_for 20 tells safe 'certificate'
is "and the pod waits" "$(field safe spec nodeName)" ""
stop safe
start_safe "$cluster/safe"
ok "the right one is asked, by TLS" wait_for 30 is_on safe n2
stop safe

# --- taints -------------------------------------------------------------------
pod stays 100m '  nodeSelector: {kubernetes.io/hostname: n1}' | sed 's/tolerations: .*/tolerations: [{operator: Exists}]/' |
    admin apply -f - >/dev/null
ok "a pod that tolerates all is there" wait_for 20 is_on_a_node stays
ok "a taint drives pods out" admin taint nodes n1 away=now:NoExecute
ok "those that do not tolerate it go" wait_for 20 is_gone high
ok "those that do stay" is_on_a_node stays

# --- what it tells ------------------------------------------------------------
get /metrics >"$cluster/metrics"
for name in scheduler_schedule_attempts_total scheduler_pending_pods \
    scheduler_preemption_victims scheduler_framework_extension_point_duration_seconds \
    scheduler_queue_incoming_pods_total scheduler_event_handling_duration_seconds \
    scheduler_plugin_execution_duration_seconds scheduler_plugin_evaluation_total \
    scheduler_queueing_hint_execution_duration_seconds scheduler_inflight_events \
    scheduler_preemption_goroutines_execution_total \
    scheduler_async_api_call_execution_total scheduler_pending_async_api_calls; do
    ok "there is a metric $name" grep -q "^$name" "$cluster/metrics"
done
get /metrics/resources >"$cluster/resources"
ok "there is what each pod asks for" grep -q \
    '^kube_pod_resource_request{namespace="default",pod="stays",node="n1",scheduler="default-scheduler",priority="0",resource="cpu",unit="cores"} 0.1$' \
    "$cluster/resources"
is "for those who say who they are" "$(curl -s -o "$cluster/out" \
    -w '%{http_code}' "$cluster_url/metrics/resources")" 401
ok "and who leads" grep -q \
    '^leader_election_master_status{name="kube-scheduler"} 1$' \
    "$cluster/metrics"
signal controller USR2
has_compared() {
    grep -q 'comparison: the [0-9]* pods' "$cluster/log/controller" &&
        grep -q 'comparison: the [0-9]* nodes' "$cluster/log/controller"
}
ok "SIGUSR2 compares what is known with the API" wait_for 10 has_compared
ok "and tells what is known" \
    grep -q 'node n1: pod default/stays' "$cluster/log/controller"
finish
