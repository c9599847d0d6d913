#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The controller is killed while it schedules thousands of waiting jobs: no job
# is lost, none runs twice or on CPUs of another job, and the waiting jobs
# start.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jq; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
batches=40 n=5120
cluster_munge
controller() { cluster_controller --socket "$cluster/socket"; }
controller
cluster_agent n1 --topology 'package:1 core:8 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
root cordon n1 >/dev/null

# Each job has its own time limit and memory, so that no scheduling result is
# shared, and requests all CPUs.
mkdir -m 777 "$cluster/ran" "$cluster/on"
directory "$cluster/submit" 711
submit() { # NUMBER: submits one batch
    jq -nc --argjson first $(($1 * n / batches)) --argjson count $((n / batches)) \
        --arg dir "$cluster" '{key: "k\($first)",
        stages: [range($first; $first + $count) | {name: "s\(.)", job: {
        apiVersion: "batch/v1", kind: "Job", metadata: {name: "p\(.)"}, spec: {
        backoffLimit: 0, template: {spec: {restartPolicy: "Never",
        activeDeadlineSeconds: (600 + .), containers: [{name: "main",
        image: "host", command: ["/bin/sh", "-c",
            "mkdir \($dir)/on/it || echo x >>\($dir)/on/beside
            echo x >>\($dir)/ran/p\(.); rmdir \($dir)/on/it"],
        resources: {requests: {cpu: "8", memory: "\(1 + . % 500)Mi"}}}]}}}}}]}' \
        >"$cluster/submit/body"
    chmod 644 "$cluster/submit/body"
    as kilntest1 curl -s -o /dev/null --unix-socket "$cluster/socket" -X POST \
        -H "Content-Type: application/json" -d "@$cluster/submit/body" \
        http://kiln/kiln/v1/pipelines
}
for batch in $(seq 0 $((batches - 1))); do
    submit "$batch"
    sleep 0.2 # a user may create 1,000 jobs a second
done
metrics() { curl -s --unix-socket "$cluster/socket" http://kiln/metrics; }
waiting() { # QUEUE
    metrics | sed -n "s/^scheduler_pending_pods{queue=\"$1\"} //p"
}
all_wait() { [ "$(waiting unschedulable)" = "$n" ]; }
ok "thousands of jobs wait for a node" wait_for 120 all_wait
root uncordon n1 >/dev/null
has_run() { [ "$(find "$cluster/ran" -type f | wc -l)" -ge "$1" ]; }
ok "the jobs start one after the other" wait_for 60 has_run 3

# --- kills by the number of attempts ------------------------------------------
# After a start, all jobs are to be tried. If less than half of them have been
# tried when the test looks, the kill comes before the rest have been tried.
attempts() {
    metrics | awk '/^scheduler_schedule_attempts_total/ { sum += $2 }
        END { print sum + 0 }'
}
is_in_pass() {
    tried=$(attempts)
    [ "$tried" -gt 0 ] && [ "$tried" -lt $((n / 2)) ]
}
see_pass() { # fails if more than half had been tried before the test looked
    for _ in $(seq 200); do
        is_in_pass && return
        [ "$tried" -lt $((n / 2)) ] || return 1
    done
    return 1
}
for kill in 1 2 3; do
    for _ in 1 2 3 4 5; do
        stop controller KILL
        controller
        see_pass && break
    done
    stop controller KILL
    ok "the controller is killed in pass $kill, after $tried attempts" \
        [ "$tried" -lt $((n / 2)) ]
    controller
    started=$(find "$cluster/ran" -type f | wc -l)
    ok "jobs start after kill $kill" wait_for 60 has_run $((started + 3))
done

# --- a kill by the debugger, while a pod is assumed and not bound -------------
if command -v gdb >/dev/null; then
    cat >"$cluster/gdb" <<'TXT'
set pagination off
set confirm off
handle SIGPIPE nostop noprint pass
break binding_cycle_start
continue
backtrace
kill
TXT
    start gdb gdb -batch -nx -p "$(pid_of controller)" -x "$cluster/gdb"
    await_end gdb
    await_end controller
    like "the controller is killed after it has chosen a node" \
        "$(tr '\n' ' ' <"$cluster/log/gdb")" \
        '#0 +(0x[0-9a-f]+ in )?binding_cycle_start .* scheduler_work .*killed'
    controller
    started=$(find "$cluster/ran" -type f | wc -l)
    ok "jobs start after that kill, too" wait_for 60 has_run $((started + 3))
fi

# --- the result ---------------------------------------------------------------
root cordon n1 >/dev/null
nothing_runs() {
    root get pods --field-selector spec.nodeName=n1 -o json | jq -e '
        all(.items[]; .status.phase == "Succeeded" or .status.phase == "Failed")'
}
ok "the running job ends" wait_for 60 nothing_runs
# A job is counted a moment after the end of its pod.
n_ran() { find "$cluster/ran" -type f | wc -l | tr -d ' '; }
are_counted() {
    root get jobs -o json >"$cluster/jobs.json" &&
        [ "$(jq '[.items[] | select(.status.succeeded == 1)] | length' \
            "$cluster/jobs.json")" = "$(n_ran)" ]
}
ok "the jobs that ran are those that succeeded" wait_for 30 are_counted
is "no job is lost" "$(jq '.items | length' "$cluster/jobs.json")" "$n"
is "no job has failed" \
    "$(jq '[.items[] | select((.status.failed // 0) > 0)] | length' \
        "$cluster/jobs.json")" 0
is "each of them has run once" "$(cat "$cluster"/ran/* | wc -l | tr -d ' ')" "$(n_ran)"
not_ok "no two jobs ran at the same time" test -e "$cluster/on/beside"
finish
