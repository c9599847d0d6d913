#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An object that a member of a namespace writes stays there, names its author,
# and discloses nothing about jobs of others. Only an operator can release a
# job that an operator holds.

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

# --- holds --------------------------------------------------------------------

id=$(as kilntest1 ksub --parsable -H --wrap true)
ok "an operator can hold a job that its owner holds" \
    as kilntest2 kctl hold "$id"
like "the owner cannot release the job, and is told who holds it" \
    "$(as kilntest1 kctl release "$id" 2>&1)" \
    "it is held by 'kilntest2'; only an operator can release it"
# The owner cannot remove the annotation by any kind of write, either.
job=$jobs/job-$id
whole() { # FILTER: prints the job as its owner reads it, changed by the jq filter
    api kilntest1 GET "$job" | sed 's/^[0-9]* //' | jq -c "$1"
}
refused HeldJob "the owner cannot remove the hold by a merge patch" \
    kilntest1 PATCH "$job" \
    '{"metadata":{"annotations":{"kiln.hpc/hold":null,"kiln.hpc/hold-at":null}}}' \
    $merge
refused HeldJob "the owner cannot remove it by a merge patch that removes all annotations" \
    kilntest1 PATCH \
    "$job" '{"metadata":{"annotations":null}}' $merge
# shellcheck disable=SC2016 # a directive of the patch
refused HeldJob "the owner cannot remove it by a strategic merge patch" \
    kilntest1 PATCH "$job" \
    '{"metadata":{"annotations":{"$patch":"replace"}}}' \
    application/strategic-merge-patch+json
refused HeldJob "the owner cannot remove it by a JSON patch" \
    kilntest1 PATCH "$job" \
    '[{"op":"remove","path":"/metadata/annotations/kiln.hpc~1hold"}]' \
    application/json-patch+json
refused HeldJob "the owner cannot remove it by a JSON patch that moves the annotation" \
    kilntest1 PATCH "$job" \
    '[{"op":"move","from":"/metadata/annotations/kiln.hpc~1hold",
"path":"/metadata/annotations/mine"}]' application/json-patch+json
refused HeldJob "the owner cannot remove it by a PUT without the annotation" \
    kilntest1 PUT "$job" \
    "$(whole 'del(.metadata.annotations["kiln.hpc/hold"])')"
refused HeldJob "the owner cannot remove it by a PUT with only the name as metadata" \
    kilntest1 PUT "$job" \
    "$(whole '.metadata = {name: .metadata.name}')"
ssa() { # ANNOTATIONS
    printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"job-%s",
"annotations":{%s}}}' "$id" "$1"
}
apply="$job?fieldManager=me&force=true"
api kilntest1 PATCH "$apply" "$(ssa '"kiln.hpc/hold":"kilntest1"')" \
    application/apply-patch+yaml >/dev/null
is "a hold that the owner applies keeps the name of the operator" \
    "$(field root "$job" '.metadata.annotations["kiln.hpc/hold"]')" kilntest2
refused HeldJob "the owner cannot remove the applied hold" \
    kilntest1 PATCH "$apply" "$(ssa '')" \
    application/apply-patch+yaml
for forged in kilntest1 root '' kilntest2; do
    api kilntest1 PATCH "$job" '{"metadata":{"annotations":{"kiln.hpc/hold":"'$forged'",
"kiln.hpc/hold-at":"2001-01-01T00:00:00Z"}}}' $merge >/dev/null
    api kilntest1 PUT "$job" "$(whole '.metadata.annotations["kiln.hpc/hold"] =
"'$forged'"')" >/dev/null
done
is "a forged name of the holder is not written" \
    "$(field root "$job" '.metadata.annotations["kiln.hpc/hold"]')" kilntest2
unlike "a forged time of the hold is not written" \
    "$(field root "$job" '.metadata.annotations["kiln.hpc/hold-at"]')" '^2001'
like "the error still says who holds the job" \
    "$(as kilntest1 kctl release "$id" 2>&1)" "it is held by 'kilntest2'"
ok "an operator can release the job" as kilntest2 kctl release "$id"
id=$(as kilntest1 ksub --parsable -H --wrap true)
for how in application/strategic-merge-patch+json $merge; do
    api kilntest2 PATCH "$jobs/job-$id" \
        '{"metadata":{"labels":{"seen":"yes"}}}' "$how" >/dev/null
done
ok "a patch by an operator that sets only a label does not hold the job" \
    as kilntest1 kctl release "$id"
id=$(as kilntest1 ksub --parsable -H --wrap true)
api kilntest2 PATCH "$jobs/job-$id" \
    '[{"op":"replace","path":"/spec/suspend","value":true}]' \
    application/json-patch+json >/dev/null
not_ok "a JSON patch by an operator that suspends the job holds it" \
    as kilntest1 kctl release "$id"

# --- namespaces ---------------------------------------------------------------

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
ok "a member can create a ConfigMap" wait_for 10 is_made
like "the member can read the ConfigMap" \
    "$(api kilntest1 GET "$in_physics/configmaps/mine")" \
    '^200 .*secret'
like "the ConfigMap names its owner" "$(api kilntest1 GET \
    "$in_physics/configmaps/mine")" '"kiln.hpc/user": ?"kilntest1"'
like "the member can change it, but not its owner" \
    "$(api kilntest1 PATCH "$in_physics/configmaps/mine" \
    '{"metadata":{"annotations":{"kiln.hpc/user":"root"}}}' $merge)" \
    '^200 .*"kiln.hpc/user": ?"kilntest1"'
like "the member can create a Lease" "$(api kilntest1 POST \
    /apis/coordination.k8s.io/v1/namespaces/physics/leases "$(lease l)")" '^201 '
for method in GET DELETE; do
    forbidden "a user who is not a member cannot $method a ConfigMap" \
        kilntest2 $method \
        "$in_physics/configmaps/mine"
    forbidden "a user who is not a member cannot $method all ConfigMaps of the namespace" \
        kilntest2 $method \
        "$in_physics/configmaps"
done
forbidden "a user cannot list the ConfigMaps of all namespaces" \
    kilntest2 GET /api/v1/configmaps
forbidden "a user who is not a member cannot watch the ConfigMaps" \
    kilntest2 GET "$in_physics/configmaps?watch=1"
forbidden "a user who is not a member cannot create a ConfigMap" \
    kilntest2 POST "$in_physics/configmaps" "$(map theirs)"
forbidden "a user who is not a member cannot create a Lease" kilntest2 POST \
    /apis/coordination.k8s.io/v1/namespaces/physics/leases "$(lease m)"
forbidden "no user can delete the leases of the controller" kilntest1 DELETE \
    /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler
refused JobName "a ConfigMap cannot have a name that is reserved for jobs" \
    kilntest1 POST \
    /api/v1/namespaces/default/configmaps "$(map job-7-data)"

# --- events -------------------------------------------------------------------

events=/api/v1/namespaces/default/events
like "a user can write an event about an own job" \
    "$(api kilntest1 POST "$events" \
    "$(event e1 Job "job-$id")")" '^201 '
refused EventOwner "a user cannot write an event about a job of another user" \
    kilntest2 POST "$events" \
    "$(event e2 Job "job-$id")"
forbidden "a user cannot change an event that another user wrote" \
    kilntest2 PATCH "$events/e1" \
    '{"message":"as you like"}' $merge
forbidden "a user cannot delete events" kilntest1 DELETE "$events"
like "the author of an event can change its message" \
    "$(api kilntest1 PATCH "$events/e1" \
    '{"message":"as I like now"}' $merge)" '^200 '
finish
