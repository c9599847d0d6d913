/* SPDX-License-Identifier: Apache-2.0 */
/* dependency_target.h - the jobs that others wait for, by their uids
 *
 * History is asked what became of a job that is not in the cluster any more, of
 * the whole job or of the tasks that are waited for. The store's record of an
 * array's elements is read once somebody waits for one of them.
 *
 * Owns:       copies of uids and names; no object, and no waiter.
 * Called by:  dependencies.c.
 * Thread:     the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/job_state.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"

struct client;
struct clock;
struct dependency_targets;
struct job_dependency;
struct object;
struct object_cache;
struct task_watch;

enum dependency_stage {
    DEPENDENCY_STAGE_UNKNOWN, /* it is not there: was it ever? */
    DEPENDENCY_STAGE_WAITS,
    DEPENDENCY_STAGE_STARTED,
    DEPENDENCY_STAGE_ENDED,
};

struct dependency_target {
    char *uid, *namespace, *name;
    int64_t id;
    struct list edges; /* of those who wait for all of it, or element by
                        * element */
    enum dependency_stage stage;
    enum job_state state; /* of one that has ended */
    int64_t began_us; /* real: of its first process, or its end without one */
    bool is_gone;     /* its end is noted by those who wait for it */
    bool is_asked;
    bool is_read; /* or on its way */
    unsigned n_reading;
    struct element_ends *elements; /* NULL: nobody waits for one of them */
    struct task_watches *watches;  /* NULL: nor for one by its number */
    unsigned n_watching;
    int64_t requeues; /* of the array, when its elements were read */
    char *cancelled;  /* tasks of the array, as they were last looked at */
};

/* Changed: the verdict about the whole job may be another. Elements changed: much
 * of what is known of them is. Watch changed: its verdict is.
 */
struct dependency_targets_settings {
    struct client *client;
    const struct object_cache *cache;
    struct clock *clock;
    void (*changed)(struct dependency_target *target, void *context);
    void (*elements_changed)(struct dependency_target *target, void *context);
    void (*watch_changed)(struct task_watch *watch, void *context);
    void *context;
};

/* Life. Start: the cache has all Jobs and pods now. Get: makes it where it is
 * not there. Release: if nobody waits any more.
 */
void dependency_targets_free(struct dependency_targets *all);
struct dependency_targets *
dependency_targets_new(const struct dependency_targets_settings *settings)
    OWNED_BY(dependency_targets_free);
void dependency_targets_start(struct dependency_targets *all);
struct dependency_target *
dependency_targets_find(const struct dependency_targets *all, const char *uid);
struct dependency_target *
dependency_targets_get(struct dependency_targets *all,
                       const struct job_dependency *dependency);
void dependency_targets_release(struct dependency_targets *all,
                                struct dependency_target *target);

/* Change. See: the Job as it is now. See pod: of the Job. Settle: it is gone, and
 * ended so (NONE: nobody knows how); it began then, real time (0: nobody knows,
 * and it is as if now).
 */
void dependency_target_see(struct dependency_targets *all,
                           struct dependency_target *target,
                           const struct object *job);
void dependency_target_see_pod(struct dependency_target *target,
                               const struct object *pod);
void dependency_target_settle(struct dependency_targets *all,
                              struct dependency_target *target,
                              enum job_state state,
                              int64_t began_us);

/* Somebody waits for elements of it; or for those of a list, by whose watch the
 * ends of these are told.
 */
void dependency_target_need_elements(struct dependency_targets *all,
                                     struct dependency_target *target);
struct task_watch *
dependency_target_watch(struct dependency_targets *all,
                        struct dependency_target *target,
                        const struct job_dependency *dependency);
void dependency_target_unwatch(struct dependency_targets *all,
                               struct dependency_target *target,
                               struct task_watch *watch);

/* Asks for what is not known, if nobody does yet. Ask of watch: true: it cannot
 * be told yet, and is to be asked for again.
 */
void dependency_target_ask(struct dependency_targets *all,
                           struct dependency_target *target);
bool dependency_target_ask_of_watch(struct dependency_targets *all,
                                    struct dependency_target *target,
                                    struct task_watch *watch);
void dependency_target_read_elements(struct dependency_targets *all,
                                     struct dependency_target *target);

/* When the last of those tasks began, as far as their pods tell, microseconds
 * since the epoch; or now.
 */
int64_t dependency_target_watch_began(struct dependency_targets *all,
                                      const struct dependency_target *target,
                                      struct task_watch *watch);
