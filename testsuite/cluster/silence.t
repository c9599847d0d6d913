#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A node sends no more heartbeats: its jobs keep their cores and are not run
# elsewhere until the node is back or is fenced. After a fence they are run
# elsewhere, and their old processes are ended if the node comes back.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
controller() { cluster_controller --node-grace 3s; }
controller

home=$cluster/home/kilntest1
node_is() { # NAME STATUS
    admin get node "$1" --no-headers | grep -qw -- "$2"
}
untaint() { # NAME
    for key in $(admin get node "$1" -o json | jq -r '.spec.taints[]?.key' |
        grep virtual); do
        admin taint node "$1" "$key-" >/dev/null
    done
}
node() { # NAME
    cluster_agent "$1" --topology 'package:1 core:8 pu:1' --heartbeat 300ms
    wait_for 20 node_is "$1" Ready || bail_out "node $1 does not register"
    untaint "$1"
}
state_is() { # ID STATE
    admin get job "$1" --no-headers | grep -qw "$2"
}
pods_of() { # ID JQ
    admin get pods -o json | jq -r --arg job "job-$1" '.items[] |
        select(.metadata.ownerReferences[0].name == $job) | '"$2"
}
phase_is() { pods_of "$1" .status.phase | grep -qx "$2"; }
started_times() { # ID TIMES
    [ "$(wc -l <"$home/starts-$1")" -eq "$2" ]
}
cat >"$home/patient.sh" <<'TXT'
#!/bin/sh
echo $$ $KILN_NODE_NAME >>starts-$KILN_JOB_ID
while [ ! -e end-$1 ]; do sleep 0.2; done
TXT
chown kilntest1: "$home/patient.sh"
submit() { # WORD [OPTION...]
    submit_word=$1
    shift
    id=$(as kilntest1 ksub --parsable "$@" patient.sh "$submit_word")
}
process_of() { # ID
    awk '{ print $1; exit }' "$home/starts-$1"
}

node n1
submit a --requeue && again=$id
submit b && once=$id
submit c && ends=$id
for id in $again $once $ends; do
    wait_for 20 state_is "$id" Running && wait_for 20 started_times "$id" 1
done
node n2

# --- a silent node ------------------------------------------------------------
signal n1 STOP
ok "a silent node is NotReady" wait_for 20 node_is n1 NotReady
is_unreachable() {
    admin get node n1 -o json | jq -c '.spec.taints[]?' |
        grep -q 'node.kubernetes.io/unreachable.*NoExecute'
}
ok "it has the taint unreachable" wait_for 20 is_unreachable
ok "its pods are Unknown" wait_for 20 phase_is "$once" Unknown
ok "its other pods are Unknown, too" wait_for 20 phase_is "$again" Unknown
like "the log says that the pods keep their cores, and how to fence the node" \
    "$(cat "$cluster/log/controller")" \
    "node 'n1' .*keep their cores.*kctl fence node n1"
has_event() { # OBJECT REASON
    admin events | grep -q " $2  *$1 "
}
ok "the node has an Event of it" wait_for 10 has_event node/n1 NodeNotReady
ok "so have the jobs that it runs" wait_for 10 has_event "job/job-$once" NodeNotReady
like "the other node is Ready" "$(admin get nodes --no-headers)" \
    'n2 .*\bReady\b'
submit d -w n1 && waits=$id
stop controller KILL
controller
is_silent_again() { [ "$(grep -c "node 'n1' has not" "$cluster/log/controller")" -ge 2 ]; }
ok "another controller finds the node silent, too" wait_for 20 is_silent_again
is "the node is still NotReady" \
    "$(admin get node n1 --no-headers | grep -cw NotReady)" 1
is "no job was started again" "$(cat "$home"/starts-* | wc -l)" 3
like "a job for that node waits" "$(admin get job "$waits")" Pending
as kilntest1 touch end-c
wait_for 10 has_ended "$(process_of "$ends")"

# --- the node is back ---------------------------------------------------------
signal n1 CONT
ok "the node is Ready when it sends heartbeats again" \
    wait_for 20 node_is n1 Ready
ok "its pods are Running" wait_for 20 phase_is "$once" Running
ok "a job that ended meanwhile is reported as complete" \
    wait_for 20 state_is "$ends" Completed
ok "the job that waited for the node runs" wait_for 20 state_is "$waits" Running
as kilntest1 touch end-d
ok "that job completes" wait_for 20 state_is "$waits" Completed
is "each job was started once" "$(cat "$home"/starts-* | wc -l)" 4

# --- a node that fences itself ------------------------------------------------
admin cordon n2 >/dev/null
submit f --requeue --fence-after 0:02 && fences=$id
submit g && stays=$id
wait_for 20 started_times "$fences" 1 && wait_for 20 started_times "$stays" 1
admin uncordon n2 >/dev/null
first=$(process_of "$fences")
stop n1 KILL
ok "a job with --fence-after ends when its node is cut off, without an agent" \
    wait_for 20 has_ended "$first"
kill -0 "$(process_of "$stays")"
is "another job keeps running" "$?" 0
is "the job is not started elsewhere before that time has passed" \
    "$(wc -l <"$home/starts-$fences")" 1
ok "the job is started again" wait_for 40 started_times "$fences" 2
like "the job is started on another node" \
    "$(tail -n 1 "$home/starts-$fences")" ' n2$'
like "the pod's message names fenceAfterSeconds" \
    "$(pods_of "$fences" .status.message)" fenceAfterSeconds
ok "the pod of the other job is Unknown" wait_for 20 phase_is "$stays" Unknown
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 300ms
ok "it is Running when the agent is back" wait_for 20 phase_is "$stays" Running
for word in f g; do
    as kilntest1 touch "end-$word"
done
ok "the first job completes" wait_for 20 state_is "$fences" Completed
ok "the other job completes" wait_for 20 state_is "$stays" Completed
is "the first job was started twice, the other once" \
    "$(cat "$home/starts-$fences" \
    "$home/starts-$stays" | wc -l)" 3

# --- a fenced node ------------------------------------------------------------
signal n1 STOP
wait_for 20 phase_is "$again" Unknown
ok "an administrator can fence a silent node" admin fence node n1 --yes
ok "a job with --requeue is started again" \
    wait_for 20 started_times "$again" 2
like "that job runs on another node" "$(tail -n 1 "$home/starts-$again")" ' n2$'
ok "a job without --requeue has failed" wait_for 20 phase_is "$once" Failed
like "its reason is NodeLost" "$(admin describe job "$once")" NodeLost
ok "the job has an Event of it" wait_for 10 has_event "job/job-$once" NodeLost
is "it was not started again" "$(wc -l <"$home/starts-$once")" 1
ran_for() { admin jobs "$once" -o time --no-headers; }
ran=$(ran_for)
like "the time of that job is shown" "$ran" '[0-9]:[0-9]'
submit e -w n1
like "the fenced node gets no jobs" "$(sleep 0.5; admin get job "$id")" Pending

is "it does not grow any more" "$(sleep 2; ran_for)" "$ran"
like "kctl show says when it ended" "$(admin show "$once")" 'Ended: *20'

# --- a fenced node that comes back --------------------------------------------
signal n1 CONT
for job in $again $once; do
    ok "the old process of job $job is ended when the node is back" \
        wait_for 20 has_ended "$(process_of "$job")"
done
is "the end of the first attempt does not end the second one" \
    "$(pods_of "$again" .status.phase | sort | tr '\n' ' ')" 'Failed Running '
is "the reason of the failed job is kept" \
    "$(pods_of "$once" .status.reason)" NodeLost
ok "the node can be unfenced" admin unfence node n1
ok "the node is Ready" wait_for 20 node_is n1 Ready
ok "the node gets jobs" wait_for 20 state_is "$id" Running
for word in a b e; do
    as kilntest1 touch "end-$word"
done
for job in $again $id; do
    ok "job $job completes" wait_for 20 state_is "$job" Completed
done
ok "the job that was requeued was started twice" \
    started_times "$again" 2

# --- pods that are deleted by force -------------------------------------------
hold() { # starts a job on all CPUs of n1, its ID is in $id
    id=$(as kilntest1 ksub --parsable -w n1 -n 8 patient.sh held)
    wait_for 20 started_times "$id" 1
}
left() { admin get node n1 -o json | jq -r '.status.remnants[]?.name'; }
nothing_is_left() { [ -z "$(left)" ]; }
# The agent keeps a process of which it cannot tell whether the controller's
# state was put back, and so whether the deletion counts. It can once it has the
# mark of the controller's present run.
mark_of_n1() { cksum <"$cluster/n1/state/cluster"; }
has_new_mark() { [ "$(mark_of_n1)" != "$mark" ]; }
hold
pod=$(pods_of "$id" .metadata.name)
signal n1 STOP
admin delete job "$id" >/dev/null
admin delete pod "$pod" --force --grace-period=0 >/dev/null 2>&1
not_ok "a pod that was deleted by force no longer exists" admin get pod "$pod"
is "the node keeps its allocation" "$(left)" "$pod"
like "kctl describe shows that" \
    "$(admin describe node n1)" "$pod  since .*CPUs 0-7"
like "kctl topology shows that" "$(admin topology n1)" \
    "$pod .*CPUs 0-7.*deleted by force"
next=$(as kilntest1 ksub --parsable -w n1 --wrap true)
mark=$(mark_of_n1)
stop controller KILL
controller
is "another controller knows it, too" "$(left)" "$pod"
kill -0 "$(process_of "$id")"
is "the process still runs" "$?" 0
like "no other job gets the cores" "$(sleep 1; admin get job "$next")" Pending
signal n1 CONT
ok "the process ends when the node is back" \
    wait_for 20 has_ended "$(process_of "$id")"
ok "the allocation is then removed" wait_for 20 nothing_is_left
ok "another job gets the cores" wait_for 20 state_is "$next" Completed
ok "the agent has the mark of the new run" wait_for 20 has_new_mark

hold
pod=$(pods_of "$id" .metadata.name)
stop n1 KILL
admin delete job "$id" >/dev/null
admin delete pod "$pod" --force --grace-period=0 >/dev/null 2>&1
next=$(as kilntest1 ksub --parsable -w n1 --wrap true)
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 300ms
ok "an agent that was not running ends such a process when it starts" \
    wait_for 20 has_ended "$(process_of "$id")"
ok "another job gets those cores" wait_for 20 state_is "$next" Completed

hold
pod=$(pods_of "$id" .metadata.name)
signal n1 STOP
admin delete job "$id" >/dev/null
admin delete pod "$pod" --force --grace-period=0 >/dev/null 2>&1
is "a third pod that was deleted by force keeps its allocation" "$(left)" "$pod"
admin fence node n1 --yes >/dev/null
ok "the allocation is removed when the node is fenced" \
    wait_for 20 nothing_is_left
signal n1 CONT
ok "the process ends when the fenced node is back" \
    wait_for 20 has_ended "$(process_of "$id")"

# --- a site that switches silent nodes off ------------------------------------
admin unfence node n1 >/dev/null
wait_for 20 node_is n1 Ready
stop controller
cat >"$cluster/power-off" <<TXT
#!/bin/sh
echo "\$1" >>$cluster/switched
[ -e $cluster/works ] || { echo no answer from the power switch; exit 1; }
TXT
chmod 755 "$cluster/power-off"
cat >"$cluster/fence.yaml" <<TXT
nodeGrace: 3s
fenceAfter: 5s
fenceProgram: $cluster/power-off
TXT
like "fenceAfter without a program is refused" "$(printf 'fenceAfter: 5m\n' >"$cluster/odd.yaml"
    kiln-controller --config "$cluster/odd.yaml" --check-config 2>&1)" \
    'fenceAfter and fenceProgram must be given together'
cluster_controller --config "$cluster/fence.yaml"
wait_for 20 node_is n1 Ready
submit power --requeue -w n1
wait_for 20 started_times "$id" 1
signal n1 STOP
ok "a failure of the program is an Event of the node" \
    wait_for 40 has_event node/n1 FencingFailed
like "it has the last line of the program" "$(admin events)" 'no answer from the power switch'
is "the program gets the name of the node" "$(sort -u "$cluster/switched")" n1
not_ok "the node is not fenced" node_is n1 Fenced
is "the job does not start elsewhere" "$(wc -l <"$home/starts-$id")" 1
: >"$cluster/works"
stop controller
cluster_controller --config "$cluster/fence.yaml"
ok "the node is fenced when the program succeeds" wait_for 60 has_event node/n1 SwitchedOff
is_lost() { pods_of "$id" .status.reason | grep -qx NodeLost; }
ok "its job is given up then" wait_for 20 is_lost
signal n1 CONT
finish
