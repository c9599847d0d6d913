#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TLS and tokens: access for tools that cannot use MUNGE, what a token allows,
# and what invalidates it.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged munge kiln-controller kctl jq curl openssl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
find_free_port
tls_port=$free_port
controller() {
    cluster_controller --socket "$cluster/socket" \
        --listen-tls "127.0.0.1:$tls_port" "$@"
}
controller
home=$cluster/home
authority=$cluster/state/tls.crt

root() { kctl --server "http+unix://$cluster/socket" "$@"; }
token_of() { as "$1" kctl credential | jq -r .status.token; }
# by TOKEN METHOD PATH [BODY]: sends a request over TLS, prints the status code
# and the body of the answer on one line.
by() {
    curl -s --max-time 10 -w '\n%{http_code}' --cacert "$authority" \
        -H "Authorization: Bearer $1" -H 'Content-Type: application/json' \
        -X "$2" ${4:+-d "$4"} "https://127.0.0.1:$tls_port$3" |
        awk '{ text = text last; last = $0 } END { print last " " text }'
}
pods=/api/v1/namespaces/default/pods
whoami=/apis/authentication.k8s.io/v1/selfsubjectreviews
review='{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'

# --- files --------------------------------------------------------------------
is "only its owner can read the key of the certificate" \
    "$(stat -c %a "$cluster/state/tls.key")" 600
is "only its owner can read the key of the tokens" \
    "$(stat -c %a "$cluster/state/token.key")" 600
metric() { curl -s --unix-socket "$cluster/socket" http://kiln/metrics | sed -n "s/^$1 //p"; }
is "a metric says when the certificate ends" \
    "$(metric kiln_tls_certificate_expiry_timestamp_seconds | awk '{ printf "%d", $1 }')" \
    "$(date -d "$(openssl x509 -in "$authority" -noout -enddate | cut -d= -f2)" +%s)"
ok "a client that has the certificate can verify the controller" \
    curl -fs --cacert "$authority" "https://localhost:$tls_port/version" \
    -o /dev/null
like "plain HTTP is refused on the TLS port" \
    "$(curl -s "http://127.0.0.1:$tls_port/version" 2>&1 || echo refused)" \
    'refused'

# --- a token ------------------------------------------------------------------
credential=$(as kilntest1 kctl credential)
like "kctl credential prints what kubectl expects of a credential plugin" \
    "$credential" \
    '"kind":"ExecCredential".*"token":"kiln1\..*"expirationTimestamp":"20'
token=$(echo "$credential" | jq -r .status.token)
like "a token identifies its user" "$(by "$token" POST $whoami "$review")" \
    '^201 .*"username":"kilntest1"'
like "with the token the user can do what the user may" \
    "$(by "$token" GET $pods)" '^200 '
like "with the token the user cannot do more" \
    "$(by "$token" POST /api/v1/namespaces \
        '{"metadata":{"name":"mine"}}')" '^403 .*"reason":"Forbidden"'
like "a token of root on the controller's machine is an administrator's" \
    "$(by "$(root credential | jq -r .status.token)" POST \
        /api/v1/namespaces '{"metadata":{"name":"made"}}')" '^201 '
like "root of another machine gets no token" \
    "$(kctl credential 2>&1)" 'root of another machine has no rights here'
like "a token cannot be used to get another token" \
    "$(by "$token" POST /kiln/v1/token)" '^403 .*get a new token'
like "a request without a token is refused" \
    "$(curl -s -w '\n%{http_code}' --cacert \
    "$authority" "https://127.0.0.1:$tls_port$pods" | tr -d '\n')" '401$'
like "a token is refused without TLS" \
    "$(curl -s -H "Authorization: Bearer $token" "$cluster_url$pods")" \
    'accepted only over TLS'
like "a token that was changed is refused" \
    "$(by "$(echo "$token" | sed 's/^kiln1\.[0-9]*/kiln1.0/')" GET $pods)" \
    '^401 .*key has been replaced'
like "an invalid token is refused" "$(by nonsense GET $pods)" \
    "^401 .*not issued by Kiln"
like "exec is refused as not yet supported" \
    "$(curl -s --http1.1 --cacert "$authority" \
        -H "Authorization: Bearer $token" -H 'Connection: Upgrade' \
        -H 'Upgrade: SPDY/3.1' -X POST \
        "https://127.0.0.1:$tls_port$pods/p/exec?command=true")" \
    'not supported yet.*501'
like "without an upgrade the answer is that of upstream" \
    "$(by "$token" POST "$pods/p/exec?command=true")" '^400 .*Upgrade request'
like "a watch works over TLS with a token" \
    "$(curl -sN --max-time 5 --cacert "$authority" \
        -H "Authorization: Bearer $token" \
        "https://127.0.0.1:$tls_port/api/v1/namespaces?watch=true&timeoutSeconds=1")" \
    '"type":"ADDED".*"name":"default"'
log=$(cat "$cluster/log/controller")
unlike "the log does not contain the token" "$log" "${token##*.}"
like "the log contains the token's fingerprint" "$log" \
    "user 'kilntest1' was given a token, $(printf %s "$token" |
        sha256sum | cut -c 1-16)"

# --- kubeconfig ---------------------------------------------------------------
as kilntest1 kctl kubeconfig >"$home/kilntest1/kubeconfig"
like "kctl kubeconfig names the credential plugin" \
    "$(cat "$home/kilntest1/kubeconfig")" '^      - credential$'
if command -v kubectl >/dev/null; then
    kubectl_as() { # USER ARGUMENT...
        kubectl_user=$1
        shift
        as "$kubectl_user" env KUBECONFIG="$home/$kubectl_user/kubeconfig" \
            HOME="$home/$kubectl_user" kubectl "$@" 2>&1
    }
    like "kubectl works with that kubeconfig" \
        "$(kubectl_as kilntest1 get namespaces)" \
        '^default  *Active'
    like "kubectl acts as the user" \
        "$(kubectl_as kilntest1 auth whoami)" kilntest1
    like "kubectl has only the user's rights" \
        "$(kubectl_as kilntest1 create namespace other)" forbidden
    like "kubectl can create a job" \
        "$(kubectl_as kilntest1 create job by-tls --image=host -- true)" created
    is "the job belongs to the user" "$(root get job by-tls -o json |
        jq -r '.metadata.annotations["kiln.hpc/user"]')" kilntest1
else
    skip "kubectl works with that kubeconfig" "kubectl is missing"
fi

# --- --rotate-tokens ----------------------------------------------------------
kiln-controller --state-dir "$cluster/state" --rotate-tokens
ends() { by "$token" GET "$pods" | grep -q '^401 .*key has been replaced'; }
ok "--rotate-tokens invalidates tokens while the controller runs" \
    wait_for 10 ends
like "a new token is valid" "$(by "$(token_of kilntest1)" GET "$pods")" '^200 '

# --- after a restart ----------------------------------------------------------
token=$(token_of kilntest2)
before=$(sha256sum <"$authority")
stop controller
controller
is "the certificate is the same after a restart" \
    "$(sha256sum <"$authority")" "$before"
like "tokens are valid after a restart" "$(by "$token" GET $pods)" '^200 '

# --- a certificate of the site ------------------------------------------------
stop controller
printf 'tls:\n  certificate: /nonexistent/crt\n' >"$cluster/etc/half.yaml"
like "a certificate without a key is refused" \
    "$(kiln-controller --config "$cluster/etc/half.yaml" --check-config 2>&1)" \
    'must be given together'
mv "$cluster/state/tls.crt" "$cluster/etc/site.crt"
mv "$cluster/state/tls.key" "$cluster/etc/site.key"
printf 'tls:\n  certificate: %s\n  key: %s\n' "$cluster/etc/site.crt" \
    "$cluster/etc/site.key" >"$cluster/etc/site.yaml"
controller --config "$cluster/etc/site.yaml"
ok "the site's certificate is served" \
    curl -fs --cacert "$cluster/etc/site.crt" \
    "https://localhost:$tls_port/version" -o /dev/null
ok "the controller creates no certificate then" [ ! -e "$authority" ]
like "kctl kubeconfig contains the site's certificate" \
    "$(as kilntest1 kctl kubeconfig)" \
    "$(base64 -w 0 <"$cluster/etc/site.crt")"

# --- a certificate that is replaced while the controller runs -----------------
log_says() { grep -Eq "$1" "$cluster/log/controller"; }
serves() {
    curl -fs --cacert "$1" "https://localhost:$tls_port/version" -o /dev/null
}
cp "$cluster/etc/site.crt" "$cluster/etc/first.crt"
cp "$cluster/etc/site.key" "$cluster/etc/first.key"
mkdir "$cluster/other"
kiln-controller --init --state-dir "$cluster/other" >/dev/null
find_free_port
start other kiln-controller --state-dir "$cluster/other" \
    --munge-socket "$munge_socket" --listen-tls "127.0.0.1:$free_port"
wait_for 10 test -s "$cluster/other/tls.key"
wait_for 10 test -s "$cluster/other/tls.crt"
stop other
echo broken >"$cluster/etc/site.crt"
like "--check-config refuses a certificate that is none" "$(kiln-controller \
    --config "$cluster/etc/site.yaml" --listen-tls 127.0.0.1:1 \
    --check-config 2>&1)" "tls: certificate '.*site.crt'"
signal controller HUP
ok "the log says that a broken certificate is not loaded" wait_for 10 log_says \
    "reloading: the TLS certificate: .*site.crt.*former certificate stays"
ok "the former certificate is served" serves "$cluster/etc/first.crt"
cp "$cluster/other/tls.crt" "$cluster/etc/site.crt"
signal controller HUP
ok "a key that belongs to another certificate is not loaded" \
    wait_for 10 log_says "reloading: the TLS certificate: key '.*site.key'"
cp "$cluster/other/tls.key" "$cluster/etc/site.key"
signal controller HUP
ok "after SIGHUP the new certificate is served" \
    wait_for 10 serves "$cluster/etc/site.crt"
not_ok "the former certificate is not served any more" \
    serves "$cluster/etc/first.crt"
ok "the log says so" wait_for 10 log_says "The TLS certificate has changed"
like "kctl kubeconfig contains the new one" "$(as kilntest1 kctl kubeconfig)" \
    "$(base64 -w 0 <"$cluster/etc/site.crt")"

# --- requests that a proxy may parse differently ------------------------------
# raw REQUEST: sends the bytes over TLS, prints the status code.
raw() {
    # shellcheck disable=SC2059 # the escapes are meant
    printf "$1" | timeout 10 openssl s_client -quiet \
        -connect "127.0.0.1:$tls_port" 2>/dev/null |
        awk 'NR == 1 { print $2 }'
}
if command -v openssl >/dev/null; then
    is "a bare LF is refused over TLS, too" \
        "$(raw 'GET /version HTTP/1.1\nHost: h\n\n')" 400
    is "a Content-Length with a sign is refused" \
        "$(raw 'POST /version HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\nx')" \
        400
    is "a NUL in a header is refused" \
        "$(raw 'GET /version HTTP/1.1\r\nHost: h\r\nA: b\0c\r\n\r\n')" 400
else
    skip "a bare LF is refused over TLS, too" "no openssl"
fi
finish
