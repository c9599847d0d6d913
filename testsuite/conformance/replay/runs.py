# SPDX-License-Identifier: Apache-2.0
"""Counts the results, and knows what is omitted and why."""
import re


class Omissions:
    """The list of what is not replayed (the file "omitted")."""

    def __init__(self, path):
        self.rules = []
        with open(path) as f:
            for line in f:
                if not line.strip() or line.startswith("#"):
                    continue
                form, field, pattern, why = line.rstrip("\n").split("\t")
                self.rules.append((form, field, re.compile(pattern), why))

    def why(self, form, line):
        for wanted, field, pattern, why in self.rules:
            value = line
            for name in field.split("."):
                value = value.get(name) if isinstance(value, dict) else None
            if wanted == form and value is not None and pattern.search(
                    str(value)):
                return why
        return None


class Tally:
    def __init__(self, verbose=False):
        self.verbose = verbose
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.reasons = {}

    def passes(self):
        self.passed += 1

    def fails(self, case, why):
        self.failed += 1
        print(f"{case}: {why}", flush=True)

    def skips(self, case, why):
        self.skipped += 1
        self.reasons[why] = self.reasons.get(why, 0) + 1
        if self.verbose:
            print(f"{case}: skipped: {why}")
