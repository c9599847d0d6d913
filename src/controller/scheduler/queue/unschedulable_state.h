/* SPDX-License-Identifier: Apache-2.0 */
/* unschedulable_state.h - the insides of the unschedulable pods, for their own
 * files
 *
 * Called by:  unschedulable_pods.c (who sleeps where) and unschedulable_visits.c
 *             (who is told of an event, and offered room). Nobody else.
 * Thread:     the scheduler's.
 */
#pragma once

#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/unschedulable_pods.h"
#include "lib/base/list.h"

struct heap;
struct profile;

/* Families whose pods the same plugins of the same profile rejected. */
struct class
{
    struct list link;
    const struct profile *profile;
    plugin_set plugins;
    unsigned actions[EVENT_RESOURCES]; /* that any of them registered for */
    struct list shapes;
    struct list groups; /* those of no shape and no hint group */
    struct list hint_groups;
    struct list awake; /* groups of one pod, which is up: no event's business */
    struct heap *sleeping; /* groups of no shape, by the first asleep */
};

/* Groups of a class whose pods ask the same of a node's room. */
struct shape {
    struct list link;    /* of its class */
    struct list offered; /* or of none */
    struct class *class;
    struct shape *next; /* of that number, in another class */
    uint32_t number;
    struct list groups;
    struct heap *sleeping; /* of them, by the first asleep */
    bool is_offered;
    uint64_t since;  /* that number, when it is */
    bool is_visited; /* right now: it stays though it empties */
};

/* Families of a class that hints go by the same for. */
struct hint_group {
    struct list link; /* of its class */
    struct list groups;
    uint32_t hints;
    bool is_visited; /* right now: it stays though it empties */
};

struct signature_group {
    struct list link; /* of its class, shape or hint group */
    struct list turn; /* of all groups: the one looked at last is the last */
    struct class *class;
    struct shape *shape;               /* or NULL */
    uint64_t seen;                     /* offers before it are no news */
    size_t place;                      /* among those of it with one asleep */
    plugin_set unschedulable, pending; /* of the latest to fail */
    struct hint_group *hint_group;     /* or NULL */
    uint32_t signature;
    struct heap *members;     /* asleep */
    unsigned n_awake;         /* woken, and neither placed nor failed */
    struct queued_pod *awake; /* the last one woken */
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

/* Plugins that rejected one of late would reject its like, too. */
static inline void
take_rejectors(struct queued_pod *pod, const struct signature_group *f)
{
    pod->unschedulable = f->unschedulable;
    pod->pending = f->pending;
}

/* They are freed once they are empty and nobody walks through them. */
void unschedulable_pods_settle_shape(struct unschedulable_pods *s,
                                     struct shape *shape);
void unschedulable_pods_settle_hints(struct unschedulable_pods *s,
                                     struct hint_group *ch);
