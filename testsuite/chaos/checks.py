# SPDX-License-Identifier: Apache-2.0
"""What all cases share: proofs that a check sees planted violations, the verdict, times and task lists.

A check is a function of the evidence, which returns what is wrong. prove() shows on the same evidence that
the check finds planted violations.
"""
import calendar
import copy

from storm_cluster import *


def prove(check, evidence, plants):
    """Each planted violation must make the check say something that it did not say before."""
    base = set(check(evidence))
    for name, plant in plants:
        e = copy.deepcopy(evidence) if not isinstance(evidence, dict) else {k: copy.copy(v) for k, v in evidence.items()}
        undo = plant(e)
        said = set(check(e))
        if undo:
            undo()
        if not said - base:
            raise RuntimeError(f'the check is blind: it does not see the planted violation "{name}"')
    return len(plants)


def verdict(wrong, figures):
    if wrong:
        raise Broken('; '.join(wrong) + f' ({figures})')
    return figures


def seconds(text):
    return calendar.timegm(time.strptime(text, '%Y-%m-%dT%H:%M:%SZ')) if text else None


def span(text):
    """The numbers of a task list."""
    r = set()
    for q in (text or '').split(','):
        if not q:
            continue
        q, _, step = q.partition(':')
        a, _, b = q.partition('-')
        r |= set(range(int(a), int(b or a) + 1, int(step or 1)))
    return r
