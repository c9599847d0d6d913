#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a namespace may have is held and given back; what depends on an object
# goes with it, before it, or stays; what is in use stays until it is not.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need kiln-controller kctl curl
# shellcheck disable=SC2119 # it takes options, and none are needed
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
# delete_as POLICY NAME: a ConfigMap.
delete_as() {
    curl -sf --unix-socket "$KILN_SERVER" -X DELETE -o deleted \
        "http://kiln/api/v1/namespaces/default/configmaps/$2?propagationPolicy=$1"
}
# dependent NAME OWNER: a ConfigMap that OWNER owns, and that it waits for.
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
ok "an object and one that it owns" is_there configmap part
ok "the owner is deleted" kctl delete configmap one
ok "... and what it owned goes, too" wait_for 20 is_not_there configmap part

owner two >out
dependent second two >>out
ok "an owner is deleted in the foreground" \
    delete_as Foreground two
ok "... and goes" wait_for 20 is_not_there configmap two
ok "... after what it owned" is_not_there configmap second

owner three >out
dependent third three >>out
ok "an owner is deleted, what it owns is to stay" \
    delete_as Orphan three
ok "... and goes" wait_for 20 is_not_there configmap three
ok "... and what it owned stays" is_there configmap third
unlike "... without an owner" "$(kctl get configmap third -o yaml)" "^  ownerReferences"

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
ok "a quota is counted" wait_for 20 used 0
pod first >out
ok "a pod within it is made" is_there pod first
ok "... and charged" used 1
like "a pod beyond it is refused" "$(pod beyond)" 'exceeded quota: cap'
ok "the first is deleted" kctl delete pod first
ok "... and given back" wait_for 20 used 0

apply >out <<TXT
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: scratch}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
TXT
ok "a claim that nobody uses is deleted" kctl delete pvc scratch
ok "... and goes" wait_for 20 is_not_there pvc scratch
finish
