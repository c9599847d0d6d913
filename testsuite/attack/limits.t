#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One user uses up something completely: objects, bytes, watches, readers of
# output, connections, requests. The answer tells the user which limit of the
# site was reached, and what to do. The other user and root are not affected.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged curl jq
cluster_begin
need kiln-controller kiln-agent ksub kctl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
root() { kctl --server "http+unix://$cluster/socket" "$@"; }
pods=/api/v1/namespaces/default/pods

configure() { # LIMITS
    printf 'limits: {%s}\nevents: {maxCount: 100}\nlogLevel: info\n' "$1" \
        >"$cluster/etc/controller.yaml"
}
reloads=0
has_reloaded() {
    [ "$(grep -c 'configuration was reloaded' "$cluster/log/controller")" \
        -ge "$reloads" ]
}
reconfigure() {
    configure "$1"
    reloads=$((reloads + 1))
    signal controller HUP
    wait_for 10 has_reloaded || bail_out "the controller does not reload"
}
controller() {
    cluster_controller --socket "$cluster/socket" \
        --config "$cluster/etc/controller.yaml"
}
# get USER TARGET: prints the headers (with the status and Retry-After) and the
# body on one line.
get() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    as "$1" sh -c 'curl -s --max-time 10 -D - --unix-socket "$0" \
        "http://kiln$1"' "$cluster/socket" "$2" | tr -d '\r' | tr '\n' ' '
}
# code USER METHOD TARGET BODY: prints the status code.
code() {
    # shellcheck disable=SC2016
    as "$1" sh -c 'curl -s --max-time 10 -o /dev/null -w "%{http_code}" \
        -X "$1" -H "Content-Type: application/json" --data-binary "$3" \
        --unix-socket "$0" "http://kiln$2"' "$cluster/socket" "$2" "$3" "$4"
}
# hold USER N TARGET: opens N streams, which stay open until let_go.
held_begun() {
    [ "$(cat "$cluster"/held.* | grep -c '^< HTTP/1.1 200')" -eq "$1" ]
}
hold() {
    hold_n=$2
    while [ "$hold_n" -gt 0 ]; do
        # shellcheck disable=SC2016 # expanded by the inner shell
        as "$1" sh -c 'echo $$ >>held; exec curl -sNv --max-time 60 \
            --unix-socket "$0" "http://kiln$1"' "$cluster/socket" "$3" \
            >"$cluster/held.$hold_n" 2>&1 &
        hold_n=$((hold_n - 1))
    done
    wait_for 10 held_begun "$2" || bail_out "streams do not begin: $3"
}
let_go() {
    # shellcheck disable=SC2046 # words
    kill $(cat "$cluster"/home/*/held)
    rm -f "$cluster"/home/*/held "$cluster"/held.*
}
answers_with() { # PATTERN USER TARGET
    get "$2" "$3" | grep -Eq "$1"
}

# --- the configuration --------------------------------------------------------
check() {
    configure "$1"
    kiln-controller --check-config --config "$cluster/etc/controller.yaml" \
        --state-dir "$cluster/none" 2>&1
}
like "a limit that is not a number is refused" \
    "$(check 'perUser: {objects: many}')" \
    'limits.perUser.objects: .*many'
like "a negative limit is refused" "$(check 'perUser: {watches: -1}')" \
    'limits.perUser.watches: .*-1'
like "a mistyped limit is reported with the correct name" \
    "$(check 'perUser: {obejcts: 5}')" \
    'limits.perUser.obejcts.*limits.perUser.objects'
like "a time limit that is not a time is refused" \
    "$(check 'maximumTime: soon')" \
    'limits.maximumTime: .*soon'

# --- objects and bytes --------------------------------------------------------
configure 'perUser: {objects: 3, bytes: 1Mi}, maximumTime: 1h, maximumGrace: 1m'
controller
cluster_agent n1 --topology 'package:1 core:8 pu:1'
for _ in 1 2 3; do as kilntest1 ksub -H --wrap true >/dev/null; done
like "a user who has reached the limit of objects is told the number and the key" \
    "$(as kilntest1 ksub -H --wrap true 2>&1)" \
    "UserLimits: .*has 3 unfinished jobs.*limits.perUser.objects.*cancel"
like "another user can submit" "$(as kilntest2 ksub -H --wrap true 2>&1)" \
    '[0-9]'
like "objects that root creates are not counted" \
    "$(for _ in 1 2 3 4; do code kilntest2 GET $pods ''
    root create namespace "n$_" -o name; done)" 'n4'
stop controller
controller
like "a restarted controller has counted the user's objects at once" \
    "$(as kilntest1 ksub -H --wrap true 2>&1)" 'limits.perUser.objects'
first=$(root get jobs -o name -l kiln.hpc/user=kilntest1 | head -n 1)
as kilntest1 kctl delete "$first" >/dev/null
can_submit() { as kilntest1 ksub -H --wrap true; }
ok "a user who deletes an object can submit another one" wait_for 10 can_submit

# --- events -------------------------------------------------------------------
event='{"metadata":{"generateName":"%s-"},"involvedObject":{"kind":"Pod",
"name":"x","namespace":"default","uid":"u"},"reason":"Loud","message":"m"}'
write_events() { # USER NUMBER NAME
    # shellcheck disable=SC2016,SC2059 # expanded by the inner shell
    as "$1" sh -c 'curl -s -o /dev/null -H "Content-Type: application/json" -d "$2" \
        --unix-socket "$0" "http://kiln/api/v1/namespaces/default/events?[1-$1]"' \
        "$cluster/socket" "$2" "$(printf "$event" "$3")"
}
events_of() { root get events -o name | grep -c "$1"; }
has_room_again() { [ "$(root get events -o name | wc -l)" -le 100 ]; }
reconfigure 'perUser: {objects: 1000}, maximumTime: 1h, maximumGrace: 1m'
write_events kilntest2 5 quiet
printf '{"apiVersion":"v1","kind":"Event","reason":"Broken","metadata":{"name":"n1.1"},
"involvedObject":{"kind":"Node","name":"n1"}}' | root create -f - >/dev/null
write_events kilntest1 200 loud
ok "a user who writes many events is stopped by the bound" wait_for 30 has_room_again
is "the events of another user are not pushed out by them" "$(events_of quiet)" 5
is "nor is what happened to a node" "$(events_of n1.1)" 1

job='{"apiVersion":"batch/v1","kind":"Job","metadata":{"generateName":"big-",
"annotations":{"x":"%s"}},"spec":{"suspend":true,"template":{"spec":{
"restartPolicy":"Never","containers":[{"name":"main","command":["true"]}]}}}}'
reconfigure 'perUser: {objects: 1000, bytes: 1Mi}, maximumTime: 1h, maximumGrace: 1m'
x=$(head -c 200000 /dev/zero | tr '\0' x)
# shellcheck disable=SC2059
printf "$job" "$x" >"$cluster/home/big.json"
fill() {
    fill_n=0
    while [ "$fill_n" -lt 12 ]; do
        as kilntest1 kctl create -f "$cluster/home/big.json" 2>&1 || return 0
        fill_n=$((fill_n + 1))
    done
}
like "the stored bytes of a user have a limit" "$(fill)" \
    'UserLimits: .*fill the 1 MiB.*limits.perUser.bytes.*delete'
ok "the other user can store as many bytes" \
    as kilntest2 kctl create -f "$cluster/home/big.json"
like "a user who has reached the limit can still change existing objects" \
    "$(as kilntest1 kctl label "$(root get jobs -o name -l kiln.hpc/user=kilntest1 |
        tail -n 1)" a=b 2>&1)" 'labeled|labelled'

# --- pods ---------------------------------------------------------------------
reconfigure 'perUser: {pods: 100}, maximumTime: 1h, maximumGrace: 1m'
many() { # USER METHOD PARALLELISM [NAME]: creates or changes a held job
    many_to=/apis/batch/v1/namespaces/default/jobs
    many_what='"generateName":"many-"'
    [ $# -eq 3 ] || many_to=$many_to/$4
    [ $# -eq 3 ] || many_what="\"name\":\"$4\""
    # shellcheck disable=SC2016 # expanded by the inner shell
    as "$1" sh -c 'curl -s -X "$1" -H "Content-Type: application/$2" -d "$3" \
        --unix-socket "$0" "http://kiln$4"' "$cluster/socket" "$2" \
        "$([ "$2" = POST ] && echo json || echo merge-patch+json)" \
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{
$many_what},\"spec\":{\"suspend\":true,\"parallelism\":$3$([ "$2" = POST ] &&
            printf ',"template":{"spec":{"restartPolicy":"Never",
"containers":[{"name":"main","command":["true"]}]}}')}}" "$many_to"
}
has_few() { [ "$(root get jobs -l kiln.hpc/user=kilntest1 -o name | wc -l)" -eq 0 ]; }
# shellcheck disable=SC2046 # words
as kilntest1 kctl delete $(root get jobs -l kiln.hpc/user=kilntest1 -o name) \
    >/dev/null
wait_for 10 has_few
like "one small job cannot ask for any number of pods" \
    "$(many kilntest1 POST 2000000000)" \
    'UserLimits: .*2000000000 pods.*100 .*limits.perUser.pods.*parallelism'
name=$(many kilntest1 POST 60 | jq -r .metadata.name)
like "several jobs together cannot ask for more pods than the limit" \
    "$(many kilntest1 POST 60)" \
    '60 pods at once, and other jobs of the user for 60'
like "a job cannot exceed the limit by a later change" \
    "$(many kilntest1 PATCH 101 "$name")" \
    '101 pods at once, and other jobs of the user for 0'
like "a later change within the limit succeeds" \
    "$(many kilntest1 PATCH 100 "$name")" \
    '"parallelism": ?100'
like "another user can ask for as many pods" "$(many kilntest2 POST 90)" \
    '"parallelism": ?90'

# --- what a job may ask for ---------------------------------------------------
reconfigure 'perUser: {objects: 1000}, maximumTime: 1h, maximumGrace: 1m,
  pidsPerPod: 77, defaultMemory: 64Mi'
like "a time limit above the site's is refused" \
    "$(as kilntest1 ksub -t 2:00:00 --wrap true 2>&1)" \
    'MaximumTime: .*7200.*3600.*limits.maximumTime'
like "a grace period above the limit of the site is refused" "$(
    as kilntest1 sh -c 'cat >grace.json; kctl create -f grace.json 2>&1' <<'TXT'
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"g"},"spec":
{"restartPolicy":"Never","terminationGracePeriodSeconds":9000000000,
"containers":[{"name":"main","command":["true"]}]}}
TXT
)" 'MaximumGrace: .*9000000000.*60.*limits.maximumGrace'
id=$(as kilntest1 ksub --parsable -H --wrap true)
is "a job that asks for nothing gets the time, memory and processes of the site" \
    "$(root get job "$id" -o json | jq -c '.spec.template |
        [.spec.activeDeadlineSeconds, .spec.containers[0].resources.limits.memory,
         .metadata.annotations["kiln.hpc/pids-limit"]]')" \
    '[3600,"67108864","77"]'

# The limits hold for values that an agent cannot read and for annotations that
# are removed later.
pod_asks() { # PIDS [RESOURCES]
    printf '{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"p-",
"annotations":{"kiln.hpc/pids-limit":"%s"}},"spec":{"restartPolicy":"Never",
"schedulingGates":[{"name":"wait"}],"containers":[{"name":"main","resources":
{%s},"command":["true"]}]}}' "$1" "${2-}"
}
asks() { # PIDS [RESOURCES]: prints the answer that kilntest1 gets
    pod_asks "$@" >"$cluster/home/ask.json"
    as kilntest1 kctl create -f "$cluster/home/ask.json" -o json 2>&1
}
for pids in max -1 0 0x7fff 1e9 5x 99999999999999999999; do
    like "nobody gets more processes by asking for $pids" "$(asks "$pids")" \
        'PidsPerPod: .*(not a number of processes|more than the 77).*pidsPerPod'
done
memory() { jq -r '.spec.containers[0].resources.limits.memory'; }
is "a pod that requests little memory gets the default memory as its limit" \
    "$(asks 5 '"requests":{"memory":"1"}' | memory)" 67108864
is "a pod that requests more memory than the default gets its request as its limit" \
    "$(asks 5 '"requests":{"memory":"1Gi"}' | memory)" 1Gi
is "a memory limit in the pod is kept" \
    "$(asks 5 '"limits":{"memory":"1Mi"}' | memory)" 1Mi
pod=$(asks 5 | jq -r .metadata.name)
is "a user cannot remove the limit of processes from a pod" \
    "$(as kilntest1 kctl annotate pod "$pod" kiln.hpc/pids-limit- >/dev/null
    root get pod "$pod" -o json |
        jq -r '.metadata.annotations["kiln.hpc/pids-limit"]')" 5
job_patch='{"spec":{"template":{"metadata":{"annotations":
{"kiln.hpc/pids-limit":null}},"spec":{"activeDeadlineSeconds":null,
"containers":[{"name":"main","command":["true"]}]}}}}'
# shellcheck disable=SC2016 # expanded by the inner shell
as kilntest1 sh -c 'curl -s -o /dev/null -X PATCH --unix-socket "$0" \
    -H "Content-Type: application/merge-patch+json" -d "$2" "http://kiln$1"' \
    "$cluster/socket" "/apis/batch/v1/namespaces/default/jobs/job-$id" \
    "$job_patch"
is "a user cannot remove the limits of the site from a held job" \
    "$(root get job "$id" -o json | jq -c '.spec.template |
        [.spec.activeDeadlineSeconds, .spec.containers[0].resources.limits.memory,
         .metadata.annotations["kiln.hpc/pids-limit"]]')" \
    '[3600,"67108864","77"]'

# --- streams ------------------------------------------------------------------
reconfigure 'perUser: {watches: 3, logReaders: 2}'
watch="$pods?watch=1&timeoutSeconds=30"
hold kilntest1 3 "$watch"
ok "a watch above the limit is a 429 with the number, the key and Retry-After" \
    wait_for 10 answers_with \
    '^HTTP/1.1 429 .*Retry-After: 5.*has 3 watches.*limits.perUser.watches' \
    kilntest1 "$watch"
like "another user can watch" \
    "$(get kilntest2 "$pods?watch=1&timeoutSeconds=1")" \
    '^HTTP/1.1 200'
let_go
ok "watches that have ended are not counted" wait_for 10 answers_with \
    '^HTTP/1.1 200' kilntest1 "$pods?watch=1&timeoutSeconds=1"

for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
for user in kilntest1 kilntest2; do
    as $user ksub --parsable --wrap 'echo begun; exec sleep 60' \
        >"$cluster/$user.id"
done
is_running_job() { root get job "$1" --no-headers | grep -qw Running; }
one=$(cat "$cluster/kilntest1.id")
two=$(cat "$cluster/kilntest2.id")
both_run() { is_running_job "$one" && is_running_job "$two"; }
ok "the jobs of two users run" wait_for 20 both_run
hold kilntest1 2 "$pods/job-$one-0/log?follow=true"
ok "a reader of output above the limit is a 429" wait_for 10 answers_with \
    '^HTTP/1.1 429 .*has 2 readers.*limits.perUser.logReaders' \
    kilntest1 "$pods/job-$one-0/log?follow=true"
like "another user can read output from the same node" \
    "$(get kilntest2 "$pods/job-$two-0/log")" '^HTTP/1.1 200 .*begun'
let_go

# shellcheck disable=SC2016 # expanded by the inner shell
like "a user who deletes a pod cannot give it a longer grace period than the site allows" \
    "$(reconfigure 'maximumGrace: 1m'
    as kilntest1 sh -c 'curl -s -X DELETE --unix-socket "$0" "http://kiln$1"' \
        "$cluster/socket" "$pods/job-$one-0?gracePeriodSeconds=999999999")" \
    '"deletionGracePeriodSeconds": ?60[,}]'
reloads=$((reloads + 1))

# --- connections and requests -------------------------------------------------
reconfigure 'perUser: {connections: 4, watches: 100}'
hold kilntest1 4 "$watch"
ok "a connection above the limit is a 429, not a reset" \
    wait_for 10 answers_with \
    '^HTTP/1.1 429 .*has 4 connections.*limits.perUser.connections' \
    kilntest1 "$pods"
like "another user can connect" "$(get kilntest2 "$pods")" '^HTTP/1.1 200'
said=$(as kilntest1 timeout 5 kctl get pods 2>&1)
is "connections through TCP and MUNGE are counted for the same user" "$?" 124
like "kctl waits, and says why" "$said" 'limits.perUser.connections'
let_go

reconfigure 'perUser: {requestsPerSecond: 20}'
# codes USER: prints the status codes of 200 requests on one connection, with
# their counts.
codes() {
    # shellcheck disable=SC2016
    as "$1" sh -c 'curl -s --unix-socket "$0" -o /dev/null \
        -w "%{http_code}\n" "http://kiln/api/v1/namespaces/default?[1-200]"' \
        "$cluster/socket" | sort | uniq -c | tr '\n' ' '
}
like "a user who sends requests too often is slowed down" \
    "$(codes kilntest1)" '200.* 429'
like "root is not slowed down" \
    "$(curl -s --unix-socket "$cluster/socket" -o /dev/null \
    -w '%{http_code}\n' 'http://kiln/api/v1/namespaces/default?[1-200]' |
    sort | uniq -c | tr '\n' ' ')" '^ *200 200 $'
ok "another user is not slowed down" as kilntest2 kctl get pods
# The file has more objects than the limit allows at once, so kctl has to wait
# as the answers ask it to.
for i in $(seq 60); do
    # shellcheck disable=SC2059
    printf -- "---\n$job\n" "$i"
done >"$cluster/home/many.json"
like "kctl says once that it is slowed down, and creates all objects of a long file" \
    "$(as kilntest1 kctl create -f "$cluster/home/many.json" 2>&1 |
        sed 's/.*created.*/created/' | sort | uniq -c | tr '\n' ' ')" \
    '^ *60 created +1 kctl: waiting: .*limits.perUser.requestsPerSecond'

# --- queries to the scheduler -------------------------------------------------
questions() { # USER JOB COUNT [OPTION]...: counts the answers by status code
    questions_of=$1 questions_on=$2 questions_n=$3
    shift 3
    # shellcheck disable=SC2016
    as "$questions_of" sh -c 'to=$0 on=$1 n=$2; shift 2
        curl -s "$@" --unix-socket "$to" -o /dev/null -w "%{http_code}\n" \
            "http://kiln$on/why?[1-$n]"' \
        "$cluster/socket" "$questions_on" "$questions_n" "$@" 2>/dev/null |
        sort | uniq -c | tr '\n' ' '
}
jobs=/apis/batch/v1/namespaces/default/jobs
reconfigure 'perUser: {questionsPerSecond: 3}'
for user in kilntest1 kilntest2; do
    as $user ksub --parsable -c 64 --wrap true >"$cluster/$user.id"
done
one=$jobs/job-$(cat "$cluster/kilntest1.id")
two=$jobs/job-$(cat "$cluster/kilntest2.id")
waits() { as "$1" kctl why "$(cat "$cluster/$1.id")" | grep -q 'CPU'; }
ok "the job of a user waits" wait_for 20 waits kilntest2
sleep 2
like "a user who queries the scheduler too often is slowed down" \
    "$(questions kilntest1 "$one" 50)" '^ *[0-9]+ 200 +[2-4][0-9] 429 $'
is_refused() {
    questions kilntest1 "$one" 20 >"$cluster/codes"
    get kilntest1 "$one/why" >"$cluster/refused"
    grep -q '^HTTP/1.1 429' "$cluster/refused"
}
wait_for 20 is_refused
like "the answer has the number, the key and Retry-After" \
    "$(cat "$cluster/refused")" \
    '^HTTP/1.1 429 .*Retry-After: 1.*more than 3 times a second.*limits.perUser.questionsPerSecond'
like "this limit does not slow down other requests of the user" \
    "$(get kilntest1 "$one")" '^HTTP/1.1 200'
like "another user can query the scheduler" \
    "$(get kilntest2 "$two/why")" '^HTTP/1.1 200'

# Without a limit per second, 60 parallel connections send queries, so most of
# them have to wait.
reconfigure 'perUser: {questionsPerSecond: 0}'
questions kilntest1 "$one" 3000 --parallel --parallel-max 60 \
    >"$cluster/asked" &
asking=$!
like "while a user sends queries without a pause, another user gets an answer" \
    "$(get kilntest2 "$two/why")" '^HTTP/1.1 200'
wait "$asking"
like "queries beyond the eight that may wait are refused" \
    "$(cat "$cluster/asked")" \
    '^ *[0-9]+ 200 +[0-9]+ 429 $'
finish
