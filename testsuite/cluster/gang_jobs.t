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

finish
