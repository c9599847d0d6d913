/* SPDX-License-Identifier: Apache-2.0 */
/* dependency_target.h - the jobs that others wait for, by their uids
 *
 * History is asked for the end of a job that is no longer in the cluster: of
 * the whole job, or of the tasks that are waited for. The store's record of an
 * array's elements is read when a job begins to wait for one of them.
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
    DEPENDENCY_STAGE_UNKNOWN, /* not in the cluster; it may have ended */
    DEPENDENCY_STAGE_WAITS,
    DEPENDENCY_STAGE_STARTED,
    DEPENDENCY_STAGE_ENDED,
};

struct dependency_target {
    char *uid, *namespace, *name;
    int64_t id;
    struct list edges; /* edges of waiters for the whole job, or element by
                        * element */
    enum dependency_stage stage;
    enum job_state state; /* after it has ended */
    int64_t began_us;     /* real time: start of its first process, or its end if
                       * none started */
    bool is_gone;         /* waiters write its end into their status */
    bool is_asked;
    bool is_read; /* or being read */
    unsigned n_reading;
    struct element_ends *elements; /* NULL: no job waits for one of them */
    struct task_watches *watches;  /* NULL: no job waits for numbered tasks */
    unsigned n_watching;
    int64_t requeues; /* of the array, when its elements were read */
    char *cancelled;  /* the array's cancelled tasks when they were last
                       * applied */
};

/* Called when the verdict about the whole job may have changed, when many
 * elements may have changed, and when the verdict of a watch has changed.
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

/* Life. Start: the cache holds all Jobs and pods. Get creates the target if
 * there is none. Release frees the target if no waiter is left.
 */
void dependency_targets_free(struct dependency_targets *all);
struct dependency_targets *
dependency_targets_new(const struct dependency_targets_settings *settings)
    OWNED_BY(dependency_targets_free);
void dependency_targets_start(struct dependency_targets *all);
struct dependency_target *dependency_targets_find(const struct dependency_targets *all,
                                                  const char *uid);
struct dependency_target *dependency_targets_get(struct dependency_targets *all,
                                                 const struct job_dependency *dependency);
void dependency_targets_release(struct dependency_targets *all, struct dependency_target *target);

/* The Job was added or changed. */
void dependency_target_see(struct dependency_targets *all, struct dependency_target *target,
                           const struct object *job);

/* The Job was deleted. */
void dependency_target_see_gone(struct dependency_targets *all, struct dependency_target *target,
                                const struct object *job);

/* A pod of the Job was added or changed. */
void dependency_target_see_pod(struct dependency_target *target, const struct object *pod);

/* The Job is gone. It ended in `state` (NONE: not known; taken as cancelled) and began at
 * `began_us`, real time (0: not known; taken as now).
 */
void dependency_target_settle(struct dependency_targets *all, struct dependency_target *target,
                              enum job_state state, int64_t began_us);

/* A job waits for elements of the array. */
void dependency_target_need_elements(struct dependency_targets *all,
                                     struct dependency_target *target);

/* A job waits for a list of tasks of the array; the watch reports when the list is decided. */
struct task_watch *dependency_target_watch(struct dependency_targets *all,
                                           struct dependency_target *target,
                                           const struct job_dependency *dependency);

void dependency_target_unwatch(struct dependency_targets *all, struct dependency_target *target,
                               struct task_watch *watch);

/* Ask sends a question to history if the state is not known and no question is
 * pending. Ask_of_watch returns true if the answer is not known yet, so that
 * the caller has to ask again. Read_elements reads the store's record of the
 * elements, once.
 */
void dependency_target_ask(struct dependency_targets *all, struct dependency_target *target);
bool dependency_target_ask_of_watch(struct dependency_targets *all,
                                    struct dependency_target *target, struct task_watch *watch);
void dependency_target_read_elements(struct dependency_targets *all,
                                     struct dependency_target *target);

/* When the last of the watch's tasks began, by their pods, in us since the
 * epoch; the current time if no pod says.
 */
int64_t dependency_target_watch_began(struct dependency_targets *all,
                                      const struct dependency_target *target,
                                      struct task_watch *watch);
