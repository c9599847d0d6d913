#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who did something is the server's to say, and what an event tells of a node
# or of another's job is not for users: nobody acts under another's name.

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

# --- what was done -------------------------------------------------------------
for job in a b c; do
    api kilntest1 POST "$jobs" "$(job_json $job '"suspend":true,')" >/dev/null
done
like "who cancels his job cannot say that root did" "$(api kilntest1 PATCH \
    "$jobs/a" "$(annotate kiln.hpc/cancel 'root\u001b[2J\nforged')" $merge)" \
    '^200 '
is "the server says who it was" "$(annotation "$jobs/a" kiln.hpc/cancel)" \
    kilntest1
forged=
for name in cancel held-by deleted-by suspended-by requeued-by user uid; do
    forged="$forged${forged:+,}\"kiln.hpc/$name\":\"root\""
done
like "nor can he say so with the submission" "$(api kilntest1 POST "$jobs" \
    "$(annotated d "$forged")")" '^201 '
is "in none of the annotations that do" "$(field root "$jobs/d" \
    '.metadata.annotations | to_entries | map(select(.value == "root")) | length')" \
    0
as kilntest1 kctl cancel "$(field root "$jobs/b" .status.id)" >/dev/null
is "kctl is signed alike" "$(annotation "$jobs/b" kiln.hpc/cancel)" kilntest1
root cancel "$(field root "$jobs/c" .status.id)" >/dev/null
is "so is an administrator" "$(annotation "$jobs/c" kiln.hpc/cancel)" root
api kilntest1 PATCH "$jobs/c" "$(annotate kiln.hpc/cancel kilntest2)" $merge \
    >/dev/null
is "whose name does not become a third one's" \
    "$(annotation "$jobs/c" kiln.hpc/cancel)" kilntest1

# --- events --------------------------------------------------------------------
events=/api/v1/namespaces/default/events
event() { # NAME KIND OBJECT
    printf '{"apiVersion":"v1","kind":"Event","metadata":{"name":"%s"},
"involvedObject":{"kind":"%s","name":"%s"},"reason":"NotReady",
"message":"m","type":"Warning","source":{"component":"kiln-scheduler"}}' "$@"
}
refused EventOwner "a node's events are not for users to write" \
    kilntest1 POST $events "$(event e1 Node n1)"
refused EventOwner "nor those of a namespace" \
    kilntest1 POST $events "$(event e2 Namespace default)"
api kilntest2 POST "$jobs" "$(job_json theirs '"suspend":true,')" >/dev/null
refused EventOwner "nor those of another's job" \
    kilntest1 POST $events "$(event e3 Job theirs)"
like "one's own are" "$(api kilntest1 POST $events "$(event e4 Job a)")" '^201 '
refused EventOwner "and do not become another's" kilntest1 PATCH $events/e4 \
    '{"involvedObject":{"kind":"Node","name":"n1"}}' $merge

# --- what a terminal shows ------------------------------------------------------
name='x\u202eevil\u2066\u200by\u2028z\u001b[31m\u009b5m\u00e9'
api kilntest1 POST "$jobs" \
    "$(annotated t "\"kiln.hpc/job-name\":\"$name\"")" >/dev/null
like "names neither turn the line nor hide in it" "$(root get jobs)" \
    'x.evil..y.z.\[31m.5mé'
unlike "whatever they contain" "$(root get jobs | od -An -tx1 | tr -d '\n')" \
    '1b|e2 80 ae|e2 81 a6|e2 80 8b|e2 80 a8|c2 9b'
finish
