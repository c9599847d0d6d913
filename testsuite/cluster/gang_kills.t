#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The controller is killed again and again while jobs of several nodes are
# created, placed, started and ended: no half gang, no held core, no program runs
# twice. KILN_KILLS is how often (8; with KILN_LONG 200). Other hard cases: gangs that are larger
# together than the cluster, a gang and an array, a foreign binding.

# shellcheck disable=SC2015,SC2016,SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
if [ -n "${KILN_LONG-}" ]; then : "${KILN_KILLS:=200}"; else : "${KILN_KILLS:=8}"; fi
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-pause ksub kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
controller() { cluster_controller --node-grace 3s --socket "$cluster/socket"; }
controller

node_is() { root get node "$1" --no-headers | grep -qw -- "$2"; }
agent() { cluster_agent "$1" --topology "package:1 core:4 pu:1"; }
node() { # NAME
    agent "$1"
    wait_for 20 node_is "$1" Ready || bail_out "node $1 does not register"
    for key in $(root get node "$1" -o json | jq -r '.spec.taints[]?.key |
        select(test("virtual"))'); do
        root taint node "$1" "$key-" >/dev/null
    done
}
for name in n1 n2 n3; do node $name; done

home=$cluster/home/kilntest1
gang() { as kilntest1 ksub -D "$home" -t 5 --parsable -o /dev/null "$@"; }
state_of() { root get job "job-$1" -o json | jq -r .status.state; }
state_is() { [ "$(state_of "$1")" = "$2" ]; }
pods_of() { root get pods -l "batch.kubernetes.io/job-name=job-$1" -o json; }
n_running() { # JOB COUNT
    [ "$(pods_of "$1" | jq '[.items[] | select(.status.phase == "Running")] | length')" = "$2" ]
}
pauses() {
    find /proc/[0-9]*/exe -maxdepth 0 -user kilntest1 -lname "$cluster/bin/kiln-pause" 2>/dev/null |
        grep -c .
}
no_pauses() { [ "$(pauses)" = 0 ]; }
free_of() { root nodes --no-headers | grep -w "$1" | grep -q " $2 "; }
free() { for name in n1 n2 n3; do free_of "$name" 4/4 || return 1; done; }

# --- kills -------------------------------------------------------------------------

# The attempts that have neither all of their pods nor none. A pod that was ended is
# removed when it is over, so only jobs of which no pod has begun to end count.
half_gangs() {
    root get pods -o json | jq -r '[.items[] | select(.spec.schedulingGroup)] |
        group_by(.spec.schedulingGroup.podGroupName)[] |
        select(all(.[]; .metadata.deletionTimestamp == null and
            (.status.phase == "Pending" or .status.phase == "Running"))) |
        select(length != 3) | .[0].spec.schedulingGroup.podGroupName'
}

printf '#!/bin/sh\necho "$KILN_JOB_ID" >>ran\nsleep 0.2\n' >"$home/once.sh"
: >"$cluster/ids"
: >"$cluster/half"
mkdir -m 777 "$cluster/sent"
round=0
while [ "$round" -lt "$KILN_KILLS" ]; do
    for part in a b; do
        gang -N 3 -c 2 "$home/once.sh" >"$cluster/sent/$round$part" 2>/dev/null &
    done
    # At a different moment of the life of a job each time: some 20 ms to 700 ms.
    sleep "0.$(printf '%03d' $(((round * 137 + 20) % 700)))"
    stop controller KILL
    controller
    half_gangs >>"$cluster/half"
    round=$((round + 1))
done
sent() { [ "$(cat "$cluster"/sent/* | grep -c .)" = $((KILN_KILLS * 2)) ]; }
ok "all jobs are submitted, across $KILN_KILLS kills" wait_for 60 sent
all_done() {
    cat "$cluster"/sent/* | while read -r id; do state_is "$id" Completed || exit 1; done
}
ok "all of them complete" wait_for 120 all_done || note "$(root jobs -a | head -40)"
is "no script has run twice, and none has not run" "$(sort -n "$home/ran")" \
    "$(cat "$cluster"/sent/* | sort -n)"
is "there was never half a gang" "$(cat "$cluster/half")" ""
ok "no core is held" wait_for 20 free || note "$(root nodes)"
ok "... and no process is left" wait_for 10 no_pauses

# --- two gangs that are larger together than the cluster, by one core ---------------

first=$(gang -N 3 -c 2 --wrap 'exec sleep 300')
wait_for 20 n_running "$first" 3
second=$(gang -N 3 -c 3 --wrap 'exec sleep 300')
says() { as kilntest1 kctl jobs | grep -q "waits for room for 3 pods"; }
ok "the second of two gangs that do not fit together waits" wait_for 20 says ||
    note "$(as kilntest1 kctl jobs)"
is "... as a whole" "$(pods_of "$second" | jq '[.items[] | select(.spec.nodeName)] | length')" 0

# --- a gang and an array -------------------------------------------------------------

array=$(as kilntest1 ksub -D "$home" -t 5 --parsable -o /dev/null -a 0-5 --wrap 'sleep 0.1')
array_done() { root get job "job-$1" -o json | jq -e '.status.succeeded == 6' >/dev/null; }
ok "an array passes a gang that waits" wait_for 30 array_done "$array"
as kilntest1 kctl cancel "$first" >/dev/null
ok "the gang starts when there is room" wait_for 20 n_running "$second" 3
as kilntest1 kctl cancel "$second" >/dev/null
wait_for 20 state_is "$second" Cancelled

# --- a member is bound by somebody else -------------------------------------------------

busy=$(as kilntest1 ksub --parsable -o /dev/null -D "$home" -w n1 -c 4 -t 5 --wrap 'exec sleep 300')
wait_for 20 state_is "$busy" Running
id=$(gang -N 3 -c 2 --wrap "echo \$KILN_JOB_ID >>$home/bound; exec sleep 300")
made() { [ "$(pods_of "$1" | jq '.items | length')" = 3 ]; }
wait_for 20 made "$id"
bind() { # POD NODE
    curl -s -o /dev/null -w '%{http_code}' --unix-socket "$cluster/socket" -X POST \
        -H "Content-Type: application/json" -d "{\"apiVersion\": \"v1\", \"kind\": \"Binding\",
        \"metadata\": {\"name\": \"$1\"}, \"target\": {\"kind\": \"Node\", \"name\": \"$2\"}}" \
        "http://kiln/api/v1/namespaces/default/pods/$1/binding"
}
is "somebody else binds a pod of a gang that waits" "$(bind "job-$id-1" n2)" 201
sleep 0.5
is "a gang of which one pod was bound by others does not run alone" \
    "$(cat "$home/bound" 2>/dev/null)" ""
as kilntest1 kctl cancel "$busy" >/dev/null
ok "... and runs with the others" wait_for 30 n_running "$id" 3 ||
    note "$(root get pods); $(as kilntest1 kctl why "$id")"
is "... once" "$(cat "$home/bound")" "$id"
is "... each pod on its own node" "$(pods_of "$id" | jq '[.items[].spec.nodeName] | unique | length')" 3
as kilntest1 kctl cancel "$id" >/dev/null
ok "all ends" wait_for 20 free || note "$(root nodes)"

# --- a node is silent, then back; and one is lost ------------------------------------

attempts() {
    pods_of "$1" | jq -r '[.items[] | select(.status.phase == "Running") |
        .metadata.annotations["kiln.hpc/attempt"] + " " + .spec.nodeName] | sort | join(", ")'
}
attempts_are() { [ "$(attempts "$1")" = "$2" ]; }
id=$(gang -N 2 -c 3 -x n3 --requeue --wrap "echo \$KILN_JOB_NODELIST >>$home/lost; exec sleep 300")
ok "a job runs on two nodes" wait_for 20 attempts_are "$id" "0 n1, 0 n2" || note "$(attempts "$id")"
stop n1 KILL
ok "the node of its script falls silent" wait_for 20 node_is n1 NotReady
is "the other does not end for it" "$(attempts "$id")" "0 n2"
agent n1
ok "the node comes back" wait_for 20 attempts_are "$id" "0 n1, 0 n2" || note "$(attempts "$id")"
is "... and nothing has started again" "$(cat "$home/lost")" "n[1-2]"
stop n1 KILL
node n4
wait_for 20 node_is n1 NotReady
root fence --yes node n1 >/dev/null
ok "a node that is lost ends the attempt, and another begins elsewhere" \
    wait_for 40 attempts_are "$id" "1 n2, 1 n4" || note "$(attempts "$id"); $(root get pods)"
is "... once" "$(cat "$home/lost")" "n[1-2]
n[2,4]"
as kilntest1 kctl cancel "$id" >/dev/null
ok "it ends" wait_for 20 state_is "$id" Cancelled

finish
