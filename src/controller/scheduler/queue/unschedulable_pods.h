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
 * Groups of a class that ask the same of a node's room are a *shape*: they
 * differ in their time limit, or in their place in the order. Room that has come
 * free somewhere is *offered* to the shapes that it may be enough for, and their
 * groups are asked in order, one after the other, until it is used up. So what an
 * end costs goes by the shapes, and by the pods that it lets start.
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

/* Those that a pod sleeps with: its like when `signature` is not SIGNATURE_NONE, which
 * is one of those of that shape; else those of the same hints. Seen: offers of
 * room before that number do not help it.
 */
struct sleep_signs {
    uint32_t signature, shape, hints;
    uint64_t seen;
};

/* Those that sleep in the group that a pod was woken from, up to so many. Ends:
 * the first in the order and one that is far behind; where single ones were woken
 * and told something, they are at the front.
 */
void unschedulable_pods_visit_ends_alike(const struct queued_pod *pod,
                                         void (*visit)(struct queued_pod *other,
                                                       void *context),
                                         void *context);
void unschedulable_pods_visit_alike(const struct queued_pod *pod,
                                    unsigned most,
                                    void (*visit)(struct queued_pod *other,
                                                  void *context),
                                    void *context);

/* Change. Add: it failed, and sleeps. Remove: it is asleep no more. */
void unschedulable_pods_add(struct unschedulable_pods *s,
                            struct queued_pod *pod,
                            const struct sleep_signs *signs);
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

/* Room has come free. Of a shape that goes by room (its first is asked), those
 * groups alone are tried that are among the first in the order, and it is noted
 * from which number on room may help it; other groups are all visited. May help: it
 * may be enough for that pod, and so for all of its shape.
 */
struct unschedulable_pods_offer {
    bool (*goes_by_room)(const struct queued_pod *pod, void *context);
    bool (*is_first)(const struct queued_pod *pod, void *context);
    bool (*may_help)(const struct queued_pod *pod, void *context);
    unschedulable_pods_visit_fn *try_first, *visit;
    uint64_t number;
    void *context;
};
void unschedulable_pods_offer(struct unschedulable_pods *s,
                              const struct cluster_event *event,
                              const struct unschedulable_pods_offer *offer);

/* Of the shapes that room was offered to, the first in order that takes some of
 * what was offered since a number; NULL: nobody does. Latest: one more than the
 * last number. A group that does not take it is not asked again until there is
 * more; nor is one that was noted to have seen it.
 */
struct queued_pod *unschedulable_pods_first_offered(
    struct unschedulable_pods *s,
    uint64_t latest,
    bool (*takes)(const struct queued_pod *pod, uint64_t since, void *context),
    void *context);
void unschedulable_pods_note_seen(const struct queued_pod *pod,
                                  uint64_t latest);
bool unschedulable_pods_has_offered(const struct unschedulable_pods *s);

/* Whether the pod sleeps and nobody has asked yet what it makes of an offer. */
bool unschedulable_pods_is_offered(const struct queued_pod *pod,
                                   uint64_t latest);

/* The first of one group after the other, round and round; NULL: none of it
 * sleeps, or there is no group. Between leave and enter a sleeping pod's place
 * in the order may change.
 */
struct queued_pod *unschedulable_pods_next_turn(struct unschedulable_pods *s);
void unschedulable_pods_leave_order(struct queued_pod *pod);
void unschedulable_pods_enter_order(struct queued_pod *pod);

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
