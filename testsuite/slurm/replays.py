# SPDX-License-Identifier: Apache-2.0
"""replays.py - calls of Slurm's commands as public tools make and parse them

Run as a user, with Slurm's commands in PATH, whoever answers them. Prints a line
"ok NAME" or "not ok NAME" for each tool, and below the latter why. The forms are
from the sources of the tools (2026): what they send, and how they read it.
"""
import concurrent.futures
import csv
import datetime
import io
import os
import re
import subprocess
import time
import uuid

PATIENCE = 90
TESTS = []


class Differs(Exception):
    pass


def run(*command, text=None, status=0, merged=False, environment=None):
    """Output of the command; status None: any."""
    r = subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                       env={**os.environ, **(environment or {})})
    if status is not None and r.returncode != status:
        raise Differs(f"{' '.join(command)}: exit status {r.returncode}: {r.stdout}{r.stderr}")
    return r.stdout + r.stderr if merged else r.stdout


def check(condition, *what):
    if not condition:
        raise Differs(" ".join(str(w) for w in what))


def match(pattern, text):
    m = re.search(pattern, text, re.M)
    check(m, f"no {pattern!r} in {text!r}")
    return m


def poll(what, ask):
    """Repeats until the answer is true; its value."""
    end = time.monotonic() + PATIENCE
    while True:
        answer = ask()
        if answer:
            return answer
        check(time.monotonic() < end, "waited too long for", what)
        time.sleep(0.3)


def script(body, *directives):
    name = f"replay-{uuid.uuid4().hex[:8]}.sh"
    with open(name, "w", encoding="utf-8") as f:
        f.write("#!/bin/bash\n" + "".join(f"#SBATCH {d}\n" for d in directives) + body + "\n")
    os.chmod(name, 0o755)
    return name


def tool(f):
    TESTS.append(f)
    return f


@tool
def nextflow():
    """.command.run, squeue of all of a user's jobs, scancel"""
    directives = ["-J nf-hello_(1)", "-o .command.log", "--no-requeue", "--signal B:USR2@30",
                  "-c 1", "-t 01:00:00", "--mem 100M", "-p two"]
    out = run("sbatch", script("sleep 300", *directives))
    job = match(r"Submitted batch job (\d+)", out).group(1)

    def states():
        table = {}
        for line in run("squeue", "--noheader", "-o", "%i %t", "-t", "all", "-p", "two", "-u",
                        os.environ["USER"]).splitlines():
            cols = line.split()
            if len(cols) == 2:
                table[cols[0]] = cols[1]
        return table
    poll("a state that Nextflow knows", lambda: states().get(job) == "R")
    run("scancel", job)
    poll("the end", lambda: states().get(job) in ("CA", None))
    array = match(r"Submitted batch job (\d+)",
                  run("sbatch", script("sleep 300", "--array 0-2", *directives))).group(1)
    poll("the tasks of an array", lambda: {f"{array}_{i}" for i in range(3)} <= {
        k for k, v in states().items() if v == "R"})
    run("scancel", f"{array}_1")
    poll("the end of one task", lambda: states().get(f"{array}_1") in ("CA", None))
    run("scancel", array)


@tool
def snakemake_7():
    """--slurm: sbatch --wrap with an UUID, sacct of that name, scancel"""
    run_id = str(uuid.uuid4())
    call = ["sbatch", "--job-name", run_id, "-o", "logs-%j.log", "--export=ALL", "-A", "default",
            "-p", "two", "-t", "10", "--mem", "100", "--ntasks=1", "--cpus-per-task=1", "-D",
            os.getcwd()]
    out = run(*call, "--wrap=true")
    job = match(r"Submitted batch job (\d+)", out).group(1)
    check(out.strip().split(" ")[-1] == job, "the id is not the last word of", out)
    failed = run(*call, "--wrap=exit 1").split()[-1]
    since = (datetime.datetime.now() - datetime.timedelta(days=2)).strftime("%Y-%m-%dT%H:00")

    def states():
        text = run("sacct", "-X", "--parsable2", "--noheader", "--format=JobIdRaw,State",
                   "--starttime", since, "--endtime", "now", "--name", run_id)
        return {e.split("|")[0]: e.split("|")[1] for e in text.splitlines()}
    poll("COMPLETED and FAILED", lambda: (states().get(job), states().get(failed)) ==
         ("COMPLETED", "FAILED"))
    poll("COMPLETED in squeue", lambda: f"{job}|COMPLETED" in run(
        "squeue", "--format=%i|%T", "--states=all", "--noheader", "--name", run_id).splitlines())
    config = run("scontrol", "show", "config")
    match(r"^MinJobAge\s*=\s*(\d+)", config)
    match(r"^MaxArraySize\s*=\s*(\d+)", config)
    check("default" in run("sacctmgr", "-n", "-s", "list", "user", os.environ["USER"],
                           "format=account%256").split(), "no account")
    check("default" in run("sshare", "-U", "--format", "Account%256", "--noheader").split())
    check("two" in [p.rstrip("*") for p in run("sinfo", "-o", "%P", "--noheader").split()])
    report = run("sacct", f"--name={run_id}", "--parsable2", "--noheader",
                 "--format=JobID,JobName,Comment,Elapsed,TotalCPU,NNodes,NCPUS,MaxRSS,ReqMem")
    rows = list(csv.reader(io.StringIO(report), delimiter="|"))
    check(all(len(r) == 9 for r in rows), report)
    check({job, f"{job}.batch"} <= {r[0] for r in rows}, report)


@tool
def cromwell():
    """sbatch --wrap, squeue -j until it fails"""
    out = run("sbatch", "-J", "cromwell_1_t", "-D", os.getcwd(), "-o", "out", "-e", "err", "-t",
              "10", "-p", "two", "--mem-per-cpu", "100", "--wrap", "/bin/bash -c 'sleep 1'")
    job = match(r"Submitted batch job (\d+).*", out).group(1)
    poll("a line of the job", lambda: job in run("squeue", "-j", job, status=None))
    poll("its end", lambda: not re.search(rf"\b{job}\b.*\b(R|PD|CG)\b",
                                          run("squeue", "-j", job, status=None)))


@tool
def parsl():
    """submit script, sacct -X --job, scancel of several"""
    jobs = [match(r"Submitted batch job (?P<id>\S*)", run(
        "sbatch", script("sleep 300", "--job-name=parsl.a", "--nodes=1", "--time=10",
                         "--ntasks-per-node=1", "-p two"))).group("id") for _ in range(2)]
    run("sacct", "-X")

    def states():
        text = run("sacct", "-X", "--noheader", "--format=jobid,state%20", "--job",
                   ",".join(jobs))
        return dict(line.split()[:2] for line in text.splitlines() if line.strip())
    poll("RUNNING", lambda: [states().get(j) for j in jobs] == ["RUNNING"] * 2)
    text = run("squeue", "--noheader", "--format=%i %t", "--job", ",".join(jobs))
    check({tuple(line.split()) for line in text.splitlines()} == {(j, "R") for j in jobs}, text)
    run("scancel", *jobs)
    poll("CANCELLED", lambda: [states().get(j) for j in jobs] == ["CANCELLED"] * 2)


@tool
def dask_jobqueue():
    """sbatch FILE, the first number, scancel"""
    out = run("sbatch", script("sleep 300", "-J dask-worker", "-n 1", "--cpus-per-task=1",
                               "--mem=100M", "-t 00:30:00", "-p two"))
    job = match(r"(?P<job_id>\d+)", out).group("job_id")
    check(run("squeue", "-h", "-j", job, "-o", "%j").strip() == "dask-worker")
    run("scancel", job)


@tool
def submitit():
    """array, sacct -j for each, scancel, scontrol requeue"""
    out = run("sbatch", script("sleep 300", "--array=0-1%2", "--open-mode=append",
                               "--signal=USR2@90", "--nodes=1", "--ntasks-per-node=1",
                               "--cpus-per-task=1", "--mem=100M", "--time=10", "-p two",
                               "--output=%A_%a.out", "--error=%A_%a.err"))
    job = match(r"job (?P<id>[0-9]+)", out).group("id")

    def states():
        lines = run("sacct", "-o", "JobID,State,NodeList", "--parsable2", "-j", job, "-j",
                    job).splitlines()
        check(lines[0].split("|") == ["JobID", "State", "NodeList"], lines[0])
        return {i: (s, n) for i, s, n in (line.split("|") for line in lines[1:]) if "." not in i}
    poll("RUNNING with a node", lambda: states().get(f"{job}_0") == ("RUNNING", "n2"))
    run("scancel", f"{job}_0")
    poll("CANCELLED", lambda: states()[f"{job}_0"][0].startswith("CANCELLED"))
    run("scancel", job)


@tool
def batchtools():
    """fourth word, lists of states, --allocations"""
    job = run("sbatch", script("sleep 300", "--job-name=batch", "-t 10", "-p two"),
              merged=True).splitlines()[0].split(" ")[3]
    user = os.environ["USER"]
    poll("the running job", lambda: job in run(
        "squeue", f"--user={user}", "--states=R,S,CG,RS,SI,SO,ST", "--noheader", "--format=%i",
        "-r").split())
    check(job not in run("squeue", f"--user={user}", "--states=PD,CF,RF,RH,RQ,SE", "--noheader",
                         "--format=%i", "-r").split())
    line = run("squeue", "--noheader",
               "--format=job_id=%i,state=%T,submitted_on=%V,time_used=%M", f"--jobs={job}")
    fields = dict(f.split("=") for f in line.strip().split(","))
    check(fields["job_id"] == job and fields["state"] == "RUNNING", line)
    datetime.datetime.strptime(fields["submitted_on"], "%Y-%m-%dT%H:%M:%S")
    poll("RUNNING in sacct", lambda: run(
        "sacct", f"--user={user}", "--noheader", "--parsable2", "--allocations",
        "--format=State", f"--jobs={job}", "--starttime=now-1day").strip() == "RUNNING")
    run("scancel", job)


@tool
def toil():
    """key=value of scontrol show job, sacct of many, squeue of times"""
    job = match(r"Submitted batch job (\d+)", run(
        "sbatch", "-J", "toil_job_1_w", "--export=ALL,OMP_NUM_THREADS=1", "--mem=100",
        "--cpus-per-task=1", "-p", "two", "-t", "10", "--wrap=exit 3")).group(1)

    def ended():
        text = run("sacct", "-n", "-j", job, "--format", "JobIDRaw,State,ExitCode", "-P", "-S",
                   "1970-01-01")
        for line in text.splitlines():
            values = line.split("|")
            if len(values) == 3 and values[0] == job:
                state, exit_code = values[1], values[2]
                status, signal = (int(n) for n in exit_code.split(":"))
                return state == "FAILED" and (status, signal) == (3, 0)
        return False
    poll("FAILED 3:0", ended)
    values = {}
    for item in run("scontrol", "show", "job", job).split():
        key, separator, value = item.partition("=")
        if separator:
            values[key] = value
    check(values["JobId"] == job and values["JobState"] == "FAILED", values)
    check(values["ExitCode"] == "3:0" and values["Reason"] == "NonZeroExitCode", values)
    for line in run("squeue", "-h", "--format", "%i %t %M").splitlines():
        check(len(line.split()) == 3, line)


@tool
def galaxy():
    """pulsar: squeue %A %t, scontrol -do show job"""
    job = match(r"Submitted batch job (\w+)", run(
        "sbatch", script("sleep 300", "-t 10", "--mem=100", "-p two"))).group(1)

    def state():
        for line in run("squeue", "-a", "-o", "%A %t", "-j", job, status=None).splitlines():
            cols = line.split(None, 1)
            if cols[0] == job:
                return cols[1].strip()
        return None
    poll("R", lambda: state() == "R")
    line = run("scontrol", "-do", "show", "job", job)
    match(r"\bMem=(\d+)", line)
    check(line.count("\n") == 1, line)
    run("scancel", job)


@tool
def aiida():
    """fields with ^^^ between, sacct of all fields"""
    job = match(r"(.*:\s*)?([Gg]ranted job allocation|[Ss]ubmitted batch job)\s+(\d+)", run(
        "sbatch", script("sleep 300", "--no-requeue", "--job-name='aiida-1'", "--get-user-env",
                         "--output=_o", "--error=_e", "--nodes=1", "--ntasks-per-node=1",
                         "--time=00:10:00", "-p two"))).group(3)
    form = "%i^^^%t^^^%r^^^%B^^^%u^^^%D^^^%C^^^%R^^^%P^^^%l^^^%M^^^%S^^^%j^^^%V"

    def fields():
        text = run("squeue", "--noheader", "-o", form, f"--jobs={job},{job}",
                   environment={"SLURM_TIME_FORMAT": "standard"})
        lines = [line for line in text.splitlines() if "^^^" in line]
        return lines[0].split("^^^") if lines else None
    f = poll("R", lambda: fields() and fields()[1] == "R" and fields())
    check(len(f) == 14 and f[3] == "n2" and f[5:7] == ["1", "1"] and f[9] == "10:00", f)
    check(f[12] == "aiida-1", f)
    datetime.datetime.strptime(f[11], "%Y-%m-%dT%H:%M:%S")
    names = ",".join(run("sacct", "--helpformat").split())
    rows = run("sacct", f"--format={names}", "--parsable", f"--jobs={job}").splitlines()
    check(len({r.count("|") for r in rows}) == 1, rows)
    run("scancel", job)


@tool
def open_ondemand():
    """script on stdin, 48 fields with unusual delimiters, hold and release"""
    out = run("sbatch", "-H", "-D", os.getcwd(), "-J", "ood", "-p", "two", "-t", "00:10:00", "-n",
              "1", "-A", "default", "--export=NONE", "--parsable",
              text="#!/bin/bash\nsleep 300\n")
    job = out.strip().split(";")[0]
    check(job.isdigit(), out)
    names = """Account JobID BatchHost MinCpus NumCPUs MinTmpDisk NumNodes EndTime Dependency
        Feature ArrayJobID GroupName GroupID OverSubscribe Sockets JobArrayID Cores Name Threads
        Comment ArrayTaskID TimeLimit TimeLeft MinMemory TimeUsed ReqNodes NodeList Command
        Contiguous QOS Partition PriorityLong Reason StartTime StateCompact State UserName UserID
        Reservation SubmitTime wckey Licenses CoreSpec Nice SchedNodes SCT WorkDir gres""".split()
    text = run("squeue", "--all", "--states=all", "--noconvert", "-O",
               ",".join(f"{n}:\x1f" for n in names), "-j", job, "--noheader")
    values = dict(zip(names, text.strip("\n").split("\x1f")))
    check(text.count("\x1f") == 48 and values["JobID"] == job, text)
    check(values["StateCompact"] == "PD" and values["Reason"] == "JobHeldUser", values)
    run("scontrol", "release", job)
    poll("R", lambda: run("squeue", "-h", "-j", job, "-o", "%t").strip() == "R")
    check(re.fullmatch(r"(\d+/){7}\d+", run("sinfo", "-aho", "%F/%C").splitlines()[0]))
    for line in run("scontrol", "show", "part", "-o").splitlines():
        check(line.startswith("PartitionName="), line)
    rows = run("sacct", "-P", "--delimiter", "\x1f", "-n", "--units", "G", "--allocations", "-o",
               "User,Group,JobId,JobName,Elapsed,ReqMem,AllocCPUS,ReqCPUS,Timelimit,State,"
               "TotalCPU,MaxRSS,Partition,Submit,Start,End,ReqTRES", "-j", job)
    check(rows.count("\x1f") == 16 and rows.split("\x1f")[2] == job, rows)
    run("scancel", job)


@tool
def psij_and_others():
    """psij: --me; clustermq: scancel --name; hyperqueue: scontrol show job; exporter: counts"""
    name = f"cmq{uuid.uuid4().hex[:6]}"
    run("sbatch", "--array=1-2", text=f"#!/bin/sh\n#SBATCH -J {name}\n#SBATCH -p two\n"
        "#SBATCH -t 10\nsleep 300\n")
    tasks = poll("two tasks", lambda: [i for i in run(
        "squeue", "--me", "-o", "%i", "-h", "-r", "-t", "R", "-n", name).split()])
    job = tasks[0].split("_")[0]
    lines = run("scontrol", "show", "job", job)
    match(r"JobState=(\w+)", lines)
    match(r"StartTime=(\S+) EndTime=(\S+)", lines)
    match(r"TimeLimit=(\S+)", lines)
    for line in run("squeue", "-a", "-r", "-h", "-o", "%A|%a|%T|%C").splitlines():
        check(line.count("|") == 3, line)
    match(r"^\d+/\d+/\d+/\d+$", run("sinfo", "-h", "-o", "%C"))
    run("scancel", "--name", name)
    poll("no task", lambda: not run("squeue", "--me", "-h", "-n", name))


def play(f):
    try:
        f()
    except (Differs, KeyError, ValueError, IndexError) as e:
        return f"not ok {f.__name__}: {f.__doc__}\n    {type(e).__name__}: {e}"
    return f"ok {f.__name__}: {f.__doc__}"


def main():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for line in pool.map(play, TESTS):
            print(line, flush=True)


main()
