#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs of several nodes (ksub -N): the script runs on the first node, the others
# hold what the job has there, and all end with it; its code and times are the
# job's.

# shellcheck disable=SC2015,SC2016,SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-pause ksub kctl jq curl
cluster_user kilntest1 && cluster_user kilntest2 || skip_all "only root can make users"
cluster_munge
controller() { cluster_controller --socket "$cluster/socket"; }
controller

node_is() { root get node "$1" --no-headers | grep -qw -- "$2"; }
node() { # NAME CORES
    cluster_agent "$1" --topology "package:1 core:$2 pu:1"
    wait_for 20 node_is "$1" Ready || bail_out "node $1 does not register"
    for key in $(root get node "$1" -o json | jq -r '.spec.taints[]?.key |
        select(test("virtual"))'); do
        root taint node "$1" "$key-" >/dev/null
    done
}
for name in n1 n2 n3; do node $name 4; done

home=$cluster/home/kilntest1
gang() { as kilntest1 ksub -D "$home" -t 5 --parsable "$@"; }
status() { root get job "job-$1" -o json | jq -r ".status$2"; }
state_is() { [ "$(status "$1" .state)" = "$2" ]; }
pods_of() { root get pods -l "batch.kubernetes.io/job-name=job-$1" -o json; }
n_running() { # JOB COUNT
    [ "$(pods_of "$1" | jq '[.items[] | select(.status.phase == "Running")] | length')" = "$2" ]
}
find_pauses() {
    find /proc/[0-9]*/exe -maxdepth 0 -user kilntest1 -lname "$cluster/bin/kiln-pause" 2>/dev/null |
        tr -dc '0-9\n'
}
pauses() { [ "$(find_pauses | grep -c .)" = "$1" ]; } # COUNT: so many hold resources
field() { root get "$1" "$2" -o json | jq -r "$3"; }
fails() { ! "$@" >"$cluster/said" 2>&1; }
free_of() { root nodes --no-headers | grep -w "$1" | grep -q " $2 "; }

# --- the script runs on the first node -------------------------------------------

printf '#!/bin/sh\n#KSUB -N 3 -c 2\nhead -n1 go; echo "$KILN_NODEID of $KILN_JOB_NUM_NODES"; exit 5\n' \
    >"$home/first.sh"
as kilntest1 mkfifo "$home/go"
id=$(gang -o out "$home/first.sh")
ok "a script of three nodes begins" wait_for 20 n_running "$id" 3
ok "it holds the cores of the others" wait_for 10 pauses 2
is "... on three nodes" "$(pods_of "$id" | jq -r '[.items[].spec.nodeName] | sort | join(" ")')" \
    "n1 n2 n3"
for name in n1 n2 n3; do free_of $name 2/4; done
ok "... which are not free there" free_of n3 2/4 || note "$(root nodes)"
why_says() { as kilntest1 kctl why "$1" | grep -q -- "$2"; }
ok "kctl why says that all of them run" wait_for 10 why_says "$id" \
    "Pods: *3 running, each on its own node" || note "$(as kilntest1 kctl why "$id")"
find_pauses | xargs kill -USR1
sleep 0.3
ok "a signal that is meant for the script does not end them" pauses 2
echo on >"$home/go"
ok "it ends with the script" wait_for 20 state_is "$id" Failed
ok "... everywhere" pauses 0
is "its code is that of the script" "$(status "$id" .exitCode)" 5
is "... and its node the first" "$(status "$id" .lastRun.podName)" "job-$id-0"
is "the script has run once" "$(cat "$home/out")" "on
0 of 3"
is "kctl logs shows its output" "$(as kilntest1 kctl logs "$id" 2>&1)" "on
0 of 3"
free() { for name in n1 n2 n3; do free_of "$name" 4/4 || return 1; done; }
ok "the cores are free again" wait_for 10 free

ok "ksub -W waits for it" as kilntest1 ksub -D "$home" -t 5 -W -N 3 --wrap 'sleep 0.2'
id=$(root get jobs -o json | jq '[.items[].status.id] | max')
is "it has completed" "$(status "$id" .state)" Completed
is "... with the times of the script" "$(status "$id" .lastRun.podName)" "job-$id-0"

# --- orders ----------------------------------------------------------------------

id=$(gang -N 3 --wrap 'exec sleep 300')
wait_for 20 n_running "$id" 3
ok "a cancelled job ends" as kilntest1 kctl cancel "$id"
ok "... on all nodes" wait_for 20 state_is "$id" Cancelled
ok "... at once" pauses 0

id=$(gang -N 3 -t 0:02 --wrap 'exec sleep 300')
ok "a job beyond its limit times out" wait_for 30 state_is "$id" TimedOut || note "$(status "$id" '')"
ok "... on all nodes" pauses 0

id=$(gang -N 3 --wrap 'exec sleep 300')
wait_for 20 n_running "$id" 3
ok "the end of one node's share" root delete pod "job-$id-1" --grace-period 1
ok "... ends the job" wait_for 20 state_is "$id" Failed || note "$(status "$id" '')"
ok "... and its script" wait_for 10 n_running "$id" 0

id=$(gang -N 3 --wrap 'exec sleep 300')
wait_for 20 n_running "$id" 3
kill -KILL "$(find_pauses | head -n 1)"
ok "a job of which a pause was killed fails" wait_for 20 state_is "$id" Failed
tells() { as kilntest1 kctl jobs -a | grep -q "pod job-$1-. on node n. ended first ($2)"; }
ok "... and says on which node" tells "$id" "killed by signal 9" || note "$(as kilntest1 kctl jobs -a)"
id=$(gang -N 3 --wrap 'exec sleep 300')
wait_for 20 n_running "$id" 3
node=$(field pod "job-$id-2" .spec.nodeName)
root drain --evict "$node" >/dev/null
ok "one of which a pod is evicted, without --requeue, ends" wait_for 20 state_is "$id" Preempted ||
    note "$(status "$id" '')"
row() { as kilntest1 kctl history --no-headers "$1" | grep -q -w -- "$2"; }
ok "... in history, too" wait_for 10 row "$id" Preempted ||
    note "$(as kilntest1 kctl history "$id")"
ok "... and says it" tells "$id" Evicted || note "$(as kilntest1 kctl jobs -a)"
root uncordon "$node" >/dev/null

# --- an attempt is whole ----------------------------------------------------------

attempts() { # JOB: the attempts of the pods that have not ended
    pods_of "$1" | jq -r '[.items[] | select(.status.phase == "Running") |
        .metadata.annotations["kiln.hpc/attempt"]] | sort | join(" ")'
}
attempts_are() { [ "$(attempts "$1")" = "$2" ]; }

id=$(gang -N 3 --requeue -o again --wrap 'echo on; exec sleep 300')
wait_for 20 n_running "$id" 3
ok "a job that is requeued" as kilntest1 kctl requeue "$id"
ok "... starts again on all nodes" wait_for 20 attempts_are "$id" "1 1 1" ||
    note "$(attempts "$id"); $(status "$id" '')"
is "its attempt has a group of its own" "$(field podgroup "job-$id-r1" .spec.schedulingPolicy.gang.minCount)" 3
is "... which its pods name" "$(pods_of "$id" | jq -r '[.items[] |
    select(.metadata.annotations["kiln.hpc/attempt"] == "1") |
    .spec.schedulingGroup.podGroupName] | unique | join(" ")')" "job-$id-r1"
stop controller KILL
controller
sleep 1
is "a restart finds it whole" "$(attempts "$id")" "1 1 1"
ok "a member that is evicted" root drain --evict n2
ok "... takes the others along" wait_for 20 n_running "$id" 0 || note "$(root get pods)"
root uncordon n2 >/dev/null
ok "... and all start again" wait_for 40 attempts_are "$id" "2 2 2" ||
    note "$(attempts "$id"); $(status "$id" '')"
no_group() { ! root get podgroup "$1" >/dev/null 2>&1; }
ok "the group of the attempt before the last is removed" wait_for 10 no_group "job-$id"
is "the script has run once in each attempt" "$(cat "$home/again")" "on
on
on"
ok "a held job" as kilntest1 kctl hold "$id"
as kilntest1 kctl requeue "$id" >/dev/null
ok "... ends on all nodes" wait_for 20 n_running "$id" 0
ok "... and starts on all when it is released" as kilntest1 kctl release "$id"
ok "... with one number" wait_for 30 attempts_are "$id" "3 3 3" || note "$(attempts "$id")"
ok "one that is suspended" root suspend "$id"
frozen() { [ "$(pods_of "$1" | jq '[.items[] | select(.status.conditions[]? |
    .type == "Frozen" and .status == "True")] | length')" = "$2" ]; }
ok "... is suspended on all nodes" wait_for 10 frozen "$id" 3 || note "$(root get pods)"
ok "... and goes on" root resume "$id"
ok "... everywhere" wait_for 10 frozen "$id" 0
as kilntest1 kctl cancel "$id" >/dev/null
wait_for 20 state_is "$id" Cancelled

# A program that exits with 0 when it is told to end has not done its work.
id=$(gang -N 3 --requeue --per-node --wrap 'trap "exit 0" TERM; echo $KILN_NODEID; sleep 300 & wait')
wait_for 20 n_running "$id" 3
sleep 0.3
as kilntest1 kctl requeue "$id" >/dev/null
ok "a polite end is not taken for success" wait_for 20 attempts_are "$id" "1 1 1" ||
    note "$(attempts "$id"); $(status "$id" '')"
is "... of any index" "$(status "$id" .completedIndexes)" null
as kilntest1 kctl cancel "$id" >/dev/null
wait_for 20 state_is "$id" Cancelled

# The nodes of a job that has ended are those of its last attempt.
root cordon n3 >/dev/null
id=$(gang -N 2 --requeue --wrap 'while [ ! -e moved ]; do sleep 0.1; done')
wait_for 20 n_running "$id" 2
root uncordon n3 >/dev/null
root cordon n1 >/dev/null
as kilntest1 kctl requeue "$id" >/dev/null
ok "a job starts again on other nodes" wait_for 20 attempts_are "$id" "1 1" ||
    note "$(root get pods -o wide); $(status "$id" "")"
as kilntest1 touch "$home/moved"
ok "... and completes there" wait_for 20 state_is "$id" Completed
shows_nodes() { as kilntest1 kctl jobs -a | grep -w "^ *$1" | grep -qF "$2"; }
ok "... its nodes are those of the last attempt" wait_for 10 shows_nodes "$id" 'n[2-3]' ||
    note "$(as kilntest1 kctl jobs -a | grep -w "^ *$id")"
root uncordon n1 >/dev/null

# One that has ended runs again with the others.
printf 'if [ $KILN_NODEID = 1 ] && [ ! -e done ]; then touch done; exit 0; fi; exec sleep 300\n' >"$home/part.sh"
id=$(gang -N 3 --requeue --per-node --wrap ". $home/part.sh")
some_done() { [ "$(status "$1" .completedIndexes)" = "$2" ]; }
ok "one of its programs has ended" wait_for 20 some_done "$id" 1
as kilntest1 kctl requeue "$id" >/dev/null
ok "... and runs again with the others" wait_for 20 attempts_are "$id" "1 1 1" ||
    note "$(attempts "$id"); $(status "$id" '')"
ok "... what it had done counts no more" wait_for 10 some_done "$id" null
as kilntest1 kctl cancel "$id" >/dev/null
wait_for 20 state_is "$id" Cancelled

# The codes of those that were told to end do not count.
id=$(gang -N 3 --per-node --wrap '[ "$KILN_NODEID" != 1 ] || exit 7
    trap "exit 99" TERM; sleep 300 & wait')
ok "a job of which one script fails" wait_for 20 state_is "$id" Failed
is "... has its code" "$(status "$id" .exitCode)" 7
is "... and is as long as it" "$(status "$id" .lastRun.podName)" "job-$id-1"

# --- the group, and quotas -----------------------------------------------------------

busy=$(as kilntest1 ksub --parsable -w n1 -c 4 -t 5 --wrap 'exec sleep 300')
wait_for 20 state_is "$busy" Running
id=$(gang -N 3 --wrap 'exec sleep 300')
has_group() { root get podgroup "$1" >/dev/null 2>&1; }
wait_for 20 has_group "job-$id"
root delete podgroup "job-$id" >/dev/null
ok "a group that is deleted is made again" wait_for 10 has_group "job-$id"
as kilntest1 kctl cancel "$busy" >/dev/null
ok "... and its pods start" wait_for 20 n_running "$id" 3 || note "$(root get pods)"
as kilntest1 kctl cancel "$id" >/dev/null
wait_for 20 state_is "$id" Cancelled

quota() { # CPUS
    root apply -f - >/dev/null <<Y
apiVersion: v1
kind: ResourceQuota
metadata: {name: small, namespace: default}
spec: {hard: {requests.cpu: "$1"}}
Y
}
quota 2
id=$(gang -N 3 --wrap true)
waits() { as kilntest1 kctl why "$1" | grep -q "quota small"; }
ok "a quota for a part of it" wait_for 20 waits "$id" || note "$(as kilntest1 kctl why "$id")"
is "... makes no pod" "$(pods_of "$id" | jq '.items | length')" 0
ok "... and no group" no_group "job-$id"
quota 3
ok "a quota for all of it makes all" wait_for 20 state_is "$id" Completed || note "$(status "$id" '')"
root delete quota small >/dev/null

# --- pods that lost their Job -------------------------------------------------------

id=$(gang -N 3 -c 2 --wrap 'head -n1 go >/dev/null')
wait_for 20 n_running "$id" 3
like "a Job is deleted without its pods" \
    "$(api root DELETE "$jobs/job-$id" '{"propagationPolicy":"Orphan"}')" '^20[02] '
gone_job() { ! root get job "$1" >/dev/null 2>&1; }
wait_for 20 gone_job "job-$id"
ok "its script runs on" n_running "$id" 3
ok "... with its nodes" free_of n3 2/4
echo on >"$home/go"
ok "the other nodes are free when it is over" wait_for 20 free || note "$(root get pods)"
ok "... and hold nothing" pauses 0

# --- mistakes ----------------------------------------------------------------------

manifest() { # RUNS FIELDS
    as kilntest1 kctl apply -f - <<Y
apiVersion: batch/v1
kind: Job
metadata: {name: m, namespace: default}
spec:
  parallelism: 2
  completions: 2
  completionMode: Indexed
  $2
  template:
    spec:
      restartPolicy: Never
      execution: {runs: $1}
      containers: [{name: main, image: host, command: [sleep, "1"]}]
Y
}
whole='scheduling: {schedulingPolicy: {gang: {}}, disruptionMode: {all: {}}}'
ok "runs without a gang is refused" fails manifest Each ''
ok "... in words" grep -q "the pods start and end together" "$cluster/said"
ok "First without a policy of success is refused" fails manifest First "$whole"
ok "... in words" grep -q "the Job ends when its first pod does" "$cluster/said"
ok "another word is refused" fails manifest Last "$whole"
ok "... in words" grep -q '"First", "Each"' "$cluster/said" || note "$(cat "$cluster/said")"
ok "the other is taken" manifest Each "$whole"

# --- a long name -----------------------------------------------------------------------

# The pods' names have 63 characters, and more when they are made again.
long=r1-012345678901234567890123456789012345678901234567890123-2x9
is "a name of the most characters" "${#long}" 61
as kilntest1 kctl apply -f - >/dev/null <<Y
apiVersion: batch/v1
kind: Job
metadata: {name: $long, namespace: default}
spec:
  parallelism: 3
  completions: 3
  completionMode: Indexed
  requeue: true
  backoffLimit: 0
  scheduling: {schedulingPolicy: {gang: {}}, disruptionMode: {all: {}}, onePerNode: true}
  template:
    spec:
      restartPolicy: Never
      execution: {runs: Each}
      containers: [{name: main, image: host, command: [sleep, "300"]}]
Y
long_attempts() {
    root get pods -l "batch.kubernetes.io/job-name=$long" -o json | jq -r '[.items[] |
        select(.status.phase == "Running") | .metadata.annotations["kiln.hpc/attempt"]] |
        sort | join(" ")'
}
long_attempts_are() { [ "$(long_attempts)" = "$1" ]; }
ok "... and digits inside runs" wait_for 20 long_attempts_are "0 0 0" || note "$(root get pods)"
as kilntest1 kctl requeue "job/$long" >/dev/null
ok "... and starts again" wait_for 30 long_attempts_are "1 1 1" || note "$(root get pods)"
is "... with a group of the attempt" "$(field podgroup "$long-r1" .status.nodes)" "n[1-3]"
as kilntest1 kctl cancel "job/$long" >/dev/null
ok "... and is cancelled" wait_for 20 free

finish
