#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The server writes who did something, and users cannot write events about a
# node or about a job of another user. Nobody acts under the name of another
# user.

# shellcheck disable=SC2119,SC2154 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"

annotate() { # NAME VALUE: a merge patch
    printf '{"metadata":{"annotations":{"%s":"%s"}}}' "$1" "$2"
}
annotated() { # NAME ANNOTATIONS: a held job
    printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"%s",
"annotations":{%s}},"spec":{"suspend":true,"template":{"spec":{
"restartPolicy":"Never","containers":[{"name":"main"}]}}}}' "$@"
}
annotation() { field root "$1" ".metadata.annotations[\"$2\"]"; }

# --- who did it ---------------------------------------------------------------
for job in a b c; do
    api kilntest1 POST "$jobs" "$(job_json $job '"suspend":true,')" >/dev/null
done
like "a user can cancel an own job with root's name in the annotation" \
    "$(api kilntest1 PATCH \
    "$jobs/a" "$(annotate kiln.hpc/cancel 'root\u001b[2J\nforged')" $merge)" \
    '^200 '
is "the server writes the user's name into the annotation" \
    "$(annotation "$jobs/a" kiln.hpc/cancel)" \
    kilntest1
forged=
for name in cancel held-by deleted-by suspended-by requeued-by tasks-cancelled-by user uid; do
    forged="$forged${forged:+,}\"kiln.hpc/$name\":\"root\""
done
like "a user can submit a job with root's name in such annotations" \
    "$(api kilntest1 POST "$jobs" \
    "$(annotated d "$forged")")" '^201 '
is "none of these annotations keeps root's name" "$(field root "$jobs/d" \
    '.metadata.annotations | to_entries | map(select(.value == "root")) | length')" \
    0
as kilntest1 kctl cancel "$(field root "$jobs/b" .status.id)" >/dev/null
is "kctl cancel writes the user's name" \
    "$(annotation "$jobs/b" kiln.hpc/cancel)" kilntest1
root cancel "$(field root "$jobs/c" .status.id)" >/dev/null
is "an administrator's cancel writes the administrator's name" \
    "$(annotation "$jobs/c" kiln.hpc/cancel)" root
api kilntest1 PATCH "$jobs/c" "$(annotate kiln.hpc/cancel kilntest2)" $merge \
    >/dev/null
is "that name cannot be changed to that of a third user" \
    "$(annotation "$jobs/c" kiln.hpc/cancel)" root
api kilntest1 PATCH "$jobs/c" '{"metadata":{"annotations":{
"kiln.hpc/cancel":null}}}' $merge >/dev/null
is "...nor removed by the owner of the job" \
    "$(annotation "$jobs/c" kiln.hpc/cancel)" root

api kilntest1 POST "$jobs" "$(job_json arr '"array":{"tasks":"1-5"},"suspend":true,')" >/dev/null
id=$(field root "$jobs/arr" .status.id)
root cancel "${id}_2" >/dev/null
is "who cancelled a task of an array is written" \
    "$(annotation "$jobs/arr" kiln.hpc/tasks-cancelled-by)" root
api kilntest1 PATCH "$jobs/arr" "$(annotate kiln.hpc/tasks-cancelled-by kilntest2)" $merge >/dev/null
is "... and is not changed without a task" \
    "$(annotation "$jobs/arr" kiln.hpc/tasks-cancelled-by)" root
as kilntest1 kctl cancel "${id}_3" >/dev/null
is "... but by the next who cancels one" \
    "$(annotation "$jobs/arr" kiln.hpc/tasks-cancelled-by)" kilntest1

# --- every annotation and label that the source knows -------------------------

# In the template of a Job, in that of a CronJob, and on a pod: the value
# "forged" must reach no pod. (The values of these nine are the user's.)
users='comment|cpus-per-task|job-name|pids-limit|tasks|tasks-per-node|time-limit|total-tasks|variables'
known=$(grep -rhoE '"(kiln\.hpc|batch\.kubernetes\.io)/[a-z][a-z-]+"' \
    "$top_srcdir/src" | tr -d '"' | sort -u | grep -vE "/($users)\$")
ok "the source has such names" [ "$(echo "$known" | wc -l)" -gt 40 ]
all=$(echo "$known" | sed 's/.*/"&":"forged"/' | paste -sd,)
# (The validation of upstream refuses another uid in the label.)
labels=$(echo "$all" | sed 's/"[^"]*controller-uid":"forged",//')
forged='[(.metadata.annotations, .metadata.labels) // {} | to_entries[] |
    select(.value == "forged") | .key] | unique | join(" ")'
with_template() { # JSON: the same with all names in its pod template
    printf '%s' "$1" | tr -d '\n' |
        sed "s|\"template\":{|&\"metadata\":{\"annotations\":{$all},\"labels\":{$labels}},|"
}
like "a user can submit a Job with all of them in its template" \
    "$(api kilntest1 POST "$jobs" "$(with_template "$(job_json f)")")" '^201 '
has_pod() { api root GET "$pods/$1" | grep -q ^200; }
ok "its pod is created" wait_for 20 has_pod f-0
is "none of them reaches the pod" "$(field root "$pods/f-0" "$forged")" ""
is "the pod has its Job's name and number" "$(field root "$pods/f-0" \
    '.metadata.labels["batch.kubernetes.io/job-name"] + " " +
        .metadata.annotations["kiln.hpc/job-id"]')" \
    "f $(field root "$jobs/f" .status.id)"
like "a user can create a CronJob with all of them in its template" \
    "$(api kilntest1 POST "$cron_jobs" "$(with_template "$(cron_json fc)")")" '^201 '
cron_due fc
pod_of_cron_job() {
    pod=$(field root "$pods" '[.items[].metadata.name |
        select(startswith("fc-"))][0] // ""')
    [ -n "$pod" ]
}
ok "the pod of its Job is created" wait_for 20 pod_of_cron_job
is "none of them reaches that pod" "$(field root "$pods/$pod" "$forged")" ""
gate='"schedulingGates":[{"name":"wait"}],'
api kilntest1 POST "$pods" "$(pod_json bare "$gate")" >/dev/null
for name in $known; do
    for map in annotations labels; do
        api kilntest1 PATCH "$pods/bare" \
            "{\"metadata\":{\"$map\":{\"$name\":\"forged\"}}}" $merge
        api kilntest1 PATCH "$jobs/b" \
            "{\"metadata\":{\"$map\":{\"$name\":\"forged\"}}}" $merge
        api kilntest1 POST "$pods" "$(pod_json "bare-${name#*/}-$map" "$gate" \
            ",\"$map\":{\"$name\":\"forged\"}")"
    done
done >"$cluster/answers"
ok "each attempt was answered" [ "$(grep -cE '^(20[01]|403) ' "$cluster/answers")" = \
    "$(($(echo "$known" | wc -l) * 6))" ]
is "no pod that the user creates or changes has one of them" \
    "$(field root "$pods" "[.items[] | select(.metadata.name |
        startswith(\"bare\")) | $forged] | unique | join(\"\")")" ""
is "no such change of a Job takes another user's name" \
    "$(field root "$jobs/b" '[.metadata.annotations | to_entries[] | select(.value ==
        "forged" and (.key | test("/(user|uid|cancel|(held|deleted|suspended|requeued)-by|hold.*|freeze)$"))) |
        .key] | join(" ")')" ""

# --- the mark of the cluster, which raises job numbers ------------------------
cluster_uid=$(field root /api/v1/namespaces/kube-system .metadata.uid)
like "a user can send a mark of the cluster" \
    "$(api kilntest1 POST /api/v1/nodes/none/mark \
    "{\"mark\":\"$cluster_uid 281474976710000 1073741000 0123456789abcdef $(printf \
        '%064d' 0)\"}")" '^(201|403) '
api kilntest1 POST "$jobs" "$(job_json after-mark '"suspend":true,')" >/dev/null
ok "a mark that the cluster has not sealed uses up no job numbers" \
    [ "$(field root "$jobs/after-mark" .status.id)" -lt 100 ]

# --- events -------------------------------------------------------------------
events=/api/v1/namespaces/default/events
event() { # NAME KIND OBJECT
    printf '{"apiVersion":"v1","kind":"Event","metadata":{"name":"%s"},
"involvedObject":{"kind":"%s","name":"%s"},"reason":"NotReady",
"message":"m","type":"Warning","source":{"component":"kiln-scheduler"}}' "$@"
}
refused EventOwner "a user cannot write an event about a node" \
    kilntest1 POST $events "$(event e1 Node n1)"
refused EventOwner "a user cannot write an event about a namespace" \
    kilntest1 POST $events "$(event e2 Namespace default)"
api kilntest2 POST "$jobs" "$(job_json theirs '"suspend":true,')" >/dev/null
refused EventOwner "a user cannot write an event about a job of another user" \
    kilntest1 POST $events "$(event e3 Job theirs)"
like "a user can write an event about an own job" \
    "$(api kilntest1 POST $events "$(event e4 Job a)")" '^201 '
is "the event is about that job, and not about a later one of its name" \
    "$(field root $events/e4 .involvedObject.uid)" "$(field root "$jobs/a" .metadata.uid)"
refused EventOwner "a user cannot write an event about a job that does not exist yet" \
    kilntest1 POST $events "$(event e5 Job tomorrow)"
refused EventOwner "that event cannot be changed to be about another object" \
    kilntest1 PATCH $events/e4 \
    '{"involvedObject":{"kind":"Node","name":"n1"}}' $merge

# --- what a terminal shows ----------------------------------------------------
name='x\u202eevil\u2066\u200by\u2028z\u001b[31m\u009b5m\u00e9'
api kilntest1 POST "$jobs" \
    "$(annotated t "\"kiln.hpc/job-name\":\"$name\"")" >/dev/null
like "control and direction characters in names are replaced in tables" \
    "$(root get jobs)" \
    'x.evil..y.z.\[31m.5mé'
unlike "no byte of such characters is printed" \
    "$(root get jobs | od -An -tx1 | tr -d '\n')" \
    '1b|e2 80 ae|e2 81 a6|e2 80 8b|e2 80 a8|c2 9b'
finish
