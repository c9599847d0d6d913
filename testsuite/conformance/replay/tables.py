# SPDX-License-Identifier: Apache-2.0
"""Tables, made from the complete objects that the recorded lists contain.

Recorded times are moved to the present, so that ages are as recorded. The cells
with ages may differ by SLACK_S seconds.
"""
import copy
import datetime
import json
import re
import time

from replay.compare import Bindings, Comparison, Mismatch, Unbound
from replay.server import TOKEN, Server

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
SLACK_S = 2
# What is assumed of objects that no table contains completely.
UNSEEN = {"Pod": {"spec": {"containers": [{"name": "c", "image": "a"}]},
                  "status": {"phase": "Pending"}}}


def knows(line):
    return "accept" in line and "now" in line


def parse(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def moved(value, by):
    """The tree with that duration added to every time."""
    def move(match):
        at = parse(match.group(0)[:19] + "Z") + by
        return at.strftime("%Y-%m-%dT%H:%M:%S") + (match.group(1) or "") + "Z"
    return json.loads(TIME.sub(move, json.dumps(value)))


def tables_of(line):
    if "events" in line:
        return [e["object"] for e in line["events"]]
    return [line["body"]]


def objects_of(lines):
    """Every complete object of the file, by kind and name."""
    found = {}
    for line in lines:
        for table in tables_of(line):
            for row in table.get("rows") or []:
                obj = row.get("object") or {}
                if obj.get("kind", "Partial").startswith("Partial"):
                    continue
                meta = obj["metadata"]
                found.setdefault((obj["apiVersion"], obj["kind"],
                                  meta.get("namespace"), meta["name"]), obj)
    return found


class Story:
    """The objects of the file, loaded for one line after another."""

    def __init__(self, lines, server, bindings):
        self.objects = objects_of(lines)
        self.server = server
        self.bindings = bindings

    def load(self, by, tables):
        """Loads the objects, with the metadata that these tables show."""
        objects = copy.deepcopy(self.objects)
        for row in [r for t in tables for r in t.get("rows") or []]:
            meta = (row.get("object") or {}).get("metadata") or {}
            for key, obj in objects.items():
                if "name" in meta and key[2:] == (meta.get("namespace"),
                                                  meta["name"]):
                    obj["metadata"] = meta
        self.bindings.values["<rv>"] = "1"
        self.server.load([
            moved(self.bindings.fill_tree(o), by)
            for o in objects.values()
            if self.server.plural(o["apiVersion"], o["kind"])])
        del self.bindings.values["<rv>"]

    def find(self, kind, meta):
        for (_, k, namespace, name), obj in self.objects.items():
            if (k, namespace, name) == (kind, meta.get("namespace"),
                                        meta["name"]):
                return obj
        return None

    def play(self, line, by):
        """Makes the changes that the recorded watch saw."""
        kinds = {p[0]: (v, k) for (v, k), p in self.server.resources.items()}
        version, kind = kinds[line["resource"].split(".")[0]]
        self.bindings.values["<rv>"] = "1"
        for event in line["events"]:
            row = event["object"]["rows"][0]["object"]
            obj = copy.deepcopy(self.find(kind, row["metadata"])) or {
                "apiVersion": version, "kind": kind, **UNSEEN.get(kind, {})}
            obj["metadata"] = row["metadata"]
            sent = moved(self.bindings.fill_tree(obj), by)
            if event["type"] == "DELETED":
                self.server.load([dict(sent, **{"$removed": True})])
                self.objects = {k: o for k, o in self.objects.items()
                                if k[1:] != (kind, row["metadata"].get(
                                    "namespace"), row["metadata"]["name"])}
            else:
                self.server.load([sent])
        del self.bindings.values["<rv>"]


def check(line, story, comparison):
    server, bindings = story.server, comparison.bindings
    path = line["path"]
    by = (datetime.datetime.fromtimestamp(
        int(time.time()), datetime.timezone.utc) - parse(line["now"]))
    story.load(by, [] if "events" in line else [line["body"]])
    if "resourceVersion=<rv>" in path:
        # The watch starts at the collection's current revision.
        bindings.values["<rv>"] = server.send(
            "GET", path.split("?")[0]).json()["metadata"]["resourceVersion"]
        path = bindings.fill(path)
        story.play(line, by)
    answer = server.send("GET", path, {"Authorization": TOKEN,
                                       "Accept": line["accept"]})
    bindings.values.pop("<rv>", None)
    if not comparison.status(line["status"], answer):
        return
    if "events" in line:
        comparison.compare("events", moved(line["events"], by),
                           answer.events())
    else:
        comparison.compare("", moved(line["body"], by), answer.json())
    if line.get("contentType") and answer.headers.get(
            "Content-Type") != line["contentType"]:
        raise Mismatch(f"Content-Type {answer.headers.get('Content-Type')}, "
                       f"expected {line['contentType']}")


def run(lines, options, tally):
    bindings = Bindings(invents=True)
    comparison = Comparison(bindings, options.words, SLACK_S)
    with Server(options.controller) as server:
        server.plural("v1", "Pod")
        story = Story(lines, server, bindings)
        for line in lines:
            case = f"table {line['resource']} ({line['note']})"
            why = options.omissions.why("table", line)
            if why:
                tally.skips(case, why)
                continue
            try:
                check(line, story, comparison)
                tally.passes()
            except (Mismatch, Unbound, OSError, ValueError) as e:
                tally.fails(case, e)
                if not server.is_up():
                    print(server.log())
                    break
    return comparison
