/* SPDX-License-Identifier: Apache-2.0 */
/* job_array_summary.h - the tasks of an array that has not ended, as people see
 * them: those that wait, those that are held, and those that run
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

/* A task with a node. */
struct job_array_task {
    int64_t id;
    const struct pod *pod;
};

struct job_array_summary {
    struct task_list waiting; /* without those that are held */
    bool is_waiting_cut;      /* there are more, beyond the last of these */
    struct task_list held;
    const struct pod *first_waiting; /* of those that have a pod; or NULL */
    struct job_array_task *running;  /* by their ids */
    size_t n_running, capacity;
};

/* Pods are added, in any order, and then it is finished. Lists too fragmented
 * for one text are empty.
 */
void job_array_summary_add(struct job_array_summary *summary,
                           struct arena *arena,
                           const struct object *pod);
void job_array_summary_finish(struct job_array_summary *summary,
                              struct arena *arena,
                              const struct job *job);

/* "1042_7", "1042_[3-9]", in about so many bytes: "1042_[1,3,5,...]". */
const char *job_array_summary_text(struct arena *arena,
                                   int64_t job,
                                   const struct task_list *tasks,
                                   size_t most_bytes);

/* The same of those that wait: "1042_[1-39:2,...]" where not all are known. */
const char *
job_array_summary_waiting_text(struct arena *arena,
                               int64_t job,
                               const struct job_array_summary *summary,
                               size_t most_bytes);
