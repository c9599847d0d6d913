#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a soak's ledger with what the controller reports about its jobs.

    verdict.py LEDGER JOBS.json

Reads the names of the submitters from standard input. Prints one line for each
violation, which begins with its kind: lost, twice, core, untrue, blameless,
unended. It prints nothing if all is well.
"""

import collections
import json
import sys

ledger, jobs_file = sys.argv[1:]


def lines(name):
    try:
        with open(f"{ledger}/{name}") as file:
            return [line.split() for line in file if line.strip()]
    except FileNotFoundError:
        return []


def offence(kind, *words):
    print(kind, *words)


class Run:
    """One start of a job's process, and its end if the process recorded it."""

    def __init__(self, pod, process, shepherd):
        self.pod, self.process, self.shepherd = pod, process, shepherd
        self.end = None


class Submission:
    def __init__(self, traits):
        self.traits = dict((*trait.split("=", 1), "")[:2] for trait in traits)
        self.name = None
        self.runs = collections.defaultdict(list)  # by index


submissions = {}
asked = collections.defaultdict(set)  # by job: cancel, hold, release, delete
for user in sys.stdin.read().split():
    for verb, *words in lines(f"said-{user}"):
        if verb == "asked":
            submissions[words[0]] = Submission(words[1:])
        elif verb == "acked":
            submissions[words[0]].name = words[1]
        elif words:
            job = words[0]
            asked[job if not job.isdigit() else f"job-{job}"].add(verb)

killed = {process for verb, process in lines("killed") if verb == "shepherd"}
for verb, token, job, index, pod, node, cpus, what, *_ in lines("runs"):
    if token not in submissions:
        offence("lost", "a job ran that nobody submitted:", token, pod)
        continue
    runs = submissions[token].runs[index]
    if verb == "start":
        runs.append(Run(pod, *what.split(",")))
    elif runs and runs[-1].pod == pod:
        runs[-1].end = what
    else:
        offence("twice", f"{token} {pod} ended and was not the last to start")

for kind, token, job, index, pod, node, cpus, what, *_ in lines("findings"):
    offence(kind, f"{token} {pod} on {node} {cpus}: held by {what}")

with open(jobs_file) as file:
    jobs = {job["metadata"]["name"]: job for job in json.load(file)["items"]}


def condition(job):
    """The type and the reason of the condition that ended the job."""
    for entry in job["status"].get("conditions", []):
        if entry["type"] in ("Complete", "Failed") and entry["status"] == "True":
            return entry["type"], entry.get("reason", "")
    return None, ""


def check_runs(token, submission):
    for index, runs in submission.runs.items():
        pods = [run.pod for run in runs]
        for pod in {pod for pod in pods if pods.count(pod) > 1}:
            offence("twice", f"{token} index {index}: pod {pod} started twice")
        good = [run.end == "0" for run in runs]
        if True in good[:-1]:
            offence("twice", f"{token} index {index} ran again after it succeeded")
        # A hold ends a running job, which runs again when it is released.
        may_rerun = "requeue" in submission.traits or "hold" in asked[submission.name]
        if len(runs) > 1 and not may_rerun:
            offence("twice", f"{token} index {index} ran again: {pods}")


def excused(name, submission, reason, runs):
    """Whether the job may have failed because of what was done to it."""
    if reason == "Cancelled":
        return "cancel" in asked[name]
    if reason == "DeadlineExceeded":
        return "limit" in submission.traits
    if reason == "ShepherdLost":
        return any(run.shepherd in killed for run in runs) or (
            killed - started_by if not runs else False
        )
    return False


def check_failed(token, submission, job, reason):
    name = job["metadata"]["name"]
    last = job["status"].get("lastRun", {})
    runs = [run for runs in submission.runs.values() for run in runs]
    if reason != "Cancelled":
        reason = last.get("reason", reason)
    said = f"{token} ({name}) is Failed, {reason} {last.get('message', '')}"
    if excused(name, submission, reason, runs):
        return
    ends = {runs[-1].end for runs in submission.runs.values()}
    code = str(last.get("exitCode", ""))
    if "array" in submission.traits:
        if any(run.shepherd in killed for run in runs):
            return
    elif reason == "Error" and code == "137" and ends == {"kill"}:
        return
    elif reason == "Error" and code != "0" and code in ends:
        return
    kind = "untrue" if runs else "blameless"
    offence(kind, said, f"exit code {code}; its own file: {len(runs)} runs,", ends)


def check_complete(token, submission, job):
    wanted = int(submission.traits.get("array", 1))
    good = sum(
        any(run.end == "0" for run in runs) for runs in submission.runs.values()
    )
    if good != wanted:
        offence("untrue", f"{token} is Complete, and {good} of {wanted} ended well")


def check_end(token, submission, job):
    kind, reason = condition(job)
    if kind == "Complete":
        check_complete(token, submission, job)
    elif kind == "Failed":
        check_failed(token, submission, job, reason)
    else:
        offence("unended", f"{token} ({job['metadata']['name']})", job["status"])


named = collections.Counter(
    job["metadata"].get("annotations", {}).get("kiln.hpc/job-name")
    for job in jobs.values()
)
started_by = {
    run.shepherd
    for submission in submissions.values()
    for runs in submission.runs.values()
    for run in runs
}
for token, submission in submissions.items():
    check_runs(token, submission)
    if named[token] > 1:
        offence("twice", f"{token} was submitted once, there are {named[token]}")
    if submission.name is None:
        continue
    job = jobs.get(submission.name)
    if job is not None:
        check_end(token, submission, job)
    elif "delete" not in asked[submission.name]:
        offence("lost", f"{token} ({submission.name}) was acknowledged")
