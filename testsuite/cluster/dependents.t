#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Quotas count the objects of a namespace and are released again. Objects that
# depend on a deleted owner are deleted after it, deleted before it, or kept.
# A claim that nobody uses can be deleted.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need kiln-controller kctl curl
# shellcheck disable=SC2119 # cluster_controller takes options, and this test needs none
cluster_controller
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
cd "$cluster" || bail_out "no directory"

apply() {
    cat >object.yaml
    kctl apply -f object.yaml 2>&1
}
uid_of() {
    kctl get "$1" "$2" -o json | sed -n 's/^ *"uid": *"\(.*\)",*$/\1/p' | head -n 1
}
is_there() {
    kctl get "$1" "$2" >/dev/null 2>&1
}
is_not_there() {
    kctl get "$1" "$2" 2>&1 | grep -q 'not found'
}
# delete_as POLICY NAME: deletes a ConfigMap with this propagation policy.
delete_as() {
    curl -sf --unix-socket "$KILN_SERVER" -X DELETE -o deleted \
        "http://kiln/api/v1/namespaces/default/configmaps/$2?propagationPolicy=$1"
}
# dependent NAME OWNER: creates a ConfigMap that OWNER owns, and that blocks a
# foreground deletion of OWNER.
dependent() {
    apply <<TXT
apiVersion: v1
kind: ConfigMap
metadata:
  name: $1
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: $2, uid: "$(uid_of configmap "$2")", blockOwnerDeletion: true}
TXT
}
owner() {
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n' "$1" | apply
}

owner one >out
dependent part one >>out
ok "an object with an owner exists" is_there configmap part
ok "its owner is deleted" kctl delete configmap one
ok "... and the object is deleted, too" wait_for 20 is_not_there configmap part

owner two >out
dependent second two >>out
ok "an owner is deleted with the policy Foreground" \
    delete_as Foreground two
ok "... and no longer exists" wait_for 20 is_not_there configmap two
ok "... and the object that it owned was deleted before it" \
    is_not_there configmap second

owner three >out
dependent third three >>out
ok "an owner is deleted with the policy Orphan" \
    delete_as Orphan three
ok "... and no longer exists" wait_for 20 is_not_there configmap three
ok "... and the object that it owned is kept" is_there configmap third
unlike "... without an owner reference" \
    "$(kctl get configmap third -o yaml)" "^  ownerReferences"

pod() {
    apply <<TXT
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  restartPolicy: Never
  securityContext: {runAsUser: 12345, runAsGroup: 12345}
  containers:
  - {name: main, image: host, command: [sleep, "60"]}
TXT
}
used() {
    kctl get resourcequota cap -o yaml | grep -A1 '^  used:' | grep -q "pods: \"$1\""
}
apply >out <<TXT
apiVersion: v1
kind: ResourceQuota
metadata: {name: cap}
spec: {hard: {pods: "1"}}
TXT
ok "the quota has counted the pods" wait_for 20 used 0
pod first >out
ok "a pod within the quota is created" is_there pod first
ok "... and is counted" used 1
like "a pod beyond the quota is refused" "$(pod beyond)" 'exceeded quota: cap'
ok "the first pod is deleted" kctl delete pod first
ok "... and is no longer counted" wait_for 20 used 0

apply >out <<TXT
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: scratch}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
TXT
ok "a claim that nobody uses is deleted" kctl delete pvc scratch
ok "... and no longer exists" wait_for 20 is_not_there pvc scratch
finish
