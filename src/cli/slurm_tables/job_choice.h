/* SPDX-License-Identifier: Apache-2.0 */
/* job_choice.h - jobs as Slurm's commands name them: "17", "17_4", "17_[1-3]",
 * "17.batch"
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/api/value/task_list.h"

struct arena;

struct slurm_job_choice {
    int64_t id;
    bool has_tasks;
    struct task_list tasks;
    const char *step; /* "batch", "extern", "0"; or NULL */
};

struct slurm_job_choices {
    struct slurm_job_choice *items; /* in the arena */
    size_t count;
};

/* Adds the jobs of a list, separated by commas or blanks. Returns the word that is no job
 * ("abc"), in the arena, or NULL.
 */
const char *job_choices_add(struct slurm_job_choices *choices, struct arena *arena,
                            const char *list);

/* Whether the job, or one task of an array (-1: none), was chosen. */
bool job_choices_have(const struct slurm_job_choices *choices, int64_t id, int64_t task);

/* Whether a name is in a list separated by commas; a NULL list has all names. */
bool name_list_has(const char *list, const char *name);
bool name_list_has_any_case(const char *list, const char *name);
bool name_list_has_any(const char *list, const char *names); /* one of the names of a list */
