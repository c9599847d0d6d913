/* SPDX-License-Identifier: Apache-2.0 */
/* pod_group.h - waiting pods that are placed together, all or none
 *
 * A group is one decision of the queue. Once all its members are there and may
 * be placed, its *leader*, then the first of them in the queue's order, is
 * active, backs off or sleeps for all; the others are QUEUE_IN_GROUP. A group that
 * lacks a member is *held*: it has no leader, and all are QUEUE_IN_GROUP.
 *
 * Owns:       its list; the pods are the queue's.
 * Called by:  the queue, which alone changes it; the cycle (members).
 * Thread:     the scheduler's.
 * Invariant:  a pod that points at a group is in its list. A group has a leader
 *             exactly if all members that may be placed are as many as it
 *             wants, none is in flight and nothing refuses it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/queue/wake_strategy.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"

struct queued_pod;
struct strbuf;

/* As many as one BindingList binds. */
#define POD_GROUP_MAX 512

struct pod_group {
    char *key;        /* "namespace/name" */
    const char *name; /* in it */
    unsigned wanted;  /* so many must be there; all that are go together */
    struct queued_pod **members;
    uint32_t count, capacity;
    uint32_t n_ready;            /* in the queue, and PreEnqueue lets them in */
    uint32_t n_flying;           /* popped, and neither failed nor done */
    uint32_t n_held;             /* as many as the queue has counted as held */
    struct queued_pod *leader;   /* NULL: it is held, or in flight */
    struct queued_pod *rejected; /* did not fit the last time; or NULL */
    enum wake_strategy strategy; /* for it, of what happened in flight */
    const char *refusal;         /* NULL, or why it is not tried */
    struct list untold;          /* in the queue's: all are to be told why */
};

/* Life: without members. */
void pod_group_free(struct pod_group *g);
struct pod_group *pod_group_new(const char *key) OWNED_BY(pod_group_free);
DEFINE_CLEANUP(struct pod_group, pod_group_free)

/* Change. Sort: the members, in the queue's order.
 */
void pod_group_add(struct pod_group *g, struct queued_pod *pod);
void pod_group_remove(struct pod_group *g, struct queued_pod *pod);
void pod_group_sort(struct pod_group *g);

/* Look. Flying: the members in flight, in the list's order; room for
 * POD_GROUP_MAX. Format: why a held group waits.
 */
unsigned pod_group_flying(const struct pod_group *g, struct queued_pod **out);
bool pod_group_is_held(const struct pod_group *g);
void pod_group_format_hold(const struct pod_group *g, struct strbuf *out);
