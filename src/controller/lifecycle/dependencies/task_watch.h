/* SPDX-License-Identifier: Apache-2.0 */
/* task_watch.h - tasks of an array that are waited for: "afterok:1042_3",
 * "afterany:1042_[3-9]"
 *
 * All jobs with the same type of dependency on the same tasks share one watch.
 * A watch is registered at one index: the first of its tasks that is not
 * decided. Only the end of that task updates it, so an end costs no more than
 * the watches registered at its index, and a watch of a range passes each task
 * once. So a failed task of a range is noticed when the tasks before it have
 * ended.
 *
 * Owns:       the watches; their waiters are others' (a list of links).
 * Thread:     the lifecycle loop's.
 * Invariant:  a watch that waits, of an array that is known, is registered at
 *             one index.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/job_dependency.h"
#include "lib/api/value/task_list.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"

struct element_ends;
struct task_watches;

struct task_watch {
    struct list at; /* list of watches at the same index */
    struct list waiters;
    char *key;         /* in all watches of the array: type and tasks */
    const char *tasks; /* the part of the key with the tasks: "3-9" */
    enum job_dependency_type type;
    enum job_dependency_verdict verdict;
    enum job_state ended; /* the end of all tasks; NONE: not decided */
    int64_t began_us;     /* caller's: real start of last task; 0: unknown */
    bool is_asked;        /* set by the caller: asked history */
    struct arena *arena;
    struct task_list list;
    int64_t position; /* in the list: tasks before it are decided */
    int64_t index;    /* at which it is registered; -1: none */
};

/* Called when the verdict has changed. */
typedef void task_watch_changed_fn(struct task_watch *watch, void *context);

/* Life of all watches of one array. */
void task_watches_free(struct task_watches *all);
struct task_watches *task_watches_new(task_watch_changed_fn *changed, void *context)
    OWNED_BY(task_watches_free);

/* Returns the watch, or a new one that is not judged yet. */
struct task_watch *task_watches_get(struct task_watches *all, enum job_dependency_type type,
                                    const char *tasks);

/* No job waits for the watch any more. */
void task_watches_drop(struct task_watches *all, struct task_watch *watch);

/* The tasks ended in `state`, and no more events follow. */
void task_watches_settle(struct task_watches *all, struct task_watch *watch, enum job_state state);

/* Judges one watch. */
void task_watches_check(struct task_watches *all, struct task_watch *watch,
                        const struct element_ends *ends);

/* The element at `index` has changed. */
void task_watches_note_end(struct task_watches *all, const struct element_ends *ends,
                           int64_t index);

/* Judges all watches again, also decided ones. */
void task_watches_check_all(struct task_watches *all, const struct element_ends *ends);

/* End: the state in which the tasks ended; Completed if they only had to
 * begin and have begun; NONE if nothing is decided.
 */
enum job_state task_watch_end(const struct task_watch *watch);
struct task_watch *task_watches_find(const struct task_watches *all, const char *key);
bool task_watches_next(const struct task_watches *all, size_t *at, struct task_watch **ret_watch);
