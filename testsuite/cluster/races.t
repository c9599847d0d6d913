#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several want the same cores: binders beside the scheduler, pods that are bound
# by hand, a pod that others make room for. Whatever happens, cores are one
# pod's, and who does not get them is told. The machine is a description:
# allocations are made and kept, processes are not bound.

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
# Cores 0 to 3 are NUMA node 0, 4 to 7 are 1; two threads each, 2N and 2N+1.
cluster_agent n1 --allow-root-jobs --topology 'numa:2 core:4 pu:2'
wait_for 20 kctl wait --for condition=Ready node n1 || bail_out "no node"
kctl taint n1 "$(kctl get node n1 -o json | jq -r '.spec.taints[] |
    select(.key | contains("virtual")).key')-" >/dev/null
cd "$cluster/home" || bail_out "no home"

of_pod() { kctl get pod "$1" -o json | jq -r "$2"; }
pod_is() { [ "$(of_pod "$1" "$2")" = "$3" ]; }
runs() { pod_is "$1" .status.phase Running; }
# place NAME OPTION...: a job that stays and runs; its pod is $pod, and $got
# what it was given.
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
# pod NAME [LINE...]: a pod with these lines in its spec; \$cpus, two unless set.
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
# binding POD [MEMBER]: the body of one, with further members
binding() {
    printf '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"%s"},
        "target":{"kind":"Node","name":"n1"}%s}' "$1" "${2:-}"
}
post() { # POD BODY: the answer's code
    curl -sS -o "$cluster/answer-$1" -w '%{http_code}' \
        --unix-socket "$cluster/state/socket" \
        -H 'Content-Type: application/json' --data "$2" \
        "http://localhost/api/v1/namespaces/default/pods/$1/binding"
}
answer() { jq -r .message "$cluster/answer-$1"; }
# CPUs, given or withheld, that more than one living pod has.
double() {
    kctl get pods -o json | jq -c '[.items[] | select(.spec.nodeName == "n1" and
            .status.phase != "Failed" and .status.phase != "Succeeded") |
        .status.allocation | .cpus, .withheld | select(. != null and . != "") |
        split(",")[] | split("-") | map(tonumber) |
        range(.[0]; (.[1] // .[0]) + 1)] | group_by(.) |
        map(select(length > 1) | .[0])'
}

# --- many bindings at once --------------------------------------------------------

crowd="b1 b2 b3 b4 b5 b6"
for name in $crowd; do
    pod "$name" "$foreign" "$own"
    echo ---
done | kctl apply -f - >/dev/null || bail_out "no pods"
all_same() { # BODY-MAKER: one post for each, at once; how many had which answer
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
is "of bindings that want the same cores one is made" \
    "$(all_same same_cores)" '201:1 409:5 '
winner=$(kctl get pods -o json | jq -r '.items[] |
    select(.spec.nodeName != null).metadata.name')
is "and one pod is bound" "$(echo "$winner" | wc -w)" 1
# Whoever lost: three of them.
loser='' other='' latest=''
for name in $crowd; do
    [ "$name" != "$winner" ] || continue
    latest=$other other=$loser loser=$name
done
like "the others are told whose they are" "$(answer "$loser")" \
    "overlaps that of pod default/$winner on node n1.*4-5"
ok "who was bound runs there" wait_for 20 runs "$winner"
is "on just these" "$(of_pod "$winner" .status.allocation.cpus)" 4-5
is "a loser may be bound elsewhere" \
    "$(post "$loser" "$(binding "$loser" \
        ',"allocation":{"cpus":"6-7","memoryNodes":"0"}')")" 201
place_other() { # ALLOCATION
    post "$other" "$(binding "$other" ",\"allocation\":$1")"
}
is "a thread of somebody's core is refused, too" \
    "$(place_other '{"cpus":"7-8","memoryNodes":"0"}')" 409
like "in words" "$(answer "$other")" "both have the CPUs 7"
is "CPUs that are not there are" \
    "$(place_other '{"cpus":"14-17","memoryNodes":"1"}')" 409
like "with those that are" "$(answer "$other")" \
    "node n1 does not have the CPUs 16-17.* it has 0-15"
is "and what is no list" \
    "$(place_other '{"cpus":"every","memoryNodes":"0"}')" 422
is "nothing is anybody else's" "$(double)" '[]'

# --- bound without an allocation ---------------------------------------------------

is "a binding without an allocation is made" \
    "$(post "$other" "$(binding "$other")")" 201
ok "and the pod runs" wait_for 20 runs "$other"
like "on cores of its own" "$(of_pod "$other" .status.allocation.cpus)" \
    '^([0-9]+)-([0-9]+)$'
pod by-hand "nodeName: n1" "$own" | kctl apply -f - >/dev/null
ok "so does one that names its node" wait_for 20 runs by-hand
is "with two CPUs" "$(of_pod by-hand '.status.allocation.cpus | split("-") |
    map(tonumber) | .[1] - .[0]')" 1
pod sharer "nodeName: n1" | kctl apply -f - >/dev/null
ok "one that wants none of its own shares" wait_for 20 runs sharer
is "and has none" "$(of_pod sharer '.status.allocation.cpus')" null
kctl delete pod sharer --force --grace-period=0 >/dev/null 2>&1
place -c 8 --numa single-numa-node
is "the other NUMA node is whole yet" "$got" 8-15
pod late "nodeName: n1" "$own" | kctl apply -f - >/dev/null
ok "one that finds nothing is refused" \
    wait_for 20 pod_is late '.status.phase + " " + .status.reason' \
    'Failed OutOfResources'
like "in words" "$(of_pod late .status.message)" 'not free there'
is "so is a binding of what was to be had once" \
    "$(post "$latest" "$(binding "$latest")")" 201
ok "which is said, too" \
    wait_for 20 pod_is "$latest" .status.reason OutOfResources
is "still nothing is anybody else's" "$(double)" '[]'
drop by-hand late "$latest"

# --- the last aligned cores ------------------------------------------------------------

# Two CPUs are left on NUMA node 0, which a job, a binding and a pod by hand
# want at once.
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
    ok "one of three gets the last two CPUs" wait_for 20 settled ||
        kctl get pods | note
    is "and nobody has the same" "$(double)" '[]'
    kctl cancel "$id" >/dev/null
    drop "race-$round" "hand-$round"
    wait_for 20 gone "job-$id-0" || kctl delete job "job-$id" >/dev/null
done
kctl delete pods --all --force --grace-period=0 >/dev/null 2>&1
wait_for 20 nothing_left

# --- a controller that dies between assuming and binding -----------------------------

# Bindings are an extender's here, which hears of them and never answers.
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
ok "a pod is assumed, and its binding under way" wait_for 20 heard ||
    note <"$cluster/heard"
is "it is not bound" "$(of_pod assumed .spec.nodeName)" null
stop controller KILL
stop deaf KILL
cluster_controller --allow-root-jobs
cpus=8 pod next "$own" | kctl apply -f - >/dev/null
ok "another controller binds it" wait_for 20 runs assumed
ok "and the next" wait_for 20 runs next
is "to a NUMA node each" "$(for name in assumed next; do
    of_pod "$name" .status.allocation.cpus
done | sort | tr '\n' ' ')" '0-7 8-15 '
drop assumed next

# --- room that is being made -------------------------------------------------------

# A pod leaves the last but two cores of NUMA node 1, slowly, for one that needs
# all four. NUMA node 0 has more room: the fuller one would be a small pod's
# first choice.
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
    while [ ! -e $cluster/leave ]; do sleep 0.05; done']" \
    cpus=4 grace=300 pod leaves "$foreign" "$own" | kctl apply -f - >/dev/null
post leaves "$(binding leaves \
    ',"allocation":{"cpus":"8-11","memoryNodes":"1"}')" >/dev/null
wait_for 20 test -e "$cluster/begun" || bail_out "it does not begin"
cpus=8 pod large "$own" 'priorityClassName: urgent' | kctl apply -f - >/dev/null
ok "room is made for a more important pod" \
    wait_for 20 pod_is large .status.nominatedNodeName n1
not_ok "which takes a while" pod_is leaves .metadata.deletionTimestamp null
pod small "$own" | kctl apply -f - >/dev/null
ok "a small pod runs meanwhile" wait_for 20 runs small
is "but not on what is being emptied" \
    "$(of_pod small .status.allocation.memoryNodes)" 0
touch "$cluster/leave"
ok "which the other gets when it is empty" wait_for 20 runs large
is "as a whole" "$(of_pod large .status.allocation.cpus)" 8-15
finish
