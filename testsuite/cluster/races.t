#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several parties want the same cores: binders beside the scheduler, pods that
# are bound by hand, a pod for which others are preempted. In each case the
# cores are allocated to one pod only, and the others are told why they do not
# get them. The machine is a model: allocations are made and stored, and
# processes are not bound.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl python3
cluster_munge
cluster_controller --allow-root-jobs
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
# NUMA node 0 has the cores 0 to 3, NUMA node 1 the cores 4 to 7. Core N has
# the CPUs 2N and 2N+1.
cluster_agent n1 --allow-root-jobs --topology 'numa:2 core:4 pu:2'
wait_for 20 kctl wait --for condition=Ready node n1 || bail_out "no node"
kctl taint n1 "$(kctl get node n1 -o json | jq -r '.spec.taints[] |
    select(.key | contains("virtual")).key')-" >/dev/null
cd "$cluster/home" || bail_out "no home"

of_pod() { kctl get pod "$1" -o json | jq -r "$2"; }
pod_is() { [ "$(of_pod "$1" "$2")" = "$3" ]; }
runs() { pod_is "$1" .status.phase Running; }
# place NAME OPTION...: submits a job that keeps running, and waits until it
# runs. Its pod is $pod, its CPUs are in $got.
place() {
    pod=job-$(ksub --parsable -o /dev/null "$@" --wrap 'exec sleep 1000')-0
    wait_for 20 runs "$pod" || return 1
    got=$(of_pod "$pod" .status.allocation.cpus)
}
gone() { ! kctl get pod "$1" -o name >/dev/null 2>&1; }
drop() { # POD...
    kctl delete pod --force --grace-period=0 "$@" >/dev/null 2>&1
    for dropped; do
        wait_for 20 gone "$dropped"
    done
    wait_for 20 nothing_left
}
nothing_left() {
    [ "$(kctl get node n1 -o json | jq '.status.remnants // {} | length')" = 0 ]
}
# pod NAME [LINE...]: prints a pod with these lines in its spec. It requests
# $cpus CPUs, two if that is not set.
pod() {
    name=$1
    shift
    cat <<TXT
apiVersion: v1
kind: Pod
metadata: {name: $name}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: ${grace:-1}
$(printf '  %s\n' "$@")
  containers:
  - name: main
    image: host
    command: ${command:-[sleep, infinity]}
    resources: {requests: {cpu: ${cpus:-2}, memory: 64Mi}}
TXT
}
own='placement: {cpuPolicy: exclusive, numaPolicy: single-numa-node}'
foreign='schedulerName: somebody-else'
# binding POD [MEMBER]: prints the body of a binding, with further members.
binding() {
    printf '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"%s"},
        "target":{"kind":"Node","name":"n1"}%s}' "$1" "${2:-}"
}
post() { # POD BODY: posts a binding, prints the status code
    curl -sS -o "$cluster/answer-$1" -w '%{http_code}' \
        --unix-socket "$cluster/state/socket" \
        -H 'Content-Type: application/json' --data "$2" \
        "http://localhost/api/v1/namespaces/default/pods/$1/binding"
}
answer() { jq -r .message "$cluster/answer-$1"; }
# Prints the CPUs, allocated or withheld, that more than one living pod has.
double() {
    kctl get pods -o json | jq -c '[.items[] | select(.spec.nodeName == "n1" and
            .status.phase != "Failed" and .status.phase != "Succeeded") |
        .status.allocation | .cpus, .withheld | select(. != null and . != "") |
        split(",")[] | split("-") | map(tonumber) |
        range(.[0]; (.[1] // .[0]) + 1)] | group_by(.) |
        map(select(length > 1) | .[0])'
}

# --- many bindings at once ----------------------------------------------------

crowd="b1 b2 b3 b4 b5 b6"
for name in $crowd; do
    pod "$name" "$foreign" "$own"
    echo ---
done | kctl apply -f - >/dev/null || bail_out "no pods"
all_same() { # BODY-MAKER: posts a binding for each pod at once, counts the status codes
    for name in $crowd; do
        post "$name" "$("$1" "$name")" >"$cluster/code-$name" &
        set -- "$@" $!
    done
    maker=$1
    shift
    wait "$@"
    set -- "$maker"
    for name in $crowd; do
        cat "$cluster/code-$name"
        echo
    done | sort | uniq -c | awk '{ printf "%s:%s ", $2, $1 }'
}
same_cores() {
    binding "$1" ',"allocation":{"cpus":"4-5","memoryNodes":"0"}'
}
is "of six bindings to the same CPUs one succeeds" \
    "$(all_same same_cores)" '201:1 409:5 '
winner=$(kctl get pods -o json | jq -r '.items[] |
    select(.spec.nodeName != null).metadata.name')
is "one pod is bound" "$(echo "$winner" | wc -w)" 1
# Three of the pods whose bindings were refused.
loser='' other='' latest=''
for name in $crowd; do
    [ "$name" != "$winner" ] || continue
    latest=$other other=$loser loser=$name
done
like "the others are told which pod has the CPUs" "$(answer "$loser")" \
    "overlaps that of pod default/$winner on node n1.*4-5"
ok "the bound pod runs" wait_for 20 runs "$winner"
is "the bound pod has these CPUs" \
    "$(of_pod "$winner" .status.allocation.cpus)" 4-5
is "a refused pod can be bound to other CPUs" \
    "$(post "$loser" "$(binding "$loser" \
        ',"allocation":{"cpus":"6-7","memoryNodes":"0"}')")" 201
place_other() { # ALLOCATION
    post "$other" "$(binding "$other" ",\"allocation\":$1")"
}
is "a binding to the other thread of an allocated core is refused" \
    "$(place_other '{"cpus":"7-8","memoryNodes":"0"}')" 409
like "the message names that CPU" "$(answer "$other")" "both have the CPUs 7"
is "a binding to CPUs that do not exist is refused" \
    "$(place_other '{"cpus":"14-17","memoryNodes":"1"}')" 409
like "the message names the existing CPUs" "$(answer "$other")" \
    "node n1 does not have the CPUs 16-17.* it has 0-15"
is "a binding to an invalid list of CPUs is refused" \
    "$(place_other '{"cpus":"every","memoryNodes":"0"}')" 422
is "no CPU is allocated twice" "$(double)" '[]'

# --- bindings without an allocation -------------------------------------------

is "a binding without an allocation succeeds" \
    "$(post "$other" "$(binding "$other")")" 201
ok "the pod runs" wait_for 20 runs "$other"
like "the pod gets two CPUs" "$(of_pod "$other" .status.allocation.cpus)" \
    '^([0-9]+)-([0-9]+)$'
pod by-hand "nodeName: n1" "$own" | kctl apply -f - >/dev/null
ok "a pod that is created with a node runs" wait_for 20 runs by-hand
is "it gets two CPUs" "$(of_pod by-hand '.status.allocation.cpus | split("-") |
    map(tonumber) | .[1] - .[0]')" 1
pod sharer "nodeName: n1" | kctl apply -f - >/dev/null
ok "a pod with a node and without exclusive CPUs runs" wait_for 20 runs sharer
is "it gets no CPUs of its own" \
    "$(of_pod sharer '.status.allocation.cpus')" null
kctl delete pod sharer --force --grace-period=0 >/dev/null 2>&1
place -c 8 --numa single-numa-node
is "a job gets all of the other NUMA node" "$got" 8-15
pod late "nodeName: n1" "$own" | kctl apply -f - >/dev/null
ok "a pod with a node that has no free CPUs fails" \
    wait_for 20 pod_is late '.status.phase + " " + .status.reason' \
    'Failed OutOfResources'
like "its message says so" "$(of_pod late .status.message)" 'not free there'
is "a binding to such a node succeeds" \
    "$(post "$latest" "$(binding "$latest")")" 201
ok "the pod then fails with the same reason" \
    wait_for 20 pod_is "$latest" .status.reason OutOfResources
is "no CPU is allocated twice after that" "$(double)" '[]'
drop by-hand late "$latest"

# --- the last two CPUs of a NUMA node -----------------------------------------

# Two CPUs are free on NUMA node 0. A job, a binding and a pod with a node want
# them at the same time.
for round in 1 2 3; do
    pod "race-$round" "$foreign" "$own" | kctl apply -f - >/dev/null
    pod "hand-$round" "nodeName: n1" "$own" >"$cluster/hand.yaml"
    kctl apply -f "$cluster/hand.yaml" >/dev/null &
    one=$!
    post "race-$round" "$(binding "race-$round" \
        ',"allocation":{"cpus":"0-1","memoryNodes":"0"}')" \
        >"$cluster/code" &
    two=$!
    id=$(ksub --parsable -o /dev/null -c 2 --numa single-numa-node \
        --wrap 'exec sleep 1000')
    wait "$one" "$two"
    settled() {
        has=0
        for name in "race-$round" "hand-$round" "job-$id-0"; do
            ! runs "$name" || has=$((has + 1))
        done
        [ "$has" -eq 1 ] && ! pod_is "hand-$round" .status.phase Pending
    }
    ok "one of three pods gets the last two CPUs" wait_for 20 settled ||
        kctl get pods | note
    is "no CPU is allocated twice" "$(double)" '[]'
    kctl cancel "$id" >/dev/null
    drop "race-$round" "hand-$round"
    wait_for 20 gone "job-$id-0" || kctl delete job "job-$id" >/dev/null
done
kctl delete pods --all --force --grace-period=0 >/dev/null 2>&1
wait_for 20 nothing_left

# --- a controller that is killed between assuming and binding -----------------

# An extender is responsible for bindings. It reads the requests and never
# answers.
find_free_port
cat >"$cluster/deaf.py" <<'TXT'
import socket, sys, threading, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    peer, _ = server.accept()
    with open(sys.argv[2], "ab") as heard:
        heard.write(peer.recv(65536))
    threading.Thread(target=lambda p=peer: (time.sleep(3600), p)).start()
TXT
start deaf python3 "$cluster/deaf.py" "$free_port" "$cluster/heard"
cat >"$cluster/scheduler.yaml" <<TXT
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- {urlPrefix: "http://127.0.0.1:$free_port", bindVerb: bind, httpTimeout: 300s}
TXT
stop controller
cluster_controller --allow-root-jobs --scheduler-config "$cluster/scheduler.yaml"
cpus=8 pod assumed "$own" | kctl apply -f - >/dev/null
heard() { grep -q '"PodName": *"assumed"' "$cluster/heard"; }
ok "a pod is assumed, and its binding is in progress" wait_for 20 heard ||
    note <"$cluster/heard"
is "it is not bound yet" "$(of_pod assumed .spec.nodeName)" null
stop controller KILL
stop deaf KILL
cluster_controller --allow-root-jobs
cpus=8 pod next "$own" | kctl apply -f - >/dev/null
ok "the next controller binds it" wait_for 20 runs assumed
ok "the next controller binds another pod" wait_for 20 runs next
is "each pod has its own NUMA node" "$(for name in assumed next; do
    of_pod "$name" .status.allocation.cpus
done | sort | tr '\n' ' ')" '0-7 8-15 '
drop assumed next

# --- resources for a preempting pod -------------------------------------------

# A pod has two of the four cores of NUMA node 1. It is preempted by a pod that
# needs all four, and ends slowly. NUMA node 0 has more free cores, so a small
# pod would choose the fuller NUMA node 1 first.
kctl apply -f - >/dev/null <<TXT
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
TXT
pod stays "$foreign" "$own" 'priorityClassName: urgent' |
    kctl apply -f - >/dev/null
post stays "$(binding stays ',"allocation":{"cpus":"0-1","memoryNodes":"0"}')" \
    >/dev/null
command="[sh, -c, 'trap : TERM; >$cluster/begun;
    while [ ! -e $cluster/leave ]; do sleep 0.2; done']" \
    cpus=4 grace=300 pod leaves "$foreign" "$own" | kctl apply -f - >/dev/null
post leaves "$(binding leaves \
    ',"allocation":{"cpus":"8-11","memoryNodes":"1"}')" >/dev/null
wait_for 20 test -e "$cluster/begun" || bail_out "it does not begin"
cpus=8 pod large "$own" 'priorityClassName: urgent' | kctl apply -f - >/dev/null
ok "a pod of higher priority is nominated to the node" \
    wait_for 20 pod_is large .status.nominatedNodeName n1
not_ok "the preempted pod is being deleted" \
    pod_is leaves .metadata.deletionTimestamp null
pod small "$own" | kctl apply -f - >/dev/null
ok "a small pod runs meanwhile" wait_for 20 runs small
is "it does not get CPUs that are kept for the nominated pod" \
    "$(of_pod small .status.allocation.memoryNodes)" 0
touch "$cluster/leave"
ok "the nominated pod runs when the preempted pod has ended" \
    wait_for 20 runs large
is "it gets the whole NUMA node" "$(of_pod large .status.allocation.cpus)" 8-15
finish
