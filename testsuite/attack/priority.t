#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nobody goes before the others, or displaces them, but by a class that is his
# to use: not by its number without the class, not by a policy of his own.

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
cluster_controller --socket "$cluster/socket"

class() { # NAME VALUE [MEMBERS]
    printf '{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass,
metadata: {name: %s%s}, value: %s%s}\n---\n' "$1" "${3-}" "$2" "${4-}"
}
annotated() { printf ', annotations: {%s}' "$1"; }
{
    class usual 10 '' ', globalDefault: true'
    class low -5
    class same 10
    class closed 1000
    class named 1001 "$(annotated 'kiln.hpc/allowed-users: "bin, kilntest1"')"
    class grouped 1002 "$(annotated 'kiln.hpc/allowed-groups: kilntest1')"
    class local 1003 "$(annotated 'kiln.hpc/allowed-namespaces: default')"
    class open 1004 "$(annotated "kiln.hpc/allowed-users: '*'")"
    class polite 1005 "$(annotated "kiln.hpc/allowed-users: '*'")" \
        ', preemptionPolicy: Never'
} | root apply -f - >/dev/null
gate='"schedulingGates":[{"name":"kiln.hpc/wait"}],'
with() { # KIND CLASS: a body
    with_name=x$(cat /proc/sys/kernel/random/uuid)
    if [ "$1" = pod ]; then
        pod_json "$with_name" "$gate\"priorityClassName\":\"$2\","
    else
        job_json "$with_name" '"suspend":true,' "\"priorityClassName\":\"$2\","
    fi
}
as_user=$(printf '"securityContext":{"runAsUser":%s},' "$(id -u kilntest2)")
used_by_root() {
    api root POST "$to" "$(with "$kind" "$1" |
        sed "s/\"restartPolicy\"/$as_user&/")" | grep -q '^201 '
}
used_by() { api "$1" POST "$to" "$(with "$kind" "$2")" | grep -q '^201 '; }

for kind in pod job; do
    to=$pods
    [ $kind = pod ] || to=$jobs
    for name in usual low same; do
        ok "a $kind of a user has the class $name, not above the default" \
            used_by kilntest2 $name
    done
    refused PriorityClassUse "but not a higher one that names nobody" \
        kilntest2 POST "$to" "$(with $kind closed)"
    ok "one that names the user" wait_for 10 used_by kilntest1 named
    ok "or the user's group" wait_for 10 used_by kilntest1 grouped
    for name in named grouped; do
        refused PriorityClassUse "which are not another's: $name" \
            kilntest2 POST "$to" "$(with $kind $name)"
    done
    ok "one that names the namespace" used_by kilntest2 local
    ok "one that is everybody's" used_by kilntest2 open
    ok "an administrator has any" used_by_root closed
done
like "who is refused is told which there are" "$(as kilntest2 ksub \
    --priority closed --wrap true 2>&1)" \
    'PriorityClassUse: .*may use .*local, low, open, polite, same, usual'
unlike "and not which there are not" "$(as kilntest2 ksub \
    --priority closed --wrap true 2>&1)" 'may use .*grouped'

# --- later ---------------------------------------------------------------------

# hold CLASS [POD-SPEC-MEMBERS]: a held job of kilntest2, in $job.
held=0
hold() {
    held=$((held + 1))
    job=$jobs/held-$held
    hold_answer=$(api kilntest2 POST "$jobs" "$(job_json "held-$held" \
        '"suspend":true,' "\"priorityClassName\":\"$1\",${2-}")")
}
template() { printf '{"spec":{"template":{"spec":{%s}}}}' "$1"; }
number() { field root "$job" .spec.template.spec.priority; }

hold open
like "a held job may change its class" "$hold_answer" '^201 '
refused PriorityClassUse "not to one that is not its owner's" kilntest2 PATCH \
    "$job" "$(template '"priorityClassName":"closed"')" $merge
like "but down" "$(api kilntest2 PATCH "$job" \
    "$(template '"priorityClassName":"low"')" $merge)" '^200 '
hold open '"priority":1004,'
like "a job may say the number of its class" "$hold_answer" '^201 '
refused Priority "which it does not keep without the class" kilntest2 PATCH \
    "$job" "$(template '"priorityClassName":null')" $merge
refused Priority "nor with a lower one" kilntest2 PATCH \
    "$job" "$(template '"priorityClassName":"low"')" $merge
like "both go together" "$(api kilntest2 PATCH "$job" "$(template \
    '"priorityClassName":null,"priority":null')" $merge)" '^200 '
is "and are gone" "$(number)" null

hold polite
like "a class may displace nobody" "$hold_answer" '^201 '
refused Priority "which a job does not change in its template" kilntest2 POST \
    "$jobs" "$(job_json "mine" '' \
        '"priorityClassName":"polite","preemptionPolicy":"PreemptLowerPriority",')"
refused Priority "nor an administrator's" root POST \
    "$jobs" "$(job_json "mine" '' \
        "$as_user"'"priorityClassName":"polite","preemptionPolicy":"PreemptLowerPriority",')"
like "what the class says may be said" "$(api kilntest2 POST "$jobs" \
    "$(job_json "mine" '"suspend":true,' \
        '"priorityClassName":"polite","preemptionPolicy":"Never",')")" '^201 '
refused Priority "and not be left with the class" kilntest2 PATCH \
    "$jobs/mine" "$(template '"priorityClassName":"open"')" $merge

# --- what stands stays ---------------------------------------------------------

hold open
like "a job is admitted by its class" "$hold_answer" '^201 '
root annotate priorityclass open kiln.hpc/allowed-users- >/dev/null
closed_now() {
    api kilntest2 POST "$pods" "$(pod_json other \
        "$gate\"priorityClassName\":\"open\",")" | grep -q '^403 '
}
closes() {
    closed_now || { api kilntest2 DELETE "$pods/other" >/dev/null; false; }
}
ok "which is nobody's later" wait_for 10 closes
like "the job changes, and keeps it" "$(api kilntest2 PATCH "$job" \
    '{"metadata":{"labels":{"a":"b"}}}' $merge)" '^200 '
api kilntest2 PATCH "$job" '{"spec":{"suspend":false}}' $merge >/dev/null
pod_priority() {
    [ "$(field root "$pods?labelSelector=batch.kubernetes.io/job-name=${job##*/}" \
        '.items[].spec.priority')" = 1004 ]
}
ok "its pods go by it" wait_for 20 pod_priority
finish
