/* SPDX-License-Identifier: Apache-2.0 */
/* ended_job.h - how a job that is gone has ended, according to history
 *
 * A question may wait, for a few seconds at most, until the rows of all jobs
 * that have ended are on the disk: without the last row the answer could be
 * wrong.
 *
 * Thread:  the loop's; nothing blocks it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/job_state.h"

struct error;
struct request;
struct task_list;

struct ended_job {
    const char *uid, *namespace, *name;
    enum job_state state; /* the combined state of the last attempts of all its
                           * elements
                           */
    const char *began;    /* its first start, or the last start of the tasks; its end
                        * where nothing of it has started; NULL: not known
                        */
};

/* `job` is NULL when it has no row that the request's principal may read; with
 * an error the answer is unknown. All texts are in the request's arena.
 */
typedef void ended_job_fn(struct request *q, const struct ended_job *job, const struct error *err,
                          void *context);

/* Finds the job of that number and, unless NULL, that uid; of an array only
 * these tasks, if any are given. `done` is called once, perhaps before this
 * returns. `waits`: until rows that are not written yet are on the disk.
 */
void ended_job_find(struct request *q, int64_t id, const char *uid, const struct task_list *tasks,
                    bool waits, ended_job_fn *done, void *context);
