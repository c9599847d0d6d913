# SPDX-License-Identifier: Apache-2.0
"""A manifest, and the object with its defaults or the causes of a refusal."""
import json
import re

from replay.compare import Bindings, Comparison, Mismatch, Unbound
from replay.patches import check_error, namespace_of
from replay.server import Server
from replay.tables import TIME


def knows(line):
    return "manifest" in line and "verb" in line


def send(line, server, bindings, path):
    return server.send(
        "PUT" if line["verb"] == "update" else "POST", path,
        body=bindings.fill(json.dumps(line["manifest"])).encode())


def with_placeholders(line):
    """Replaces the server's random names and times by placeholders."""
    sent = json.dumps(line["manifest"]) + json.dumps(line.get("original"))
    text = TIME.sub(lambda m: m.group(0) if m.group(0) in sent else "<time>",
                    json.dumps(line))
    meta = line["manifest"].get("metadata")
    if isinstance(meta, dict) and meta.get("generateName") and not meta.get("name"):
        prefix = meta["generateName"]
        text = re.sub(re.escape(prefix) + "[a-z0-9]{5}(?=[^a-z0-9])",
                      lambda m: prefix + "<rand-1>", text)
    return json.loads(text)


def check(line, server, comparison):
    bindings = comparison.bindings
    if line.get("original"):
        bindings.values["<rv>"] = "1"
        original = bindings.fill_tree(line["original"])
        server.load([original])
        bindings.values["<rv>"] = server.send(
            "GET", server.path_of(original)).json()["metadata"][
                "resourceVersion"]
    answer = send(line, server, bindings, line["path"])
    line = with_placeholders(line)
    bindings.values.pop("<rand-1>", None)
    bindings.values.pop("<rv>", None)
    if not comparison.status(line["code"], answer):
        return
    if line["accepted"]:
        comparison.compare("", line["result"], answer.json())
        comparison.warnings(line.get("warnings"), answer)
    else:
        check_error(comparison, line, answer)
    warn = line.get("withFieldValidationWarn")
    if warn:
        answer = send(line, server, bindings, line["path"].replace(
            "fieldValidation=Strict", "fieldValidation=Warn"))
        comparison.status(warn["code"], answer)
        comparison.warnings(warn.get("warnings"), answer)


def prepare(line, server, known):
    parts = line["path"].split("?")[0].split("/")
    if "namespaces" not in parts[:-2]:
        return
    name = parts[parts.index("namespaces") + 1]
    if name not in known:
        server.load(namespace_of({"metadata": {"namespace": name}}))
        known.add(name)


def run(lines, options, tally):
    comparison = Comparison(Bindings(invents=True), options.words)
    known = set()
    with Server(options.controller) as server:
        for line in lines:
            case = f"validation {line['id']}"
            why = options.omissions.why("validation", line)
            if why:
                tally.skips(case, why)
                continue
            try:
                prepare(line, server, known)
                check(line, server, comparison)
                tally.passes()
            except (Mismatch, Unbound, OSError, ValueError) as e:
                tally.fails(case, e)
                if not server.is_up():
                    print(server.log())
                    return comparison
    return comparison
