#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The records of the steps of jobs: what each krun has started, how it ended and what it
# used, also after a restart of the agent, after the controller was away, and after the job
# was deleted; the number of requests does not depend on the number of steps; and nobody
# else sees or writes them.

# shellcheck disable=SC2016,SC2119,SC2154 # of jobs; cluster.sh

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-step ksub kctl krun jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller
agent() {
    cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 1s \
        --cgroup-base "/kiln-records-$$"
}
agent
wait_for 20 admin wait --for condition=Ready node n1 || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done
home=$cluster/home/kilntest1

# has_steps JOB FILTER: the list of the steps of a job, as its owner sees it.
steps_of() { as kilntest1 kctl --no-wait steps -o json "$1" 2>/dev/null; }
has_steps() { steps_of "$1" | jq -e "$2" >/dev/null; }
submit_job() { submit -n 4 -o "$home/out" "$@"; }

id=$(submit_job --wrap 'krun -n 2 hostname
    krun -n 1 --job-name=seven sh -c "exit 7"
    krun -n 1 sh -c "kill -9 \$\$"
    krun -n 1 -t 0:02 sleep 60
    krun -n 1 sh -c "i=0; while [ \$i -lt 200000 ]; do i=\$((i+1)); done"
    krun -n 1 --job-name "$(printf "a\033[31mb")" sleep 600')
wait_for 60 has_steps "$id" '.items | length == 6 and .[5].state == "Running"'
is "a step that runs is shown with what it is, while the job runs" "$(steps_of "$id" | jq -c '.items[5]
    | [.step, .name, .command, .tasks, .cpus, .nodes, .nodeCount, .attempt, .user, .exitCode]')" \
    '[5,"a?[31mb","sleep 600",1,1,"n1",1,1,"kilntest1",null]'
is "ended steps have their state and the highest exit code" "$(steps_of "$id" | jq -c '.items[:5]
    | map([.name, .state, .exitCode, .signal // 0])')" \
    '[["hostname","Completed",0,0],["seven","Failed",7,0],["sh","Failed",137,9],["sleep","TimedOut",143,15],["sh","Completed",0,0]]'
ok "and the CPU time and memory that they used" has_steps "$id" '.items[4]
    | (.cpuUserMicros + .cpuSystemMicros > 10000) and .peakMemoryBytes > 100000'
as kilntest1 kctl steps "$id" >"$cluster/table" 2>&1
like "kctl steps prints them" "$(cat "$cluster/table")" "$id.1 +seven +Failed +7 +1 +1 +n1"
like "kctl steps shows one of them" "$(as kilntest1 kctl steps --no-headers "$id.1" 2>&1 | tr '\n' '+')" \
    "^$id\\.1 +seven +Failed [^+]*\\+\$"
is "kctl show shows it" "$(as kilntest1 kctl show "$id.1" 2>&1 | sed -n 's/:  */: /; 1p; 3,5p; /^Job/p')" \
    "Step: $id.1 (seven)
State: Failed, exit code 7
Exit code: 7
Command: $(as kilntest1 kctl steps -o json "$id.1" | jq -r '.items[0].command')
Job: $id; 'kctl show $id' shows it"
like "kctl why says how steps ended" \
    "$(as kilntest1 kctl why "$id.1" "$id.2" "$id.3" "$id.5" 2>&1 | tr '\n' '+')" \
    "^Step $id\\.1 \\(seven\\): Failed, exit code 7, on n1, after [0-9:]+\\+Step $id\\.2 \\(sh\\): Failed, killed by signal 9 \\(SIGKILL\\), on n1, after [0-9:]+\\+Step $id\\.3 \\(sleep\\): TimedOut, over its own limit of 0:02, on n1, after [0-9:]+\\+Step $id\\.5 [^+]*: Running, on n1, for [0-9:]+\\+\$"
is "a step that there is not is told" "$(as kilntest1 kctl show "$id.77" 2>&1; echo "$?")" \
    "kctl: show: there is no step $id.77 that you may see; 'kctl steps $id' lists those of the job (one that has just begun after ten seconds at most)
66"
like "nobody else sees a step" "$(as kilntest2 kctl why "$id.1" 2>&1)" "there is no step $id.1 that you may see"
is "the output of a step is that of its krun" "$(as kilntest1 kctl logs "$id.1" 2>&1)" \
    "kctl: logs: '$id.1' is a step; what its tasks print goes to the krun or srun that started it, mostly into the output of the job: 'kctl logs $id'"
for verb in wait hold requeue script resubmit 'get job'; do
    # shellcheck disable=SC2086 # a verb and a type
    is "kctl $verb works on whole jobs" "$(as kilntest1 kctl $verb "$id.1" 2>&1; echo "$?")" \
        "kctl: ${verb% *}: '$id.1' is a step; give its job: $id ('kctl show $id.1' shows the step)
64"
done
is "kctl top shows the step that runs, and no other" "$(as kilntest1 kctl --no-wait top jobs "$id" |
    awk '{ print $1, $2, $5 }' | grep "^$id\.")" "$id.5 kilntest1 1"
is "a job that does not exist is an error" \
    "$(as kilntest1 kctl --no-wait steps 9999 "$id" 2>&1 >"$cluster/table"; echo "$?")" \
    "kctl: steps: there is no job 9999, and history has none that you may see
66"
like "... and the others are shown" "$(cat "$cluster/table")" "$id.1 +seven "
is "another user is told whose it is" "$(as kilntest2 kctl --no-wait steps "$id" 2>&1; echo "$?")" \
    "kctl: steps: job $id is a job of kilntest1; only the job's user and administrators see its steps
77"
is "nobody else sees them" \
    "$(as kilntest2 kctl --no-wait steps -o json "$id" | jq '.items | length') $(admin steps -o json "$id" |
        jq '.items | length')" "0 6"

# A user who speaks for the node.
start proxy as kilntest1 kctl proxy --port 0
wait_for 10 grep -q "http://" "$cluster/log/proxy"
url=$(grep -o 'http://.*' "$cluster/log/proxy" | head -n 1)
is "no user reports steps, also not the owner of the job" "$(curl -s -o "$cluster/answer" -w '%{http_code}' \
    -H 'Content-Type: application/json' -d '{"pods":[]}' "$url/api/v1/nodes/n1/steps")" 403
stop proxy

# The job has a step of each attempt.
as kilntest1 kctl requeue "$id" --yes >/dev/null 2>&1 || as kilntest1 kctl requeue "$id" >/dev/null
ok "a requeued job has the steps of each attempt, and what ran then was cancelled" wait_for 60 has_steps "$id" \
    '(.items | map(select(.attempt == 1)) | length == 6 and .[5].state == "Cancelled")
        and (.items | map(select(.attempt == 2)) | length) >= 1' ||
    note "$(steps_of "$id" | jq -c '.items | map([.attempt, .step, .state])')"
as kilntest1 kctl delete job "job-$id" >/dev/null
gone() { ! as kilntest1 kctl --no-wait get job "job-$id" >/dev/null 2>&1; }
wait_for 30 gone
ok "steps remain after the job was deleted, and all have ended" wait_for 40 has_steps "$id" \
    '(.items | map(select(.attempt == 2)) | length >= 1) and all(.items[]; .state != "Running")' ||
    note "$(steps_of "$id" | jq -c '.items | map([.attempt, .step, .state])')"

# A job that ends while no controller is there; the agent is killed before it is back.
id=$(submit_job --wrap 'krun -n 1 sleep 1
    touch began
    while [ ! -e go ]; do sleep 0.1; done
    krun -n 1 sh -c "exit 4"
    krun -n 1 --job-name=last true
    touch done')
wait_for 30 test -e "$home/began"
stop controller
touch "$home/go"
ok "steps run without a controller" wait_for 30 test -e "$home/done"
sleep 1
signal n1 KILL
await_end n1
agent
cluster_controller
ok "and are told when it is back, also by an agent that has been started again, after the end of the job" \
    wait_for 60 has_steps "$id" \
    '.items | map([.step, .name, .state, .exitCode]) == [[0,"sleep","Completed",0],
        [1,"sh","Failed",4],[2,"last","Completed",0]]' ||
    note "$(steps_of "$id" | jq -c '.items | map([.step, .name, .state, .exitCode])')"
wait_for 30 state_is "$id" Completed
none_kept() {
    for kept in "$cluster"/n1/state/step-records/* "$cluster"/n1/run/step-figures/*; do
        [ ! -e "$kept" ] || return 1
    done
}
ok "then nothing of them is left on the node" wait_for 20 none_kept || note "$kept"

# The agent is killed while a step runs.
id=$(submit_job --wrap 'rm -f began; krun -n 1 sh -c "touch began2; sleep 4; exit 6"; true')
wait_for 30 test -e "$home/began2"
signal n1 KILL
await_end n1
agent
ok "the end of a step that an earlier agent has started is known" wait_for 60 has_steps "$id" \
    '.items[0] | [.state, .exitCode] == ["Failed", 6]' ||
    note "$(steps_of "$id" | jq -c '.items | map([.step, .name, .state, .exitCode])')"

# A step is ended and signalled by its name; the peak of what runs is known.
cat >"$home/big" <<'EOF'
bytes=$(head -c 60000000 /dev/zero | tr '\0' a)
touch trap2
sleep 600
true
EOF
id=$(submit_job --wrap 'rm -f trap*
    krun -n 1 sh -c "trap \"touch trapped; exit 9\" USR1; touch trap; while :; do sleep 0.1; done"
    krun -n 1 sh big; echo "$?" >trap3
    krun -n 1 sh -c "trap \"\" TERM; touch trap4; while :; do sleep 0.1; done"; sleep 600')
wait_for 30 test -e "$home/trap"
is "kctl signal tells the tasks of a step" "$(as kilntest1 kctl signal -S USR1 "$id.0" 2>&1; echo "$?")" \
    "step/$id.0: signal USR1 sent
0"
ok "... which get it" wait_for 20 test -e "$home/trapped"
wait_for 20 test -e "$home/trap2"
is_big() { has_steps "$id" '.items[1] | .state == "Running" and .peakMemoryBytes > 60000000'; }
ok "the peak of a process that runs is in kctl steps" wait_for 60 is_big ||
    note "$(steps_of "$id" | jq -c '.items')"
like "nobody else may" "$(as kilntest2 kctl cancel "$id.1" 2>&1)" "^kctl: cancel: step $id.1: .*kilntest1"
is "kctl cancel ends a step, and the jobs beside it" \
    "$(as kilntest1 kctl cancel "$id.1" "$id.7" 9998 2>&1; echo "$?")" \
    "step/$id.1 cancelled
kctl: step $id.7: no step 7 of the job runs
kctl: cancel: job 9998 not found; 'kctl history 9998' shows whether it ended and was deleted
66"
is "what is no step is said" "$(as kilntest1 kctl cancel "$id.batch" "$id.extern" 2>&1)" \
    "kctl: $id.batch is the script, which is no step: 'kctl signal --script $id' sends it a signal, and 'kctl cancel $id' ends the job
kctl: cancel: $id.extern is no step, but what others start on the nodes of the job; it ends with the job ('kctl cancel $id')"
is "a step of no job is not found, as the job" "$(as kilntest1 kctl cancel 9998.3 2>&1; echo "$?")" \
    "kctl: cancel: step 9998.3: job 9998 not found; 'kctl history 9998' shows whether it ended and was deleted
66"
ok "... whose job goes on" wait_for 40 grep -q '^143$' "$home/trap3"
is_by() { has_steps "$id" ".items[1] | .state == \"Cancelled\" and .endedBy == 1001"; }
ok "... and the record has who ended it" wait_for 40 is_by || note "$(steps_of "$id" | jq -c '.items')"
wait_for 30 test -e "$home/trap4"
as kilntest1 kctl cancel "$id.2" >/dev/null
is_ending() { as kilntest1 kctl steps --no-headers "$id" | grep -q "^$id\.2  *[^ ]*  *Ending "; }
ok "one that does not end by SIGTERM is Ending" wait_for 20 is_ending || note "$(as kilntest1 kctl steps "$id" 2>&1)"
signal n1 STOP
as kilntest1 kctl exec "$id" -- echo here >"$cluster/exec" 2>&1 &
exec=$!
ok "kctl exec says that a stopped agent does not answer" \
    wait_for 30 grep -q '^kctl: an agent does not answer' "$cluster/exec" || note "$(cat "$cluster/exec")"
signal n1 CONT
wait "$exec"
is "... and has its answer in the end" "$?$(tail -n 1 "$cluster/exec")" 0here
is "--full is for jobs" "$(as kilntest1 kctl signal --full "$id.1" 2>&1)" \
    "kctl: signal: $id.1 is a step, whose tasks get the signal; --script and --full are for jobs"
as kilntest1 kctl cancel "$id" >/dev/null
empty=$(submit_job --wrap true)
wait_for 30 state_is "$empty" Completed
is "of a job without steps that is said" "$(as kilntest1 kctl steps "$empty" 2>&1; echo "$?")" "job $empty has no steps
0"

# A job that its time limit ends, and one whose user cancels it.
id=$(submit_job -t 0:03 --wrap 'krun -n 1 sleep 600')
ok "the steps of a job that has reached its time limit were cancelled" wait_for 60 has_steps "$id" \
    '.items[0].state == "Cancelled"' || note "$(steps_of "$id" | jq -c '.items')"
is "kctl history shows them below the job" "$(as kilntest1 kctl history --steps "$id" |
    awk '{ print $1, $3 }' | grep -c "^$id.0 Cancelled$")" 1

# Requests of the agent, by the controller's count, while a job has many steps.
requests() {
    curl -s --unix-socket "$cluster/state/socket" http://kiln/metrics | awk '
        /^apiserver_request_total/ && /subresource="steps"/ { n += $2 }
        END { print n + 0 }'
}
count=300
before=$(requests)
began=$(date +%s)
id=$(submit_job --wrap "for i in \$(seq $count); do krun -n 1 true; done")
ok "a job of many steps has all of them" wait_for 200 has_steps "$id" \
    ".items | length == $count and all(.[]; .state == \"Completed\")" ||
    note "$(steps_of "$id" | jq -c '.items | map(.state) | group_by(.) | map([.[0], length])')"
took=$(($(date +%s) - began))
sent=$(($(requests) - before))
ok "and costs the controller a request in ten seconds, and one at the end" \
    test "$sent" -ge 1 -a "$sent" -le $((took / 10 + 3)) || note "$sent requests in $took seconds"
finish
