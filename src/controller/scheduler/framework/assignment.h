/* SPDX-License-Identifier: Apache-2.0 */
/* assignment.h - a pod that is being bound to the node chosen for it
 *
 * Permit, PreBind, Bind and PostBind run for the pod in the background, while
 * other pods are scheduled (kube-scheduler, bindingCycle). A plugin that
 * answered VERDICT_WAIT in PreBind or Bind reports its result with
 * handle->resume.
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
    ASSIGNMENT_PERMIT, /* a plugin may have answered VERDICT_WAIT */
    ASSIGNMENT_PREBIND,
    ASSIGNMENT_BIND,
};

/* Pods that are bound together, at least so many or none. A stage begins for all members
 * once every member has finished the stage before. When one member fails, all
 * are undone, but only after every plugin that works for a member in the
 * background has answered.
 */
struct assignment_group {
    char *name;
    struct assignment **members; /* in the order of their placement */
    unsigned count;
    unsigned wanted;              /* the least members, at most count */
    unsigned n_placed;            /* pods of it that have a node, or have succeeded, already */
    unsigned n_left_out;          /* in the cycle: found no node, beyond those */
    unsigned n_users;             /* members that point here; the last frees it */
    unsigned n_through;           /* members that finished this stage */
    unsigned n_outstanding;       /* in PreBind: a plugin has yet to answer */
    unsigned n_asked;             /* in Bind: members handed to handle->bind */
    bool is_walked;               /* a loop over the members runs: free none */
    bool lacks_room;              /* for all members together, on any node */
    bool lacks_domain;            /* must be in one domain, and no domain has room */
    bool waits_for_switches;      /* and not for room */
    bool is_one_per_node;         /* each member goes to its own node */
    struct assignment *failed;    /* the first that failed; NULL: none */
    struct answer answer;         /* the answer that it failed with */
    const char *cause;            /* code for the owner (lib/api/job/job_reason.h); NULL: none */
    char *cause_words;            /* its text */
    char *cause_brief;            /* the same without what changes with each attempt */
    struct dispatched_call *call; /* the binding; or NULL */
};

struct assignment {
    struct cycle cycle;             /* cycle.pod is the pod */
    struct assignment_group *group; /* NULL: the pod is bound by itself */
    struct profile *profile;
    struct queued_pod *queued;
    char *node_name; /* NULL: the pod is not assumed */
    char *domains;   /* of its node, as the pod is told when it is bound; or NULL */
    enum assignment_stage stage;
    unsigned turn;                /* index into the order of PreBind or Bind */
    plugin_set waiting;           /* in Permit: plugins that have yet to allow */
    bool has_waited;              /* in Permit: some plugin said VERDICT_WAIT */
    bool is_asked;                /* in Permit: every plugin has answered */
    bool has_left;                /* the pod has left the queue */
    bool is_outstanding;          /* in PreBind, of a group: a plugin is working */
    int64_t began_us;             /* when the attempt began */
    int64_t stage_at_us;          /* when this stage began */
    int64_t deadline_us;          /* of Permit */
    struct dispatched_call *call; /* the binding; or NULL */
    /* The API's error when it refused the binding, or an extender's; or NULL */
    char *error;
    /* Extenders are to be asked about its nodes */
    bool asks_nodes;
    unsigned rounds;                           /* how often they were asked */
    struct extender_results *extender_results; /* their answers; or NULL */
    struct list link;
    void *owner;
};
