#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A controller that waits relays connections to the one that leads (kiln-ha(7)): a client
# that knows one head is served, and the leader sees its true address. Nobody makes the
# leader believe another address, keeps others out with connections that say nothing, or
# fills the memory of a head by not reading.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/postgres.sh"
# The limit of the service's unit, as far as it may be raised.
# shellcheck disable=SC3045 # dash has it
ulimit -n 65536 2>/dev/null || ulimit -n "$(ulimit -H -n)"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl python3
cluster_user kilntest1 || skip_all "only root can make users"
postgres_primary pg1
cluster_store=$postgres_url
cluster_munge
find_free_port
tls_a=127.0.0.1:$free_port
cluster_controller --listen-tls "$tls_a" --config /dev/null
find_free_port
b=127.0.0.1:$free_port
find_free_port
tls_b=127.0.0.1:$free_port
directory "$cluster/b" 700
start b kiln-controller --state-dir "$cluster/b" --store "$cluster_store" --listen "$b" \
    --listen-tls "$tls_b" --cluster test --munge-socket "$munge_socket" \
    --socket "$cluster/socket-b" --config /dev/null
metric() {
    curl -s --max-time 10 -H "Authorization: Bearer $monitoring" "http://$b/metrics" |
        sed -n "s/^$1 //p"
}
knows_leader() { curl -fs "http://$b/readyz"; }
ok "a controller that waits says on its port that it can be used" wait_for 20 knows_leader
admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
audited() { tail -n +"$audit_from" "$cluster/state/audit.log"; }
audit_begin() { audit_from=$(($(wc -l <"$cluster/state/audit.log") + 1)); }

# --- who knows only this head ------------------------------------------------------
by_b() { as kilntest1 env KILN_SERVER="http://$b" "$@"; }
cluster_address_a=$cluster_address
cluster_address=$b cluster_url=http://$b
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 1s
ok "an agent that knows only this head is ready" \
    wait_for 20 admin wait --for condition=Ready node n1
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done
is "and so does a user's job run" "$(by_b ksub --wait --wrap 'echo $KILN_JOB_ID' >/dev/null 2>&1
    echo $?)" 0
ok "on the machine of this head the local socket names the leader" \
    as kilntest1 env KILN_SERVER="$cluster/socket-b" kctl get nodes --no-wait
ok "TLS ends at the leader" curl -fs --cacert "$cluster/state/tls.crt" \
    "https://localhost:${tls_b#*:}/version" -o /dev/null
is "health is answered here" "$(curl -s "http://$b/livez")" ok
monitoring=$(admin metrics-token monitoring)
is "and metrics, for whom the leader gives his" "$(metric kiln_standby)" 1
refused() { # HOST [OPTION]...
    refused_at=$1
    shift
    curl -s -o /dev/null -w '%{http_code}' --max-time 10 "$@" "http://$refused_at/metrics"
}
is "without a proof they are refused" "$(refused "$b")" 401
is "as those of the leader are" "$(refused "$cluster_address_a")" 401
is "also with a wrong one" "$(refused "$b" -H "Authorization: Bearer x$monitoring")" 401
admin metrics-token gone >"$cluster/gone"
admin metrics-token --revoke gone >/dev/null
is "or one that was revoked" "$(refused "$b" -H "Authorization: Bearer $(cat "$cluster/gone")")" 401
case $(curl -s "http://$b/version") in
*gitVersion*) pass "all else by the leader" ;;
*) fail "all else by the leader" ;;
esac

# --- the client's address ------------------------------------------------------------
body='{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}'
audit_begin
curl -s --interface 127.0.0.9 -o "$cluster/answer" -H 'Content-Type: application/json' \
    -d "$body" "http://$b/api/v1/namespaces/default/configmaps"
curl -s --interface 127.0.0.8 -o "$cluster/answer" -H 'Content-Type: application/json' \
    -H 'Forwarded: for=127.0.0.7' -H 'X-Forwarded-For: 127.0.0.7' --cacert "$cluster/state/tls.crt" \
    -d "$body" "https://localhost:${tls_b#*:}/api/v1/namespaces/default/configmaps"
sees() { audited | grep -q "\"from\":\"$1:"; }
ok "the leader writes the true address into the audit log" wait_for 10 sees 127.0.0.9
ok "also of a client with TLS" wait_for 10 sees 127.0.0.8
unlike "and no other" "$(audited)" '"from":"(127.0.0.[17]:|unix)'

# --- the database --------------------------------------------------------------------
cat >"$cluster/twice.py" <<'EOF'
import http.client, os, sys, time
c = http.client.HTTPConnection(sys.argv[1], timeout=60)
for turn in range(2):
    try:
        c.request("GET", "/version")
        print(c.getresponse().read() and "answered", flush=True)
    except OSError as e:
        print(type(e).__name__, flush=True)
    while turn == 0 and not os.path.exists(sys.argv[2]):
        c.auto_open = 0
        time.sleep(0.1)
EOF
python3 "$cluster/twice.py" "$b" "$cluster/go" >"$cluster/twice" &
twice=$!
wait_for 20 grep -q answered "$cluster/twice"
sql() { psql -qAtX "$postgres_url" -c "$1"; }
of_b="FROM pg_stat_activity WHERE application_name = 'kiln-controller candidate'"
sql "SELECT pg_terminate_backend(pid) $of_b" >/dev/null
cut_at=$(sql 'SELECT now()')
is_back() {
    [ "$(sql "SELECT count(*) FROM kiln.controllers WHERE directory = '$cluster/b'
        AND seen > '$cut_at'")" = 1 ]
}
ok "a controller that waits is back after its session to the database was lost" \
    wait_for 30 is_back
: >"$cluster/go"
wait "$twice"
is "and what it relays to the same leader went on" "$(tr '\n' ' ' <"$cluster/twice")" \
    "answered answered "

# forge.py KIND: sends a request to the leader with a header that says that it comes from
# 10.9.8.7, and prints what comes back.
cat >"$cluster/forge.py" <<'EOF'
import hmac, hashlib, socket, struct, sys
kind, port, key, relay, number = sys.argv[1], int(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:6])
head = b"\r\n\r\n\0\r\nQUIT\n\x21\x21" + struct.pack(">H", 90)
head += b"\0" * 10 + b"\xff\xff" + bytes([10, 9, 8, 7]) + b"\0" * 16 + struct.pack(">HH", 4000, 0)
head += b"\xe0\0\x10" + struct.pack(">QQ", relay, number) + b"\xe1\0\x20"
head += hmac.new(key.encode(), b"kiln relay 1\0" + head, hashlib.sha256).digest()
if kind == "old":  # version 1 of the protocol
    head = b"PROXY TCP4 10.9.8.7 127.0.0.1 4000 6820\r\n"
if kind == "no-mac":  # version 2, as HAProxy sends it
    head = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes([10, 9, 8, 7, 127, 0, 0, 1]) + b"\x0f\xa0\x1a\xa4"
body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}'
request = (b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
           b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)) + body
s = socket.socket(socket.AF_UNIX) if "/" in sys.argv[6] else socket.socket()
s.settimeout(15)
s.connect(sys.argv[6] if "/" in sys.argv[6] else ("127.0.0.1", port))
try:
    for piece in range(0, len(head), 7):  # the beginning comes in pieces
        s.sendall(head[piece:piece + 7])
    if kind == "cut":
        s.shutdown(socket.SHUT_WR)
    else:
        s.sendall(request)
    answer = b""
    while True:
        more = s.recv(65536)
        if not more:
            break
        answer += more
    print(answer.split(b"\r\n")[0].decode() or "closed")
except OSError:
    print("closed")
EOF
port_a=${cluster_address_a#*:}
key=$(psql -qAtX "$postgres_url" -c 'SELECT key FROM kiln.relay')
wrong=$(printf '%064d' 1)
forge() { python3 "$cluster/forge.py" "$1" "$2" "$3" "$4" "$5" "${6:-tcp}"; }
audit_begin
is "a header with a wrong key is refused" "$(forge mac "$port_a" "$wrong" 5 1)" closed
is "so is one without a MAC" "$(forge no-mac "$port_a" "$key" 5 1)" closed
like "one of the version before is no request" "$(forge old "$port_a" "$key" 5 1)" '400|closed'
is "one on the TLS port with a wrong key is refused" "$(forge mac "${tls_a#*:}" "$wrong" 5 1)" closed
like "one on the local socket is no request" \
    "$(forge mac 0 "$key" 5 1 "$cluster/state/socket")" '400|closed'
unlike "nothing of them is believed" "$(audited)" '10\.9\.8\.7'
like "one with the key, as heads have it, is believed" "$(forge mac "$port_a" "$key" 5 1)" ' 401 '
ok "(the leader sees the address in it)" wait_for 10 sees 10.9.8.7
is "once: who has listened to it cannot send it again" "$(forge mac "$port_a" "$key" 5 1)" closed
is "a relay does not relay what another one relays: nothing goes in circles" \
    "$(forge mac "${b#*:}" "$key" 5 2)" closed
is "one that is cut off ends the connection" "$(forge cut "$port_a" "$wrong" 5 3)" closed
unlike "the key is in no log" "$(cat "$cluster"/log/*)" "$key"

# --- connections that say nothing -----------------------------------------------------
cat >"$cluster/flood.py" <<'EOF'
import resource, socket, ssl, sys
kind, port, count, source = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
tls = ssl.create_default_context()
tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
done = 0
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
all, asked = [], []
def answers():
    got = 0
    for s in asked:
        try:
            got += s.recv(12) == b"HTTP/1.1 200"
        except OSError as e:
            print(e, flush=True)
    asked.clear()
    return got
for i in range(count):
    s = socket.socket()
    s.settimeout(60)
    if kind == "slow":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.bind((source, 0))
    try:
        s.connect(("127.0.0.1", port))
        if kind == "slow":
            s = tls.wrap_socket(s)
            s.sendall(b"GET /openapi/v2 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
                      % sys.argv[5].encode() * 3)
            done += s.recv(12) == b"HTTP/1.1 200"
        if kind == "half":
            s.sendall(b"GET /version HTTP/1.1\r\n")
        if kind == "idle":
            s.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
            asked.append(s)
            if len(asked) == 50:
                done += answers()
    except OSError as e:
        if kind == "idle":
            print(e, flush=True)
    all.append(s)
done += answers()
print("ready", done, flush=True)
sys.stdin.read()
EOF
mkfifo "$cluster/hold"
flood() { # KIND PORT COUNT SOURCE [TOKEN]
    python3 "$cluster/flood.py" "$@" <"$cluster/hold" >"$cluster/flood.out" 2>&1 &
    flood_pid=$!
    exec 9>"$cluster/hold"
    wait_for 300 grep -q ready "$cluster/flood.out"
}
flood_end() {
    exec 9>&-
    wait "$flood_pid"
}
memory_mib() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$(pid_of b)/status"; }
version_from() { curl -fs --max-time 20 --interface "$1" "http://$b/version" -o /dev/null; }
before=$(memory_mib)
flood silent "${b#*:}" 5000 127.0.0.5
ok "with 5,000 silent connections of one client others are served" version_from 127.0.0.1
ok "and that client's address, too: the oldest silent ones are closed" version_from 127.0.0.5
ok "the agent is ready still" admin wait --for condition=Ready node n1 --timeout 1s
flood_end
flood half "${b#*:}" 3000 127.0.0.5
ok "with 3,000 beginnings of requests others are served" version_from 127.0.0.1
flood_end
few() { [ "$(metric kiln_relay_connections)" -lt 20 ]; }
# shellcheck disable=SC3045 # dash has it
if [ "$(ulimit -n)" = unlimited ] || [ "$(ulimit -n)" -ge 12000 ]; then
    flood idle "${b#*:}" 4400 127.0.0.5
    is "each of 4,400 requests of one client is answered, of which no connection is closed" \
        "$(cat "$cluster/flood.out")" "ready 4400"
    ok "and then its address is served still: the leader closes the oldest" version_from 127.0.0.5
    ok "what the leader has closed ends here, though the client does not close" wait_for 60 few
    flood_end
else
    skip "4,400 requests of one client" "too few open files are allowed"
fi
ok "they cost little memory" test "$(($(memory_mib) - before))" -lt 60

# --- who does not read ------------------------------------------------------------------
before=$(memory_mib)
token=$(by_b kctl credential | jq -r .status.token)
flood slow "${tls_b#*:}" 200 127.0.0.6 "$token"
is "(their requests are being answered)" "$(cat "$cluster/flood.out")" "ready 200"
ok "with 200 clients that do not read their answers others are served" version_from 127.0.0.1
ok "their answers are not kept here" test "$(($(memory_mib) - before))" -lt 60
flood_end
ok "the end of a client ends its connection" wait_for 40 few

# --- the leader changes --------------------------------------------------------------------
signal controller KILL
await_end controller
like "without a leader the answer says so" "$(curl -s "http://$b/version")" \
    'waits to lead.*NotLeading'
is "and the head is not ready" "$(curl -s -o /dev/null -w '%{http_code}' "http://$b/readyz")" 503
by_b timeout 90 ksub --wait --wrap true >"$cluster/waits" 2>&1
is "a command that knows only this head waits until it leads" "$?" 0
ok "the file that named another one is gone" test ! -e "$cluster/socket-b.leader"
is "a header of the lead before is refused" "$(forge mac "${b#*:}" "$key" 5 9)" closed


# --- the keys that the heads share -----------------------------------------------------------
# They are secrets of the store: nobody reads them by the API, not even an administrator.
token_key=$(head -1 "$cluster/b/token.key")
tls_key=$(sed -n 2p "$cluster/b/tls.key")
is "the store has the token key" \
    "$(sql "SELECT convert_from(value, 'UTF8') FROM kiln.secrets WHERE name = 'keys/token'")" \
    "$token_key"
is "and the key of the certificate" \
    "$(sql "SELECT convert_from(value, 'UTF8') FROM kiln.secrets WHERE name = 'keys/tls.key'" |
        sed -n 2p)" "$tls_key"
local_get() { curl -s -m 20 --unix-socket "$cluster/socket-b" "http://x$1"; }
lists() { # prints the path of each list that the API has
    local_get /api/v1 | jq -r '.resources[] | select(.name | contains("/") | not) |
        "/api/v1/" + .name'
    for group in $(local_get /apis | jq -r '.groups[].versions[].groupVersion'); do
        local_get "/apis/$group" | jq -r --arg group "$group" '.resources[] |
            select(.name | contains("/") | not) | "/apis/" + $group + "/" + .name'
    done
}
read_all() {
    for path in $(lists) /metrics /configz /openapi/v2 /statusz /flagz /debug/pprof \
        /api/v1/secrets /api/v1/namespaces/kube-system/secrets /kiln/v1/secrets \
        /kiln/v1/controllers /kiln/v1/keys/token /kiln/v1/secrets/keys%2Ftoken \
        /kiln/v1/../../token.key /kiln/v1/%2e%2e/b/token.key; do
        local_get "$path"
    done
    cat "$cluster/log/b" "$cluster/log/controller" "$cluster/b/audit.log" "$cluster/state/audit.log"
    tr '\0' '\n' <"/proc/$(pid_of b)/cmdline"
}
lists >"$cluster/lists"
ok "(the lists of the API are read)" test "$(wc -l <"$cluster/lists")" -ge 10
read_all >"$cluster/read" 2>&1
ok "(and what they have)" grep -q '"kind":"NodeList"' "$cluster/read"
not_ok "no answer of the API, log or argument has the token key" \
    grep -q "$token_key" "$cluster/read"
not_ok "nor the key of the certificate" grep -qF "$tls_key" "$cluster/read"
postgres_admin pg1 'CREATE USER reader'
like "another user of the database reads none of them" "$(psql -qAtX -U reader -h 127.0.0.1 \
    -p "$(postgres_port_of pg1)" -d kiln -c 'SELECT value FROM kiln.secrets' 2>&1)" \
    'permission denied'
kiln-controller --state-dir "$cluster/b" --store "$cluster_store" --backup "$cluster/saved" 2>&1
is "a backup, which has them, is for its owner" "$(stat -c %a "$cluster/saved")" 600
like "a user cannot read the files" "$(as kilntest1 cat "$cluster/b/token.key" 2>&1)" \
    'Permission denied'

rm "$cluster/b/tls.crt" "$cluster/b/tls.key"
signal b HUP
has_new_key() {
    [ -s "$cluster/b/tls.crt" ] && [ "$(cat "$cluster/b/tls.key" "$cluster/b/tls.crt")" = "$(sql \
        "SELECT convert_from(value, 'UTF8') FROM kiln.secrets WHERE name LIKE 'keys/tls.%'
        ORDER BY name DESC" | grep .)" ]
}
ok "a certificate that was removed is made anew by a reload, for all heads" \
    wait_for 20 has_new_key
ok "and is in use" curl -fs --cacert "$cluster/b/tls.crt" "https://localhost:${tls_b#*:}/version" \
    -o /dev/null

finish
