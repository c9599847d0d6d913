#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What an object says of its owners gives its writer no power over them: not
# over how another's job counts and ends, not over who reads its script, not
# over its deletion.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
state_is() { root get job "$1" --no-headers | grep -qw "$2"; }

id=$(as kilntest1 ksub --parsable --wrap 'exec sleep 1000')
ok "a user's job runs" wait_for 20 state_is "$id" Running
uid=$(field root "$jobs/job-$id" .metadata.uid)
pod_uid=$(field root "$pods/job-$id-0" .metadata.uid)

# reference API-VERSION KIND NAME UID [MEMBERS]: members of metadata.
reference() {
    printf ',"ownerReferences":[{"apiVersion":"%s","kind":"%s","name":"%s",
"uid":"%s"%s}]' "$@"
}
controller=',"controller":true'
blocks=',"blockOwnerDeletion":true'

for kind in apps/v1/ReplicaSet v1/Job v1/Pod batch/v1/CronJob; do
    refused "OwnerReferences|JobPod" "no pod is controlled by another's job, \
called ${kind##*/} of ${kind%/*}" kilntest2 POST "$pods" \
        "$(pod_json p1 '' "$(reference "${kind%/*}" "${kind##*/}" \
            "job-$id" "$uid" "$controller")")"
done
refused OwnerReferences "nor by another's pod" kilntest2 POST "$pods" \
    "$(pod_json p1 '' "$(reference v1 Pod "job-$id-0" "$pod_uid" \
        "$controller")")"
refused OwnerReferences "nor holds up its deletion" kilntest2 POST "$pods" \
    "$(pod_json p1 '' "$(reference v1 Pod "job-$id-0" "$pod_uid" "$blocks")")"
refused OwnerReferences "nor does a job hold up another's" \
    kilntest2 POST "$jobs" "$(job_json '' '"suspend":true,' | sed \
        "s|\"name\":\"\"|\"generateName\":\"job-\"$(reference batch/v1 Job \
            "job-$id" "$uid" "$blocks" | tr -d '\n')|")"
refused OwnerReferences "nor that of a node" kilntest2 POST "$pods" \
    "$(pod_json p1 '' "$(reference v1 Node n1 \
        "$(field root /api/v1/nodes/n1 .metadata.uid)" "$blocks")")"

gate='"schedulingGates":[{"name":"kiln.hpc/wait"}],'
like "a reference that claims nothing is anybody's to write" \
    "$(api kilntest2 POST "$pods" "$(pod_json p2 "$gate" \
        "$(reference apps/v1 ReplicaSet "job-$id" "$uid")")")" '^201 '
refused OwnerReferences "nor is the claim made later" kilntest2 PATCH \
    "$pods/p2" "{\"metadata\":{$(reference apps/v1 ReplicaSet "job-$id" \
        "$uid" "$controller" | sed 's/^,//')}}" $merge
p2=$(field kilntest2 "$pods/p2" .metadata.uid)
like "a pod may be its owner's other pod's" \
    "$(api kilntest2 POST "$pods" "$(pod_json p3 "$gate" \
        "$(reference v1 Pod p2 "$p2" "$controller$blocks")")")" '^201 '
refused OwnerReferences "but under its own uid alone" kilntest2 POST "$pods" \
    "$(pod_json p4 "$gate" "$(reference v1 Pod p2 "$uid" "$controller")")"
like "what stands may stay" "$(api kilntest2 PATCH "$pods/p3" \
    '{"metadata":{"labels":{"a":"b"}}}' $merge)" '^200 '

# --- as it may stand in the store ----------------------------------------------

# An administrator writes what users could write before there was the rule.
fail='"securityContext":{"runAsUser":UID,"runAsGroup":UID},'
fail=$(printf '%s' "$fail" | sed "s/UID/$(id -u kilntest2)/g")
like "a pod that passes for one of a ReplicaSet with the job's uid" \
    "$(api root POST "$pods" "$(pod_json p5 "$fail" \
        "$(reference apps/v1 ReplicaSet "job-$id" "$uid" "$controller")" |
        sed 's|/bin/true|/bin/false|')")" '^201 '
has_failed() { [ "$(field root "$pods/p5" .status.phase)" = Failed ]; }
ok "fails on its own" wait_for 20 has_failed
counts() {
    [ "$(field root "$jobs/job-$id" \
        '.status | "\(.active) \(.failed // 0) \(.exitCode // "none")"')" = \
        "1 0 none" ]
}
ok "the job does not count it" wait_for 20 counts
stop controller
cluster_controller --socket "$cluster/socket"
user_pods() { as kilntest1 kctl get jobs --no-headers | grep -qw Running; }
ok "nor after a restart" wait_for 10 user_pods
ok "which counts anew" wait_for 20 counts

like "one that holds up the job's deletion" \
    "$(api root POST "$pods" "$(pod_json p6 "$gate$fail" \
        "$(reference batch/v1 Job "job-$id" "$uid" "$blocks"),\"finalizers\":[\"example.net/stays\"]")")" '^201 '
api kilntest1 DELETE "$jobs/job-$id?propagationPolicy=Foreground" >/dev/null
is_gone() { api root GET "$jobs/job-$id" | grep -q ^404; }
ok "does not hold it up" wait_for 20 is_gone
# --- names that come from a job's -------------------------------------------------
api kilntest2 POST "$jobs" "$(job_json sim '"suspend":true,')" >/dev/null
for name in sim-0 sim-7 sim-0-r1; do
    refused JobName "the name of another's pod is not taken beforehand: $name" \
        kilntest1 POST "$pods" "$(pod_json "$name")"
done
refused JobName "nor that of its claim" kilntest1 POST "$claims" \
    '{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":
{"name":"sim-0-tmp"},"spec":{"accessModes":["ReadWriteOnce"],"resources":
{"requests":{"storage":"1Mi"}}}}'
for name in sim sim-x sim-2d; do
    like "others are free: $name" "$(api kilntest1 POST "$pods" \
        "$(pod_json "$name" '"schedulingGates":[{"name":"wait"}],')")" '^201 '
done
finish
