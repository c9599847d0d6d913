#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The output of array tasks whose pods are gone: only their user can read it,
# also after restarts, and only if that user may read the file.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_user kilntest2 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
cd "$cluster/home/kilntest1" || bail_out "no home"
user() { as kilntest1 kctl "$@"; }
is_over() { # ID: the Job is complete, and its pods are gone
    [ "$(root get job "$1" -o json | jq -r .status.state)" = Completed ] &&
        [ "$(root get pods -o json | jq '.items | length')" -eq 0 ]
}

id=$(as kilntest1 ksub --parsable -a 1-9:2 -o 'f %a' \
    --wrap 'echo one; echo task $KILN_ARRAY_TASK_ID')
ok "an array completes, and its pods are gone" wait_for 30 is_over "$id"
shows() { [ "$(user logs "$@" 2>&1)" = "$wanted" ]; }
wanted='one
task 7'
ok "the output of a task is shown" wait_for 10 shows "${id}_7"
is "kctl logs -f shows it and ends" "$(user logs -f "${id}_7" 2>&1)" "$wanted"
is "--tail 1 shows its last line" \
    "$(user logs --tail 1 "${id}_3" 2>&1)" 'task 3'
like "a task that does not exist is refused" \
    "$(user logs "${id}_2" 2>&1)" 'no task 2'
log="$jobs/job-$id/log"
like "the API returns the output of a task" \
    "$(api kilntest1 GET "$log?task=7")" '^200 .*task 7'
like "the API returns the output of an attempt" \
    "$(api kilntest1 GET "$log?task=7&attempt=1")" \
    '^200 .*task 7'
like "an attempt that does not exist is a 404" \
    "$(api kilntest1 GET "$log?task=7&attempt=2")" \
    '^404 .*no such attempt'
like "-p says that there was no attempt before the first one" \
    "$(user logs -p "${id}_7" 2>&1)" 'no attempt before'
like "the API refuses a task that does not exist" \
    "$(api kilntest1 GET "$log?task=2")" \
    '^400 .*has no task 2; it has 1-9:2'
like "the API refuses a task that is not a number" \
    "$(api kilntest1 GET "$log?task=x")" '^400 '
like "the API refuses a request without a task" \
    "$(api kilntest1 GET "$log")" '^400 .*which task'

# --- what one user can do to another ------------------------------------------
forbidden "another user cannot read the output through the API" \
    kilntest2 GET "$log?task=7"
like "another user cannot read the output through kctl" \
    "$(as kilntest2 kctl logs "${id}_7" 2>&1)" \
    'cannot|Forbidden|forbidden'
printf 'secret\n' >"$cluster/secret"
chmod 600 "$cluster/secret"
as kilntest1 ln -sf "$cluster/secret" 'f 3'
like "a link to a file that the user may not read is not followed" \
    "$(user logs "${id}_3" 2>&1)" "the output file '.*f 3': Permission denied"
uid=$(grep -o '^[^ ]* 0 0 /' "$cluster/n1/state/outputs")
is "no output file is recorded as root's" "$uid" ''
evil=$(jq -n --arg path "$(printf 'x\n%s 0 0 %s' "$id" "$cluster/secret")" '
    {apiVersion: "batch/v1", kind: "Job", metadata: {name: "evil"},
     spec: {array: {tasks: "0"}, template: {spec: {restartPolicy: "Never",
        execution: {stdoutPath: $path},
        containers: [{name: "main", image: "host", command: ["/bin/true"],
            workingDir: "/tmp",
            resources: {requests: {cpu: "1"}}}]}}}}')
like "a path with a line feed in it is accepted" \
    "$(api kilntest1 POST "$jobs" "$evil")" '^201 '
api_gone() { root get pods -o json | jq -e '.items | length == 0' >/dev/null; }
wait_for 20 api_gone
is "such a path does not forge a line in the agent's list of outputs" \
    "$(grep -c ' 0 0 /' "$cluster/n1/state/outputs")" 0

for i in $(seq 30); do
    as kilntest1 curl -s --max-time "0.00$((i % 9 + 1))" \
        --unix-socket "$cluster/socket" "http://kiln$log?task=7" >/dev/null
done
wanted='one
task 7'
ok "readers that disconnect do not affect others" wait_for 10 shows "${id}_7"
like "an attempt and the previous one cannot be requested together" \
    "$(api kilntest1 GET "$log?task=7&attempt=2&previous=true")" '^400 '

is "--attempt 1 shows the first attempt" \
    "$(user logs --attempt 1 "${id}_7" 2>&1)" "$wanted"
like "an attempt that never was is reported" \
    "$(user logs --attempt 2 "${id}_7" 2>&1)" \
    'task 7 has no such attempt'
like "kctl refuses --attempt together with --previous" \
    "$(user logs -p --attempt 1 "${id}_7" 2>&1)" \
    'either --attempt or --previous'

# The current attempt runs, and the pod of the attempt before it was removed.
again=$(as kilntest1 ksub --parsable -a 5 -o again --open-mode=append \
    --wrap 'echo here; exec sleep 1000')
runs() { root get pods -o json | jq -e --arg name "$1" '[.items[] |
    select(.metadata.name == $name and .status.phase == "Running")] |
    length == 1' >/dev/null; }
wait_for 20 runs "job-$again-0"
user requeue "$again" >/dev/null
wait_for 20 runs "job-$again-0-r1"
before() { user logs -p "${again}_5" 2>&1 | grep -q '^here$'; }
ok "the output of the attempt before the running one is shown" \
    wait_for 10 before
first() { user logs --attempt 1 "${again}_5" 2>&1 | grep -q '^here$'; }
ok "it is shown by its number, too" wait_for 10 first
like "the output of the running attempt is shown by its number" \
    "$(user logs --attempt 2 "${again}_5" 2>&1)" '^here'
like "a third attempt is reported as unknown" \
    "$(user logs --attempt 3 "${again}_5" 2>&1)" \
    'task 5 has no such attempt'

# Events about a task: about its pods, which may be gone, and about its array.
says() { # KIND NAME MESSAGE
    jq -n --arg kind "$1" --arg name "$2" --arg message "$3" '{apiVersion: "v1",
        kind: "Event", metadata: {generateName: "said-"}, type: "Normal",
        involvedObject: {kind: $kind, name: $name, namespace: "default"},
        reason: "Said", message: $message}' | root create -f - >/dev/null
}
says Pod "job-$again-0" 'of the first attempt'
says Pod "job-$again-0-r1" 'of the second attempt'
says Pod "job-$again-1" 'of another task'
says Pod "job-$again-0-r12" 'of an attempt to come'
says Job "job-$again" 'task 5 was mentioned'
says Job "job-$again" "Deleted pod: job-$again-0-r1"
says Job "job-$again" "as was ${again}_5, too"
says Job "job-$again" "not ${again}_50, nor task 50, nor job-$again-0-r1x"
said() { user events --for "${again}_5" 2>&1 | grep Said | sed 's/.*  //' | sort; }
told="Deleted pod: job-$again-0-r1
as was ${again}_5, too
of the first attempt
of the second attempt
task 5 was mentioned"
is "the events of a task are found" "$(said)" "$(echo "$told" | sort)"
like "several tasks at once are refused with a hint" \
    "$(user events --for "${again}_[5-6]" 2>&1)" \
    "names several tasks.*--for ${again}_5; --for $again shows the events of all"
like "a task that does not exist is reported" \
    "$(user events --for "${again}_6" 2>&1)" \
    'no task 6; it has 5'
plain=$(as kilntest1 ksub --parsable -o plain --open-mode=append \
    --wrap 'echo plain; exec sleep 1000')
wait_for 20 runs "job-$plain-0"
user requeue "$plain" >/dev/null
wait_for 20 runs "job-$plain-0-r1"
second() { user logs --attempt 2 "$plain" 2>&1 | grep -q '^plain$'; }
ok "the second attempt of a plain job is shown by its number" wait_for 10 second
like "the first attempt of a plain job is shown, or reported as unknown" \
    "$(user logs --attempt 1 "$plain" 2>&1)" \
    '^plain|output of attempt 1 of job [0-9]* can no longer be found'
like "a third attempt of a plain job is reported as unknown" \
    "$(user logs --attempt 3 "$plain" 2>&1)" \
    'has no attempt 3'
like "--attempt is refused for a pod, which is one attempt" \
    "$(user logs --attempt 1 pod "job-$plain-0-r1" 2>&1)" \
    '--attempt is for jobs and tasks'
user cancel "$plain" >/dev/null
user cancel "$again" >/dev/null
wait_for 20 api_gone
is "the events of a task are found after its pods are gone" "$(said)" \
    "$(echo "$told" | sort)"

# --- kills, and a list of outputs that is lost --------------------------------
wanted='one
task 7'
stop n1 KILL
like "without the agent, kctl says where the output file is" \
    "$(user logs "${id}_7" 2>&1)" \
    "its output is the file $PWD/f 7 as node n1 sees it \(the output is on node 'n1', whose agent"
stop controller KILL
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
ok "the output is shown again after agent and controller were killed" \
    wait_for 30 shows "${id}_7"
rm -f "$cluster/n1/state/outputs"
like "an output that the agent no longer knows is named with its path" \
    "$(user logs "${id}_7" 2>&1)" \
    "its output is the file $PWD/f 7 as node n1 sees it"
finish
