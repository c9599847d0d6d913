#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A claim that another user made does not become a job's TMPDIR, whatever its
# name is and whatever owner it names. A pod does not protect the claim of
# another user from deletion.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # cluster.sh; called by others

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
cluster_agent n1 --scratch-dir "$cluster/n1/scratch" --scratch-capacity 1Gi
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"

claim_json() { # NAME [METADATA-MEMBERS]
    printf '{"apiVersion":"v1","kind":"PersistentVolumeClaim",
"metadata":{"name":"%s"%s},"spec":{"accessModes":["ReadWriteOnce"],
"storageClassName":"node-local","resources":{"requests":{"storage":"1M"}}}}' \
        "$1" "${2-}"
}
# reference NAME UID: prints a member of metadata, an owner reference to a pod.
reference() {
    printf ',"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"%s",
"uid":"%s","controller":true}]' "$@"
}
gate='"schedulingGates":[{"name":"kiln.hpc/wait"}],'
ungate='{"spec":{"schedulingGates":null}}'
scratch='"volumes":[{"name":"tmp","ephemeral":{"volumeClaimTemplate":{
"metadata":{"annotations":{"kiln.hpc/uid":"0","kiln.hpc/gid":"0",
"pv.kubernetes.io/bind-completed":"yes"}},
"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"node-local",
"resources":{"requests":{"storage":"1M"}}}}}}],'
named() { printf '"volumes":[{"name":"%s",
"persistentVolumeClaim":{"claimName":"%s"}}],' "$1" "$2"; }
phase_is() { [ "$(field root "$pods/$1" .status.phase)" = "$2" ]; }

# --- names of future jobs -----------------------------------------------------

for name in job-1-0-tmp job-7-0-tmp job-7; do
    refused JobName "a user cannot create a claim called $name" \
        kilntest2 POST "$claims" "$(claim_json $name)"
done
refused JobName "a user cannot generate a claim's name that starts with such a name" \
    kilntest2 POST "$claims" \
    "$(claim_json x | sed 's/"name":"x"/"generateName":"job-7-0-tmp"/')"
refused JobName "a user cannot generate a claim's name whose random end may make it such a name" \
    kilntest2 POST "$claims" \
    "$(claim_json x | sed 's/"name":"x"/"generateName":"job-"/')"

# --- a claim that exists before its pod ---------------------------------------

like "a user creates a claim with the name that a claim of a future pod will have" \
    "$(api kilntest2 POST "$claims" "$(claim_json train-tmp)")" '^201 '
api kilntest1 POST "$pods" "$(pod_json train "$gate$scratch")" >/dev/null
uid=$(field root "$pods/train" .metadata.uid)
refused "ClaimOwner|OwnerReferences" \
    "a user cannot add an owner reference with the pod's uid to the claim" \
    kilntest2 PATCH \
    "$claims/train-tmp" "{\"metadata\":{$(reference train "$uid" |
        sed 's/^,//')}}" $merge
refused ClaimOwner "a user cannot create a claim with an owner reference to the pod" \
    kilntest2 POST "$claims" \
    "$(claim_json other "$(reference train "$uid" | sed s/true/false/)")"
like "an administrator can add that owner reference" \
    "$(api root PATCH "$claims/train-tmp" \
    "{\"metadata\":{$(reference train "$uid" | sed 's/^,//')}}" $merge)" \
    '^200 '
api kilntest2 PATCH "$claims/train-tmp" \
    '{"metadata":{"ownerReferences":null}}' $merge >/dev/null
is "the user cannot remove the owner reference" \
    "$(field root "$claims/train-tmp" \
    '.metadata.ownerReferences | length')" 1
api kilntest1 PATCH "$pods/train" "$ungate" $merge >/dev/null
told() { root describe pod "$1" | grep -q "$2"; }
ok "the pod does not use the claim, although it is named as its owner" \
    wait_for 20 told train \
    'was not created for pod'
ok "the pod waits" phase_is train Pending
api kilntest2 DELETE "$claims/train-tmp" >/dev/null
ok "when the claim is deleted, the pod gets a claim of its own and succeeds" \
    wait_for 20 phase_is train Succeeded

# --- the claim template in a pod ----------------------------------------------

api kilntest1 POST "$pods" "$(pod_json own "$gate$scratch")" >/dev/null
made() { api root GET "$claims/own-tmp" | grep -q '^200'; }
ok "a claim is created for a pod from its template" wait_for 20 made
is "the claim belongs to the pod's user, whatever the template says" \
    "$(field root "$claims/own-tmp" \
    '.metadata.annotations | "\(.["kiln.hpc/uid"]) \(
        .["pv.kubernetes.io/bind-completed"])"')" "$(id -u kilntest1) null"
api kilntest1 DELETE "$pods/own" >/dev/null

# --- TMPDIR -------------------------------------------------------------------

like "a user creates a claim" \
    "$(api kilntest2 POST "$claims" "$(claim_json data)")" '^201 '
api kilntest2 POST "$pods" "$(pod_json fills "$(named data data)")" >/dev/null
ok "the user's pod runs with the claim, which creates a volume" \
    wait_for 20 phase_is fills Succeeded
api kilntest2 POST "$pods" "$(pod_json mine "$(named tmp data)")" >/dev/null
ok "the claim can be the TMPDIR of another pod of the same user" \
    wait_for 20 phase_is mine Succeeded
api kilntest1 POST "$pods" "$(pod_json yours "$(named tmp data)")" >/dev/null
ok "it cannot be the TMPDIR of another user's pod" \
    wait_for 20 phase_is yours Failed
like "that user's pod says why it failed" "$(root describe pod yours)" \
    'would be TMPDIR, but belongs to uid'

# --- whose pods protect a claim -----------------------------------------------

api kilntest2 DELETE "$pods/fills" >/dev/null
api kilntest2 POST "$pods" "$(pod_json keeps "$gate$(named data data)")" \
    >/dev/null
api kilntest1 POST "$pods" "$(pod_json sits "$gate$(named data data)")" \
    >/dev/null
api kilntest2 DELETE "$claims/data" >/dev/null
is "a pod of its owner protects a claim from deletion" \
    "$(field root "$claims/data" \
    '.metadata | .finalizers[0]')" kubernetes.io/pvc-protection
api kilntest2 DELETE "$pods/keeps?gracePeriodSeconds=0" >/dev/null
claim_is_gone() { api root GET "$claims/data" | grep -q '^404'; }
ok "a pod of another user does not protect the claim" wait_for 20 claim_is_gone
ok "that other user's pod still exists" phase_is sits Pending
finish
