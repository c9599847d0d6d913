#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Partitions: the one that every cluster begins with, those that labels make, and
# what they give and refuse.

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
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
cluster_agent n2 --topology 'package:1 core:4 pu:1'
root() { kctl --server "http+unix://$cluster/socket" "$@"; }
are_ready() { [ "$(root get nodes --no-headers | grep -cw Ready)" = 2 ]; }
wait_for 20 are_ready || bail_out "no nodes"
root taint nodes n1 n2 kiln.hpc/virtual- >/dev/null
k1() { as kilntest1 kctl "$@"; }
s1() { as kilntest1 ksub -o /dev/null "$@"; }
printf '#!/bin/sh\nsleep 600\n' >"$cluster/home/kilntest1/long.sh"
partition() { # NAME SPEC
    root apply -f - <<TXT >/dev/null
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: $1}
spec: $2
TXT
}
job() { # JOB PATH
    root get job "job-$1" -o "jsonpath={$2}"
}
cause() { # JOB WORDS: what its pod waits for
    root get pods -l "batch.kubernetes.io/job-name=job-$1" \
        -o 'jsonpath={.items[0].status.cause.message}' | grep -qF "$2"
}
runs() { # JOB
    [ "$(root get pods -l "batch.kubernetes.io/job-name=job-$1" \
        -o 'jsonpath={.items[0].status.phase}')" = Running ]
}
id() { sed -n 's/^Submitted job //p'; }

# The one over all nodes

is "every cluster begins with a partition over all nodes, the default" \
    "$(root get partitions --no-headers | awk '{print $1, $2, $3, $4, $5}')" \
    "all true Up 1-00:00:00 none"
a=$(s1 long.sh | id)
is "a job that names none is in it" \
    "$(job "$a" .spec.template.spec.placement.partition)" all
is "and has an end" \
    "$(job "$a" .spec.template.spec.activeDeadlineSeconds)" 86400
is "what it was given is noted" \
    "$(job "$a" .metadata.annotations.kiln\\.hpc/defaulted)" partition,time
ok "it runs" wait_for 20 runs "$a"
k1 delete job "job-$a" >/dev/null

# Names

like "-p that is not there is refused with those that are" \
    "$(s1 -p nosuch long.sh 2>&1)" "there is no partition 'nosuch'; there are: all"
root label node n2 kiln.hpc/partition=gpu >/dev/null
b=$(s1 -p gpu long.sh | id)
is "a label of a node makes a partition" \
    "$(root get partition gpu -o 'jsonpath={.spec.selector.matchLabels}')" \
    '{"kiln.hpc/partition":"gpu"}'
wait_for 20 runs "$b"
is "whose jobs run on its nodes" \
    "$(root get pods -l "batch.kubernetes.io/job-name=job-$b" \
        -o 'jsonpath={.items[0].spec.nodeName}')" n2
k1 delete job "job-$b" >/dev/null

# Limits

partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}},
  defaultTime: "1:00:00", maximumTime: "4:00:00", maximumCPUs: 2}'
like "a job over the time is refused with both times" \
    "$(s1 -p gpu -t 5:00:00 long.sh 2>&1)" \
    "5:00:00 is more than partition gpu's limit of 4:00:00"
like "without an end, too" "$(s1 -p gpu -t unlimited long.sh 2>&1)" \
    'a job without a time limit has no place in partition gpu'
like "over its CPUs" "$(s1 -p gpu -c 3 long.sh 2>&1)" \
    "3 CPUs is more than partition gpu's limit of 2"


# --- what people read -------------------------------------------------------------

said=$(s1 -p gpu long.sh 2>&1)
like "ksub tells the time that was given" "$said" \
    'no time limit is given, partition gpu gives 1:00:00'
k1 delete job "job-$(echo "$said" | id)" >/dev/null
like "a test tells it, too" "$(s1 -p gpu --test-only long.sh 2>/dev/null)" \
    'time limit 1:00:00'
like "kctl partitions tells nodes, and who may use them" \
    "$(k1 partitions gpu --no-headers | tr -s ' ')" \
    '^gpu Up 1:00:00 4:00:00 1 [0-4]/4 everybody$'
like "the default has a star" "$(k1 partitions)" 'all[*] +Up'
is "nodes are told by all their partitions" \
    "$(k1 nodes -o json | jq -r '.[] | select(.name == "n2").partition')" \
    all,gpu
is "and chosen by one" "$(k1 nodes -p gpu -o name)" node/n2
like "a second default is refused" "$(root apply -f - 2>&1 <<'TXT'
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: second}
spec: {isDefault: true}
TXT
)" "partition 'all' is the default already"
like "a mode that is not there yet is refused in words" \
    "$(root apply -f - 2>&1 <<'TXT'
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: second}
spec: {preemptionMode: Gang}
TXT
)" 'spec.preemptionMode: Unsupported value: "Gang".*"Suspend"'

# --- states -----------------------------------------------------------------------

partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}}, state: Drain,
  reason: last week}'
like "Drain takes no new jobs" "$(s1 -p gpu long.sh 2>&1)" \
    'partition gpu is draining \(last week\) and takes no new jobs'
partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}}, state: Down,
  reason: new switch}'
c=$(s1 -p gpu --parsable long.sh 2>/dev/null)
ok "Down takes them and starts none" \
    wait_for 20 cause "$c" 'partition gpu is down (new switch)'
partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}},
  maximumTime: 2h}'
ok "it starts when the partition is up" wait_for 20 runs "$c"
k1 delete job "job-$c" >/dev/null

# --- changes under waiting jobs ---------------------------------------------------

root cordon n2 >/dev/null
d=$(s1 -p gpu -t 1:30:00 --parsable long.sh)
ok "a job waits for a node" wait_for 20 cause "$d" closed
partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}},
  maximumTime: 1h}'
ok "it is told that its partition gives less now" \
    wait_for 20 cause "$d" "over partition gpu's limit of 1:00:00"
i=0
while [ $i -lt 25 ]; do
    i=$((i + 1))
    partition gpu '{selector: {matchLabels: {kiln.hpc/partition: none}}}'
    partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}}}'
done
root uncordon n2 >/dev/null
ok "after many changes the last one counts" wait_for 20 runs "$d"
k1 delete job "job-$d" >/dev/null
partition gpu '{selector: {matchLabels: {kiln.hpc/partition: none}}}'
d=$(s1 -p gpu --parsable long.sh 2>/dev/null)
ok "a partition without nodes is told" \
    wait_for 20 cause "$d" 'no node is of partition gpu'
root delete partition gpu >/dev/null
ok "so is one that is deleted" wait_for 20 cause "$d" 'no partition gpu'
k1 delete job "job-$d" >/dev/null

# --- nodes of two partitions, and a choice of two -----------------------------------

partition big '{exclusive: Node, selector: {matchLabels: {size: big}}}'
root label node n1 size=big >/dev/null
e=$(s1 -p big --parsable long.sh 2>/dev/null)
ok "a job has its node for itself where the partition says so" \
    wait_for 20 runs "$e"
is "... which is written in the job" \
    "$(job "$e" .spec.template.spec.placement.wholeNode)" true
f=$(s1 -p big,all --parsable long.sh 2>/dev/null)
ok "of several partitions the one with room is taken" wait_for 20 runs "$f" ||
    note "$(root why "$f" 2>&1)"
one_of() { root get pods -l "batch.kubernetes.io/job-name=job-$1" \
    -o 'jsonpath={.items[0].spec.placement.partition}'; }
is "and is the pod's" "$(one_of "$f")" all
is "and the table's" "$(k1 jobs --no-headers -o id,partition |
    awk -v "id=$f" '$1 == id { print $2 }')" all
is "while the job keeps its list" \
    "$(job "$f" .spec.template.spec.placement.partition)" big,all
g=$(s1 -p all -w n1 --parsable long.sh 2>/dev/null)
ok "a node of two partitions is one node" \
    wait_for 20 cause "$g" 'waits for'
k1 delete job "job-$e" "job-$f" "job-$g" >/dev/null

# --- nodes for one user at a time ---------------------------------------------------

s2() { as kilntest2 ksub -o /dev/null "$@"; }
partition big '{exclusive: User, selector: {matchLabels: {size: big}}}'
ok "the table says whose nodes are whose" \
    sh -c "kctl --server 'http+unix://$cluster/socket' partitions big | grep -q 'EXCLUSIVE.*' &&
        kctl --server 'http+unix://$cluster/socket' partitions big | grep -q ' User'"
e=$(s1 -p big -n 1 --parsable long.sh 2>/dev/null)
ok "a job has a node where they are for one user" wait_for 20 runs "$e"
f=$(s1 -p all -w n1 -n 1 --parsable long.sh 2>/dev/null)
ok "another of the same user is beside it" wait_for 20 runs "$f"
g=$(s2 -p big -n 1 --parsable --wrap 'sleep 600' 2>/dev/null)
ok "one of another user waits" \
    wait_for 20 cause "$g" "a node that is not another user's alone"
d=$(s2 -p all -w n1 -n 1 --parsable --wrap 'sleep 600' 2>/dev/null)
ok "also by another partition" \
    wait_for 20 cause "$d" "a node that is not another user's alone"
k1 cancel "$e" >/dev/null
ok "that one comes when the node is nobody's alone" wait_for 20 runs "$d"
ok "and the other one not to a node with others" \
    wait_for 20 cause "$g" 'a node without jobs of other users'
k1 cancel "$f" >/dev/null
ok "but when they have gone" wait_for 20 runs "$g"
as kilntest2 kctl cancel "$d" "$g" >/dev/null

# --- several that are alike ---------------------------------------------------------

told() { # COUNT WORDS: that so many pods that wait are told
    [ "$(root get pods -o 'jsonpath={range .items[*]}{.status.cause.message}{"\n"}{end}' |
        grep -cF "$2")" = "$1" ]
}
d=$(s1 -p all -w n1 --exclusive --parsable long.sh 2>/dev/null)
wait_for 20 runs "$d"
alike=
for _ in 1 2 3 4 5; do
    alike="$alike job-$(s1 -p big -w n1 -c 2 -t 5 --parsable long.sh 2>/dev/null)"
done
ok "jobs that are alike wait" wait_for 20 told 5 "waits for 2 CPUs"
partition big '{state: Down, reason: fan}'
ok "all are told of a partition that goes down" \
    wait_for 20 told 5 "partition big is down (fan)"
partition big '{state: Down, reason: pump}'
ok "of its other reason" wait_for 20 told 5 "partition big is down (pump)"
partition big '{}'
ok "and that it is back" wait_for 20 told 5 "waits for 2 CPUs"
# shellcheck disable=SC2086 # one word per job
k1 delete job "job-$d" $alike >/dev/null

# --- manifests ----------------------------------------------------------------------

cat >"$cluster/home/kilntest1/job.yaml" <<'TXT'
apiVersion: batch/v1
kind: Job
metadata: {name: again}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, command: [/bin/true]}]
TXT
k1 apply -f job.yaml >/dev/null
is "a manifest gets the same" \
    "$(root get job again -o 'jsonpath={.spec.template.spec.placement.partition}')" \
    all
like "and is applied again without a conflict" "$(k1 apply -f job.yaml 2>&1)" \
    'again (unchanged|configured)'
sed -i 's/suspend: true/suspend: false/' "$cluster/home/kilntest1/job.yaml"
like "... by the server, too" "$(curl -s --unix-socket "$cluster/socket" \
    -X PATCH -H 'Content-Type: application/apply-patch+yaml' \
    --data-binary @"$cluster/home/kilntest1/job.yaml" \
    'http://kiln/apis/batch/v1/namespaces/default/jobs/again?fieldManager=me&force=true' |
    jq -r '.spec.template.spec.activeDeadlineSeconds // .message')" '^86400$'
is "it keeps what it was given" \
    "$(root get job again \
        -o 'jsonpath={.spec.template.spec.activeDeadlineSeconds}')" 86400

# --- a restart ----------------------------------------------------------------------

root delete partition big >/dev/null
h=$(s1 -p nosuch,all --parsable long.sh 2>&1)
like "one of several that is not there is refused" "$h" "no partition 'nosuch'"
stop controller KILL
cluster_controller --socket "$cluster/socket"
ok "the controller is back" wait_for 20 root get partition all
is "a restart makes no partition that was deleted, and no second default" \
    "$(root get partitions -o name | paste -sd,)" partition/all
finish
