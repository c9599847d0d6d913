#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The controller is killed again and again while an array runs and ends: each
# element runs once, and is counted once in history and in the Job. With
# KILN_LONG there are 2,000 elements and 50 kills.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
n=200 kills=4
[ -z "${KILN_LONG-}" ] || n=2000 kills=50
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:8 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

mkdir -m 777 "$cluster/ran"
printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"many"},
    "spec":{"array":{"tasks":"0-%d"},"template":{"spec":{
    "restartPolicy":"Never","containers":[{"name":"main","image":"host",
    "command":["/bin/sh","-c",
    "echo x >>%s/ran/$JOB_COMPLETION_INDEX; exit $((JOB_COMPLETION_INDEX %% 2))"],
    "resources":{"requests":{"cpu":"1"}}}]}}}}' $((n - 1)) "$cluster" |
    as kilntest1 kctl create -f - >/dev/null || bail_out "no array"

status() { root get job many -o json 2>/dev/null | jq -r "$1"; }
status_is() { [ "$(status "$1")" = "$2" ]; }
has_run() { [ "$(find "$cluster/ran" -type f | wc -l)" -ge "$1" ]; }
for kill in $(seq "$kills"); do
    wait_for 60 has_run $((kill * n / (kills + 1))) || break
    stop controller KILL
    cluster_controller --socket "$cluster/socket"
done
ok "the array ends although the controller was killed" \
    wait_for 120 status_is .status.state Failed
is "half of the elements have succeeded" "$(status .status.succeeded)" $((n / 2))
is "half of the elements have failed" "$(status .status.failed)" $((n / 2))
is "each element has run once" \
    "$(cat "$cluster"/ran/* | wc -l) $(find "$cluster/ran" -type f | wc -l)" \
    "$n $n"
id=$(status .status.id)
rows() { root history --job "$id" -o json | jq -r "$1"; }
all_rows() { [ "$(rows '.items | length')" -ge "$n" ]; }
ok "history has rows for all elements" wait_for 20 all_rows
is "each element has one row" \
    "$(rows '[.items[].index] | "\(length) \(unique | length)"')" \
    "$n $n"
is "no pod is left" "$(root get pods -o json | jq '.items | length')" 0
finish
