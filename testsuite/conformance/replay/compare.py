# SPDX-License-Identifier: Apache-2.0
"""Compares answers with recordings in which IDs, revisions and times are named.

A placeholder is bound to the value that an answer first shows for it. After
that the same name means the same value, in requests and in answers.
"""
import json
import re
import uuid

PLACEHOLDER = re.compile(r"<([a-z]+)(?:-([a-z]?\d+))?>")
SHAPES = {
    "uid": r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    "rv": r"\d+",
    "rand": r"[a-z0-9]{5}",
    "continue": r"[A-Za-z0-9_\-+/=]+",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z",
}
SENT_TIME = "2024-01-01T00:00:00Z"
# Keys that are not part of the API's contract: documentation, and the annotation
# that upstream's encoder adds to the first bookmark.
IGNORED_KEYS = {"description", "kubernetes.io/initial-events-list-blueprint"}
# Keys that only the recordings about them contain.
UNRECORDED_KEYS = {"managedFields"}
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
AGE = re.compile(r"(?<![\w.-])(?:\d+[ydhms]){1,2}(?![\w.-])|<invalid>")


class Mismatch(Exception):
    pass


class Unbound(Mismatch):
    """A request needs a value that no answer has shown yet."""


def seconds(age):
    if age == "<invalid>":
        return 0
    return sum(int(n) * UNITS[u] for n, u in re.findall(r"(\d+)([ydhms])", age))


class Bindings:
    def __init__(self, invents=False):
        self.values = {}
        self.invents = invents # whether uids that were never shown are invented

    def value(self, match):
        whole, kind = match.group(0), match.group(1)
        if whole == "<time>":
            return SENT_TIME
        if whole not in self.values and self.invents and kind == "uid":
            self.values[whole] = str(uuid.uuid4())
        if whole in self.values:
            return self.values[whole]
        if kind not in SHAPES:
            return whole
        raise Unbound(f"{whole} was never answered")

    def fill(self, text):
        """The text of a request, with the values of its placeholders."""
        return PLACEHOLDER.sub(self.value, text)

    def fill_tree(self, tree):
        return json.loads(self.fill(json.dumps(tree)))

    def show(self, text):
        return PLACEHOLDER.sub(
            lambda m: self.values.get(m.group(0), m.group(0)), text)

    def match(self, path, expected, actual):
        """Matches a string of an answer with one that has placeholders."""
        names, pattern, at = [], "", 0
        for m in PLACEHOLDER.finditer(expected):
            if m.group(1) not in SHAPES:
                continue
            pattern += re.escape(expected[at:m.start()])
            at = m.end()
            whole = m.group(0)
            if whole in self.values and m.group(2):
                pattern += re.escape(self.values[whole])
            else:
                pattern += "(" + SHAPES[m.group(1)] + ")"
                names.append(whole if m.group(2) else None)
        pattern += re.escape(expected[at:])
        found = re.fullmatch(pattern, actual, re.S)
        if not found:
            raise Mismatch(
                f"{path}: {actual!r}, expected {self.show(expected)!r}")
        for name, value in zip(names, found.groups()):
            if name:
                self.values.setdefault(name, value)


class Comparison:
    """age_slack: by how many seconds ages in cells may differ; None: any."""

    def __init__(self, bindings, words=False, age_slack=None):
        self.bindings = bindings
        self.words = words
        self.age_slack = age_slack
        self.differing_words = 0

    def message(self, path, expected, actual):
        try:
            self.bindings.match(path, expected, actual or "")
        except Mismatch:
            self.differing_words += 1
            if self.words:
                raise

    def causes(self, path, expected, actual):
        """Compares reasons and fields, in any order and with any messages."""
        def pairs(causes):
            return {(c.get("reason"), c.get("field")) for c in causes or []}
        if pairs(expected) != pairs(actual):
            raise Mismatch(f"{path}: {sorted(map(str, pairs(actual)))}, "
                           f"expected {sorted(map(str, pairs(expected)))}")
        for e in expected:
            words = [a.get("message") for a in actual
                     if a.get("field") == e.get("field")]
            if e.get("message") not in words:
                self.message(path, e.get("message") or "",
                             words[0] if words else "")

    def objects(self, path, expected, actual):
        is_status = expected.get("kind") == "Status"
        for key in expected.keys() | actual.keys():
            at = f"{path}.{key}" if path else key
            if key in IGNORED_KEYS or key in UNRECORDED_KEYS - set(expected):
                continue
            if is_status and key == "message":
                self.message(at, expected.get(key, ""), actual.get(key, ""))
            elif key == "causes":
                self.causes(at, expected.get(key) or [], actual.get(key) or [])
            elif key not in expected:
                raise Mismatch(f"{at}: {actual[key]!r}, expected none")
            elif key not in actual:
                raise Mismatch(f"{at}: none, expected {expected[key]!r}")
            elif key == "cells":
                self.cells(at, expected[key], actual[key])
            else:
                self.compare(at, expected[key], actual[key])

    def cells(self, path, expected, actual):
        """Compares cells. Ages may differ by the duration of the replay."""
        if len(expected) != len(actual):
            raise Mismatch(f"{path}: {actual}, expected {expected}")
        for i, (e, a) in enumerate(zip(expected, actual)):
            if isinstance(e, str) and isinstance(a, str) and AGE.search(e):
                self.cell_with_ages(f"{path}[{i}]", e, a)
            else:
                self.compare(f"{path}[{i}]", e, a)

    def cell_with_ages(self, path, expected, actual):
        wanted, given = AGE.findall(expected), AGE.findall(actual)
        if AGE.sub("AGE", expected) != AGE.sub("AGE", actual):
            raise Mismatch(f"{path}: {actual!r}, expected {expected!r}")
        for e, a in zip(wanted, given):
            if self.age_slack is not None and abs(
                    seconds(e) - seconds(a)) > self.age_slack:
                raise Mismatch(f"{path}: {actual!r}, expected {expected!r}")

    def managers_in_order(self, path, expected, actual):
        """Of managers that wrote in one second the name decides, later it is
        the time. A recording does not tell its seconds, so where those of the
        replay differ, the order by time is checked and the rest by name."""
        def by_time(m):
            return (m.get("operation") != "Apply", m.get("time") or "")
        def by_name(m):
            return (m.get("operation") or "", m["manager"],
                    m.get("subresource") or "", m.get("apiVersion") or "")
        if [by_time(m) for m in actual] != sorted(map(by_time, actual)):
            raise Mismatch(f"{path}: managers are not in the order of time")
        if len({m.get("time") for m in actual}) < 2:
            return expected, actual
        return sorted(expected, key=by_name), sorted(actual, key=by_name)

    def in_order(self, path, expected, actual):
        """Sorts both lists by name, because random names change the order."""
        if all(isinstance(m, dict) and "manager" in m for m in expected + actual):
            return self.managers_in_order(path, expected, actual)
        def name(item):
            return isinstance(item, dict) and item.get("metadata", {}).get(
                "name")
        if not any("<rand-" in (name(x) or "") for x in expected):
            return expected, actual
        return (sorted(expected, key=lambda x: self.bindings.show(name(x))),
                sorted(actual, key=name))

    def compare(self, path, expected, actual):
        if isinstance(expected, dict) and isinstance(actual, dict):
            self.objects(path, expected, actual)
        elif isinstance(expected, list) and isinstance(actual, list):
            expected, actual = self.in_order(path, expected, actual)
            if len(expected) != len(actual):
                raise Mismatch(f"{path}: {len(actual)} items, expected "
                               f"{len(expected)}: {json.dumps(actual)[:300]}")
            for i, (e, a) in enumerate(zip(expected, actual)):
                self.compare(f"{path}[{i}]", e, a)
        elif isinstance(expected, str) and isinstance(actual, str):
            self.bindings.match(path, expected, actual)
        elif type(expected) is not type(actual) or expected != actual:
            raise Mismatch(f"{path}: {actual!r}, expected {expected!r}")

    def status(self, expected, answer):
        """Compares the status. Returns False if there is no more to compare:
        where upstream answers 500, any error is accepted."""
        if expected == 500 and 400 <= answer.status < 600:
            return False
        if answer.status != expected:
            raise Mismatch(f"status {answer.status}, expected {expected}: "
                           f"{answer.body[:400].decode(errors='replace')}")
        return True

    def warnings(self, expected, answer):
        if sorted(expected or []) != answer.warnings():
            raise Mismatch(f"warnings {answer.warnings()}, "
                           f"expected {sorted(expected or [])}")
