#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An eviction that is refused uses up none of the budget by which others'
# pods are evicted, and marks no pod.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
node_is_there() { root get node n1; }
wait_for 20 node_is_there || bail_out "the node does not come"
for key in $(field root /api/v1/nodes/n1 '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

root apply -f - >/dev/null <<'TXT'
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b},
 spec: {maxUnavailable: 1, selector: {matchLabels: {app: x}}}}
TXT
for user in 1 2; do
    api kilntest$user POST "$pods" "$(pod_json "p$user" '' \
        ',"labels":{"app":"x"}' | sed 's|"/bin/true"|"/bin/sleep","60"|')" \
        >/dev/null
done
both_run() {
    [ "$(root get pods -o json |
        jq '[.items[] | select(.status.phase == "Running")] | length')" = 2 ]
}
ok "two users' pods run" wait_for 20 both_run
budget=/apis/policy/v1/namespaces/default/poddisruptionbudgets/b
allowed() { [ "$(field root "$budget" .status.disruptionsAllowed)" = "$1" ]; }
ok "one of them may be evicted" wait_for 20 allowed 1

eviction() { # POD PRECONDITIONS
    printf '{"apiVersion":"policy/v1","kind":"Eviction","metadata":
{"name":"%s"},"deleteOptions":{"preconditions":{%s}}}' "$1" "$2"
}
for what in '"uid":"7d1c2c2e-0000-4000-8000-000000000000"' \
    '"resourceVersion":"1"'; do
    like "an eviction of another pod is refused" "$(api kilntest1 POST \
        "$pods/p1/eviction" "$(eviction p1 "$what")")" '^409 '
done
ok "and has cost the budget nothing" allowed 1
is "nor marked the pod" "$(field root "$pods/p1" \
    '[.status.conditions[]? | select(.type == "DisruptionTarget")] | length')" 0
like "one that names the right one is not" "$(api root POST \
    "$pods/p2/eviction" "$(eviction p2 "\"uid\":$(field root "$pods/p2" \
        '.metadata.uid | tojson'),\"resourceVersion\":$(field root "$pods/p2" \
        '.metadata.resourceVersion | tojson')")")" '^201 '
finish
