/* SPDX-License-Identifier: Apache-2.0 */
/* task_watch.h - some tasks of an array that are waited for: "afterok:1042_3",
 * "afterany:1042_[3-9]"
 *
 * All that wait for the same of the same tasks share one watch. It stands at the
 * first task that decides and is not decided yet, and hears of that one alone:
 * an end costs the watches that stand at it, and of a range each task is passed
 * once. So that a task of a range has failed is found when those before it have
 * ended.
 *
 * Owns:       the watches; their waiters are others' (a list of links).
 * Thread:     the lifecycle loop's.
 * Invariant:  a watch that waits, of an array that is known, stands at one index.
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
    struct list at; /* with the others that stand at the same index */
    struct list waiters;
    char *key;         /* in all watches of the array */
    const char *tasks; /* part of it: "3-9" */
    enum job_dependency_type type;
    enum job_dependency_verdict verdict;
    enum job_state ended; /* all of them, in that state; NONE: not yet */
    int64_t began_us; /* real, by the caller: the last of them; 0: not known */
    bool is_asked;    /* by the caller: history */
    struct arena *arena;
    struct task_list list;
    int64_t position; /* in the list: all before it are decided */
    int64_t index;    /* that it stands at; -1: none */
};

/* Its verdict is another now. */
typedef void task_watch_changed_fn(struct task_watch *watch, void *context);

/* Life of all watches of one array. */
void task_watches_free(struct task_watches *all);
struct task_watches *task_watches_new(task_watch_changed_fn *changed,
                                      void *context)
    OWNED_BY(task_watches_free);

/* Change. Get: that there is, or a new one, which has not looked at anything
 * yet. Drop: nobody waits any more. Settle: they have ended so, and nothing
 * more will be heard. Hear: of one index. Look at all: more than one may be
 * another now, also one that was decided.
 */
struct task_watch *task_watches_get(struct task_watches *all,
                                    enum job_dependency_type type,
                                    const char *tasks);
void task_watches_drop(struct task_watches *all, struct task_watch *watch);
void task_watches_settle(struct task_watches *all,
                         struct task_watch *watch,
                         enum job_state state);
void task_watches_look(struct task_watches *all,
                       struct task_watch *watch,
                       const struct element_ends *ends);
void task_watches_hear(struct task_watches *all,
                       const struct element_ends *ends,
                       int64_t index);
void task_watches_look_at_all(struct task_watches *all,
                              const struct element_ends *ends);

/* Look. End: in which state those tasks have ended; of such as have merely begun,
 * where that is what is waited for: Completed. NONE: nothing is decided.
 */
enum job_state task_watch_end(const struct task_watch *watch);
struct task_watch *task_watches_find(const struct task_watches *all,
                                     const char *key);
bool task_watches_next(const struct task_watches *all,
                       size_t *at,
                       struct task_watch **ret_watch);
