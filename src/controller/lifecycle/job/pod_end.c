/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/pod_end.h"

#include <inttypes.h>
#include <string.h>

#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/failure_policy.h"
#include "controller/lifecycle/job/index_counts.h"
#include "controller/lifecycle/job/job_last_run.h"
#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"

int64_t
pod_end_us(const struct pod *pod)
{
    struct container_state state = {0};

    if (pod_main_state(pod, &state) && state.terminated)
        return state.finished_at_us;
    if (pod->meta.deleted_at_us != 0)
        return pod->meta.deleted_at_us
               - (pod->meta.deletion_grace_s != NULL ? *pod->meta.deletion_grace_s * 1000000 : 0);
    return pod_last_transition_us(pod);
}

static bool
is_asked_for(const struct job *job, const struct pod *pod)
{
    return string_map_find(&pod->meta.annotations, ANNOTATION_SURPLUS) != NULL
           || string_map_find(&pod->meta.annotations, ANNOTATION_REQUEUE_BEFORE) != NULL
           || (pod->meta.deleted_at_us != 0 && job_pod_counts_excuses(job));
}

bool
pod_end_is_interrupted(const struct job *job, const struct pod *pod)
{
    struct failure_ruling ruling = failure_policy_judge(job, pod);

    return !is_asked_for(job, pod)
           && (ruling.action == FAILURE_IS_IGNORED || pod_end_is_excused(job, pod, ruling));
}

bool
pod_end_is_excused(const struct job *job, const struct pod *pod, struct failure_ruling ruling)
{
    if (is_asked_for(job, pod))
        return true;
    return ruling.rule < 0
           && ((job->spec.requeue && pod_was_disrupted(pod) && !pod_is_ended_by_preemption(pod))
               || pod_was_not_started(pod));
}

bool
pod_end_is_refused(const struct pod *pod)
{
    return pod_was_not_started(pod)
           || (pod->status.reason != NULL && strcmp(pod->status.reason, REASON_SHEPHERD_LOST) == 0);
}

/* Whether another task has failed and fail-fast ends the rest. The job's status
 * may not have that yet; after a restart it may be the only evidence.
 */
static bool
has_failed_fast(const struct job_pod_counts *counts, const struct job *job)
{
    return job_has_failed_fast(job)
           || (job->spec.array->fail_fast
               && index_counts_count_failed(&counts->indexes, INT64_MAX) > 0);
}

bool
pod_end_is_cancelled(const struct job_pod_counts *counts, const struct job *job,
                     const struct pod *pod, int64_t index)
{
    if (counts->array == NULL)
        return false;
    return pod_was_ended(pod)
           && (array_state_is_cancelled(counts->array, index) || job_is_cancelled(job)
               || has_failed_fast(counts, job));
}

/* A program that is told to end and exits with 0 has ended as it was told, and the
 * pods of its attempt have ended with it.
 */
bool
pod_end_is_success(const struct job *job, const struct pod *pod)
{
    struct container_state state = {0};

    if (pod->status.phase == NULL || strcmp(pod->status.phase, "Succeeded") != 0)
        return false;
    return job_gang_size(job) == 0 || !pod_main_state(pod, &state) || state.reason == NULL
           || strcmp(state.reason, REASON_TERMINATED) != 0;
}

bool
pod_end_is_own(const struct pod *pod)
{
    return pod->meta.deleted_at_us == 0 || !pod_was_ended(pod) || pod_was_disrupted(pod);
}

/* Pods may be seen in any order. Of several it is the latest failure; those of a
 * gang are ended after the first of them has failed.
 */
bool
pod_end_is_cause(const struct job_pod_counts *counts, const struct job *job, const struct pod *pod,
                 int64_t ended_us)
{
    const bool is_own = pod_end_is_own(pod);

    if (job_gang_size(job) == 0)
        return ended_us >= counts->failure_us;
    return counts->failure_us == 0
           || (is_own != counts->failure_is_own ? is_own : ended_us <= counts->failure_us);
}

char *
pod_end_describe_cause(const struct job *job, const struct pod *pod)
{
    const char *reason = job_last_run_reason(pod), *node = pod->spec.node_name;
    struct container_state state = {0};
    CLEANUP_FREE char *words = NULL;
    int64_t index, attempt;

    if (!job_gang_runs_first(job) || !pod_end_is_own(pod)
        || !job_pod_name_parse(job->meta.name, pod->meta.name, &index, &attempt) || index == 0)
        return NULL;
    if (reason == NULL || strcmp(reason, REASON_ERROR) != 0 || !pod_main_state(pod, &state))
        words = xstrdup(reason != NULL ? reason : "Failed");
    else if (state.signal > 0)
        words = xasprintf("killed by signal %" PRId64, state.signal);
    else
        words = xasprintf("exit code %" PRId64, state.exit_code);
    return xasprintf("pod %s on node %s ended first (%s), and the job with it", pod->meta.name,
                     node != NULL ? node : "none", words);
}
