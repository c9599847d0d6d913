/* SPDX-License-Identifier: Apache-2.0 */
/* job_change.h - what it takes to cancel, hold, release, requeue, suspend,
 * resume or update a job: a patch of it, and words for people
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct apiserver;
struct arena;
struct json;
struct object;
struct principal;
struct task_list;

/* One job that is to be changed, as it is now; and what is said of it. */
struct job_change_call {
    const struct apiserver *server;
    const struct principal *principal;
    const struct object *object;
    const struct json *update;     /* of the request that says what to change */
    const struct task_list *tasks; /* of an array; NULL: the whole job */
    struct arena *arena;
    const struct task_list *requeued; /* by make: these begin anew, in the
                                       * patch's transaction; NULL: none */
    const char *words;                /* of what was done, or why nothing was */
    bool is_refused;                  /* nothing was, because it may not be */
};

struct job_change {
    const char *name; /* "cancel" */

    /* A merge patch of the job in the arena, and what is said of it when it is
     * done; or NULL, when there is nothing to do, and why not.
     */
    struct json *(*make)(struct job_change_call *call);

    /* The same of `tasks`; or NULL, and why it is for whole jobs only. */
    struct json *(*make_of_elements)(struct job_change_call *call);
    const char *refusal;
};

/* NULL: there is none of that name. */
const struct job_change *job_change_find(const char *name);
