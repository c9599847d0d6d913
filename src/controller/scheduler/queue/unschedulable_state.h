/* SPDX-License-Identifier: Apache-2.0 */
/* unschedulable_state.h - the internals of the unschedulable pods, for their
 * own files
 *
 * Called by:  unschedulable_pods.c (which pod is in which group) and
 *             unschedulable_visits.c (which group an event or free room may
 *             help). No other file.
 * Thread:     the scheduler's.
 */
#pragma once

#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/unschedulable_pods.h"
#include "lib/base/list.h"

struct heap;
struct profile;

/* The groups whose pods the same plugins of the same profile rejected. */
struct class
{
    struct list link;
    const struct profile *profile;
    plugin_set plugins;
    unsigned actions[EVENT_RESOURCES]; /* that these registered for */
    struct list shapes;
    struct list groups; /* those without shape and hint group */
    struct list hint_groups;
    struct list awake;     /* groups of one activated pod; events skip them */
    struct heap *sleeping; /* groups without shape, by their first pod */
};

/* Groups of a class whose pods need the same free room on a node. */
struct shape {
    struct list link;    /* of its class */
    struct list offered; /* of the offered shapes, or of none */
    struct class *class;
    struct shape *next; /* with the same number, in another class */
    uint32_t number;
    struct list groups;
    struct heap *sleeping; /* these groups, by their first pod */
    bool is_offered;
    uint64_t since;  /* number of the first offer, when is_offered */
    bool is_visited; /* now: not freed even if it is empty */
};

/* Groups of a class whose pods have the same hint signature. */
struct hint_group {
    struct list link; /* of its class */
    struct list groups;
    uint32_t hints;
    bool is_visited; /* now: not freed even if it is empty */
};

struct signature_group {
    struct list link; /* of its class, shape or hint group */
    struct list turn; /* of all groups; the last one visited is at the end */
    struct class *class;
    struct shape *shape;               /* or NULL */
    uint64_t seen;                     /* offers of lower numbers are known */
    size_t place;                      /* in the heap of its class or shape */
    plugin_set unschedulable, pending; /* of the last pod to fail */
    struct hint_group *hint_group;     /* or NULL */
    uint32_t signature;
    uint32_t admission;       /* of the last pod to fail */
    struct heap *members;     /* the unschedulable pods */
    unsigned n_awake;         /* activated; neither placed nor failed */
    struct queued_pod *awake; /* the last one activated */
};

struct unschedulable_pods {
    unschedulable_pods_less_fn *less;
    void *context;
    struct list classes;
    struct signature_group **by_signature;
    size_t n_signatures;
    struct hint_group **by_hints;
    size_t n_hints;
    struct shape **shapes; /* by number */
    size_t n_shapes;
    struct list offered; /* shapes that room was offered to */
    struct list turns;
    size_t n_pods, n_groups;
};

/* The plugins that rejected the last pod of the group to fail would reject its
 * other pods, too.
 */
static inline void
unschedulable_take_rejectors(struct queued_pod *pod, const struct signature_group *g)
{
    pod->unschedulable = g->unschedulable;
    pod->pending = g->pending;
}

/* Free the shape or the hint group if it is empty and no visit is under way. */
void unschedulable_pods_settle_shape(struct unschedulable_pods *u, struct shape *shape);
void unschedulable_pods_settle_hints(struct unschedulable_pods *u, struct hint_group *h);
