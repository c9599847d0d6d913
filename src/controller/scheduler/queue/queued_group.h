/* SPDX-License-Identifier: Apache-2.0 */
/* queued_group.h - waiting pods that are placed together, all or none
 *
 * The queue treats a group as one pod. When enough of its members are there and
 * may be placed, the first of them in the queue's order is its *leader*, which
 * is active, in backoff or unschedulable for all; the others are
 * QUEUE_IN_GROUP. A group that lacks a member is *held*: it has no leader, and
 * all its members are QUEUE_IN_GROUP.
 *
 * Owns:       its list; the queue owns the pods.
 * Called by:  the queue, which alone changes it; the cycle (members).
 * Thread:     the scheduler's.
 * Invariant:  a pod that points at a group is in its list. A group has a leader
 *             if and only if at least as many members as it wants may be
 *             placed, none is in flight and the group is not refused. At most
 *             QUEUED_GROUP_MAX members fly at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/queue/wake_strategy.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"

struct queued_pod;
struct strbuf;

/* The most pods that one BindingList binds. */
#define QUEUED_GROUP_MAX 512

/* The demands of the group of a pod: that many of the pods that wait are placed
 * together; fewer than two: each is placed by itself. Obstacle: why none can be
 * placed, as a text that is never freed; NULL: none.
 */
struct group_terms {
    const char *name; /* in the namespace of the pod; NULL: it has no group */
    unsigned owner;   /* pods of different owners are not of one group */
    unsigned wanted;
    unsigned n_placed; /* pods of it that count already */
    const char *obstacle;
    bool is_one_per_node; /* no two pods of the group may have one node */
};

/* The pods that a group has preempted and waits for, and the nodes that its own pods get
 * then. It also waits for pods that were ending by themselves.
 */
struct group_preemption {
    struct pod_view **victims; /* references; the first were preempted */
    uint32_t n_victims, victim_room;
    uint32_t n_preempted;
    struct promised_node {
        struct pod_view *pod; /* a member; a reference */
        char *node;
    } * promised;
    uint32_t n_promised, promised_room;
};
void group_preemption_clear(struct group_preemption *p);

struct queued_group {
    char *key; /* namespace, name and owner */
    char *name;
    unsigned wanted; /* members; those beyond it go along if they find room */
    const char *obstacle;
    bool is_one_per_node;
    struct queued_pod **members;
    uint32_t count, capacity;
    uint32_t n_ready;            /* in the queue, and not gated */
    uint32_t n_flying;           /* popped, and neither failed nor placed */
    uint32_t n_held;             /* this group's part of queue.n_held */
    struct queued_pod *leader;   /* NULL: the group is held, or in flight */
    struct queued_pod *rejected; /* did not fit in the last attempt; or NULL */
    /* For the rejected member, by the events while it was in flight. */
    enum wake_strategy strategy;
    const char *refusal; /* NULL, or why the group is not tried */
    struct group_preemption preemption;
    struct list untold; /* of queue.untold_groups, or of none */
};

/* Life. A new group has no members. */
void queued_group_free(struct queued_group *g);
struct queued_group *queued_group_new(const char *key, const char *name)
    OWNED_BY(queued_group_free);
DEFINE_CLEANUP(struct queued_group, queued_group_free)

/* Sort: puts the members into the queue's order. */
void queued_group_add(struct queued_group *g, struct queued_pod *pod);
void queued_group_remove(struct queued_group *g, struct queued_pod *pod);
void queued_group_sort(struct queued_group *g);

/* Finds the members in flight, in the order of the list; `out` has room for
 * QUEUED_GROUP_MAX.
 */
unsigned queued_group_flying(const struct queued_group *g, struct queued_pod **out);

bool queued_group_is_held(const struct queued_group *g);

/* Formats why a held group waits. */
void queued_group_format_hold(const struct queued_group *g, struct strbuf *out);
