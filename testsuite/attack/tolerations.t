#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A node that is drained, broken or not approved does not run a user's job,
# whichever taints the job claims to tolerate.

# shellcheck disable=SC2119,SC2154 # cluster.sh

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kctl jq curl
if ! cluster_user kilntest1; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"

gate='"schedulingGates":[{"name":"wait"}],'
tolerating() { printf '%s"tolerations":[%s],' "$gate" "$1"; }
key() { printf '{"key":"%s","operator":"Exists"}' "$1"; }
for taint in node.kubernetes.io/unschedulable kiln.hpc/not-approved \
    node.kubernetes.io/out-of-service kiln.hpc/hardware-missing \
    kiln.hpc/hook-failed kiln.hpc/self-check-failed kiln.hpc/health-check-failed; do
    refused Tolerations "a user's pod cannot tolerate $taint" \
        kilntest1 POST "$pods" \
        "$(pod_json p "$(tolerating "$(key $taint)")")"
    refused Tolerations "the template of a user's job cannot tolerate $taint" \
        kilntest1 POST "$jobs" \
        "$(job_json j '"suspend":true,' "$(tolerating "$(key $taint)")")"
done
refused Tolerations "a user's pod cannot tolerate all taints" \
    kilntest1 POST "$pods" \
    "$(pod_json p "$(tolerating '{"operator":"Exists"}')")"
refused Tolerations "a user's pod cannot tolerate all taints of one effect" \
    kilntest1 POST "$pods" \
    "$(pod_json p "$(tolerating '{"operator":"Exists","effect":"NoSchedule"}')")"
like "a user's pod can tolerate taints of the site" \
    "$(api kilntest1 POST "$pods" \
    "$(pod_json p "$(tolerating "$(key site/gpu)")")")" '^201 '
list=$(field root "$pods/p" .spec.tolerations)
refused Tolerations "a user cannot add a toleration to a pod later" \
    kilntest1 PATCH "$pods/p" \
    "{\"spec\":{\"tolerations\":$(printf '%s' "$list" |
        jq -c '. + [{"operator":"Exists"}]')}}" $merge
like "a pod keeps the tolerations that the API added" \
    "$(api kilntest1 PATCH "$pods/p" \
    '{"metadata":{"labels":{"a":"b"}}}' $merge)" '^200 '
like "an administrator's pod can tolerate all taints" \
    "$(api root POST "$pods" "$(pod_json q \
    "$(tolerating '{"operator":"Exists"}')\"securityContext\":{\"runAsUser\":$(id -u kilntest1)},")")" \
    '^201 '
like "the owner of such a pod can change its other fields" \
    "$(api kilntest1 PATCH \
    "$pods/q" '{"metadata":{"labels":{"a":"b"}}}' $merge)" '^200 '
finish
