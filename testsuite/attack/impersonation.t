#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Impersonation: administrators may send requests as another user, and then
# have that user's rights and groups. Nobody else may impersonate, nobody
# becomes root or a component, and a header that somebody on the way could have
# added is ignored.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged curl jq
cluster_begin
need kiln-controller kctl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket" --administrators kilntest2
pods=/api/v1/namespaces/default/pods

# root_as TARGET [CURL-OPTION...]: prints the status code and the body of the
# answer on one line.
root_as() {
    root_target=$1
    shift
    curl -s --max-time 10 -w '\n%{http_code}' --unix-socket \
        "$cluster/socket" "$@" "http://kiln$root_target" |
        awk '{ text = text last; last = $0 } END { print last " " text }'
}
user_as() { # USER TARGET [CURL-OPTION...]
    user=$1 user_target=$2
    shift 2
    as "$user" curl -s --max-time 10 --unix-socket "$cluster/socket" "$@" \
        "http://kiln$user_target"
}
pod='{"apiVersion":"v1","kind":"Pod","metadata":{"name":"NAME"},"spec":
{"restartPolicy":"Never","schedulingGates":[{"name":"kiln.hpc/wait"}],
"containers":[{"name":"main","command":["true"]}]}}'
make() { # NAME CURL-OPTION...
    make_name=$1
    shift
    root_as "$pods" -X POST -H 'Content-Type: application/json' \
        --data-binary "$(printf %s "$pod" | sed "s/NAME/$make_name/")" "$@"
}
who='/apis/authentication.k8s.io/v1/selfsubjectreviews'
whoami() { # CURL-OPTION...
    root_as "$who" -X POST -H 'Content-Type: application/json' --data-binary \
        '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}' \
        "$@"
}

printf %s "$pod" | sed 's/NAME/by-kctl/' >"$cluster/pod.json"
made=$(make mine -H 'Impersonate-User: kilntest1')
like "a pod that an administrator creates as a user belongs to the user" \
    "$made" \
    '^201 .*"kiln.hpc/user": ?"kilntest1"'
like "the pod runs as the user" "$made" "\"runAsUser\": ?$(id -u kilntest1)"
like "a review of the caller names the impersonated user" \
    "$(whoami -H 'Impersonate-User: kilntest1')" \
    '^201 .*"username": ?"kilntest1"'
like "the rights are those of the impersonated user" \
    "$(root_as "/api/v1/nodes/none" -X DELETE \
    -H 'Impersonate-User: kilntest1')" '^403 .*kilntest1'
like "they are also those of the user for metrics" \
    "$(root_as /metrics -H 'Impersonate-User: kilntest1')" \
    '^403 '
like "an administrator can name a group that the user is in" "$(whoami \
    -H 'Impersonate-User: kilntest1' -H 'Impersonate-Group: kilntest1' \
    -H 'Impersonate-Group: system:authenticated')" '^201 '
like "a group that the user is not in is refused" \
    "$(whoami -H 'Impersonate-User: kilntest1' \
    -H 'Impersonate-Group: root')" '^403 .*not in group'
like "a uid that is not the user's is refused" \
    "$(whoami -H 'Impersonate-User: kilntest1' \
    -H 'Impersonate-Uid: 0')" '^403 .*uid is'
like "the user's own uid is accepted" \
    "$(whoami -H 'Impersonate-User: kilntest1' \
    -H "Impersonate-Uid: $(id -u kilntest1)")" '^201 '

for name in root nobody-there system:kube-scheduler system:node:n1 @kilntest1 \
    'kilntest1,kilntest2' 0 ''; do
    like "nobody can impersonate '$name'" \
        "$(make never -H "Impersonate-User: $name" \
        -H 'Impersonate-Group: system:authenticated')" '^403 '
done
like "nobody can impersonate two users at once" \
    "$(make never -H 'Impersonate-User: kilntest1' \
    -H 'Impersonate-User: kilntest2')" '^403 '
like "nobody can add extra fields to the identity" \
    "$(make never -H 'Impersonate-User: kilntest1' \
    -H 'Impersonate-Extra-Scopes: all')" '^403 '
like "a group without a user is refused" "$(make never \
    -H 'Impersonate-Group: kilntest1')" '^403 '
like "the case of the header's name does not matter" "$(make never \
    -H 'iMPERSONATE-uSER: root')" '^403 '

for target in "$pods" /api /metrics /version/x "$pods/mine/log" \
    "$pods?watch=1&timeoutSeconds=1"; do
    like "a user cannot impersonate another user: $target" \
        "$(user_as kilntest1 "$target" \
        -H 'Impersonate-User: kilntest2')" 'cannot impersonate'
done
like "users cannot even impersonate themselves" "$(user_as kilntest1 "$pods" \
    -H 'Impersonate-User: kilntest1')" 'cannot impersonate'
# ask USER NAME: sends a request through MUNGE, where the header is sealed with
# the request.
ask() {
    as "$1" "$cluster/bin/ask" "$cluster_url" "$munge_socket" '' '' POST \
        "$who" '{"apiVersion":"authentication.k8s.io/v1",
            "kind":"SelfSubjectReview"}' application/json \
        Impersonate-User "$2" | tr '\n' ' '
}
if [ -x "${top_builddir:-.}/testsuite/cluster/ask" ]; then
    cp "${top_builddir:-.}/testsuite/cluster/ask" "$cluster/bin/ask"
    like "an administrator can impersonate through MUNGE, too" \
        "$(ask kilntest2 kilntest1)" '^201 .*"username": ?"kilntest1"'
    like "a user cannot impersonate through MUNGE" \
        "$(ask kilntest1 kilntest2)" \
        '^403 .*cannot impersonate'
fi
has_line() { jq -es "any($1)" "$cluster/state/audit.log"; }
ok "the audit log names the impersonated user and the administrator" \
    wait_for 5 has_line \
    '.[]; .user == "kilntest1" and .uid == '"$(id -u kilntest1)"' and
        .rank == "user" and .impersonator == "root" and .verb == "create" and
        .name == "mine" and .code == 201'
ok "it also names both if the request is forbidden" \
    wait_for 5 has_line '.[]; .code == 403
    and .user == "kilntest1" and .impersonator == "root" and .verb == "delete"'
ok "a user who tries to impersonate is logged under the user's own name" \
    wait_for 5 has_line '.[];
    .code == 403 and .user == "kilntest1" and (has("impersonator") | not) and
        (.message | contains("cannot impersonate"))'
not_ok "the audit log does not name the other user" \
    has_line '.[]; .user == "kilntest2" and
    .impersonator == "kilntest1"'
# --- kctl ---------------------------------------------------------------------
ok "kctl --as creates an object as the user" kctl --server \
    "http+unix://$cluster/socket" --as kilntest1 create -f "$cluster/pod.json"
is "the object belongs to the user" \
    "$(kctl --server "http+unix://$cluster/socket" get pod by-kctl \
    -o jsonpath='{.metadata.annotations.kiln\.hpc/user}')" kilntest1
like "kctl --as has only the user's rights" "$(kctl --server \
    "http+unix://$cluster/socket" create namespace x --as kilntest1 2>&1)" "user 'kilntest1' cannot create"
like "a user cannot use kctl --as" \
    "$(as kilntest1 kctl --as kilntest2 get pods 2>&1)" \
    'cannot impersonate'
like "an administrator can use kctl --as through MUNGE, too" \
    "$(as kilntest2 kctl --as \
    kilntest1 create namespace x 2>&1)" "user 'kilntest1' cannot create"

# A request through kctl proxy that impersonates a user must not be answered
# with the rights of the proxy's owner.
start proxy kctl --server "http+unix://$cluster/socket" proxy --port 0
proxy_says() { grep -o '127.0.0.1:[0-9]*' "$cluster/log/proxy"; }
ok "kctl proxy starts" wait_for 10 proxy_says
like "kctl proxy passes on which user is impersonated" \
    "$(curl -s --max-time 10 -X POST \
    -H 'Content-Type: application/json' -H 'Impersonate-User: kilntest1' \
    --data-binary '{"apiVersion":"authentication.k8s.io/v1",
    "kind":"SelfSubjectReview"}' "http://$(proxy_says | head -n 1)$who")" \
    '"username": ?"kilntest1"'
like "a header that the controller refuses is refused through kctl proxy, too" \
    "$(curl -s --max-time 10 \
    -H 'Impersonate-User: kilntest1' -H 'Impersonate-Extra-X: 1' \
    "http://$(proxy_says | head -n 1)$pods")" 'Forbidden'
ok "the controller still runs" cluster_is_ready
finish
