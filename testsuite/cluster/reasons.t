#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why a job waits or how it ended, in the words that its owner reads: in the
# table of jobs, and as codes that stay the same (kiln-reasons(7)).

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
# The table as its owner reads it: the job's words, and the code.
row() {
    as kilntest1 kctl get job "$1" --no-headers -o wide | sed 's/  */ /g'
}
row_is() { row "$1" | grep -qE -e "$2"; }
says() { # WHAT ID CODE REGEX
    ok "$1: $4" wait_for 20 row_is "$2" " $4 .* $3 " ||
        note "it says '$(row "$2")'"
}
pods_of() { root get pods -l "batch.kubernetes.io/job-name=job-$1" -o json; }
# What the scheduler or the job controller has written, of a pod or the Job.
cause() { # ID MEMBER
    {
        pods_of "$1" | jq '.items[].status.cause // empty'
        root get job "job-$1" -o json | jq '.status.cause // empty'
    } | jq -rs ".[0].$2"
}
first_line() { as kilntest1 kctl why "$1" | head -n 1; }
state_is() { [ "$(root get job "job-$1" -o json | jq -r .status.state)" = "$2" ]; }

# --- what can never run --------------------------------------------------------
id=$(sub -w n99 --wrap true)
says "a node that is not there" "$id" BadConstraints 'no node n99'
is "... and the pod has it as its cause" \
    "$(cause "$id" code): $(cause "$id" message)" "BadConstraints: no node n99"
root create -f - >/dev/null <<'TXT'
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: gpux}
spec: {state: Down, reason: new switch}
TXT
other=$(sub -p gpux --wrap true)
says "a partition that is down" "$other" PartitionDown \
    'partition gpux is down \(new switch\)'
root delete partition gpux >/dev/null
says "a partition that is not there" "$other" BadConstraints 'no partition gpux'
end "$id" "$other"

# --- room, and from when ---------------------------------------------------------
long=$(sub -c 3 -t 30 --wrap 'exec sleep 600')
ok "a job runs" wait_for 20 state_is "$long" Running
id=$(sub -c 2 -t 10 --wrap true)
says "room that others have, and until when" "$id" Resources \
    'waits for 2 CPUs on real, from about ([A-Z][a-z]+ +[0-9]+ )?[0-9]+:[0-9]+'
end "$long"
ok "it runs when there is room" wait_for 20 state_is "$id" Completed
is "and then nothing keeps it" "$(cause "$id" code)" null

# --- who holds it ------------------------------------------------------------------
id=$(sub --hold --wrap true)
says "its user's hold" "$id" JobHeldUser 'held by user kilntest1'
root hold "$id" >/dev/null
says "an operator's hold" "$id" JobHeldAdmin 'held by operator root'
end "$id"

# --- when it is to begin --------------------------------------------------------------
id=$(sub -J later --begin now+2hours --wrap true)
says "its begin time" "$id" BeginTime 'not to begin before .*[0-9]+:[0-9]+'
begins() { # ZONE [OPTION]
    zone=$1
    shift
    as kilntest1 env TZ="$zone" kctl jobs --name later -o reason --no-headers "$@" |
        grep -oE '[0-9]+:[0-9]+$'
}
is "which is the reader's, wherever the controller is" "$(begins XXX-5:30)" \
    "$(TZ=XXX-5:30 date -d "$(begins UTC0) UTC" +%H:%M)"
is "or UTC" "$(begins XXX-5:30 --utc)" "$(begins UTC0)"
later=$(as kilntest1 kctl jobs --name later -o id --no-headers | tr -d ' ')
as kilntest1 env TZ=XXX-5:30 sh -c \
    'echo $$ >watcher; exec kctl get jobs -w --no-headers' >"$cluster/watched" &
has_lines() { [ "$(grep -c 'to begin' "$cluster/watched")" -ge "$1" ]; }
ok "a watch begins with a table" wait_for 20 has_lines 1
lines=$(grep -c 'to begin' "$cluster/watched")
as kilntest1 kctl annotate job "job-$later" note=changed >/dev/null
ok "and goes on with changes" wait_for 20 has_lines $((lines + 1))
kill "$(cat "$cluster/home/kilntest1/watcher")"
is "which have the reader's times, too" \
    "$(grep -oE 'to begin before .*' "$cluster/watched" | grep -oE '[0-9]+:[0-9]+' |
        sort -u)" "$(begins XXX-5:30)"
like "of kctl why as well" "$(as kilntest1 env TZ=XXX-5:30 kctl why "$id")" \
    "not to begin before .*$(begins XXX-5:30) "
end "$id"

# --- nodes that are closed -----------------------------------------------------------
for name in v1 v2; do
    cluster_agent "$name" --topology 'package:1 core:8 pu:1'
done
three_are_there() { [ "$(root get nodes --no-headers | grep -cw Ready)" = 3 ]; }
wait_for 20 three_are_there || bail_out "no three nodes"
id=$(sub -c 6 --wrap true)
says "nodes that are closed" "$id" ReqNodeNotAvail \
    '2 of 3 nodes are closed \(virtual\)'
end "$id"
stop v1
stop v2
root delete node v1 v2 >/dev/null

# --- a quota -----------------------------------------------------------------------
root create -f - >/dev/null <<'TXT'
apiVersion: v1
kind: ResourceQuota
metadata: {name: chem, namespace: default}
spec: {hard: {requests.cpu: "2"}}
TXT
counts() { root get resourcequota chem -o json | jq -e '.status.used'; }
ok "a quota is known" wait_for 20 counts
long=$(sub -c 2 --wrap 'exec sleep 600')
ok "it is used" wait_for 20 state_is "$long" Running
id=$(sub -c 1 --wrap true)
says "a quota" "$id" AssocGrpCpuLimit 'quota chem: 2 CPUs used of 2'
# By now it would be tried again in 12 seconds at the earliest.
sleep 14
end "$long"
ok "a job goes on when its quota has room, not when it is tried anyway" \
    wait_for 6 state_is "$id" Completed
root delete resourcequota chem >/dev/null

# --- how it ended ------------------------------------------------------------------
id=$(sub --time 0:02 --wrap 'trap "exit 0" TERM; sleep 600 & wait')
says "its time limit, whatever it exits with" "$id" TimeLimit 'over 0:02'
id=$(sub --wrap 'exit 3')
says "an exit code" "$id" NonZeroExitCode 'exit code 3'

enforces() {
    root get node real -o json | jq -e '.status.conditions[] |
        select(.type == "MemoryEnforced" and .status == "True")' >/dev/null
}
if enforces; then
    id=$(sub --mem 32M \
        --wrap "awk 'BEGIN { s = \"x\"; while (1) s = s s }'; exit 0")
    says "its memory, whatever it exits with" "$id" OutOfMemory 'over 32 MiB'
    ok "it is its state, too" state_is "$id" OutOfMemory
    like "and all that kctl why begins with" "$(first_line "$id")" \
        ': OutOfMemory on real, over 32 MiB \(OutOfMemory\)$'
    is "137 is its exit code" "$(root get job "job-$id" -o json |
        jq -r .status.exitCode)" 137
else
    skip 4 "memory cannot be limited here"
fi

# --- who takes its place ---------------------------------------------------------------
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
ok "a job has all of the node" wait_for 20 state_is "$low" Running
urgent
says "a more important job" "$low" Preempted \
    "preempted by job $high \(user kilntest2\)"
ok "which is its state" wait_for 20 state_is "$low" Preempted
like "and all that kctl why begins with" "$(first_line "$low")" \
    ": Preempted on real, preempted by job $high \(user kilntest2\) \(Preempted\)$"
as kilntest2 kctl cancel "$high" >/dev/null
low=$(sub --requeue -c 4 --wrap 'exec sleep 600')
ok "another job has all of the node" wait_for 20 state_is "$low" Running
urgent
ok "one that may start anew is requeued" wait_for 20 state_is "$low" Requeued
says "and says both, why it was ended and what it waits for" "$low" Resources \
    "preempted by job $high \(user kilntest2\); waits for 4 CPUs on real,?"
as kilntest2 kctl cancel "$high" >/dev/null
ok "it runs again" wait_for 20 state_is "$low" Running
is "and its reason has ended with its cause" "$(row "$low" | grep -c preempted)" 0
end "$low"

# --- what its node does ---------------------------------------------------------------
id=$(sub --no-requeue --wrap 'exec sleep 600')
ok "another job runs" wait_for 20 state_is "$id" Running
is "and nothing is said of it" "$(cause "$id" code)" null
signal real STOP
says "its node is silent" "$id" NodeDown 'node real is silent'
signal real CONT
runs_on() { row "$id" | grep -q silent && return 1; state_is "$id" Running; }
ok "which ends with its cause" wait_for 20 runs_on
finish
