#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A partition that is for some is for nobody else: not by its name, not by the
# label of its nodes, not by their names, and not by a change afterwards.

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

# --- whose it is ---------------------------------------------------------------

is_allowed() {
    api kilntest1 POST "$pods" "$(pod_json mine "$name")" | grep -q '^201 '
}
ok "a user that it names runs there" wait_for 10 is_allowed
placed() { [ "$(field root "$pods/$1" '.spec.nodeName // ""')" = n1 ]; }
ok "... on its node" wait_for 20 placed mine
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
    refused Partition "a $kind of another user that names it" \
        kilntest2 POST "$to" "$(body "$name")"
    refused Partition "... or the label of its nodes" \
        kilntest2 POST "$to" "$(body "$label")"
    refused Partition "... or that in an affinity" \
        kilntest2 POST "$to" "$(body "$(affinity "$by_label")")"
    refused Partition "... or it beside another" kilntest2 POST "$to" \
        "$(body '"placement":{"partition":"all,gpu"},')"
done

# --- nodes that only it has -------------------------------------------------------

api kilntest2 POST "$pods" "$(pod_json any)" >/dev/null
api kilntest2 POST "$pods" "$(pod_json at \
    "$(affinity "$by_node,$by_label")")" >/dev/null
api kilntest2 POST "$pods" "$(pod_json label \
    "\"placement\":{\"partition\":\"all\"},$label")" >/dev/null
sleep 3
for pod in any at label; do
    is "the pod '$pod' of another user has no node of it" \
        "$(field root "$pods/$pod" '.spec.nodeName // "none"')" none
done
is "that names none is in the default" \
    "$(field root "$pods/any" .spec.placement.partition)" all

# --- a Job of a CronJob ------------------------------------------------------------

api kilntest2 POST "$cron_jobs" "$(cron_json other "$name")" >/dev/null
api kilntest1 POST "$cron_jobs" "$(cron_json mine "$name")" >/dev/null
ok "a CronJob may name it" cron_due other
cron_due mine
ok "no Job is made of a CronJob that names another's, and an event says why" \
    wait_for 20 cron_told other 'partition gpu is for other users than kilntest2'
makes() { root get jobs -o name | grep -q '/mine-'; }
ok "... but of one that may" wait_for 20 makes
unlike "... and of no other" "$(root get jobs -o name)" /other-
root delete cronjobs other mine >/dev/null

# --- a change afterwards -------------------------------------------------------------

api kilntest2 POST "$jobs" "$(job_json later '"suspend":true,' \
    '"placement":{"partition":"all"},')" >/dev/null
not_there() { # what the Job's pods may use
    [ "$(field root "$jobs/later" .spec.template.spec.placement.partition)" \
        = all ]
}
api kilntest2 PATCH "$jobs/later" \
    '{"spec":{"template":{"spec":{"placement":{"partition":"gpu"}}}}}' \
    "$merge" >/dev/null
ok "a job is not moved there afterwards" not_there
api kilntest2 PATCH "$jobs/later" \
    '{"spec":{"template":{"spec":{"placement":null}}}}' "$merge" >/dev/null
ok "nor out of every partition" not_there
refused Partition "no limit is not a way around the longest" \
    kilntest1 POST "$pods" '{"apiVersion":"v1","kind":"Pod","metadata":
{"name":"long","annotations":{"kiln.hpc/time-limit":"none"}},"spec":{
"placement":{"partition":"gpu"},"containers":[{"name":"main","command":
["/bin/true"]}]}}'
refused Partition "nor is more than it" kilntest1 POST "$pods" \
    "$(pod_json long "$name\"activeDeadlineSeconds\":7201,")"
api kilntest2 POST "$pods" "$(pod_json noted '' \
    ',"annotations":{"kiln.hpc/defaulted":"memory"}')" >/dev/null
is "what was given is not for users to note" \
    "$(field root "$pods/noted" \
        '.metadata.annotations["kiln.hpc/defaulted"]')" partition,time

# --- the partitions themselves ---------------------------------------------------------

forbidden "a user makes none" kilntest2 POST $partitions \
    '{"apiVersion":"kiln.hpc/v1","kind":"Partition","metadata":{"name":"own"}}'
forbidden "changes none" kilntest2 PATCH $partitions/gpu \
    '{"spec":{"allowedUsers":["kilntest2"]}}' "$merge"
forbidden "deletes none" kilntest2 DELETE $partitions/gpu
forbidden "and not all of them" kilntest2 DELETE $partitions
like "everybody may read them" "$(api kilntest2 GET $partitions/gpu)" '^200 '
forbidden "a user labels no node" kilntest2 PATCH /api/v1/nodes/n1 \
    '{"metadata":{"labels":{"kiln.hpc/partition":"own"}}}' "$merge"
finish
