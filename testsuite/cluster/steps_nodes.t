#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Steps of jobs of several nodes, which have networks of their own: krun starts tasks on
# all of them, and nothing of a step is left when its krun, or a node, is gone.

# shellcheck disable=SC2016,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/netns.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
cluster_slurm
need munged kiln-controller kiln-agent kiln-step krun krsh kctl ksub jq python3
cluster_user kilntest1 || skip_all "only root can make users"
netns_begin
cluster_munge
cluster_controller --socket "$cluster/socket"
for number in 1 2 3; do
    netns_agent "n$number" "$number" --topology "package:1 core:4 pu:1"
done
ready() { root wait --for condition=Ready node n1 n2 n3 --timeout 1s; }
ok "three agents with networks of their own register" wait_for 40 ready ||
    bail_out "not all nodes register"
for number in 1 2 3; do
    for key in $(root get node "n$number" -o json | jq -r '.spec.taints[]?.key'); do
        root taint node "n$number" "$key-" >/dev/null
    done
done
home=$cluster/home/kilntest1

# A krun that is stopped for longer than a lost machine is waited for; its result is looked at
# below. So much output was not read by then that the connection takes no more.
cat >"$home/stopped.sh" <<'S'
#!/bin/sh
#KSUB -N 2 -n 2 -t 5 -o stopped.out
krun -N 1 -n 1 -w n2 sh -c 'touch ready; while [ ! -e go ]; do sleep 0.1; done
    head -c 8000000 /dev/zero; head -c 3000000 /dev/zero >&2' >bytes 2>errors &
while [ ! -e ready ]; do sleep 0.1; done
kill -STOP $!; stopped=$!
touch go
(
    krun --overlap -N 1 -n 1 -w n2 sh -c 'touch ready.2; while [ ! -e go.2 ]; do sleep 0.1; done
        head -c 250000 /dev/zero; head -c 250000 /dev/zero >&2; touch over' >bytes.2 2>errors.2 &
    while [ ! -e ready.2 ]; do sleep 0.1; done
    kill -STOP $!
    touch go.2
    while [ ! -e over ]; do sleep 0.1; done
    sleep 3
    kill -CONT $!
    wait $!
    echo "$? $(wc -c <bytes.2) $(wc -c <errors.2)" >short.out
) &
sleep 36
kill -CONT "$stopped"
wait "$stopped"
echo "$? $(wc -c <bytes) $(wc -c <errors)"
wait
S
as kilntest1 ksub -D "$home" --wait --quiet "$home/stopped.sh" &
stopped=$!

# job TEXT: runs a job of three nodes with two tasks of one CPU on each; its output
# is in $home/out.
job() {
    {
        echo "#!/bin/sh"
        echo "#KSUB -N 3 -n 6 -t 5 -o out"
        cat
    } >"$home/job.sh"
    rm -f "$home/out"
    as kilntest1 ksub -D "$home" --wait --quiet "$home/job.sh"
}

job <<'S'
krun hostname | sort
S
is "krun starts the job's tasks, two on each node" "$(cat "$home/out")" "n1
n1
n2
n2
n3
n3"

job <<'S'
krun -N 2 -n 2 hostname | sort
krun -w n3 -n 1 hostname
krun -w n2 -n 1 env | grep -c -e "^KILN_NODE_NAME=n2$" -e "^KILN_STEP_SOCKET=.*/n2/"
krun -w n2 -n 1 krun --overlap -w n3 -n 1 hostname
S
is "krun chooses nodes, from each of them, and tasks know theirs" "$(cat "$home/out")" "n1
n2
n3
2
n3"

job <<'S'
krun --ntasks-per-node=1 -l sh -c 'echo "$KILN_NODE_NAME $KILN_NODEID"' | sort
krun -m cyclic -N 2 -n 3 -l sh -c 'echo "$KILN_NODE_NAME $KILN_LOCALID"' | sort
krun -r 1 -N 1 -n 1 sh -c 'echo "$KILN_NODE_NAME $KILN_NODEID $KILN_STEP_NODELIST"'
krun -o 'node.%n.%N' sh -c 'echo "$KILN_PROCID"'
sort node.0.n1 node.1.n2 node.2.n3 | tr '\n' ' '
S
is "tasks go over nodes as the options say, and each node has its file" "$(cat "$home/out")" "0: n1 0
1: n2 1
2: n3 2
0: n1 0
1: n2 0
2: n1 1
n2 0 n2
0 1 2 3 4 5 "

job 2>/dev/null <<'S'
echo "$KILN_JOB_ID" >jobid
krun sh -c 'exit $KILN_PROCID' 2>ends
echo $?
grep -c "Exited with exit code" ends
krun -n 7 true 2>&1
S
is "the exit code is the highest of all nodes, and a step larger than the job is refused" \
    "$(sed 's/.*More processors.*/refused/' "$home/out")" "5
5
refused"

# What the tasks on n2 and n3 did is in the record, which the agent of n1 keeps.
job <<'S'
echo "$KILN_JOB_ID" >jobid2
krun -N 2 -n 2 -r 1 sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit $((KILN_PROCID + 3))'
krun -n 6 sleep 60 & sleep 2; kill -9 $!; wait
S
recorded() {
    as kilntest1 kctl --no-wait steps -o json "$(cat "$home/$1")" | jq -c "$2" >"$cluster/steps"
    [ "$(cat "$cluster/steps")" = "$3" ]
}
ok "a step of several nodes has a record with the highest exit code of all" wait_for 30 recorded jobid \
    '.items | map([.step, .state, .exitCode, .nodes, .nodeCount, .tasks, .cpus])' \
    '[[0,"Failed",5,"n[1-3]",3,6,6]]' || note "$(cat "$cluster/steps")"
ok "... and with what its tasks used, also if none of them ran on the first node" \
    wait_for 30 recorded jobid2 '.items[0] | [.state, .exitCode, .nodes,
        .cpuUserMicros + .cpuSystemMicros > 20000, .peakMemoryBytes > 100000]' \
    '["Failed",4,"n[2-3]",true,true]' || note "$(cat "$cluster/steps")"
ok "a step whose krun was killed was cancelled" wait_for 30 recorded jobid2 \
    '.items[1] | [.state, .nodeCount]' '["Cancelled",3]' || note "$(cat "$cluster/steps")"

job <<'S'
head -c 8000000 /dev/urandom >big
cksum <big >sum
krun -N 3 -n 3 cksum <big | sort -u | cmp - sum && echo same
krun -N 3 -n 3 cat big | wc -c
krun -N 3 -n 3 --input=1 wc -c <big | sort -n
S
is "all tasks get the input, or one, and all output arrives" "$(cat "$home/out")" "same
24000000
0
0
8000000"

job <<'S'
{ printf 'stty raw -echo; echo ready; head -c 600000 | cksum; exit 5\n'; sleep 2; head -c 600000 big; } |
    krun -N 2 -n 2 --overlap --pty sh >out.pty 2>ends
echo $?
head -c 600000 big | cksum
grep -c "$(head -c 600000 big | cksum)" out.pty
S
is "a terminal on one of several nodes takes and gives all bytes" \
    "$(sed -n '1p;3p' "$home/out" | tr '\n' ' ')" "5 1 "

# The nodes of this test have one file system: the first copy has the name.
job <<'S'
PATH=$(dirname "$(command -v krun)")/slurm:$PATH
chmod 640 big; touch -d 2001-02-03 big
export SLURM_LABELIO=1 # of the user's own steps
sbcast big copy 2>first; echo "some $?"
sed 's/(n[1-3])/(N)/' first
cmp big copy && echo same
krun -N 3 -n 3 sleep 1000 2>/dev/null & busy=$!
sbcast -f -p big "$PWD/copy" && echo "all $(stat -c '%a %y' copy | cut -d ' ' -f 1,2)"
kill "$busy"; wait "$busy" 2>/dev/null
sbcast -v -f big copy 2>&1 | grep -E 'size|node_list|dest|preserve'
sbcast big /nosuch/copy 2>&1 | sort; sbcast big nosuch/ 2>/dev/null; echo "$?"
truncate -s 4G huge
{ sbcast -f huge part & sleep 0.5; kill -KILL $!; wait $!; } 2>/dev/null
: >empty; sbcast -f empty empty.copy; wc -c <empty.copy
S
is "sbcast copies to all nodes, and replaces with -f only" "$(cat "$home/out")" "some 17
sbcast: error: REQUEST_FILE_BCAST(N): File exists
sbcast: error: REQUEST_FILE_BCAST(N): File exists
same
all 640 2001-02-03
sbcast: preserve   = false
sbcast: dest       = $home/copy
sbcast: size     = 8000000
sbcast: node_list  = n[1-3]
sbcast: error: REQUEST_FILE_BCAST(n1): No such file or directory
sbcast: error: REQUEST_FILE_BCAST(n2): No such file or directory
sbcast: error: REQUEST_FILE_BCAST(n3): No such file or directory
2
0"
no_part() { [ -z "$(find "$home" -name "part*")" ]; }
ok "nothing is left of a copy whose sbcast was killed" wait_for 20 no_part || note "$(ls -l "$home")"

# Each wants all CPUs of two nodes; two fit never at the same time. 1,000 times are worth a run
# by hand.
pairs=${STEPS_NODES_PAIRS:-40}
job <<S
#KSUB -t 60
for i in \$(seq $pairs); do
    krun -Q -N 2 -n 4 true && echo >>ended &
    krun -Q -r 1 -N 2 -n 4 true && echo >>ended &
    wait
done
wc -l <ended
S
is "two kruns that each want all CPUs of two nodes both get them, $pairs times" \
    "$(cat "$home/out")" "$((2 * pairs))"

wait "$stopped"
is "a krun that was stopped for 36 s, as by Ctrl-Z, goes on with its step and loses no byte" \
    "$(cat "$home/stopped.out")" "0 8000000 3000000"
is "... and so does one whose step ended meanwhile, when it had read nothing" \
    "$(cat "$home/short.out")" "0 250000 250000"

# tasks: how many processes of steps of these nodes there are: kiln-steps, and tasks in the
# user's home.
tasks() {
    find /proc/[0-9]*/cwd /proc/[0-9]*/exe -maxdepth 0 \( -path '*/cwd' -lname "$home" -o \
        -lname "$cluster/bin/kiln-step" \) 2>/dev/null | wc -l
}
start_job() { # [WHAT A TASK DOES]
    rm -f "$home/pid" "$home/out"
    cat >"$home/long.sh" <<S
#!/bin/sh
#KSUB -N 3 -n 6 -t 5 -D / -o $home/long.out
krun -D "$home" sh -c 'sleep 1000 & setsid sleep 1000 & ${1:-wait}' >/dev/null 2>"$home/said" &
echo \$! >"$home/pid"
wait \$!
echo "\$?" >"$home/out"
exec sleep 1000
S
    id=$(as kilntest1 ksub --parsable "$home/long.sh")
}
run() { [ "$(tasks)" -ge 21 ]; }
are_gone() { [ "$(tasks)" -eq 0 ]; }
start_job
ok "tasks run that leave their session" wait_for 30 run || note "$(cat "$home/out"; tasks)"
kill -KILL "$(cat "$home/pid")"
ok "nothing of them is left on any node soon after their krun was killed" wait_for 10 are_gone ||
    note "$(ps -u kilntest1 -o pid,args)"
as kilntest1 kctl cancel "$id" >/dev/null

# From outside of it, with the step manager that has started it, and with the next one.
on_n3() { # where the names of nodes are known, too
    ip netns exec "$netns_bridge-3" unshare --mount --uts sh -c '
        mount --bind "$1" /etc/hosts && hostname n3 && shift && exec "$@"' _ "$cluster/hosts" \
        setpriv --reuid kilntest1 --regid kilntest1 --init-groups env -i HOME="$home" \
        USER=kilntest1 PATH="$PATH" KILN_CONFIG="$KILN_CONFIG" "$@"
}
# The use of tasks on other nodes is known while they run.
cat >"$home/big" <<'EOF'
bytes=$(head -c 60000000 /dev/zero | tr '\0' a)
i=0
while [ $i -lt 300000 ]; do i=$((i + 1)); done
sleep 600
true
EOF
id=$(as kilntest1 ksub --parsable -N 3 -n 6 -t 5 -D / -o /dev/null \
    --wrap "krun -N 1 -n 1 --relative=2 sh $home/big & krun -N 3 -n 3 --overlap sh $home/big & wait")
use() {
    as kilntest1 kctl --no-wait steps -o json "$id" 2>/dev/null >"$cluster/used"
    jq -e '.items | length == 2 and all(.[]; .state == "Running" and .peakMemoryBytes > 60000000
        and .cpuUserMicros + .cpuSystemMicros > 100000)' "$cluster/used" >/dev/null
}
ok "what the tasks use on other nodes is known while they run" wait_for 90 use ||
    note "$(jq -c .items "$cluster/used")"
as kilntest1 kctl cancel "$id" >/dev/null
wait_for 30 are_gone

cancelled() { on_n3 scancel "$id.0" 2>"$cluster/scancel" || ! cat "$cluster/scancel" >&2; }
for manager in "that started it" "that was started since"; do
    start_job
    ok "tasks run on all nodes" wait_for 30 run || note "$(cat "$home/out")"
    if [ "$manager" = "that started it" ]; then
        echo text >"$home/source"
        is "sbcast copies to the nodes of a job from outside of it" \
            "$(on_n3 sbcast -f -j "$id" "$home/source" "$home/there" 2>&1; cat "$home/there")" text
    else
        kill -KILL "$(pid_of n1)"
        netns_start n1 1 --topology "package:1 core:4 pu:1"
    fi
    ok "scancel tells a step by the manager $manager" wait_for 30 cancelled
    ok "... and it ends on all nodes" wait_for 20 are_gone || note "$(ps -u kilntest1 -o pid,args)"
    wait_for 20 test -s "$home/out"
    is "... with the status of a signal" "$(cat "$home/out")" 143
    like "... in the words of its krun" "$(cat "$home/said")" \
        "krun: error: \*\*\* STEP $id.0 CANCELLED AT [^ ]* \*\*\*
krun: error: n1: tasks 0-1: Terminated"
    as kilntest1 kctl cancel "$id" >/dev/null
done

# By an operator, who is not the job's user and reaches only the controller.
start_job
ok "tasks run on all nodes" wait_for 30 run || note "$(cat "$home/out")"
is "an operator ends a step" \
    "$(KILN_SERVER=http+unix://$cluster/socket && export KILN_SERVER && scancel "$id.0" 2>"$cluster/scancel"; echo $?)" 0
ok "... and it ends on all nodes" wait_for 20 are_gone || note "$(ps -u kilntest1 -o pid,args)"
as kilntest1 kctl cancel "$id" >/dev/null

# A krun that is stopped passes nothing on: each node is told. It tells the end when it goes on.
start_job
ok "tasks run on all nodes" wait_for 30 run || note "$(cat "$home/out")"
kill -STOP "$(cat "$home/pid")"
ok "scancel ends a step whose krun is stopped" wait_for 30 cancelled
ok "... on all nodes" wait_for 20 are_gone || note "$(ps -u kilntest1 -o pid,args)"
kill -CONT "$(cat "$home/pid")"
wait_for 30 test -s "$home/out"
is "... with the status of a signal" "$(cat "$home/out")" 143
as kilntest1 kctl cancel "$id" >/dev/null

# So is each node of SIGKILL, which krun would pass on when it goes on.
no_shells() {
    ! find /proc/[0-9]*/cwd -maxdepth 0 -lname "$home" 2>/dev/null |
        while read -r cwd; do cat "${cwd%cwd}comm" 2>/dev/null; done | grep -qx sh
}
by_operator() { (KILN_SERVER=http+unix://$cluster/socket && export KILN_SERVER && "$@"); }
for sender in on_n3 by_operator; do
    start_job
    ok "tasks run on all nodes" wait_for 30 run || note "$(cat "$home/out")"
    kill -STOP "$(cat "$home/pid")"
    is "SIGKILL is sent to a step whose krun is stopped ($sender)" \
        "$($sender kctl signal --signal KILL "$id.0" >"$cluster/scancel" 2>&1; echo $?)" 0
    ok "... and kills the tasks on all nodes" wait_for 20 no_shells ||
        note "$(cat "$cluster/scancel"; ps -u kilntest1 -o pid,args)"
    ok "... and the krun keeps the step until it goes on" test ! -s "$home/out"
    kill -CONT "$(cat "$home/pid")"
    wait_for 30 test -s "$home/out"
    is "... with the status of a signal" "$(cat "$home/out")" 137
    as kilntest1 kctl cancel "$id" >/dev/null
    wait_for 20 are_gone
done

# A krun, or kalloc, that never stops talking to the step manager is not read as fast as it sends.
cat >"$home/talk.py" <<'P'
import json, os, socket, struct, time
HELLO, WAIT, BEAT, PLACES, HOLD, ALL = 1, 2, 10, 15, 22, 0xffffffff
def frame(kind, payload):
    return struct.pack(">IBBHI", len(payload), kind, 0, 0, ALL) + payload
def talk(request, beat):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["KILN_STEP_SOCKET"])
    s.sendall(request)
    f = s.makefile("rb")
    while True:
        length, kind, _, _, _ = struct.unpack(">IBBHI", f.read(12))
        words = f.read(length)
        if kind == BEAT:
            break
        if kind == 3:
            return words.decode()
    s.setblocking(False)
    data, sent, end = frame(BEAT, beat) * 1000, 0, time.monotonic() + 3
    while time.monotonic() < end:
        try:
            sent += s.send(data[sent % len(data):])
        except BlockingIOError:
            time.sleep(0.01)
        except OSError as e:
            return str(e)
    return "%d bytes" % sent if sent > 4 << 20 else "little"
places = [{"name": "n%d" % i, "cpus": "0-1", "gpus": 0, "memoryBytes": 0} for i in (1, 2, 3)]
pod = os.environ["KILN_POD_UID"]
print(talk(frame(PLACES, json.dumps({"places": places}).encode())
           + frame(HELLO, json.dumps({"podUID": pod, "jobID": "1", "arguments": ["true"],
                                      "directory": "/", "tasks": 3, "minNodes": 3}).encode()),
           b"1 0 3 0 0 1 1 1"))
print(talk(frame(HOLD, pod.encode()), b""))
P
job <<'S'
python3 talk.py
S
is "a krun and a kalloc that never stop talking are not read as fast as they send" \
    "$(cat "$home/out")" "little
little"

# Says of how many connections the port has closed some, and what it answers to others.
cat >"$cluster/strangers.py" <<'P'
import socket, sys
a = (sys.argv[1], 6822)
crowd = [socket.create_connection(a) for _ in range(700)]
c = socket.create_connection(a)
c.sendall(b"GET / HTTP/1.1\r\n")
print(c.makefile().readline().split()[0])
crowd[0].settimeout(20)
print("closed" if crowd[0].recv(1) == b"" else "open")
c = socket.create_connection(a)
c.sendall(b"kiln-step 1 MUNGE:nonsense:\n")
print(c.makefile().readline().split()[0])
sys.stdin.read()
P
mkfifo "$cluster/hold"
python3 "$cluster/strangers.py" "$netns_net.2" <"$cluster/hold" >"$cluster/strangers" &
exec 7>"$cluster/hold"
answered() { [ "$(wc -l <"$cluster/strangers")" -eq 3 ]; }
wait_for 30 answered
is "strangers at the port are refused, and the oldest gives way" "$(cat "$cluster/strangers")" \
    "kiln-step-refused
closed
kiln-step-refused"
job <<'S'
krun -w n2 -n 1 hostname
S
is "... and keep no step out" "$(cat "$home/out")" "n2"
exec 7>&-

cat >"$home/through.sh" <<'S'
#!/bin/sh
#KSUB -N 3 -n 6 -t 5 -o out
krun sh -c 'for i in $(seq 60); do echo $i; sleep 0.05; done; touch done' >lines &
while ! [ -s lines ]; do sleep 0.1; done
touch began
while ! [ -e restarted ]; do sleep 0.1; done
krun -Q test -e done || echo early
krun -Q hostname | sort -u
wait
wc -l <lines
S
rm -f "$home/out" "$home/done"
id=$(as kilntest1 ksub -D "$home" --parsable "$home/through.sh")
ok "a step has begun" wait_for 30 test -e "$home/began"
kill -KILL "$(pid_of n1)"
netns_start n1 1 --topology "package:1 core:4 pu:1"
as kilntest1 touch "$home/restarted"
ok "its job ends" wait_for 60 grep -q 360 "$home/out" || note "$(cat "$home/out")"
is "a step goes on while the agent of the first node is killed, and no other gets its CPUs" \
    "$(cat "$home/out")" "n1
n2
n3
360"

start_job 'while sleep 0.05; do echo output; done' # which is on its way when the network is cut
ok "tasks run again" wait_for 30 run
ip link set "kv3-$$" down
lost() { [ -s "$home/out" ]; }
ok "krun ends when the network of a node is cut" wait_for 60 lost
note "$(cat "$home/said" "$home/out")"
is "... and fails" "$([ "$(cat "$home/out")" -ne 0 ] && echo failed)" failed
ok "... and nothing is left on any node, also on that one" wait_for 60 are_gone ||
    note "$(ps -u kilntest1 -o pid,args)"

finish
