#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Terminals: `srun --pty` as a person uses it, and what is left when the person, or the
# connection, is gone.

# shellcheck disable=SC2016,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-step kiln-slurm krun ksub kalloc kctl jq python3 bash less pgrep
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_slurm
cluster_agent n1 --topology 'package:1 core:8 pu:1'
node_is_ready() { root get node n1 --no-headers | grep -qw Ready; }
wait_for 20 node_is_ready || bail_out "node n1 does not register"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key | select(test("virtual"))'); do
    root taint node n1 "$key-" >/dev/null
done

home=$cluster/home/kilntest1
cp "$top_srcdir/testsuite/cluster/terminal.py" "$home/"
echo 'set enable-bracketed-paste off' >"$home/inputrc"
# person: runs the program on standard input in a job of four tasks; its lines are in $said.
person() {
    {
        printf 'import os, signal, subprocess, sys, time\nfrom terminal import Terminal\n'
        cat <<'E'
os.environ["PS1"] = "ready> "
os.environ["INPUTRC"] = os.path.abspath("inputrc")
def shell(*options):
    t = Terminal(["srun", "-n", "1", *options, "--pty", "bash", "--norc", "--noprofile"], 30, 100)
    t.expect("ready> ")
    return t
def has(name):
    return subprocess.run(["pgrep", "-fx", name], stdout=subprocess.DEVNULL).returncode == 0
def is_in_front(name):
    """Ctrl-C reaches it: bash prints what fg brings back before it gives it the terminal."""
    for pid in subprocess.run(["pgrep", "-fx", name], stdout=subprocess.PIPE, text=True).stdout.split():
        state, parent, group, session, terminal, in_front = open("/proc/%s/stat" % pid).read().rsplit(")", 1)[1].split()[:6]
        return state == "S" and group == in_front
    return False
def says(t, command, pattern):
    t.type(command + "\n")
    t.expect("\n" + pattern)
    t.expect("ready> ")
    return True
E
        cat
    } >"$home/person.py"
    printf '#!/bin/sh\nexport TERM=xterm\nexec python3 -u person.py\n' >"$home/script"
    rm -f "$home/said"
    as kilntest1 ksub --sbatch -Q --wait -t 5 -n 4 -o said script >"$cluster/job" 2>&1 || :
    said=$(cat "$home/said" 2>&1)
}
says() { ok "$1" grep -qxF -- "$2" "$home/said" || [ -n "$told" ] || { told=$said; note "$said"; }; }

# --- a shell ------------------------------------------------------------------

person <<'E'
t = shell()
says(t, "tty", "/dev/pts/[0-9]+")
print("size", says(t, "stty size", "30 100\r"), says(t, "echo $TERM,$SLURM_PTY_WIN_COL", "xterm,100\r"))
print("raw", t.is_raw())
t.type("sleep 300\n")
t.wait_until(lambda: is_in_front("sleep 300"))
t.resize(40, 120)
t.type("\x03")
t.expect("ready> ")
print("ctrl-c", says(t, "echo $?", "130\r"))
print("resized", says(t, "stty size", "40 120\r"))
t.type("sleep 301\n")
t.wait_until(lambda: is_in_front("sleep 301"))
t.type("\x1a")
t.expect("Stopped")
t.expect("ready> ")
print("ctrl-z", says(t, "bg; jobs", r"\[1\]\+ +Running +sleep 301 &"))
t.type("fg\n")
t.expect("\nsleep 301\r\n")
t.wait_until(lambda: is_in_front("sleep 301"))
t.type("\x03")
t.expect("ready> ")
t.type("seq 1000 | less\n")
t.expect("\n39\r?\n")
t.type(" ")
t.expect("\n78\r?\n")
t.type("q")
t.expect("ready> ")
print("less")
t.type("read -s -p Password: word; echo; echo \"got $word\"\n")
t.expect("\nPassword:")
t.type("hush\n")
print("password", repr(t.expect("[^$]*got hush")))
t.expect("ready> ")
for size in (1, 1), (0, 0), (65535, 65535), (24, 80):
    t.resize(*size)
print("sane", says(t, "stty size", "24 80\r"))
t.type("\x04")
print("end", t.end(), t.is_as_before())
t = shell()
t.type("exit 7\n")
print("exit", t.end(), "task 0: Exited with exit code 7\r\n" in t.seen)
E
says "a shell has the terminal's size and kind" "size True True"
says "krun's own terminal is raw meanwhile" "raw True"
says "Ctrl-C ends what runs in the foreground of the shell" "ctrl-c True"
says "the program sees the new size of the window" "resized True"
says "Ctrl-Z stops it, and bg and fg go on" "ctrl-z True"
says "a program can take the whole screen" "less"
says "what is typed as a password is not echoed" "password '\\r\\ngot hush'"
says "any size of a window is harmless" "sane True"
says "Ctrl-D ends the shell, and the terminal is as it was" "end 0 True"
says "the shell's exit status is krun's" "exit 7 True"

# --- the end of krun ------------------------------------------------------------

person <<'E'
for n in signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV, signal.SIGKILL:
    t = shell()
    t.type("nohup sleep 302 >nohup.out 2>&1 & setsid sleep 302 &\n")
    t.type("sh -c 'trap \"echo saved >trap.%d; exit\" HUP; echo now; while :; do sleep 0.1; done'\n" % n)
    t.expect("\nnow")
    t.wait_until(lambda: has("sleep 302"))
    t.kill(n)
    t.end()
    print(n.name, t.is_as_before(), t.wait_until(lambda: not has("sleep 302"), 20), os.path.exists("trap.%d" % n))
t = shell()
t.kill(signal.SIGTSTP)
pid, status = os.waitpid(t.pid, os.WUNTRACED)
print("stopped", os.WIFSTOPPED(status), t.is_as_before())
t.resize(11, 22)
t.kill(signal.SIGCONT)
print("continued", t.wait_until(t.is_raw), says(t, "stty size", "11 22\r"))
t.type("sleep 303 & exit 3\n")
print("left", t.end(), has("sleep 303"))
E
says "SIGTERM ends krun and its step, and sets the terminal back" "SIGTERM True True True"
says "... so does SIGHUP, and programs can save their work" "SIGHUP True True True"
says "... so does a signal that krun cannot catch in order" "SIGSEGV True True True"
says "a killed krun takes its step with it, too" "SIGKILL False True True"
says "a stopped krun leaves the terminal to others" "stopped True True"
says "... and has it again when it goes on" "continued True True"
says "what a shell leaves in the background ends with it" "left 3 False"

# --- much, and none -------------------------------------------------------------

person <<'E'
import hashlib
t = shell()
t.type("yes 0123456789 | head -c 20000000; echo; echo \"fin=$?\"\n")
time.sleep(1)
memory = subprocess.run(["ps", "-u", str(os.getuid()), "-o", "comm=,rss="], stdout=subprocess.PIPE, text=True).stdout
memory = [int(line.split()[1]) for line in memory.splitlines() if line.split()[0] in ("srun", "kiln-step")]
print("memory", len(memory) >= 2 and all(kib < 16000 for kib in memory))
n = 0
tail = t.seen.encode()
while b"fin=0" not in tail:
    data = os.read(t.master, 65536)
    n += len(data)
    tail = tail[-100:] + data
print("all", n > 20000000)
t.type("yes\n")
t.expect("y\r\ny\r\n")
t.type("\x03")
t.expect(r"\^C")
t.expect("ready> ")
print("interrupted")
text = "".join(chr(32 + i * 7 % 90) for i in range(500000))
t.type("stty raw -echo; echo now; head -c 500000 | sha256sum; stty sane\n")
t.expect("\nnow")
t.type(text)
t.expect(hashlib.sha256(text.encode()).hexdigest())
print("pasted")
def run(command, text=""):
    r = subprocess.run(["srun", *command], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return r.returncode, r.stdout.split(), r.stderr
print("input", *run(["-n", "1", "--pty", "cat"], "one\ntwo"))
print("script", run(["-n", "1", "--pty", "bash", "--norc"], "exit $((20 + 3))\n")[0])
print("silence", run(["-n", "1", "--pty", "bash", "--norc"], "true")[0])
print("others", *run(["-n", "2", "--pty", "sh", "-c", "echo $SLURM_PROCID; read x || exit 0"]))
print("file", *run(["-n", "1", "--pty", "-o", "out", "true"]))
E
says "output that nobody reads takes no memory" "memory True"
says "... and arrives when somebody does" "all True"
says "Ctrl-C gets through it" "interrupted"
says "what is pasted arrives as it is" "pasted"
like "input that is no terminal ends" "$said" "input 0 .*'two'"
says "a script can be a shell's input" "script 23"
says "... also without the end of its last line" "silence 0"
says "only task 0 has the terminal" "others 0 ['0'] "
like "the terminal has all streams" "$said" 'srun: error: --output incompatible with --pty option'

# --- from outside of the job ------------------------------------------------------

# outside: the same, on this machine as the user.
outside() {
    {
        printf 'import os, re, signal, subprocess, sys, time\nfrom terminal import Terminal\n'
        printf 'os.environ["INPUTRC"] = os.path.abspath("inputrc")\n'
        cat
    } >"$home/person.py"
    as kilntest1 env TERM=vt100 timeout 300 python3 -u person.py >"$home/said" 2>&1
    said=$(cat "$home/said")
}
printf '#!/bin/sh\nsleep 300\n' >"$home/sleeper"
id=$(as kilntest1 ksub --export ALL,TERM=dumb -t 5 --parsable "$home/sleeper")
runs() { as kilntest1 kctl show "$id" -o json | grep -q '"active": *1'; }
wait_for 20 runs
outside <<E
t = Terminal(["kctl", "exec", "-t", "$id", "--", "bash", "--norc", "--noprofile"], 33, 99)
t.expect(r"\\\$ ")
t.type("stty size; echo \$TERM, \$KILN_JOB_ID; exit 4\n")
t.expect("33 99\r\nvt100, $id\r\n")
print("status", t.end(), t.is_as_before())
E
says "kctl exec -t has a terminal of this window's kind and size" "status 4 True"
as kilntest1 kctl cancel "$id" >/dev/null

# --- jobs for a terminal, and srun without a job ----------------------------------

outside <<'E'
def state(job):
    r = subprocess.run(["kctl", "jobs", "--no-headers", job], stdout=subprocess.PIPE, text=True)
    found = re.search("Running|Ending|Waiting|Pending|Failed|Completed|Cancelled", r.stdout)
    return found.group(0) if found else r.stdout
def has(name):
    return subprocess.run(["pgrep", "-fx", name], stdout=subprocess.DEVNULL).returncode == 0
def run(command, text=""):
    r = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = [line for line in r.stderr.splitlines() if "waiting" not in line and "has been" not in line]
    return r.returncode, sorted(r.stdout.split()), sorted(lines)
def interactive(*options):
    t = Terminal(["ksub", "-I", *options], 33, 99)
    job = t.expect(r"job [0-9]+ runs on n1").split()[1]
    t.expect(r"\$ ")
    return t, job
t, job = interactive("-n", "2")
t.type("stty size; echo $TERM $KILN_JOB_ID $KILN_NTASKS\n")
t.expect("33 99\r\nvt100 %s 2\r\n" % job)
t.type("krun --pty -n 1 tty; krun hostname | wc -l\n")
t.expect("/dev/pts/[0-9]+\r\n2\r\n")
t.type("exit 6\n")
print("shell", t.end(), t.is_as_before(), t.wait_until(lambda: state(job) == "Failed"))
t, job = interactive("-n", "1")
t.type("setsid sleep 304 &\n")
print("left", t.wait_until(lambda: has("sleep 304")))
t.kill(signal.SIGKILL)
t.end()
print("killed", t.wait_until(lambda: not has("sleep 304")), t.wait_until(lambda: state(job) not in ("Running", "Ending")))
full, other = interactive("-n", "8")
t = Terminal(["ksub", "-I", "-n", "1"])
job = t.expect("job [0-9]+ waits").split()[1]
print("why:", t.expect("[^;]*; Ctrl-C cancels it"))
t.type("\x03")
print("cancelled", t.end(), t.is_as_before(), t.wait_until(lambda: state(job) == "Cancelled") or state(job))
t = Terminal(["srun", "-n", "2", "-l", "hostname"])
t.expect("srun: job [0-9]+ queued and waiting for resources\r\n")
full.type("exit\n")
print("free", full.end())
t.expect("srun: job [0-9]+ has been allocated resources\r\n")
t.expect("[01]: .*\n[01]: .*\n")
print("srun", t.end())
t = Terminal(["srun", "--pty", "bash", "--norc", "--noprofile"], 22, 44)
t.expect(r"\$ ")
t.type("stty size; exit 3\n")
t.expect("22 44\r\n")
print("srun --pty", t.end(), t.is_as_before())
print("tasks", *run(["srun", "-n", "3", "-J", "three", "sh", "-c", "cat; exit $SLURM_PROCID"], "in\n"))
print("script", *run(["ksub", "-I", "-n", "1"], "echo $((20 + 3))\n")[:2])
os.environ["KSUB_NTASKS"] = "3"
os.environ["KSUB_OUTPUT"] = "out"
print("command", *run(["ksub", "-I", "sh", "-c", "echo $KILN_NTASKS; exit 4"])[:2])
for command in ("srun -p nosuch true", "srun --bcast true", "srun", "ksub -I --chain", "ksub -I --output=x"):
    print("refused", *run(command.split()))
E
says "ksub -I gives a shell in this terminal, and the job ends with it" "shell 6 True True"
says "a killed ksub -I leaves nothing behind" "killed True True"
like "ksub -I says why the job waits" "$said" "why:  for its start: .*CPU.*; Ctrl-C"
says "Ctrl-C cancels a job that waits" "cancelled 130 True True"
says "srun outside of a job asks for one, in srun's words" "srun 0"
says "... also with a terminal" "srun --pty 3 True"
says "... and its exit status is the highest of the tasks" \
    "tasks 2 ['in', 'in', 'in'] ['srun: error: n1: task 1: Exited with exit code 1', 'srun: error: n1: task 2: Exited with exit code 2']"
says "without a terminal ksub -I reads its input" "script 0 ['23']"
says "ksub -I runs a command, and has options from the environment" "command 4 ['3']"
like "... and has no options of scripts" "$said" "refused 64 .*--output: a job with --interactive has no script"
like "what is wrong is said before there is a job" "$said" "refused 1 .*--bcast: copy the program"
is "... each in its own words" "$(printf '%s\n' "$said" | grep -c '^refused [16]')" 5
finish
