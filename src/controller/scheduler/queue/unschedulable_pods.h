/* SPDX-License-Identifier: Apache-2.0 */
/* unschedulable_pods.h - the unschedulable pods, by what can activate them
 *
 * Pods that every plugin treats alike (one signature) and that the same plugins
 * rejected form a *group*: what helps one helps all, so an event is checked
 * once for all of them and activates only the first in queue order. When that
 * pod is placed, the next one is activated; when it fails, the rest would fail,
 * too. The groups that the same plugins rejected form a *class*, and an event
 * visits only classes with a plugin that registered for it. So an event costs
 * for a hundred thousand equal pods what it costs for one.
 *
 * A pod that was rejected by a plugin which looks at other pods is a group of
 * its own, because what helps one such pod may not be enough for the next. But
 * those of them whose hints depend on the same properties form a *hint group*:
 * an event asks the hints for the first, and when it helps, activates all.
 *
 * Groups of a class that need the same free room on a node form a *shape*: they
 * differ in their time limit or in their place in the order. Room that has
 * become free on a node is *offered* to the shapes that it may be enough for,
 * and their groups are asked in order, one after the other, until the room is
 * used up. So the cost of a pod's end grows with the number of shapes and with
 * the number of pods that it lets start.
 *
 * With sharing off, as upstream, every pod is a group of its own.
 *
 * Owns:       the groups; not the pods, which the queue owns.
 * Thread:     the scheduler's.
 * Invariant:  a pod in state QUEUE_UNSCHEDULABLE is in the heap of one group; a
 *             pod that was activated from a group points at the group until it
 *             is placed, fails or is deleted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct cluster_event;
struct queued_pod;
struct unschedulable_pods;

typedef bool unschedulable_pods_less_fn(const void *a, const void *b, void *context);

void unschedulable_pods_free(struct unschedulable_pods *u);
struct unschedulable_pods *unschedulable_pods_new(unschedulable_pods_less_fn *less, void *context)
    OWNED_BY(unschedulable_pods_free);
DEFINE_CLEANUP(struct unschedulable_pods, unschedulable_pods_free)

/* How a pod is grouped: with equal pods when `signature` is not SIGNATURE_NONE,
 * and that group belongs to the shape; otherwise with pods of the same hints.
 * Admission: what decided in PreFilter whether the pod may start at all.
 * Seen: offers of room with a lower number do not help the pod.
 */
struct sleep_signs {
    uint32_t signature, shape, hints;
    uint32_t admission; /* of profile_sign_timed */
    uint64_t seen;
};

/* Both visit the unschedulable pods of the group that the pod was activated from. */

/* Visits the first pod in the order and one far behind: pods of the group that were
 * activated alone and got another report are at the front.
 */
void unschedulable_pods_visit_ends_alike(const struct queued_pod *pod,
                                         void (*visit)(struct queued_pod *other, void *context),
                                         void *context);

/* Visits at most `most` pods. */
void unschedulable_pods_visit_alike(const struct queued_pod *pod, unsigned most,
                                    void (*visit)(struct queued_pod *other, void *context),
                                    void *context);

/* The pod failed and is unschedulable. */
void unschedulable_pods_add(struct unschedulable_pods *u, struct queued_pod *pod,
                            const struct sleep_signs *signs);

/* The pod is no longer unschedulable. */
void unschedulable_pods_remove(struct unschedulable_pods *u, struct queued_pod *pod);

/* Whether the failure of a pod that was activated says what the rest of its
 * group waits for. It does not if the pod is decided by itself now, or if its
 * rights have changed while the group was unschedulable.
 */
bool unschedulable_pods_speaks_for_group(const struct queued_pod *pod,
                                         const struct sleep_signs *signs);

/* Gives a pod that was activated from a group the rejecting plugins of the
 * group.
 */
void unschedulable_pods_update(struct queued_pod *pod);

/* A pod that was activated is placed or gone. True: the caller is to activate
 * the next of its group.
 */
bool unschedulable_pods_leave(struct unschedulable_pods *u, struct queued_pod *pod,
                              struct queued_pod **ret_next);

/* Visits the first pod of each group that has a plugin registered for the
 * event. When `visit` returns false, it skips the rest of the hint group.
 * `visit` may remove pods of that group, but no others.
 */
typedef bool unschedulable_pods_visit_fn(struct queued_pod *first, void *context);
void unschedulable_pods_visit(struct unschedulable_pods *u, const struct cluster_event *event,
                              unschedulable_pods_visit_fn *visit, void *context);

/* Offers room that has become free. If the pods of a shape wait for room alone
 * (goes_by_room, for its first pod), only those of its groups are tried that
 * are among the first in the order, and the shape remembers the number of the
 * first offer that may help it. The groups of other shapes are all visited. May
 * help: the room may be enough for that pod, and so for all pods of its shape.
 */
struct unschedulable_pods_offer {
    bool (*goes_by_room)(const struct queued_pod *pod, void *context);
    bool (*is_first)(const struct queued_pod *pod, void *context);
    bool (*may_help)(const struct queued_pod *pod, void *context);
    unschedulable_pods_visit_fn *try_first, *visit;
    uint64_t number;
    void *context;
};
void unschedulable_pods_offer(struct unschedulable_pods *u, const struct cluster_event *event,
                              const struct unschedulable_pods_offer *offer);

/* Of the shapes that room was offered to, the first pod in the order that takes
 * some of the room offered since a number; NULL: no pod does. Latest: one more
 * than the last number. A group that does not take the room is not asked again
 * until there is another offer; neither is one for which note_seen was called.
 */
struct queued_pod *unschedulable_pods_first_offered(struct unschedulable_pods *u, uint64_t latest,
                                                    bool (*takes)(const struct queued_pod *pod,
                                                                  uint64_t since, void *context),
                                                    void *context);
void unschedulable_pods_note_seen(const struct queued_pod *pod, uint64_t latest);
bool unschedulable_pods_has_offered(const struct unschedulable_pods *u);

/* Whether an offer was made to the unschedulable pod that its group was not yet
 * asked about.
 */
bool unschedulable_pods_is_offered(const struct queued_pod *pod, uint64_t latest);

/* Next turn: the first unschedulable pod of the next group, going round all
 * groups; NULL: the group has none, or there is no group. Between leave and
 * enter, the place of an unschedulable pod in the order may change.
 */
struct queued_pod *unschedulable_pods_next_turn(struct unschedulable_pods *u);
void unschedulable_pods_leave_order(struct queued_pod *pod);
void unschedulable_pods_enter_order(struct queued_pod *pod);

/* The pod to activate now in the group of an unschedulable pod: the first in
 * order that `is_ready`, otherwise the first; NULL while a pod that was
 * activated from the group is still to be tried.
 */
struct queued_pod *
unschedulable_pods_pick(const struct unschedulable_pods *u, const struct queued_pod *member,
                        bool (*is_ready)(const struct queued_pod *pod, void *context),
                        void *context);

/* The first in the order of the pods that are the first of their group and
 * wanted, or NULL.
 */
struct queued_pod *unschedulable_pods_first(const struct unschedulable_pods *u,
                                            bool (*is_wanted)(const struct queued_pod *pod,
                                                              void *context),
                                            void *context);

size_t unschedulable_pods_count(const struct unschedulable_pods *u);
size_t unschedulable_pods_groups(const struct unschedulable_pods *u);
