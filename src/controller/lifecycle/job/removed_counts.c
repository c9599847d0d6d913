/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/removed_counts.h"

#include <stddef.h>
#include <stdint.h>

#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "controller/lifecycle/job/job_verdict.h"
#include "lib/api/job/job.h"
#include "lib/api/job/removed_pod.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

/* How many ends the status has not counted, of all pods that were made. A status
 * that is older than the last pods makes this too small; then the removed pods
 * count as written, and none counts twice.
 */
static int64_t
count_unwritten(const struct job_pod_counts *t, const struct job *job, uint32_t n_removed)
{
    int64_t made = t->made + n_removed;

    if (made < job->status.attempts)
        made = job->status.attempts;
    return made - t->active - t->n_written;
}

/* If the pods of the job run one after another, job_pod_counts_see_gone knows by
 * the attempt number whether the status has counted the pod. If they run beside
 * each other, the last removed pods are those that it has not counted.
 */
static void
see_one(struct job_pod_counts *t, const struct job *job, const struct pod *pod, bool is_unwritten)
{
    struct job_pod_ends before = {t->succeeded, t->failed, t->excused};

    job_pod_counts_see_gone(t, job, pod);
    if ((t->is_numbered && !job_is_indexed(job)) || !is_unwritten)
        return;
    t->unwritten.succeeded += t->succeeded - before.succeeded;
    t->unwritten.failed += t->failed - before.failed;
    t->unwritten.excused += t->excused - before.excused;
}

void
removed_counts_see(struct job_pod_counts *t, const struct job *job)
{
    const struct json *list = job->status.removed_pods;
    int64_t unwritten = count_unwritten(t, job, json_count(list));
    struct arena *arena;

    if (t->array != NULL || json_count(list) == 0)
        return;
    arena = arena_new(0);
    for (uint32_t i = json_count(list); i-- > 0;) {
        struct pod pod;

        if (removed_pod_read(arena, json_at(list, i), &pod)
            && map_find(t->pods, pod.meta.name) == NULL)
            see_one(t, job, &pod, unwritten-- > 0);
    }
    arena_free(arena);
}

/* A pod that is still present, or that was created a moment ago, is counted by the
 * events that are on their way.
 */
static bool
is_counted(const struct job_pod_counts *t, const struct job *job, const struct json *entry)
{
    const char *name = json_path_text(entry, "metadata.name");
    int64_t index = -1, attempt = 0;

    if (name == NULL)
        return true;
    job_pod_name_parse(job->meta.name, name, &index, &attempt);
    return map_find(t->pods, name) == NULL && !job_pod_counts_expects(t, index, attempt);
}

bool
removed_counts_are_complete(const struct job_pod_counts *t, const struct job *job)
{
    const struct json *list = job->status.removed_pods;

    for (uint32_t i = 0; i < json_count(list); i++)
        if (!is_counted(t, job, json_at(list, i)))
            return false;
    return t->array == NULL && json_count(list) > 0;
}
