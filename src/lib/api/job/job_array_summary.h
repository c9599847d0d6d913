/* SPDX-License-Identifier: Apache-2.0 */
/* job_array_summary.h - the tasks of an array that has not ended, for display:
 * those that wait, those that are held, and those that run
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/value/task_list.h"

struct arena;
struct job;
struct object;
struct pod;

/* A task whose pod has a node. */
struct job_array_task {
    int64_t id;
    const struct pod *pod;
};

struct job_array_summary {
    struct task_list waiting; /* without held tasks */
    bool is_waiting_cut;      /* the list is incomplete */
    struct task_list held;
    const struct pod *first_waiting; /* of a waiting task; or NULL */
    struct job_array_task *running;  /* sorted by id */
    size_t n_running, capacity;
};

/* Add pods in any order, then finish. Lists that are too fragmented for one
 * text are empty.
 */
void job_array_summary_add(struct job_array_summary *summary, struct arena *arena,
                           const struct object *pod);
void job_array_summary_finish(struct job_array_summary *summary, struct arena *arena,
                              const struct job *job);

/* "3-9,12", as many of the ids as fit, or "3-9,12%2" with a throttle (or NULL). */
const char *job_array_summary_list(struct arena *arena, const struct task_list *tasks,
                                   const int64_t *throttle, size_t most_bytes);

/* "1042_7" or "1042_[3-9]", cut at about most_bytes: "1042_[1,3,5,...]". */
const char *job_array_summary_text(struct arena *arena, int64_t job, const struct task_list *tasks,
                                   size_t most_bytes);

/* The same for the waiting tasks: "1042_[1-39:2,...]" if the list is
 * incomplete.
 */
const char *job_array_summary_waiting_text(struct arena *arena, int64_t job,
                                           const struct job_array_summary *summary,
                                           size_t most_bytes);
