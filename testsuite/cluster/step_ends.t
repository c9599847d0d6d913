#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The steps of a job on one node: streams are byte-exact and cost no memory, also for
# a reader that stops; whatever ends, nothing of a step is left two seconds later,
# daemonized or not; a restart of the agent disturbs no step; nobody else's user gets one.

# shellcheck disable=SC2016,SC2119,SC2154,SC2317 # of jobs; cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-step ksub kctl krun jq unshare python3
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller
# Threads N and N + 4 share a core.
topology='package:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)'
agent() { # with cgroups, if this machine has any
    cluster_agent n1 --topology "$topology" --heartbeat 1s \
        --cgroup-base "/kiln-steps-$$"
}
plain_agent() { # that sees no cgroups
    directory "$cluster/n2" 711
    start n2 unshare --mount sh -c 'umount -a -t cgroup,cgroup2
        exec kiln-agent "$@"' agent --controller "$cluster_url" --cluster test \
        --service-user "$(id -un)" --munge-socket "$munge_socket" \
        --node-name n2 --state-dir "$cluster/n2/state" \
        --run-dir "$cluster/n2/run" --shepherd "$cluster/bin/kiln-shepherd" \
        --topology "$topology" --heartbeat 1s
}
agent
plain_agent
wait_for 20 admin wait --for condition=Ready node n1 n2 || bail_out "no nodes"
for node in n1 n2; do
    for key in $(admin get node $node -o json | jq -r '.spec.taints[]?.key'); do
        admin taint node $node "$key-" >/dev/null
    done
done
home=$cluster/home/kilntest1

# allocation NODE TASKS [OPTION...]: a job whose script waits. Steps of it are started by
# `step`, as its script would. $id is the job, $pod the uid of its pod.
restart() { # NODE
    if [ "$1" = n1 ]; then agent; else plain_agent; fi
    wait_for 20 test -S "$cluster/$1/state/steps"
}
stands_still() {
    still=$(wc -c <"$cluster/out")
    sleep 0.4
    [ "$(wc -c <"$cluster/out")" -eq "$still" ]
}
has_grown() { [ "$(wc -c <"$cluster/out")" -gt "$still" ]; }
allocation() {
    node=$1 tasks=$2
    shift 2
    id=$(submit -w "$node" -n "$tasks" -o /dev/null "$@" --wrap 'while [ ! -e end ]; do
        sleep 0.1; done') || bail_out "no job"
    wait_for 20 state_is "$id" Running || bail_out "the job does not run"
    pod=$(admin get pod "job-$id-0" -o json | jq -r .metadata.uid)
}
step() {
    as kilntest1 env KILN_POD_UID="$pod" KILN_STEP_SOCKET="$cluster/$node/state/steps" \
        KILN_JOB_ID="$id" krun "$@"
}
none_is() { # WORD: no process has that word among its arguments
    ! pgrep -f "$1" >/dev/null
}
steps_of() { # prints the pids of kiln-steps
    find /proc/[0-9]*/exe -maxdepth 0 -lname "$cluster/bin/kiln-step" 2>/dev/null | tr -dc '0-9\n'
}
no_step_cgroups() {
    [ -z "$(find /sys/fs/cgroup -path "*/kiln-steps-$$/*" -name 'step-*' 2>/dev/null)" ]
}
no_steps() { [ -z "$(steps_of)" ]; }
krun_of() { # WORD: the pid of the krun with that word
    find /proc/[0-9]*/exe -maxdepth 0 -lname "$cluster/bin/krun" 2>/dev/null |
        while read -r exe; do
            ! grep -q "$1" "${exe%/exe}/cmdline" || basename "${exe%/exe}"
        done
}
count_is() { # WORD COUNT: so many processes sleep that long
    [ "$(pgrep -cfx "sleep $1")" -eq "$2" ]
}
beat() { admin get lease "$node" -n kube-node-lease -o json | jq -r .spec.renewTime; }
has_beaten() { [ "$(beat)" != "$(cat "$cluster/beat")" ]; }
ticks_of() { awk '{ print $14 + $15 }' "/proc/$1/stat"; } # of CPU time
rss() { awk '/^RssAnon/ { print $2 }' "/proc/$1/status"; }

# A krun that takes one byte of output at a time, once it has a whole window, and sends its
# input so: prints both sums, and the largest piece that came then.
cat >"$cluster/window.py" <<'EOF'
import hashlib, json, socket, struct, sys
path, pod, home = sys.argv[1:4]
HELLO, REFUSE, ACCEPT, DATA, CREDIT, END, ALL, WINDOW = 1, 3, 4, 5, 6, 9, 0xffffffff, 256 << 10
MORE = 3000
s = socket.socket(socket.AF_UNIX)
s.connect(path)
s.settimeout(60)
f = s.makefile("rb")
def send(kind, stream, payload):
    s.sendall(struct.pack(">IBBHI", len(payload), kind, stream, 0, ALL) + payload)
def receive():
    length, kind, stream, _, task = struct.unpack(">IBBHI", f.read(12))
    return kind, stream, f.read(length)
task = "head -c %d random; cat" % WINDOW
send(HELLO, 0, json.dumps({"podUID": pod, "jobID": "1", "arguments": ["sh", "-c", task],
                           "directory": home, "tasks": 1}).encode())
data = open(home + "/random", "rb").read(WINDOW + MORE)
got, largest, sent = b"", 0, 0
while True:
    kind, stream, payload = receive()
    if kind == REFUSE:
        sys.exit(payload)
    if kind == END:
        break
    if kind != DATA or stream != 1:
        continue
    if len(got) >= WINDOW:
        largest = max(largest, len(payload))
    got += payload
    if len(got) >= WINDOW and sent < MORE:
        send(DATA, 0, data[WINDOW + sent:WINDOW + sent + 1])
        send(CREDIT, 1, struct.pack(">I", 1))
        sent += 1
        if sent == MORE:
            send(DATA, 0, b"")
print(hashlib.md5(got).hexdigest() == hashlib.md5(data).hexdigest(), largest)
EOF
# Bytes of the largest input; 1073741824 is worth a run by hand.
large=${STEP_ENDS_BYTES:-67108864}

for kind in n1 n2; do
    allocation $kind 4
    what="$kind:"

    # --- streams --------------------------------------------------------------
    head -c "$large" /dev/urandom >"$home/random"
    chown kilntest1: "$home/random"
    md5sum <"$home/random" >"$cluster/sum"
    is "$what input of $large bytes reaches a task byte by byte, and its output comes back so" \
        "$(step -n 1 cat <"$home/random" | md5sum)" "$(cat "$cluster/sum")"
    rm -f "$home/half" "$home/go"
    step -n 1 sh -c "{ head -c $((large / 2)); touch half; while [ ! -e go ]; do sleep 0.05; done
        cat; } | md5sum" <"$home/random" >"$cluster/out" &
    slow=$!
    wait_for 60 test -e "$home/half"
    { rss "$(steps_of)"; rss "$(krun_of half)"; } >"$cluster/rss"
    touch "$home/go"
    wait $slow
    rm "$home/half" "$home/go"
    is "$what so does the input of a task that reads half of it and then nothing for a while" \
        "$(cat "$cluster/out")" "$(cat "$cluster/sum")"
    note "kB of each process: $(paste -sd' ' "$cluster/rss")"
    ok "$what which costs no memory" \
        awk '$1 > 12000 { bad = 1 } END { exit bad || NR < 2 }' "$cluster/rss"
    is "$what all tasks get the same input" \
        "$(step -n 4 sh -c 'md5sum' <"$home/random" | sort -u | wc -l)" 1
    is "$what the output of four tasks is complete" \
        "$(step -n 4 sh -c 'head -c 3000000 /dev/zero' | wc -c)" 12000000
    is "$what a window of one byte is enough" "$(as kilntest1 python3 "$cluster/window.py" \
        "$cluster/$node/state/steps" "$pod" "$home" 2>&1)" "True 1"
    ticks=$(ticks_of "$(pid_of "$node")")
    step -n 2 sh -c 'yes; :' </dev/null 2>/dev/null | (
        head -c 50000000 >/dev/null
        rm -f "$cluster/beaten"
        beat >"$cluster/beat"
        sleep 2
        wait_for 4 has_beaten && echo yes >"$cluster/beaten"
        echo $(($(ticks_of "$(pid_of "$node")") - ticks)) >"$cluster/ticks"
        for pid in $(steps_of); do rss "$pid"; done >"$cluster/rss"
        pgrep -f "^krun -n 2 sh -c yes" | while read -r pid; do rss "$pid"; done \
            >>"$cluster/rss"
    )
    note "kB of each process: $(paste -sd' ' "$cluster/rss")"
    ok "$what a reader that stops costs no memory" \
        awk '$1 > 12000 { bad = 1 } END { exit bad || NR < 2 }' "$cluster/rss"
    ok "$what heartbeats of the agent go on meanwhile" test -s "$cluster/beaten"
    ok "$what the agent has no part in what a step writes" \
        [ "$(cat "$cluster/ticks")" -lt 100 ]
    ok "$what nothing of a step is left when its reader has gone" wait_for 5 no_steps

    # --- ends -----------------------------------------------------------------
    leaves='setsid sleep 54321 & (setsid sh -c "sleep 54321 & sleep 54321" &) ; sleep 54321'
    step -n 2 sh -c "$leaves" >"$cluster/out" 2>&1 </dev/null &
    ok "$what a step with daemonized processes runs" wait_for 10 count_is 54321 8
    kill -KILL "$(krun_of 54321)"
    ok "$what krun is killed: nothing of the step is left, daemonized or not" \
        wait_for 2 none_is 'sleep 54321'
    wait $!
    step -n 2 sh -c "$leaves" >"$cluster/out" 2>&1 </dev/null &
    wait_for 10 count_is 54321 8
    kill -KILL "$(steps_of)"
    ok "$what kiln-step is killed: nothing of the step is left" \
        wait_for 2 none_is 'sleep 54321'
    wait $!
    like "$what krun says so, and fails" "$? $(cat "$cluster/out")" \
        '^1 krun: error: the connection to StepId=.* was lost'
    step -n 2 sh -c "$leaves" >"$cluster/out" 2>&1 </dev/null &
    wait_for 10 count_is 54321 8
    kill -STOP "$(steps_of)"
    kill -KILL "$(krun_of 54321)"
    ok "$what krun is killed, and kiln-step is stopped: nothing of the step is left" \
        wait_for 5 none_is 'sleep 54321'
    wait $!
    step sh -c 'setsid sleep 54321 & exit 3' >"$cluster/out" 2>&1 </dev/null
    is "$what a step ends when its tasks have ended, with their exit code" "$?" 3
    ok "$what a process that a task has left does not outlive the step" \
        wait_for 2 none_is 'sleep 54321'

    # --- CPUs -----------------------------------------------------------------
    step -n 1 -c 2 true
    like "$what a step of two CPUs has both threads of a core" \
        "$(grep '^begin' "$cluster/$node/run/steps/$pod" | tail -1)" ' x 0,4 '
    like "$what a step that is larger than the job is refused" \
        "$(step -n 5 true 2>&1)" 'More processors requested than permitted'
    rm -f "$cluster/err"
    step -n 3 sh -c 'touch first; while [ ! -e go ]; do sleep 0.05; done' &
    first=$!
    wait_for 10 test -e "$home/first"
    step -n 2 sh -c 'touch second' 2>"$cluster/err" &
    second=$!
    ok "$what a step that does not fit waits, and krun says so" \
        wait_for 10 test -s "$cluster/err"
    is "$what it has not run" "$(test -e "$home/second" && echo ran)" ""
    ok "$what a step that overlaps others does not wait" step --overlap -n 4 true
    touch "$home/go"
    wait $first $second
    ok "$what it runs when the other one has ended" test -e "$home/second"
    rm "$home/first" "$home/second" "$home/go"
    is "$what 1,000 tasks on one node" \
        "$(step -O -n 1000 sh -c 'echo $KILN_PROCID' </dev/null | tr ' ' '\n' |
        tr -s '\n' | sort -n | md5sum)" "$(seq 0 999 | md5sum)"

    # --- other users ----------------------------------------------------------
    like "$what another user gets no step of the job" \
        "$(as kilntest2 env KILN_POD_UID="$pod" \
        KILN_STEP_SOCKET="$cluster/$node/state/steps" krun -n 1 id 2>&1)" \
        'no job of this user'
    like "$what root gets none either" \
        "$(KILN_POD_UID="$pod" KILN_STEP_SOCKET="$cluster/$node/state/steps" krun id 2>&1)" \
        'no job of this user'
    is "$what a task is the user, in the user's groups" \
        "$(step sh -c 'id; umask; grep -E "^Cap(Prm|Eff)|^NoNewPrivs" /proc/self/status' |
        tr -d '\t')" \
        "$(as kilntest1 id; echo 0022; printf 'CapPrm:%016d\nCapEff:%016d\nNoNewPrivs:0' 0 0)"
    rm -f "$cluster/many"
    as kilntest2 python3 -c '
import socket, sys, time
all = []
for i in range(400):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(bytes([0, 0, 1, 0]))
    all.append(s)
print("connected", flush=True)
time.sleep(60)' "$cluster/$node/state/steps" >"$cluster/many" &
    many=$!
    wait_for 10 test -s "$cluster/many"
    is "$what 400 connections without a request keep nobody from a step" "$(step echo here)" here
    kill "$many"

    # --- restarts -------------------------------------------------------------
    rm -f "$cluster/bytes"
    step -n 3 sh -c '[ $KILN_PROCID -gt 0 ] || for i in 1 2 3 4 5 6 7 8 9 10; do
        head -c 50000 /dev/zero; sleep 0.1; done
        while [ ! -e go ]; do sleep 0.05; done' >"$cluster/bytes" </dev/null &
    bytes=$!
    wait_for 10 test -s "$cluster/bytes"
    signal "$node" KILL
    await_end "$node"
    restart "$node"
    like "$what after a restart of the agent, a step has its CPUs" \
        "$(step --immediate -n 2 true 2>&1)" 'busy'
    touch "$home/go"
    wait $bytes
    code=$?
    rm "$home/go"
    is "$what the agent was killed: not a byte of a step is lost, and it ends well" \
        "$code $(wc -c <"$cluster/bytes")" "0 500000"
    last=$(step sh -c 'echo $KILN_STEP_ID')
    [ "$node" = n2 ] || stop controller
    is "$what ids are not given out again, also without a controller" \
        "$(step sh -c 'echo $KILN_STEP_ID')" "$((last + 1))"
    [ "$node" = n2 ] || cluster_controller
    step -n 2 sh -c "$leaves" >"$cluster/out" 2>&1 </dev/null &
    wait_for 10 count_is 54321 8
    signal "$node" KILL
    await_end "$node"
    kill -KILL "$(krun_of 54321)"
    ok "$what krun is killed while there is no agent: nothing of the step is left" \
        wait_for 2 none_is 'sleep 54321'
    restart "$node"
    step -n 2 sh -c "$leaves" >"$cluster/out" 2>&1 </dev/null &
    wait_for 10 count_is 54321 8
    signal "$node" KILL
    await_end "$node"
    restart "$node"
    kill -STOP "$(steps_of)"
    kill -KILL "$(krun_of 54321)"
    ok "$what so it is of a step that an earlier agent has started, with a stopped kiln-step" \
        wait_for 5 none_is 'sleep 54321'
    step -n 2 sh -c "$leaves" >"$cluster/out" 2>&1 </dev/null &
    wait_for 10 count_is 54321 8
    signal "$node" KILL
    await_end "$node"
    kill -KILL "$(steps_of)"
    restart "$node"
    ok "$what kiln-step is killed while there is no agent: the next one ends the rest" \
        wait_for 10 none_is 'sleep 54321'
    is "$what and the CPUs of the step are free" "$(step --immediate -n 4 echo here | sort -u)" here

    # --- the job --------------------------------------------------------------
    rm "$cluster/out"
    step -n 2 sh -c 'trap "" TERM; while :; do echo x; sleep 0.05; done' >"$cluster/out" \
        2>"$cluster/err" </dev/null &
    running=$!
    wait_for 10 test -s "$cluster/out"
    admin suspend "$id" >/dev/null
    ok "$what a step is suspended with its job" wait_for 30 stands_still
    admin resume "$id" >/dev/null
    still=$(wc -c <"$cluster/out")
    ok "$what and it goes on with it" wait_for 10 has_grown
    as kilntest1 kctl requeue "$id" >/dev/null
    wait $running
    ok "$what the job is requeued: krun fails" test $? -ne 0
    ok "$what nothing of the step is left" no_steps
    wait_for 20 state_is "$id" Running
    pod=$(admin get pod "job-$id-0-r1" -o json | jq -r .metadata.uid)
    is "$what the job runs again, and its steps are counted from 0" \
        "$(step sh -c 'echo $KILN_STEP_ID')" 0
    mkdir -p "$cluster/closed" && chmod 700 "$cluster/closed" # root's: a user cannot search it
    like "$what a program that is nowhere is not found, whatever folders PATH has" \
        "$(PATH=$PATH:$cluster/closed step -n 1 nosuchprogram 2>&1 || echo "code $?")" \
        'nosuchprogram: No such file or directory'
    ok "$what no cgroup of an earlier step is left" wait_for 5 no_step_cgroups
    step -n 2 sh -c "$leaves" >"$cluster/out" 2>&1 </dev/null &
    running=$!
    wait_for 10 count_is 54321 8
    as kilntest1 kctl update job "$id" time=00:00:01 >/dev/null
    ok "$what the job is over its time limit: nothing of the step is left" \
        wait_for 20 none_is 'sleep 54321'
    wait $running
    ok "$what krun fails" test $? -ne 0
    wait_for 20 state_is "$id" "Timed Out"
done

# --- memory -------------------------------------------------------------------
enforces() {
    admin get node n1 -o json | jq -e '.status.conditions[] |
        select(.type == "MemoryEnforced" and .status == "True")' >/dev/null
}
if enforces; then
    allocation n1 2 --mem 64M
    step -n 2 python3 -c 'import os, time
fill = b"x" * (300 << 20) if os.environ["KILN_PROCID"] == "1" else b""
time.sleep(60)' >"$cluster/out" 2>&1 </dev/null &
    running=$!
    said() { grep -q 'Out Of Memory' "$cluster/out"; }
    ok "a task that needs more memory than its job has ends, and krun says so" \
        wait_for 30 said || note "$(cat "$cluster/out")"
    told="krun: error: n1: tasks 0-1: Out Of Memory"
    if ! [ -e /sys/fs/cgroup/cgroup.controllers ]; then # v2 ends all of the job
        is "... in srun's words" "$(cat "$cluster/out")" "krun: error: n1: task 1: Out Of Memory"
        # So does kiln-step when the kernel chooses it.
        told="krun: error: n1: task 1: Out Of Memory
krun: error: n1: task 0: Out Of Memory"
        for pid in $(steps_of); do
            kill -KILL "$pid"
        done
    fi
    wait $running
    is "... with the status of a killed task" $? 137
    is "krun tells of tasks whose kiln-step was killed with them, too" "$(cat "$cluster/out")" "$told"
    touch "$home/end"
    ok "... and the job is told to have had too little" wait_for 30 state_is "$id" OutOfMemory
    rm -f "$home/end"
else
    skip "a task that needs more memory than its job has ends, and krun says so" \
        "no cgroup here limits memory"
fi

finish
