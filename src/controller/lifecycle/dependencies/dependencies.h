/* SPDX-License-Identifier: Apache-2.0 */
/* dependencies.h - jobs that wait for other jobs, by the uid of those
 *
 * The end of a job wakes its own waiters, and only those that it decides about.
 * History is asked what became of a job that is not in the cluster any more.
 * Its end is told to the waiters to be noted in their status, from where it is
 * known after a restart.
 *
 * Times since a start are those of the monotonic clock from when the start was
 * first heard of: a clock that is set meanwhile neither hurries nor delays.
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

/* Wake: the verdict about that job may be another now. */
typedef void dependencies_wake_fn(const char *key, void *context);

struct dependencies_settings {
    struct client *client;
    const struct object_cache *cache;
    struct clock *clock;
    dependencies_wake_fn *wake;
    void *context;
};

/* Life. Start: the cache has all Jobs now. */
void dependencies_free(struct dependencies *dependencies);
struct dependencies *
dependencies_new(const struct dependencies_settings *settings)
    OWNED_BY(dependencies_free);
DEFINE_CLEANUP(struct dependencies, dependencies_free)
void dependencies_start(struct dependencies *dependencies);

/* Change: a Job as it is now; NULL: it is gone. Every one is told, and those
 * that are there before the start.
 */
void dependencies_see(struct dependencies *dependencies,
                      const struct object *old_job,
                      const struct object *new_job);

/* Change: an element of an array is settled, and the store has noted it. And a
 * pod of the Job with that uid as it is now: it may have started.
 */
void dependencies_see_element(struct dependencies *dependencies,
                              const char *job_uid,
                              int64_t index,
                              enum element_state state);
void dependencies_see_pod(struct dependencies *dependencies,
                          const char *job_uid,
                          const struct object *pod);

/* Look: of an array that waits element by element; NULL: it does not. Valid
 * until the next change.
 */
struct element_gate *dependencies_gate(struct dependencies *dependencies,
                                       const struct object *job,
                                       int64_t *ret_wake_after_us);

/* Look: of a Job that waits (job_waits_for_others). */
struct dependency_answer {
    enum job_dependency_verdict verdict;
    int64_t wake_after_us; /* look again then; 0: when it is woken */
    const char *message;   /* why never, in the arena */
    struct json *ended;    /* to be noted in the status; NULL: as it is */
    bool is_held_for_good; /* the site's: what is never met waits on */
};
void dependencies_judge(struct dependencies *dependencies,
                        const struct object *job,
                        struct arena *arena,
                        struct dependency_answer *ret_answer);
