#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent or the controller stops while jobs run: no job is disturbed, lost
# or started twice, and jobs that end meanwhile are reported with their exit
# codes.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller
agent() { cluster_agent n1 --topology 'package:1 core:8 pu:1'; }
agent

home=$cluster/home/kilntest1
node_is_ready() { admin get nodes | grep -qw Ready; }
state_is() { # ID STATE
    admin get job "$1" --no-headers | grep -qw "$2"
}
started() { grep -q . "$home/starts-$1"; }
pod_of_job() { # ID JQ
    admin get pods -o json | jq -r --arg job "job-$1" '.items[] |
        select(.metadata.ownerReferences[0].name == $job) | '"$2"
}
exit_code_of() {
    pod_of_job "$1" '.status.containerStatuses[0].state.terminated.exitCode'
}
starts_of() { wc -l <"$home/starts-$1"; }
# A job that notes each of its starts, and ends with the exit code that the
# test writes.
cat >"$home/patient.sh" <<'TXT'
#!/bin/sh
echo $$ >>starts-$KILN_JOB_ID
echo patience
while [ ! -e end-$1 ]; do sleep 0.2; done
exit "$(cat end-$1)"
TXT
chown kilntest1: "$home/patient.sh"
# submit WORD [OPTION...]: submits that script and waits until it runs. Its ID
# is in $id.
submit() {
    submit_word=$1
    shift
    id=$(as kilntest1 ksub --parsable "$@" patient.sh "$submit_word")
    wait_for 20 started "$id"
}
process_of() { tail -n 1 "$home/starts-$1"; }
end() { # WORD CODE
    as kilntest1 sh -c "echo $2 >end-$1.new && mv end-$1.new end-$1"
}
# Virtual nodes have a taint that keeps ordinary jobs away.
ok "a node registers" wait_for 20 node_is_ready
untaint() {
    for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
        admin taint node n1 "$key-" >/dev/null
    done
}
untaint
secret=$(cat "$cluster/n1/state/node-secret")

# --- kill -9 of the agent -----------------------------------------------------
submit a && stays=$id
submit b && ends=$id
submit c && dies=$id
submit t -t 0:06 && late=$id
as kilntest1 kctl logs -f "$stays" >"$cluster/followed" 2>&1 &
follower=$!
follows() { grep -q patience "$cluster/followed"; }
ok "a user follows the output of a job" wait_for 20 follows
stop n1 KILL
is_told() { grep -q '^kctl: logs: .*interrupted.*waiting' "$cluster/followed"; }
ok "the follower is told to wait when the agent is killed" \
    wait_for 20 is_told
end b 7
kill -KILL "$(process_of "$dies")"
kill -0 "$(process_of "$stays")"
is "a job runs on when its agent is killed" "$?" 0
# The shepherds have to notice the ends of the jobs without an agent, too.
wait_for 10 has_ended "$(process_of "$ends")"
agent
ok "a job that ended without an agent is reported as failed" \
    wait_for 20 state_is "$ends" Failed
is "its exit code is the one of the process" "$(exit_code_of "$ends")" 7
ok "a job that was killed by a signal without an agent is reported as failed" \
    wait_for 20 state_is "$dies" Failed
is "its exit code is the one that a shell would report" \
    "$(exit_code_of "$dies")" 137
is "the running job is still the same process" \
    "$(kill -0 "$(process_of "$stays")" && starts_of "$stays")" 1
like "it is still Running" "$(admin get job "$stays")" 'Running'
ok "a time limit includes the time before the restart" \
    wait_for 30 state_is "$late" TimedOut
is "no job was started twice" \
    "$(cat "$home"/starts-* | wc -l)" 4
is "the node keeps its secret" \
    "$(cat "$cluster/n1/state/node-secret")" "$secret"
is "only root can read the secret" \
    "$(stat -c '%U %a' "$cluster/n1/state/node-secret")" "root 600"

# --- a clock that is set while the agent is down --------------------------------
if is_sanitized; then
    skip "a clock that is set while the agent is down" "a sanitizer has to be loaded first"
elif command -v faketime >/dev/null; then
    # An agent that takes the job for late would kill it a second later.
    echo '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"hour"},
        "spec":{"backoffLimit":0,"template":{"spec":{"restartPolicy":"Never",
        "activeDeadlineSeconds":3600,"terminationGracePeriodSeconds":1,
        "containers":[{"name":"main","image":"host",
        "command":["sleep","30"]}]}}}}' >"$home/hour.json"
    as kilntest1 kctl create -f hour.json >/dev/null
    wait_for 20 state_is hour Running
    stop n1 KILL
    # shellcheck disable=SC2016 # of the shell that it starts
    library=$(faketime -f +0 sh -c 'echo "$LD_PRELOAD"')
    export LD_PRELOAD="$library" FAKETIME=+2h FAKETIME_DONT_FAKE_MONOTONIC=1
    agent
    unset LD_PRELOAD FAKETIME FAKETIME_DONT_FAKE_MONOTONIC
    id=$(as kilntest1 ksub --parsable --wrap 'sleep 3')
    ok "the agent with the changed clock runs jobs" \
        wait_for 30 state_is "$id" Completed
    ok "a job that ran for less than its limit is not timed out by the clock" \
        state_is hour Running
    as kilntest1 kctl delete job hour >/dev/null
    stop n1
    : >"$cluster/log/n1"
    agent
    wait_for 20 grep -q 'is registered' "$cluster/log/n1"
else
    skip "a clock that is set while the agent is down" "faketime is missing"
fi

# --- an orderly stop ----------------------------------------------------------
stop n1
is "an agent that is stopped with SIGTERM exits with status 0" "$stopped_with" 0
end a 0
wait_for 10 has_ended "$(process_of "$stays")"
agent
ok "a job that ended while the agent was stopped is complete" \
    wait_for 20 state_is "$stays" Completed
is "it was started once" "$(starts_of "$stays")" 1
wait "$follower"
is "the user who followed its output through both stops saw its end" "$?" 0
is "the output was shown once" "$(grep -c patience "$cluster/followed")" 1

# --- killed over and over while jobs start ------------------------------------
ids=
for turn in 1 2 3 4; do
    ids="$ids $(as kilntest1 ksub --parsable patient.sh storm)"
    sleep "0.0$((turn * 2))"
    stop n1 KILL
    agent
done
end storm 0
all_complete() {
    for storm_id in $ids; do
        state_is "$storm_id" Completed || return 1
    done
}
ok "jobs that start while the agent is killed again and again all complete" \
    wait_for 30 all_complete
empty "none of them was started twice" \
    "$(for storm_id in $ids; do
        [ "$(starts_of "$storm_id")" -eq 1 ] || echo "job $storm_id: \
$(starts_of "$storm_id") starts"
    done)"

# --- kill -9 of a shepherd ----------------------------------------------------
shepherd_of() { # ID: prints the parent of the job's first process
    awk '/^PPid:/ { print $2 }' "/proc/$(process_of "$1")/status"
}
cat >"$home/brood.sh" <<'TXT'
#!/bin/sh
setsid sh -c 'echo $$ >>brood-$KILN_JOB_ID; exec sleep 1000' &
setsid setsid sh -c 'echo $$ >>brood-$KILN_JOB_ID; exec sleep 1000' &
echo $$ >>starts-$KILN_JOB_ID
wait
TXT
chown kilntest1: "$home/brood.sh"
all_of() { cat "$home/starts-$1" "$home/brood-$1"; }
has_brood() { [ "$(wc -l <"$home/brood-$1")" -eq 2 ]; }
id=$(as kilntest1 ksub --parsable brood.sh)
wait_for 20 started "$id" && wait_for 20 has_brood "$id"
kill -KILL "$(shepherd_of "$id")"
ok "a job whose shepherd is killed is reported as NodeFailed" wait_for 20 \
    state_is "$id" NodeFailed
like "the pod's reason is ShepherdLost" "$(pod_of_job "$id" .status.reason)" \
    ShepherdLost
like "kctl describe says it in words" \
    "$(admin describe job "$id")" 'supervised this pod was killed'
for process in $(all_of "$id"); do
    has_ended "$process"
    is "process $process of the job has ended by then" "$?" 0
done
id=$(as kilntest1 ksub --parsable brood.sh)
wait_for 20 started "$id" && wait_for 20 has_brood "$id"
stop n1 KILL
kill -KILL "$(shepherd_of "$id")"
agent
ok "a job whose shepherd is killed while the agent is down is NodeFailed, too" \
    wait_for 20 state_is "$id" NodeFailed
for process in $(all_of "$id"); do
    has_ended "$process"
    is "process $process of that job has ended, too" "$?" 0
done
id=$(as kilntest1 ksub --parsable -n 8 --wrap true)
ok "the cores of both jobs are free again" wait_for 20 state_is "$id" Completed

# --- without a controller -----------------------------------------------------
submit d && ends=$id
submit e && stays=$id
submit u -t 0:03 && late=$id
stop controller KILL
end d 9
wait_for 10 has_ended "$(process_of "$ends")"
ok "a time limit takes effect without a controller" \
    wait_for 30 has_ended "$(process_of "$late")"
cluster_controller
ok "the agent reports a job that ended while the controller was down" \
    wait_for 20 state_is "$ends" Failed
is "it reports the exit code" "$(exit_code_of "$ends")" 9
ok "it reports a job that reached its time limit" \
    wait_for 20 state_is "$late" TimedOut
like "a job that still runs is Running" "$(admin get job "$stays")" 'Running'

# --- both are killed ----------------------------------------------------------
stop controller KILL
stop n1 KILL
end e 4
wait_for 10 has_ended "$(process_of "$stays")"
agent
cluster_controller
ok "a job that ended while both were down is reported" \
    wait_for 20 state_is "$stays" Failed
is "its exit code is reported" "$(exit_code_of "$stays")" 4
is "that job was started once" "$(starts_of "$stays")" 1

# --- two agents with one state directory --------------------------------------
second=$(timeout 10 kiln-agent --controller "$cluster_url" --cluster test \
    --service-user root --munge-socket "$munge_socket" --node-name n2 \
    --state-dir "$cluster/n1/state" --run-dir "$cluster/n1/run2" \
    --shepherd "$cluster/bin/kiln-shepherd" 2>&1)
is "a second agent with the same state directory exits with status 75" "$?" 75
like "it says that another agent uses the directory" \
    "$second" "another kiln-agent .*$cluster/n1/state"

# --- a node that is deleted, or reset -----------------------------------------
uid_of_node() { admin get node n1 -o json | jq -r .metadata.uid; }
is_another_node() { node_is_ready && [ "$(uid_of_node)" != "$uid" ]; }
uid=$(uid_of_node)
ok "an administrator deletes the node" admin delete node n1
ok "its agent registers it again" wait_for 20 is_another_node
untaint
submit f
ok "the new node runs jobs" started "$id"
end f 0
ok "a job on it completes" wait_for 20 state_is "$id" Completed
is "the new node has another secret" \
    "$([ "$(cat "$cluster/n1/state/node-secret")" = \
    "$secret" ] || echo another)" another

secret=$(cat "$cluster/n1/state/node-secret")
has_new_secret() {
    [ "$(cat "$cluster/n1/state/node-secret")" != "$secret" ] && node_is_ready
}
submit g && stays=$id
stop n1 KILL
admin reset node n1 >/dev/null
agent
ok "the agent of a node that was reset enrols again by itself" \
    wait_for 30 has_new_secret
end g 0
ok "it reports a job that ran meanwhile" wait_for 20 state_is "$stays" Completed
is "that job was started once" "$(starts_of "$stays")" 1

secret=$(cat "$cluster/n1/state/node-secret")
uid=$(uid_of_node)
stop n1
admin delete node n1 >/dev/null
agent
ok "the agent of a node that was deleted while it was down registers it again" \
    wait_for 30 is_another_node
ok "that node has another secret" wait_for 20 has_new_secret
finish
