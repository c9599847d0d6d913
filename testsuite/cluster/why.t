#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why a pod or a job waits, as the scheduler answers at pods/NAME/why and
# jobs/NAME/why, and through kctl and ksub.

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
like "a node whose taint keeps jobs off is not shown as idle, nor its CPUs as free" \
    "$(root nodes --no-headers)" \
    'Tainted +n1 +0/4 .* only for jobs that tolerate kiln.hpc/virtual'
root taint nodes n1 kiln.hpc/virtual- >/dev/null

# api USER METHOD PATH [BODY]: prints the status code and the body of the
# answer on one line.
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
why() { # PATH [FILTER]: asks as root, prints what FILTER selects
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

# --- pods ---------------------------------------------------------------------
pod gated 1 '  schedulingGates: [{name: example.com/wait}]'
ok "a gated pod has the state Gated" wait_for 10 says "$pods/gated" .queue Gated
is "its cause has a code" "$(why "$pods/gated" .cause.code)" SchedulingGated
like "its cause names the scheduling gate" \
    "$(why "$pods/gated" .cause.message)" \
    'example.com/wait'
pod big 64
ok "a pod that fits nowhere is unschedulable" \
    wait_for 10 says "$pods/big" .queue Unschedulable
is "its cause has the code of the most frequent reason" \
    "$(why "$pods/big" .cause.code)" \
    InsufficientCPU
is "that reason has the number of nodes" \
    "$(why "$pods/big" '.reasons[0].nodes')" 1
pod nobody 1 '  schedulerName: nobody'
is "a pod of another scheduler has the code NoScheduler" \
    "$(why "$pods/nobody" .cause.code)" \
    NoScheduler
pod runs 1
ok "a pod that has a node has the state Placed" \
    wait_for 20 says "$pods/runs" .state Placed
is "the answer names the node" "$(why "$pods/runs" .node)" n1
like "a pod that does not exist is a 404" \
    "$(api kilntest1 GET "$pods/nothing/why")" '^404 '
root delete pod gated big nobody runs >/dev/null

# --- rights -------------------------------------------------------------------
id=$(as kilntest1 ksub --parsable -c 64 --wrap true)
waits() { says "$pods/job-$id-0" .queue Unschedulable; }
ok "the job of a user waits" wait_for 20 waits
like "the user can ask why" "$(api kilntest1 GET "$jobs/job-$id/why")" \
    '^200 .*InsufficientCPU'
like "the user can ask it of the pod" \
    "$(api kilntest1 GET "$pods/job-$id-0/why")" \
    '^200 .*InsufficientCPU'
like "another user cannot ask" "$(api kilntest2 GET "$jobs/job-$id/why")" \
    '^403 .*cannot get jobs/why of other users'
like "another user cannot ask it of the pod" \
    "$(api kilntest2 GET "$pods/job-$id-0/why")" '^403 '
like "nobody can write to that path" \
    "$(api kilntest1 POST "$jobs/job-$id/why" '{}')" '^405 '
is "the answer for a job covers all of its pods" \
    "$(why "$jobs/job-$id" '[.pods.waiting, .pod] | join(" ")')" \
    "1 job-$id-0"
like "kctl why prints the reason" "$(as kilntest1 kctl why "$id")" \
    'Not placed: *1 of 1 nodes: .* \(InsufficientCPU\)'
# The first line of kctl why is the complete cause, as the table of jobs shows
# it.
told=$(as kilntest1 kctl why "$id")
like "the first line has the cause" "$(echo "$told" | head -n 1)" \
    "^Job $id \(wrap\): Pending, no node has 64 CPUs \(BadConstraints\)$"
is "the table has the same cause" \
    "$(as kilntest1 kctl jobs -o reason --no-headers)" "no node has 64 CPUs"
is "the cause is printed once" \
    "$(echo "$told" | grep -c 'no node has 64 CPUs')" 1
is "no line is printed twice" "$(echo "$told" | sort | uniq -d)" ""
is "the answer has the state and the cause of the job" \
    "$(why "$jobs/job-$id" '.status | "\(.state) \(.cause.code)"')" \
    'Pending BadConstraints'
codes() {
    # shellcheck disable=SC2016
    as "$1" sh -c 'curl -s --unix-socket "$0" -o /dev/null \
        -w "%{http_code}\n" "http://kiln$1/why?[1-50]"' \
        "$cluster/socket" "$jobs/job-$id" | sort | uniq -c | tr '\n' ' '
}
like "a user who asks too often is slowed down" "$(codes kilntest1)" '200.* 429'
as kilntest1 kctl hold "$id" >/dev/null
ok "a held job says so" wait_for 10 says "$jobs/job-$id" .cause.code Held
as kilntest1 kctl cancel "$id" >/dev/null
ok "a job that has ended says how" wait_for 10 says "$jobs/job-$id" .state Ended
is "it says that in one line" "$(as kilntest1 kctl why "$id")" \
    "Job $id (wrap): Cancelled, cancelled by kilntest1 (Cancelled)"

# --- jobs of a manifest -------------------------------------------------------
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
ok "a failed job says how it failed" wait_for 20 \
    says_first again ': Failed on n1, exit code 3 \(NonZeroExitCode\)$'
is "it prints nothing else" "$(as kilntest1 kctl why job/again | wc -l)" 1
has_start() { as kilntest1 kctl events --for job/again | grep -c Scheduled; }
is_told() { [ "$(has_start)" -eq 1 ]; }
ok "its events say where it was scheduled" wait_for 20 is_told
as kilntest1 kctl delete job/again --wait >/dev/null
job again 1 '  suspend: true'
ok "another job gets the same name" wait_for 20 says_first again ': Held'
is "it does not have the events of the first one" "$(has_start)" 0
as kilntest1 kctl delete job/again --wait >/dev/null
job many 50 '  backoffLimitPerIndex: 0'
has_failed_fifty_times() { as kilntest1 kctl get job many -o json |
    jq -e '.status.failed == 50'; }
ok "all fifty pods of a job fail" wait_for 60 has_failed_fifty_times
told=$(as kilntest1 kctl why job/many)
like "kctl why says how one of them failed" \
    "$(echo "$told" | head -n 1)" ': Failed on n1, exit code 3 \(NonZeroExit'
like "kctl why says how many failed" "$told" 'Pods: *50 failed'
ok "kctl why prints few lines for fifty pods" \
    [ "$(echo "$told" | wc -l)" -lt 9 ]
# Prints the three newest pods. kctl why asks for the events of some of the
# newest pods only.
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
like "events that differ only in the pod are combined, with their number and the last time" \
    "$(as kilntest1 kctl why job/many)" \
    " \(x6\) +SlowDisk +the disk of $(tail -n 1 "$cluster/three" |
        cut -d ' ' -f 1) is slow$"
as kilntest1 kctl delete job/many --wait >/dev/null

# --- no scheduler answers -----------------------------------------------------
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
is_left() { # until the scheduler has noticed
    take_lease >/dev/null
    api kilntest1 GET "$pods/job-$id-0/why" | grep -q '^503 .*no scheduler'
}
ok "the answer is a 503 with a message" wait_for 20 is_left
says_of_itself() { # the scheduler may have regained the lease meanwhile
    is_left
    root why "$id" | grep -q 'Not placed'
}
ok "kctl why prints what the pod's status says" wait_for 20 says_of_itself
finish
