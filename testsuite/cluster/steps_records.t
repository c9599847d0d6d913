#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The records of the steps of jobs: what each krun has started, how it ended and what it
# used, also after a restart of the agent, after the controller was away, and after the job
# was deleted; the number of requests does not depend on the number of steps; and nobody
# else sees or writes them.

# shellcheck disable=SC2016,SC2119,SC2154 # of jobs; cluster.sh

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-step ksub kctl krun jq
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller
agent() {
    cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 1s \
        --cgroup-base "/kiln-records-$$"
}
agent
wait_for 20 admin wait --for condition=Ready node n1 || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done
home=$cluster/home/kilntest1

# has_steps JOB FILTER: the list of the steps of a job, as its owner sees it.
steps_of() { as kilntest1 kctl --no-wait steps -o json "$1" 2>/dev/null; }
has_steps() { steps_of "$1" | jq -e "$2" >/dev/null; }
submit_job() { submit -n 4 -o "$home/out" "$@"; }

id=$(submit_job --wrap 'krun -n 2 hostname
    krun -n 1 --job-name=seven sh -c "exit 7"
    krun -n 1 sh -c "kill -9 \$\$"
    krun -n 1 -t 0:02 sleep 60
    krun -n 1 sh -c "i=0; while [ \$i -lt 200000 ]; do i=\$((i+1)); done"
    krun -n 1 sleep 600')
wait_for 60 has_steps "$id" '.items | length == 6 and .[5].state == "Running"'
is "a step that runs is shown with what it is, while the job runs" "$(steps_of "$id" | jq -c '.items[5]
    | [.step, .name, .command, .tasks, .cpus, .nodes, .nodeCount, .attempt, .user, .exitCode]')" \
    '[5,"sleep","sleep 600",1,1,"n1",1,1,"kilntest1",null]'
is "ended steps have their state and the highest exit code" "$(steps_of "$id" | jq -c '.items[:5]
    | map([.name, .state, .exitCode, .signal // 0])')" \
    '[["hostname","Completed",0,0],["seven","Failed",7,0],["sh","Failed",137,9],["sleep","TimedOut",143,15],["sh","Completed",0,0]]'
ok "and the CPU time and memory that they used" has_steps "$id" '.items[4]
    | (.cpuUserMicros + .cpuSystemMicros > 10000) and .peakMemoryBytes > 100000'
as kilntest1 kctl steps "$id" >"$cluster/table" 2>&1
like "kctl steps prints them" "$(cat "$cluster/table")" "$id.1 +seven +Failed +7 +1 +1 +n1"
finish
