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
need munged kiln-controller kiln-agent kiln-step krun ksub kctl jq python3 bash less pgrep
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
says() { ok "$1" grep -qxF -- "$2" "$home/said" || note "$said"; }

# --- a shell ------------------------------------------------------------------

person <<'E'
t = shell()
says(t, "tty", "/dev/pts/[0-9]+")
print("size", says(t, "stty size", "30 100\r"), says(t, "echo $TERM,$SLURM_PTY_WIN_COL", "xterm,100\r"))
print("raw", t.is_raw())
t.type("sleep 300\n")
t.wait_until(lambda: has("sleep 300"))
t.resize(40, 120)
t.type("\x03")
t.expect("ready> ")
print("ctrl-c", says(t, "echo $?", "130\r"))
print("resized", says(t, "stty size", "40 120\r"))
t.type("sleep 301\n")
t.wait_until(lambda: has("sleep 301"))
t.type("\x1a")
t.expect("Stopped")
t.expect("ready> ")
print("ctrl-z", says(t, "bg; jobs", r"\[1\]\+ +Running +sleep 301 &"))
t.type("fg\n")
t.expect("\nsleep 301\r\n")
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
finish
