#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job that is preempted more often than its site or its partition lets it start
# anew is held with the reason, and goes on when it is released; a controller
# that is killed neither forgets an interruption nor counts it twice.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
printf 'limits: {maximumRequeues: 1}\n' >"$cluster/limits.yaml"
controller() {
    cluster_controller --socket "$cluster/socket" --config "$cluster/limits.yaml"
}
again() {
    stop controller KILL
    controller
}
controller
cluster_agent n1 --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
root create -f - >/dev/null <<'TXT'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: urgent
  annotations: {kiln.hpc/allowed-users: kilntest2}
value: 1000
TXT

job() { root get job "$1" -o json | jq -r "$2"; }
state_is() { [ "$(job "$1" .status.state)" = "$2" ]; }
urgent() {
    high=$(as kilntest2 ksub --parsable -o /dev/null -c 4 \
        --priority urgent --wrap 'exec sleep 1000')
}
takes_room() { wait_for 20 state_is "$high" Running; }
over() { as kilntest2 kctl cancel "$high" >/dev/null; }

id=$(as kilntest1 ksub --parsable -o /dev/null -c 4 --requeue \
    --wrap 'exec sleep 1000')
ok "a job runs" wait_for 20 state_is "$id" Running
urgent
ok "another takes its room" takes_room
ok "it may start anew once" wait_for 20 state_is "$id" Requeued
again
ok "which a killed controller knows" wait_for 20 state_is "$id" Requeued
over
ok "it does" wait_for 20 state_is "$id" Running
urgent
ok "and is preempted again" takes_room
ok "now it is held" wait_for 20 state_is "$id" Held
words='held: interrupted 2 times, started anew 1 time at most'
is "the reason is told in a code" "$(job "$id" .status.cause.code)" \
    JobHoldMaxRequeue
is "and in words" "$(job "$id" .status.cause.message)" "$words"
like "which its owner reads among the jobs" "$(as kilntest1 kctl jobs)" \
    "Held .*$words"
like "and when asking why" "$(as kilntest1 kctl why "$id")" "$words"
over
again
ok "a killed controller still holds it" state_is "$id" Held
is "with room for it" "$(job "$id" '.status.active // 0')" 0
is "and has counted nothing twice" "$(job "$id" .status.cause.message)" "$words"
like "nobody else releases it" \
    "$(as kilntest2 kctl release "$id" 2>&1)" 'forbidden|may not|not found|cannot'
ok "it is held as before" state_is "$id" Held

like "its owner does" "$(as kilntest1 kctl release "$id" 2>&1)" released
ok "and it goes on" wait_for 20 state_is "$id" Running
is "with the number that it had, for the third time" \
    "$(as kilntest1 kctl jobs -t Running -o id,attempts --no-headers |
        awk '{ print $1, $2 }')" "$id 3"
is "nothing is said against it" "$(job "$id" .status.cause)" null
again
urgent
ok "preempted anew" takes_room
ok "it may start again once" wait_for 20 state_is "$id" Requeued
over
ok "and runs" wait_for 20 state_is "$id" Running
urgent
ok "until the next time" takes_room
ok "when it is held" wait_for 20 state_is "$id" Held
over
like "requeued by its owner" "$(as kilntest1 kctl requeue "$id" 2>&1)" requeued
ok "it starts as well" wait_for 20 state_is "$id" Running
as kilntest1 kctl cancel "$id" >/dev/null

# By the partition, where the site says nothing.
limit() {
    api root PATCH /apis/kiln.hpc/v1/partitions/all \
        "{\"spec\":{\"maximumRequeues\":$1}}" "$merge"
}
printf 'limits: {}\n' >"$cluster/limits.yaml"
again
like "a partition has no negative number" "$(limit -1)" \
    '^422 .*maximumRequeues: .*must be'
like "nor one beyond reason" "$(limit 1000001)" '^422 .*maximumRequeues: '
like "an operator says how often its jobs start anew" "$(limit 1)" '^200'
like "which is shown" "$(root describe partition all)" 'Requeues: +1'
like "in a wide table, too" "$(root get partitions -o wide)" 'REQUEUES'
id=$(as kilntest1 ksub --parsable -o /dev/null -c 4 --requeue \
    --wrap 'exec sleep 1000')
ok "a job runs in it" wait_for 20 state_is "$id" Running
urgent
ok "another takes its room once" takes_room
over
ok "it starts anew" wait_for 20 state_is "$id" Running
urgent
ok "another takes its room twice" takes_room
ok "it is held by its partition's number" wait_for 20 state_is "$id" Held
is "with the same reason" "$(job "$id" .status.cause.message)" "$words"
over
limit 2 >/dev/null
ok "it goes on when the partition allows more" wait_for 20 state_is "$id" Running
limit 1 >/dev/null
as kilntest1 kctl cancel "$id" >/dev/null

# Tasks of an array are counted each by itself.
runs() { [ "$(job "$1" '.status.ready // 0')" = "$2" ]; }
holds() { [ "$(job "$1" '.spec.array.held // ""')" = "$2" ]; }
attempts() { root get pods -o json | jq -r --arg job "$1" '[.items[] |
    select(.metadata.name | startswith($job)) | .metadata.name] | join(" ")'; }
has_pods() { [ "$(attempts "$1")" = "$2" ]; }
array=$(as kilntest1 ksub --parsable -o /dev/null -c 4 -a 7-8%1 --requeue \
    --wrap 'exec sleep 1000')
ok "a task runs" wait_for 20 runs "job-$array" 1
urgent
ok "another takes its room" takes_room
again
over
ok "it starts anew after a kill" wait_for 20 has_pods "job-$array" "job-$array-0-r1"
ok "and runs" wait_for 20 runs "job-$array" 1
urgent
ok "and is preempted again" takes_room
ok "now the task is held" wait_for 20 holds "job-$array" 7
over
ok "the other one runs" wait_for 20 has_pods "job-$array" "job-$array-1"
like "as its owner reads" "$(as kilntest1 kctl jobs)" "${array}_7 .*Held"
like "and why, in the words of a job" \
    "$(as kilntest1 kctl describe job "$array")" \
    "task 7 held: interrupted 2 times, started anew 1 time at most"
like "and why of the task" "$(as kilntest1 kctl why "${array}_7")" \
    "^Task ${array}_7: Held\$"
is "and once how to release it" "$(as kilntest1 kctl why "${array}_7" |
    grep -c "'kctl release ${array}_7' lets it")" 1
like "with the reason" "$(as kilntest1 kctl why "${array}_7")" \
    "task 7 held: interrupted 2 times, started anew 1 time at most"
like "and what it was interrupted by" "$(as kilntest1 kctl why "${array}_7")" \
    "^Its earlier attempts:"
like "its state is that of now" \
    "$(as kilntest1 kctl get job "${array}_7" --no-headers)" "Held"
again
ok "a killed controller still holds it" holds "job-$array" 7
like "nobody else releases it" \
    "$(as kilntest2 kctl release "${array}_7" 2>&1)" \
    'forbidden|may not|not found|cannot'
as kilntest1 kctl cancel "${array}_8" >/dev/null
sums() { as kilntest1 kctl efficiency "$array" | grep -q '^Sum: 2 tasks, 3 attempts'; }
ok "its efficiency counts each task once" wait_for 20 sums
like "its owner does" "$(as kilntest1 kctl release "${array}_7" 2>&1)" released
ok "and it goes on with the next number" wait_for 20 has_pods "job-$array" \
    "job-$array-0-r2"
ok "runs" wait_for 20 runs "job-$array" 1
urgent
ok "and may be preempted" takes_room
again
over
ok "once more" wait_for 20 has_pods "job-$array" "job-$array-0-r3"
ok "since the count began anew" holds "job-$array" ""
as kilntest1 kctl cancel "$array" >/dev/null
finish
