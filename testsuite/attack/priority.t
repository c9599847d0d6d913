#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs go before others or preempt them only through a priority class that
# their owner may use. Neither the number of a class without the class nor a
# preemption policy in the job has that effect.

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
with() { # KIND CLASS: prints a pod or a job
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
        ok "a user can create a $kind of class $name, which is not above the default" \
            used_by kilntest2 $name
    done
    refused PriorityClassUse "a $kind of a higher class that names nobody is refused" \
        kilntest2 POST "$to" "$(with $kind closed)"
    ok "a $kind of a class that names the user is accepted" \
        wait_for 10 used_by kilntest1 named
    ok "a $kind of a class that names the user's group is accepted" \
        wait_for 10 used_by kilntest1 grouped
    for name in named grouped; do
        refused PriorityClassUse "another user cannot use the class $name for a $kind" \
            kilntest2 POST "$to" "$(with $kind $name)"
    done
    ok "a $kind of a class that names the namespace is accepted" \
        used_by kilntest2 local
    ok "a $kind of a class that names everybody is accepted" \
        used_by kilntest2 open
    ok "an administrator can use any class for a $kind" used_by_root closed
done
like "a user who is refused is told which classes are allowed" \
    "$(as kilntest2 ksub \
    --priority closed --wrap true 2>&1)" \
    'PriorityClassUse: .*may use .*local, low, open, polite, same, usual'
unlike "the message does not name classes that the user may not use" \
    "$(as kilntest2 ksub \
    --priority closed --wrap true 2>&1)" 'may use .*grouped'

# --- later changes ------------------------------------------------------------

# hold CLASS [POD-SPEC-MEMBERS]: creates a held job of kilntest2, whose path is
# then in $job.
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
like "a user creates a held job of a class that is open to everybody" \
    "$hold_answer" '^201 '
refused PriorityClassUse "the class cannot be changed to one that the owner may not use" \
    kilntest2 PATCH \
    "$job" "$(template '"priorityClassName":"closed"')" $merge
like "the class can be changed to a lower one" "$(api kilntest2 PATCH "$job" \
    "$(template '"priorityClassName":"low"')" $merge)" '^200 '
hold open '"priority":1004,'
like "a job can state the number of its class" "$hold_answer" '^201 '
refused Priority "the number cannot be kept without the class" kilntest2 PATCH \
    "$job" "$(template '"priorityClassName":null')" $merge
refused Priority "the number cannot be kept with a lower class" \
    kilntest2 PATCH \
    "$job" "$(template '"priorityClassName":"low"')" $merge
like "the class and the number can be removed together" \
    "$(api kilntest2 PATCH "$job" "$(template \
    '"priorityClassName":null,"priority":null')" $merge)" '^200 '
is "the job then has no priority" "$(number)" null

hold polite
like "a user can use a class whose policy is to preempt nobody" \
    "$hold_answer" '^201 '
refused Priority "the template of a job cannot have another policy than its class" \
    kilntest2 POST \
    "$jobs" "$(job_json "mine" '' \
        '"priorityClassName":"polite","preemptionPolicy":"PreemptLowerPriority",')"
refused Priority "the template of an administrator's job cannot either" \
    root POST \
    "$jobs" "$(job_json "mine" '' \
        "$as_user"'"priorityClassName":"polite","preemptionPolicy":"PreemptLowerPriority",')"
like "the template can state the policy of its class" \
    "$(api kilntest2 POST "$jobs" \
    "$(job_json "mine" '"suspend":true,' \
        '"priorityClassName":"polite","preemptionPolicy":"Never",')")" '^201 '
refused Priority "that policy cannot be kept with another class" \
    kilntest2 PATCH \
    "$jobs/mine" "$(template '"priorityClassName":"open"')" $merge

# --- existing jobs keep their class -------------------------------------------

hold open
like "a user creates a job of a class that is open to everybody" \
    "$hold_answer" '^201 '
root annotate priorityclass open kiln.hpc/allowed-users- >/dev/null
closed_now() {
    api kilntest2 POST "$pods" "$(pod_json other \
        "$gate\"priorityClassName\":\"open\",")" | grep -q '^403 '
}
closes() {
    closed_now || { api kilntest2 DELETE "$pods/other" >/dev/null; false; }
}
ok "the class is closed to users later" wait_for 10 closes
like "the job can still be changed, and keeps its class" \
    "$(api kilntest2 PATCH "$job" \
    '{"metadata":{"labels":{"a":"b"}}}' $merge)" '^200 '
api kilntest2 PATCH "$job" '{"spec":{"suspend":false}}' $merge >/dev/null
pod_priority() {
    [ "$(field root "$pods?labelSelector=batch.kubernetes.io/job-name=${job##*/}" \
        '.items[].spec.priority')" = 1004 ]
}
ok "the pods of the job have the priority of the class" wait_for 20 pod_priority
finish
