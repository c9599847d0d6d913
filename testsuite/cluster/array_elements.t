#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job array is one Job of many elements, of which few have pods at a time.
# Each element runs once, its result is kept after its pod is gone, and ranges
# of elements are held and cancelled while others run.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
cluster_user kilntest2 || skip_all "only root can make users"
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:8 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

# array NAME ARRAY COMMAND: submits an array, where ARRAY is its spec.array as
# JSON.
array() {
    printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"%s"},
        "spec":{"array":%s,"template":{"spec":{"restartPolicy":"Never",
        "containers":[{"name":"main","image":"host","command":["/bin/sh","-c",
        "%s"],"resources":{"requests":{"cpu":"1"}}}]}}}}' "$1" "$2" "$3" |
        as kilntest1 kctl create -f - >/dev/null
}
job() { root get job "$1" -o json; }
job_is() { [ "$(job "$1" | jq -r "$2")" = "$3" ]; }
pods() { root get pods -o json | jq "[.items[] | select(.metadata.name |
    startswith(\"$1-\"))] | length"; }
has_pods() { [ "$(pods "$1")" -eq "$2" ]; }
change() {
    answer=$(api kilntest1 PATCH "$jobs/$1" "$2" "$merge")
    [ "${answer%% *}" = 200 ] || bail_out "$1 cannot be changed: $answer"
}

array all '{"tasks":"1-199:2"}' 'exit 0'
ok "every element of an array runs" \
    wait_for 60 job_is all .status.state Completed
ok "the Job counts all elements as succeeded" job_is all .status.succeeded 100
ok "the Job lists the completed indexes of a small array" \
    job_is all .status.completedIndexes 0-99
ok "the pods of the array are gone" has_pods all 0

array half '{"tasks":"0-39"}' \
    'exit $((JOB_COMPLETION_INDEX % 2))'
ok "half of the elements fail" wait_for 60 job_is half .status.failed 20
ok "an array with failed elements is Failed when it ends" \
    wait_for 30 job_is half .status.state Failed
ok "the other elements have succeeded" job_is half .status.succeeded 20

elements() { # NAME QUERY FILTER
    as kilntest1 curl -s --unix-socket "$cluster/socket" \
        "http://kiln$jobs/$1/elements?$2" | jq -r "$3"
}
row='"\(.task) \(.index) \(.state) \(.attempt) \(.node) \(.exitCode)"'
told() { [ "$(elements "$@")" = "$wanted" ]; }
wanted='4 4 Completed 1 n1 0
7 7 Failed 1 n1 1'
ok "the result of each element is known after its pod is gone" \
    wait_for 20 told half 'tasks=4,7' ".items[] | $row"
is "elements are listed in pages" \
    "$(elements half 'limit=3' '"\([.items[].task]) \(.continue)"')" '[0,1,2] 3'
is "a page continues where the previous page ended" \
    "$(elements half 'limit=3&continue=38' '"\([.items[].task]) \(.continue)"')" \
    '[38,39] null'
like "an error in a parameter is reported" \
    "$(elements half 'tasks=x' .message)" 'tasks: '
like "another user cannot list the elements" \
    "$(api kilntest2 GET "$jobs/half/elements")" '^403'

array stop '{"tasks":"0-19","throttle":0}' 'exit 0'
ok "a throttle of 0 starts no element" has_pods stop 0
change stop '{"spec":{"array":{"throttle":3,"held":"5-9"}}}'
ok "when the throttle is raised, the elements that are not held run" \
    wait_for 30 job_is stop .status.succeeded 15
is "the list shows held and completed elements" \
    "$(elements stop 'tasks=4-6' '[.items[].state]|join(" ")')" \
    'Completed Held Held'
ok "held elements are counted as waiting" job_is stop .status.array.waiting 5-9
change stop '{"spec":{"array":{"cancelled":"5,6","held":"7-9"}}}'
change stop '{"spec":{"array":{"held":null}}}'
ok "cancelled elements never run, and the others do" \
    wait_for 30 job_is stop .status.succeeded 18
ok "the array is then Cancelled" wait_for 30 job_is stop .status.state Cancelled

# When the throttle becomes 0, running tasks continue and no other task starts.
array pause '{"tasks":"0-5","throttle":2}' \
    "until [ -e $cluster/home/go ]; do sleep 0.1; done"
ok "as many tasks run as the throttle allows" \
    wait_for 30 job_is pause .status.ready 2
change pause '{"spec":{"array":{"throttle":0}}}'
: >"$cluster/home/go"
ok "running tasks complete after the throttle became 0" \
    wait_for 30 job_is pause .status.succeeded 2
sleep 1
is "no other task starts" "$(job pause |
    jq -c '[.status.succeeded,.status.ready//0,.status.array.waiting]')" \
    '[2,0,"2-5"]'
change pause '{"spec":{"array":{"throttle":2}}}'
ok "the other tasks run when the throttle is raised" \
    wait_for 30 job_is pause .status.state Completed
is "each task has run once" "$(job pause | jq -c .status.succeeded)" 6

array long '{"tasks":"0-9"}' 'exec sleep 1000'
ok "eight elements of a long array run" wait_for 30 job_is long .status.ready 8
change long '{"spec":{"array":{"cancelled":"0-8"}}}'
ok "a range of running and waiting elements is cancelled" \
    wait_for 30 job_is long '[.status.ready,.status.array.cancelled]|tostring' '[1,9]'
as kilntest1 kctl cancel long >/dev/null 2>&1 ||
    change long '{"spec":{"array":{"cancelled":"0-9"}}}'
ok "the remaining element is cancelled" \
    wait_for 30 job_is long .status.state Cancelled

array whole '{"tasks":"0-99"}' 'exec sleep 1000'
ok "eight elements of a large array run" \
    wait_for 30 job_is whole .status.ready 8
change whole '{"metadata":{"annotations":{"kiln.hpc/cancel":"x"}}}'
ok "the array is cancelled as a whole" \
    wait_for 30 job_is whole .status.state Cancelled
is "all elements are cancelled, and none has failed" \
    "$(job whole | jq -c '[.status.failed//0,.status.array.cancelled]')" \
    '[0,100]'
is "each element is listed as cancelled" "$(elements whole 'tasks=0,20,99' \
    '[.items[].state]|join(" ")')" 'Cancelled Cancelled Cancelled'

array fast '{"tasks":"0-99","failFast":true}' 'exit 3'
ok "the first failure ends an array with failFast" \
    wait_for 30 job_is fast .status.state Failed
like "the list of jobs says so" \
    "$(as kilntest1 kctl jobs --name fast -o id,where --no-headers)" \
    'a task failed, and fail-fast ended the others'

printf '{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"few"},
    "spec":{"hard":{"pods":"2"}}}' | root create -f - >/dev/null
counts() { root get resourcequota few -o json | jq -e '.status.used'; }
wait_for 20 counts || bail_out "no quota"
array narrow '{"tasks":"0-5"}' "until [ -e $cluster/go ]; do sleep 0.1; done"
says_why() { job narrow | jq -e '.status.cause.message // "" |
    contains("quota few: 2")'; }
ok "an array that is larger than a quota says so" wait_for 30 says_why
is "it has as many pods as the quota allows" "$(pods narrow)" 2
: >"$cluster/go"
ok "all its elements run in the end" \
    wait_for 60 job_is narrow .status.succeeded 6
ok "the array completes" wait_for 20 job_is narrow .status.state Completed
root delete resourcequota few >/dev/null
finish
