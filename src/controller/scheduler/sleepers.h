/* SPDX-License-Identifier: Apache-2.0 */
/* sleepers.h - the unschedulable pods, by what can wake them
 *
 * Pods that every plugin treats alike (one signature) and that the same
 * plugins rejected sleep as one *family*: what helps one helps all, so an
 * event asks once for all of them and wakes the first in queue order alone.
 * When that one is placed the next is woken; when it fails the rest would
 * fail too. Families that wait for the same plugins are a *class*, and an
 * event looks only at classes with a plugin that registered for it. So a
 * hundred thousand equal pods cost an event what one pod costs.
 *
 * Pods that what rejected them looks at other pods for are families of their
 * own, for what helps one may not be enough for the next. But those whose
 * hints go by the same in the pod are a *chorus*: an event asks the first, and
 * when it helps, wakes all.
 *
 * With sharing off, as upstream, every pod is a family of its own.
 *
 * Owns:       the families; not the pods, which the queue owns.
 * Thread:     the scheduler's.
 * Invariant:  a pod in state QUEUE_SLEEPING is in one family's heap; one that
 *             was woken from a family points at it until it is placed, fails
 *             or goes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct cluster_event;
struct queued_pod;
struct sleepers;

typedef bool sleepers_less_fn(const void *a, const void *b, void *context);

void sleepers_free(struct sleepers *s);
struct sleepers *sleepers_new(sleepers_less_fn *less, void *context)
    OWNED_BY(sleepers_free);
DEFINE_CLEANUP(struct sleepers, sleepers_free)

/* Change. Add: it failed, and sleeps with its like when `signature` is not
 * SIGNATURE_NONE; else in the chorus of `hints` when that is not. Remove: it is
 * asleep no more.
 */
void sleepers_add(struct sleepers *s,
                  struct queued_pod *pod,
                  uint32_t signature,
                  uint32_t hints);
void sleepers_remove(struct sleepers *s, struct queued_pod *pod);

/* A pod that was woken is out of the race: placed, or gone. True when the
 * next of its family should be woken.
 */
bool sleepers_leave(struct sleepers *s,
                    struct queued_pod *pod,
                    struct queued_pod **ret_next);

/* Visits one pod of each family that has a plugin registered for the event;
 * after one for whom the answer was false, no more of its chorus. `visit` may
 * remove the family's pods, no others.
 */
typedef bool sleepers_visit_fn(struct queued_pod *first, void *context);
void sleepers_visit(struct sleepers *s,
                    const struct cluster_event *event,
                    sleepers_visit_fn *visit,
                    void *context);

/* Of the family of a sleeping pod, the one to wake now: the first in order
 * that `is_ready`, or the first; NULL while one that was woken before is
 * still to be tried.
 */
struct queued_pod *sleepers_pick(const struct sleepers *s,
                                 const struct queued_pod *member,
                                 bool (*is_ready)(const struct queued_pod *pod,
                                                  void *context),
                                 void *context);

size_t sleepers_count(const struct sleepers *s);
size_t sleepers_families(const struct sleepers *s);
