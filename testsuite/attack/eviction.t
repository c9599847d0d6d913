#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A refused eviction does not use the disruption budget on which evictions of
# other users' pods depend, and does not mark the pod.

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
ok "the pods of two users run" wait_for 20 both_run
budget=/apis/policy/v1/namespaces/default/poddisruptionbudgets/b
allowed() { [ "$(field root "$budget" .status.disruptionsAllowed)" = "$1" ]; }
ok "the budget allows one eviction" wait_for 20 allowed 1

eviction() { # POD PRECONDITIONS
    printf '{"apiVersion":"policy/v1","kind":"Eviction","metadata":
{"name":"%s"},"deleteOptions":{"preconditions":{%s}}}' "$1" "$2"
}
for what in '"uid":"7d1c2c2e-0000-4000-8000-000000000000"' \
    '"resourceVersion":"1"'; do
    like "an eviction with a precondition that does not hold is refused" \
        "$(api kilntest1 POST \
        "$pods/p1/eviction" "$(eviction p1 "$what")")" '^409 '
done
ok "the refused evictions did not use the budget" allowed 1
is "they did not mark the pod as a disruption target" "$(field root "$pods/p1" \
    '[.status.conditions[]? | select(.type == "DisruptionTarget")] | length')" 0
like "an eviction whose preconditions hold succeeds" "$(api root POST \
    "$pods/p2/eviction" "$(eviction p2 "\"uid\":$(field root "$pods/p2" \
        '.metadata.uid | tojson'),\"resourceVersion\":$(field root "$pods/p2" \
        '.metadata.resourceVersion | tojson')")")" '^201 '
finish
