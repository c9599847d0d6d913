/* SPDX-License-Identifier: Apache-2.0 */
/* assignment.h - a pod on its way to a node, from the choice to the API's word
 *
 * Permit, prebind, bind and postbind run for it in the background, while other
 * pods are scheduled (kube-scheduler, bindingCycle). A plugin that answered
 * VERDICT_WAIT in prebind or bind ends its part with handle->resume.
 *
 * Owned by:  the scheduler's binding cycle, which frees it at its end.
 * Thread:    the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/cycle.h"
#include "lib/base/list.h"

struct extender_results;
struct dispatched_call;
struct profile;
struct queued_pod;

enum assignment_stage {
    ASSIGNMENT_PERMIT, /* some plugin said to wait */
    ASSIGNMENT_PREBIND,
    ASSIGNMENT_BIND,
};

/* Pods that are bound together, all or none: a stage begins for all when each
 * has come through the one before. When one fails, all of it is taken back, but
 * not before every plugin that works for a member in the background has
 * answered.
 */
struct assignment_group {
    char *name;
    struct assignment **members; /* in the order they were placed in */
    unsigned count;
    unsigned n_users;       /* members that point here: the last one frees it */
    unsigned n_through;     /* this stage */
    unsigned n_outstanding; /* in prebind: some plugin has still to answer */
    unsigned n_asked;       /* in bind: to be bound through the API */
    bool is_walked;         /* right now: nothing of it may end */
    bool lacks_room;        /* for all, wherever they go: all hear the same */
    struct assignment *failed;    /* the first that has; NULL: none */
    struct answer answer;         /* the one that it failed with */
    struct dispatched_call *call; /* the binding; or NULL */
};

struct assignment {
    struct cycle cycle;             /* cycle.pod is the pod */
    struct assignment_group *group; /* NULL: it is bound by itself */
    struct profile *profile;
    struct queued_pod *queued;
    char *node_name; /* NULL: it has not been assumed */
    enum assignment_stage stage;
    unsigned turn;       /* in the order of prebind or bind */
    plugin_set waiting;  /* in permit: who has not allowed it yet */
    bool has_waited;     /* in permit */
    bool is_asked;       /* in permit: every plugin has answered */
    bool has_left;       /* the queue */
    bool is_outstanding; /* in prebind, of a group: a plugin works for it */
    int64_t began_us;    /* the attempt */
    int64_t stage_at_us; /* when this stage began */
    int64_t deadline_us; /* of permit */
    struct dispatched_call *call; /* the binding; or NULL */
    char
        *error; /* the API's words when it refused, or an extender's; or NULL */
    bool asks_nodes;                           /* extenders about its nodes */
    unsigned rounds;                           /* how often they were asked */
    struct extender_results *extender_results; /* what they said; or NULL */
    struct list link;
    void *owner;
};
