#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job that is preempted more often than its site or its partition allows
# requeues is held with the reason, and continues when it is released. A
# controller that is killed neither forgets an interruption nor counts it
# twice.

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
ok "another job preempts it" takes_room
ok "it is requeued for the first time" wait_for 20 state_is "$id" Requeued
again
ok "it is still requeued after the controller was killed" \
    wait_for 20 state_is "$id" Requeued
over
ok "it runs again" wait_for 20 state_is "$id" Running
urgent
ok "it is preempted again" takes_room
ok "it is now held" wait_for 20 state_is "$id" Held
words='held: interrupted 2 times, started again 1 time at most'
is "the cause has a code" "$(job "$id" .status.cause.code)" \
    JobHoldMaxRequeue
is "the cause has a message" "$(job "$id" .status.cause.message)" "$words"
like "kctl jobs shows the message" "$(as kilntest1 kctl jobs)" \
    "Held .*$words"
like "kctl why shows the message" "$(as kilntest1 kctl why "$id")" "$words"
over
again
ok "it is still held after the controller was killed" state_is "$id" Held
is "it is not started although there is room" \
    "$(job "$id" '.status.active // 0')" 0
is "the interruptions are not counted twice" \
    "$(job "$id" .status.cause.message)" "$words"
like "another user cannot release it" \
    "$(as kilntest2 kctl release "$id" 2>&1)" 'forbidden|may not|not found|cannot'
ok "it is still held" state_is "$id" Held

like "its owner can release it" \
    "$(as kilntest1 kctl release "$id" 2>&1)" released
ok "it runs again after the release" wait_for 20 state_is "$id" Running
is "it has the same number and its third attempt" \
    "$(as kilntest1 kctl jobs -t Running -o id,attempts --no-headers |
        awk '{ print $1, $2 }')" "$id 3"
is "it has no cause any more" "$(job "$id" .status.cause)" null
again
urgent
ok "it is preempted after the release" takes_room
ok "it is requeued, because the count has started again" \
    wait_for 20 state_is "$id" Requeued
over
ok "it runs after that" wait_for 20 state_is "$id" Running
urgent
ok "it is preempted once more" takes_room
ok "it is held again" wait_for 20 state_is "$id" Held
over
like "its owner can requeue it" \
    "$(as kilntest1 kctl requeue "$id" 2>&1)" requeued
ok "it then runs" wait_for 20 state_is "$id" Running
as kilntest1 kctl cancel "$id" >/dev/null

# The limit is that of the partition, because the site has none.
limit() {
    api root PATCH /apis/kiln.hpc/v1/partitions/all \
        "{\"spec\":{\"maximumRequeues\":$1}}" "$merge"
}
printf 'limits: {}\n' >"$cluster/limits.yaml"
again
like "a negative limit of a partition is refused" "$(limit -1)" \
    '^422 .*maximumRequeues: .*must be'
like "a limit of more than a million is refused" \
    "$(limit 1000001)" '^422 .*maximumRequeues: '
like "an administrator can set the limit of a partition" "$(limit 1)" '^200'
like "kctl describe shows the limit" \
    "$(root describe partition all)" 'Requeues: +1'
like "kctl get -o wide shows the limit" \
    "$(root get partitions -o wide)" 'REQUEUES'
id=$(as kilntest1 ksub --parsable -o /dev/null -c 4 --requeue \
    --wrap 'exec sleep 1000')
ok "a job runs in the partition" wait_for 20 state_is "$id" Running
urgent
ok "it is preempted for the first time" takes_room
over
ok "it runs again in the partition" wait_for 20 state_is "$id" Running
urgent
ok "it is preempted for the second time" takes_room
ok "it is held because of the partition's limit" wait_for 20 state_is "$id" Held
is "it has the same message" "$(job "$id" .status.cause.message)" "$words"
over
limit 2 >/dev/null
ok "it continues when the limit of the partition is raised" \
    wait_for 20 state_is "$id" Running
limit 1 >/dev/null
as kilntest1 kctl cancel "$id" >/dev/null

# The interruptions of array tasks are counted for each task.
runs() { [ "$(job "$1" '.status.ready // 0')" = "$2" ]; }
holds() { [ "$(job "$1" '.spec.array.held // ""')" = "$2" ]; }
attempts() { root get pods -o json | jq -r --arg job "$1" '[.items[] |
    select(.metadata.name | startswith($job)) | .metadata.name] | join(" ")'; }
has_pods() { [ "$(attempts "$1")" = "$2" ]; }
array=$(as kilntest1 ksub --parsable -o /dev/null -c 4 -a 7-8%1 --requeue \
    --wrap 'exec sleep 1000')
ok "a task runs" wait_for 20 runs "job-$array" 1
urgent
ok "another job preempts the task" takes_room
again
over
ok "the task is requeued although the controller was killed" \
    wait_for 20 has_pods "job-$array" "job-$array-0-r1"
ok "the task runs again" wait_for 20 runs "job-$array" 1
urgent
ok "the task is preempted again" takes_room
ok "the task is now held" wait_for 20 holds "job-$array" 7
over
ok "the other task runs" wait_for 20 has_pods "job-$array" "job-$array-1"
like "kctl jobs shows the held task" \
    "$(as kilntest1 kctl jobs)" "${array}_7 .*Held"
like "kctl describe says why the task is held" \
    "$(as kilntest1 kctl describe job "$array")" \
    "task 7 held: interrupted 2 times, started again 1 time at most"
like "kctl why says that the task is held" \
    "$(as kilntest1 kctl why "${array}_7")" \
    "^Task ${array}_7: Held\$"
is "kctl why says once how to release it" \
    "$(as kilntest1 kctl why "${array}_7" |
    grep -c "'kctl release ${array}_7' lets it")" 1
like "kctl why says why it is held" "$(as kilntest1 kctl why "${array}_7")" \
    "task 7 held: interrupted 2 times, started again 1 time at most"
like "kctl why lists the earlier attempts" \
    "$(as kilntest1 kctl why "${array}_7")" \
    "^Its earlier attempts:"
like "kctl get shows the state of the task" \
    "$(as kilntest1 kctl get job "${array}_7" --no-headers)" "Held"
again
ok "the task is still held after the controller was killed" holds "job-$array" 7
like "another user cannot release the task" \
    "$(as kilntest2 kctl release "${array}_7" 2>&1)" \
    'forbidden|may not|not found|cannot'
as kilntest1 kctl cancel "${array}_8" >/dev/null
sums() { as kilntest1 kctl efficiency --tasks "$array" | grep -q '^Sum: 2 tasks, 3 attempts'; }
ok "kctl efficiency counts each task once" wait_for 20 sums
like "its owner can release the task" \
    "$(as kilntest1 kctl release "${array}_7" 2>&1)" released
ok "the task gets its third attempt" wait_for 20 has_pods "job-$array" \
    "job-$array-0-r2"
ok "the third attempt runs" wait_for 20 runs "job-$array" 1
urgent
ok "it can be preempted" takes_room
again
over
ok "it is requeued after that" \
    wait_for 20 has_pods "job-$array" "job-$array-0-r3"
ok "it is not held, because the count has started again" holds "job-$array" ""
as kilntest1 kctl cancel "$array" >/dev/null
finish
