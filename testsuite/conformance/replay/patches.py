# SPDX-License-Identifier: Apache-2.0
"""Original, patch, result: each line is independent, sent with dryRun=All."""
import json

from replay.compare import Bindings, Comparison, Mismatch, Unbound
from replay.server import JSON, TOKEN, Server

TYPES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}


def knows(line):
    return "patchType" in line and "original" in line


def namespace_of(obj):
    name = obj["metadata"].get("namespace")
    if name is None:
        return []
    return [{"apiVersion": "v1", "kind": "Namespace",
             "metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]},
             "status": {"phase": "Active"}}]


def check_error(comparison, line, answer):
    expected = dict(line.get("error") or line)
    body = answer.json()
    comparison.compare("reason", expected.get("reason"), body.get("reason"))
    if expected.get("details") is not None:
        details = dict(expected["details"])
        if "causes" in expected:
            details["causes"] = expected["causes"]
        given = dict(body.get("details") or {})
        given.setdefault("causes", [])
        details.setdefault("causes", [])
        comparison.compare("details", details, given)
    comparison.message("message", expected.get("message") or "",
                       body.get("message"))


def check(line, server, comparison, original):
    path = server.path_of(original)
    if path is None:
        raise Mismatch(f"{line['kind']} is not served")
    if line.get("subresource"):
        path += "/" + line["subresource"]
    answer = server.send(
        "PATCH", path + "?dryRun=All&fieldValidation=Warn",
        {"Authorization": TOKEN, "Content-Type": TYPES[line["patchType"]],
         "Accept": JSON},
        comparison.bindings.fill(json.dumps(line["patch"])).encode())
    if not comparison.status(line["code"], answer):
        return
    if line["code"] >= 400:
        check_error(comparison, line, answer)
    else:
        comparison.compare("", line["result"], answer.json())
    comparison.warnings(line.get("warnings"), answer)


def run(lines, options, tally):
    bindings = Bindings(invents=True)
    comparison = Comparison(bindings, options.words)
    stored = {}
    with Server(options.controller) as server:
        for line in lines:
            case = f"patch {line['id']} ({line['name']})"
            why = options.omissions.why("patch", line)
            if why:
                tally.skips(case, why)
                continue
            try:
                bindings.values["<rv>"] = "1"
                original = bindings.fill_tree(line["original"])
                key = (line["kind"], original["metadata"]["name"])
                if stored.get(key) != original:
                    server.load(namespace_of(original) + [original])
                    stored[key] = original
                path = server.path_of(original)
                if path and "<rv>" in json.dumps(line["patch"]):
                    bindings.values["<rv>"] = server.send(
                        "GET", path).json()["metadata"]["resourceVersion"]
                check(line, server, comparison, original)
                tally.passes()
            except (Mismatch, Unbound, OSError, ValueError) as e:
                tally.fails(case, e)
                if not server.is_up():
                    print(server.log())
                    return comparison
    return comparison
