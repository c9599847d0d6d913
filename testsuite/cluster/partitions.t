#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Partitions: the one that every cluster has at first, those that are created
# for labels of nodes, and what partitions set and refuse.

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
cause() { # JOB WORDS: checks what its pod waits for
    root get pods -l "batch.kubernetes.io/job-name=job-$1" \
        -o 'jsonpath={.items[0].status.cause.message}' | grep -qF "$2"
}
runs() { # JOB
    [ "$(root get pods -l "batch.kubernetes.io/job-name=job-$1" \
        -o 'jsonpath={.items[0].status.phase}')" = Running ]
}
id() { sed -n 's/^Submitted job //p'; }

# The partition over all nodes

is "a new cluster has a default partition over all nodes" \
    "$(root get partitions --no-headers | awk '{print $1, $2, $3, $4, $5}')" \
    "all true Up 1-00:00:00 none"
a=$(s1 long.sh | id)
is "a job that names no partition is in the default partition" \
    "$(job "$a" .spec.template.spec.placement.partition)" all
is "it gets that partition's default time limit" \
    "$(job "$a" .spec.template.spec.activeDeadlineSeconds)" 86400
is "an annotation names the values that were defaults" \
    "$(job "$a" .metadata.annotations.kiln\\.hpc/defaulted)" partition,time
ok "the job runs" wait_for 20 runs "$a"
k1 delete job "job-$a" >/dev/null

# Names of partitions

like "an unknown partition is refused, and the message names the existing ones" \
    "$(s1 -p nosuch long.sh 2>&1)" "there is no partition 'nosuch'; the partitions are: all"
root label node n2 kiln.hpc/partition=gpu >/dev/null
b=$(s1 -p gpu long.sh | id)
is "a label of a node creates a partition" \
    "$(root get partition gpu -o 'jsonpath={.spec.selector.matchLabels}')" \
    '{"kiln.hpc/partition":"gpu"}'
wait_for 20 runs "$b"
is "its jobs run on its nodes" \
    "$(root get pods -l "batch.kubernetes.io/job-name=job-$b" \
        -o 'jsonpath={.items[0].spec.nodeName}')" n2
k1 delete job "job-$b" >/dev/null

# Limits of partitions

partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}},
  defaultTime: "1:00:00", maximumTime: "4:00:00", maximumCPUs: 2}'
like "a job with a longer time limit is refused with both limits" \
    "$(s1 -p gpu -t 5:00:00 long.sh 2>&1)" \
    "5:00:00 is more than partition gpu's limit of 4:00:00"
like "a job without a time limit is refused" \
    "$(s1 -p gpu -t unlimited long.sh 2>&1)" \
    'partition gpu takes no job without a time limit'
like "a job with more CPUs is refused" "$(s1 -p gpu -c 3 long.sh 2>&1)" \
    "3 CPUs is more than partition gpu's limit of 2"

# What no node could ever do

never() { # WORDS OPTION...: the job is accepted, and the user is warned
    words=$1
    shift
    told=$(s1 "$@" -t 5 --wrap true 2>&1)
    k1 delete job "job-$(echo "$told" | id)" >/dev/null
    echo "$told" | grep -q "^ksub: warning: the job can never run: $words" && return
    echo "$told" | sed 's/^/# /'
    return 1
}
ok "a job that no node of its partition could run is warned about" never \
    "no node of partition gpu has 1 TiB of memory; the nearest, n2, has " -p gpu --mem 1T
ok "so is one on a node that is not of its partition" never \
    "node n1 is not in partition gpu$" -p gpu -w n1
ok "one on a node that does not exist" never "there is no node n3; did you mean n" -w n3
ok "one that excludes the node that it asks for" never \
    "node n1 is asked for and also excluded$" -w n1 -x n1
ok "one that asks for a feature that no node has" never "no node has feature typo$" -C typo
ok "and one that asks for more than the largest node has" never \
    "no node has 9 CPUs; the nearest, n1, has 4 CPUs$" -c 9
told=$(s1 -c 4 -t 5 --wrap true 2>&1)
is "a job that waits for room is not" "$(echo "$told" | grep -c warning)" 0
k1 delete job "job-$(echo "$told" | id)" >/dev/null
d=$(s1 -c 1 -H -t 5 --wrap true 2>&1 | id)
like "an update of a waiting job is judged, too" "$(k1 update "$d" cpus-per-task=9 2>&1)" \
    "^job/$d updated; warning: the job can never run: no node has 9 CPUs; the nearest, n1, has 4"
k1 delete job "job-$d" >/dev/null


# --- what users read ----------------------------------------------------------

said=$(s1 -p gpu long.sh 2>&1)
like "ksub prints the default time limit" "$said" \
    'no time limit was given; partition gpu sets 1:00:00'
k1 delete job "job-$(echo "$said" | id)" >/dev/null
ok "a job without -t may ask for a signal before that limit" \
    s1 -p gpu --signal USR1@90 --test-only long.sh
like "a signal before the beginning of the job is refused with the limit" \
    "$(s1 -p gpu --signal USR1@3600 long.sh 2>&1)" \
    'sent 3600 s before its time limit, but partition gpu sets a limit of 3600 s'
like "ksub --test-only prints it, too" \
    "$(s1 -p gpu --test-only long.sh 2>/dev/null)" \
    'time limit 1:00:00'
like "kctl partitions shows the number of nodes, and who may use them" \
    "$(k1 partitions gpu --no-headers | tr -s ' ')" \
    '^gpu Up 1:00:00 4:00:00 1 [0-4]/4 everybody$'
like "kctl partitions marks the default" "$(k1 partitions)" 'all[*] +Up'
is "kctl nodes lists all partitions of a node" \
    "$(k1 nodes -o json | jq -r '.[] | select(.name == "n2").partition')" \
    all,gpu
is "kctl nodes -p selects by one partition" "$(k1 nodes -p gpu -o name)" node/n2
like "a second default partition is refused" "$(root apply -f - 2>&1 <<'TXT'
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: second}
spec: {isDefault: true}
TXT
)" "partition 'all' is already the default"
like "a preemption mode that does not exist is refused" \
    "$(root apply -f - 2>&1 <<'TXT'
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: second}
spec: {preemptionMode: Gang}
TXT
)" 'spec.preemptionMode: Unsupported value: "Gang".*"Suspend"'

# --- states -------------------------------------------------------------------

partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}}, state: Drain,
  reason: last week}'
like "a partition in state Drain refuses new jobs" "$(s1 -p gpu long.sh 2>&1)" \
    'partition gpu is draining \(last week\) and takes no new jobs'
partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}}, state: Down,
  reason: new switch}'
c=$(s1 -p gpu --parsable long.sh 2>/dev/null)
ok "a partition in state Down accepts jobs and starts none" \
    wait_for 20 cause "$c" 'partition gpu is down (new switch)'
partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}},
  maximumTime: 2h}'
ok "the job starts when the partition is Up" wait_for 20 runs "$c"
k1 delete job "job-$c" >/dev/null

# --- changes while jobs wait --------------------------------------------------

root cordon n2 >/dev/null
d=$(s1 -p gpu -t 1:30:00 --parsable long.sh)
ok "a job waits for a node" wait_for 20 cause "$d" closed
partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}},
  maximumTime: 1h}'
ok "the job says that its time limit is over the partition's new limit" \
    wait_for 20 cause "$d" "over partition gpu's limit of 1:00:00"
i=0
while [ $i -lt 25 ]; do
    i=$((i + 1))
    partition gpu '{selector: {matchLabels: {kiln.hpc/partition: none}}}'
    partition gpu '{selector: {matchLabels: {kiln.hpc/partition: gpu}}}'
done
root uncordon n2 >/dev/null
ok "after many changes of the partition, the last one counts" \
    wait_for 20 runs "$d"
k1 delete job "job-$d" >/dev/null
partition gpu '{selector: {matchLabels: {kiln.hpc/partition: none}}}'
d=$(s1 -p gpu --parsable long.sh 2>/dev/null)
ok "a job in a partition without nodes says so" \
    wait_for 20 cause "$d" 'partition gpu has no nodes'
root delete partition gpu >/dev/null
ok "a job in a deleted partition says so" \
    wait_for 20 cause "$d" 'no partition gpu'
k1 delete job "job-$d" >/dev/null

# --- nodes in two partitions, and jobs with several partitions ----------------

partition big '{exclusive: Node, selector: {matchLabels: {size: big}}}'
root label node n1 size=big >/dev/null
e=$(s1 -p big --parsable long.sh 2>/dev/null)
ok "a job in a partition with exclusive nodes gets a whole node" \
    wait_for 20 runs "$e"
is "... and the job has the field wholeNode" \
    "$(job "$e" .spec.template.spec.placement.wholeNode)" true
f=$(s1 -p big,all --parsable long.sh 2>/dev/null)
ok "a job with several partitions runs in the one that has room" \
    wait_for 20 runs "$f" ||
    note "$(root why "$f" 2>&1)"
one_of() { root get pods -l "batch.kubernetes.io/job-name=job-$1" \
    -o 'jsonpath={.items[0].spec.placement.partition}'; }
is "the pod has that partition" "$(one_of "$f")" all
is "the table shows that partition" "$(k1 jobs --no-headers -o id,partition |
    awk -v "id=$f" '$1 == id { print $2 }')" all
is "the job keeps its list of partitions" \
    "$(job "$f" .spec.template.spec.placement.partition)" big,all
g=$(s1 -p all -w n1 --parsable long.sh 2>/dev/null)
ok "a job waits for a node that is used through another partition" \
    wait_for 20 cause "$g" 'waits for'
h=$(s1 -p all -w n2 --parsable long.sh 2>/dev/null)
ok "a job that started in the other partition does not hold the whole node" \
    wait_for 20 runs "$h"
k1 delete job "job-$e" "job-$f" "job-$g" "job-$h" >/dev/null
e=$(s1 -p big,all -w n1 --parsable long.sh 2>/dev/null)
ok "a job with several partitions runs in the exclusive one" wait_for 20 runs "$e"
is "the pod has that partition and the whole node" \
    "$(root get pods -l "batch.kubernetes.io/job-name=job-$e" -o json | jq -c \
        '.items[0] | [.spec.placement.partition, .spec.placement.wholeNode,
            .status.allocation.cpus]')" '["big",true,"0-3"]'
f=$(s1 -p big,all -w n1 --parsable long.sh 2>/dev/null)
ok "another job waits for the node" wait_for 20 cause "$f" 'waits for'
h=$(s1 -p all -w n1 --parsable long.sh 2>/dev/null)
k1 hold "$f" >/dev/null
k1 cancel "$e" >/dev/null
ok "a job of the other partition runs when the node is free" wait_for 20 runs "$h"
k1 release "$f" >/dev/null
ok "a job that may start in both need not wait for all of the node" wait_for 20 runs "$f"
is "it has the other partition, and no whole node" "$(root get pods -o json \
    -l "batch.kubernetes.io/job-name=job-$f" | jq -c '.items[0].spec.placement |
        [.partition, .wholeNode]')" '["all",null]'
g=$(s1 -p big --parsable long.sh 2>/dev/null)
ok "a job of the exclusive partition waits for all of the node" \
    wait_for 20 cause "$g" 'waits for'
k1 update "$g" partition=big,all >/dev/null
ok "when it may also start in the other partition, it runs" wait_for 20 runs "$g"
is "it has no whole node there" "$(root get pods -o json \
    -l "batch.kubernetes.io/job-name=job-$g" | jq -c '.items[0].spec.placement |
        [.partition, .wholeNode]')" '["all",null]'
k1 delete job "job-$e" "job-$f" "job-$g" "job-$h" >/dev/null

e=$(s1 -H -p all --parsable long.sh 2>/dev/null)
whole() { job "$e" .spec.template.spec.placement.wholeNode; }
k1 update "$e" partition=big >/dev/null
is "a job that is moved to a partition with exclusive nodes gets a whole node" "$(whole)" true
k1 update "$e" partition=all >/dev/null
is "it loses the whole node with the partition" "$(whole)" ""
k1 delete job "job-$e" >/dev/null

# --- nodes for one user at a time ---------------------------------------------

s2() { as kilntest2 ksub -o /dev/null "$@"; }
partition big '{exclusive: User, selector: {matchLabels: {size: big}}}'
ok "the table shows that nodes are exclusive per user" \
    sh -c "kctl --server 'http+unix://$cluster/socket' partitions big | grep -q 'EXCLUSIVE.*' &&
        kctl --server 'http+unix://$cluster/socket' partitions big | grep -q ' User'"
e=$(s1 -p big -n 1 --parsable long.sh 2>/dev/null)
ok "a job runs on a node of such a partition" wait_for 20 runs "$e"
f=$(s1 -p all -w n1 -n 1 --parsable long.sh 2>/dev/null)
ok "another job of the same user runs on the node, too" wait_for 20 runs "$f"
g=$(s2 -p big -n 1 --parsable --wrap 'sleep 600' 2>/dev/null)
ok "a job of another user in this partition waits" \
    wait_for 20 cause "$g" "a node that is not used by another user"
d=$(s2 -p all -w n1 -n 1 --parsable --wrap 'sleep 600' 2>/dev/null)
ok "a job of another user in another partition waits, too" \
    wait_for 20 cause "$d" "a node that is not used by another user"
k1 cancel "$e" >/dev/null
ok "the latter runs when no job needs the node for its user alone" \
    wait_for 20 runs "$d"
ok "the former waits, because the node has jobs of another user" \
    wait_for 20 cause "$g" 'a node without jobs of other users'
k1 cancel "$f" >/dev/null
ok "it runs when those jobs have ended" wait_for 20 runs "$g"
as kilntest2 kctl cancel "$d" "$g" >/dev/null

# --- jobs with equal requests -------------------------------------------------

told() { # COUNT WORDS: checks that COUNT waiting pods have this message
    [ "$(root get pods -o 'jsonpath={range .items[*]}{.status.cause.message}{"\n"}{end}' |
        grep -cF "$2")" = "$1" ]
}
d=$(s1 -p all -w n1 --exclusive --parsable long.sh 2>/dev/null)
wait_for 20 runs "$d"
alike=
for _ in 1 2 3 4 5; do
    alike="$alike job-$(s1 -p big -w n1 -c 2 -t 5 --parsable long.sh 2>/dev/null)"
done
ok "five equal jobs wait" wait_for 20 told 5 "waits for 2 CPUs"
partition big '{state: Down, reason: fan}'
ok "all say that their partition is down" \
    wait_for 20 told 5 "partition big is down (fan)"
partition big '{state: Down, reason: pump}'
ok "all say the new reason when it changes" \
    wait_for 20 told 5 "partition big is down (pump)"
partition big '{}'
ok "all say what they wait for when the partition is up again" \
    wait_for 20 told 5 "waits for 2 CPUs"
# shellcheck disable=SC2086 # one word per job
k1 delete job "job-$d" $alike >/dev/null

# --- manifests ----------------------------------------------------------------

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
is "a job from a manifest gets the default partition" \
    "$(root get job again -o 'jsonpath={.spec.template.spec.placement.partition}')" \
    all
like "kctl apply applies it again without a conflict" \
    "$(k1 apply -f job.yaml 2>&1)" \
    'again (unchanged|configured)'
sed -i 's/suspend: true/suspend: false/' "$cluster/home/kilntest1/job.yaml"
like "a server-side apply has no conflict, too" \
    "$(curl -s --unix-socket "$cluster/socket" \
    -X PATCH -H 'Content-Type: application/apply-patch+yaml' \
    --data-binary @"$cluster/home/kilntest1/job.yaml" \
    'http://kiln/apis/batch/v1/namespaces/default/jobs/again?fieldManager=me&force=true' |
    jq -r '.spec.template.spec.activeDeadlineSeconds // .message')" '^86400$'
is "the job keeps its default time limit" \
    "$(root get job again \
        -o 'jsonpath={.spec.template.spec.activeDeadlineSeconds}')" 86400

# --- a restart ----------------------------------------------------------------

root delete partition big >/dev/null
h=$(s1 -p nosuch,all --parsable long.sh 2>&1)
like "of several partitions, one that does not exist is refused" \
    "$h" "no partition 'nosuch'"
stop controller KILL
cluster_controller --socket "$cluster/socket"
ok "the controller answers after it was killed" \
    wait_for 20 root get partition all
is "a restart creates neither the deleted partition nor a second default" \
    "$(root get partitions -o name | paste -sd,)" partition/all
finish
