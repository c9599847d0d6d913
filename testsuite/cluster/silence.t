#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A node is not heard of any more: its jobs keep their cores and are not run
# anywhere else until it is back, or is fenced; then they are run again, and
# what was left of them is ended when the node comes back after all.

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

admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
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
while [ ! -e end-$1 ]; do sleep 0.05; done
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

# --- silent -------------------------------------------------------------------
signal n1 STOP
ok "a node that falls silent is not ready" wait_for 20 node_is n1 NotReady
is_unreachable() {
    admin get node n1 -o json | jq -c '.spec.taints[]?' |
        grep -q 'node.kubernetes.io/unreachable.*NoExecute'
}
ok "and its taint says why" wait_for 20 is_unreachable
ok "its pods are Unknown" wait_for 20 phase_is "$once" Unknown
ok "all of them" wait_for 20 phase_is "$again" Unknown
like "the log says what becomes of them" "$(cat "$cluster/log/controller")" \
    "node 'n1' .*keep their cores.*kctl fence node n1"
like "the other node is heard of" "$(admin get nodes --no-headers)" \
    'n2 .*\bReady\b'
submit d -w n1 && waits=$id
stop controller KILL
controller
is_silent_again() { [ "$(grep -c "node 'n1' has not" "$cluster/log/controller")" -ge 2 ]; }
ok "another controller comes to see it so, too" wait_for 20 is_silent_again
is "as its node" "$(admin get node n1 --no-headers | grep -cw NotReady)" 1
is "nothing was started again" "$(cat "$home"/starts-* | wc -l)" 3
like "a job that is bound to that node waits" "$(admin get job "$waits")" Pending
as kilntest1 touch end-c
wait_for 10 has_ended "$(process_of "$ends")"

# --- back ---------------------------------------------------------------------
signal n1 CONT
ok "when it is heard of again it is ready" wait_for 20 node_is n1 Ready
ok "its pods run as before" wait_for 20 phase_is "$once" Running
ok "what ended meanwhile is complete" wait_for 20 state_is "$ends" Completed
ok "and what waited for it runs" wait_for 20 state_is "$waits" Running
as kilntest1 touch end-d
ok "to its end" wait_for 20 state_is "$waits" Completed
is "each was started once" "$(cat "$home"/starts-* | wc -l)" 4

# --- fenced by itself -----------------------------------------------------------
admin cordon n2 >/dev/null
submit f --requeue --fence-after 0:02 && fences=$id
submit g && stays=$id
wait_for 20 started_times "$fences" 1 && wait_for 20 started_times "$stays" 1
admin uncordon n2 >/dev/null
first=$(process_of "$fences")
stop n1 KILL
ok "a job that asked for it ends when its node is cut off, without an agent" \
    wait_for 20 has_ended "$first"
kill -0 "$(process_of "$stays")"
is "another one runs on" "$?" 0
is "it is not run again before the node is taken to have ended it" \
    "$(wc -l <"$home/starts-$fences")" 1
ok "it is run again" wait_for 40 started_times "$fences" 2
like "on another node" "$(tail -n 1 "$home/starts-$fences")" ' n2$'
like "which is said" "$(pods_of "$fences" .status.message)" fenceAfterSeconds
ok "the other one is Unknown" wait_for 20 phase_is "$stays" Unknown
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 300ms
ok "and runs on when the agent is back" wait_for 20 phase_is "$stays" Running
for word in f g; do
    as kilntest1 touch "end-$word"
done
ok "both complete" wait_for 20 state_is "$fences" Completed
ok "in the end" wait_for 20 state_is "$stays" Completed
is "each as often as it should have" "$(cat "$home/starts-$fences" \
    "$home/starts-$stays" | wc -l)" 3

# --- fenced -------------------------------------------------------------------
signal n1 STOP
wait_for 20 phase_is "$again" Unknown
ok "an administrator says that it is off" admin fence node n1 --yes
ok "a job that may be requeued is run again" \
    wait_for 20 started_times "$again" 2
like "on another node" "$(tail -n 1 "$home/starts-$again")" ' n2$'
ok "one that may not has failed" wait_for 20 phase_is "$once" Failed
like "because of the node" "$(admin describe job "$once")" NodeLost
is "and was not started again" "$(wc -l <"$home/starts-$once")" 1
submit e -w n1
like "the node takes no jobs" "$(sleep 0.5; admin get job "$id")" Pending

# --- back after all -------------------------------------------------------------
signal n1 CONT
for job in $again $once; do
    ok "what still ran of job $job is ended when the node is back" \
        wait_for 20 has_ended "$(process_of "$job")"
done
is "the end of the second run is not the first's" \
    "$(pods_of "$again" .status.phase | sort | tr '\n' ' ')" 'Failed Running '
is "and what is known stays so" "$(pods_of "$once" .status.reason)" NodeLost
ok "the node can be taken back" admin unfence node n1
ok "it is ready" wait_for 20 node_is n1 Ready
ok "and takes jobs" wait_for 20 state_is "$id" Running
for word in a b e; do
    as kilntest1 touch "end-$word"
done
for job in $again $id; do
    ok "job $job completes" wait_for 20 state_is "$job" Completed
done
ok "the one that was run again was started twice in all" \
    started_times "$again" 2

# --- deleted by force -----------------------------------------------------------
hold() { # a job on all of n1 is running, its id in $id
    id=$(as kilntest1 ksub --parsable -w n1 -n 8 patient.sh held)
    wait_for 20 started_times "$id" 1
}
left() { admin get node n1 -o json | jq -r '.status.remnants[]?.name'; }
nothing_is_left() { [ -z "$(left)" ]; }
hold
pod=$(pods_of "$id" .metadata.name)
signal n1 STOP
admin delete job "$id" >/dev/null
admin delete pod "$pod" --force --grace-period=0 >/dev/null 2>&1
not_ok "a pod that is deleted by force is gone" admin get pod "$pod"
is "its node keeps what it was given" "$(left)" "$pod"
like "which shows" "$(admin describe node n1)" "$pod  since .*CPUs 0-7"
like "in the picture, too" "$(admin topology n1)" \
    "$pod .*CPUs 0-7.*deleted by force"
next=$(as kilntest1 ksub --parsable -w n1 --wrap true)
stop controller KILL
controller
is "another controller knows it" "$(left)" "$pod"
kill -0 "$(process_of "$id")"
is "as long as its process runs" "$?" 0
like "nobody gets its cores" "$(sleep 1; admin get job "$next")" Pending
signal n1 CONT
ok "when its process is gone" wait_for 20 has_ended "$(process_of "$id")"
ok "they are free" wait_for 20 nothing_is_left
ok "and taken" wait_for 20 state_is "$next" Completed

hold
pod=$(pods_of "$id" .metadata.name)
stop n1 KILL
admin delete job "$id" >/dev/null
admin delete pod "$pod" --force --grace-period=0 >/dev/null 2>&1
next=$(as kilntest1 ksub --parsable -w n1 --wrap true)
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 300ms
ok "an agent that was not there ends such a pod, too" \
    wait_for 20 has_ended "$(process_of "$id")"
ok "and its cores are taken" wait_for 20 state_is "$next" Completed

hold
pod=$(pods_of "$id" .metadata.name)
signal n1 STOP
admin delete job "$id" >/dev/null
admin delete pod "$pod" --force --grace-period=0 >/dev/null 2>&1
is "something is left of a third" "$(left)" "$pod"
admin fence node n1 --yes >/dev/null
ok "and nothing of it on a node that is fenced" wait_for 20 nothing_is_left
signal n1 CONT
ok "its process ends when the node is back" \
    wait_for 20 has_ended "$(process_of "$id")"
finish
