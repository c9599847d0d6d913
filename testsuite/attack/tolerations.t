#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A node that is drained, broken or not approved takes no user's job, whatever
# taints it says that it tolerates.

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
    kiln.hpc/hook-failed kiln.hpc/self-check-failed; do
    refused Tolerations "a pod does not tolerate $taint" kilntest1 POST "$pods" \
        "$(pod_json p "$(tolerating "$(key $taint)")")"
    refused Tolerations "nor does a job's template" kilntest1 POST "$jobs" \
        "$(job_json j '"suspend":true,' "$(tolerating "$(key $taint)")")"
done
refused Tolerations "nor everything" kilntest1 POST "$pods" \
    "$(pod_json p "$(tolerating '{"operator":"Exists"}')")"
refused Tolerations "with an effect or without" kilntest1 POST "$pods" \
    "$(pod_json p "$(tolerating '{"operator":"Exists","effect":"NoSchedule"}')")"
like "the site's own taints it may name" "$(api kilntest1 POST "$pods" \
    "$(pod_json p "$(tolerating "$(key site/gpu)")")")" '^201 '
list=$(field root "$pods/p" .spec.tolerations)
refused Tolerations "to which no other comes later" kilntest1 PATCH "$pods/p" \
    "{\"spec\":{\"tolerations\":$(printf '%s' "$list" |
        jq -c '. + [{"operator":"Exists"}]')}}" $merge
like "those of the API's own are kept" "$(api kilntest1 PATCH "$pods/p" \
    '{"metadata":{"labels":{"a":"b"}}}' $merge)" '^200 '
like "an administrator may" "$(api root POST "$pods" "$(pod_json q \
    "$(tolerating '{"operator":"Exists"}')\"securityContext\":{\"runAsUser\":$(id -u kilntest1)},")")" \
    '^201 '
like "and its owner may still change such a one" "$(api kilntest1 PATCH \
    "$pods/q" '{"metadata":{"labels":{"a":"b"}}}' $merge)" '^200 '
finish
