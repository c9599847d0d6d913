# SPDX-License-Identifier: Apache-2.0
"""Requests and answers in their recorded order, on one server."""
import http.client
import json
import os
import threading

from replay.compare import Bindings, Comparison, Mismatch, Unbound
from replay.server import JSON, TOKEN, Server

REPAIRS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "repairs.json")


def knows(line):
    return "request" in line and "response" in line


def note_body(note):
    """Makes the bodies that were too large to record."""
    big = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}}
    if "annotations" in note:
        big["metadata"]["annotations"] = {"a": "x" * 300000}
    else:
        big["data"] = {"a": "x" * (3500000 if "3 MiB" in note else 1100000)}
    return json.dumps(big)


def set_path(body, path, value=None):
    *parents, name = path.split(".")
    for parent in parents:
        body = body.setdefault(parent, {})
    if value is None:
        body.pop(name, None)
    else:
        body[name] = value


def repaired(line, repairs):
    """Restores a body that the recorder had changed before it recorded it."""
    body = line["request"]["body"]
    for repair in repairs:
        if repair["n"] == line["n"] and repair["note"] == line.get("note"):
            for path in repair.get("drop", []):
                set_path(body, path)
            for path, value in repair.get("set", {}).items():
                set_path(body, path, value)
    return body


def body_of(line, bindings, repairs):
    request = line["request"]
    if "bodyNote" in request:
        return note_body(line.get("note") or "").encode()
    if "bodyText" in request:
        return bindings.fill(request["bodyText"]).encode()
    if "body" in request:
        return bindings.fill(json.dumps(repaired(line, repairs))).encode()
    return None


def headers_of(line):
    request = line["request"]
    headers = {"Authorization": TOKEN}
    note = line.get("note") or ""
    if note == "wrong token":
        headers["Authorization"] = "Bearer wrong"
    if note == "no token":
        del headers["Authorization"]
    if request.get("accept") is not None:
        headers["Accept"] = request["accept"]
    if request.get("contentType"):
        headers["Content-Type"] = request["contentType"]
    return headers


def check(line, comparison, answer):
    response = line["response"]
    if not comparison.status(response["status"], answer):
        return
    if "events" in response:
        comparison.compare("events", response["events"], answer.events())
    elif "body" in response:
        comparison.compare("", response["body"], answer.json())
    elif "bodyText" in response and "yaml" not in str(
            answer.headers.get("Content-Type")):
        comparison.bindings.match(
            "body", response["bodyText"], answer.body.decode())
    wanted = response.get("headers", {}).get("Warning") or []
    comparison.warnings(
        [wanted] if isinstance(wanted, str) else wanted, answer)


def exchange(line, server, comparison, repairs):
    request = line["request"]
    answer = server.send(
        request["method"], comparison.bindings.fill(request["path"]),
        headers_of(line), body_of(line, comparison.bindings, repairs))
    check(line, comparison, answer)


def alone(line, options, failures):
    """A watch of a minute on its own server; one object is created late."""
    comparison = Comparison(Bindings(), options.words)
    namespace = line["request"]["path"].split("/namespaces/")[1].split("/")[0]
    path = line["request"]["path"].split("?")[0]
    try:
        with Server(options.controller) as server:
            server.send("POST", "/api/v1/namespaces",
                        body={"metadata": {"name": namespace}})
            comparison.bindings.values["<rv>"] = server.send(
                "GET", path).json()["metadata"]["resourceVersion"]
            late = threading.Timer(2, server.send, (
                "POST", path, None, {"metadata": {"name": "late"}}))
            late.start()
            request = line["request"]
            answer = server.send(
                request["method"], comparison.bindings.fill(request["path"]),
                headers_of(line))
            comparison.bindings.values.pop("<rv>")
            late.join()
            check(line, comparison, answer)
    except (Mismatch, OSError, ValueError, http.client.HTTPException) as e:
        failures[line["n"]] = e


class Aside:
    """The exchanges that run at the same time as the others."""

    def __init__(self, options):
        self.options = options
        self.failures = {}
        self.threads = []

    def add(self, line):
        thread = threading.Thread(
            target=alone, args=(line, self.options, self.failures))
        thread.start()
        self.threads.append((line, thread))

    def end(self, tally):
        for line, thread in self.threads:
            thread.join()
            if line["n"] in self.failures:
                tally.fails(name_of(line), self.failures[line["n"]])
            else:
                tally.passes()


def name_of(line):
    return f"exchange {line['n']} ({line['group']}: {line.get('note')})"


def enter_group(group, server):
    if group == "after compaction":
        server.compact()
    if group.startswith("after a restart"):
        server.stop()
        server.start()


def run(lines, options, tally):
    comparison = Comparison(Bindings(), options.words)
    aside = Aside(options)
    group = None
    with open(REPAIRS) as f:
        repairs = json.load(f)
    own = [x for x in lines if "a server of its own" in x["group"]]
    for line in own:
        aside.add(line)
    with Server(options.controller) as server:
        for line in lines:
            if line in own:
                continue
            if line["group"] != group:
                group = line["group"]
                enter_group(group, server)
            why = options.omissions.why("exchange", line)
            if why:
                tally.skips(name_of(line), why)
                continue
            try:
                exchange(line, server, comparison, repairs)
                tally.passes()
            except (Mismatch, Unbound, OSError, ValueError,
                    http.client.HTTPException) as e:
                tally.fails(name_of(line), e)
                if not server.is_up():
                    print(server.log())
                    break
    aside.end(tally)
    return comparison
