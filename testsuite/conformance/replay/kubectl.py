# SPDX-License-Identifier: Apache-2.0
"""Runs of kubectl, if one of a supported minor version (MINOR) is installed.

The commands run in the recorded order, with one server and one cache. Exit
status, output and messages must be as recorded. Ages, times, uids and revisions
may differ. Several spaces count as one, because the widths of columns depend on
the ages in them.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from replay.compare import Bindings, Comparison, Mismatch
from replay.gate import Gate
from replay.server import Server
from replay.world import Nodes, World

MINOR = ("32", "33")
SHAPES = {
    "age": r"(?:(?:\d+[ydhms])+|<unknown>|<invalid>|\d+m)",
    "time": r"[\d:.TZ+ -]+",
    "time-rfc1123z": r"\w{3}, \d\d \w{3} \d{4} [\d:]+ [+-]\d{4}",
    "uid": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "rv": r"\d+",
    "rand": r"[a-z0-9]{5}",
    "n": r"\d+",
    "tmp": r"/[\w/.-]+",
    "klog": r"[EW]\d{4} [\d:.]+ +\d+",
    "host": r"[\w.:-]+",
    "server": r"http://[\w.:-]+",
    "hash": r"\w+",
    "dir": r"[\w/.-]+",
    "home": r"[\w/.-]+",
}
PLACEHOLDER = re.compile(r"<([a-z0-9-]+?)(?:-x?\d+)?>")
# Replaces what Go prints of its own structures, what kubectl logs about its own
# timeouts, and numbers that the server chooses.
UNTOLD = (
    (re.compile(r"^(<klog>|[EW]\d{4}).* reflector.go.*\n", re.M), ""),
    (re.compile(r"(is invalid: spec.template: Invalid value:).*?"
                r"(: field is immutable)", re.S), r"\1 ...\2"),
    (re.compile(r"\n +core\.PodSpec\{\n.*", re.S), ""),
    (re.compile(r"(Resource Version: +)\d+"), r"\g<1>1"),
)
# Commands that change nothing. If such a command is omitted, it is not run.
READS = re.compile(r"^kubectl (logs|exec|port-forward) ")
# Pods may be evicted in any order, and evictions are repeated.
ANY_ORDER = re.compile(r"^kubectl (drain|delete)")


def knows(line):
    return "argv" in line and "requests" in line


def find():
    """Returns (program, None), or (None, why there is no program)."""
    program = shutil.which("kubectl")
    if not program:
        return None, "this machine has no kubectl"
    found = subprocess.run([program, "version", "--client", "-o", "json"],
                           capture_output=True, check=False)
    try:
        version = json.loads(found.stdout)["clientVersion"]
    except ValueError:
        return None, "kubectl does not tell its version"
    if version.get("minor", "").rstrip("+") not in MINOR:
        return None, ("kubectl is " + version.get("gitVersion", "?")
                      + ", the recorded one 1.32")
    return program, None


def pattern(text):
    """The regular expression of what is accepted for a recorded text."""
    out, at = "", 0
    for m in PLACEHOLDER.finditer(text):
        if m.group(1) not in SHAPES:
            continue
        out += re.escape(text[at:m.start()]) + SHAPES[m.group(1)]
        at = m.end()
    out += re.escape(text[at:])
    return out


def lines_of(text, words):
    for shown, instead in UNTOLD:
        text = shown.sub(instead, text)
    lines = [re.sub(r"[ \t]+", " ", x).rstrip() for x in text.splitlines()]
    lines = [re.sub(r"^-[- ]+$", "---", x) for x in lines]
    return sorted(set(lines)) if ANY_ORDER.match(words) else lines


def compare(what, expected, actual, words, is_whole):
    wanted, given = lines_of(expected, words), lines_of(actual, words)
    # The recorded run was killed, so this one may have printed more.
    if ANY_ORDER.match(words) and not is_whole:
        for line in wanted:
            if not any(re.fullmatch(pattern(line), x) for x in given):
                raise Mismatch(f"{what}: {line!r} is missing")
        return
    for i, line in enumerate(wanted):
        if i >= len(given):
            raise Mismatch(f"{what} ends before {line!r}")
        if not re.fullmatch(pattern(line), given[i]):
            raise Mismatch(f"{what}, line {i + 1}: {given[i]!r}, "
                           f"expected {line!r}")
    if is_whole and len(given) > len(wanted):
        raise Mismatch(f"{what} goes on: {given[len(wanted)]!r}")


class Terminal:
    """Runs the commands in a directory of their own."""

    def __init__(self, program, server):
        self.program = program
        self.gate = Gate(server.port)
        self.directory = tempfile.mkdtemp(prefix="kiln-kubectl.")
        self.config = os.path.join(self.directory, "config")
        with open(self.config, "w") as f:
            json.dump({
                "apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{"name": "c", "cluster": {
                    "server": f"http://127.0.0.1:{self.gate.server_port}"}}],
                "contexts": [{"name": "c", "context": {
                    "cluster": "c", "namespace": "hpc"}}]}, f)
        self.cache = os.path.join(self.directory, "cache")

    def close(self):
        self.gate.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, line):
        if line.get("cold"):
            shutil.rmtree(self.cache, ignore_errors=True)
        for name, text in (line.get("files") or {}).items():
            with open(os.path.join(self.directory, name), "w") as f:
                f.write(text)
        environment = {"PATH": os.environ["PATH"], "HOME": self.directory,
                       "KUBECONFIG": self.config, "KUBECACHEDIR": self.cache}
        environment.update(line.get("env") or {})
        with subprocess.Popen(
                [self.program] + line["argv"][1:], cwd=self.directory,
                env=environment, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            limit = line.get("killedAfterSeconds")
            status = None
            try:
                out, err = process.communicate(
                    (line.get("stdin") or "").encode(), limit or 60)
                status = process.returncode
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
        return status, out.decode(), err.decode()


def check(line, words, terminal):
    status, out, err = terminal.run(line)
    if status != line["exit"] and line["exit"] is not None:
        raise Mismatch(f"exit {status}, expected {line['exit']}: {err[:300]}")
    is_whole = line["exit"] is not None
    if line["stdout"] != "<left out>":
        compare("output", line["stdout"], out, words, is_whole)
    compare("message", line["stderr"], err, words, is_whole)


def run_line(line, words, terminal, world, nodes):
    world.before(words)
    awaited = re.match(r"kubectl wait pod/(\w+) --for=delete", words)
    if awaited and line["stdout"]:
        nodes.awaited = awaited.group(1), time.monotonic() + 1.5
    check(line, words, terminal)


def run(lines, options, tally):
    comparison = Comparison(Bindings())
    program, why_not = find()
    if not program:
        for line in lines:
            tally.skips(" ".join(line["argv"]), why_not)
        return comparison
    with Server(options.controller) as server:
        world = World(server)
        world.begin()
        nodes = Nodes(world)
        nodes.start()
        terminal = Terminal(program, server)
        for line in lines:
            words = " ".join(line["argv"])
            why = options.omissions.why("kubectl", dict(line, words=words))
            if why and READS.match(words):
                tally.skips(words, why)
                continue
            try:
                run_line(line, words, terminal, world, nodes)
                is_same, how = True, None
            except (Mismatch, OSError) as e:
                is_same, how = False, e
            # An omitted command is run, because later ones depend on it.
            if why:
                tally.skips(words, why)
            elif is_same:
                tally.passes()
            else:
                tally.fails(words, how)
            if not server.is_up():
                break
        nodes.is_over.set()
        nodes.join()
        terminal.close()
    return comparison
