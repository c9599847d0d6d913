#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Strangers and ordinary users read no metrics, which tell who runs what and how
# the cluster is; a token for them opens nothing else, and ends when it is ended.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged curl
cluster_begin
need kiln-controller kctl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket" --operators kilntest2

root() { kctl --server "http+unix://$cluster/socket" "$@"; }
# code TARGET [CURL-OPTION...]: over the open port.
code() {
    code_target=$1
    shift
    curl -s --max-time 10 -o "$cluster/out" -w '%{http_code}' "$@" \
        "$cluster_url$code_target"
}
by_socket() { # USER TARGET [CURL-OPTION...]
    by_user=$1 by_target=$2
    shift 2
    as "$by_user" curl -s --max-time 10 -o /dev/null -w '%{http_code}' \
        --unix-socket "$cluster/socket" "$@" "http://kiln$by_target"
}

is "a stranger reads no metrics" "$(code /metrics)" 401
is "nor those of pods" "$(code /metrics/resources)" 401
is "nor by a slash more" "$(code /metrics/)" 401
for open in /healthz /livez /readyz /version; do
    is "but $open" "$(code $open)" 200
done
unlike "which says nothing of who is there" "$(curl -s "$cluster_url/readyz?verbose"
    curl -s "$cluster_url/version")" 'kilntest|default|job'
is "an ordinary user reads none" "$(by_socket kilntest1 /metrics)" 403
is "an operator does" "$(by_socket kilntest2 /metrics)" 200
is "and root" "$(curl -s -o /dev/null -w '%{http_code}' \
    --unix-socket "$cluster/socket" http://kiln/metrics)" 200

# --- tokens -------------------------------------------------------------------
like "an ordinary user makes no token" \
    "$(as kilntest1 kctl --server "http+unix://$cluster/socket" \
        metrics-token mine 2>&1)" 'by administrators'
like "over the wire nobody is given one" \
    "$(kctl metrics-token mine 2>&1)" 'administrators|controller.s machine'
like "a name that is none is refused" "$(root metrics-token '../x' 2>&1)" \
    'lower-case'
token=$(root metrics-token prometheus)
by_token() { # TARGET [CURL-OPTION...]
    code "$@" -H "Authorization: Bearer $token"
}
is "a token reads metrics" "$(by_token /metrics)" 200
ok "all of them" grep -q '^kiln_store' "$cluster/out"
is "those of pods, too" "$(by_token /metrics/resources)" 200
is "by GET alone" "$(by_token /metrics -X POST)" 401
for target in /api/v1/pods /configz '/kiln/v1/metrics-token?name=more' \
    /api/v1/namespaces/default/pods/metrics; do
    is "and nothing else: $target" "$(by_token "$target")" 401
done
is "a changed one is none" \
    "$(code /metrics -H "Authorization: Bearer ${token}0")" 401
is "nor is one of another name" "$(code /metrics \
    -H "Authorization: Bearer $(printf %s "$token" | sed s/prometheus/other/)")" \
    401
stop controller
cluster_controller --socket "$cluster/socket" --operators kilntest2
is "it outlives a restart" "$(by_token /metrics)" 200
first=$token
token=$(root metrics-token prometheus)
is "another of its name is good" "$(by_token /metrics)" 200
is "and ends the first" \
    "$(code /metrics -H "Authorization: Bearer $first")" 401
ok "a token is ended" root metrics-token --revoke prometheus
is "and then opens nothing" "$(by_token /metrics)" 401
not_ok "one that is not there is not ended" \
    root metrics-token --revoke prometheus
finish
