/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that were removed while nobody counted are the one thing that events cannot tell. The
 * transaction that removes a pod therefore writes how it ended into its Job (decision 510).
 * The list there has a bound, and the status may be older than the last pods, so this file
 * decides what a full list and an old status can mean together: it assumes what counts no pod
 * twice, and leaves the rest as "gone", which the Job's policy treats as a failure.
 */
#include "controller/lifecycle/job/removed_counts.h"

#include <stddef.h>
#include <stdint.h>

#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "controller/lifecycle/job/job_verdict.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/job/removed_pod.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

/* Pods run one after another, so attempt N means that N have ended. */
static bool
is_one_by_one(const struct job_pod_counts *counts, const struct job *job)
{
    return counts->is_numbered && !job_is_indexed(job);
}

/* The attempt number of the latest pod counts the pods before it, even if the
 * status was not written after that pod was created. The pods of a gang's attempt
 * are created together.
 */
static int64_t
count_attempts(const struct job_pod_counts *counts, const struct job *job)
{
    const struct index_slot *slot;
    int64_t attempts = job->status.attempts;

    if (counts->indexes.is_whole && attempts < counts->indexes.attempts * job_gang_size(job))
        return counts->indexes.attempts * job_gang_size(job);
    if (!is_one_by_one(counts, job))
        return attempts;
    slot = index_counts_find(&counts->indexes, 0);
    return slot != NULL && slot->next_attempt > attempts ? slot->next_attempt : attempts;
}

/* If the list is full, pods may be missing there that the status has not counted. */
static bool
are_all_counted(const struct job *job)
{
    return json_count(job->status.removed_pods) < REMOVED_PODS_MOST;
}

/* Of a list that is full: how many ends the status has not counted, of all pods that
 * were made. A status that is older than the last pods makes this too small; then the removed pods
 * count as written, and none counts twice.
 */
static int64_t
count_unwritten(const struct job_pod_counts *counts, const struct job *job, uint32_t n_removed)
{
    int64_t made = counts->made + n_removed;

    if (are_all_counted(job))
        return 0;
    if (made < count_attempts(counts, job))
        made = count_attempts(counts, job);
    return made - counts->active - counts->n_written;
}

/* If the pods of the job run one after another, job_pod_counts_see_gone knows by
 * the attempt number whether the status has counted the pod. If they run beside
 * each other, the last removed pods of a full list are those that it has not counted.
 */
static void
see_one(struct job_pod_counts *counts, const struct job *job, const struct pod *pod,
        bool is_unwritten)
{
    struct job_pod_ends before = {counts->succeeded, counts->failed, counts->excused};

    job_pod_counts_see_gone(counts, job, pod);
    if (is_one_by_one(counts, job) || !is_unwritten)
        return;
    counts->unwritten.succeeded += counts->succeeded - before.succeeded;
    counts->unwritten.failed += counts->failed - before.failed;
    counts->unwritten.excused += counts->excused - before.excused;
}

void
removed_counts_see(struct job_pod_counts *counts, const struct job *job)
{
    const struct json *list = job->status.removed_pods;
    int64_t unwritten = count_unwritten(counts, job, json_count(list));
    struct arena *arena;

    if (counts->array != NULL || json_count(list) == 0)
        return;
    arena = arena_new(0);
    for (uint32_t i = json_count(list); i-- > 0;) {
        struct pod pod;

        if (removed_pod_read(arena, json_at(list, i), &pod)
            && map_find(counts->pods, pod.meta.name) == NULL)
            see_one(counts, job, &pod, unwritten-- > 0);
    }
    arena_free(arena);
}

/* How many pods are gone at least: those that were made and are absent, and the
 * ends in the status beyond those of the present pods. The second is the greater
 * number if the status was not written after the last pods were made. The status
 * may have counted a pod as replaced whose node has become silent since.
 */
static int64_t
count_gone(const struct job_pod_counts *counts, const struct job *job)
{
    const struct job_pod_ends *u = &counts->unwritten;
    int64_t unwritten = u->succeeded + u->failed + u->excused;
    int64_t beyond = counts->n_written + unwritten - counts->succeeded - counts->failed
                     - counts->excused - counts->silent;
    int64_t absent = count_attempts(counts, job) - counts->made;
    int64_t gone = beyond > absent ? beyond : absent;

    return gone > 0 ? gone : 0;
}

/* Moves up to n of the absent pods from `gone` to the ends in `seen`, and returns
 * how many.
 */
static int64_t
restore(int64_t n, int64_t *seen, int64_t *gone)
{
    if (n > *gone)
        n = *gone;
    if (n < 0)
        n = 0;
    *seen += n;
    *gone -= n;
    return n;
}

/* Those of the ends in the status that the pods which were seen cannot be: the status
 * has counted no more than `most` of them all, and none of the `unwritten` ones.
 */
static int64_t
count_unseen(int64_t counted, int64_t unwritten, int64_t seen, int64_t most)
{
    int64_t known = seen - unwritten < most ? seen - unwritten : most;

    return counted - (known > 0 ? known : 0);
}

/* How the absent pods ended. Which of the ends in the status are theirs, and which are
 * those of pods that were seen, is not always known. Pods that the status has not counted
 * at all remain in `gone`.
 */
static void
restore_counts(struct job_pod_counts *counts, const struct job *job, int64_t *gone)
{
    const struct job_status *was = &job->status;
    const struct job_pod_ends *u = &counts->unwritten;
    const int64_t most = are_all_counted(job) ? counts->n_written - *gone : INT64_MAX;
    int64_t succeeded, failed, excused;

    succeeded = count_unseen(was->succeeded, u->succeeded, counts->succeeded, most);
    failed = count_unseen(was->failed, u->failed, counts->failed, most);
    excused = count_unseen(was->excused, u->excused, counts->excused, most);
    succeeded = was->succeeded - restore(succeeded, &counts->succeeded, gone);
    failed = was->failed - restore(failed, &counts->failed, gone);
    excused = was->excused - restore(excused, &counts->excused, gone);
    if (!are_all_counted(job))
        return;
    if (counts->indexes.is_whole) { /* its indexes decide, and not how many have succeeded */
        restore(succeeded, &counts->succeeded, gone);
        restore(excused, &counts->excused, gone);
    }
    restore(failed, &counts->failed, gone);
    restore(excused, &counts->excused, gone);
    restore(succeeded, &counts->succeeded, gone);
}

int64_t
removed_counts_restore(struct job_pod_counts *counts, const struct job *job)
{
    int64_t gone = count_gone(counts, job);

    counts->made += gone;
    restore_counts(counts, job, &gone);
    return gone;
}

/* A pod that is still present, or that was created a moment ago, is counted by the
 * events that are on their way.
 */
static bool
is_counted(const struct job_pod_counts *counts, const struct job *job, const struct json *entry)
{
    const char *name = json_path_text(entry, "metadata.name");
    int64_t index = -1, attempt = 0;

    if (name == NULL)
        return true;
    job_pod_name_parse(job->meta.name, name, &index, &attempt);
    return map_find(counts->pods, name) == NULL && !job_pod_counts_expects(counts, index, attempt);
}

bool
removed_counts_are_complete(const struct job_pod_counts *counts, const struct job *job)
{
    const struct json *list = job->status.removed_pods;

    for (uint32_t i = 0; i < json_count(list); i++)
        if (!is_counted(counts, job, json_at(list, i)))
            return false;
    return counts->array == NULL && json_count(list) > 0;
}
