#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Users whom a partition does not allow cannot use it: not by its name, not by
# the label of its nodes, not by the names of the nodes, and not by a later
# change.

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
cluster_controller --socket "$cluster/socket" --agent-labels kiln.hpc/partition
cluster_agent n1 --topology 'package:1 core:4 pu:1' \
    --label kiln.hpc/partition=gpu
are_ready() { [ "$(root get nodes --no-headers | grep -cw Ready)" = 1 ]; }
wait_for 20 are_ready || bail_out "no node"
root taint nodes n1 kiln.hpc/virtual- >/dev/null
partitions=/apis/kiln.hpc/v1/partitions
root apply -f - >/dev/null <<'TXT'
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: gpu}
spec:
  selector: {matchLabels: {kiln.hpc/partition: gpu}}
  allowedUsers: [kilntest1]
  defaultTime: 1h
  maximumTime: 2h
---
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: all}
spec:
  isDefault: true
  defaultTime: 24h
  selector:
    matchExpressions:
    - {key: kiln.hpc/partition, operator: NotIn, values: [gpu]}
TXT
label='"nodeSelector":{"kiln.hpc/partition":"gpu"},'
name='"placement":{"partition":"gpu"},'
affinity() { # TERM...
    printf '"affinity":{"nodeAffinity":{%s:{"nodeSelectorTerms":[%s]}}},' \
        '"requiredDuringSchedulingIgnoredDuringExecution"' "$1"
}
by_label='{"matchExpressions":[{"key":"kiln.hpc/partition","operator":"In",
"values":["gpu"]}]}'
by_node='{"matchFields":[{"key":"metadata.name","operator":"In",
"values":["n1"]}]}'

# --- who may use the partition ------------------------------------------------

is_allowed() {
    api kilntest1 POST "$pods" "$(pod_json mine "$name")" | grep -q '^201 '
}
ok "a user whom the partition allows can create a pod in it" \
    wait_for 10 is_allowed
placed() { [ "$(field root "$pods/$1" '.spec.nodeName // ""')" = n1 ]; }
ok "... and the pod is placed on its node" wait_for 20 placed mine
for kind in pod job; do
    to=$pods
    [ $kind = pod ] || to=$jobs
    body() { # SPEC
        if [ $kind = pod ]; then
            pod_json "other-$kind" "$1"
        else
            job_json "other-$kind" '' "$1"
        fi
    }
    refused Partition "another user cannot create a $kind that names the partition" \
        kilntest2 POST "$to" "$(body "$name")"
    refused Partition "... or selects the label of its nodes" \
        kilntest2 POST "$to" "$(body "$label")"
    refused Partition "... or selects that label in an affinity" \
        kilntest2 POST "$to" "$(body "$(affinity "$by_label")")"
    refused Partition "... or names it together with another partition" \
        kilntest2 POST "$to" \
        "$(body '"placement":{"partition":"all,gpu"},')"
done

# --- nodes that only this partition has ---------------------------------------

api kilntest2 POST "$pods" "$(pod_json any)" >/dev/null
api kilntest2 POST "$pods" "$(pod_json at \
    "$(affinity "$by_node,$by_label")")" >/dev/null
api kilntest2 POST "$pods" "$(pod_json label \
    "\"placement\":{\"partition\":\"all\"},$label")" >/dev/null
sleep 3
for pod in any at label; do
    is "the pod '$pod' of another user is not placed on a node of the partition" \
        "$(field root "$pods/$pod" '.spec.nodeName // "none"')" none
done
is "a pod that names no partition is in the default partition" \
    "$(field root "$pods/any" .spec.placement.partition)" all

# --- a Job of a CronJob -------------------------------------------------------

api kilntest2 POST "$cron_jobs" "$(cron_json other "$name")" >/dev/null
api kilntest1 POST "$cron_jobs" "$(cron_json mine "$name")" >/dev/null
ok "a CronJob can name the partition" cron_due other
cron_due mine
ok "no Job is created from the CronJob of another user, and an event says why" \
    wait_for 20 cron_told other 'partition gpu is not for user kilntest2'
makes() { root get jobs -o name | grep -q '/mine-'; }
ok "... but a Job is created from the CronJob of the allowed user" \
    wait_for 20 makes
unlike "... and none from the other CronJob" "$(root get jobs -o name)" /other-
root delete cronjobs other mine >/dev/null

# --- a later change -----------------------------------------------------------

api kilntest2 POST "$jobs" "$(job_json later '"suspend":true,' \
    '"placement":{"partition":"all"},')" >/dev/null
not_there() { # the Job's template still names the partition "all"
    [ "$(field root "$jobs/later" .spec.template.spec.placement.partition)" \
        = all ]
}
api kilntest2 PATCH "$jobs/later" \
    '{"spec":{"template":{"spec":{"placement":{"partition":"gpu"}}}}}' \
    "$merge" >/dev/null
ok "a held job of another user cannot be moved into the partition later" \
    not_there
api kilntest2 PATCH "$jobs/later" \
    '{"spec":{"template":{"spec":{"placement":null}}}}' "$merge" >/dev/null
ok "a held job cannot be moved out of every partition later" not_there
refused Partition "a pod with no time limit is refused, because the partition has a longest time" \
    kilntest1 POST "$pods" '{"apiVersion":"v1","kind":"Pod","metadata":
{"name":"long","annotations":{"kiln.hpc/time-limit":"none"}},"spec":{
"placement":{"partition":"gpu"},"containers":[{"name":"main","command":
["/bin/true"]}]}}'
refused Partition "a pod with a longer time limit than the longest time is refused" \
    kilntest1 POST "$pods" \
    "$(pod_json long "$name\"activeDeadlineSeconds\":7201,")"
api kilntest2 POST "$pods" "$(pod_json noted '' \
    ',"annotations":{"kiln.hpc/defaulted":"memory"}')" >/dev/null
is "a user cannot write the annotation that says which values are defaults" \
    "$(field root "$pods/noted" \
        '.metadata.annotations["kiln.hpc/defaulted"]')" partition,time

# --- the partition objects ----------------------------------------------------

forbidden "a user cannot create a partition" kilntest2 POST $partitions \
    '{"apiVersion":"kiln.hpc/v1","kind":"Partition","metadata":{"name":"own"}}'
forbidden "a user cannot change a partition" kilntest2 PATCH $partitions/gpu \
    '{"spec":{"allowedUsers":["kilntest2"]}}' "$merge"
forbidden "a user cannot delete a partition" kilntest2 DELETE $partitions/gpu
forbidden "a user cannot delete all partitions" kilntest2 DELETE $partitions
like "every user can read partitions" \
    "$(api kilntest2 GET $partitions/gpu)" '^200 '
forbidden "a user cannot label a node" kilntest2 PATCH /api/v1/nodes/n1 \
    '{"metadata":{"labels":{"kiln.hpc/partition":"own"}}}' "$merge"
finish
