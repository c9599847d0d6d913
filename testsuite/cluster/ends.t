#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How jobs end that nobody supervised: the reason says what really happened,
# and time limits take effect.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged jq curl
cluster_begin
need kiln-controller kiln-agent ksub kctl
[ "$(id -u)" -eq 0 ] || skip_all "only root runs jobs of others"
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
remove_cgroups() {
    for base in "/sys/fs/cgroup/kiln-ends-$$" \
        /sys/fs/cgroup/*/"kiln-ends-$$"; do
        [ ! -d "$base" ] ||
            find "$base" -depth -type d -exec rmdir {} \; 2>/dev/null
    done
}
trap '(cluster_end); remove_cgroups' EXIT

home=$cluster/home/kilntest1
node_is_ready() { admin get node n1 --no-headers | grep -qw Ready; }
state_is() { admin get job "$1" --no-headers | grep -Eqw "$2"; }
agent() {
    cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 500ms \
        --cgroup-base "/kiln-ends-$$"
}
pod() { admin get pods -l "job-name=job-$1" -o json | jq -r ".items[0]$2"; }
is_over() { pod "$1" .status.phase | grep -Eq 'Failed|Succeeded'; }
cluster_controller
agent
wait_for 20 node_is_ready || bail_out "no node"
admin taint node n1 kiln.hpc/virtual- >/dev/null

# --- the agent and the shepherd are killed ------------------------------------
# end_of DOING: kills the agent and the shepherd of a job, runs the function
# DOING, which may change the job's directories, and starts the next agent. The
# job's end is then in $reason and $words.
end_of() {
    rm -f "$home/runs"
    id=$(submit --wrap "echo \$PPID >part; mv part runs; exec sleep 1000")
    wait_for 20 test -e "$home/runs"
    wait_for 20 state_is "$id" Running
    uid=$(pod "$id" .metadata.uid)
    stop n1 KILL
    shepherd=$(cat "$home/runs")
    kill -KILL "$shepherd"
    wait_for 10 has_ended "$shepherd"
    run=$cluster/n1/run/pods/$uid
    state=$cluster/n1/state/pods/$uid
    "$1"
    agent
    wait_for 20 is_over "$id"
    reason=$(pod "$id" .status.reason)
    words=$(pod "$id" .status.message)
}
nothing() { :; }
end_of nothing
is "a killed shepherd is reported as ShepherdLost" "$reason" ShepherdLost
boot=$(cat /proc/sys/kernel/random/boot_id)
rebooted() { sed -i "s/$boot/another-boot/" "$run/pod" "$run/live"; }
end_of rebooted
is "a restart of the node is reported as NodeRebooted" "$reason" NodeRebooted
emptied() { rm -rf "$run" "$state"; }
end_of emptied
is "a pod whose files were removed is reported as PodLost" "$reason" PodLost
like "the message says that the files were removed" \
    "$words" 'not restarted.*files were removed'
ok "the next agent does not create the pod's directory again" [ ! -e "$run" ]

# --- the node is shut down ----------------------------------------------------
# As systemd does it: the agent ends first, and then each shepherd gets SIGTERM.
# run_job WORD OPTION...: starts a job that saves its state in the file WORD when
# it is told to end. Its shepherd is $shepherd.
run_job() {
    word=$1
    shift
    id=$(submit "$@" --wrap "trap 'echo saved >>$word; exit 0' TERM
        echo \$PPID >>$word.part; mv $word.part $word-runs
        while :; do sleep 0.1; done")
    wait_for 20 test -e "$home/$word-runs"
    wait_for 20 state_is "$id" Running
    shepherd=$(cat "$home/$word-runs")
}
attempts_of() { admin get pods -l "job-name=job-$1" -o json | jq '.items | length'; }
run_job again --requeue
again=$id
run_job once
once=$id
fork_server=$(pgrep -P "$(pid_of n1)" | head -n 1)
kill -TERM "$fork_server"
stop n1
for word in again once; do
    kill -TERM "$(cat "$home/$word-runs")"
    ok "the job ($word) gets SIGTERM" wait_for 20 test -s "$home/$word"
    ok "its shepherd ends" wait_for 20 has_ended "$(cat "$home/$word-runs")"
done
rm "$home/again-runs"
agent
ok "a job that may run again does so" wait_for 30 test -e "$home/again-runs"
is "the pod has failed because of the shutdown" "$(admin get pods \
    -l "job-name=job-$again" -o json | jq -r '[.items[] | select(.status.phase ==
    "Failed") | .status.reason + " " + (.status.conditions[] |
    select(.type == "DisruptionTarget") | .status)] | join(",")')" \
    "NodeShutdown True"
ok "the job that may not is NodeFailed" wait_for 20 state_is "$once" NodeFailed
like "kctl why says so" "$(admin why "$once")" 'node n1 was shut down'
run_job alone --requeue
rm "$home/alone-runs"
kill -TERM "$shepherd"
ok "a job ends, too, when only its shepherd gets SIGTERM, and runs again" \
    wait_for 30 test -e "$home/alone-runs"
admin delete job "$again" "$id" >/dev/null

# --- a process that the kernel kills because of memory ------------------------
# The script ignores how its child ended. The next step of a pipeline must not
# use what the child left, so the job fails.
enforces() {
    admin get node n1 -o json | jq -e '.status.conditions[] |
        select(.type == "MemoryEnforced" and .status == "True")' >/dev/null
}
eat="awk 'BEGIN { s = \"x\"; while (1) s = s s }'"
if enforces; then
    status=0
    submit -o /dev/null --mem 32M --wait --wrap "$eat; exit 0" >"$home/id" ||
        status=$?
    is "a job with a child that was killed because of memory has failed" \
        "$status" 137
    id=$(head -n 1 "$home/id")
    is "the container's reason is OOMKilled" "$(pod "$id" \
        '.status.containerStatuses[0].state.terminated.reason')" OOMKilled
    ok "the job's state is OutOfMemory" state_is "$id" OutOfMemory
    status=0
    submit -o /dev/null --mem 32M --wait --wrap "$eat || exit 3" >/dev/null ||
        status=$?
    like "a job that handles the kill keeps its own exit code, or gets 137" \
        "$status" '^(3|137)$'
else
    skip "a job with a child that was killed because of memory has failed" \
        "memory cannot be limited here"
fi

# --- an output that nobody reads ----------------------------------------------
as kilntest1 mkfifo fifo
waiting() { pod "$1" '.status.containerStatuses[0].state.waiting.message'; }
says_waiting() { waiting "$1" | grep -q "standard output '$home/fifo'"; }
id=$(submit -o fifo --wrap true)
ok "a job whose output nobody reads says what it waits for" \
    wait_for 20 says_waiting "$id"
like "an event says that, too" "$(admin get events -A)" \
    'StartBlocked.*standard output [(]path in the status[)]'
as kilntest1 kctl cancel "$id" >/dev/null
ok "the job can be cancelled" wait_for 15 state_is "$id" Cancelled
id=$(submit -t 0:03 -o fifo --wrap true)
ok "such a job ends at its time limit" wait_for 20 state_is "$id" TimedOut
id=$(submit -o fifo --wrap 'echo read')
wait_for 20 says_waiting "$id"
like "such a job starts when somebody reads" \
    "$(timeout 10 cat "$home/fifo")" read
ok "the job completes" wait_for 20 state_is "$id" Completed

# --- a time limit without an agent --------------------------------------------
rm -f "$home/runs"
id=$(submit -t 0:03 --wrap "echo \$\$ >part; mv part runs; exec sleep 1000")
wait_for 20 test -e "$home/runs"
wait_for 20 state_is "$id" Running
stop n1 KILL
ok "a time limit takes effect while the agent is dead" \
    wait_for 20 has_ended "$(cat "$home/runs")"
agent
ok "the next agent reports the time limit" wait_for 20 state_is "$id" TimedOut

# --- what killed agents leave -------------------------------------------------
names() {
    find /sys/fs/cgroup -mindepth 2 -maxdepth 3 -path "*/kiln-ends-$$/*" \
        -type d ! -name shepherds ! -name readers ! -name keeper -printf '%f\n' 2>/dev/null |
        sort -u | wc -l
}
few_cgroups() { [ "$(names)" -le 5 ]; }
for _ in 1 2 3; do
    job=$(submit --wrap true)
    wait_for 20 state_is "$job" Completed
    stop n1 KILL
    agent
done
job=$(submit --wrap true)
wait_for 20 state_is "$job" Completed
ok "the cgroups of killed agents are removed" wait_for 20 few_cgroups
is "no directory of their pods is left" \
    "$(find "$cluster/n1/run/pods" -mindepth 1 -maxdepth 1 | wc -l)" 0
no_records() { [ -z "$(find "$cluster/n1/state/pods" -name exit)" ]; }
ok "no exit record is left" wait_for 20 no_records
finish
