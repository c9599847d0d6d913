#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that are started in a job from outside of it, and allocations: jobs that are held
# from a machine without an agent.

# shellcheck disable=SC2016,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/netns.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-step kiln-slurm kiln-pause krun kalloc kctl ksub jq python3 bash
cluster_user kilntest1 || skip_all "only root can make users"
cluster_user kilntest2 || skip_all "only root can make users"
netns_begin
cluster_munge
cluster_slurm
cluster_controller --socket "$cluster/socket"
for number in 1 2; do
    netns_agent "n$number" "$number" --topology "package:1 core:4 pu:1"
done
ready() { root wait --for condition=Ready node n1 n2 --timeout 1s; }
ok "two agents with networks of their own register" wait_for 40 ready ||
    bail_out "not all nodes register"
for number in 1 2; do
    for key in $(root get node "n$number" -o json | jq -r '.spec.taints[]?.key'); do
        root taint node "n$number" "$key-" >/dev/null
    done
done
home=$cluster/home/kilntest1
login() { netns_user kilntest1 login 9 "$@"; }
stranger() { netns_user kilntest2 login 9 "$@"; }
state() { as kilntest1 kctl get job "job-$1" -o 'jsonpath={.status.state}'; }
is_state() { [ "$(state "$1")" = "$2" ]; }

# --- programs from outside of the job -----------------------------------------

cat >"$home/sleep.sh" <<'S'
#!/bin/sh
echo begun
sleep 1000
S
chmod 755 "$home/sleep.sh"
printf '#!/bin/sh\ntouch "%s/ran-by-$(id -un)"\n' "$home" >"$cluster/bin/trap"
chmod 755 "$cluster/bin/trap"
id=$(as kilntest1 ksub --parsable -N 2 -n 4 -t 5 -D "$home" \
    --export="ALL,'KILN_A,SECRET,B=1',SLURM_PROLOG=$cluster/bin/trap" sleep.sh)
wait_for 30 is_state "$id" Running
is "krun starts tasks in a job from a machine without an agent" \
    "$(login krun --jobid "$id" -l hostname 2>&1 | sort)" "0: n1
1: n1
2: n2
3: n2"
is "... with the job's variables, and each node's own" \
    "$(login krun --jobid="$id" -N 2 -n 2 sh -c \
        'echo "$KILN_JOB_ID $KILN_NNODES $KILN_NTASKS $KILN_NODE_NAME ${KILN_STEP_SOCKET##*/}"' |
        sort)" "$id 2 4 n1 steps
$id 2 4 n2 steps"
is "kctl exec runs a program in the job's directory, and its status is kctl's" \
    "$(login kctl exec "$id" -- sh -c 'hostname; pwd; exit 7' 2>/dev/null; echo $?)" "n1
$home
7"
is "... on another node of it, with input" \
    "$(echo words | login kctl exec -i -w n2 "$id" sh -c 'hostname; cat' 2>&1)" "n2
words"
is "... beside steps that have all CPUs, which a krun waits for" \
    "$(login kctl exec --here "$id" -- sh -c '
        krun sh -c "[ \$KILN_PROCID -gt 0 ] || { touch busy; while [ -e busy ]; do sleep 0.1; done; }" &
        while ! [ -e busy ]; do sleep 0.1; done
        kctl exec $KILN_JOB_ID echo exec
        krun --immediate -n 1 true 2>/dev/null || echo busy
        rm busy; wait' 2>&1)" "exec
busy"

is "another user's job is refused, in words" \
    "$(stranger kctl exec "$id" id 2>&1 | sed "s/job $id/job N/"; stranger krun --jobid "$id" id 2>&1 |
        sed "s/job $id/job N/")" \
    "kctl: exec: job N is a job of kilntest1; only the job's user and administrators start programs in it
krun: error: job N is a job of kilntest1; only the job's user starts programs in it"
uid=$(root get pods -o json | jq -r '.items[] | select(.spec.nodeName == "n1") | .metadata.uid')
steal() { stranger env KILN_JOB_ID="$id" KILN_POD_UID="$uid" KILN_STEP_SOCKET="$1" krun id 2>&1; }
is "... and its agent refuses those who ask it by themselves" \
    "$(steal n1:6822,test,0,"$munge_socket" | grep -c 'no job of this user')" 1

# --- by a grant of the controller ------------------------------------------------

administrator() {
    ip netns exec "$netns_bridge-9" unshare --mount --uts sh -c '
        mount --bind "$1" /etc/hosts && hostname login && shift && exec "$@"' _ "$cluster/hosts" \
        env SECRET=of-root kctl --server "http+unix://$cluster/socket" "$@"
}
is "an administrator runs a program in a user's job, as that user, without own variables" \
    "$(administrator exec -w n2 "$id" -- sh -c 'id -un; hostname; pwd
        echo "$USER $KILN_JOB_ID $KILN_NNODES $KILN_JOB_NAME ${SECRET-none}"; exit 7' 2>/dev/null
        echo "$?")" "kilntest1
n2
$home
kilntest1 $id 2 sleep.sh none
7"
is "... with input" "$(echo words | administrator exec -i "$id" cat 2>&1)" words
is "... as another one who may: kctl --as" \
    "$(administrator --as kilntest1 exec "$id" -- id -un 2>&1)" kilntest1
is "... and a variable of the job runs a program as its user, who has set it, but not as root" \
    "$(cd "$home" && echo ran-by-*)" ran-by-kilntest1
like "--here is for the job's user alone" "$(administrator exec --here "$id" id 2>&1)" \
    "only the job's user starts programs in it"
audited() {
    grep '"subresource":"exec-grant".*"code":201' "$cluster/state/audit.log" |
        grep -o '"user":"[a-z0-9]*"\|"impersonator":"root"' | sort -u
}
has_all() { [ "$(audited | wc -l)" -eq 3 ]; }
wait_for 20 has_all # lines are written a moment later
is "the audit log tells who asked for a grant, and the node's log who used it" \
    "$(audited
        grep -ho "'root[a-z0-9 ]*' starts a program in pod '$uid' of uid [0-9]*" "$cluster/log/n1" |
            sort -u)" \
    "\"impersonator\":\"root\"
\"user\":\"kilntest1\"
\"user\":\"root\"
'root as kilntest1' starts a program in pod '$uid' of uid $(id -u kilntest1)
'root' starts a program in pod '$uid' of uid $(id -u kilntest1)"
printf 'cluster: test\nmungeSocket: %s\n' "$cluster/none" >"$cluster/no-munge.yaml"
chmod 644 "$cluster/no-munge.yaml"
no_munge="KILN_SERVER=unix://$cluster/socket KILN_CONFIG=$cluster/no-munge.yaml"
# shellcheck disable=SC2086 # two words
{
    is "the job's user runs programs in it where MUNGE is missing, with own variables" \
        "$(login env $no_munge MINE=own kctl exec "$id" -- sh -c 'id -un; hostname; echo $MINE' 2>&1)" \
        "kilntest1
n1
own"
    like "... but not --here, which says why" "$(login env $no_munge kctl exec --here "$id" id 2>&1)" \
        "MUNGE does not answer"
    like "... and nobody else does" "$(stranger env $no_munge kctl exec "$id" id 2>&1)" \
        "only the job's user and administrators"
}
like "an administrator follows what the job writes with kctl attach" \
    "$(timeout 5 kctl --server "http+unix://$cluster/socket" attach "$id" 2>&1)" '^begun$'

is "a credential for one node is nothing to another" \
    "$(echo "$netns_net.2 n1 fake" >"$cluster/hosts.fake"
        cat "$cluster/hosts" >>"$cluster/hosts.fake"; chmod 644 "$cluster/hosts.fake"
        real=$(cat "$cluster/hosts")
        cat "$cluster/hosts.fake" >"$cluster/hosts"
        login env KILN_JOB_ID="$id" KILN_POD_UID="$uid" \
            KILN_STEP_SOCKET="n1:6822,test,0,$munge_socket" krun -n 1 hostname 2>&1 |
            grep -c "another node\|for node"
        echo "$real" >"$cluster/hosts")" 1
is "a job that is gone, waits or has ended runs no programs" \
    "$(login krun --jobid 999 id 2>&1
        login srun --jobid 999 id 2>&1; echo "$?"
        wait=$(as kilntest1 ksub --parsable -N 2 -c 4 -t 5 -D "$home" sleep.sh)
        login kctl exec "$wait" id 2>&1 | sed "s/job $wait/job N/"
        as kilntest1 kctl cancel "$wait" >/dev/null
        wait_for 20 is_state "$wait" Cancelled
        login kctl exec "$wait" id 2>&1 | sed "s/job $wait/job N/")" \
    "krun: error: job 999 not found; 'kctl history 999' shows whether it ended and was deleted
srun: error: Unable to confirm allocation for job 999: Invalid job id specified; job 999 not found; 'kctl history 999' shows whether it ended and was deleted
1
kctl: exec: job N waits; programs are started in it when it runs ('kctl why' says why it waits)
kctl: exec: job N does not run: it is Cancelled"
like "kctl attach follows the output, and says why it is no terminal" \
    "$(as kilntest1 timeout 5 kctl attach "$id" 2>&1; as kilntest1 kctl attach -ti "$id" 2>&1)" \
    "^kctl: attach: the program of a job reads its input from a file"
as kilntest1 kctl cancel "$id" >/dev/null

# --- allocations ----------------------------------------------------------------

last() { as kilntest1 kctl get jobs -o json | jq '[.items[].status.id] | max'; }
has_ended_as() { [ "$(as kilntest1 kctl get job "job-$1" -o json |
    jq -r '"\(.status.state) \(.status.exitCode // "")"')" = "$2" ]; }
begin_kalloc() {
    rm -f "$home/pid" "$home/said"
    cat >"$home/kalloc.sh" <<S
#!/bin/sh
echo \$\$ >$home/pid
exec kalloc -t 5 "\$@" 2>$home/said
S
    chmod 755 "$home/kalloc.sh"
    login ./kalloc.sh "$@" &
    kalloc=$!
    wait_for 20 test -s "$home/pid"
}
says() { grep -q "$1" "$home/said"; }

is "kalloc runs a command here, whose tasks run on the job's nodes" \
    "$(login kalloc -Q -N 2 -n 4 -t 5 sh -c 'hostname; krun -l hostname | sort; exit 4'; echo $?)" \
    "login
0: n1
1: n1
2: n2
3: n2
4"
id=$(last)
ok "... and the job ends with its status" wait_for 20 has_ended_as "$id" "Failed 4" ||
    note "$(as kilntest1 kctl get job "job-$id" -o json | jq -c .status)"
is "... its program only holds the nodes" "$(as kilntest1 kctl get job "job-$id" -o json |
    jq -c '[.spec.template.spec.containers[0] | .command, .args] + [.metadata.annotations["kiln.hpc/job-name"]]')" \
    '[["kiln-pause"],["--hold"],"sh"]'
is "a variable of salloc that is empty asks for nothing" \
    "$(login env SALLOC_TIMELIMIT= SALLOC_MEM_PER_NODE= SALLOC_OVERCOMMIT=yes SALLOC_NO_BELL=1 \
        salloc -Q -n 2 sh -c 'echo $SLURM_NTASKS,$SLURM_OVERCOMMIT' 2>&1)" "2,1"
is "salloc says what Slurm's does, and srun's tasks are in its job" \
    "$(login salloc -N 2 -t 5 sh -c 'echo "$SLURM_NNODES $SLURM_JOB_NODELIST"; srun hostname | sort' 2>&1 |
        grep -v -e Pending -e queued | sed 's/allocation [0-9]*/allocation N/')" \
    "salloc: Granted job allocation N
2 n[1-2]
n1
n2
salloc: Relinquishing job allocation N"

is "srun without a job starts one, from a machine without an agent" \
    "$(login srun -N 2 -n 2 -l -t 5 sh -c 'echo "$SLURM_JOB_NODELIST $SLURM_NODEID"; exit 7' 2>&1 |
        grep -v -e queued -e 'has been' | sort)" \
    "0: n[1-2] 0
1: n[1-2] 1
srun: error: n1: task 0: Exited with exit code 7
srun: error: n2: task 1: Exited with exit code 7"
is "... but only lists the kinds of MPI" "$(login srun --mpi=list 2>&1 | head -n 2)" "srun: MPI types are...
srun: none     the tasks have nothing"
is "ksub -I runs on the first node of its job" \
    "$(echo 'hostname; krun hostname | sort; exit 5' | login ksub -I -N 2 -n 2 -t 5 2>/dev/null; echo $?)" \
    "n1
n1
n2
5"

# The job ends before the command.
said=$cluster/why
began() { grep -q '^runs' "$said"; }
for what in "ksub -I" srun; do
    : >"$said" # what the one before has said is no beginning of this one
    # shellcheck disable=SC2086 # words
    login $what -n 1 -t 5 sh -c 'echo runs >&2; exec sleep 1000' 2>"$said" </dev/null &
    command=$!
    ok "$what runs a command" wait_for 30 began || note "$(cat "$said")"
    id=$(last)
    admin cancel "$id" >/dev/null
    wait "$command"
    ok "... and says who has cancelled its job" \
        grep -q "^${what% *}: job $id has ended: Cancelled on n[12], cancelled by root" "$said" || note "$(cat "$said")"
done
login ksub -I -n 1 -t 0:03 sleep 1000 2>"$said" </dev/null
ok "... or that its time is over" grep -q "^ksub: job $(last) has ended: TimedOut on n[12], over 0:03" "$said" ||
    note "$(cat "$said")"
begin_kalloc -N 2 -c 4 sleep 1000
wait_for 30 says "runs on"
first=$(last)
: >"$said"
login ksub -I -n 1 -c 4 -t 5 true 2>"$said" </dev/null &
command=$!
waits() { grep -q 'waits for its start' "$said"; }
wait_for 20 waits
id=$(last)
admin cancel "$id" >/dev/null
wait "$command"
ok "... also of one that waits" \
    grep -q "^ksub: job $id has ended: Cancelled, cancelled by root" "$said" || note "$(cat "$said")"
admin cancel "$first" >/dev/null
wait "$kalloc"

begin_kalloc -N 2 -c 4 sleep 1000
ok "an allocation runs" wait_for 30 says "runs on"
id=$(last)
is "... which scontrol shows as one" "$(as kilntest1 scontrol show job "$id" |
    grep -o 'JobName=.*\|BatchFlag=.\|Command=.*' | tr '\n' ' ')" \
    "JobName=sleep BatchFlag=0 Command=(null) "
is "... and another one with --immediate is given up" \
    "$(login kalloc -I -N 2 -t 5 true 2>&1 | grep -c 'not started within'; has_ended_as "$(last)" "Cancelled " &&
        echo cancelled)" "1
cancelled"
stop controller KILL
stop n1 KILL
cluster_controller --socket "$cluster/socket"
netns_start n1 1 --topology "package:1 core:4 pu:1"
wait_for 40 ready
is "it goes on while controller and agent are killed" "$(state "$id")" Running
kill -TERM "$(cat "$home/pid")"
ok "... and ends afterwards with its command" wait_for 30 has_ended_as "$id" "Failed 143" ||
    note "$(as kilntest1 kctl get job "job-$id" -o json | jq -c .status; cat "$home/said")"
wait "$kalloc"

begin_kalloc -N 2 -c 4 sleep 1000
wait_for 30 says "runs on"
id=$(last)
cp "$home/pid" "$home/pid.first"
begin_kalloc -N 2 -c 4 true
ok "an allocation waits for another" wait_for 20 says waits
second=$(last)
kill -KILL "$(cat "$home/pid")"
ok "... and is cancelled if its kalloc is killed" wait_for 20 is_state "$second" Cancelled
wait "$kalloc" 2>/dev/null
# Other users cannot read a checkout in a closed directory.
install -m 644 "$top_srcdir/src/lib/step/step_frames.h" "$cluster/step_frames.h"
cat >"$cluster/attack.py" <<'P'
# HOLD and an end for the job of another user, by the socket that everybody may connect to.
import re, socket, struct, sys
words = re.search(r"enum step_frame_type \{(.*?)\}", open(sys.argv[3]).read(), re.S).group(1)
types = re.findall(r"STEP_FRAME_(\w+)", words)
def frame(name, payload=b""):
    return struct.pack(">IBBHI", len(payload), types.index(name) + 1, 0, 0, 0xFFFFFFFF) + payload
for name in "HOLD", "AWAIT":
    c = socket.socket(socket.AF_UNIX)
    c.connect(sys.argv[1])
    c.sendall(frame(name, sys.argv[2].encode()))
    head = c.recv(12, socket.MSG_WAITALL)
    print(name, types[head[4] - 1])
P
uid=$(root get pods -o json | jq -r --arg job "job-$id" '.items[] | select(.spec.nodeName == "n1" and
    .metadata.labels["job-name"] == $job) | .metadata.uid')
is "another user can neither hold nor end it, nor be told its end" \
    "$(as kilntest2 python3 "$cluster/attack.py" "$cluster/n1/state/steps" "$uid" \
        "$cluster/step_frames.h")" "HOLD REFUSE
AWAIT REFUSE"
kill -KILL "$(cat "$home/pid.first")"
ok "it ends if its kalloc is killed" wait_for 20 has_ended_as "$id" "Failed 137" ||
    note "$(as kilntest1 kctl get job "job-$id" -o json | jq -c .status)"

begin_kalloc -N 2 -c 4 sleep 1000
wait_for 30 says "runs on"
id=$(last)
as kilntest1 kctl requeue "$id" >/dev/null
ok "an allocation that is requeued is told, and cancelled" wait_for 60 is_state "$id" Cancelled
is "... in words" "$(grep -c 'was requeued' "$home/said")" 1
wait "$kalloc"

begin_kalloc -N 2 -c 4 -t 0:03 sleep 1000
wait "$kalloc"
is "the command is ended with the job's time limit, and told" "$? $(grep -c TimedOut "$home/said")" \
    "143 1"
id=$(login kalloc -Q --detach -n 1 -t 5)
is "--detach leaves the job and prints its id" "$(login kctl exec "$id" hostname | sed 's/n[12]/node/'; state "$id")" \
    "node
Running"
as kilntest1 kctl cancel "$id" >/dev/null
# --- at a terminal ----------------------------------------------------------------

cp "$top_srcdir/testsuite/cluster/terminal.py" "$home/"
cat >"$home/person.py" <<'P'
import os, sys
from terminal import Terminal
os.environ.update(PS1="ready> ", SHELL=os.path.abspath("shell"), TERM="dumb")
def begin(*options):
    t = Terminal(["kalloc", "-n", "1", *options])
    t.expect("runs on n[12]")
    t.expect("ready> ")
    return t
t = begin("-t", "5")
t.type("hostname; krun hostname\n")
t.expect("login\r\n(n[12])\r\n")
t.expect("ready> ")
t.type("krun --quit-on-interrupt ./sleeper\n")
t.expect("\nhas begun")
t.type("\x03")
t.expect("ready> ")
print("interrupted")
t.type("kctl exec -ti $KILN_JOB_ID -- sh -c 'tty; exit 6'; echo status=$?\n")
t.expect("/dev/pts/[0-9]+")
t.expect("status=6")
print("exec")
t.expect("ready> ")
t.type("kctl exec $KILN_JOB_ID -- ./sleeper; echo status=$?\n")
t.expect("\nhas begun")
t.type("\x03")
t.expect("status=130")
print("interrupted at once")
t.expect("ready> ")
t.type("exit 3\n")
t.expect("job [0-9]+ is over")
print("status", t.end())
t = begin("-t", "0:05")
t.expect("has ended: TimedOut")
print("limit", t.end())
P
printf '#!/bin/sh\nexec bash --norc --noprofile\n' >"$home/shell"
# One process: a shell that forks at that moment handles Ctrl-C when its child has ended.
printf '#!/usr/bin/perl\n$| = 1;\nprint "has begun\\n";\nsleep 1000;\n' >"$home/sleeper"
chmod 755 "$home/shell" "$home/sleeper"
is "a shell of kalloc, with Ctrl-C, a terminal in the job, and the time limit" \
    "$(login python3 -u person.py 2>&1)" "interrupted
exec
interrupted at once
status 3
limit 129"

is "options of scripts are refused" "$(as kilntest1 kalloc --wrap true 2>&1; echo $?)" \
    "kalloc: error: unknown option '--wrap'
64"

finish
