#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Informers of client libraries list, watch, and survive a restart of the
# controller and a resource version that is too old (410), through kctl proxy
# and through TLS. The libraries are python3-kubernetes (Debian), and
# @kubernetes/client-node if $KILN_NODE_MODULES names a folder that contains
# it.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
here=$(cd "$top_srcdir/testsuite/cluster" && pwd)
cluster_begin
need munged munge kiln-controller kctl jq curl
[ "$(id -u)" -eq 0 ] || skip_all "only root may make namespaces by the socket"

python=
for candidate in /usr/bin/python3 python3; do
    [ -z "$python" ] && "$candidate" -c 'import kubernetes' 2>/dev/null &&
        python=$candidate
done
node=
[ -z "${KILN_NODE_MODULES:-}" ] || ! command -v node >/dev/null ||
    ! node "$here/informer.mjs" --check 2>/dev/null || node=node
[ -n "$python$node" ] ||
    skip_all "python3-kubernetes is missing, and \$KILN_NODE_MODULES names no folder with a @kubernetes/client-node for this node"

# The watch log keeps changes for a short time, so that a resource version soon
# becomes too old.
cat >"$cluster/etc/controller.yaml" <<'TXT'
watchLog:
  age: 1s
TXT
cluster_munge
find_free_port
tls_port=$free_port
find_free_port
proxy_port=$free_port
socket=http+unix://$cluster/socket
controller() {
    cluster_controller --config "$cluster/etc/controller.yaml" \
        --socket "$cluster/socket" --listen-tls "127.0.0.1:$tls_port"
}
root() { kctl --server "$socket" "$@"; }
# put NAME VALUE: creates or changes a ConfigMap.
put() {
    printf 'apiVersion: v1
kind: ConfigMap
metadata: {name: %s, namespace: watched}
data: {value: "%s"}\n' "$1" "$2" >"$cluster/map.yaml"
    root apply -f "$cluster/map.yaml" >/dev/null
}
hears() { grep -qx "$2" "$cluster/log/$1"; }
count_of() { grep -cx "$2" "$cluster/log/$1"; }

controller
printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: watched}\n' \
    >"$cluster/namespace.yaml"
root apply -f "$cluster/namespace.yaml" >/dev/null
start proxy kctl --server "$socket" proxy --port "$proxy_port"
root kubeconfig --host localhost >"$cluster/etc/tls"
sed -i "s,- credential,&\n      - --server\n      - $socket," "$cluster/etc/tls"
# client-node uses plain HTTP only with insecure-skip-tls-verify.
cat >"$cluster/etc/proxy" <<TXT
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:$proxy_port", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
TXT

# informer NAME WAY COMMAND...: runs an informer through all of these events.
informer() {
    name=$1 way=$2
    shift 2
    put "$name-first" 1
    start "$name" env KUBECONFIG="$cluster/etc/$way" HOME="$cluster/home" "$@"
    ok "$name lists the objects" wait_for 30 hears "$name" "ADDED $name-first"
    put "$name-second" 1
    ok "$name receives an addition" \
        wait_for 20 hears "$name" "ADDED $name-second"
    put "$name-second" 2
    ok "$name receives a change" \
        wait_for 20 hears "$name" "MODIFIED $name-second"
    root delete configmap "$name-second" -n watched >/dev/null
    ok "$name receives a deletion" \
        wait_for 20 hears "$name" "DELETED $name-second"

    stop controller
    controller
    put "$name-third" 1
    ok "$name receives an addition after a restart of the controller" \
        wait_for 40 hears "$name" "ADDED $name-third"
    is "$name receives it once" "$(count_of "$name" "ADDED $name-third")" 1

    # The informer is stopped while the changes after its last resource version
    # are forgotten.
    signal "$name" STOP
    stop controller
    controller
    put "$name-fourth" 1
    sleep 2
    put "$name-fifth" 1
    root delete configmap "$name-third" -n watched >/dev/null
    sleep 2
    put "$name-fourth" 2
    signal "$name" CONT
    ok "$name continues after its resource version has become too old" \
        wait_for 60 hears "$name" "ADDED $name-fifth"
    ok "$name receives an addition that it has missed" \
        wait_for 20 hears "$name" "ADDED $name-fourth"
    ok "$name receives a deletion that it has missed" \
        wait_for 20 hears "$name" "DELETED $name-third"
    ok "$name still runs" is_running "$name"
    stop "$name" KILL
}

for way in proxy tls; do
    if [ -n "$python" ]; then
        informer "python-$way" "$way" "$python" "$here/informer.py"
        ok "python-$way received a 410" hears "python-$way" 410
    else
        skip "python-$way lists the objects" "python3-kubernetes is missing"
    fi
    if [ -n "$node" ]; then
        informer "node-$way" "$way" "$node" "$here/informer.mjs"
    else
        skip "node-$way lists the objects" \
            "\$KILN_NODE_MODULES names no folder with a @kubernetes/client-node for this node"
    fi
done
finish
