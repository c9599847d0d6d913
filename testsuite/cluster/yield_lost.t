#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A node is lost while a job stands still there and another runs on its cores:
# once it is given up both start anew by the usual rule, the more important one
# first, nobody waits beside free room, and no core is held by what is gone.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
controller() { cluster_controller --node-grace 3s; }
controller
root() { kctl --server "http+unix://$cluster/state/socket" "$@" </dev/null; }
node_is() { root get node "$1" --no-headers | grep -qw -- "$2"; }
node() { # NAME
    cluster_agent "$1" --topology 'package:1 core:4 pu:1' --heartbeat 300ms
    wait_for 20 node_is "$1" Ready || bail_out "node $1 does not register"
    for key in $(root get node "$1" -o json | jq -r '.spec.taints[]?.key' |
        grep virtual); do
        root taint node "$1" "$key-" >/dev/null
    done
}
make() { kctl --server "http+unix://$cluster/state/socket" create -f - >/dev/null; }
node n1
make <<'TXT'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: urgent
  annotations: {kiln.hpc/allowed-users: kilntest2}
value: 1000
TXT
make <<'TXT'
{apiVersion: kiln.hpc/v1, kind: Partition, metadata: {name: low},
 spec: {preemptionMode: Suspend}}
TXT

job() { root get job "$1" -o json | jq -r "$2"; }
state_is() { [ "$(job "$1" .status.state)" = "$2" ]; }
of_pods() { # ID JQ
    root get pods -l "batch.kubernetes.io/job-name=job-$1" -o json |
        jq -r ".items[] | select(.status.phase != \"Failed\") | $2"
}
is_on() { of_pods "$1" .spec.nodeName | grep -qx "$2"; }
is_to_yield() { of_pods "$1" '.metadata.annotations["kiln.hpc/yield"]' | grep -q job; }
low() { as kilntest1 ksub --parsable -o /dev/null -p low -t 30 --requeue "$@" \
    --wrap 'exec sleep 1000'; }
urgent() { as kilntest2 ksub --parsable -o /dev/null --priority urgent -t 30 \
    --requeue "$@" --wrap 'exec sleep 1000'; }
over() { root cancel "$@" >/dev/null; }
phase_is() { of_pods "$1" .status.phase | grep -qx "$2"; }

# --- a preemptor that is gone before it starts -----------------------------------
low=$(low -c 4)
wait_for 20 state_is "$low" Running || bail_out "no job runs"
high=$(urgent -c 4)
over "$high"
ok "one that was cancelled at once leaves the other running" \
    wait_for 40 eval 'state_is "$low" Running && ! is_to_yield "$low"'
signal n1 STOP
high=$(urgent -c 4)
ok "one is asked to stand still, and its agent does not answer" \
    wait_for 20 is_to_yield "$low"
over "$high"
stop controller KILL
controller
signal n1 CONT
ok "who it was to be for is gone, the controller killed: it runs on" \
    wait_for 40 eval 'state_is "$low" Running && ! is_to_yield "$low"'
is "in one attempt" "$(job "$low" .status.attempts)" 1

# --- the node is lost with both -----------------------------------------------------
high=$(urgent -c 2)
ok "another runs on its cores" wait_for 30 state_is "$high" Running
ok "and it stands still" wait_for 20 state_is "$low" Frozen
node n2
stop n1 KILL
ok "its node is lost" wait_for 30 phase_is "$high" Unknown
ok "with both" wait_for 20 phase_is "$low" Unknown
third=$(as kilntest1 ksub --parsable -o /dev/null -w n1 -c 1 -t 10 \
    --wrap 'exec sleep 1000')
stop controller KILL
controller
ok "which does not change with the controller" wait_for 30 phase_is "$low" Unknown
root fence node n1 --yes >/dev/null 2>&1
ok "given up, the more important one starts anew" wait_for 40 is_on "$high" n2
ok "and runs" wait_for 20 state_is "$high" Running
is "the other waits, or has started and stands still for it" "$(wait_for 20 eval \
    'case $(job "$low" .status.state) in Frozen | Pending | Requeued) ;; *) false ;; esac' && echo yes)" yes
over "$high"
ok "then it runs too" wait_for 40 eval 'is_on "$low" n2 && state_is "$low" Running'
not_ok "and is to yield to nobody" is_to_yield "$low"
state_is "$third" Running
is "nothing starts on what was given up" "$?" 1

# --- and comes back -----------------------------------------------------------------
cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 300ms
wait_for 20 node_is n1 Ready
root unfence node n1 >/dev/null
ok "the node has its jobs again" wait_for 40 state_is "$third" Running
over "$third"
whole=$(as kilntest1 ksub --parsable -o /dev/null -w n1 -c 4 -t 10 \
    --wrap 'exec sleep 1000')
ok "on all of its cores" wait_for 40 state_is "$whole" Running
over "$whole"
over "$low"

finish
