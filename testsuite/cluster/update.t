#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kctl update: a job that waits takes another size, limit, partition, name,
# priority, begin and comment, by the pod that it has and at its place in the
# queue; one that runs takes another limit. What may not change is told in words.

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
cluster_controller --socket "$cluster/socket" --operators kilntest2
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
job() { root get job "$1" -o json | jq -r "$2"; }
pods_of() { # ID FILTER
    root get pods -o json | jq -r --arg job "job-$1" ".items[] |
        select(.metadata.ownerReferences[0].name == \$job) | $2"
}
pod_says() { [ "$(pods_of "$1" "$2")" = "$3" ]; }
state_is() { [ "$(job "$1" .status.state)" = "$2" ]; }
code_is() { [ "$(pods_of "$1" .status.cause.code)" = "$2" ]; }
asks_for='.spec.containers[0].resources.requests'

# --- a job that waits -----------------------------------------------------------

submit -c 4 --wrap 'exec sleep 1000' >/dev/null
wait_for 20 state_is 1 Running || bail_out "no job runs"
waits=$(submit -c 2 -t 10 --wrap 'exec sleep 1000')
behind=$(submit -c 2 --wrap 'exec sleep 1000')
ok "a job waits" wait_for 20 code_is "$waits" Resources
pod=$(pods_of "$waits" '.metadata.uid')
since=$(pods_of "$waits" '.metadata.annotations["kiln.hpc/eligible-at"]')
is "its time limit changes" "$(k1 update job "$waits" time=30)" \
    "job/$waits updated"
is "as the job says" "$(job "$waits" .spec.template.spec.activeDeadlineSeconds)" \
    1800
ok "and the pod that waits" wait_for 20 pod_says "$waits" \
    .spec.activeDeadlineSeconds 1800
k1 update job "$waits" time=unlimited >/dev/null
ok "or goes, also one that its partition gave it" \
    wait_for 20 pod_says "$waits" .spec.activeDeadlineSeconds null
k1 update job "$waits" time=30 >/dev/null
k1 update "$waits" ntasks=3 mem-per-cpu=64M gpus=2:a100 >/dev/null
is "its CPUs are tasks times CPUs of each" \
    "$(job "$waits" ".spec.template$asks_for.cpu")" 6
ok "which the pod takes" wait_for 20 pod_says "$waits" "$asks_for.cpu" 6
is "with memory for each" "$(pods_of "$waits" "$asks_for.memory")" 384Mi
is "and GPUs" "$(pods_of "$waits" "${asks_for}[\"kiln.hpc/gpu\"],
    .spec.placement.gpuType" | tr '\n' ' ')" '2 a100 '
ok "too large for every node it is told so" \
    wait_for 20 code_is "$waits" BadConstraints
k1 update job "$waits" gpus=0 ntasks=1 cpus-per-task=1 mem=96M >/dev/null
ok "smaller again it waits for its turn" wait_for 20 code_is "$waits" Resources
is "without GPUs, as small as said" "$(pods_of "$waits" "$asks_for | tojson")" \
    '{"cpu":"1","memory":"96Mi"}'
is "it was the same pod all the time" "$(pods_of "$waits" .metadata.uid)" "$pod"
is "at the same place in the queue" \
    "$(pods_of "$waits" '.metadata.annotations["kiln.hpc/eligible-at"]')" \
    "$since"
is "and never was suspended" \
    "$(root get events -o json | jq -r --arg job "job-$waits" '.items[] |
        select(.involvedObject.name == $job) | .reason' | sort -u |
        tr '\n' ' ')" "SuccessfulCreate "
is "nor started anew" "$(job "$waits" '.status.requeued // 0')" 0
is "so it has the name of the first" "$(pods_of "$waits" .metadata.name)" \
    "job-$waits-0"

like "a partition that is not there is refused" \
    "$(k1 update job "$waits" partition=three 2>&1)" \
    "job/$waits: .*there is no partition 'three'"
k1 update job "$waits" partition=two >/dev/null
ok "it may go to another partition" wait_for 20 pod_says "$waits" \
    '.spec.placement.partition' two
ok "which has no nodes yet" wait_for 20 code_is "$waits" BadConstraints
k1 update job "$waits" partition=two,one >/dev/null
ok "or to one of several" wait_for 20 code_is "$waits" Resources
is "in place of the one" "$(pods_of "$waits" '.spec.placement.partition')" \
    two,one
is "a name is shown" "$(k1 update "$waits" name=next comment='for the paper' &&
    k1 jobs --name next -o id --no-headers | tr -d ' ')" "job/$waits updated
$waits"
is "the comment is an annotation" \
    "$(job "$waits" '.metadata.annotations["kiln.hpc/comment"]')" \
    "for the paper"
k1 update "$waits" comment= >/dev/null
is "and goes" "$(job "$waits" '.metadata.annotations["kiln.hpc/comment"]')" null
is "what is so already is told" "$(k1 update job "$waits" cpus-per-task=1)" \
    "job/$waits is so already"

# --- its priority -----------------------------------------------------------------

is "its owner lowers its priority" "$(k1 update job "$waits" priority=-5)" \
    "job/$waits updated"
ok "and the pod's" wait_for 20 pod_says "$waits" .spec.priority -5
like "but does not raise it again" \
    "$(k1 update job "$waits" priority=-4 2>&1)" \
    'a higher number is for operators'
is "an operator does" \
    "$(as kilntest2 kctl priority -- -1 "$waits")" "job/$waits updated"
ok "at once" wait_for 20 pod_says "$waits" .spec.priority -1
is "by the pod that it had" "$(pods_of "$waits" .metadata.uid)" "$pod"

# --- when it begins -------------------------------------------------------------

k1 update job "$waits" begin=now+1hour >/dev/null
ok "put off, its pod is kept from starting" wait_for 20 pod_says "$waits" \
    '.metadata.annotations["kiln.hpc/hold"]' true
root cancel 1 --yes >/dev/null
ok "the one behind goes first" wait_for 30 state_is "$behind" Running
ok "and it waits" state_is "$waits" Pending
k1 update job "$waits" begin=none >/dev/null
is "until no time is left to wait for" "$(job "$waits" .spec.beginTime)" null
ok "and it begins at once" wait_for 30 state_is "$waits" Running
is "as it was asked for at last" \
    "$(pods_of "$waits" "$asks_for.cpu, .spec.activeDeadlineSeconds" |
        tr '\n' ' ')" '1 1800 '
is "by the pod that it had" "$(pods_of "$waits" .metadata.uid)" "$pod"

# --- a job that runs --------------------------------------------------------------

like "what it was placed as stays" \
    "$(k1 update job "$waits" cpus-per-task=2 2>&1)" \
    "^kctl: update: job/$waits: it has a node already [(]n1[)]"
like "also its begin" "$(k1 update job "$waits" begin=tomorrow 2>&1)" \
    'it has a node already'
like "its limit is not raised by its owner" \
    "$(k1 update job "$waits" time=1:00:00 2>&1)" \
    'raised by operators and administrators; you may lower it'
is "but by an operator" "$(as kilntest2 kctl update job "$waits" time=40)" \
    "job/$waits updated"
ok "the pod has it" wait_for 20 pod_says "$waits" \
    .spec.activeDeadlineSeconds 2400
is "its name changes all the same" "$(k1 update job "$waits" name=runner)" \
    "job/$waits updated"
root cancel "$behind" --yes >/dev/null
short=$(submit -c 1 -t 0:15 --wrap 'exec sleep 1000')
long=$(submit -c 1 -t 10 --wrap 'exec sleep 1000')
ok "two more run" wait_for 20 state_is "$long" Running
wait_for 20 state_is "$short" Running
as kilntest2 kctl update job "$short" time=10 >/dev/null
began=$(date +%s)
k1 update job "$long" time=0:01 >/dev/null
ok "a limit that has passed ends the job" wait_for 20 state_is "$long" TimedOut
while [ "$(date +%s)" -lt $((began + 17)) ]; do sleep 1; done
ok "one that was raised in time does not" state_is "$short" Running
k1 update job "$short" time=0:01 >/dev/null
ok "before it is lowered" wait_for 20 state_is "$short" TimedOut
like "one that has ended stays as it was" \
    "$(k1 update job "$short" time=5 2>&1)" "job/$short: has ended already"

# --- the daemons end in between -----------------------------------------------------

slow=$(submit -c 1 -t 10 --wrap 'exec sleep 1000')
ok "another runs" wait_for 20 state_is "$slow" Running
signal n1 KILL
await_end n1
k1 update job "$slow" time=0:04 >/dev/null
big=$(submit -c 1000 --wrap 'exec sleep 1000')
k1 update job "$big" cpus-per-task=2000 >/dev/null
signal controller KILL
await_end controller
cluster_controller --socket "$cluster/socket" --operators kilntest2
cluster_agent n1 --topology 'package:1 core:4 pu:1' --label kiln.hpc/partition=one
ok "after a restart of both the limit is what was said last" \
    wait_for 40 state_is "$slow" TimedOut
ok "and the pod that waits is as its job" \
    wait_for 30 pod_says "$big" "$asks_for.cpu" 2k
ok "once, and it is one pod" pod_says "$big" .metadata.name "job-$big-0"

# --- a quota ---------------------------------------------------------------------------

used() { root get resourcequota few -o json | jq -r '.status.used["requests.cpu"]'; }
uses() { [ "$(used)" = "$1" ]; }
root create -f - >/dev/null <<'TXT'
apiVersion: v1
kind: ResourceQuota
metadata: {name: few}
spec: {hard: {requests.cpu: 2100}}
TXT
ok "a quota counts what waits and runs" wait_for 20 uses 2001
k1 update job "$big" cpus-per-task=2200 >/dev/null
cause_is() { [ "$(job "$1" .status.cause.code)" = "$2" ]; }
ok "a job that is made too large waits for it" \
    wait_for 20 cause_is "$big" AssocGrpCpuLimit
ok "and takes no more than before" uses 2001
told=$(as kilntest1 ksub --parsable --comment 'of ksub' -n 3000 -o /dev/null \
    --wrap "echo \$KILN_NTASKS \$KILN_CPUS_PER_TASK \$KILN_JOB_NAME >$cluster/home/kilntest1/said; exec sleep 1000")
ok "one that was submitted so, too" wait_for 20 cause_is "$told" AssocGrpCpuLimit
is "with its comment" \
    "$(job "$told" '.metadata.annotations["kiln.hpc/comment"]')" 'of ksub'
k1 update job "$big" cpus-per-task=1 >/dev/null
ok "small enough it starts" wait_for 30 state_is "$big" Running
ok "and waits for nothing" wait_for 20 cause_is "$big" null
k1 update job "$told" ntasks=2 name=small >/dev/null
ok "so does the other" wait_for 40 state_is "$told" Running
ok "the quota has them as they are" wait_for 20 uses 4
ok "and the job finds it in its variables" wait_for 20 \
    grep -qx '2  *small' "$cluster/home/kilntest1/said"
root cancel --all --yes >/dev/null

# --- others, ranges, mistakes ----------------------------------------------------------

like "another user's job stays" \
    "$(as root ksub --parsable -H --wrap true >/dev/null 2>&1
        as kilntest2 ksub --parsable -H --wrap true >"$cluster/theirs"
        k1 update job "$(cat "$cluster/theirs")" time=5 2>&1)" \
    "cannot change it, it is 'kilntest2's"
a=$(submit -H --wrap true) b=$(submit -H --wrap true)
is "a range is one request" "$(k1 update "$a-$b" time=5 mem=10M)" \
    "job/$a updated
job/$b updated"
is "so is a selection" "$(k1 update --state Held time=6)" \
    "job/$a updated
job/$b updated"
is "Slurm's words are understood" \
    "$(k1 update JobId="$a" TimeLimit=0:07 && job "$a" \
        .spec.template.spec.activeDeadlineSeconds)" "job/$a updated
7"
mistake() { # NAME WORDS OPERAND...
    mistake_name=$1 mistake_words=$2
    shift 2
    like "$mistake_name" "$(k1 update job "$a" "$@" 2>&1)" "$mistake_words"
}
mistake "nothing to change is told" 'nothing to change; say what'
mistake "a unit that there is not" "mem: '5X' is not an amount" mem=5X
mistake "a time that is none" "time: '30s' is not a time" time=30s
mistake "a number that is none" "ntasks: 'many' is not a number" ntasks=many
mistake "an empty value" 'partition: a value is missing' partition=
mistake "a field twice" 'time is said twice' time=1 time=2
mistake "an unknown field" "'tiem' is no field of a job .did you mean .time.[?]" \
    tiem=1
like "no job" "$(k1 update time=5 2>&1)" 'which jobs?'
like "a job that is not there" "$(k1 update job 4711 time=5 2>&1)" \
    'job 4711 not found'
like "the API checks what it is sent" "$(api kilntest1 POST \
    /kiln/v1/jobs/update "{\"ids\":\"$a\",\"update\":{\"cpusPerTask\":\"2\"}}")" \
    '400 .*update.cpusPerTask: a whole number is expected'

# --- the examples of the manual page --------------------------------------------------------

for n in $(seq 10); do submit -H -J "sweep$n" --wrap true; done >"$cluster/more"
first=$(head -n 1 "$cluster/more") last=$(tail -n 1 "$cluster/more")
sed -n 's/^\$ \(kctl update .*\)/\1/p' "$top_srcdir/man/kctl.1" |
    sed "s/\\\\-/-/g; s/\\\\(aq/'/g; s/1042/$first/; s/10-20/$first-$last/
        s/Pending/Held/" >"$cluster/examples"
ok "the manual page has examples" test "$(wc -l <"$cluster/examples")" -ge 3
while read -r example; do
    ok "$example" as kilntest1 sh -c "$example" </dev/null
done <"$cluster/examples"

# --- the rule is Kiln's ------------------------------------------------------------------

like "what a job runs never changes" "$(api kilntest1 PATCH "$jobs/job-$a" \
    '{"spec":{"template":{"spec":{"restartPolicy":"OnFailure"}}}}' $merge)" \
    '422 .*field is immutable'
finish
