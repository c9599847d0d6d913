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
struct dispatch;
struct profile;
struct queued_pod;

enum assignment_stage {
    ASSIGNMENT_PERMIT, /* some plugin said to wait */
    ASSIGNMENT_PREBIND,
    ASSIGNMENT_BIND,
};

struct assignment {
    struct cycle cycle; /* cycle.pod is the pod */
    struct profile *profile;
    struct queued_pod *queued;
    char *node_name;
    enum assignment_stage stage;
    unsigned turn;         /* in the order of prebind or bind */
    plugin_set waiting;    /* in permit: who has not allowed it yet */
    bool has_waited;       /* in permit */
    bool is_asked;         /* in permit: every plugin has answered */
    bool has_left;         /* the queue */
    int64_t began_us;      /* the attempt */
    int64_t stage_at_us;   /* when this stage began */
    int64_t deadline_us;   /* of permit */
    struct dispatch *call; /* the binding; or NULL */
    char
        *error; /* the API's words when it refused, or an extender's; or NULL */
    bool asks_nodes;                           /* extenders about its nodes */
    unsigned rounds;                           /* how often they were asked */
    struct extender_results *extender_results; /* what they said; or NULL */
    struct list link;
    void *owner;
};
