#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Attacks on an agent by its socket for steps: a user takes neither its memory nor its
# time with requests that never end, with many that wait, by holding a job, or with a grant
# that krun has made up; and sees and delays nothing of a job of another user. A grant of the
# controller opens one pod once, for a minute.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; called by others; cluster.sh

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
need munged jq python3 curl
[ "$(id -u)" -eq 0 ] || skip_all "only root runs jobs of several users"
cluster_begin
need kiln-controller kiln-agent kiln-step ksub kctl krun
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"
# The prolog of the site holds a job as long as a file is there.
cat >"$cluster/prolog" <<EOF
#!/bin/sh
[ ! -e "$cluster/hold" ] || touch "$cluster/in-prolog"
while [ -e "$cluster/hold" ]; do sleep 0.1; done
EOF
chmod 755 "$cluster/prolog"
echo "prolog: $cluster/prolog" >"$cluster/agent.yaml"
agent() {
    cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 1s \
        --config "$cluster/agent.yaml" --listen 127.0.0.1:0
}
agent
wait_for 20 admin wait --for condition=Ready node n1 >/dev/null || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done
socket=$cluster/n1/state/steps

cat >"$cluster/call.py" <<'EOF'
import json, os, resource, signal, socket, struct, subprocess, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
path, what, pod = sys.argv[1:4]
HELLO, ASK, GRANT, HOLD = 1, 13, 17, 22
all = []
def frame(kind, text):
    return struct.pack(">IBBHI", len(text), kind, 0, 0, 0xffffffff) + text
def request(**more):
    return json.dumps(dict({"podUID": pod, "jobID": "1", "arguments": ["true"],
                            "directory": "/", "tasks": 1}, **more)).encode()
def call(bytes):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    while s.connect_ex(path) != 0: # the backlog is full
        time.sleep(0.05)
    try:
        s.sendall(bytes)
    except OSError:
        pass
    all.append(s)
    return s
if what == "unfinished":
    for i in range(40):
        call(frame(HELLO, b"x" * (16 << 20))[:-1])
elif what == "waiting":
    # A member of two bytes takes many times as many bytes of memory.
    text = request(tasks=4, exact=True, environment=["A="] * 200000)
    for i in range(60):
        call(frame(HELLO, text))
elif what == "many":
    text = request(tasks=4, exact=True)
    for i in range(3000):
        call(frame(HELLO, text))
def grant(number):
    text = {"stepID": number, "node": 0, "tasks": 1, "cpusPerTask": 1,
            "nodes": [{"name": "n1", "tasks": "0", "cpus": sys.argv[4]}]}
    return frame(GRANT, json.dumps(text).encode()) + frame(HELLO, request())
if what == "reset":
    # Kiln-step is stopped, and krun leaves without having read what it said.
    s = call(frame(HELLO, request(arguments=["sleep", "60608"], overlaps=True)))
    task = ""
    while not task:
        task = subprocess.run(["pgrep", "-u", str(os.getuid()), "-fx", "sleep 60608"],
                              capture_output=True, text=True).stdout.strip()
        time.sleep(0.05)
    with open("/proc/%s/stat" % task) as f:
        os.kill(int(f.read().rsplit(")", 1)[1].split()[1]), signal.SIGSTOP)
    s.close()
    sys.exit()
if what == "asks":
    for i in range(200):
        s = call(frame(ASK, pod.encode()))
    for s in all:
        said = s.makefile("rb").read()
    print(*[v for v in json.loads(said[12:])["variables"] if v.startswith("KILN_JOB_NAME=")])
    sys.exit()
if what == "holds":
    # The header of a larger frame than any that this connection may have.
    for i in range(8):
        s = call(frame(HOLD, pod.encode()))
        if s.recv(4096)[4] == 3:
            print("refused")
            sys.exit()
        try:
            s.sendall(frame(HELLO, b"x" * (16 << 20))[:-1])
        except OSError:
            pass
if what == "grants":
    for i in range(3000):
        call(grant(10000 + i))
elif what == "grant":
    s = call(grant(9223372036854775807))
    print(s.recv(4096))
    sys.exit()
elif what == "signal":
    for text in sys.argv[5:]:
        s = call(frame(int(sys.argv[4]), text.encode()))
        print(s.makefile("rb").read()[12:].decode())
    sys.exit()
print("connected", flush=True)
if what in ("many", "grants"):
    for s in all:
        s.close()
    print("gone", flush=True)
    sys.exit()
time.sleep(60)
EOF
call() { as "$1" python3 "$cluster/call.py" "$socket" "$2" "$3" "${4-}" "${5-}"; }
rss() { awk '/^RssAnon/ { print $2 }' "/proc/$(pid_of n1)/status"; }
ticks() { awk '{ print $14 + $15 }' "/proc/$(pid_of n1)/stat"; }
state_is() { admin get job "$1" --no-headers | grep -qw "$2"; }
all_run() { [ "$(pgrep -u kilntest1 -cfx 'sleep 60606')" -eq 4 ]; }
begin() { # USER NAME
    id=$(as "$1" ksub --parsable -J "$2" -n 4 -o /dev/null --wrap 'sleep 900') || bail_out "no job"
}
pod_of() { admin get pods -o json | jq -r --arg n "$1" '.items[] | select(.metadata.name | contains($n)) | .metadata.uid'; }
step() {
    as kilntest1 env KILN_POD_UID="$pod" KILN_STEP_SOCKET="$socket" KILN_JOB_ID="$id" \
        timeout 60 krun "$@"
}
begin kilntest1 job
wait_for 20 state_is "$id" Running || bail_out "the job does not run"
pod=$(pod_of "$id")
is "a step runs" "$(step echo here)" here

# --- requests that never end ----------------------------------------------------
before=$(rss)
call kilntest2 unfinished "$pod" >"$cluster/said" 2>"$cluster/err" &
caller=$!
wait_for 60 grep -q connected "$cluster/said"
echo "# $(($(rss) - before)) KiB"
ok "requests of 640 MB that do not end take no such memory" [ $(($(rss) - before)) -lt 300000 ]
is "and keep nobody else from a step" "$(step echo here)" here
kill "$caller"

# Of eight users who have filled the socket together, it ends connections for others.
python3 - "$socket" >"$cluster/said" 2>"$cluster/err" <<'EOF' &
import os, resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
all = []
for uid in range(60001, 60009):
    os.seteuid(uid)
    for i in range(256):
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        all.append(s)
    os.seteuid(0)
print("connected", flush=True)
time.sleep(60)
EOF
caller=$!
wait_for 60 grep -q connected "$cluster/said" || note "$(cat "$cluster/err")"
is "eight users who fill the socket together keep nobody else from a step" "$(step echo here)" here
# pam_kiln's question is whether a user has a job here.
enter=$(awk '/^enum step_frame_type/ { is_in = 1 } is_in && /STEP_FRAME_/ { n++ }
    /STEP_FRAME_ENTER,/ { print n; exit }' "$top_srcdir/src/lib/step/step_frames.h")
is "... nor root from its question at a login" \
    "$(timeout 20 python3 "$cluster/call.py" "$socket" signal "$pod" "$enter" 60001)" \
    "you have no running job on n1; see ksub(1)"
kill "$caller"

# --- signals to steps --------------------------------------------------------------
step -n 4 sleep 60606 &
holder=$!
wait_for 20 all_run || bail_out "the step does not run"
kind=$(awk '/^enum step_frame_type/ { is_in = 1 } is_in && /STEP_FRAME_/ { n++ }
    /STEP_FRAME_CALL,/ { print n; exit }' "$top_srcdir/src/lib/step/step_frames.h")
for number in 0 1 2 3 4; do
    call kilntest2 signal "$pod" "$kind" "$pod $number 9"
done >"$cluster/said"
is "nobody signals a step of another user, or learns which there are" \
    "$(sort -u "$cluster/said")" "no job of this user with pod '$pod' runs on node 'n1'"
signal() {
    api kilntest2 POST /kiln/v1/jobs/signal "{\"ids\": \"1-9\", \"signal\": {\"to\": \"Step\", $1}}"
}
for what in '"step": 0' '"step": 1, "name": "KILL"' '"step": 2, "name": "TERM"'; do
    signal "$what"
done | grep -o '"outcome":"[A-Za-z]*"' | sort -u >"$cluster/said"
is "nor by the controller" "$(tr '\n' ' ' <"$cluster/said")" '"outcome":"NotFound" "outcome":"Refused" '
like "... which takes no request without a step" "$(signal '"name": "KILL"')" '^400 .*signal.step is missing'
for text in "" "$pod" "$pod 2" "$pod 2 " "$pod 2 65" "$pod 2 -1" "$pod 2 9 9" "$pod -2 9" " 2 9"; do
    call kilntest1 signal "$pod" "$kind" "$text"
done >"$cluster/said"
is "requests that are none are refused" "$(sort -u "$cluster/said")" \
    "no job of this user with pod '' runs on node 'n1'
this is not the request of a scancel of this release"
ok "and the step goes on" all_run

# --- requests that wait ---------------------------------------------------------
before=$(rss)
call kilntest1 waiting "$pod" >"$cluster/said" 2>"$cluster/err" &
caller=$!
wait_for 60 grep -q connected "$cluster/said"
sleep 1
echo "# $(($(rss) - before)) KiB"
ok "nor do 60 that wait, of 200,000 variables each" [ $(($(rss) - before)) -lt 300000 ]
kill "$caller"
before=$(ticks)
call kilntest1 many "$pod" >"$cluster/said" 2>"$cluster/err" &
caller=$!
wait_for 60 grep -q gone "$cluster/said"
is "a step that overlaps others does not wait for them" "$(step --overlap echo here)" here
echo "# $(($(ticks) - before)) ticks"
ok "3,000 that come and go take no time of the square of their number" \
    [ $(($(ticks) - before)) -lt 100 ]
cpus=$(admin get pods -o json | jq -r '.items[0].status.allocation.cpus')
before=$(ticks)
call kilntest1 grants "$pod" "$cpus" >"$cluster/said" 2>"$cluster/err" &
caller=$!
wait_for 60 grep -q gone "$cluster/said"
is "a step that overlaps others is not behind them either" "$(step --overlap echo here)" here
echo "# $(($(ticks) - before)) ticks"
ok "nor do 3,000 with a grant that waits for CPUs" [ $(($(ticks) - before)) -lt 60 ]
# One of them whose end the agent has not seen yet would start when the CPUs are free.
are_gone() { [ "$(find "/proc/$(pid_of n1)/fd" -mindepth 1 | wc -l)" -lt 100 ]; }
ok "which it forgets" wait_for 60 are_gone
for pid_of_task in $(pgrep -u kilntest1 -fx 'sleep 60606'); do kill "$pid_of_task"; done
wait "$holder" 2>/dev/null

# --- a job that is held ------------------------------------------------------------
is "nobody but its user holds a job" "$(call kilntest2 holds "$pod")" refused
before=$(rss)
call kilntest1 holds "$pod" >"$cluster/said" 2>"$cluster/err" &
caller=$!
wait_for 60 grep -q connected "$cluster/said"
echo "# $(($(rss) - before)) KiB"
ok "those who hold a job take no memory by frames that do not end" \
    [ $(($(rss) - before)) -lt 20000 ]
kill "$caller"

# --- a step that is stopped, and left --------------------------------------------------
is_left() { ! pgrep -u kilntest1 -fx 'sleep 60608' >/dev/null; }
before=$(ticks)
call kilntest1 reset "$pod"
ok "a step whose krun resets its connection and whose kiln-step is stopped ends" \
    wait_for 20 is_left
echo "# $(($(ticks) - before)) ticks"

# --- a job whose process lies about its variables ------------------------------------
cat >"$cluster/lie.py" <<'EOF'
import os
lies = {"A%d" % i: "" for i in range(100000)}
os.execve("/bin/sleep", ["sleep", "60607"], {"KILN_JOB_NAME": "lie", **lies})
EOF
told=$(as kilntest1 ksub --parsable -J truth -o /dev/null --wrap "exec python3 $cluster/lie.py") ||
    bail_out "no job"
lies() { pgrep -u kilntest1 -fx 'sleep 60607' >/dev/null; }
wait_for 20 lies || bail_out "job $told does not run"
before=$(ticks)
is "the agent does not ask the processes of a job for its variables" \
    "$(call kilntest1 asks "$(pod_of "$told")")" KILN_JOB_NAME=truth
echo "# $(($(ticks) - before)) ticks"
as kilntest1 kctl cancel "$told" >/dev/null

# --- a grant that krun has made up -----------------------------------------------
like "a grant with the highest number for its step is refused" \
    "$(call kilntest1 grant "$pod" "$cpus")" 'manager'
like "and the job's own steps have numbers as before" \
    "$(step sh -c 'echo $KILN_STEP_ID')" '^[0-9]{1,2}$'

# --- grants of the controller -----------------------------------------------------
# With the node's secret, which nobody but root has, any grant can be made.
cat >"$cluster/grant.py" <<'EOF'
import base64, hashlib, hmac, os, socket, sys, time
port, secret = int(sys.argv[1]), sys.argv[2]
verifier = hashlib.sha256(b"kiln-node-verifier 1\n" + bytes.fromhex(secret)).digest()
def sign(word, key=verifier):
    text = b"kiln-exec-grant-mac 1\n" + word.encode() + b"\n"
    return word + "." + hmac.new(key, text, hashlib.sha256).hexdigest()
def grant(pod, uid, node="n1", cluster="test", ago_s=0, key="09" + "0" * 62):
    text = ("kiln-claim 1\npurpose=exec-grant\ncluster=%s\nnonce=%s\nnode=%s\npod=%s\nkey=%s\n"
            "uid=%s\nby=mallory\nissued=%d\n" % (cluster, os.urandom(16).hex(), node, pod, key,
                                                 uid, (time.time() - ago_s) * 1000))
    return base64.b64encode(text.encode()).decode()
def send(line):
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(20)
    s.sendall(b"kiln-exec-grant 1 " + line.encode() + b"\n")
    said = b""
    while not said.endswith(b"\n"):
        more = s.recv(4096)
        if not more:
            break
        said += more
    s.close()
    said = said.decode().strip()
    return said.split()[0] if said.startswith("kiln-exec-answer ") else said
EOF
grants() { # SCRIPT: its own words and those of the file above
    (cat "$cluster/grant.py"; echo "$1") | python3 - "$port" "$(cat "$cluster/n1/state/node-secret")"
}
has_port() {
    port=$(admin get node n1 -o json | jq '.status.daemonEndpoints.kubeletEndpoint.Port // 0')
    [ "$port" -gt 0 ]
}
wait_for 20 has_port || bail_out "the agent has no port"
uid=$(id -u kilntest1) other=$(id -u kilntest2)
refusal="kiln-step-refused the controller has not made this grant for this node as it is enrolled now"
is "a grant as the controller makes it is taken once" \
    "$(grants "g = sign(grant('$pod', $uid)); print(send(g)); print(send(g))")" \
    "kiln-exec-answer
kiln-step-refused the credential has been used before; each attempt needs a new one"
is "a grant for another user, for root or for a pod that is not here opens nothing" \
    "$(grants "
for pod, uid in ('$pod', $other), ('$pod', 0), ('00000000-0000-4000-8000-000000000000', $uid):
    print(send(sign(grant(pod, uid))))" | sed "s/pod '[^']*'/pod/" | sort -u)" \
    "kiln-step-refused no job of this user with pod runs on node 'n1'"
is "nor does one for another node or cluster" \
    "$(grants "
print(send(sign(grant('$pod', $uid, node='n2'))))
print(send(sign(grant('$pod', $uid, cluster='other'))))")" \
    "kiln-step-refused the grant is for node 'n2', this is node 'n1'
kiln-step-refused the grant is for cluster 'other', this is cluster 'test'"
is "nor one that is too old, or from a time to come" \
    "$(grants "
for s in (90, -600):
    print(send(sign(grant('$pod', $uid, ago_s=s))).split(' the most')[0])" | sed 's/[0-9]* sec/N sec/')" \
    "kiln-step-refused the grant is N seconds old by the clock of this node,
kiln-step-refused the grant is -N seconds old by the clock of this node,"
is "nor one that was changed, has another signature or none" \
    "$(grants "
g = sign(grant('$pod', $uid))
for i in (0, 40, len(g) - 70, len(g) - 1):
    print(send(g[:i] + ('A' if g[i] != 'A' else 'B') + g[i + 1:]))
print(send(sign(grant('$pod', $uid), b'k' * 32)))
print(send(grant('$pod', $uid)))
print(send(sign(grant('$pod', $uid)).split('.')[0] + '.'))
print(send('.'))
print(send(''))" | sort -u)" "$refusal"
is "nor one with a key that makes the connection's keys known to all" \
    "$(grants "print(send(sign(grant('$pod', $uid, key='0' * 64))))")" \
    "kiln-step-refused the grant has no valid key"
name=$(admin get pods -o json |
    jq -r --arg uid "$pod" '.items[] | select(.metadata.uid == $uid) | .metadata.name')
key='{"key":"0900000000000000000000000000000000000000000000000000000000000000"}'
forbidden "a user gets no grant for a pod of another user" \
    kilntest2 POST "$pods/$name/exec-grant" "$key"
like "nor the owner without a line in the audit log" \
    "$(api kilntest1 POST "$pods/$name/exec-grant?dryRun=All" "$key")" '^400 .*no dry run'
like "but with one" "$(api kilntest1 POST "$pods/$name/exec-grant" "$key")" '^201 .*"grants":'
audited() { grep exec-grant "$cluster/state/audit.log" | jq -r '"\(.user) \(.code) \(.name)"' | sort; }
has_three() { [ "$(audited | wc -l)" -eq 3 ]; }
wait_for 20 has_three # lines are written a moment later
is "which refusals have, too" "$(audited)" \
    "kilntest1 201 $name
kilntest1 400 $name
kilntest2 403 $name"
kept=$(grants "print(sign(grant('$pod', $uid)))")
stop n1
agent
answers() { has_port && [ "$(grants "print(send(''))" 2>/dev/null)" = "$refusal" ]; }
wait_for 30 answers || bail_out "the agent does not listen again"
is "an agent that has started again refuses grants from before" "$(grants "print(send('$kept'))")" \
    "kiln-step-refused the grant was made before this agent started; try again"
takes_it() { [ "$(grants "print(send(sign(grant('$pod', $uid))))")" = kiln-exec-answer ]; }
ok "and takes new ones" wait_for 30 takes_it

# --- a job that starts ------------------------------------------------------------
touch "$cluster/hold"
begin kilntest1 held
in_prolog() { [ -e "$cluster/in-prolog" ]; }
wait_for 20 in_prolog || bail_out "the prolog does not run"
pod=$(pod_of "$id")
like "while a job starts, another user is told that it has none there" \
    "$(as kilntest2 env KILN_POD_UID="$pod" KILN_STEP_SOCKET="$socket" timeout 5 krun id 2>&1)" \
    'no job of this user'
rm "$cluster/hold"
finish
