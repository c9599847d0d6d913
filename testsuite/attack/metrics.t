#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Callers without credentials and ordinary users cannot read metrics, which say
# who runs what and in what state the cluster is. A metrics token gives access
# to nothing else, and is invalid after it is revoked.

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
# code TARGET [CURL-OPTION...]: prints the status code of a request to the TCP
# port.
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

is "a caller without credentials cannot read metrics" "$(code /metrics)" 401
is "such a caller cannot read the metrics of pods" \
    "$(code /metrics/resources)" 401
is "a slash after the path does not help" "$(code /metrics/)" 401
for open in /healthz /livez /readyz /version; do
    is "such a caller can read $open" "$(code $open)" 200
done
unlike "the open paths say nothing about users and jobs" \
    "$(curl -s "$cluster_url/readyz?verbose"
    curl -s "$cluster_url/version")" 'kilntest|default|job'
is "an ordinary user cannot read metrics" "$(by_socket kilntest1 /metrics)" 403
is "an operator can read metrics" "$(by_socket kilntest2 /metrics)" 200
is "root can read metrics" "$(curl -s -o /dev/null -w '%{http_code}' \
    --unix-socket "$cluster/socket" http://kiln/metrics)" 200

# --- tokens -------------------------------------------------------------------
like "an ordinary user cannot make a token" \
    "$(as kilntest1 kctl --server "http+unix://$cluster/socket" \
        metrics-token mine 2>&1)" 'only administrators'
like "nobody can make a token through the TCP port" \
    "$(kctl metrics-token mine 2>&1)" 'administrators|controller.s machine'
like "an invalid name of a token is refused" \
    "$(root metrics-token '../x' 2>&1)" \
    'lower-case'
token=$(root metrics-token prometheus)
by_token() { # TARGET [CURL-OPTION...]
    code "$@" -H "Authorization: Bearer $token"
}
is "a token can read metrics" "$(by_token /metrics)" 200
ok "the answer contains the metrics of the store" \
    grep -q '^kiln_store' "$cluster/out"
is "a token can read the metrics of pods" "$(by_token /metrics/resources)" 200
is "a token cannot POST" "$(by_token /metrics -X POST)" 401
for target in /api/v1/pods /configz '/kiln/v1/metrics-token?name=more' \
    /api/v1/namespaces/default/pods/metrics; do
    is "a token cannot read $target" "$(by_token "$target")" 401
done
is "a changed token is refused" \
    "$(code /metrics -H "Authorization: Bearer ${token}0")" 401
is "a token with another name in it is refused" "$(code /metrics \
    -H "Authorization: Bearer $(printf %s "$token" | sed s/prometheus/other/)")" \
    401
stop controller
cluster_controller --socket "$cluster/socket" --operators kilntest2
is "a token is still valid after a restart" "$(by_token /metrics)" 200
first=$token
token=$(root metrics-token prometheus)
is "a second token of the same name is valid" "$(by_token /metrics)" 200
is "the second token revokes the first one" \
    "$(code /metrics -H "Authorization: Bearer $first")" 401
ok "an administrator can revoke a token" root metrics-token --revoke prometheus
is "a revoked token is refused" "$(by_token /metrics)" 401
not_ok "revoking a token that does not exist fails" \
    root metrics-token --revoke prometheus
finish
