#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A wide job between small jobs is not delayed: small jobs start before it only
# if they do not delay it, also after the controller was killed.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
# Uses the order of submission, because by default short jobs are before long
# ones anyway.
cat >"$cluster/scheduler.yaml" <<'TXT'
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins:
      queueSort:
        disabled: [{name: "*"}]
        enabled: [{name: SubmissionOrder}]
TXT
cluster_controller --scheduler-config "$cluster/scheduler.yaml"
root() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 300ms
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
sub() { # CPUS MINUTES COMMAND: submits a job, prints its number
    as kilntest1 ksub --parsable -c "$1" -t "$2" -o /dev/null --wrap "$3"
}
state_is() { [ "$(root get job "job-$1" -o json | jq -r .status.state)" = "$2" ]; }
code_is() {
    [ "$(root get pods -l "batch.kubernetes.io/job-name=job-$1" -o json |
        jq -r '.items[0].status.cause.code')" = "$2" ]
}

a=$(sub 2 30 'exec sleep 1000')
b=$(sub 2 60 'exec sleep 1000')
ok "two small jobs occupy the node" wait_for 20 state_is "$b" Running
wide=$(sub 4 10 'exec sleep 1000')
ok "the wide job waits for resources" wait_for 20 code_is "$wide" Resources
long=$(sub 2 90 'exec sleep 1000')
short=$(sub 2 10 'exec sleep 1000')
as kilntest1 kctl cancel "$a" >/dev/null
ok "a small job that ends in time starts before the wide job" \
    wait_for 20 state_is "$short" Running
ok "a small job that would delay it waits, and says so" \
    wait_for 20 code_is "$long" Priority

stop controller KILL
cluster_controller --scheduler-config "$cluster/scheduler.yaml"
as kilntest1 kctl cancel "$short" >/dev/null
ok "that job still waits after the controller was killed" \
    wait_for 20 code_is "$long" Priority
as kilntest1 kctl cancel "$b" >/dev/null
ok "the wide job starts before it" wait_for 20 state_is "$wide" Running
is "the long job still waits" \
    "$(root get job "job-$long" -o json | jq -r .status.state)" Pending
as kilntest1 kctl cancel "$wide" >/dev/null
ok "the long job starts after the wide job" wait_for 20 state_is "$long" Running
finish
