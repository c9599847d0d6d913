#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What members of a namespace write stays in it, says who wrote it, and tells
# nothing of others' jobs; and whom an operator holds releases nobody else.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller ksub kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket" --operators kilntest2

# --- holds ---------------------------------------------------------------------

id=$(as kilntest1 ksub --parsable -H --wrap true)
ok "an operator holds a job that its owner holds" as kilntest2 kctl hold "$id"
like "its owner cannot release it, and is told by whom it is held" \
    "$(as kilntest1 kctl release "$id" 2>&1)" \
    "it is held by 'kilntest2'; only an operator can release it"
# Nor in any of the ways in which an annotation can be taken away.
job=$jobs/job-$id
whole() { # FILTER: the job as its owner reads it, changed by jq
    api kilntest1 GET "$job" | sed 's/^[0-9]* //' | jq -c "$1"
}
refused HeldJob "nor by a merge patch" kilntest1 PATCH "$job" \
    '{"metadata":{"annotations":{"kiln.hpc/hold":null,"kiln.hpc/hold-at":null}}}' \
    $merge
refused HeldJob "nor by one that takes all annotations away" kilntest1 PATCH \
    "$job" '{"metadata":{"annotations":null}}' $merge
# shellcheck disable=SC2016 # a directive of the patch
refused HeldJob "nor by a strategic one" kilntest1 PATCH "$job" \
    '{"metadata":{"annotations":{"$patch":"replace"}}}' \
    application/strategic-merge-patch+json
refused HeldJob "nor by a JSON patch" kilntest1 PATCH "$job" \
    '[{"op":"remove","path":"/metadata/annotations/kiln.hpc~1hold"}]' \
    application/json-patch+json
refused HeldJob "nor by one that moves it away" kilntest1 PATCH "$job" \
    '[{"op":"move","from":"/metadata/annotations/kiln.hpc~1hold",
"path":"/metadata/annotations/mine"}]' application/json-patch+json
refused HeldJob "nor by a PUT without it" kilntest1 PUT "$job" \
    "$(whole 'del(.metadata.annotations["kiln.hpc/hold"])')"
refused HeldJob "nor by one of other metadata" kilntest1 PUT "$job" \
    "$(whole '.metadata = {name: .metadata.name}')"
ssa() { # ANNOTATIONS
    printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"job-%s",
"annotations":{%s}}}' "$id" "$1"
}
apply="$job?fieldManager=me&force=true"
api kilntest1 PATCH "$apply" "$(ssa '"kiln.hpc/hold":"kilntest1"')" \
    application/apply-patch+yaml >/dev/null
is "whoever applies a hold of their own has that of the operator" \
    "$(field root "$job" '.metadata.annotations["kiln.hpc/hold"]')" kilntest2
refused HeldJob "and cannot give it up" kilntest1 PATCH "$apply" "$(ssa '')" \
    application/apply-patch+yaml
for forged in kilntest1 root '' kilntest2; do
    api kilntest1 PATCH "$job" '{"metadata":{"annotations":{"kiln.hpc/hold":"'$forged'",
"kiln.hpc/hold-at":"2001-01-01T00:00:00Z"}}}' $merge >/dev/null
    api kilntest1 PUT "$job" "$(whole '.metadata.annotations["kiln.hpc/hold"] =
"'$forged'"')" >/dev/null
done
is "a forged holder is not written" \
    "$(field root "$job" '.metadata.annotations["kiln.hpc/hold"]')" kilntest2
unlike "nor a forged time" \
    "$(field root "$job" '.metadata.annotations["kiln.hpc/hold-at"]')" '^2001'
like "it says still by whom it is held" \
    "$(as kilntest1 kctl release "$id" 2>&1)" "it is held by 'kilntest2'"
ok "an operator releases it" as kilntest2 kctl release "$id"
id=$(as kilntest1 ksub --parsable -H --wrap true)
for how in application/strategic-merge-patch+json $merge; do
    api kilntest2 PATCH "$jobs/job-$id" \
        '{"metadata":{"labels":{"seen":"yes"}}}' "$how" >/dev/null
done
ok "a label of an operator holds nothing" as kilntest1 kctl release "$id"
id=$(as kilntest1 ksub --parsable -H --wrap true)
api kilntest2 PATCH "$jobs/job-$id" \
    '[{"op":"replace","path":"/spec/suspend","value":true}]' \
    application/json-patch+json >/dev/null
not_ok "a patch of any form does" as kilntest1 kctl release "$id"

# --- namespaces ----------------------------------------------------------------

printf '{apiVersion: v1, kind: Namespace, metadata: {name: %s,
annotations: {kiln.hpc/members: %s}}}\n---\n' physics kilntest1 \
    chemistry kilntest2 | root apply -f - >/dev/null
in_physics=/api/v1/namespaces/physics
map() { # NAME [DATA]
    printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s"},
"data":{"key":"%s"}}' "$1" "${2:-secret}"
}
lease() {
    printf '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
"metadata":{"name":"%s"},"spec":{"holderIdentity":"me"}}' "$1"
}
event() { # NAME KIND OBJECT
    printf '{"apiVersion":"v1","kind":"Event","metadata":{"name":"%s",
"namespace":"default"},"involvedObject":{"kind":"%s","namespace":"default",
"name":"%s"},"reason":"Said","message":"as I like","type":"Normal"}' "$@"
}
is_made() { api kilntest1 POST "$in_physics/configmaps" "$(map mine)" |
    grep -q '^201 '; }
ok "a member makes a ConfigMap" wait_for 10 is_made
like "and reads it" "$(api kilntest1 GET "$in_physics/configmaps/mine")" \
    '^200 .*secret'
like "it says whose it is" "$(api kilntest1 GET \
    "$in_physics/configmaps/mine")" '"kiln.hpc/user": ?"kilntest1"'
like "and changes it" "$(api kilntest1 PATCH "$in_physics/configmaps/mine" \
    '{"metadata":{"annotations":{"kiln.hpc/user":"root"}}}' $merge)" \
    '^200 .*"kiln.hpc/user": ?"kilntest1"'
like "and its Lease" "$(api kilntest1 POST \
    /apis/coordination.k8s.io/v1/namespaces/physics/leases "$(lease l)")" '^201 '
for method in GET DELETE; do
    forbidden "others do not: $method one" kilntest2 $method \
        "$in_physics/configmaps/mine"
    forbidden "nor $method all of them" kilntest2 $method \
        "$in_physics/configmaps"
done
forbidden "nor those of all namespaces" kilntest2 GET /api/v1/configmaps
forbidden "nor watch them" kilntest2 GET "$in_physics/configmaps?watch=1"
forbidden "nor write" kilntest2 POST "$in_physics/configmaps" "$(map theirs)"
forbidden "nor take Leases" kilntest2 POST \
    /apis/coordination.k8s.io/v1/namespaces/physics/leases "$(lease m)"
forbidden "the controller's leases are nobody's" kilntest1 DELETE \
    /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler
refused JobName "a ConfigMap has no name of a job" kilntest1 POST \
    /api/v1/namespaces/default/configmaps "$(map job-7-data)"

# --- events --------------------------------------------------------------------

events=/api/v1/namespaces/default/events
like "a user tells of an own job" "$(api kilntest1 POST "$events" \
    "$(event e1 Job "job-$id")")" '^201 '
refused EventOwner "not of another's" kilntest2 POST "$events" \
    "$(event e2 Job "job-$id")"
forbidden "nor rewrites what another told" kilntest2 PATCH "$events/e1" \
    '{"message":"as you like"}' $merge
forbidden "nor deletes what was told" kilntest1 DELETE "$events"
like "its teller may write more" "$(api kilntest1 PATCH "$events/e1" \
    '{"message":"as I like now"}' $merge)" '^200 '
finish
