#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs that stand still while a more important one runs on their cores
# (preemptionMode: Suspend): with their memory, their limit waiting, and going on
# by themselves, whoever is killed in between. Never do two run on one core.

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

job() { root get job "$1" -o json | jq -r "$2"; }
pod() { root get pod "job-$1-0" -o json | jq -r "$2"; }
state_is() { [ "$(job "$1" .status.state)" = "$2" ]; }
count() { # ID: what its loop has counted
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
submit() { # OPTION...: one that counts
    as kilntest1 ksub --parsable -o /dev/null -p low "$@" --wrap '
        while :; do printf x >>count.$KILN_JOB_ID; sleep 0.02; done'
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

# --- one stands still for another -------------------------------------------------
low=$(submit -c 4 -t 30)
ok "a job runs on all cores" wait_for 20 state_is "$low" Running
ok "and counts" grows "$low"
high=$(urgent -c 2 -t 60)
ok "a more important one runs" wait_for 20 state_is "$high" Running
ok "the other is Frozen" wait_for 20 state_is "$low" Frozen
ok "and stands still" stands_still "$low"
is "with the cores that it has" "$(cpus "$low")" 0-3
like "two of which are the other's" "$(cpus "$high")" '^[0-3]-[0-3]$'
like "its owner reads for whom" \
    "$(as kilntest1 kctl jobs -o id,state,reason --no-headers)" \
    "$low +Frozen +suspended for job $high \(user kilntest2\)"
job_told() { root events --for "job/job-$low" | grep -q "$1"; }
ok "so does the event of the job" wait_for 20 job_told \
    "Frozen .*Suspended for job $high (user kilntest2), which runs on its cores"
drawn() { root timeline --hours 2 n1; }
like "the timeline draws it as suspended" "$(drawn)" "$low kilntest1 \\(S\\) (s|╌)+"
ends_at() { # ID: minutes from now, as the timeline has it
    api root GET /kiln/v1/timeline | sed 's/^200 //' | jq -r --argjson id "$1" '
        (.now | sub("\\..*Z"; "Z") | fromdate) as $now | .nodes[].jobs[]
        | select(.id == $id) | .end // "none"
        | if . == "none" then . else
            ((sub("\\..*Z"; "Z") | fromdate) - $now) / 60 | floor end'
}
like "until the other has ended, and the rest of its own limit" \
    "$(ends_at "$low")" '^8[5-9]$'
like "why says so" "$(as kilntest1 kctl why "$low")" "suspended for job $high"
third=$(as kilntest1 ksub --parsable -o /dev/null -c 1 --wrap 'exec sleep 1000')
ok "the rest of its cores is nobody's" wait_for 20 waits_for "$third" Resources
root cancel "$third" >/dev/null
used() { root nodes -o json | jq -c '.. | .cpusUsed? // empty'; }
is "and counts as held, once" "$(used)" 4
like "in partitions, too" "$(root partitions low --no-headers)" ' 1 +0/4 '
like "and in the table of nodes" "$(root get node n1 --no-headers)" ' 4/4 '
like "to resume it is not an operator's" "$(root resume "$low" 2>&1)" \
    "suspended for job $high.* goes on by itself"
like "nor is its annotation its owner's" "$(api kilntest1 PATCH \
    "$pods/job-$low-0" '{"metadata":{"annotations":{"kiln.hpc/yield":null}}}' \
    $merge)" '^403 '
like "nor do its cores come back while the other has them" "$(api root PATCH \
    "$pods/job-$low-0" '{"metadata":{"annotations":{"kiln.hpc/yield":null}}}' \
    $merge)" '^409 .*cannot go on yet'
like "no core counts twice in the timeline" "$(LC_ALL=C root timeline n1)" '^n1 +4/4 '
over "$high"
ok "once that has ended it goes on" wait_for 20 state_is "$low" Running
ok "and counts" grows "$low"
ok "how long it stood is kept" eval \
    '[ "$(pod "$low" .status.frozenMicroseconds)" -gt 100000 ]'
not_ok "and its wish is gone" is_to_yield "$low"

# --- the more important, the longer ------------------------------------------------
first=$(urgent -c 2)
ok "another takes two of its cores" wait_for 20 state_is "$first" Running
second=$(as kilntest2 ksub --parsable -o /dev/null -c 4 --priority utmost \
    --requeue --wrap 'exec sleep 1000')
ok "one that needs all waits for the other as its partition says" \
    wait_for 20 state_is "$second" Running
ok "which has ended, or starts anew" eval '! state_is "$first" Running'
ok "the job stands still for the last" wait_for 20 eval \
    'as kilntest1 kctl why "$low" | grep -q "suspended for job $second"'
ok "and has not run between" state_is "$low" Frozen
over "$first"
over "$second"
ok "it goes on when nobody is left" wait_for 20 state_is "$low" Running

# --- an operator's wish beside it ----------------------------------------------------
root suspend "$low" >/dev/null
ok "suspended by an operator it keeps its cores" wait_for 20 state_is "$low" Frozen
is "and no end is known" "$(ends_at "$low")" none
high=$(urgent -c 4)
ok "from all but who is more important" wait_for 20 state_is "$high" Running
is "who has them all, and counts alone" "$(used)" 4
like "resumed by the operator" "$(root resume "$low")" "job/$low resumed"
sleep 1
ok "it stands still while the other runs" stands_still "$low"
root suspend "$low" >/dev/null
over "$high"
ok "when that has ended its wish is gone" wait_for 20 eval '! is_to_yield "$low"'
ok "and it stands still for the operator" stands_still "$low"
like "who is named" "$(as kilntest1 kctl why "$low")" 'suspended by operator root'
other=$(as kilntest1 ksub --parsable -o /dev/null -c 1 --wrap 'exec sleep 1000')
ok "with its cores" wait_for 20 waits_for "$other" Resources
root cancel "$other" >/dev/null
root resume "$low" >/dev/null
ok "until it is resumed" wait_for 20 state_is "$low" Running

# --- who is killed in between --------------------------------------------------------
high=$(urgent -c 4)
ok "it stands still again" wait_for 20 state_is "$low" Frozen
ok "and the other runs" wait_for 20 state_is "$high" Running
stop n1 KILL
stop controller KILL
ok "without anybody it does" stands_still "$low"
controller
agent
ok "and with others, too" wait_for 20 eval \
    'root get node n1 | grep -q "Ready\|Idle\|Mixed\|Allocated"'
sleep 2
ok "which have it stand still" stands_still "$low"
ok "and the other run" state_is "$high" Running
stop n1 KILL
over "$high"
stop controller KILL
controller
agent
ok "the other cancelled while nobody was there, it goes on" \
    wait_for 60 state_is "$low" Running
ok "and counts" grows "$low"

# The controller is killed at any moment of it, the agent when it freezes.
for pause in 0 0.05 0.1 0.2 0.4; do
    high=$(urgent -c 4)
    sleep $pause
    stop controller KILL
    controller
    ok "killed ${pause} s after another came, a controller starts it" \
        wait_for 30 state_is "$high" Running
    ok "while the job stands still" stands_still "$low"
    over "$high"
    sleep $pause
    stop controller KILL
    controller
    ok "and lets the job go on" wait_for 30 state_is "$low" Running
done
for pause in 0 0.05 0.1 0.2; do
    high=$(urgent -c 4)
    sleep $pause
    stop n1 KILL
    agent
    ok "killed ${pause} s after another came, an agent starts it" \
        wait_for 60 state_is "$high" Running
    ok "while the job stands still" stands_still "$low"
    over "$high"
    sleep $pause
    stop n1 KILL
    agent
    ok "and lets the job go on" wait_for 60 state_is "$low" Running
done
is "all that in one attempt" "$(job "$low" .status.attempts)" 1

# --- its end while it stands still ----------------------------------------------------
high=$(urgent -c 4)
ok "once more" wait_for 20 state_is "$low" Frozen
ok "another runs" wait_for 20 state_is "$high" Running
counted=$(count "$low")
as kilntest1 kctl cancel "$low" >/dev/null
ok "cancelled it ends at once" wait_for 5 state_is "$low" Cancelled
is "and has not run for that" "$(count "$low")" "$counted"
ok "the other goes on" state_is "$high" Running
over "$high"

# --- its time limit --------------------------------------------------------------------
low=$(submit -c 4 -t 0:06)
ok "a short one runs" wait_for 20 state_is "$low" Running
high=$(urgent -c 4)
ok "and stands still" wait_for 20 state_is "$low" Frozen
sleep 7
ok "its limit waits" state_is "$low" Frozen
over "$high"
ok "and comes when it has gone on" wait_for 30 state_is "$low" TimedOut

# --- who is not helped -----------------------------------------------------------------
low=$(submit -c 4 -t 30)
ok "a job runs" wait_for 20 state_is "$low" Running
api root PATCH /api/v1/nodes/n1/status '{"status":{"agentFeatures":["Freeze"]}}' \
    $merge >/dev/null
high=$(urgent -c 4)
ok "by an agent of a former release nobody is suspended for others" \
    wait_for 20 waits_for "$high" Resources
sleep 1
ok "the job runs on" state_is "$low" Running
not_ok "and was not asked" is_to_yield "$low"
over "$high"
as kilntest1 kctl cancel "$low" >/dev/null

# --- a node without a freezer, and a job that starts anew ----------------------------------
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
ok "a job runs where there is no freezer" wait_for 20 state_is "$low" Running
ok "and counts" grows "$low"
high=$(urgent -w n2 -c 4)
ok "another runs on its cores" wait_for 20 state_is "$high" Running
ok "and it stands still" stands_still "$low"
over "$high"
ok "it goes on" wait_for 20 state_is "$low" Running
ok "and counts again" grows "$low"
high=$(urgent -w n2 -c 4)
ok "it stands still again" wait_for 20 state_is "$low" Frozen
ok "for the other" wait_for 20 state_is "$high" Running
counted=$(count "$low")
root requeue "$low" >/dev/null
ok "requeued it ends at once, and waits" wait_for 10 state_is "$low" Requeued
is "without having run" "$(count "$low")" "$counted"
ok "the other goes on" state_is "$high" Running
over "$high"
ok "then it starts anew" wait_for 20 state_is "$low" Running

finish
