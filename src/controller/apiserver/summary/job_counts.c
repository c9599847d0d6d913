/* SPDX-License-Identifier: Apache-2.0 */
/* `kctl status` is asked by every login and by monitors, so its numbers are kept and not
 * counted. The oldest waiting job is the exception: it is searched from the last known one
 * upwards, a bounded number of steps at a time, since ids only rise and the search never goes
 * back unless a job begins to wait again.
 */
#include "controller/apiserver/summary/job_counts.h"

#include <stdlib.h>

#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"

#define MOST_STEPS 20000 /* of one search; the next one continues there */

struct job_counts {
    int64_t count[JOB_STATE_COUNT];
    int64_t oldest;  /* no job with a lower id is waiting */
    int64_t highest; /* of all ids so far */
};

void
job_counts_free(struct job_counts *counts)
{
    free(counts);
}

struct job_counts *
job_counts_new(void)
{
    struct job_counts *counts = xnew(struct job_counts);

    counts->oldest = INT64_MAX;
    return counts;
}

static bool
waits(const struct job *job)
{
    const enum job_state state = job_find_state(job);

    return state == JOB_STATE_PENDING || state == JOB_STATE_REQUEUED;
}

void
job_counts_moved(struct job_counts *counts, const struct object *before, const struct object *after)
{
    const struct job *job;

    if (before != NULL)
        counts->count[job_find_state(job_of(before))]--;
    if (after == NULL)
        return;
    job = job_of(after);
    counts->count[job_find_state(job)]++;
    if (job->status.id > counts->highest)
        counts->highest = job->status.id;
    if (job->status.id < counts->oldest && waits(job))
        counts->oldest = job->status.id;
}

int64_t
job_counts_get(const struct job_counts *counts, enum job_state state)
{
    return counts->count[state];
}

const struct object *
job_counts_find_oldest(struct job_counts *counts, const struct store *store)
{
    if (counts->count[JOB_STATE_PENDING] + counts->count[JOB_STATE_REQUEUED] == 0) {
        counts->oldest = INT64_MAX;
        return NULL;
    }
    for (unsigned n = 0; n < MOST_STEPS && counts->oldest <= counts->highest; n++) {
        const struct object *object = store_find_job_id(store, STORE_PENDING, counts->oldest);

        if (object != NULL && waits(job_of(object)))
            return object;
        counts->oldest++;
    }
    return NULL;
}
