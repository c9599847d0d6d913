/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict is written into the status as soon as it is certain (FailureTarget,
 * SuccessCriteriaMet), long before the pods are gone, and is never changed afterwards; so a
 * controller that starts in between does not judge again from pods that were ended by the
 * verdict itself.
 *
 * An order to end is not yet an end. A pod may have come to its own end before the order
 * reached it, and then that is how its Job has ended (decisions 440 and 512). Therefore a
 * cancel or a deadline is recorded first, and judged when the pods are over. The order of the
 * checks below is upstream's where upstream has them, and a cancel goes before a deadline.
 */
#include "controller/lifecycle/job/job_verdict.h"

#include <inttypes.h>
#include <string.h>

#include "controller/lifecycle/dependencies/dependencies.h"
#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "controller/lifecycle/job/success_policy.h"
#include "lib/api/job/job.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/base/arena.h"

#define DEFAULT_BACKOFF_LIMIT 6

bool
job_is_indexed(const struct job *job)
{
    return job->spec.completion_mode != NULL && strcmp(job->spec.completion_mode, "Indexed") == 0;
}

/* Without completions and with parallelism above 1, one success completes the
 * job.
 */
bool
job_is_work_queue(const struct job *job)
{
    return job->spec.completions == NULL;
}

int64_t
job_completions(const struct job *job)
{
    return job->spec.completions != NULL ? *job->spec.completions : 1;
}

int64_t
job_parallelism(const struct job *job)
{
    return job->spec.parallelism != NULL ? *job->spec.parallelism : 1;
}

static int64_t
backoff_limit_of(const struct job *job)
{
    return job->spec.backoff_limit != NULL ? *job->spec.backoff_limit : DEFAULT_BACKOFF_LIMIT;
}

static bool
is_past_deadline(const struct job *job, int64_t now_us)
{
    const int64_t *limit = job->spec.active_deadline_seconds;

    return limit != NULL && job->status.start_at_us > 0 && !job->spec.suspend
           && now_us - job->status.start_at_us >= *limit * 1000000;
}

static bool
has_begun(const struct job_pod_counts *counts)
{
    return counts->placed > 0 || counts->running > 0 || counts->silent > 0 || counts->ending > 0;
}

int64_t
job_latest_start_us(const struct job *job, const struct job_pod_counts *counts)
{
    const struct pod_spec *spec = job->spec.template_.spec;
    const int64_t *limit = spec != NULL ? spec->active_deadline_seconds : NULL;

    if (job->spec.deadline_us == 0 || limit == NULL || has_begun(counts))
        return job->spec.deadline_us;
    return job->spec.deadline_us - *limit * 1000000;
}

/* The user's deadline (as Slurm's --deadline): it has passed, or a pod that
 * started now could not end before it.
 */
static struct job_verdict
judge_deadline(const struct job *job, const struct job_pod_counts *counts, int64_t now_us)
{
    int64_t latest_us = job_latest_start_us(job, counts);

    if (latest_us == 0 || now_us < latest_us
        || (now_us == latest_us && now_us < job->spec.deadline_us))
        return (struct job_verdict){0};
    return (struct job_verdict){
        .outcome = JOB_FAILED,
        .reason = REASON_DEADLINE_EXCEEDED,
        .message = now_us >= job->spec.deadline_us ? JOB_AT_DEADLINE : JOB_BEFORE_DEADLINE,
    };
}

static bool
is_complete(const struct job *job, const struct job_pod_counts *counts)
{
    if (counts->array != NULL)
        return index_counts_count_done(&counts->indexes, job_completions(job))
               >= job_completions(job);
    if (counts->is_numbered)
        return index_set_gap(&counts->indexes.done, 0) >= job_completions(job);
    if (job_is_work_queue(job))
        return counts->succeeded > 0 && counts->live == 0;
    return counts->succeeded >= job_completions(job);
}

/* The verdict of an earlier sync, from the status. */
static bool
restore(const struct job *job, const char *type, enum job_outcome outcome,
        struct job_verdict *ret_verdict)
{
    const struct job_condition *c = job_find_condition(job, type);

    if (c == NULL)
        return false;
    ret_verdict->outcome = outcome;
    ret_verdict->reason = c->reason != NULL ? c->reason : "";
    ret_verdict->message = c->message != NULL ? c->message : "";
    return true;
}

bool
job_has_verdict(const struct job *job)
{
    return job_find_condition(job, "FailureTarget") != NULL
           || job_find_condition(job, "SuccessCriteriaMet") != NULL;
}

/* ---- Reasons for the end of a Job, in the order of their precedence ---- */

static struct job_verdict
judge_success(const struct job *job, const struct job_pod_counts *counts, struct arena *arena)
{
    int rule = job_is_indexed(job) ? success_policy_judge(job, &counts->indexes.done) : -1;

    if (rule >= 0)
        return (struct job_verdict){
            .outcome = JOB_COMPLETE,
            .reason = REASON_SUCCESS_POLICY,
            .message = arena_printf(arena, "Matched rules at index %d", rule),
        };
    if (is_complete(job, counts))
        return (struct job_verdict){
            .outcome = JOB_COMPLETE,
            .reason = REASON_COMPLETIONS_REACHED,
            .message = "Reached expected number of succeeded pods",
        };
    return (struct job_verdict){0};
}

static struct job_verdict
judge_cancel(const struct job *job, struct arena *arena)
{
    const char *by = string_map_find(&job->meta.annotations, ANNOTATION_CANCEL);

    if (by == NULL)
        return (struct job_verdict){0};
    return (struct job_verdict){
        .outcome = JOB_FAILED,
        .reason = REASON_CANCELLED,
        .message = arena_printf(arena, "Cancelled by %.100s", by),
        .is_order = true,
    };
}

static struct job_verdict
judge_failures(const struct job *job, const struct job_pod_counts *counts)
{
    if (counts->fail_message != NULL)
        return (struct job_verdict){
            .outcome = JOB_FAILED,
            .reason = REASON_POD_FAILURE_POLICY,
            .message = counts->fail_message,
        };
    if (counts->failed > backoff_limit_of(job))
        return (struct job_verdict){
            .outcome = JOB_FAILED,
            .reason = REASON_BACKOFF_LIMIT_EXCEEDED,
            .message = "Job has reached the specified backoff limit",
        };
    return (struct job_verdict){0};
}

/* Otherwise a pod that is told to end counts as failed at once. */
static bool
awaits_ends(const struct job *job)
{
    return job->spec.pod_replacement_policy != NULL
           && strcmp(job->spec.pod_replacement_policy, "Failed") == 0;
}

/* Of a job of one pod, how the pod ended by itself before the order reached it is how
 * the Job has ended, as with a cancel. The order is recorded before the pod is told.
 * With several pods, or if the Job does not await their ends, it says first that it
 * fails, as upstream's do.
 */
static struct job_verdict
judge_time(const struct job *job, const struct job_pod_counts *counts, int64_t now_us)
{
    struct job_verdict verdict = judge_deadline(job, counts, now_us);
    const struct job_condition *order = job_find_order(job);

    if (order != NULL)
        return (struct job_verdict){
            .outcome = JOB_FAILED,
            .reason = order->reason != NULL ? order->reason : "",
            .message = order->message != NULL ? order->message : "",
            .is_order = true,
        };
    if (is_past_deadline(job, now_us))
        verdict = (struct job_verdict){
            .outcome = JOB_FAILED,
            .reason = REASON_DEADLINE_EXCEEDED,
            .message = "Job was active longer than specified deadline",
        };
    verdict.is_order = verdict.outcome == JOB_FAILED && counts->array == NULL && counts->is_numbered
                       && !job_is_indexed(job) && job_completions(job) == 1
                       && job_parallelism(job) <= 1 && awaits_ends(job);
    return verdict;
}

int64_t
job_verdict_count_cancelled(const struct job *job, const struct job_pod_counts *counts)
{
    const struct index_set *cancelled = array_state_cancelled(counts->array);

    if (job_is_cancelled(job)) /* includes all that had no pod */
        return job_completions(job) - index_set_count(&counts->indexes.taken)
               + counts->indexes.n_cancelled;
    return counts->indexes.n_cancelled + index_set_count(cancelled)
           - index_set_count_common(cancelled, &counts->indexes.taken);
}

/* Only the array's own settings make the failure of an element fail others. */
static struct job_verdict
judge_array(const struct job *job, const struct job_pod_counts *counts, int64_t failed,
            int64_t done, struct arena *arena)
{
    int64_t cancelled = job_verdict_count_cancelled(job, counts);
    int64_t end = job_completions(job);

    if (failed > 0 && job->spec.array->fail_fast && failed + done < end)
        return (struct job_verdict){
            .outcome = JOB_FAILED,
            .reason = REASON_FAILED_INDEXES,
            .message = "a task failed, and fail-fast ended the others",
        };
    if (failed + done + cancelled < end || failed + cancelled == 0)
        return (struct job_verdict){0};
    if (failed > 0)
        return (struct job_verdict){
            .outcome = JOB_FAILED,
            .reason = REASON_FAILED_INDEXES,
            .message = arena_printf(arena, "%" PRId64 " of %" PRId64 " tasks failed", failed, end),
        };
    if (array_state_n_vain(counts->array) > 0)
        return (struct job_verdict){
            .outcome = JOB_FAILED,
            .reason = REASON_CANCELLED,
            .message = arena_printf(arena,
                                    "%" PRId64 " of %" PRId64 " tasks were cancelled, "
                                    "%" PRId64 " because the tasks that they waited for "
                                    "(aftercorr) have not completed",
                                    cancelled, end, array_state_n_vain(counts->array)),
        };
    return (struct job_verdict){
        .outcome = JOB_FAILED,
        .reason = REASON_CANCELLED,
        .message =
            arena_printf(arena, "%" PRId64 " of %" PRId64 " tasks were cancelled", cancelled, end),
    };
}

static struct job_verdict
judge_indexes(const struct job *job, const struct job_pod_counts *counts, struct arena *arena)
{
    const int64_t *most = job->spec.max_failed_indexes;
    int64_t end = job_completions(job);
    int64_t failed, done;

    if (job->spec.backoff_limit_per_index == NULL)
        return (struct job_verdict){0};
    failed = index_counts_count_failed(&counts->indexes, end);
    done = index_counts_count_done(&counts->indexes, end);
    if (most != NULL && failed > *most)
        return (struct job_verdict){
            .outcome = JOB_FAILED,
            .reason = REASON_MAX_FAILED_INDEXES_EXCEEDED,
            .message = "Job has exceeded the specified maximal number of failed indexes",
        };
    if (counts->array != NULL)
        return judge_array(job, counts, failed, done, arena);
    if (failed > 0 && failed + done >= end)
        return (struct job_verdict){
            .outcome = JOB_FAILED,
            .reason = REASON_FAILED_INDEXES,
            .message = "Job has failed indexes",
        };
    return (struct job_verdict){0};
}

/* A site may have such a job wait on, so that its user can look at it. */
static struct job_verdict
judge_dependencies(const struct job_pod_counts *counts)
{
    if (counts->waits_for == NULL || counts->waits_for->is_held_for_good
        || counts->waits_for->verdict != DEPENDENCY_IS_NEVER_MET)
        return (struct job_verdict){0};
    return (struct job_verdict){
        .outcome = JOB_FAILED,
        .reason = REASON_DEPENDENCY_NEVER_SATISFIED,
        .message = counts->waits_for->message,
    };
}

/* Whether each pod of a Job that was told to end came to its end before the order reached it:
 * the order ended nothing, and has only kept the Job from starting another pod. Of
 * several pods the ends are not kept, unless they are an array's.
 */
static bool
has_own_end(const struct job *job, const struct job_pod_counts *counts)
{
    if (counts->active > 0 || counts->ending > 0)
        return false;
    if (counts->array != NULL)
        return index_counts_count_failed(&counts->indexes, job_completions(job))
                   + index_counts_count_done(&counts->indexes, job_completions(job))
               >= job_completions(job);
    return counts->is_numbered && !job_is_indexed(job) && counts->run.pod_name != NULL
           && counts->run.is_failure && !counts->run.was_ended;
}

/* The agent knows the deadline, too, and may have ended the pod for it. */
static bool
is_end_by(const struct job_verdict *order, const struct job_pod_counts *counts)
{
    return counts->array == NULL && counts->run.reason != NULL
           && strcmp(counts->run.reason, order->reason) == 0;
}

/* Pods that an order ends do not fail the Job; what they did before it reached them
 * does. A cancel goes before a deadline.
 */
struct job_verdict
job_judge(const struct job *job, const struct job_pod_counts *counts, int64_t now_us,
          struct arena *arena)
{
    struct job_verdict order, verdict = {0};

    if (restore(job, "FailureTarget", JOB_FAILED, &verdict)
        || restore(job, "SuccessCriteriaMet", JOB_COMPLETE, &verdict))
        return verdict;
    order = judge_cancel(job, arena);
    if (order.outcome == JOB_GOES_ON)
        order = judge_time(job, counts, now_us);
    if (!order.is_order) {
        verdict = judge_failures(job, counts);
        if (verdict.outcome == JOB_GOES_ON)
            verdict = order;
        if (verdict.outcome == JOB_GOES_ON)
            verdict = judge_indexes(job, counts, arena);
        if (verdict.outcome == JOB_GOES_ON)
            verdict = judge_dependencies(counts);
    } else if (has_own_end(job, counts) && !is_end_by(&order, counts)) {
        verdict = judge_failures(job, counts);
        if (verdict.outcome == JOB_GOES_ON)
            verdict = judge_indexes(job, counts, arena);
    }
    if (verdict.outcome == JOB_GOES_ON)
        verdict = judge_success(job, counts, arena);
    return verdict.outcome != JOB_GOES_ON ? verdict : order;
}
