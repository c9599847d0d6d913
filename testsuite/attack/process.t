#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A field of a pod about its process is true at its creation and after later
# changes: Kiln obeys it, refuses it, or warns that it has no effect.

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

# --- later changes as at creation ---------------------------------------------

container() { # MEMBERS: prints a change of the only container
    printf '{"spec":{"containers":[{"name":"main",%s}]}}' "$1"
}
strategic=application/strategic-merge-patch+json
for how in "$merge" "$strategic"; do
    refused Process "the image of a pod cannot be changed later: ${how%%-*}" \
        kilntest1 PATCH "$pods/p" \
        "$(container '"command":["/bin/true"],"image":"nginx"')" "$how"
done
like "a user creates a held job" "$(api kilntest1 POST "$jobs" \
    "$(job_json j '"suspend":true,')")" '^201 '
refused Process "the image of a held job cannot be changed" \
    kilntest1 PATCH "$jobs/j" \
    '{"spec":{"template":{"spec":{"containers":[{"name":"main",
"image":"nginx"}]}}}}' "$strategic"
refused Process "init containers cannot be added to a pod" \
    kilntest1 PATCH "$pods/p" \
    '{"spec":{"initContainers":[{"name":"i","image":"host"}]}}' "$merge"
like "fields other than these can be changed" "$(api kilntest1 PATCH "$pods/p" \
    '{"metadata":{"labels":{"a":"b"}}}' $merge)" '^200 '

# --- what is obeyed -----------------------------------------------------------

home=$cluster/home/kilntest1
run() { # NAME CONTAINER-MEMBERS: prints the value of NoNewPrivs in the pod's process
    pod_json "$1" '' | sed "s|\"command\":.*|$2\"command\":[\"/bin/sh\",\"-c\",\"grep NoNewPrivs: /proc/self/status >$home/$1\"]}]}}|" |
        as kilntest1 kctl create -f - >/dev/null
    # shellcheck disable=SC2317
    succeeds() { [ "$(field root "$pods/$1" .status.phase)" = Succeeded ]; }
    wait_for 20 succeeds "$1"
    sed 's/[^0-9]*//g' "$home/$1"
}
is "a process may gain privileges by default" "$(run may '')" 0
is "a process may not gain privileges if its pod says so" "$(run may-not \
    '"securityContext":{"allowPrivilegeEscalation":false},')" 1
refused Process "a pod that must not run as root and has the uid 0 is refused" \
    root POST "$pods" \
    "$(pod_json r '"securityContext":{"runAsUser":0,"runAsNonRoot":true},')"

# --- what has no effect, with a warning ---------------------------------------

warned() { # NAME SPEC-MEMBERS WORDS
    like "a warning says that a field has no effect: $1" "$(pod_json w "$gate$2" |
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
    like "a warning says that $field has no effect" "$(pod_json w "$gate" |
        sed "s/\"name\":\"main\"/&,\"$field\":true/" |
        as kilntest1 kctl create --dry-run -f - 2>&1)" \
        "[Ww]arning: $field has no effect"
done
like "a warning says that readOnlyRootFilesystem has no effect" \
    "$(pod_json w "$gate" |
    sed 's/"name":"main"/&,"securityContext":{"readOnlyRootFilesystem":true}/' |
    as kilntest1 kctl create --dry-run -f - 2>&1)" \
    'readOnlyRootFilesystem has no effect'
unlike "there is no warning about fields that are set to what Kiln does anyway" \
    "$(pod_json w "$gate" |
    sed 's/"name":"main"/&,"tty":false,"stdin":false/' |
    as kilntest1 kctl create --dry-run -f - 2>&1)" '[Ww]arning'
finish
