#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A pod has anti-affinity to all pods in all namespaces. A user's pod keeps
# away only other pods of the same user. An administrator's pod keeps away the
# pods of every user.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent kctl jq
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller
root() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 300ms
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

everybody='{"topologyKey": "kubernetes.io/hostname", "labelSelector": {},
    "namespaceSelector": {}}'
away='"affinity": {"podAntiAffinity": {
    "requiredDuringSchedulingIgnoredDuringExecution": ['$everybody']}},'
pod() { # NAME SPEC-MEMBERS [METADATA-MEMBERS]
    cat <<TXT
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$1" ${3-}},
 "spec": {"restartPolicy": "Never", $2 "terminationGracePeriodSeconds": 1,
  "containers": [{"name": "main", "image": "host",
  "command": ["sleep", "1000"]}]}}
TXT
}
job() { # NAME SPEC-MEMBERS TEMPLATE-METADATA
    cat <<TXT
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "$1"},
 "spec": {"template": {"metadata": {$3}, "spec": {"restartPolicy": "Never", $2
  "containers": [{"name": "main", "image": "host",
  "command": ["sleep", "1000"]}]}}}}
TXT
}
one() { as kilntest1 kctl "$@"; }
two() { as kilntest2 kctl "$@"; }
of() { root get pod "$1" -o json | jq -r "$2"; }
is_scheduled() { [ "$(of "$1" '.spec.nodeName // ""')" = n1 ]; }
is_kept_away() {
    of "$1" '.status.conditions[]?.message' |
        grep -q "didn't satisfy existing pods anti-affinity rules"
}

pod lonely "$away" | one create -f - >/dev/null
ok "a pod with anti-affinity to all pods is placed" \
    wait_for 20 is_scheduled lonely
pod theirs '' | two create -f - >/dev/null
ok "it does not keep a pod of another user away" wait_for 20 is_scheduled theirs
pod mine '' | one create -f - >/dev/null
ok "it keeps another pod of its owner away" wait_for 20 is_kept_away mine
one delete pod lonely --now >/dev/null 2>&1
ok "the pod that was kept away is scheduled when it is deleted" \
    wait_for 20 is_scheduled mine

# --- users cannot set the annotation that repels all pods ---------------------

repels='"annotations": {"kiln.hpc/repels": "all"}'
pod forged "$away" ", $repels" | one create -f - >"$cluster/log/forged" 2>&1
like "a user cannot create a pod with the annotation that repels all pods" \
    "$(cat "$cluster/log/forged")" "Repelling: .*for administrators"
not_ok "a user cannot add that annotation to a pod afterwards" \
    one annotate pod mine kiln.hpc/repels=all
one delete pod mine --now >/dev/null 2>&1
two delete pod theirs --now >/dev/null 2>&1
wait_for 20 root wait --for delete pod mine
wait_for 20 root wait --for delete pod theirs
job sly "$away" "$repels" | one create -f - >/dev/null
sly() { of sly-0 '.spec.nodeName // ""' | grep -q n1; }
ok "a Job with that annotation in its template is created and runs" \
    wait_for 20 sly
is "its pod does not have the annotation" \
    "$(of sly-0 '.metadata.annotations["kiln.hpc/repels"] // "nothing"')" nothing
pod other '' | two create -f - >/dev/null
ok "pods of others are therefore placed beside it" \
    wait_for 20 is_scheduled other
one delete job sly >/dev/null 2>&1
two delete pod other --now >/dev/null 2>&1
wait_for 20 root wait --for delete pod sly-0
wait_for 20 root wait --for delete pod other

# --- an administrator's pod ---------------------------------------------------

pod guard "$away \"securityContext\": {
    \"runAsUser\": $(id -u kilntest1), \"runAsGroup\": $(id -g kilntest1)}," |
    root create -f - >/dev/null
ok "an administrator's pod is placed" wait_for 20 is_scheduled guard
is "it has the annotation that repels all pods" \
    "$(of guard '.metadata.annotations["kiln.hpc/repels"]')" all
runs() { root get pod guard --no-headers | grep -qw Running; }
ok "the administrator's pod runs" wait_for 20 runs
pod beside '' | two create -f - >/dev/null
ok "it keeps users' pods away" wait_for 20 is_kept_away beside
root delete pod guard --now >/dev/null 2>&1
ok "a user's pod is scheduled when the administrator's pod is deleted" \
    wait_for 20 is_scheduled beside

# --- limits of affinity terms -------------------------------------------------

terms=$(jq -nc --argjson t "$everybody" '[range(33) | $t]')
pod many '"affinity": {"podAntiAffinity": {
    "requiredDuringSchedulingIgnoredDuringExecution": '"$terms"'}},' |
    one create -f - >"$cluster/log/many" 2>&1
like "the number of affinity terms has a limit" "$(cat "$cluster/log/many")" \
    "AffinityTerms: 33 terms .* more than the limit of 32"
values=$(jq -nc '[range(2000) | tostring]')
job wordy '"affinity": {"podAffinity": {
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1,
    "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname",
    "namespaces": '"$values"'}}]}},' '' |
    one create -f - >"$cluster/log/wordy" 2>&1
like "the number of namespaces in an affinity term has a limit" \
    "$(cat "$cluster/log/wordy")" \
    "AffinityTerms: 2000 namespaces"
finish
