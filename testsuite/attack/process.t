#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a pod says of its process is as true later as at its creation: it is
# obeyed, refused, or said to have no effect.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket" --allow-root-jobs
cluster_agent n1
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
gate='"schedulingGates":[{"name":"kiln.hpc/wait"}],'
api kilntest1 POST "$pods" "$(pod_json p "$gate")" >/dev/null

# --- later as at first -----------------------------------------------------------

container() { # MEMBERS: a change of the one container
    printf '{"spec":{"containers":[{"name":"main",%s}]}}' "$1"
}
strategic=application/strategic-merge-patch+json
for how in "$merge" "$strategic"; do
    refused Process "a pod does not get another image later: ${how%%-*}" \
        kilntest1 PATCH "$pods/p" \
        "$(container '"command":["/bin/true"],"image":"nginx"')" "$how"
done
like "nor a job, which is told so first" "$(api kilntest1 POST "$jobs" \
    "$(job_json j '"suspend":true,')")" '^201 '
refused Process "not even one that is held" kilntest1 PATCH "$jobs/j" \
    '{"spec":{"template":{"spec":{"containers":[{"name":"main",
"image":"nginx"}]}}}}' "$strategic"
refused Process "nor containers that run before it" kilntest1 PATCH "$pods/p" \
    '{"spec":{"initContainers":[{"name":"i","image":"host"}]}}' "$merge"
like "what is left alone may stay" "$(api kilntest1 PATCH "$pods/p" \
    '{"metadata":{"labels":{"a":"b"}}}' $merge)" '^200 '

# --- obeyed ----------------------------------------------------------------------

home=$cluster/home/kilntest1
run() { # NAME CONTAINER-MEMBERS: what its process says of itself
    pod_json "$1" '' | sed "s|\"command\":.*|$2\"command\":[\"/bin/sh\",\"-c\",\"grep NoNewPrivs: /proc/self/status >$home/$1\"]}]}}|" |
        as kilntest1 kctl create -f - >/dev/null
    # shellcheck disable=SC2317
    has_ended() { [ "$(field root "$pods/$1" .status.phase)" = Succeeded ]; }
    wait_for 20 has_ended "$1"
    sed 's/[^0-9]*//g' "$home/$1"
}
is "a process may gain privileges" "$(run may '')" 0
is "unless its pod says that it may not" "$(run may-not \
    '"securityContext":{"allowPrivilegeEscalation":false},')" 1
refused Process "one that is not to be root is not" root POST "$pods" \
    "$(pod_json r '"securityContext":{"runAsUser":0,"runAsNonRoot":true},')"

# --- said to have no effect -------------------------------------------------------

warned() { # NAME SPEC-MEMBERS WORDS
    like "a warning tells of $1" "$(pod_json w "$gate$2" |
        as kilntest1 kctl create --dry-run -f - 2>&1)" \
        "[Ww]arning: $3"
}
warned hostname '"hostname":"x",' 'hostname has no effect'
warned gates '"readinessGates":[{"conditionType":"a.b/c"}],' \
    'readinessGates has no effect'
warned accounts '"serviceAccountName":"x",' 'serviceAccountName has no effect'
warned profiles '"securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},' \
    'securityContext.seccompProfile has no effect'
warned "namespaces of users" '"hostUsers":false,' 'hostUsers has no effect'
for field in tty stdin; do
    like "and of $field" "$(pod_json w "$gate" |
        sed "s/\"name\":\"main\"/&,\"$field\":true/" |
        as kilntest1 kctl create --dry-run -f - 2>&1)" \
        "[Ww]arning: $field has no effect"
done
like "and of file systems that stay as they are" "$(pod_json w "$gate" |
    sed 's/"name":"main"/&,"securityContext":{"readOnlyRootFilesystem":true}/' |
    as kilntest1 kctl create --dry-run -f - 2>&1)" \
    'readOnlyRootFilesystem has no effect'
unlike "nothing is said of what is so" "$(pod_json w "$gate" |
    sed 's/"name":"main"/&,"tty":false,"stdin":false/' |
    as kilntest1 kctl create --dry-run -f - 2>&1)" '[Ww]arning'
finish
