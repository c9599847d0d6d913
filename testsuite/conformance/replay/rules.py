# SPDX-License-Identifier: Apache-2.0
"""Rules of kube-apiserver, one per line, written down from its sources.

A line starts with a valid object of its kind (BASES), merges `set` into it and
creates it. With `was`, that is merged into the valid object first, which is
stored, and a PUT with `set` merged in replaces it, below `subresource` if there
is one. A list replaces a list; `container` is merged into the first container.
Then `causes` are the reasons and fields of the refusal, or `shows` is what the
answer has at a path ("/" between names, null if absent). All requests are dry
runs.

With `patch`, `set` is a patch of that type. With `query` there is no `set`, but
a GET of the kind's list, or with `was` of the object, which answers `code`.
`cells` are the cells of its row in a table, by column.
"""
import copy
import json

from replay.compare import Bindings, Comparison, Mismatch
from replay.patches import TYPES, namespace_of
from replay.server import JSON, TOKEN, Server

NAMESPACE = "rules"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
CONTAINER = {"name": "c", "image": "i:1"}
PODS = {"metadata": {"labels": {"app": "a"}}, "spec": {
    "containers": [CONTAINER], "restartPolicy": "Never"}}
BASES = {
    "ConfigMap": {"apiVersion": "v1"},
    "Event": {"apiVersion": "v1", "involvedObject": {
        "kind": "Pod", "name": "p", "namespace": NAMESPACE}},
    "Event.events.k8s.io": {
        "apiVersion": "events.k8s.io/v1", "action": "Run", "reason": "Ran",
        "type": "Normal", "eventTime": "2024-01-01T00:00:00.000000Z",
        "reportingController": "kiln/test", "reportingInstance": "i",
        "regarding": {"kind": "Pod", "name": "p", "namespace": NAMESPACE}},
    "Job": {"apiVersion": "batch/v1", "spec": {"template": PODS}},
    "Lease": {"apiVersion": "coordination.k8s.io/v1", "spec": {}},
    "Namespace": {"apiVersion": "v1"},
    "Node": {"apiVersion": "v1"},
    "PersistentVolume": {"apiVersion": "v1", "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/a"}}},
    "PersistentVolumeClaim": {"apiVersion": "v1", "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}},
    "Pod": {"apiVersion": "v1", "spec": PODS["spec"]},
    "PodDisruptionBudget": {"apiVersion": "policy/v1", "spec": {
        "minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}},
    "PodTemplate": {"apiVersion": "v1", "template": PODS},
    "PriorityClass": {"apiVersion": "scheduling.k8s.io/v1", "value": 5},
    "ResourceQuota": {"apiVersion": "v1", "spec": {"hard": {"pods": "1"}}},
    "StorageClass": {"apiVersion": "storage.k8s.io/v1", "provisioner": "a/b"},
}
OF_CLUSTER = ("Namespace", "Node", "PersistentVolume", "PriorityClass",
              "StorageClass")


def knows(line):
    return "kind" in line and "id" in line and "path" not in line and (
        "set" in line or "query" in line or "cells" in line)


def merge(tree, patch):
    for key, value in patch.items():
        if value is None:
            tree.pop(key, None)
        elif isinstance(value, dict) and isinstance(tree.get(key), dict):
            merge(tree[key], value)
        else:
            tree[key] = copy.deepcopy(value)


def change(tree, patch):
    patch = dict(patch)
    container = patch.pop("container", None)
    merge(tree, patch)
    if container:
        holder = tree.get("template") or tree["spec"].get("template") or tree
        merge(holder["spec"]["containers"][0], container)
    return tree


def base_of(line):
    kind = line["kind"]
    tree = copy.deepcopy(BASES[kind])
    tree["kind"] = kind.split(".")[0]
    tree.setdefault("metadata", {})["name"] = line.get("name", "o1")
    if kind not in OF_CLUSTER:
        tree["metadata"]["namespace"] = NAMESPACE
    return tree


def collection_of(server, tree):
    return server.path_of(tree).rsplit("/", 1)[0] + "?dryRun=All"


def store(server, line):
    tree = change(base_of(line), line["was"])
    answer = server.send("POST", collection_of(server, tree), body=tree)
    if answer.status != 201:
        raise Mismatch(f"was: {answer.body[:300]}")
    stored = answer.json()
    merge(stored, {"status": line["was"].get("status", {})})
    server.load([stored])
    return server.send("GET", server.path_of(stored)).json()


def read(server, line):
    """Reads the list or the stored object, as a table if cells are wanted."""
    stored = store(server, line) if "was" in line else {
        **base_of(line), "metadata": {"name": "x", "namespace": NAMESPACE}}
    path = server.path_of(stored)
    if "was" not in line:
        path = path.rsplit("/", 1)[0]
    return server.send("GET", path + line.get("query", ""), {
        "Authorization": TOKEN,
        "Accept": TABLE if "cells" in line else JSON})


def send(server, line):
    if "set" not in line:
        return read(server, line)
    if "was" not in line:
        tree = change(base_of(line), line["set"])
        path = server.path_of({**tree, "metadata": {
            "name": "o1", "namespace": NAMESPACE}}).rsplit("/", 1)[0]
        return server.send("POST", path + "?dryRun=All", body=tree)
    stored = store(server, line)
    path = server.path_of(stored)
    if line.get("subresource"):
        path += "/" + line["subresource"]
    if line.get("patch"):
        return server.send("PATCH", path + "?dryRun=All", {
            "Authorization": TOKEN, "Accept": JSON,
            "Content-Type": TYPES[line["patch"]]},
            json.dumps(line["set"]).encode())
    return server.send("PUT", path + "?dryRun=All",
                       body=change(stored, line["set"]))


def look_up(tree, path):
    for name in path.split("/"):
        if isinstance(tree, list):
            tree = tree[int(name)] if int(name) < len(tree) else None
        else:
            tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def check(line, server):
    answer = send(server, line)
    body = answer.json()
    is_refused = "causes" in line
    code = (422 if is_refused
            else 201 if "set" in line and "was" not in line else 200)
    if answer.status != line.get("code", code):
        raise Mismatch(f"status {answer.status}: {answer.body[:400].decode()}")
    if is_refused:
        given = sorted({f"{c['reason']} {c.get('field')}"
                        for c in body["details"]["causes"]})
        if given != sorted(line["causes"]):
            raise Mismatch(f"causes {given}, expected {line['causes']}")
    for path, value in line.get("shows", {}).items():
        if look_up(body, path) != value:
            raise Mismatch(f"{path}: {look_up(body, path)!r}, "
                           f"expected {value!r}")
    titles = [c["name"] for c in body.get("columnDefinitions", [])]
    for title, value in line.get("cells", {}).items():
        cell = dict(zip(titles, body["rows"][0]["cells"])).get(title)
        if cell != value:
            raise Mismatch(f"{title}: {cell!r}, expected {value!r}")
    wanted = sorted(f'299 - {json.dumps(w)}' for w in line.get("warnings", []))
    if wanted != answer.warnings():
        raise Mismatch(f"warnings {answer.warnings()}, expected {wanted}")
    for words in line.get("says", []):
        if words not in body["message"]:
            raise Mismatch(f"{body['message']!r}, expected {words!r}")


def run(lines, options, tally):
    with Server(options.controller) as server:
        server.load(namespace_of({"metadata": {"namespace": NAMESPACE}}))
        for i, line in enumerate(lines):
            line["name"] = f"o{i}"
            try:
                check(line, server)
                tally.passes()
            except (Mismatch, OSError, ValueError, KeyError) as e:
                tally.fails(f"rule {line['kind']}/{line['id']}", e)
    return Comparison(Bindings(), options.words)
