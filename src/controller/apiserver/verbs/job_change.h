/* SPDX-License-Identifier: Apache-2.0 */
/* job_change.h - the patches that cancel, hold, release, requeue, suspend,
 * resume, signal or update a job, and their messages
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

/* One job to be changed, in its current state, and the outcome. */
struct job_change_call {
    const struct apiserver *server;
    const struct principal *principal;
    const struct object *object;
    const struct json *update;     /* of an update: the changes; of a signal: which */
    const struct task_list *tasks; /* of an array; NULL: the whole job */
    struct arena *arena;
    const struct task_list *requeued; /* set by make: tasks that start again, in
                                       * the transaction of the patch; NULL:
                                       * none
                                       */
    const struct job_signal *signal;  /* likewise: what the Job's pods get; NULL: none */
    const char *words;                /* what was done, or why nothing was */
    bool is_refused;                  /* the change is not allowed */
    bool is_absent;                   /* the array has none of `tasks` */
};

struct job_change {
    const char *name; /* "cancel" */

    /* Returns a merge patch of the job in the arena, with the message for after
     * its success in call->words; or NULL when there is nothing to do, with the
     * reason in call->words.
     */
    struct json *(*make)(struct job_change_call *call);

    /* The same for `tasks`; or NULL, and `refusal` says why the change is for
     * whole jobs only.
     */
    struct json *(*make_of_elements)(struct job_change_call *call);
    const char *refusal;
};

/* Returns NULL for an unknown name. */
const struct job_change *job_change_find(const char *name);
