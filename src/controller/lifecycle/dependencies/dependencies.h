/* SPDX-License-Identifier: Apache-2.0 */
/* dependencies.h - jobs that wait for other jobs, indexed by the uids of those
 * other jobs
 *
 * When a job ends, only its own waiters are woken, and of these only the ones
 * whose verdict it decides. History is asked for the end of a job that is no
 * longer in the cluster. That end is written into the status of the waiters, so
 * that it is known after a restart.
 *
 * A delay since a start runs on the monotonic clock from when this controller
 * first saw the start, so setting the real clock meanwhile does not change the
 * delay.
 *
 * Owns:    copies of uids, names and keys; no object.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/element_states.h"
#include "lib/api/job/job_dependency.h"
#include "lib/base/macro.h"

struct arena;
struct client;
struct clock;
struct dependencies;
struct element_gate;
struct json;
struct object;
struct object_cache;

/* Called when the verdict about that job may have changed. */
typedef void dependencies_wake_fn(const char *key, void *context);

struct dependencies_settings {
    struct client *client;
    const struct object_cache *cache;
    struct clock *clock;
    dependencies_wake_fn *wake;
    void *context;
};

/* Life. dependencies_start is called when the cache holds all Jobs. */
void dependencies_free(struct dependencies *dependencies);
struct dependencies *dependencies_new(const struct dependencies_settings *settings)
    OWNED_BY(dependencies_free);
DEFINE_CLEANUP(struct dependencies, dependencies_free)
void dependencies_start(struct dependencies *dependencies);

/* A Job was added, changed, or deleted (new_job NULL). Called for every
 * Job, also for those listed before dependencies_start.
 */
void dependencies_see(struct dependencies *dependencies, const struct object *old_job,
                      const struct object *new_job);

/* See_element: an element of an array has reached a state, and the
 * store has recorded that. See_pod: a pod of the Job with that uid was added or
 * changed; it may have started.
 */
void dependencies_see_element(struct dependencies *dependencies, const char *job_uid, int64_t index,
                              enum element_state state);
void dependencies_see_pod(struct dependencies *dependencies, const char *job_uid,
                          const struct object *pod);

/* The gate of an array that waits element by element; NULL: the array
 * does not. Valid until the next change.
 */
struct element_gate *dependencies_gate(struct dependencies *dependencies, const struct object *job,
                                       int64_t *ret_wake_after_us);

/* The verdict for a Job that waits (job_waits_for_others). */
struct dependency_answer {
    enum job_dependency_verdict verdict;
    int64_t wake_after_us; /* judge again then; 0: when the job is woken */
    const char *message;   /* why it is never met, in the arena */
    struct json *ended;    /* for the job's status; NULL: no change */
    bool is_held_for_good; /* by the site's setting, a job waits on although
                            * its dependency is never met */
};
void dependencies_judge(struct dependencies *dependencies, const struct object *job,
                        struct arena *arena, struct dependency_answer *ret_answer);
