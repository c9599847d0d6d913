#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A wide job among small ones starts first: small ones pass it only where they
# do not delay it, also after the controller was killed.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
# In the order of submission: by default short jobs go first anyway.
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
sub() { # CPUS MINUTES COMMAND: its number
    as kilntest1 ksub --parsable -c "$1" -t "$2" -o /dev/null --wrap "$3"
}
state_is() { [ "$(root get job "job-$1" -o json | jq -r .status.state)" = "$2" ]; }
code_is() {
    [ "$(root get pods -l "batch.kubernetes.io/job-name=job-$1" -o json |
        jq -r '.items[0].status.cause.code')" = "$2" ]
}

a=$(sub 2 30 'exec sleep 1000')
b=$(sub 2 60 'exec sleep 1000')
ok "two small jobs have the node" wait_for 20 state_is "$b" Running
wide=$(sub 4 10 'exec sleep 1000')
ok "the wide one waits for room" wait_for 20 code_is "$wide" Resources
long=$(sub 2 90 'exec sleep 1000')
short=$(sub 2 10 'exec sleep 1000')
as kilntest1 kctl cancel "$a" >/dev/null
ok "one that ends in time passes it" wait_for 20 state_is "$short" Running
ok "one that would delay it does not, and says so" \
    wait_for 20 code_is "$long" Priority

stop controller KILL
cluster_controller --scheduler-config "$cluster/scheduler.yaml"
as kilntest1 kctl cancel "$short" >/dev/null
ok "nor does it after the controller was killed" \
    wait_for 20 code_is "$long" Priority
as kilntest1 kctl cancel "$b" >/dev/null
ok "the wide one starts first" wait_for 20 state_is "$wide" Running
is "and the other waits" \
    "$(root get job "job-$long" -o json | jq -r .status.state)" Pending
as kilntest1 kctl cancel "$wide" >/dev/null
ok "until its turn comes" wait_for 20 state_is "$long" Running
finish
