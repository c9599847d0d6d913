/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a Job needs is computed here from the Job and the counts, and nowhere else.
 * No clock, client or memory is used, so a test is a Job, counts and a time, and a restart
 * cannot change a decision. The order of the questions is the order of their importance: has
 * it ended, is it to be interrupted, is it held, does it wait, and only then how many pods it
 * lacks.
 *
 * Two rules keep every path safe against a kill. The status says why before a pod is deleted,
 * or its end would count as a failure. And another attempt begins only when all of the one
 * before is gone, since two runs of a program would write the same files.
 */
#include "controller/lifecycle/job/job_plan.h"

#include "controller/lifecycle/dependencies/dependencies.h"
#include "controller/lifecycle/job/array_ends.h"
#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "controller/lifecycle/job/job_verdict.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/base/arena.h"
#include "lib/base/backoff.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

#define FIRST_BACKOFF_S 10 /* upstream's first retry delay */
#define MAX_BACKOFF_S   600
/* most indexes in backoff that one call passes over */
#define MAX_WAITING     1024

/* ---- The pods ---- */

/* The pods of an array that run, and those that will probably start soon. While
 * the API refuses one pod it would refuse others, so only one is tried.
 */
static int64_t
count_wanted_of_array(const struct job *job, const struct job_pod_counts *counts)
{
    const int64_t *throttle = job->spec.array->throttle;
    int64_t wanted = counts->placed + counts->ending + array_state_window(counts->array);

    if (counts->refusal != NULL)
        wanted = counts->active + 1;
    return throttle != NULL && *throttle < wanted ? *throttle : wanted;
}

/* How many pods there should be. */
static int64_t
count_wanted(const struct job *job, const struct job_pod_counts *counts)
{
    int64_t wanted = job_parallelism(job);
    int64_t end = job_completions(job);
    int64_t left;

    if (counts->array != NULL)
        return count_wanted_of_array(job, counts);
    if (job_is_work_queue(job))
        return counts->succeeded > 0 ? counts->live : wanted;
    left = end
           - (job_is_indexed(job) ? index_set_count_below(&counts->indexes.done, end)
                                  : counts->succeeded);
    if (left < wanted)
        wanted = left;
    return wanted > 0 ? wanted : 0;
}

/* Pods of indexes that the Job no longer has, since its completions were
 * lowered.
 */
static int64_t
count_beyond(const struct job *job, const struct job_pod_counts *counts)
{
    const struct index_counts *c = &counts->indexes;
    const struct index_set *sets[] = {&c->taken, &c->done, &c->failed};
    int64_t beyond[ARRAY_SIZE(sets)];

    if (!job_is_indexed(job))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
        beyond[i] = index_set_count(sets[i]) - index_set_count_below(sets[i], job_completions(job));
    return beyond[0] - beyond[1] - beyond[2];
}

static int64_t
count_pods_to_remove(const struct job *job, const struct job_pod_counts *counts)
{
    int64_t unwanted = counts->live - count_wanted(job, counts);
    int64_t beyond = count_beyond(job, counts);

    if (counts->array != NULL || counts->indexes.is_whole)
        return 0;
    if (beyond > counts->live)
        beyond = counts->live;
    return unwanted > beyond ? unwanted : beyond;
}

/* After a throttle was lowered, pods that have not started are withdrawn; those
 * that run go on.
 */
static int64_t
count_pods_to_withdraw(const struct job *job, const struct job_pod_counts *counts)
{
    int64_t over, waiting;

    if (counts->array == NULL || job->spec.array->throttle == NULL)
        return 0;
    over = counts->live - *job->spec.array->throttle;
    waiting = counts->live - counts->n_expected - counts->placed;
    if (over > waiting)
        over = waiting;
    return over > 0 ? over : 0;
}

/* After a failure the next pod waits 10 s, doubled with each further failure.
 */
static int64_t
backoff_left_us(int64_t failures, int64_t last_failure_us, int64_t now_us)
{
    int64_t left;

    if (failures == 0 || last_failure_us == 0)
        return 0;
    left = last_failure_us + backoff_after(failures, FIRST_BACKOFF_S, MAX_BACKOFF_S) * 1000000
           - now_us;
    return left > 0 ? left : 0;
}

static void
wake_after(struct job_plan *plan, int64_t us)
{
    if (us > 0 && (plan->wake_after_us == 0 || us < plan->wake_after_us))
        plan->wake_after_us = us;
}

static void
plan_index(const struct job_pod_counts *counts, int64_t index, struct job_plan *plan)
{
    const struct index_slot *slot = index_counts_find(&counts->indexes, index);
    struct job_plan_pod pod = {.index = index};

    if (slot != NULL) {
        pod.attempt = slot->next_attempt;
        pod.failures = slot->failures;
        pod.ignored = slot->ignored;
    }
    plan->create[plan->n_create++] = pod;
}

/* With backoffLimitPerIndex, each index waits after its own failures. */
static int64_t
index_backoff_us(const struct job *job, const struct job_pod_counts *counts, int64_t index,
                 int64_t now_us)
{
    const struct index_slot *slot;

    if (job->spec.backoff_limit_per_index == NULL)
        return 0;
    slot = index_counts_find(&counts->indexes, index);
    return slot != NULL
               ? backoff_left_us(slot->failures + slot->ignored, slot->last_failure_us, now_us)
               : 0;
}

/* The wait before another attempt for pods that no node started. First attempts
 * do not wait.
 */
static int64_t
retry_left_us(const struct job_pod_counts *counts, int64_t now_us)
{
    int64_t left = job_pod_counts_retry_at_us(counts) - now_us;

    return left > 0 ? left : 0;
}

/* The first index from `index` on that may get a pod. */
static int64_t
next_index(const struct job_pod_counts *counts, int64_t index)
{
    return counts->array != NULL ? array_state_next(counts->array, &counts->indexes.taken, index)
                                 : index_set_gap(&counts->indexes.taken, index);
}

static void
plan_indexes(const struct job *job, const struct job_pod_counts *counts, int64_t now_us,
             int64_t wanted, struct job_plan *plan)
{
    int64_t end = job_completions(job);
    int64_t retry_left = retry_left_us(counts, now_us);
    unsigned waiting = 0;

    for (int64_t i = counts->array != NULL
                         ? array_state_first(counts->array, &counts->indexes.taken)
                         : next_index(counts, 0);
         i < end && plan->n_create < wanted && waiting < MAX_WAITING;
         i = next_index(counts, i + 1)) {
        int64_t left = index_backoff_us(job, counts, i, now_us);

        if (left < retry_left && index_counts_find(&counts->indexes, i) != NULL)
            left = retry_left;
        if (left > 0)
            waiting++;
        else
            plan_index(counts, i, plan);
        wake_after(plan, left);
    }
}

/* ---- Attempts that are whole ---- */

/* A pod of the attempt has ended, or is told to, and its index is not done. */
static bool
is_torn(const struct job *job, const struct job_pod_counts *counts)
{
    return counts->indexes.is_whole && counts->live > 0
           && counts->live + index_counts_count_done(&counts->indexes, job_completions(job))
                  < job_completions(job);
}

/* Whether another attempt may follow. Without one, the Job has failed as the first
 * of its pods has, and the others were not requeued.
 */
static bool
may_follow(const struct job *job, const struct job_pod_counts *counts)
{
    return job->spec.requeue || counts->running == 0 || job->spec.pod_failure_policy != NULL
           || job->spec.backoff_limit == NULL || *job->spec.backoff_limit > 0;
}

/* All pods of the next attempt are created at once, when those of the last are
 * over: a program must not run beside that of the attempt before.
 */
static void
plan_attempt(const struct job *job, const struct job_pod_counts *counts, int64_t now_us,
             struct arena *arena, struct job_plan *plan)
{
    const int64_t size = job_gang_size(job);

    if (counts->active > 0 || counts->deleting > 0)
        return;
    if (retry_left_us(counts, now_us) > 0) {
        wake_after(plan, retry_left_us(counts, now_us));
        return;
    }
    plan->create = arena_new_array(arena, struct job_plan_pod, (size_t)size);
    for (int64_t i = 0; i < size; i++)
        plan->create[plan->n_create++] =
            (struct job_plan_pod){.index = i, .attempt = counts->indexes.attempts};
}

static void
plan_pods(const struct job *job, const struct job_pod_counts *counts, int64_t now_us,
          unsigned limit, struct arena *arena, struct job_plan *plan)
{
    int64_t wanted = count_wanted(job, counts) - counts->active;

    if (counts->indexes.is_whole) {
        plan_attempt(job, counts, now_us, arena, plan);
        return;
    }
    plan->n_remove = count_pods_to_remove(job, counts);
    plan->n_withdraw = count_pods_to_withdraw(job, counts);
    if (wanted <= 0 || plan->n_remove > 0)
        return;
    if (!counts->is_numbered && retry_left_us(counts, now_us) > 0) {
        wake_after(plan, retry_left_us(counts, now_us));
        return;
    }
    if (wanted > limit)
        wanted = limit;
    plan->create = arena_new_array(arena, struct job_plan_pod, wanted);
    if (counts->is_numbered)
        plan_indexes(job, counts, now_us, wanted, plan);
    else
        for (int64_t i = 0; i < wanted; i++)
            plan->create[plan->n_create++] = (struct job_plan_pod){.index = counts->next_index + i};
}

/* The backoff of the whole Job. */
static int64_t
job_backoff_us(const struct job *job, const struct job_pod_counts *counts, int64_t now_us)
{
    if (job->spec.backoff_limit_per_index != NULL)
        return 0;
    return backoff_left_us(counts->failures_in_a_row, counts->last_failure_us, now_us);
}

static void
wake_at_deadline(const struct job *job, const struct job_pod_counts *counts, int64_t now_us,
                 struct job_plan *plan)
{
    int64_t latest_us = job_latest_start_us(job, counts);

    const int64_t *limit = job->spec.active_deadline_seconds;

    if (limit != NULL && job->status.start_at_us > 0 && !job->spec.suspend)
        wake_after(plan, job->status.start_at_us + *limit * 1000000 - now_us);
    if (latest_us != 0)
        wake_after(plan, latest_us - now_us + 1);
}

/* ---- How often the job may start again ---- */

/* How many pods ended through no fault of the job since it was submitted, requeued or
 * released; 0 if that is within the limit. The number is computed from counts that the status
 * has, so a restart neither loses a pod nor counts it twice.
 */
static int64_t
count_excess(const struct job *job, const struct job_pod_counts *counts)
{
    int64_t pods = job_parallelism(job);
    int64_t before, interrupted;

    if (counts->maximum_requeues == 0 || counts->array != NULL)
        return 0;
    (void)job_pod_counts_is_requeued(job, &before);
    if (before < job->status.requeued)
        before = job->status.requeued;
    interrupted = counts->made + counts->n_expected - counts->active - counts->succeeded
                  - counts->failed - before;
    return interrupted > counts->maximum_requeues * (pods > 1 ? pods : 1) ? interrupted : 0;
}

static bool
is_held(const struct job *job, const struct job_pod_counts *counts)
{
    return job_is_held_on_request(job) || count_excess(job, counts) > 0;
}

/* ---- The state ---- */

static enum job_state
find_ending(const struct job_pod_counts *counts, const struct job_verdict *verdict)
{
    enum job_state state;

    if (verdict->outcome == JOB_COMPLETE)
        return JOB_STATE_COMPLETED;
    state = job_state_of_failure(verdict->reason, NULL);
    return state == JOB_STATE_FAILED ? counts->failure : state;
}

/* A job that ran, was stopped or lost, and is to start again; not a job of many
 * pods of which some have succeeded.
 */
static bool
waits_again(const struct job_pod_counts *counts)
{
    return counts->run.started_at_us > 0 && counts->succeeded == 0;
}

/* With many pods the one that is furthest decides: a job runs as long as one of
 * its pods does, as Slurm's arrays do.
 */
static enum job_state
find_state(const struct job *job, const struct job_pod_counts *counts,
           const struct job_verdict *verdict)
{
    if (verdict->outcome != JOB_GOES_ON)
        return counts->active > 0 || counts->ending > 0 ? JOB_STATE_ENDING
                                                        : find_ending(counts, verdict);
    if (counts->running > counts->frozen + counts->over)
        return JOB_STATE_RUNNING;
    if (counts->frozen > 0)
        return JOB_STATE_FROZEN;
    if (counts->silent > 0)
        return JOB_STATE_UNKNOWN;
    if (counts->ending > 0 || counts->over > 0)
        return JOB_STATE_ENDING;
    if (counts->placed > 0)
        return JOB_STATE_STARTING;
    if (is_held(job, counts))
        return JOB_STATE_HELD;
    return waits_again(counts) ? JOB_STATE_REQUEUED : JOB_STATE_PENDING;
}

/* ---- The phases of a job ---- */

/* No pod is deleted before the Job's status says why: the deleted pods would
 * count as failures, and with the verdict lost the Job would have failed for
 * them. The record of an array's elements (element_record.h) reads there, too,
 * that a pod without a node did not fail. An order to cancel is in the Job's
 * annotations, that of a deadline in a condition, and the verdict waits for the pods: one of
 * them may have come to its end before the order reaches it, which is how the Job has
 * ended then.
 */
static void
plan_end(const struct job *job, const struct job_pod_counts *counts,
         const struct job_verdict *verdict, struct job_report *report, struct job_plan *plan)
{
    const bool is_order = verdict->is_order || job_is_cancelled(job);
    const bool is_final = verdict->outcome == JOB_COMPLETE || !is_order;
    const bool is_recorded =
        job_has_verdict(job) || job_is_cancelled(job) || job_find_order(job) != NULL;

    plan->delete_active = counts->live > 0 && is_recorded;
    if (is_final)
        job_report_verdict(report, verdict);
    else if (job_find_state(job) != JOB_STATE_ENDING)
        report->is_urgent = true; /* its user sees that it ends */
    if (!is_final && !is_recorded)
        job_report_order(report, verdict);
    if (counts->active > 0 || counts->ending > 0)
        return;
    if (counts->array != NULL
        && (map_count(counts->pods) > 0 || array_state_ends(counts->array)->count > 0))
        return; /* the end of each element must be recorded first */
    if (!is_final)
        job_report_verdict(report, verdict);
    job_report_start(report, counts->began_us);
    job_report_end(report, verdict);
    job_report_unstarted(report, counts);
}

/* Ends the pods of a Job that is suspended or to be requeued. No pod is deleted
 * before the Job's status says why: if the hold were taken back at once,
 * nothing would show that the pod's end was not a failure.
 */
static void
plan_interruption(const struct job *job, const struct job_pod_counts *counts,
                  struct job_report *report, struct job_plan *plan)
{
    bool is_settled = counts->active == 0 && counts->deleting == 0;
    bool was_suspended = job_pod_counts_is_suspended(job);
    int64_t before;
    bool is_requeued = job_pod_counts_is_requeued(job, &before);

    plan->delete_active = counts->live > 0 && (was_suspended || is_requeued);
    if (job->spec.suspend && !was_suspended)
        job_report_suspended(report, true);
    else if (!job->spec.suspend && was_suspended && is_settled)
        job_report_suspended(report, false);
    if (is_requeued && is_settled)
        job_report_requeued(report, before);
}

/* A Job that is held or must not begin yet gets no new pods, and its waiting
 * pods get no node; pods that have a node go on.
 */
static void
plan_hold(const struct job *job, const struct job_pod_counts *counts, struct job_plan *plan)
{
    plan->n_remove = count_pods_to_remove(job, counts);
    plan->hold_waiting = counts->live - counts->n_expected - counts->placed > counts->held;
}

/* Whether the job waits for other jobs. */
static bool
waits_for_others(const struct job_pod_counts *counts)
{
    return counts->waits_for != NULL && counts->waits_for->verdict != DEPENDENCY_IS_MET;
}

/* Whether the job waits for nothing but free resources. */
static bool
may_begin(const struct job *job, const struct job_pod_counts *counts, int64_t now_us)
{
    return !is_held(job, counts) && job->spec.begin_at_us <= now_us && !waits_for_others(counts);
}

/* Since when the job waits for no other job; 0: it still waits, or never did.
 */
static int64_t
met_at_us(const struct job *job, const struct job_pod_counts *counts, int64_t now_us)
{
    const struct job_dependency_status *s = job->status.dependencies;

    if (job->spec.dependencies == NULL || job->spec.dependencies->jobs.count == 0
        || waits_for_others(counts))
        return 0;
    if (s != NULL && s->met_at_us != 0)
        return s->met_at_us;
    return counts->began_us != 0 ? counts->began_us : now_us;
}

/* A Job has started with its first pod, even if that has failed by now: the
 * activeDeadlineSeconds of a Job whose pods fail at once include the backoff
 * between them.
 */
static bool
has_started(const struct job *job, const struct job_pod_counts *counts)
{
    return !job->spec.suspend && !job_pod_counts_is_suspended(job)
           && (counts->active > 0 || counts->made > 0);
}

/* A job that is held or has ended reports no refusal. */
static const char *
find_refusal(const struct job *job, const struct job_pod_counts *counts,
             const struct job_verdict *verdict)
{
    return job->spec.suspend || verdict->outcome != JOB_GOES_ON ? NULL : counts->refusal;
}

static void
report_cause(const struct job *job, const struct job_pod_counts *counts,
             const struct job_verdict *verdict, struct job_report *report)
{
    int64_t excess = verdict->outcome == JOB_GOES_ON ? count_excess(job, counts) : 0;

    if (excess > 0) {
        job_report_excess(report, excess, counts->maximum_requeues);
        return;
    }
    if (counts->refusal != NULL || counts->active > 0 || job->spec.suspend
        || verdict->outcome != JOB_GOES_ON)
        job_report_refusal(report, find_refusal(job, counts, verdict));
    else if (job_is_held_for_requeues(job))
        job_report_refusal(report, NULL);
}

void
job_plan(const struct job *job, const struct job_pod_counts *counts, int64_t now_us, unsigned limit,
         struct arena *arena, struct job_plan *ret_plan)
{
    struct job_plan plan = {0};
    struct job_report report = job_report(arena, job, now_us);
    struct job_verdict verdict = job_judge(job, counts, now_us, arena);
    int64_t backoff = job_backoff_us(job, counts, now_us);

    job_report_counts(&report, counts);
    if (verdict.outcome != JOB_GOES_ON) {
        plan_end(job, counts, &verdict, &report, &plan);
    } else {
        if (job_pod_counts_excuses(job))
            plan_interruption(job, counts, &report, &plan);
        else if (!may_begin(job, counts, now_us))
            plan_hold(job, counts, &plan);
        else if (backoff > 0)
            plan.wake_after_us = backoff;
        else
            plan_pods(job, counts, now_us, limit, arena, &plan);
        plan.end_rest = is_torn(job, counts) && !plan.delete_active;
        plan.excuse_rest = plan.end_rest && may_follow(job, counts);
        plan.mark_placed =
            counts->to_freeze != (job_find_freezer(job) != NULL ? counts->placed : 0);
        plan.release_waiting = counts->held > 0 && may_begin(job, counts, now_us);
        wake_at_deadline(job, counts, now_us, &plan);
        wake_after(&plan, job->spec.begin_at_us - now_us);
        if (counts->waits_for != NULL)
            wake_after(&plan, counts->waits_for->wake_after_us);
        job_report_dependencies(&report, counts->waits_for, met_at_us(job, counts, now_us));
        for (unsigned i = 0; i < plan.n_create; i++)
            plan.create[i].eligible_at_us = met_at_us(job, counts, now_us);
        if (has_started(job, counts))
            job_report_start(&report, counts->began_us);
    }
    report_cause(job, counts, &verdict, &report);
    job_report_state(&report, find_state(job, counts, &verdict), counts->yields_to);
    plan.status = json_count(report.status) > 0 ? report.status : NULL;
    plan.status_is_urgent = report.is_urgent;
    plan.event = report.event;
    *ret_plan = plan;
}
