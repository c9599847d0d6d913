#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that are started in a job from outside of it, and allocations: jobs that are held
# from a machine without an agent.

# shellcheck disable=SC2016,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/netns.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-step krun kctl ksub jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_user kilntest2 || skip_all "only root can make users"
netns_begin
cluster_munge
cluster_controller --socket "$cluster/socket"
for number in 1 2; do
    netns_agent "n$number" "$number" --topology "package:1 core:4 pu:1"
done
ready() { root wait --for condition=Ready node n1 n2 --timeout 1s; }
ok "two agents with networks of their own register" wait_for 40 ready ||
    bail_out "not all nodes register"
for number in 1 2; do
    for key in $(root get node "n$number" -o json | jq -r '.spec.taints[]?.key'); do
        root taint node "n$number" "$key-" >/dev/null
    done
done
home=$cluster/home/kilntest1
login() { netns_user kilntest1 login 9 "$@"; }
stranger() { netns_user kilntest2 login 9 "$@"; }
state() { as kilntest1 kctl get job "job-$1" -o 'jsonpath={.status.state}'; }
is_state() { [ "$(state "$1")" = "$2" ]; }

# --- programs from outside of the job -----------------------------------------

cat >"$home/sleep.sh" <<'S'
#!/bin/sh
sleep 1000
S
chmod 755 "$home/sleep.sh"
id=$(as kilntest1 ksub --parsable -N 2 -n 4 -t 5 -D "$home" sleep.sh)
wait_for 30 is_state "$id" Running
is "krun starts tasks in a job from a machine without an agent" \
    "$(login krun --jobid "$id" -l hostname 2>&1 | sort)" "0: n1
1: n1
2: n2
3: n2"
is "... with the job's variables, and each node's own" \
    "$(login krun --jobid="$id" -N 2 -n 2 sh -c \
        'echo "$KILN_JOB_ID $KILN_NNODES $KILN_NTASKS $KILN_NODE_NAME ${KILN_STEP_SOCKET##*/}"' |
        sort)" "$id 2 4 n1 steps
$id 2 4 n2 steps"
is "kctl exec runs a program in the job's directory, and its status is kctl's" \
    "$(login kctl exec "$id" -- sh -c 'hostname; pwd; exit 7' 2>/dev/null; echo $?)" "n1
$home
7"
is "... on another node of it, with input" \
    "$(echo words | login kctl exec -i -w n2 "$id" sh -c 'hostname; cat' 2>&1)" "n2
words"
is "... beside steps that have all CPUs, which a krun waits for" \
    "$(login kctl exec --here "$id" -- sh -c '
        krun sh -c "[ \$KILN_PROCID -gt 0 ] || { touch busy; while [ -e busy ]; do sleep 0.1; done; }" &
        while ! [ -e busy ]; do sleep 0.1; done
        kctl exec $KILN_JOB_ID echo exec
        krun --immediate -n 1 true 2>/dev/null || echo busy
        rm busy; wait' 2>&1)" "exec
busy"

is "another user's job is refused, in words" \
    "$(stranger kctl exec "$id" id 2>&1 | sed "s/job $id/job N/"; stranger krun --jobid "$id" id 2>&1 |
        sed "s/job $id/job N/")" \
    "kctl: exec: job N is a job of kilntest1; only the job's user starts programs in it
kctl: exec: job N is a job of kilntest1; only the job's user starts programs in it"
uid=$(root get pods -o json | jq -r '.items[] | select(.spec.nodeName == "n1") | .metadata.uid')
steal() { stranger env KILN_JOB_ID="$id" KILN_POD_UID="$uid" KILN_STEP_SOCKET="$1" krun id 2>&1; }
is "... and its agent refuses those who ask it by themselves" \
    "$(steal n1:6822,test,0,"$munge_socket" | grep -c 'no job of this user')" 1
is "a credential for one node is nothing to another" \
    "$(echo "$netns_net.2 n1 fake" >"$cluster/hosts.fake"
        cat "$cluster/hosts" >>"$cluster/hosts.fake"; chmod 644 "$cluster/hosts.fake"
        real=$(cat "$cluster/hosts")
        cat "$cluster/hosts.fake" >"$cluster/hosts"
        login env KILN_JOB_ID="$id" KILN_POD_UID="$uid" \
            KILN_STEP_SOCKET="n1:6822,test,0,$munge_socket" krun -n 1 hostname 2>&1 |
            grep -c "another node\|for node"
        echo "$real" >"$cluster/hosts")" 1
is "a job that is gone, waits or has ended runs no programs" \
    "$(login krun --jobid 999 id 2>&1
        wait=$(as kilntest1 ksub --parsable -N 2 -c 4 -t 5 -D "$home" sleep.sh)
        login kctl exec "$wait" id 2>&1 | sed "s/job $wait/job N/"
        as kilntest1 kctl cancel "$wait" >/dev/null
        login kctl exec "$wait" id 2>&1 | sed "s/job $wait/job N/")" \
    "kctl: exec: job 999 not found; 'kctl history 999' shows whether it ended and was deleted
kctl: exec: job N waits; programs are started in it when it runs ('kctl why' says why it waits)
kctl: exec: job N does not run: it is Cancelled"
as kilntest1 kctl cancel "$id" >/dev/null

finish
