#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A node is lost while a job is frozen there and another job runs on its cores:
# when the node is given up, both are requeued by the usual rules, the one of
# higher priority first. No job waits beside free cores, and no lost pod holds
# cores.

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

# --- the preempting job ends before it starts ---------------------------------
low=$(low -c 4)
wait_for 20 state_is "$low" Running || bail_out "no job runs"
high=$(urgent -c 4)
over "$high"
ok "a job keeps running when the preempting job is cancelled at once" \
    wait_for 40 eval 'state_is "$low" Running && ! is_to_yield "$low"'
signal n1 STOP
high=$(urgent -c 4)
ok "a job is to be frozen, and its agent does not answer" \
    wait_for 20 is_to_yield "$low"
over "$high"
stop controller KILL
controller
signal n1 CONT
ok "the job keeps running when the preempting job is gone and the controller was killed" \
    wait_for 40 eval 'state_is "$low" Running && ! is_to_yield "$low"'
is "it has one attempt" "$(job "$low" .status.attempts)" 1

# --- the node is lost with both jobs ------------------------------------------
high=$(urgent -c 2)
ok "a job of higher priority runs on its cores" \
    wait_for 30 state_is "$high" Running
ok "the first job is frozen" wait_for 20 state_is "$low" Frozen
node n2
stop n1 KILL
ok "the node is lost, and the pod of higher priority is Unknown" \
    wait_for 30 phase_is "$high" Unknown
ok "the frozen pod is Unknown, too" wait_for 20 phase_is "$low" Unknown
third=$(as kilntest1 ksub --parsable -o /dev/null -w n1 -c 1 -t 10 \
    --wrap 'exec sleep 1000')
stop controller KILL
controller
ok "this is the same with another controller" \
    wait_for 30 phase_is "$low" Unknown
root fence node n1 --yes >/dev/null 2>&1
ok "after a fence the job of higher priority is requeued on another node" \
    wait_for 40 is_on "$high" n2
ok "it runs" wait_for 20 state_is "$high" Running
is "the first job waits, or has started and is frozen for it" \
    "$(wait_for 20 eval \
    'case $(job "$low" .status.state) in Frozen | Pending | Requeued) ;; *) false ;; esac' && echo yes)" yes
over "$high"
ok "the first job runs when the other has ended" \
    wait_for 40 eval 'is_on "$low" n2 && state_is "$low" Running'
not_ok "it has no annotation to yield" is_to_yield "$low"
state_is "$third" Running
is "no job starts on the fenced node" "$?" 1

# --- the node is back ---------------------------------------------------------
cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 300ms
wait_for 20 node_is n1 Ready
root unfence node n1 >/dev/null
ok "a job runs on the node after it was unfenced" \
    wait_for 40 state_is "$third" Running
over "$third"
whole=$(as kilntest1 ksub --parsable -o /dev/null -w n1 -c 4 -t 10 \
    --wrap 'exec sleep 1000')
ok "a job runs on all of its cores" wait_for 40 state_is "$whole" Running
over "$whole"
over "$low"

finish
