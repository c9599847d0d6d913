#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command that saves a job's state: it runs before the job gets its signal
# to end because of a preemption, a requeue or its time limit, but not when the
# job is cancelled. It delays nothing, even if it hangs or the agent is killed.
# An event reports its output and how it ended.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; cluster.sh; called by others

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
cluster_controller --socket "$cluster/socket"
agent() { cluster_agent n1 --topology 'package:1 core:2 pu:1'; }
agent
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
partition() { # NAME SPEC
    printf '{apiVersion: kiln.hpc/v1, kind: Partition, metadata: {name: %s},
        spec: %s}' "$1" "$2" | root apply -f - >/dev/null
}
partition first '{priorityTier: 2}'
partition hasty '{graceTime: 2s}'
home=$cluster/home/kilntest1

attempts_are() { [ "$(job "$1" .status.attempts)" = "$2" ] && state_is "$1" Running; }
events() { as kilntest1 kctl events --for "$1" 2>&1; }
says() { events "$1" | grep -q "$2"; }
has_line() { grep -q "$2" "$home/$1"; }
listens='trap "echo heard; exit 0" TERM; echo begins; while :; do sleep 0.2; done 2>/dev/null'
submit() { # NAME OPTIONS...: submits a job that handles SIGTERM and writes into NAME
    submit_name=$1
    shift
    as kilntest1 ksub --parsable -c 2 --requeue -o "$submit_name" "$@" \
        --wrap "$listens"
}
runs() { state_is "$1" Running && has_line "$2" begins; }
urgent() {
    high=$(as kilntest2 ksub --parsable -p first -o /dev/null -c 2 \
        --wrap 'exec sleep 1000')
}
over() {
    as kilntest2 kctl cancel "$high" >/dev/null
    as kilntest1 kctl cancel "$1" >/dev/null
    wait_for 20 has_ended_job "$1"
}
has_ended_job() { state_is "$1" Cancelled; }

like "an empty checkpoint command is refused" \
    "$(submit none --checkpoint-command ' ' 2>&1)" \
    'checkpointCommand: .*must be a command'

# --- preemption ---------------------------------------------------------------
cat >"$home/job.sh" <<TXT
#!/bin/sh
#KSUB --checkpoint-command 'echo "saves as \$(id -un) of \$KILN_JOB_ID in \$PWD"'
#KSUB --parsable -c 2 --requeue -o out1
$listens
TXT
id=$(as kilntest1 ksub "$home/job.sh")
ok "a job whose script has a checkpoint command runs" \
    wait_for 20 runs "$id" out1
urgent
ok "the job is preempted" wait_for 20 state_is "$high" Running
is "it saved its state before it got SIGTERM" \
    "$(grep -v Terminated "$home/out1")" \
    "begins
saves as kilntest1 of $id in $home
heard"
ok "it is requeued" wait_for 20 state_is "$id" Requeued
ok "an event tells its owner how the command ended" \
    wait_for 20 says "$id" 'Checkpointed.*exit code 0 after'
over "$id"

# --- a requeue, and a cancellation --------------------------------------------
id=$(submit out2 --checkpoint-command 'echo saves; exit 7')
ok "another job with a checkpoint command runs" wait_for 20 runs "$id" out2
as kilntest1 kctl requeue "$id" >/dev/null
ok "it starts again after a requeue" wait_for 20 attempts_are "$id" 2
ok "an event reports the exit code of a command that fails" \
    wait_for 20 says "$id" 'CheckpointFailed.*exit code 7 after'
begins_twice() { [ "$(grep -c begins "$home/out2")" = 2 ]; }
ok "the next attempt runs, and appends to the output" wait_for 20 begins_twice
over "$id"
is "a job that is cancelled does not save its state, after the requeue did" \
    "$(grep -c saves "$home/out2")" 1

# --- the time limit, and a command that hangs ---------------------------------
id=$(submit out3 -t 0:01 --checkpoint-command 'echo saves')
ok "a job reaches its time limit" wait_for 20 state_is "$id" TimedOut
ok "it saved its state" has_line out3 saves
ok "it got SIGTERM then" has_line out3 heard

hangs='trap "" TERM; echo hangs; (setsid sleep 98765 &); while :; do sleep 0.2; done'
id=$(submit out4 -p hasty --checkpoint-command "$hangs")
ok "a job whose command never ends runs" wait_for 20 runs "$id" out4
urgent
ok "the preempting job starts all the same" wait_for 20 state_is "$high" Running
ok "the preempted job got SIGTERM" has_line out4 heard
ok "an event tells its owner that the command had not ended" \
    wait_for 20 says "$id" 'CheckpointFailed.*had not ended'
not_ok "no process of the command is left" \
    pgrep -u kilntest1 -f "sleep 98765"
over "$id"

# --- the agent is killed while the command runs -------------------------------
id=$(submit out5 --checkpoint-command \
    'echo saves; while [ ! -e go ]; do sleep 0.2; done; echo saved')
ok "a job whose command waits for a file runs" wait_for 20 runs "$id" out5
urgent
ok "the command starts" wait_for 20 has_line out5 saves
stop n1 KILL
as kilntest1 touch "$home/go"
ok "without an agent, the command ends and the job gets SIGTERM" \
    wait_for 20 has_line out5 heard
agent
ok "the next agent reports the job's end" wait_for 20 state_is "$high" Running
is "the command ran once" "$(grep -c '^saves' "$home/out5")" 1
over "$id"

# --- an agent of a former release ---------------------------------------------
is "the agent reports that it supports checkpoint commands" \
    "$(root get node n1 -o json | jq -c \
        '.status.agentFeatures | index("Checkpoint") != null')" true
not_ok "no event says that a command is unsupported" \
    says "$id" CheckpointUnsupported
api root PATCH /api/v1/nodes/n1/status '{"status":{"agentFeatures":["Freeze"]}}' \
    $merge >/dev/null
id=$(submit out6 --checkpoint-command 'echo saves')
ok "a job with a command runs on a node whose agent does not support it" \
    wait_for 20 runs "$id" out6
ok "an event warns its owner" wait_for 20 says "$id" \
    'Warning.*CheckpointUnsupported.*agent of node n1 is of an earlier release'
plain=$(as kilntest1 ksub --parsable -c 1 -o /dev/null --wrap true)
as kilntest1 kctl cancel "$id" >/dev/null
ok "a job without a command runs there" wait_for 20 state_is "$plain" Completed
not_ok "it has no such event" says "$plain" CheckpointUnsupported
finish
