/* SPDX-License-Identifier: Apache-2.0 */
/* job_end_wait.h - waits for the end of a job
 *
 * Watches the Job and continues across restarts of the controller. Of a Job
 * that is gone, history knows the end.
 *
 * Thread: the main one.
 */
#pragma once

#include <stdint.h>

struct arena;
struct error;
struct json;
struct kctl;
struct target_object;

struct job_end_found {
    int64_t id;
    int exit_code;     /* the one with which ksub -W would exit */
    const char *words; /* "Completed", "Failed on n1, exit code 3"; in the arena */
};

/* 0: the job has ended. -EAGAIN: it has not within `most_us` (0: no limit).
 * -ENOENT: there is no such job, and history has none that you may see.
 */
int job_end_wait(struct kctl *kctl, const struct target_object *job, int64_t most_us,
                 struct arena *arena, struct job_end_found *ret_found, struct error *err);

/* The same of a row of history, or of a task as jobs/NAME/elements describes
 * it.
 */
int job_end_exit_code(const struct json *row);
