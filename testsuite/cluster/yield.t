#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs that are frozen while a job of higher priority runs on their cores
# (preemptionMode: Suspend): they keep their memory, their time limit is
# stopped, and they continue by themselves, even if daemons are killed
# meanwhile. Two jobs never run on one core at the same time.

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
controller() {
    cluster_controller --socket "$cluster/socket"
}
agent() {
    cluster_agent n1 --topology 'package:1 core:4 pu:1' \
        --cgroup-base "/kiln-yield-$$"
}
controller
agent
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
root create -f - >/dev/null <<'TXT'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: utmost
  annotations: {kiln.hpc/allowed-users: kilntest2}
value: 2000
TXT
partition() { # NAME SPEC
    printf '{apiVersion: kiln.hpc/v1, kind: Partition, metadata: {name: %s},
        spec: %s}' "$1" "$2" | root apply -f - 2>&1
}
partition low '{preemptionMode: Suspend}' >/dev/null

pod() { root get pod "job-$1-0" -o json | jq -r "$2"; }
count() { # ID: prints how often its loop has counted
    wc -c <"$cluster/home/kilntest1/count.$1"
}
grows() { # ID
    grown_from=$(count "$1")
    wait_for 10 has_grown "$1"
}
has_grown() { [ "$(count "$1")" -gt "$grown_from" ]; }
stands_still() { # ID
    still=$(count "$1")
    sleep 0.3
    [ "$(count "$1")" -eq "$still" ]
}
submit() { # OPTION...: submits a job that counts
    as kilntest1 ksub --parsable -o /dev/null -p low "$@" --wrap '
        while :; do printf x >>count.$KILN_JOB_ID; sleep 0.05; done'
}
urgent() { # OPTION...
    as kilntest2 ksub --parsable -o /dev/null --priority urgent "$@" \
        --wrap 'exec sleep 1000'
}
over() { as kilntest2 kctl cancel "$1" >/dev/null; }
waits_for() {
    [ "$(root get pod "job-$1-0" -o json | jq -r .status.cause.code)" = "$2" ]
}
cpus() { pod "$1" .status.allocation.cpus; }
is_to_yield() { pod "$1" '.metadata.annotations["kiln.hpc/yield"]' | grep -q job; }

# --- a job is frozen for another ----------------------------------------------
low=$(submit -c 4 -t 30)
ok "a job runs on all cores" wait_for 20 state_is "$low" Running
ok "it counts" grows "$low"
high=$(urgent -c 2 -t 60)
ok "a job of higher priority runs" wait_for 20 state_is "$high" Running
ok "the first job is Frozen" wait_for 20 state_is "$low" Frozen
ok "it does not count" stands_still "$low"
is "it keeps its allocation of all cores" "$(cpus "$low")" 0-3
like "the other job has two of these cores" "$(cpus "$high")" '^[0-3]-[0-3]$'
like "its owner sees for which job it is suspended" \
    "$(as kilntest1 kctl jobs -o id,state,reason --no-headers)" \
    "$low +Frozen +suspended for job $high of kilntest2"
job_told() { root events --for "job/job-$low" | grep -q "$1"; }
ok "an event of the job says that, too" wait_for 20 job_told \
    "Frozen .*Suspended for job $high of kilntest2, which runs on its cores"
drawn() { root timeline --hours 2 n1; }
like "the timeline shows it as suspended" \
    "$(drawn)" "$low kilntest1 \\(S\\) (s|╌)+"
ends_at() { # ID: prints in how many minutes the job ends in the timeline
    api root GET /kiln/v1/timeline | sed 's/^200 //' | jq -r --argjson id "$1" '
        (.now | sub("\\..*Z"; "Z") | fromdate) as $now | .nodes[].jobs[]
        | select(.id == $id) | .end // "none"
        | if . == "none" then . else
            ((sub("\\..*Z"; "Z") | fromdate) - $now) / 60 | floor end'
}
like "its expected end is after the other's, plus the rest of its own time limit" \
    "$(ends_at "$low")" '^8[5-9]$'
like "kctl why says for which job it is suspended" \
    "$(as kilntest1 kctl why "$low")" "suspended for job $high"
third=$(as kilntest1 ksub --parsable -o /dev/null -c 1 --wrap 'exec sleep 1000')
ok "its other cores are not given to a third job" \
    wait_for 20 waits_for "$third" Resources
root cancel "$third" >/dev/null
used() { root nodes -o json | jq -c '.. | .cpusUsed? // empty'; }
is "the cores are counted once" "$(used)" 4
like "they are counted once for the partition, too" \
    "$(root partitions low --no-headers)" ' 1 +0/4 '
like "they are counted once in the table of nodes, too" \
    "$(root get node n1 --no-headers)" ' 4/4 '
like "an operator cannot resume it" "$(root resume "$low" 2>&1)" \
    "suspended for job $high.* resumes by itself"
like "its owner cannot remove the annotation" "$(api kilntest1 PATCH \
    "$pods/job-$low-0" '{"metadata":{"annotations":{"kiln.hpc/yield":null}}}' \
    $merge)" '^403 '
like "an administrator cannot remove it while the other job has the cores" \
    "$(api root PATCH \
    "$pods/job-$low-0" '{"metadata":{"annotations":{"kiln.hpc/yield":null}}}' \
    $merge)" '^409 .*cannot resume yet'
like "the timeline counts no core twice" \
    "$(LC_ALL=C root timeline n1)" '^n1 +4/4 '
over "$high"
ok "it is Running when the other job has ended" \
    wait_for 20 state_is "$low" Running
ok "it counts again" grows "$low"
ok "its pod has the time for which it was frozen" eval \
    '[ "$(pod "$low" .status.frozenMicroseconds)" -gt 100000 ]'
not_ok "its annotation is removed" is_to_yield "$low"

# --- a third job of even higher priority --------------------------------------
first=$(urgent -c 2)
ok "another job takes two of its cores" wait_for 20 state_is "$first" Running
second=$(as kilntest2 ksub --parsable -o /dev/null -c 4 --priority utmost \
    --requeue --wrap 'exec sleep 1000')
ok "a job of the highest priority preempts that job according to its partition" \
    wait_for 20 state_is "$second" Running
ok "the preempted job does not run" eval '! state_is "$first" Running'
ok "the first job is then suspended for the job of the highest priority" \
    wait_for 20 eval \
    'as kilntest1 kctl why "$low" | grep -q "suspended for job $second"'
ok "it has not run in between" state_is "$low" Frozen
over "$first"
over "$second"
ok "it runs when both have ended" wait_for 20 state_is "$low" Running

# --- also suspended by an operator --------------------------------------------
root suspend "$low" >/dev/null
ok "a job that an operator suspends is Frozen" \
    wait_for 20 state_is "$low" Frozen
is "its end is unknown" "$(ends_at "$low")" none
high=$(urgent -c 4)
ok "a job of higher priority gets its cores" \
    wait_for 20 state_is "$high" Running
is "the cores are counted once for both" "$(used)" 4
like "the operator can resume it" "$(root resume "$low")" "job/$low resumed"
sleep 1
ok "it stays frozen while the other job runs" stands_still "$low"
root suspend "$low" >/dev/null
over "$high"
ok "the annotation is removed when the other job has ended" \
    wait_for 20 eval '! is_to_yield "$low"'
ok "it stays frozen because the operator suspended it again" stands_still "$low"
like "kctl why names the operator" \
    "$(as kilntest1 kctl why "$low")" 'suspended by operator root'
other=$(as kilntest1 ksub --parsable -o /dev/null -c 1 --wrap 'exec sleep 1000')
ok "its cores are not given to others" wait_for 20 waits_for "$other" Resources
root cancel "$other" >/dev/null
root resume "$low" >/dev/null
ok "it runs when the operator resumes it" wait_for 20 state_is "$low" Running

# --- daemons are killed -------------------------------------------------------
high=$(urgent -c 4)
ok "the job is frozen for another job" wait_for 20 state_is "$low" Frozen
ok "the other job runs" wait_for 20 state_is "$high" Running
stop n1 KILL
stop controller KILL
ok "the job stays frozen without daemons" stands_still "$low"
controller
agent
ok "the node is back after both were killed" wait_for 20 eval \
    'root get node n1 | grep -q "Ready\|Idle\|Mixed\|Allocated"'
sleep 2
ok "the job is still frozen" stands_still "$low"
ok "the other job still runs" state_is "$high" Running
stop n1 KILL
over "$high"
stop controller KILL
controller
agent
ok "the job continues when the other was cancelled while no agent ran" \
    wait_for 60 state_is "$low" Running
ok "the job counts again" grows "$low"

# The controller is killed at several moments, then the agent.
for pause in 0 0.05 0.1 0.2 0.4; do
    high=$(urgent -c 4)
    sleep $pause
    stop controller KILL
    controller
    ok "a controller that is killed ${pause} s after a job came starts the job" \
        wait_for 30 state_is "$high" Running
    ok "the first job is frozen meanwhile" stands_still "$low"
    over "$high"
    sleep $pause
    stop controller KILL
    controller
    ok "the first job runs after that job" wait_for 30 state_is "$low" Running
done
for pause in 0 0.05 0.1 0.2; do
    high=$(urgent -c 4)
    sleep $pause
    stop n1 KILL
    agent
    ok "an agent that is killed ${pause} s after a job came starts the job" \
        wait_for 60 state_is "$high" Running
    ok "the first job is frozen meanwhile" stands_still "$low"
    over "$high"
    sleep $pause
    stop n1 KILL
    agent
    ok "the first job runs after that job" wait_for 60 state_is "$low" Running
done
is "the first job still has its first attempt" \
    "$(job "$low" .status.attempts)" 1

# --- a frozen job is cancelled ------------------------------------------------
high=$(urgent -c 4)
ok "the job is frozen once more" wait_for 20 state_is "$low" Frozen
ok "another job runs on its cores" wait_for 20 state_is "$high" Running
counted=$(count "$low")
as kilntest1 kctl cancel "$low" >/dev/null
ok "a frozen job that is cancelled ends at once" \
    wait_for 5 state_is "$low" Cancelled
is "it has not run before its end" "$(count "$low")" "$counted"
ok "the other job keeps running" state_is "$high" Running
over "$high"

# --- the time limit of a frozen job -------------------------------------------
low=$(submit -c 4 -t 0:06)
ok "a job with a short time limit runs" wait_for 20 state_is "$low" Running
high=$(urgent -c 4)
ok "it is frozen" wait_for 20 state_is "$low" Frozen
sleep 7
ok "it is still frozen after the time at which it would have ended" \
    state_is "$low" Frozen
over "$high"
ok "it ends at its time limit after it has continued" \
    wait_for 30 state_is "$low" TimedOut

# --- an agent of a former release ---------------------------------------------
low=$(submit -c 4 -t 30)
ok "a job runs on all cores again" wait_for 20 state_is "$low" Running
api root PATCH /api/v1/nodes/n1/status '{"status":{"agentFeatures":["Freeze"]}}' \
    $merge >/dev/null
high=$(urgent -c 4)
ok "no job is suspended for another if the agent does not support it" \
    wait_for 20 waits_for "$high" Resources
sleep 1
ok "the job keeps running" state_is "$low" Running
not_ok "it has no annotation" is_to_yield "$low"
over "$high"
as kilntest1 kctl cancel "$low" >/dev/null

# --- a node without a freezer, and a requeue ----------------------------------
directory "$cluster/n2" 711
start n2 unshare --mount sh -c 'umount -a -t cgroup,cgroup2
    exec kiln-agent "$@"' agent --controller "$cluster_url" --cluster test \
    --service-user "$(id -un)" --munge-socket "$munge_socket" \
    --node-name n2 --state-dir "$cluster/n2/state" \
    --run-dir "$cluster/n2/run" --shepherd "$cluster/bin/kiln-shepherd" \
    --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n2 || bail_out "no node"
for key in $(root get node n2 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n2 "$key-" >/dev/null
done
low=$(submit -w n2 -c 4 -t 30 --requeue)
ok "a job runs on a node without a freezer" wait_for 20 state_is "$low" Running
ok "it counts" grows "$low"
high=$(urgent -w n2 -c 4)
ok "a job of higher priority runs on its cores" \
    wait_for 20 state_is "$high" Running
ok "the first job does not count" stands_still "$low"
over "$high"
ok "the first job is Running when the other has ended" \
    wait_for 20 state_is "$low" Running
ok "it counts again" grows "$low"
high=$(urgent -w n2 -c 4)
ok "it is frozen again" wait_for 20 state_is "$low" Frozen
ok "the other job runs" wait_for 20 state_is "$high" Running
counted=$(count "$low")
root requeue "$low" >/dev/null
ok "a frozen job that is requeued ends at once, and waits" \
    wait_for 10 state_is "$low" Requeued
is "it has not run before its end" "$(count "$low")" "$counted"
ok "the other job keeps running" state_is "$high" Running
over "$high"
ok "the requeued job starts again" wait_for 20 state_is "$low" Running

finish
