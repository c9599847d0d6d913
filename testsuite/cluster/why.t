#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why a pod or a job waits, as the scheduler itself answers it: at
# pods/NAME/why and jobs/NAME/why, and through kctl and ksub.

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
cat >"$cluster/scheduler.yaml" <<'TXT'
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}
TXT
cat >"$cluster/limits.yaml" <<'TXT'
limits: {perUser: {questionsPerSecond: 5}}
TXT
cluster_controller --socket "$cluster/socket" \
    --scheduler-config "$cluster/scheduler.yaml" --config "$cluster/limits.yaml"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
root() { kctl --server "http+unix://$cluster/socket" "$@"; }
is_ready() { root get nodes --no-headers | grep -qw Ready; }
wait_for 20 is_ready || bail_out "no node"
root taint nodes n1 kiln.hpc/virtual- >/dev/null

# api USER METHOD PATH [BODY]: one line, the code and the answer.
api() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    as "$1" sh -c 'curl -s --max-time 20 -w "\n%{http_code}" \
        --unix-socket "$0" -X "$1" -H "Content-Type: $4" -d "$3" \
        "http://kiln$2"' "$cluster/socket" "$2" "$3" "${4-}" \
        "${5:-application/json}" |
        awk '{ text = text last; last = $0 } END { print last " " text }'
}
pods=/api/v1/namespaces/default/pods
jobs=/apis/batch/v1/namespaces/default/jobs
why() { # PATH [FILTER]: as root, what jq finds in the answer
    curl -s --unix-socket "$cluster/socket" "http://kiln$1/why" | jq -r "${2-.}"
}
says() { # PATH FILTER WORDS
    [ "$(why "$1" "$2")" = "$3" ]
}
pod() { # NAME CPUS [SPEC]
    as kilntest1 kctl apply -f - >/dev/null <<TXT
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
${3-}
  containers:
  - name: main
    image: host
    command: [sleep, "600"]
    resources: {requests: {cpu: "$2"}}
TXT
}

# --- pods -----------------------------------------------------------------------
pod gated 1 '  schedulingGates: [{name: example.com/wait}]'
ok "a gated pod is gated" wait_for 10 says "$pods/gated" .queue Gated
is "and its cause has a code" "$(why "$pods/gated" .cause.code)" SchedulingGated
like "which names the gate" "$(why "$pods/gated" .cause.message)" \
    'example.com/wait'
pod big 64
ok "a pod that fits nowhere is unschedulable" \
    wait_for 10 says "$pods/big" .queue Unschedulable
is "its dominant cause is told by a code" "$(why "$pods/big" .cause.code)" \
    InsufficientCPU
is "with the number of nodes" "$(why "$pods/big" '.reasons[0].nodes')" 1
pod nobody 1 '  schedulerName: nobody'
is "of another scheduler's it says so" "$(why "$pods/nobody" .cause.code)" \
    NoScheduler
pod runs 1
ok "a pod that has a node is placed" wait_for 20 says "$pods/runs" .state Placed
is "there" "$(why "$pods/runs" .node)" n1
like "of one that is not there it is a 404" \
    "$(api kilntest1 GET "$pods/nothing/why")" '^404 '
root delete pod gated big nobody runs >/dev/null

# --- rights ---------------------------------------------------------------------
id=$(as kilntest1 ksub --parsable -c 64 --wrap true)
waits() { says "$pods/job-$id-0" .queue Unschedulable; }
ok "a user's job waits" wait_for 20 waits
like "who may learn why" "$(api kilntest1 GET "$jobs/job-$id/why")" \
    '^200 .*InsufficientCPU'
like "and of the pod" "$(api kilntest1 GET "$pods/job-$id-0/why")" \
    '^200 .*InsufficientCPU'
like "other users may not" "$(api kilntest2 GET "$jobs/job-$id/why")" \
    '^403 .*cannot get jobs/why of other users'
like "nor of the pod" "$(api kilntest2 GET "$pods/job-$id-0/why")" '^403 '
like "nobody writes it" "$(api kilntest1 POST "$jobs/job-$id/why" '{}')" '^405 '
is "one answer is for all of a job's pods" \
    "$(why "$jobs/job-$id" '[.pods.waiting, .pod] | join(" ")')" \
    "1 job-$id-0"
like "kctl why prints it" "$(as kilntest1 kctl why "$id")" \
    'Not placed: *1 of 1 nodes: .* \(InsufficientCPU\)'
# The first line is the cause as the table of jobs has it, and all of it.
told=$(as kilntest1 kctl why "$id")
like "first of all it says the one cause" "$(echo "$told" | head -n 1)" \
    "^Job $id \(wrap\): Pending, no node has 64 CPUs \(BadConstraints\)$"
is "as the table does" \
    "$(as kilntest1 kctl jobs -o reason --no-headers)" "no node has 64 CPUs"
is "and not again" "$(echo "$told" | grep -c 'no node has 64 CPUs')" 1
is "no line is there twice" "$(echo "$told" | sort | uniq -d)" ""
is "the answer has both, the state and the cause of the job" \
    "$(why "$jobs/job-$id" '.status | "\(.state) \(.cause.code)"')" \
    'Pending BadConstraints'
codes() {
    # shellcheck disable=SC2016
    as "$1" sh -c 'curl -s --unix-socket "$0" -o /dev/null \
        -w "%{http_code}\n" "http://kiln$1/why?[1-50]"' \
        "$cluster/socket" "$jobs/job-$id" | sort | uniq -c | tr '\n' ' '
}
like "who asks too often is slowed down" "$(codes kilntest1)" '200.* 429'
as kilntest1 kctl hold "$id" >/dev/null
ok "a job that is held says so" wait_for 10 says "$jobs/job-$id" .cause.code Held
as kilntest1 kctl cancel "$id" >/dev/null
ok "one that ended says how" wait_for 10 says "$jobs/job-$id" .state Ended
is "in one line" "$(as kilntest1 kctl why "$id")" \
    "Job $id (wrap): Cancelled, cancelled by kilntest1 (Cancelled)"

# --- jobs of a manifest -----------------------------------------------------------
job() { # NAME COUNT [SPEC]
    as kilntest1 kctl apply -f - >/dev/null <<TXT
apiVersion: batch/v1
kind: Job
metadata: {name: $1}
spec:
  completions: $2
  parallelism: $2
  completionMode: Indexed
${3:-  backoffLimit: 0}
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: host
        command: [sh, -c, "exit 3"]
        resources: {requests: {cpu: "1"}}
TXT
}
first_line() { as kilntest1 kctl why "job/$1" | head -n 1; }
says_first() { first_line "$1" | grep -qE -e "$2"; }
job again 1
ok "a failure says how, and not that it has ended with 0" wait_for 20 \
    says_first again ': Failed on n1, exit code 3 \(NonZeroExitCode\)$'
is "and nothing more" "$(as kilntest1 kctl why job/again | wc -l)" 1
has_start() { as kilntest1 kctl events --for job/again | grep -c Scheduled; }
is_told() { [ "$(has_start)" -eq 1 ]; }
ok "where it was placed is an event" wait_for 20 is_told
as kilntest1 kctl delete job/again --wait >/dev/null
job again 1 '  suspend: true'
ok "another job of that name" wait_for 20 says_first again ': Held'
is "has no other's start as its own" "$(has_start)" 0
as kilntest1 kctl delete job/again --wait >/dev/null
job many 50 '  backoffLimitPerIndex: 0'
has_ended() { as kilntest1 kctl get job many -o json |
    jq -e '.status.failed == 50'; }
ok "of a job of fifty pods" wait_for 60 has_ended
told=$(as kilntest1 kctl why job/many)
like "it is told how one of them has, and not that there was one" \
    "$(echo "$told" | head -n 1)" ': Failed on n1, exit code 3 \(NonZeroExit'
like "and how many" "$told" 'Pods: *50 failed'
ok "in a few lines" [ "$(echo "$told" | wc -l)" -lt 9 ]
# Of three of its newest pods, of which a dozen and a few are asked about.
of_many() {
    root get pods -l batch.kubernetes.io/job-name=many -o json |
        jq -r '.items | sort_by(.metadata.creationTimestamp,
            (.metadata.name | length), .metadata.name) | .[-3:] | .[].metadata |
            "\(.name) \(.uid)"'
}
seconds=0
of_many >"$cluster/three"
while read -r name uid; do
    seconds=$((seconds + 1))
    root create -f - >/dev/null <<TXT
apiVersion: v1
kind: Event
metadata: {name: slow.$name, namespace: default}
involvedObject: {kind: Pod, namespace: default, name: $name, uid: $uid}
type: Warning
reason: SlowDisk
message: the disk of $name is slow
count: 2
lastTimestamp: "$(date -u +%Y-%m-%dT%H:%M:0${seconds}Z)"
TXT
done <"$cluster/three"
like "events that differ in the pod alone are one, with number and last time" \
    "$(as kilntest1 kctl why job/many)" \
    " \(x6\) +SlowDisk +the disk of $(tail -n 1 "$cluster/three" |
        cut -d ' ' -f 1) is slow$"
as kilntest1 kctl delete job/many --wait >/dev/null

# --- nobody answers -------------------------------------------------------------
id=$(as kilntest1 ksub --parsable -c 64 --wrap true)
ok "another job waits" wait_for 20 waits
leases=/apis/coordination.k8s.io/v1/namespaces/kube-system/leases
take_lease() {
    curl -fsS --unix-socket "$cluster/socket" -X PATCH \
        -H 'Content-Type: application/merge-patch+json' \
        -d '{"spec":{"holderIdentity":"another","leaseDurationSeconds":600,
"renewTime":"'"$(date -u +%Y-%m-%dT%H:%M:%S.000000Z)"'"}}' \
        "http://kiln$leases/kube-scheduler"
}
ok "another scheduler takes the lease" take_lease
is_left() { # the scheduler notices
    take_lease >/dev/null
    api kilntest1 GET "$pods/job-$id-0/why" | grep -q '^503 .*no scheduler'
}
ok "then the answer is a 503 in words" wait_for 20 is_left
says_of_itself() { # the scheduler may have come back meanwhile
    is_left
    root why "$id" | grep -q 'Not placed'
}
ok "and kctl why tells what the pod itself says" wait_for 20 says_of_itself
finish
