#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pods of a gang start together: each waits, after its prolog, until all are
# prepared; restarts of agents, of the controller and of shepherds in between change
# nothing; a pod that is lost or deleted before the start keeps all from running.

# shellcheck disable=SC2015,SC2016,SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
controller() { cluster_controller --socket "$cluster/socket" "$@"; }
controller

# The prolog of a node takes as long as slow-NODE exists, and fails while broken-NODE does.
cat >"$cluster/prolog" <<TXT
#!/bin/sh
[ ! -e "$cluster/broken-\$KILN_NODE_NAME" ] || { echo "the fan has stopped" >&2; exit 3; }
while [ -e "$cluster/slow-\$KILN_NODE_NAME" ]; do sleep 0.05; done
TXT
chmod 755 "$cluster/prolog"
agent() { cluster_agent "$1" --topology "package:1 core:2 pu:1" --prolog "$cluster/prolog"; }
node_is() { root get node "$1" --no-headers | grep -qw -- "$2"; }
node() {
    agent "$1"
    wait_for 20 node_is "$1" Ready || bail_out "node $1 does not register"
    for key in $(root get node "$1" -o json | jq -r '.spec.taints[]?.key |
        select(test("virtual"))'); do
        root taint node "$1" "$key-" >/dev/null
    done
}
for n in n1 n2 n3; do node $n; done

home=$cluster/home/kilntest1
job() { # NAME PODS: each writes its name
    as kilntest1 kctl apply -f - >/dev/null <<Y
apiVersion: batch/v1
kind: Job
metadata: {name: $1, namespace: default}
spec:
  parallelism: $2
  completions: $2
  completionMode: Indexed
  backoffLimit: 0
  requeue: ${requeue:-false}
  scheduling: {schedulingPolicy: {gang: {}}, disruptionMode: {all: {}}, onePerNode: true}
  template:
    spec:
      restartPolicy: Never
      priorityClassName: ${class:-}
      execution: {runs: Each}
      containers:
      - {name: main, image: host, resources: {requests: {cpu: "${cpus:-1}"}},
         command: [sh, -c, "echo \$KILN_POD_NAME >>$home/$1; sleep ${sleep:-0}"]}
Y
}
field() { root get "$1" "$2" -o json | jq -r "$3"; }
members() { # JOB FILTER: the pods of which that holds
    root get pods -l "batch.kubernetes.io/job-name=$1" -o json | jq -r "[.items[] | $2] | length"
}
prepared() {
    [ "$(members "$1" 'select(any(.status.conditions[]?;
        .type == "Prepared" and .status == "True"))')" = "$2" ]
}
marked() { members "$1" 'select(.metadata.annotations["kiln.hpc/gang-started"])'; }
ran() { if [ -f "$home/$1" ]; then wc -l <"$home/$1" | tr -d ' '; else echo 0; fi; }
has_attempt() { root get pod "$1" >/dev/null 2>&1; }
ends() { [ "$(field job "$1" '.status.conditions[]? | select(.type == "'"$2"'").status')" = True ]; }
lives() { find "$cluster/$1/run/pods" -name live 2>/dev/null; }
agents() { for n in n1 n2 n3; do "$@" $n; done; }

# --- all wait for the last -----------------------------------------------------

touch "$cluster/slow-n3"
job j1 3
ok "the pods of two nodes are prepared" wait_for 20 prepared j1 2 || root get pods | note
sleep 0.5
is "none of them runs while the third's prolog does" "$(ran j1)" 0
is "... nor may" "$(marked j1)" 0
is "a pod says what it waits for" "$(root get pods -l batch.kubernetes.io/job-name=j1 -o json |
    jq -r '[.items[].status.containerStatuses[]?.state.waiting.reason] | sort | join(" ")')" \
    "WaitsForGang WaitsForGang"

like "the job says which node it waits for" "$(as kilntest1 kctl why j1)" \
    'Starting on n\[1-3\], waits for node n3 to be prepared'

stop controller KILL
agents stop
ok "the shepherds wait without agents" test -n "$(lives n1)"
kill -KILL "$(sed -n 's/^shepherd_pid=[0-9]*://p' "$(lives n2)")" ||
    note "$(cat "$(lives n2)")"
controller
agents agent
sleep 1
is "a restart of everything starts none" "$(ran j1)" 0
rm "$cluster/slow-n3"
ok "the job ends after the last is prepared" wait_for 30 ends j1 Complete || root get pods | note
is "each pod ran, and once" "$(sort "$home/j1")" "j1-0
j1-1
j1-2"
is "all got the mark" "$(marked j1)" 3
is "... of one time" "$(root get pods -l batch.kubernetes.io/job-name=j1 -o json |
    jq -r '[.items[].metadata.annotations["kiln.hpc/gang-started"]] | unique | length')" 1

# --- deleted before the start --------------------------------------------------

touch "$cluster/slow-n3"
job j2 3
wait_for 20 prepared j2 2
pod=$(root get pods -l batch.kubernetes.io/job-name=j2 -o json |
    jq -r '.items[] | select(.spec.nodeName == "n1").metadata.name')
root delete pod "$pod" >/dev/null
rm "$cluster/slow-n3"
sleep 1
is "a pod that is deleted before the start keeps all from running" "$(ran j2)" 0
root delete job j2 >/dev/null

# --- a shepherd is killed before the start ---------------------------------------

touch "$cluster/slow-n3"
job j6 3
wait_for 20 prepared j6 2
kill -KILL "$(sed -n 's/^shepherd_pid=[0-9]*://p' "$(lives n2)")"
again() { [ "$(members j6 'select(.metadata.name | endswith("-r1"))')" = 3 ]; }
ok "when a shepherd that waits is killed, all are made again" wait_for 30 again ||
    root get pods | note
rm "$cluster/slow-n3"
ok "... and start together" wait_for 30 ends j6 Complete || root describe job j6 | note
is "... which is no failure of the job" "$(field job j6 '.status.failed // 0')" 0
is "... and only once" "$(sort "$home/j6")" "j6-0-r1
j6-1-r1
j6-2-r1"

# --- the node is restarted before the start --------------------------------------

touch "$cluster/slow-n3"
job j3 3
wait_for 20 prepared j3 2
stop n1 KILL
run=$(dirname "$(lives n1)")
kill -KILL "$(sed -n 's/^shepherd_pid=[0-9]*://p' "$run/live")"
boot=$(cat /proc/sys/kernel/random/boot_id)
sed -i "s/$boot/another-boot/" "$run/live" "$run/pod" 2>/dev/null
agent n1
ok "a node that was restarted after its pod was prepared has lost it" wait_for 20 \
    has_attempt j3-0-r1 || root get pods | note
is "... and none of them has run" "$(ran j3)" 0
rm "$cluster/slow-n3"
ok "the job starts again, and ends" wait_for 30 ends j3 Complete || root get pods | note
is "... having run once on each node" "$(sort "$home/j3")" "j3-0-r1
j3-1-r1
j3-2-r1"
is "... without a failure of its own" "$(field job j3 '.status.failed // 0')" 0

# --- a prolog that fails -----------------------------------------------------------

touch "$cluster/broken-n1"
root cordon n3 >/dev/null # so that n1 is one of the first two
job j4 2
wait_for 20 has_attempt j4-0-r1
root uncordon n3 >/dev/null
ok "a job whose prolog fails on one node starts again on others" wait_for 30 ends j4 Complete ||
    { root get pods; root describe job j4; } | note
is "... and has run once, on each" "$(sort "$home/j4")" "j4-0-r1
j4-1-r1"
is "... without a failure of its own" "$(field job j4 '.status.failed // 0')" 0
is "... on the nodes whose prolog works" "$(root get pods -l batch.kubernetes.io/job-name=j4 \
    -o json | jq -r '[.items[] | select(.status.phase == "Succeeded").spec.nodeName] | sort |
    join(" ")')" "n2 n3"

# --- a prolog that takes too long ----------------------------------------------------

stop controller
echo 'gangPrepareTimeout: 2s' >"$cluster/short.yaml"
controller --config "$cluster/short.yaml"
touch "$cluster/slow-n2"
job j5 2
told() { root get events 2>/dev/null | grep -q "NotPrepared.*node n2 did not prepare it"; }
ok "a node that does not prepare its pod is waited for only so long" wait_for 30 told ||
    { root get events; root get pods; } | note
is "nothing of the job has run" "$(ran j5)" 0
rm "$cluster/slow-n2"
ok "the job starts again, and ends" wait_for 60 ends j5 Complete ||
    { root get pods; root describe job j5; } | note
is "... having run once on each node" "$(ran j5)" 2
is "... without a failure of its own" "$(field job j5 '.status.failed // 0')" 0

# --- preemption --------------------------------------------------------------

rm "$cluster/broken-n1"
stop n1
agent n1
is_mended() { ! root get node n1 -o yaml | grep -q 'kiln.hpc/hook-failed'; }
wait_for 20 is_mended
are() { # JOB PHASE COUNT
    [ "$(members "$1" "select(.status.phase == \"$2\")")" = "$3" ]
}
root apply -f - >/dev/null <<Y
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high, annotations: {kiln.hpc/allowed-users: kilntest1}}
value: 1000
Y
cpus=2 sleep=300 requeue=true job k1 3
ok "a job holds three nodes" wait_for 30 are k1 Running 3
cpus=2 sleep=300 class=high job k2 2
ok "a more important job of two nodes preempts" wait_for 40 are k2 Running 2 ||
    { root get pods; root describe job k2; } | note
ok "... the whole job, and not two of its pods" wait_for 20 are k1 Running 0
is "... which has not failed" "$(field job k1 '.status.failed // 0')" 0
ok "... and waits again as a whole" wait_for 20 has_attempt k1-2-r1 || root get pods | note
root delete job k1 k2 >/dev/null

# --- a controller that is killed again and again -----------------------------------

k=0
while [ $k -lt 8 ]; do
    job m$k $((2 + k % 2))
    sleep 0.$((k * 7 % 4))$((k * 3 % 10))
    stop controller KILL
    [ $k -ne 5 ] || { stop n2 KILL && agent n2; }
    controller
    k=$((k + 1))
done
completed() {
    [ "$(root get jobs -o json | jq '[.items[] | select((.metadata.name | startswith("m")) and
        .status.state == "Completed")] | length')" = 8 ]
}
ok "all jobs end although the controller is killed" wait_for 60 completed || root get pods | note
is "every pod of them has run once" "$(cat "$home"/m? | sort | uniq -d | wc -l),$(cat "$home"/m? |
    wc -l)" "0,20"

finish
