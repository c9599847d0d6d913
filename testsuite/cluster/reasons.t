#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why a job waits or how it ended, as its owner reads it: as text in the table
# of jobs, and as codes that do not change (kiln-reasons(7)).

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged munge kiln-controller kiln-agent ksub kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket" --node-grace 3s
root() { kctl --server "http+unix://$cluster/socket" "$@"; }
cluster_agent real --topology 'package:1 core:4 pu:1' --heartbeat 300ms
is_ready() { root get nodes --no-headers | grep -qw Ready; }
wait_for 20 is_ready || bail_out "no node"
root taint nodes real kiln.hpc/virtual- >/dev/null

sub() { as kilntest1 ksub --parsable "$@"; }
end() { as kilntest1 kctl cancel "$@" >/dev/null; }
# Prints the job's row of the table as its owner reads it, with the message and
# the code.
row() {
    as kilntest1 kctl get job "$1" --no-headers -o wide | sed 's/  */ /g'
}
row_is() { row "$1" | grep -qE -e "$2"; }
says() { # WHAT ID CODE REGEX: checks the job's row
    ok "$1: $4" wait_for 20 row_is "$2" " $4 .* $3 " ||
        note "it says '$(row "$2")'"
}
pods_of() { root get pods -l "batch.kubernetes.io/job-name=job-$1" -o json; }
# Prints what the scheduler or the job controller has written into the pod or
# the Job.
cause() { # ID MEMBER
    {
        pods_of "$1" | jq '.items[].status.cause // empty'
        root get job "job-$1" -o json | jq '.status.cause // empty'
    } | jq -rs ".[0].$2"
}
first_line() { as kilntest1 kctl why "$1" | head -n 1; }
state_is() { [ "$(root get job "job-$1" -o json | jq -r .status.state)" = "$2" ]; }

# --- jobs that can never run --------------------------------------------------
id=$(sub -w n99 --wrap true)
says "a job for a node that does not exist" "$id" BadConstraints 'no node n99'
is "... and the pod's cause has the code and the message" \
    "$(cause "$id" code): $(cause "$id" message)" "BadConstraints: no node n99"
root create -f - >/dev/null <<'TXT'
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: gpux}
spec: {state: Down, reason: new switch}
TXT
other=$(sub -p gpux --wrap true)
says "a job in a partition that is down" "$other" PartitionDown \
    'partition gpux is down \(new switch\)'
root delete partition gpux >/dev/null
says "a job in a partition that does not exist" "$other" BadConstraints 'no partition gpux'
end "$id" "$other"

# --- resources, and from when on they are free --------------------------------
long=$(sub -c 3 -t 30 --wrap 'exec sleep 600')
ok "a job runs" wait_for 20 state_is "$long" Running
id=$(sub -c 2 -t 10 --wrap true)
says "a job that waits for CPUs of another job, with the time" "$id" Resources \
    'waits for 2 CPUs on real, from about ([A-Z][a-z]+ +[0-9]+ )?[0-9]+:[0-9]+'
end "$long"
ok "the job runs when the CPUs are free" wait_for 20 state_is "$id" Completed
is "it then has no cause" "$(cause "$id" code)" null

# --- held jobs ----------------------------------------------------------------
id=$(sub --hold --wrap true)
says "a job that its user holds" "$id" JobHeldUser 'held by user kilntest1'
root hold "$id" >/dev/null
says "a job that an operator holds" "$id" JobHeldAdmin 'held by operator root'
end "$id"

# --- jobs with a begin time ---------------------------------------------------
id=$(sub -J later --begin now+2hours --wrap true)
says "a job before its begin time" "$id" BeginTime 'not to begin before .*[0-9]+:[0-9]+'
begins() { # ZONE [OPTION]
    zone=$1
    shift
    as kilntest1 env TZ="$zone" kctl jobs --name later -o reason --no-headers "$@" |
        grep -oE '[0-9]+:[0-9]+$'
}
is "the message has the time in the reader's time zone" "$(begins XXX-5:30)" \
    "$(TZ=XXX-5:30 date -d "$(begins UTC0) UTC" +%H:%M)"
is "--utc shows UTC" "$(begins XXX-5:30 --utc)" "$(begins UTC0)"
later=$(as kilntest1 kctl jobs --name later -o id --no-headers | tr -d ' ')
as kilntest1 env TZ=XXX-5:30 sh -c \
    'echo $$ >watcher; exec kctl get jobs -w --no-headers' >"$cluster/watched" &
has_lines() { [ "$(grep -c 'to begin' "$cluster/watched")" -ge "$1" ]; }
ok "kctl get jobs -w first prints the table" wait_for 20 has_lines 1
lines=$(grep -c 'to begin' "$cluster/watched")
as kilntest1 kctl annotate job "job-$later" note=changed >/dev/null
ok "it then prints changes" wait_for 20 has_lines $((lines + 1))
kill "$(cat "$cluster/home/kilntest1/watcher")"
is "these have times in the reader's time zone, too" \
    "$(grep -oE 'to begin before .*' "$cluster/watched" | grep -oE '[0-9]+:[0-9]+' |
        sort -u)" "$(begins XXX-5:30)"
like "kctl why has times in the reader's time zone, too" \
    "$(as kilntest1 env TZ=XXX-5:30 kctl why "$id")" \
    "not to begin before .*$(begins XXX-5:30) "
end "$id"

# --- closed nodes -------------------------------------------------------------
for name in v1 v2; do
    cluster_agent "$name" --topology 'package:1 core:8 pu:1'
done
three_are_there() { [ "$(root get nodes --no-headers | grep -cw Ready)" = 3 ]; }
wait_for 20 three_are_there || bail_out "no three nodes"
id=$(sub -c 6 --wrap true)
says "a job that would fit closed nodes" "$id" ReqNodeNotAvail \
    '2 of 3 nodes are closed \(virtual\)'
end "$id"
stop v1
stop v2
root delete node v1 v2 >/dev/null

# --- a quota ------------------------------------------------------------------
# The pods of jobs that were cancelled count until they have ended.
no_live_pods() {
    root get pods -o json | jq -e '[.items[] | select(.status.phase | IN("Pending", "Running"))] |
        length == 0' >/dev/null
}
ok "the pods of all cancelled jobs end" wait_for 20 no_live_pods
root create -f - >/dev/null <<'TXT'
apiVersion: v1
kind: ResourceQuota
metadata: {name: chem, namespace: default}
spec: {hard: {requests.cpu: "2"}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: pressing, annotations: {kiln.hpc/allowed-users: kilntest1}}
value: 1000
TXT
# The quota is not counted yet, but limits already.
long=$(sub -c 2 --wrap 'exec sleep 600')
id=$(sub -c 1 --wrap true)
says "a job that waits for a quota" "$id" AssocGrpCpuLimit 'quota chem: 2 CPUs used of 2'
ok "the first job uses the whole quota" state_is "$long" Running
for i in 1 2 3 4 5 6; do
    last=$(sub -c 2 --wrap "echo $i >>blocked; exec sleep 1") # one after another
done
urgent=$(sub -c 2 --priority pressing --wrap 'echo urgent >>blocked')
says "an urgent one waits, too" "$urgent" AssocGrpCpuLimit 'quota chem: 2 CPUs used of 2'
like "kctl why says which quota, and what place" "$(as kilntest1 kctl why "$last")" \
    'Quota: *chem; 7 of 8 that wait go before it'
like "the urgent job is the first" "$(as kilntest1 kctl why "$urgent")" \
    'Quota: *chem; it is the first of 8 that wait'
# Their retries would have been 12 seconds apart by now.
sleep 4
is "each blocked job is logged once" \
    "$(grep -c 'quota.*exceeded quota: chem' "$cluster/log/controller")" 8 ||
    note "$(grep quota "$cluster/log/controller")"
end "$long"
ok "the blocked jobs run" wait_for 60 state_is "$last" Completed
is "the urgent one went first, the others in their order" \
    "$(tr '\n' ' ' <"$cluster/home/kilntest1/blocked")" 'urgent 1 2 3 4 5 6 '
root delete resourcequota chem >/dev/null

# --- how a job ended ----------------------------------------------------------
id=$(sub --time 0:02 --wrap 'trap "exit 0" TERM; sleep 600 & wait')
says "a job at its time limit, whatever its exit code" "$id" TimeLimit 'over 0:02'
id=$(sub --wrap 'exit 3')
says "a job with an exit code" "$id" NonZeroExitCode 'exit code 3'

enforces() {
    root get node real -o json | jq -e '.status.conditions[] |
        select(.type == "MemoryEnforced" and .status == "True")' >/dev/null
}
if enforces; then
    id=$(sub --mem 32M \
        --wrap "awk 'BEGIN { s = \"x\"; while (1) s = s s }'; exit 0")
    says "a job over its memory, whatever its exit code" "$id" OutOfMemory 'over 32 MiB'
    ok "its state is OutOfMemory" state_is "$id" OutOfMemory
    like "the first line of kctl why says so" "$(first_line "$id")" \
        ': OutOfMemory on real, over 32 MiB \(OutOfMemory\)$'
    is "its exit code is 137" "$(root get job "job-$id" -o json |
        jq -r .status.exitCode)" 137
else
    skip "a job over its memory, whatever its exit code" \
        "memory cannot be limited here"
fi

# --- preempted jobs -----------------------------------------------------------
root create -f - >/dev/null <<'TXT'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
TXT
urgent() {
    high=$(as kilntest2 ksub --parsable --hold -c 4 --wrap 'exec sleep 600')
    root priority urgent "$high" >/dev/null
    as kilntest2 kctl release "$high" >/dev/null
}
low=$(sub --no-requeue -c 4 --wrap 'exec sleep 600')
ok "a job occupies the node" wait_for 20 state_is "$low" Running
urgent
says "a preempted job" "$low" Preempted \
    "preempted by job $high of kilntest2"
ok "its state is Preempted" wait_for 20 state_is "$low" Preempted
like "the first line of kctl why says so" "$(first_line "$low")" \
    ": Preempted on real, preempted by job $high of kilntest2 \(Preempted\)$"
as kilntest2 kctl cancel "$high" >/dev/null
low=$(sub --requeue -c 4 --wrap 'exec sleep 600')
ok "another job occupies the node" wait_for 20 state_is "$low" Running
urgent
ok "a preempted job with --requeue is requeued" \
    wait_for 20 state_is "$low" Requeued
says "a requeued job, with why it was ended and what it waits for" "$low" Resources \
    "preempted by job $high of kilntest2; waits for 4 CPUs on real,?"
as kilntest2 kctl cancel "$high" >/dev/null
ok "it runs again" wait_for 20 state_is "$low" Running
is "its row then has no reason any more" "$(row "$low" | grep -c preempted)" 0
end "$low"

# --- a silent node ------------------------------------------------------------
id=$(sub --no-requeue --wrap 'exec sleep 600')
ok "another job runs" wait_for 20 state_is "$id" Running
is "it has no cause" "$(cause "$id" code)" null
signal real STOP
says "a job on a silent node" "$id" NodeDown 'node real is silent'
signal real CONT
runs_on() { row "$id" | grep -q silent && return 1; state_is "$id" Running; }
ok "the reason is removed when the node is back" wait_for 20 runs_on
finish
