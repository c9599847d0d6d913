#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kctl update: the size, time limit, partition, name, priority, begin time and
# comment of a waiting job can be changed. The job keeps its pod and its place
# in the queue. Of a running job the time limit can be changed. Other changes
# are refused with a message.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

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
cluster_controller --socket "$cluster/socket" --operators kilntest2 \
    --agent-labels kiln.hpc/partition
cluster_agent n1 --topology 'package:1 core:4 pu:1' --label kiln.hpc/partition=one
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

root create -f - >/dev/null <<'TXT'
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: two}
spec: {selector: {matchLabels: {there: none}}}
TXT

k1() { as kilntest1 kctl "$@" </dev/null; }
submit() { as kilntest1 ksub --parsable -o /dev/null "$@"; }
pods_of() { # ID FILTER
    root get pods -o json | jq -r --arg job "job-$1" ".items[] |
        select(.metadata.ownerReferences[0].name == \$job) | $2"
}
pod_says() { [ "$(pods_of "$1" "$2")" = "$3" ]; }
code_is() { [ "$(pods_of "$1" .status.cause.code)" = "$2" ]; }
asks_for='.spec.containers[0].resources.requests'

# --- a waiting job ------------------------------------------------------------

submit -c 4 --wrap 'exec sleep 1000' >/dev/null
wait_for 20 state_is 1 Running || bail_out "no job runs"
waits=$(submit -c 2 -t 10 --wrap 'exec sleep 1000')
behind=$(submit -c 2 --wrap 'exec sleep 1000')
ok "a job waits" wait_for 20 code_is "$waits" Resources
pod=$(pods_of "$waits" '.metadata.uid')
since=$(pods_of "$waits" '.metadata.annotations["kiln.hpc/eligible-at"]')
is "its time limit can be changed" "$(k1 update job "$waits" time=30)" \
    "job/$waits updated"
is "the job has the new limit" \
    "$(job "$waits" .spec.template.spec.activeDeadlineSeconds)" \
    1800
ok "the waiting pod has the new limit" wait_for 20 pod_says "$waits" \
    .spec.activeDeadlineSeconds 1800
k1 update job "$waits" time=unlimited >/dev/null
ok "the time limit can be removed, even if it was the partition's default" \
    wait_for 20 pod_says "$waits" .spec.activeDeadlineSeconds null
k1 update job "$waits" time=30 >/dev/null
k1 update "$waits" ntasks=3 mem-per-cpu=64M gpus=2:a100 >/dev/null
is "the number of CPUs is that of the tasks times that of each task" \
    "$(job "$waits" ".spec.template$asks_for.cpu")" 6
ok "the pod has that number" wait_for 20 pod_says "$waits" "$asks_for.cpu" 6
is "the memory is that of each CPU times their number" \
    "$(pods_of "$waits" "$asks_for.memory")" 384Mi
is "the pod has the GPUs" "$(pods_of "$waits" "${asks_for}[\"kiln.hpc/gpu\"],
    .spec.placement.gpuType" | tr '\n' ' ')" '2 a100 '
ok "a job that became too large for every node says so" \
    wait_for 20 code_is "$waits" BadConstraints
k1 update job "$waits" gpus=0 ntasks=1 cpus-per-task=1 mem=96M >/dev/null
ok "it waits for resources when it is small enough again" \
    wait_for 20 code_is "$waits" Resources
is "the pod has the smaller requests and no GPUs" \
    "$(pods_of "$waits" "$asks_for | tojson")" \
    '{"cpu":"1","memory":"96Mi"}'
is "it is the same pod" "$(pods_of "$waits" .metadata.uid)" "$pod"
is "it has the same place in the queue" \
    "$(pods_of "$waits" '.metadata.annotations["kiln.hpc/eligible-at"]')" \
    "$since"
is "it was never suspended" \
    "$(root get events -o json | jq -r --arg job "job-$waits" '.items[] |
        select(.involvedObject.name == $job) | .reason' | sort -u |
        tr '\n' ' ')" "SuccessfulCreate "
is "it was never requeued" "$(job "$waits" '.status.requeued // 0')" 0
is "the pod has the name of the first attempt" \
    "$(pods_of "$waits" .metadata.name)" \
    "job-$waits-0"

like "a partition that does not exist is refused" \
    "$(k1 update job "$waits" partition=three 2>&1)" \
    "job/$waits: .*there is no partition 'three'"
k1 update job "$waits" partition=two >/dev/null
ok "a job can be moved to another partition" wait_for 20 pod_says "$waits" \
    '.spec.placement.partition' two
ok "it waits there, because the partition has no nodes" \
    wait_for 20 code_is "$waits" BadConstraints
k1 update job "$waits" partition=two,one >/dev/null
ok "it can be moved to several partitions" \
    wait_for 20 code_is "$waits" Resources
is "the pod has the list of partitions" \
    "$(pods_of "$waits" '.spec.placement.partition')" \
    two,one
is "the name can be changed" \
    "$(k1 update "$waits" name=next comment='for the paper' &&
    k1 jobs --name next -o id --no-headers | tr -d ' ')" "job/$waits updated
$waits"
is "the comment is an annotation" \
    "$(job "$waits" '.metadata.annotations["kiln.hpc/comment"]')" \
    "for the paper"
k1 update "$waits" comment= >/dev/null
is "the comment can be removed" \
    "$(job "$waits" '.metadata.annotations["kiln.hpc/comment"]')" null
is "a change to the same value is reported" \
    "$(k1 update job "$waits" cpus-per-task=1)" \
    "job/$waits has this value already"

# --- the nice value -----------------------------------------------------------

polite=$(submit -H --wrap true)
nice_is() { # [NICE,NUMBER], null for none
    [ "$(as kilntest1 kctl get job "$polite" -o json | jq -c '[.metadata.annotations["kiln.hpc/nice"],
        .spec.template.spec.priority]')" = "$1" ]
}
is "the owner can lower the priority by a nice value" "$(k1 update job "$polite" nice=50)" \
    "job/$polite updated"
ok "the job has the number of its class less that" nice_is '["50",-50]'
like "kctl show has both" "$(k1 show "$polite")" 'Priority: +-50 \(nice 50\)'
is "he may take it back" "$(k1 update job "$polite" nice=20; k1 update job "$polite" nice=0)" \
    "job/$polite updated
job/$polite updated"
ok "and no number is left" nice_is '[null,null]'
like "a negative one is for operators" "$(k1 update job "$polite" nice=-1 2>&1)" \
    'only operators can set a negative nice value'
is "who may set one" "$(as kilntest2 kctl update "$polite" nice=-5)" "job/$polite updated"
ok "... which raises the number" nice_is '["-5",5]'
copy_is() { # ANNOTATION,NUMBER: of the job submitted again
    copy=$(k1 resubmit --hold --parsable "$polite") || return 1
    [ "$(as kilntest1 kctl get job "$copy" -o json | jq -c '[.metadata.annotations["kiln.hpc/nice"],
        .spec.template.spec.priority]')" = "$1" ] && k1 cancel "$copy" >/dev/null
}
ok "... only for this job, not when it is submitted again" copy_is '[null,null]'
is "... and which the owner can lower" "$(k1 update job "$polite" nice=3)" "job/$polite updated"
ok "his own is for a copy, too" copy_is '["3",-3]'
as kilntest2 kctl update "$polite" priority=70 >/dev/null
ok "a number above that of the class is not" copy_is '[null,null]'
is "a number of its own replaces it" "$(k1 update job "$polite" priority=-30)" "job/$polite updated"
ok "... without a nice value" nice_is '[null,-30]'
ok "his own number is for a copy, too" copy_is '[null,-30]'
like "... and is not raised by one" "$(k1 update job "$polite" nice=1 2>&1)" \
    'does not change a priority number that was given to the job itself'
like "nor by the annotation" "$(k1 annotate job "$polite" kiln.hpc/nice=30 2>&1)" \
    'does not change a priority number that was given to the job itself'
ok "... which is not there then" nice_is '[null,-30]'
like "an annotation that is no number is refused" \
    "$(k1 annotate job "$polite" kiln.hpc/nice=much 2>&1)" 'kiln.hpc/nice: expected a number'
k1 cancel "$polite" >/dev/null
polite=$(submit --sbatch -H --nice --wrap true)
ok "a submission may have one: sbatch --nice" nice_is '["100",-100]'
like "a negative one is refused there, too" \
    "$(submit --sbatch -H --nice=-4 --wrap true 2>&1)" 'only operators can set a negative nice value'
k1 cancel "$polite" >/dev/null
k1 update job "$waits" nice=50 >/dev/null
ok "a pod that waits gets the number" wait_for 20 pod_says "$waits" .spec.priority -50
k1 update job "$waits" nice=0 >/dev/null
ok "... and loses it" wait_for 20 pod_says "$waits" .spec.priority 0

# --- the priority -------------------------------------------------------------

is "the owner can lower the priority" "$(k1 update job "$waits" priority=-5)" \
    "job/$waits updated"
ok "the pod has the lower priority" \
    wait_for 20 pod_says "$waits" .spec.priority -5
like "the owner cannot raise it again" \
    "$(k1 update job "$waits" priority=-4 2>&1)" \
    'only operators can set a higher number'
is "an operator can raise it" \
    "$(as kilntest2 kctl priority -- -1 "$waits")" "job/$waits updated"
ok "the pod has the raised priority" \
    wait_for 20 pod_says "$waits" .spec.priority -1
is "it is still the same pod" "$(pods_of "$waits" .metadata.uid)" "$pod"

# --- the begin time -----------------------------------------------------------

k1 update job "$waits" begin=now+1hour >/dev/null
ok "a later begin time holds the pod" wait_for 20 pod_says "$waits" \
    '.metadata.annotations["kiln.hpc/hold"]' true
root cancel 1 --yes >/dev/null
ok "a later job starts before it" wait_for 30 state_is "$behind" Running
ok "the job still waits" state_is "$waits" Pending
k1 update job "$waits" begin=none >/dev/null
is "the begin time can be removed" "$(job "$waits" .spec.beginTime)" null
ok "the job then starts" wait_for 30 state_is "$waits" Running
is "it has the last requests and limits" \
    "$(pods_of "$waits" "$asks_for.cpu, .spec.activeDeadlineSeconds" |
        tr '\n' ' ')" '1 1800 '
is "it still has the same pod" "$(pods_of "$waits" .metadata.uid)" "$pod"

# --- a running job ------------------------------------------------------------

like "the requests of a running job cannot be changed" \
    "$(k1 update job "$waits" cpus-per-task=2 2>&1)" \
    "^kctl: update: job/$waits: it has a node already [(]n1[)]"
like "its begin time cannot be changed" \
    "$(k1 update job "$waits" begin=tomorrow 2>&1)" \
    'it has a node already'
like "its owner cannot raise its time limit" \
    "$(k1 update job "$waits" time=1:00:00 2>&1)" \
    'only operators and administrators raise the time limit of a running job; you may lower it'
is "an operator can raise it" \
    "$(as kilntest2 kctl update job "$waits" time=40)" \
    "job/$waits updated"
ok "the pod has the raised limit" wait_for 20 pod_says "$waits" \
    .spec.activeDeadlineSeconds 2400
is "its name can be changed" "$(k1 update job "$waits" name=runner)" \
    "job/$waits updated"
root cancel "$behind" --yes >/dev/null
# The job has a low priority: the next two would preempt it if there were no room.
is_gone() { [ -z "$(pods_of "$1" .metadata.name)" ]; }
wait_for 20 is_gone "$behind"
short=$(submit -c 1 -t 0:15 --wrap 'exec sleep 1000')
long=$(submit -c 1 -t 10 --wrap 'exec sleep 1000')
ok "two more jobs run" wait_for 20 state_is "$long" Running
wait_for 20 state_is "$short" Running
as kilntest2 kctl update job "$short" time=10 >/dev/null
began=$(date +%s)
k1 update job "$long" time=0:01 >/dev/null
ok "a job ends at once when its time limit is lowered below its run time" \
    wait_for 20 state_is "$long" TimedOut
while [ "$(date +%s)" -lt $((began + 17)) ]; do sleep 1; done
ok "a job whose limit was raised in time keeps running" \
    state_is "$short" Running
k1 update job "$short" time=0:01 >/dev/null
ok "it ends when the limit is lowered" wait_for 20 state_is "$short" TimedOut
like "a job that has ended cannot be changed" \
    "$(k1 update job "$short" time=5 2>&1)" "job/$short: has ended already"

# --- the daemons are killed ---------------------------------------------------

slow=$(submit -c 1 -t 10 --wrap 'exec sleep 1000')
ok "another job runs" wait_for 20 state_is "$slow" Running
signal n1 KILL
await_end n1
k1 update job "$slow" time=0:04 >/dev/null
big=$(submit -c 1000 --wrap 'exec sleep 1000')
k1 update job "$big" cpus-per-task=2000 >/dev/null
signal controller KILL
await_end controller
cluster_controller --socket "$cluster/socket" --operators kilntest2 \
    --agent-labels kiln.hpc/partition
cluster_agent n1 --topology 'package:1 core:4 pu:1' --label kiln.hpc/partition=one
ok "after both were killed, the last limit applies" \
    wait_for 40 state_is "$slow" TimedOut
ok "the waiting pod has the requests of its job" \
    wait_for 30 pod_says "$big" "$asks_for.cpu" 2k
ok "the job still has its first pod" pod_says "$big" .metadata.name "job-$big-0"

# --- a quota ------------------------------------------------------------------

used() { root get resourcequota few -o json | jq -r '.status.used["requests.cpu"]'; }
uses() { [ "$(used)" = "$1" ]; }
root create -f - >/dev/null <<'TXT'
apiVersion: v1
kind: ResourceQuota
metadata: {name: few}
spec: {hard: {requests.cpu: 2100}}
TXT
ok "a quota counts waiting and running jobs" wait_for 20 uses 2001
k1 update job "$big" cpus-per-task=2200 >/dev/null
cause_is() { [ "$(job "$1" .status.cause.code)" = "$2" ]; }
ok "a job that becomes too large for the quota waits" \
    wait_for 20 cause_is "$big" AssocGrpCpuLimit
ok "the quota still counts the earlier size" uses 2001
told=$(as kilntest1 ksub --parsable --comment 'of ksub' -n 3000 -o /dev/null \
    --wrap "echo \$KILN_NTASKS \$KILN_CPUS_PER_TASK \$KILN_JOB_NAME >$cluster/home/kilntest1/said; exec sleep 1000")
ok "a job that is submitted too large waits, too" \
    wait_for 20 cause_is "$told" AssocGrpCpuLimit
is "it has the comment of ksub" \
    "$(job "$told" '.metadata.annotations["kiln.hpc/comment"]')" 'of ksub'
k1 update job "$big" cpus-per-task=1 >/dev/null
ok "the job runs when it is small enough" wait_for 30 state_is "$big" Running
ok "it has no cause any more" wait_for 20 cause_is "$big" null
k1 update job "$told" ntasks=2 name=small >/dev/null
ok "the other job runs when it is small enough" \
    wait_for 40 state_is "$told" Running
ok "the quota counts the new sizes" wait_for 20 uses 4
ok "the variables of the job have the new size and name" wait_for 20 \
    grep -qx '2  *small' "$cluster/home/kilntest1/said"
root cancel --all --yes >/dev/null

# --- an array of which some tasks run -----------------------------------------

sweep=$(submit -a 1-20 -c 2 -t 10 --wrap 'exec sleep 1000')
tasks_run() { # NUMBER
    [ "$(pods_of "$sweep" 'select(.status.phase == "Running") | 1' | wc -l)" -eq "$1" ]
}
waiting() { # FILTER: of the waiting pods, in one line
    pods_of "$sweep" "select(.spec.nodeName == null) | $1" | sort -u | tr '\n' ' '
}
waiting_say() { [ "$(waiting "$1")" = "$2 " ]; }
running() { pods_of "$sweep" "select(.spec.nodeName != null) | $1" | sort -u | tr '\n' ' '; }
ok "two tasks of an array run" wait_for 30 tasks_run 2
ok "others have pods that wait" wait_for 20 waiting_say "$asks_for.cpu" 2
is "the array can be changed, and the answer says for which tasks" \
    "$(k1 update "$sweep" time=30 mem=48M)" \
    "job/$sweep updated; tasks that have started keep what they have"
ok "the waiting pods have the new limit" wait_for 20 waiting_say .spec.activeDeadlineSeconds 1800
ok "... and memory" wait_for 20 waiting_say "$asks_for.memory" 48Mi
is "the running pods keep the former limit and memory" \
    "$(running .spec.activeDeadlineSeconds)$(running "$asks_for.memory")" "600 null "
is "the same value again changes nothing" "$(k1 update "$sweep" time=30)" \
    "job/$sweep has this value already"
k1 update "$sweep" partition=two >/dev/null
ok "the waiting tasks can be moved to another partition" \
    wait_for 20 waiting_say .status.cause.code BadConstraints
k1 update "$sweep" partition=one priority=-7 >/dev/null
ok "... and back, with another priority" wait_for 20 waiting_say .spec.priority -7
k1 update "$sweep" cpus-per-task=1 >/dev/null
signal controller KILL
await_end controller
cluster_controller --socket "$cluster/socket" --operators kilntest2 \
    --agent-labels kiln.hpc/partition
ok "a change survives a kill of the controller" wait_for 40 waiting_say "$asks_for.cpu" 1
root cancel "${sweep}_1" --yes >/dev/null
ok "two smaller tasks start in the place of one that was larger" wait_for 40 tasks_run 3
like "the table shows for each what it started with" \
    "$(k1 jobs --no-headers |
        awk -v id="$sweep" '$1 ~ "^" id "_[0-9]+$" { print $1 "=" $6 }' | tr '\n' ' ')" \
    "${sweep}_2=2 ${sweep}_3=1 ${sweep}_4=1"
is "none of the tasks was started twice" \
    "$(pods_of "$sweep" '.metadata.name' | grep -c 'r[0-9]*$')" 0
root cancel --all --yes >/dev/null

# --- other users, ranges, mistakes --------------------------------------------

like "a job of another user cannot be changed" \
    "$(as root ksub --parsable -H --wrap true >/dev/null 2>&1
        as kilntest2 ksub --parsable -H --wrap true >"$cluster/theirs"
        k1 update job "$(cat "$cluster/theirs")" time=5 2>&1)" \
    "cannot change it, because it belongs to 'kilntest2'"
a=$(submit -H --wrap true) b=$(submit -H --wrap true)
is "a range of jobs can be changed" "$(k1 update "$a-$b" time=5 mem=10M)" \
    "job/$a updated
job/$b updated"
is "a selection of jobs can be changed" "$(k1 update --state Held time=6)" \
    "job/$a updated
job/$b updated"
is "a time limit may have units" \
    "$(k1 update job "$a" time=1h30m && job "$a" \
        .spec.template.spec.activeDeadlineSeconds)" "job/$a updated
5400"
is "Slurm's field names are accepted" \
    "$(k1 update JobId="$a" TimeLimit=0:07 && job "$a" \
        .spec.template.spec.activeDeadlineSeconds)" "job/$a updated
7"
mistake() { # NAME WORDS OPERAND...
    mistake_name=$1 mistake_words=$2
    shift 2
    like "$mistake_name" "$(k1 update job "$a" "$@" 2>&1)" "$mistake_words"
}
mistake "a command without a change is refused" 'nothing to change; give fields'
mistake "an unknown unit is refused" "mem: '5X' is not an amount" mem=5X
mistake "an invalid time is refused" "time: '30x' is not a time" time=30x
mistake "an invalid number is refused" "ntasks: 'many' is not a number" ntasks=many
mistake "an empty value is refused" 'partition: a value is required' partition=
mistake "a field that is given twice is refused" 'time is given twice' time=1 time=2
mistake "an unknown field is refused" "'tiem' is not a field of a job .did you mean .time.[?]" \
    tiem=1
like "a command without a job is refused" \
    "$(k1 update time=5 2>&1)" 'which jobs?'
like "a job that does not exist is refused" \
    "$(k1 update job 4711 time=5 2>&1)" \
    'job 4711 not found'
like "the API checks the types of the fields" "$(api kilntest1 POST \
    /kiln/v1/jobs/update "{\"ids\":\"$a\",\"update\":{\"cpusPerTask\":\"2\"}}")" \
    '400 .*update.cpusPerTask: expected a whole number'

# --- the examples of the manual page ------------------------------------------

for n in $(seq 10); do submit -H -J "sweep$n" --wrap true; done >"$cluster/more"
first=$(head -n 1 "$cluster/more") last=$(tail -n 1 "$cluster/more")
sed -n 's/^\$ \(kctl update .*\)/\1/p' "$top_srcdir/man/kctl.1" |
    sed "s/\\\\-/-/g; s/\\\\(aq/'/g; s/1042/$first/; s/10-20/$first-$last/
        s/Pending/Held/" >"$cluster/examples"
ok "the manual page has examples" test "$(wc -l <"$cluster/examples")" -ge 3
while read -r example; do
    ok "$example" as kilntest1 sh -c "$example" </dev/null
done <"$cluster/examples"

# --- rules of the API ---------------------------------------------------------

like "the template of a job cannot be changed otherwise" \
    "$(api kilntest1 PATCH "$jobs/job-$a" \
    '{"spec":{"template":{"spec":{"restartPolicy":"OnFailure"}}}}' $merge)" \
    '422 .*field is immutable'
finish
