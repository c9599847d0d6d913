#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The owner references of an object give its writer no power over the owners:
# not over how another user's job counts its pods and ends, not over who can
# read its script, and not over its deletion.

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
ok "the job of a user runs" wait_for 20 state_is "$id" Running
uid=$(field root "$jobs/job-$id" .metadata.uid)
pod_uid=$(field root "$pods/job-$id-0" .metadata.uid)

# reference API-VERSION KIND NAME UID [MEMBERS]: prints a member of metadata,
# an owner reference.
reference() {
    printf ',"ownerReferences":[{"apiVersion":"%s","kind":"%s","name":"%s",
"uid":"%s"%s}]' "$@"
}
controller=',"controller":true'
blocks=',"blockOwnerDeletion":true'

for kind in apps/v1/ReplicaSet v1/Job v1/Pod batch/v1/CronJob; do
    refused "OwnerReferences|JobPod" "a user's pod cannot be controlled by another user's job, \
called ${kind##*/} of ${kind%/*}" kilntest2 POST "$pods" \
        "$(pod_json p1 '' "$(reference "${kind%/*}" "${kind##*/}" \
            "job-$id" "$uid" "$controller")")"
done
refused OwnerReferences "a user's pod cannot be controlled by another user's pod" \
    kilntest2 POST "$pods" \
    "$(pod_json p1 '' "$(reference v1 Pod "job-$id-0" "$pod_uid" \
        "$controller")")"
refused OwnerReferences "a user's pod cannot block the deletion of another user's pod" \
    kilntest2 POST "$pods" \
    "$(pod_json p1 '' "$(reference v1 Pod "job-$id-0" "$pod_uid" "$blocks")")"
refused OwnerReferences "a user's job cannot block the deletion of another user's job" \
    kilntest2 POST "$jobs" "$(job_json '' '"suspend":true,' | sed \
        "s|\"name\":\"\"|\"generateName\":\"job-\"$(reference batch/v1 Job \
            "job-$id" "$uid" "$blocks" | tr -d '\n')|")"
refused OwnerReferences "a user's pod cannot block the deletion of a node" \
    kilntest2 POST "$pods" \
    "$(pod_json p1 '' "$(reference v1 Node n1 \
        "$(field root /api/v1/nodes/n1 .metadata.uid)" "$blocks")")"

gate='"schedulingGates":[{"name":"kiln.hpc/wait"}],'
like "a user can write an owner reference that neither controls nor blocks" \
    "$(api kilntest2 POST "$pods" "$(pod_json p2 "$gate" \
        "$(reference apps/v1 ReplicaSet "job-$id" "$uid")")")" '^201 '
refused OwnerReferences "the reference cannot be changed to a controlling one later" \
    kilntest2 PATCH \
    "$pods/p2" "{\"metadata\":{$(reference apps/v1 ReplicaSet "job-$id" \
        "$uid" "$controller" | sed 's/^,//')}}" $merge
p2=$(field kilntest2 "$pods/p2" .metadata.uid)
like "a pod can be controlled by another pod of its owner" \
    "$(api kilntest2 POST "$pods" "$(pod_json p3 "$gate" \
        "$(reference v1 Pod p2 "$p2" "$controller$blocks")")")" '^201 '
refused OwnerReferences "such a reference with a wrong uid is refused" \
    kilntest2 POST "$pods" \
    "$(pod_json p4 "$gate" "$(reference v1 Pod p2 "$uid" "$controller")")"
like "other fields of the pod can be changed afterwards" \
    "$(api kilntest2 PATCH "$pods/p3" \
    '{"metadata":{"labels":{"a":"b"}}}' $merge)" '^200 '

# --- references that may already be in the store ------------------------------

# An administrator writes references that users could write before this rule
# existed.
fail='"securityContext":{"runAsUser":UID,"runAsGroup":UID},'
fail=$(printf '%s' "$fail" | sed "s/UID/$(id -u kilntest2)/g")
like "an administrator creates a pod that claims to be of a ReplicaSet with the job's uid" \
    "$(api root POST "$pods" "$(pod_json p5 "$fail" \
        "$(reference apps/v1 ReplicaSet "job-$id" "$uid" "$controller")" |
        sed 's|/bin/true|/bin/false|')")" '^201 '
has_failed() { [ "$(field root "$pods/p5" .status.phase)" = Failed ]; }
ok "the pod fails" wait_for 20 has_failed
counts() {
    [ "$(field root "$jobs/job-$id" \
        '.status | "\(.active) \(.failed // 0) \(.exitCode // "none")"')" = \
        "1 0 none" ]
}
ok "the job does not count the pod" wait_for 20 counts
stop controller
cluster_controller --socket "$cluster/socket"
user_pods() { as kilntest1 kctl get jobs --no-headers | grep -qw Running; }
ok "the controller answers after a restart" wait_for 10 user_pods
ok "the job does not count the pod after a restart either" wait_for 20 counts

like "an administrator creates a pod that blocks the deletion of the job" \
    "$(api root POST "$pods" "$(pod_json p6 "$gate$fail" \
        "$(reference batch/v1 Job "job-$id" "$uid" "$blocks"),\"finalizers\":[\"example.net/stays\"]")")" '^201 '
api kilntest1 DELETE "$jobs/job-$id?propagationPolicy=Foreground" >/dev/null
is_gone() { api root GET "$jobs/job-$id" | grep -q ^404; }
ok "the pod does not block the deletion of the job" wait_for 20 is_gone
# --- names that are derived from the name of a job ----------------------------
api kilntest2 POST "$jobs" "$(job_json sim '"suspend":true,')" >/dev/null
for name in sim-0 sim-7 sim-0-r1; do
    refused JobName "another user cannot use the name of a job's future pod: $name" \
        kilntest1 POST "$pods" "$(pod_json "$name")"
done
refused JobName "another user cannot use the name of such a pod's claim" \
    kilntest1 POST "$claims" \
    '{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":
{"name":"sim-0-tmp"},"spec":{"accessModes":["ReadWriteOnce"],"resources":
{"requests":{"storage":"1Mi"}}}}'
for name in sim sim-x sim-2d; do
    like "another user can use a similar name: $name" \
        "$(api kilntest1 POST "$pods" \
        "$(pod_json "$name" '"schedulingGates":[{"name":"wait"}],')")" '^201 '
done

# --- names of PodGroups: each attempt of a job of several nodes has one -------

# gang_json NAME: a Job of one pod whose attempts are whole.
gang_json() {
    printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"%s"},"spec":{"suspend":true,
"parallelism":1,"completions":1,"completionMode":"Indexed","scheduling":{"schedulingPolicy":
{"gang":{}},"disruptionMode":{"all":{}}},"template":{"spec":{"execution":{"runs":"Each"},
"restartPolicy":"Never","containers":[{"name":"main","image":"host","command":["true"]}]}}}}' "$1"
}
groups=/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups
group_json() {
    printf '{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"name":"%s"},
"spec":{"schedulingPolicy":{"basic":{}}}}' "$1"
}
like "a job of several nodes" "$(api kilntest2 POST "$jobs" "$(gang_json mpi)")" '^201 '
for name in mpi mpi-r1 mpi-r12; do
    refused JobName "another user cannot make the PodGroup of its attempt: $name" \
        kilntest1 POST "$groups" "$(group_json "$name")"
done
refused JobName "...nor a job whose PodGroup would be that" \
    kilntest1 POST "$jobs" "$(gang_json mpi-r1)"
like "its user can" "$(api kilntest2 POST "$jobs" "$(gang_json mpi-r2)")" '^201 '
for name in mpi-rx mpi-r sim-r1; do
    like "another user can use a similar name: $name" \
        "$(api kilntest1 POST "$jobs" "$(job_json "$name" '"suspend":true,')")" '^201 '
done

# --- requests that only the job controller makes ------------------------------

mpi=$(field root "$jobs/mpi" .metadata.uid)
for who in kilntest1 kilntest2; do
    like "$who cannot make an attempt of the job" \
        "$(api $who POST "$jobs/mpi/gang" "{\"uid\":\"$mpi\",\"make\":[$(pod_json mpi-0)]}")" '^403 '
    like "...nor let it start" "$(api $who POST "$jobs/mpi/start" \
        "{\"uid\":\"$mpi\",\"pods\":[{\"name\":\"mpi-0\",\"uid\":\"x\"}]}")" '^403 '
done
for path in "$pods/sim-x/status" "$groups/mpi/status"; do
    like "a user cannot write ${path#*default/}" "$(api kilntest1 PATCH "$path" \
        '{"status":{"conditions":[{"type":"Prepared","status":"True"}]}}' $merge)" '^40[34] '
done
finish
