/* SPDX-License-Identifier: Apache-2.0 */
/* unschedulable_pods.h - the unschedulable pods, by what can wake them
 *
 * Pods that every plugin treats alike (one signature) and that the same
 * plugins rejected sleep as one *group*: what helps one helps all, so an
 * event asks once for all of them and wakes the first in queue order alone.
 * When that one is placed the next is woken; when it fails the rest would
 * fail too. Families that wait for the same plugins are a *class*, and an
 * event looks only at classes with a plugin that registered for it. So a
 * hundred thousand equal pods cost an event what one pod costs.
 *
 * Pods that what rejected them looks at other pods for are groups of their own,
 * for what helps one may not be enough for the next. But those whose hints go
 * by the same in the pod are a *hint group*: an event asks the first, and when
 * it helps, wakes all.
 *
 * With sharing off, as upstream, every pod is a group of its own.
 *
 * Owns:       the groups; not the pods, which the queue owns.
 * Thread:     the scheduler's.
 * Invariant:  a pod in state QUEUE_UNSCHEDULABLE is in one group's heap; one
 *             that was woken from a group points at it until it is placed,
 *             fails or goes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct cluster_event;
struct queued_pod;
struct unschedulable_pods;

typedef bool
unschedulable_pods_less_fn(const void *a, const void *b, void *context);

void unschedulable_pods_free(struct unschedulable_pods *s);
struct unschedulable_pods *
unschedulable_pods_new(unschedulable_pods_less_fn *less, void *context)
    OWNED_BY(unschedulable_pods_free);
DEFINE_CLEANUP(struct unschedulable_pods, unschedulable_pods_free)

/* Change. Add: it failed, and sleeps with its like when `signature` is not
 * SIGNATURE_NONE; else in the hint group of `hints` when that is not. Remove:
 * it is asleep no more.
 */
void unschedulable_pods_add(struct unschedulable_pods *s,
                            struct queued_pod *pod,
                            uint32_t signature,
                            uint32_t hints);
void unschedulable_pods_remove(struct unschedulable_pods *s,
                               struct queued_pod *pod);

/* A pod that was woken is taken to wait for what its group does. */
void unschedulable_pods_update(struct queued_pod *pod);

/* A pod that was woken is out of the race: placed, or gone. True when the
 * next of its group should be woken.
 */
bool unschedulable_pods_leave(struct unschedulable_pods *s,
                              struct queued_pod *pod,
                              struct queued_pod **ret_next);

/* Visits one pod of each group that has a plugin registered for the event;
 * after one for whom the answer was false, no more of its hint group. `visit`
 * may remove the group's pods, no others.
 */
typedef bool unschedulable_pods_visit_fn(struct queued_pod *first,
                                         void *context);
void unschedulable_pods_visit(struct unschedulable_pods *s,
                              const struct cluster_event *event,
                              unschedulable_pods_visit_fn *visit,
                              void *context);

/* Of the group of a sleeping pod, the one to wake now: the first in order
 * that `is_ready`, or the first; NULL while one that was woken before is
 * still to be tried.
 */
struct queued_pod *unschedulable_pods_pick(
    const struct unschedulable_pods *s,
    const struct queued_pod *member,
    bool (*is_ready)(const struct queued_pod *pod, void *context),
    void *context);

/* The first in order of those that are the first of their group and wanted, or
 * NULL.
 */
struct queued_pod *unschedulable_pods_first(
    const struct unschedulable_pods *s,
    bool (*is_wanted)(const struct queued_pod *pod, void *context),
    void *context);

size_t unschedulable_pods_count(const struct unschedulable_pods *s);
size_t unschedulable_pods_groups(const struct unschedulable_pods *s);
