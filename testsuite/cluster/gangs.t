#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PodGroups as an engineer from Kubernetes writes them: pods that name one are
# placed together or wait, whichever of them comes first; the group says so; a
# killed controller finds the same; the groups of others are theirs; each pod on
# its own node.

# shellcheck disable=SC2015,SC2016,SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl jq curl
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
node n1 4
node n2 4

group() { # USER NAME POLICY [, FIELDS]
    as "$1" kctl apply -f - <<Y
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: $2, namespace: default}
spec: {schedulingPolicy: {$3}$4}
Y
}
pod() { # USER NAME GROUP
    as "$1" kctl apply -f - <<Y
apiVersion: v1
kind: Pod
metadata: {name: $2, namespace: default}
spec:
  restartPolicy: Never
  schedulingGroup: {podGroupName: $3}
  containers:
  - {name: main, image: host, command: [sleep, "300"], resources: {requests: {cpu: "4"}}}
Y
}
field() { root get "$1" "$2" -o json | jq -r "$3"; }
phase_is() { [ "$(field pod "$1" .status.phase)" = "$2" ]; }
words() { field pod "$1" '.status.conditions[]? | select(.type == "PodScheduled").message'; }
says() { words "$1" | grep -qF -- "$2"; }
condition() { # GROUP FIELD
    field podgroup "$1" ".status.conditions[]? |
        select(.type == \"PodGroupInitiallyScheduled\").$2"
}
condition_is() { [ "$(condition "$1" status)" = "$2" ]; }
condition_says() { condition "$1" message | grep -qF -- "$2"; }

# --- the pods come before their group ------------------------------------------

ok "a pod may name a group that is not there" pod kilntest1 a g1
pod kilntest1 b g1 >/dev/null
ok "it waits, and says why" wait_for 10 says b "its PodGroup does not exist"
ok "the group is made" group kilntest1 g1 'gang: {minCount: 2}'
ok "both run" wait_for 20 phase_is a Running
ok "... together" wait_for 20 phase_is b Running
ok "the group is scheduled" wait_for 10 condition_is g1 True
root delete pod a b --grace-period 1 >/dev/null
gone() { ! root get pod "$1" >/dev/null 2>&1; }
wait_for 20 gone a && wait_for 20 gone b
sleep 0.3
is "... which never goes back" "$(condition g1 status)" True

# --- too many for the cluster ----------------------------------------------------

group kilntest1 g2 'gang: {minCount: 3}' >/dev/null
for name in c d e; do pod kilntest1 $name g2 >/dev/null; done
ok "three pods for two nodes wait" wait_for 20 says c "group 'g2' of 3 pods" ||
    note "$(words c)"
ok "the group says why" wait_for 20 condition_is g2 False
is "... in upstream's word" "$(condition g2 reason)" Unschedulable
sleep 0.5
is "none of them has a node" "$(root get pods -o json | jq -r '[.items[] |
    select(.spec.schedulingGroup.podGroupName == "g2" and .spec.nodeName)] | length')" 0

stop controller KILL
controller
sleep 1
is "a restart does not give them one" "$(root get pods -o json | jq -r '[.items[] |
    select(.spec.schedulingGroup.podGroupName == "g2" and .spec.nodeName)] | length')" 0
ok "a smaller minCount is a change of the group" group kilntest1 g2 'gang: {minCount: 2}'
n_running() {
    [ "$(root get pods -o json | jq -r '[.items[] |
        select(.spec.schedulingGroup.podGroupName == "g2" and .status.phase == "Running")] |
        length')" = "$1" ]
}
ok "two of them run" wait_for 20 n_running 2
ok "the group is scheduled now" wait_for 10 condition_is g2 True
node n3 4
ok "the third starts when there is room" wait_for 20 n_running 3
root delete pod c d e --grace-period 1 >/dev/null
for name in c d e; do wait_for 20 gone $name; done

# --- other users ---------------------------------------------------------------

group kilntest1 g3 'gang: {minCount: 2}' >/dev/null
pod kilntest2 x g3 >/dev/null
pod kilntest1 f g3 >/dev/null
ok "the group of another user is none" wait_for 10 says x "belongs to another user"
sleep 0.5
ok "... and their pod does not count" phase_is f Pending
ok "... for the owner's pods" says f "it waits for the other pods"
fails() { ! "$@" >"$cluster/said" 2>&1; }
ok "they cannot change it" fails group kilntest2 g3 'gang: {minCount: 1}'
ok "... and are told" grep -q "cannot .* podgroups of other users" "$cluster/said"
ok "they cannot delete it" fails as kilntest2 kctl delete podgroup g3

# --- mistakes ------------------------------------------------------------------

ok "a group of none is refused" fails group kilntest1 g4 'gang: {minCount: 0}'
ok "... in words" grep -q "minCount.*must be greater than or equal to 1" "$cluster/said"
ok "a group without a policy is refused" fails group kilntest1 g4 ''
ok "a group of both policies is refused" fails group kilntest1 g4 'gang: {minCount: 2}, basic: {}'
ok "the kind of policy cannot change" fails group kilntest1 g3 'basic: {}'
ok "the pod's group cannot change" fails pod kilntest1 f g1
ok "... in words" grep -q "pod f.*pod updates may not change fields" "$cluster/said" ||
    note "$(cat "$cluster/said")"
root delete pod x f --grace-period 1 >/dev/null
for name in x f; do wait_for 20 gone $name; done

# --- Jobs ------------------------------------------------------------------------

job() { # NAME PODS SCHEDULING
    as kilntest1 kctl apply -f - <<Y
apiVersion: batch/v1
kind: Job
metadata: {name: $1, namespace: default}
spec:
  parallelism: $2
  completions: $2
  completionMode: Indexed
  backoffLimit: 0
  scheduling: {$3}
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: host, command: [sleep, "300"], resources: {requests: {cpu: "${cpus:-4}"}}}
Y
}
n_of_job() { # JOB COUNT: so many of its pods run
    [ "$(root get pods -l "batch.kubernetes.io/job-name=$1" -o json |
        jq -r '[.items[] | select(.status.phase == "Running")] | length')" = "$2" ]
}
ok "a Job of a gang is made" job j1 3 'schedulingPolicy: {gang: {}}'
ok "all of its pods run" wait_for 20 n_of_job j1 3
jobs_say() { as kilntest1 kctl jobs 2>&1 | grep -q -- "$1"; }
ok "kctl jobs shows the CPUs and nodes of all" jobs_say ' j1 .* 12 .*n\[1-3\]' ||
    note "$(as kilntest1 kctl jobs)"
free_of() { root nodes --no-headers | grep -w "$1" | grep -q " $2 "; }
ok "the CPUs that pods share are not free" wait_for 10 free_of n1 0/4 || note "$(root nodes)"
ok "kctl show counts pods, and not attempts" sh -c \
    'printf "%s" "$1" | grep -q "^Pods: *3 at a time"' _ "$(as kilntest1 kctl show j1)"
is "its group wants all of them" "$(field podgroup j1 .spec.schedulingPolicy.gang.minCount)" 3
is "... and is its owner's" "$(field podgroup j1 '.metadata.annotations["kiln.hpc/user"]')" kilntest1
ok "... and scheduled" wait_for 10 condition_is j1 True
root delete job j1 >/dev/null
no_group() { ! root get podgroup "$1" >/dev/null 2>&1; }
ok "the group goes with the Job" wait_for 20 no_group j1
ok "a Job of four pods for three nodes is made" job j2 4 'schedulingPolicy: {gang: {}}'
ok "its group says why it waits" wait_for 40 condition_is j2 False
ok "none of its pods runs" n_of_job j2 0
ok "kctl jobs says why in plain words" wait_for 10 jobs_say \
    ' j2 .*needs room for 4 pods at the same time, but the nodes have room for 3' || note "$(as kilntest1 kctl jobs)"
ok "... with the code of Slurm" sh -c 'printf "%s" "$1" | grep -q "4 pods.*(BadConstraints)"' _ \
    "$(as kilntest1 kctl why j2)"
stop controller KILL
controller
ok "minCount may change" job j2 4 'schedulingPolicy: {gang: {minCount: 3}}'
ok "three run now" wait_for 30 n_of_job j2 3
root delete job j2 >/dev/null
wait_for 20 no_group j2

# --- each pod on its own node --------------------------------------------------

nodes_of() {
    root get pods -l "batch.kubernetes.io/job-name=$1" -o json |
        jq -r '[.items[].spec.nodeName | values] | sort | join(" ")'
}
spread() { # NAME PODS
    cpus=1 job "$1" "$2" "schedulingPolicy: {gang: {}}, onePerNode: ${3:-true}"
}
ok "a Job of small pods, each on its own node" spread s1 3
ok "... runs" wait_for 20 n_of_job s1 3
is "... on three nodes" "$(nodes_of s1)" "n1 n2 n3"
is "its group says it" "$(field podgroup s1 .spec.onePerNode)" true
ok "another one shares these nodes" spread s2 3
ok "... and runs" wait_for 20 n_of_job s2 3
is "... on three nodes as well" "$(nodes_of s2)" "n1 n2 n3"
ok "that cannot change" fails spread s2 3 false
ok "... in words" grep -q "scheduling.*cannot be changed" "$cluster/said" ||
    note "$(cat "$cluster/said")"
group kilntest1 s3 'gang: {minCount: 1}' ', onePerNode: true' >/dev/null
ok "... in a group neither" fails group kilntest1 s3 'gang: {minCount: 1}'
ok "... which says so" grep -q "onePerNode.*immutable" "$cluster/said" ||
    note "$(cat "$cluster/said")"
spread s4 4 >/dev/null
ok "four such pods for three nodes wait" wait_for 40 condition_is s4 False
ok "... and their group says why" condition_says s4 "already have a pod of the group" ||
    note "$(condition s4 message)"
ok "none of them runs" n_of_job s4 0
for name in s1 s2 s4; do root delete job $name >/dev/null; done
for name in s1 s2 s4; do wait_for 20 no_group $name; done

# --- ksub ----------------------------------------------------------------------

home=$cluster/home/kilntest1
gang() { as kilntest1 ksub -D "$home" --parsable --per-node "$@"; }
state_is() { [ "$(root get job "$1" -o json | jq -r '.status.state')" = "$2" ]; }
printf '#!/bin/sh\n#KSUB -N 3 -n 6 -t 5\necho "$KILN_NODEID of $KILN_JOB_NUM_NODES, $KILN_NTASKS"\n' \
    >"$home/three.sh"
id=$(gang "$home/three.sh")
job=$(root get jobs -o json | jq -r --argjson id "${id:-0}" '.items[] |
    select(.status.id == $id) | .metadata.name')
ok "a job of three nodes ends" wait_for 30 state_is "$job" Completed || note "$id: $job"
is "its script ran on three nodes" "$(root get pods -l "batch.kubernetes.io/job-name=$job" \
    -o json | jq -r '[.items[].spec.nodeName] | sort | join(" ")')" "n1 n2 n3"
is "... each with its number, and a file" "$(cat "$home/kiln-$id-n1.out" "$home/kiln-$id-n2.out" \
    "$home/kiln-$id-n3.out" | sort)" "0 of 3, 6
1 of 3, 6
2 of 3, 6"
said=$(as kilntest1 kctl efficiency "$id")
ok "kctl efficiency is about all of its nodes" sh -c \
    'printf "%s" "$1" | grep -q "^Job: *$2 " && printf "%s" "$1" | grep -q "^Node: *n.1-3."' _ \
    "$said" "$id" || note "$said"
ok "... and no task" sh -c '! printf "%s" "$1" | grep -iq "task\|array"' _ "$said" || note "$said"
id=$(gang -N 3 -t 5 --wrap 'if [ "$KILN_NODEID" = 1 ]; then exit 3; fi; exec sleep 300')
job=$(root get jobs -o json | jq -r --argjson id "${id:-0}" '.items[] |
    select(.status.id == $id) | .metadata.name')
ok "one that fails on one node ends on all" wait_for 30 state_is "$job" Failed
ok "... and none of it runs on" wait_for 30 n_of_job "$job" 0
id=$(gang -N 3 -t 5 -J cut --wrap 'sleep 300')
job=$(root get jobs -o json | jq -r --argjson id "${id:-0}" '.items[] |
    select(.status.id == $id) | .metadata.name')
gone_pods() { [ -z "$(root get pods -l "batch.kubernetes.io/job-name=$1" -o name)" ]; }
has_nodes() { [ "$(field podgroup "$job" .status.nodes)" = "n[1-3]" ]; }
ok "a job on three nodes" wait_for 20 has_nodes || note "$(root get podgroup "$job" -o yaml)"
as kilntest1 kctl cancel "$id" >/dev/null
ok "... is cancelled" wait_for 30 state_is "$job" Cancelled
ok "... and none of its pods is left" wait_for 20 gone_pods "$job"
ok "kctl jobs shows its nodes still" jobs_say ' cut .*Cancelled.* n\[1-3\]: cancelled by kilntest1' ||
    note "$(as kilntest1 kctl jobs)"
heard() { "$@" >"$cluster/said" 2>&1; }
ok "more nodes than there are are accepted" heard gang -N 4 -t 5 --wrap true
ok "... are told at once" grep -q \
    "can never run: it needs 4 nodes at the same time, and partition all has 3 that could" \
    "$cluster/said" || note "$(cat "$cluster/said")"
ok "more pods than have room together" heard job j5 4 'schedulingPolicy: {gang: {}}'
ok "... are told, too" grep -q "it needs 4 nodes at the same time, and partition all has 3" \
    "$cluster/said" || note "$(cat "$cluster/said")"
root delete job j5 >/dev/null
wait_for 20 no_group j5
ok "as many as there are" heard job j5 3 'schedulingPolicy: {gang: {}}'
ok "... are not told" sh -c '! grep "never" "$1"' _ "$cluster/said"
root delete job j5 >/dev/null
ok "one file for all nodes is refused" fails gang -N 2 -o out --wrap true
ok "... in words" grep -q "all nodes would write the same file" "$cluster/said"

ok "a minCount beyond parallelism is refused" fails job j3 2 'schedulingPolicy: {gang: {minCount: 3}}'
ok "... in words" grep -q "minCount.*must not be more than parallelism, which is 2" "$cluster/said"
ok "scheduling without a policy is refused" fails job j3 2 ''
group kilntest1 j4 'gang: {minCount: 1}' >/dev/null
job j4 2 'schedulingPolicy: {gang: {}}' >/dev/null
told() { root describe job j4 | grep -q "PodGroup 'j4' is not of this job"; }
ok "a group of that name that is not the Job's is told" wait_for 20 told

# --- limits of a partition ---------------------------------------------------------

root apply -f - >/dev/null <<Y
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: narrow}
spec: {maximumNodes: 2}
Y
ok "a partition's limit of nodes counts the nodes of a gang" \
    fails as kilntest1 ksub -p narrow -N 3 --per-node --wrap true
ok "... in words" grep -q "3 nodes is more than partition narrow's limit of 2" "$cluster/said" ||
    note "$(cat "$cluster/said")"
ok "fewer are accepted" as kilntest1 ksub -p narrow -N 2 --per-node --wrap true

finish
