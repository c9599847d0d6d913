#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A claim that somebody else made does not become a job's TMPDIR, whatever it is
# called and whomever it says it belongs to; and nobody's pod keeps another
# user's claim.

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
# reference NAME UID: members of metadata.
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

# --- names that jobs will have -------------------------------------------------

for name in job-1-0-tmp job-7-0-tmp job-7; do
    refused JobName "no claim of a user is called $name" \
        kilntest2 POST "$claims" "$(claim_json $name)"
done
refused JobName "nor is one generated so" kilntest2 POST "$claims" \
    "$(claim_json x | sed 's/"name":"x"/"generateName":"job-7-0-tmp"/')"
refused JobName "nor with an end that may look so" kilntest2 POST "$claims" \
    "$(claim_json x | sed 's/"name":"x"/"generateName":"job-"/')"

# --- a claim that is there before its pod --------------------------------------

like "a claim with the name that a pod's will have" \
    "$(api kilntest2 POST "$claims" "$(claim_json train-tmp)")" '^201 '
api kilntest1 POST "$pods" "$(pod_json train "$gate$scratch")" >/dev/null
uid=$(field root "$pods/train" .metadata.uid)
refused "ClaimOwner|OwnerReferences" "is not given the pod's uid by a user" kilntest2 PATCH \
    "$claims/train-tmp" "{\"metadata\":{$(reference train "$uid" |
        sed 's/^,//')}}" $merge
refused ClaimOwner "nor is a new one made with its own" kilntest2 POST "$claims" \
    "$(claim_json other "$(reference train "$uid" | sed s/true/false/)")"
like "if an administrator wrote it" "$(api root PATCH "$claims/train-tmp" \
    "{\"metadata\":{$(reference train "$uid" | sed 's/^,//')}}" $merge)" \
    '^200 '
api kilntest2 PATCH "$claims/train-tmp" \
    '{"metadata":{"ownerReferences":null}}' $merge >/dev/null
is "a user does not take it away" "$(field root "$claims/train-tmp" \
    '.metadata.ownerReferences | length')" 1
api kilntest1 PATCH "$pods/train" "$ungate" $merge >/dev/null
told() { root describe pod "$1" | grep -q "$2"; }
ok "the pod does not use it all the same" wait_for 20 told train \
    'was not created for pod'
ok "and waits" phase_is train Pending
api kilntest2 DELETE "$claims/train-tmp" >/dev/null
ok "until it is gone, and one of its own is there" \
    wait_for 20 phase_is train Succeeded

# --- what a template says ------------------------------------------------------

api kilntest1 POST "$pods" "$(pod_json own "$gate$scratch")" >/dev/null
made() { api root GET "$claims/own-tmp" | grep -q '^200'; }
ok "a pod's claim is made for it" wait_for 20 made
is "for its user, whatever its template says" "$(field root "$claims/own-tmp" \
    '.metadata.annotations | "\(.["kiln.hpc/uid"]) \(
        .["pv.kubernetes.io/bind-completed"])"')" "$(id -u kilntest1) null"
api kilntest1 DELETE "$pods/own" >/dev/null

# --- TMPDIR --------------------------------------------------------------------

like "a user has a claim" \
    "$(api kilntest2 POST "$claims" "$(claim_json data)")" '^201 '
api kilntest2 POST "$pods" "$(pod_json fills "$(named data data)")" >/dev/null
ok "and a volume" wait_for 20 phase_is fills Succeeded
api kilntest2 POST "$pods" "$(pod_json mine "$(named tmp data)")" >/dev/null
ok "which may be the TMPDIR of that user's pod" \
    wait_for 20 phase_is mine Succeeded
api kilntest1 POST "$pods" "$(pod_json yours "$(named tmp data)")" >/dev/null
ok "but of no other's" wait_for 20 phase_is yours Failed
like "which is told why" "$(root describe pod yours)" \
    'would be TMPDIR, but belongs to uid'

# --- whose pods keep a claim ---------------------------------------------------

api kilntest2 DELETE "$pods/fills" >/dev/null
api kilntest2 POST "$pods" "$(pod_json keeps "$gate$(named data data)")" \
    >/dev/null
api kilntest1 POST "$pods" "$(pod_json sits "$gate$(named data data)")" \
    >/dev/null
api kilntest2 DELETE "$claims/data" >/dev/null
is "its owner's pod keeps a claim" "$(field root "$claims/data" \
    '.metadata | .finalizers[0]')" kubernetes.io/pvc-protection
api kilntest2 DELETE "$pods/keeps?gracePeriodSeconds=0" >/dev/null
claim_is_gone() { api root GET "$claims/data" | grep -q '^404'; }
ok "another's does not" wait_for 20 claim_is_gone
ok "which is there" phase_is sits Pending
finish
