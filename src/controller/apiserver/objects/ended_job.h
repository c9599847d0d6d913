/* SPDX-License-Identifier: Apache-2.0 */
/* ended_job.h - how a job that is not there any more has ended: from history
 *
 * A question waits, a few seconds at the most, until the rows of what has ended
 * by now are on the disk: without the last row the answer could be another.
 *
 * Thread: the loop's; nothing blocks it.
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
    enum job_state state; /* of the last attempt of all of its elements */
};

/* Job NULL: there is no row of it that the request's principal may read; or,
 * with an error, nobody can tell now. All texts are in the request's arena.
 */
typedef void ended_job_fn(struct request *q,
                          const struct ended_job *job,
                          const struct error *err,
                          void *context);

/* The job of that number, and, if it is not NULL, that uid; of an array, if there
 * are any, these tasks alone. Done is called once, perhaps before this returns.
 * Waits: for rows that are not written yet.
 */
void ended_job_find(struct request *q,
                    int64_t id,
                    const char *uid,
                    const struct task_list *tasks,
                    bool waits,
                    ended_job_fn *done,
                    void *context);
