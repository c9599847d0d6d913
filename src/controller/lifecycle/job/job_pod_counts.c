/* SPDX-License-Identifier: Apache-2.0 */
/* A Job may have a million pods, so a change of one costs the same whatever their number: each
 * pod remembers as what it was counted, is taken out of that count, and put into another.
 * Starting is the hard part. Pods that are gone are known only by what the status and the list
 * of removed pods say, and either may be a write behind; removed_counts.c reconciles them, and
 * whether a pod was counted already follows from how many are gone and never from how those
 * that are left have ended (decision 612).
 *
 * Creates count as pods from the moment when they are sent, so that a burst of events does not
 * create more.
 */
#include "controller/lifecycle/job/job_pod_counts.h"

#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/element_counts.h"
#include "controller/lifecycle/job/failure_policy.h"
#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_verdict.h"
#include "controller/lifecycle/job/pod_end.h"
#include "controller/lifecycle/job/pod_sight.h"
#include "controller/lifecycle/job/removed_counts.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/backoff.h"
#include "lib/base/map.h"

/* The wait before another attempt, doubled for each further refused round. */
#define FIRST_REFUSAL_WAIT_US INT64_C(1000000)
#define MAX_REFUSAL_WAIT_US   INT64_C(60000000)

/* The status of a larger array lists no indexes: it could take megabytes. */
#define LISTED_INDEXES 1000

struct expected {
    struct list link;
    int64_t index;
    int64_t attempt;
    int64_t until_us;
};

/* ---- State of the Job ---- */

bool
job_pod_counts_is_suspended(const struct job *job)
{
    return job_find_condition(job, "Suspended") != NULL;
}

bool
job_pod_counts_is_requeued(const struct job *job, int64_t *ret_before)
{
    const char *before = string_map_find(&job->meta.annotations, ANNOTATION_REQUEUE_BEFORE);

    *ret_before = before != NULL ? strtoll(before, NULL, 10) : 0;
    return *ret_before > job->status.requeued;
}

bool
job_pod_counts_excuses(const struct job *job)
{
    int64_t before;

    return job->spec.suspend || job_pod_counts_is_suspended(job)
           || job_pod_counts_is_requeued(job, &before);
}

/* ---- Indexes ---- */

static void
note_numbers(struct job_pod_counts *counts, int64_t index, int64_t attempt)
{
    if (index >= counts->next_index)
        counts->next_index = index + 1;
    if (counts->is_numbered)
        index_counts_note(&counts->indexes, index, attempt);
}

static void
take_index(struct job_pod_counts *counts, int64_t index)
{
    if (counts->is_numbered)
        index_counts_take(&counts->indexes, index);
}

static void
release_index(struct job_pod_counts *counts, int64_t index)
{
    if (counts->is_numbered)
        index_counts_release(&counts->indexes, index);
    if (counts->array != NULL)
        array_state_note_free(counts->array, index);
}

/* Pods run one after another, so attempt N means that N have ended. */
static bool
is_one_by_one(const struct job_pod_counts *counts, const struct job *job)
{
    return counts->is_numbered && !job_is_indexed(job);
}

/* The state of a job that fails because of a run with that reason. Somebody who
 * deletes one pod of several has not cancelled the job.
 */
static enum job_state
state_of_failure(const struct job_pod_counts *counts, const struct job *job, const char *run_reason)
{
    enum job_state state = job_state_of_failure(NULL, run_reason);

    return state == JOB_STATE_CANCELLED && !is_one_by_one(counts, job) ? JOB_STATE_FAILED : state;
}

/* ---- Life ---- */

struct job_pod_counts *
job_pod_counts_new(const struct job *job)
{
    const struct job_status *status = &job->status;
    struct job_pod_counts *counts = xnew(struct job_pod_counts);
    const int64_t *completions = job->spec.completions;

    counts->job_uid = xstrdup(job->meta.uid);
    counts->is_numbered = job_is_indexed(job) || (completions != NULL && *completions == 1);
    counts->indexes.is_whole = job_gang_size(job) > 0;
    if (counts->indexes.is_whole)
        counts->indexes.attempts = (status->attempts + job_gang_size(job) - 1) / job_gang_size(job);
    counts->n_written = status->succeeded + status->failed + status->excused;
    counts->pods = map_new();
    list_init(&counts->expected);
    job_last_run_load(&counts->run, job);
    counts->failure = state_of_failure(counts, job, counts->run.reason);
    if (job_is_array(job)) {
        counts->array = array_state_new(job);
        counts->indexes.is_merged = array_state_tasks(counts->array)->total > LISTED_INDEXES;
    } else if (job_is_indexed(job))
        index_counts_load(&counts->indexes, status->completed_indexes, status->failed_indexes);
    else if (counts->is_numbered && status->succeeded > 0)
        index_counts_finish(&counts->indexes, 0);
    return counts;
}

void
job_pod_counts_free(struct job_pod_counts *counts)
{
    if (counts == NULL)
        return;
    list_foreach_safe(pos, &counts->expected) free(container_of(pos, struct expected, link));
    map_free(counts->pods);
    array_state_free(counts->array);
    index_counts_fini(&counts->indexes);
    job_last_run_fini(&counts->run);
    free(counts->refusal);
    free(counts->yields_to);
    free(counts->fail_message);
    free(counts->cause);
    free(counts->job_uid);
    free(counts);
}

/* A pod that failed before its job was suspended stays a failure. */
static void
restore_failures(struct job_pod_counts *counts, const struct job_status *was)
{
    int64_t n = was->failed - counts->failed;

    if (n > counts->excused - was->excused)
        n = counts->excused - was->excused;
    if (n <= 0)
        return;
    counts->failed += n;
    counts->excused -= n;
}

void
job_pod_counts_settle(struct job_pod_counts *counts, const struct job *job)
{
    const struct job_status *was = &job->status;
    int64_t gone;

    if (counts->array != NULL)
        return;
    gone = removed_counts_restore(counts, job);
    if (job_pod_counts_excuses(job) || counts->indexes.is_whole)
        counts->excused += gone;
    else
        counts->failed += gone;
    restore_failures(counts, was);
    if (!job_is_indexed(job) && counts->is_numbered && was->attempts > 0)
        note_numbers(counts, 0, was->attempts - 1);
    else if (!counts->is_numbered && counts->next_index < was->attempts)
        counts->next_index = was->attempts;
}

/* ---- Pending creates ---- */

static struct expected *
find_expected(const struct job_pod_counts *counts, int64_t index, int64_t attempt)
{
    list_foreach(pos, &counts->expected)
    {
        struct expected *e = container_of(pos, struct expected, link);

        if (e->index == index && e->attempt == attempt)
            return e;
    }
    return NULL;
}

bool
job_pod_counts_expects(const struct job_pod_counts *counts, int64_t index, int64_t attempt)
{
    return find_expected(counts, index, attempt) != NULL;
}

static void
stop_expecting(struct job_pod_counts *counts, struct expected *e)
{
    counts->n_expected--;
    counts->active--;
    counts->live--;
    release_index(counts, e->index);
    list_remove(&e->link);
    free(e);
}

void
job_pod_counts_expect(struct job_pod_counts *counts, int64_t index, int64_t attempt,
                      int64_t until_us)
{
    struct expected *e = xnew(struct expected);

    e->index = index;
    e->attempt = attempt;
    e->until_us = until_us;
    list_add_last(&counts->expected, &e->link);
    counts->n_expected++;
    counts->active++;
    counts->live++;
    note_numbers(counts, index, attempt);
    take_index(counts, index);
}

/* The next create may use the number again. */
static void
give_up(struct job_pod_counts *counts, int64_t index, int64_t attempt)
{
    struct expected *e = find_expected(counts, index, attempt);

    if (e == NULL)
        return;
    stop_expecting(counts, e);
    if (index + 1 == counts->next_index)
        counts->next_index = index;
    if (counts->is_numbered)
        index_counts_withdraw(&counts->indexes, index, attempt);
}

void
job_pod_counts_set_refusal(struct job_pod_counts *counts, const char *words)
{
    free(counts->refusal);
    counts->refusal = words != NULL ? xstrdup(words) : NULL;
}

void
job_pod_counts_refuse(struct job_pod_counts *counts, int64_t index, int64_t attempt,
                      const char *words)
{
    give_up(counts, index, attempt);
    job_pod_counts_set_refusal(counts, words);
}

void
job_pod_counts_expire(struct job_pod_counts *counts, int64_t now_us)
{
    list_foreach_safe(pos, &counts->expected)
    {
        struct expected *e = container_of(pos, struct expected, link);

        if (e->until_us <= now_us)
            give_up(counts, e->index, e->attempt);
    }
}

/* All creates have the same timeout, so the first in the list is next. */
bool
job_pod_counts_is_overdue(const struct job_pod_counts *counts, int64_t now_us)
{
    return !list_is_empty(&counts->expected)
           && container_of(counts->expected.next, struct expected, link)->until_us <= now_us;
}

/* ---- Pods ---- */

/* The annotations of the pod have the earlier failures of its index. */
static void
note_index_failure(struct job_pod_counts *counts, const struct job *job, const struct pod *pod,
                   int64_t index, enum failure_action action, int64_t ended_us)
{
    const int64_t *limit = job->spec.backoff_limit_per_index;
    int64_t failures = job_pod_number(pod, ANNOTATION_INDEX_FAILURES);
    int64_t ignored = job_pod_number(pod, ANNOTATION_INDEX_IGNORED);

    if (limit == NULL || index < 0)
        return;
    if (action == FAILURE_IS_IGNORED)
        ignored++;
    else
        failures++;
    if (action == FAILURE_ENDS_INDEX || failures > *limit)
        index_counts_fail(&counts->indexes, index);
    else
        index_counts_note_failures(&counts->indexes, index, failures, ignored, ended_us);
}

/* The next pod waits longer with each failure since the last success. */
static void
note_backoff(struct job_pod_counts *counts, int64_t ended_us)
{
    if (ended_us < counts->last_success_us)
        return;
    counts->failures_in_a_row++;
    if (ended_us > counts->last_failure_us)
        counts->last_failure_us = ended_us;
}

int64_t
job_pod_counts_retry_at_us(const struct job_pod_counts *counts)
{
    if (counts->refusals == 0)
        return 0;
    return counts->refused_at_us
           + backoff_after(counts->refusals, FIRST_REFUSAL_WAIT_US, MAX_REFUSAL_WAIT_US);
}

/* Pods that were created together are one round, however many are refused. */
static void
note_refusal(struct job_pod_counts *counts, const struct pod *pod)
{
    if (pod->meta.created_at_us < job_pod_counts_retry_at_us(counts))
        return;
    counts->refusals++;
    counts->refused_at_us = pod->meta.created_at_us;
}

static void
note_success(struct job_pod_counts *counts, const struct pod *pod, int64_t index, int64_t attempt)
{
    int64_t end = pod_end_us(pod);

    counts->succeeded++;
    counts->refusals = 0;
    if (index >= 0 && counts->is_numbered && index_counts_is_last(&counts->indexes, attempt))
        index_counts_finish(&counts->indexes, index);
    if (end > counts->last_success_us)
        counts->last_success_us = end;
    if (counts->last_success_us >= counts->last_failure_us)
        counts->failures_in_a_row = 0;
}

static void
note_ruling(struct job_pod_counts *counts, const struct job *job, const struct pod *pod,
            struct failure_ruling ruling)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;

    if (ruling.action != FAILURE_ENDS_JOB || counts->fail_message != NULL)
        return;
    arena = arena_new(0);
    counts->fail_message = xstrdup(failure_policy_explain(job, pod, ruling.rule, arena));
}

static void
note_cause(struct job_pod_counts *counts, const struct job *job, const struct pod *pod,
           int64_t ended_us)
{
    if (!pod_end_is_cause(counts, job, pod, ended_us))
        return;
    counts->failure_is_own = pod_end_is_own(pod);
    free(counts->cause);
    counts->cause = pod_end_describe_cause(job, pod);
    counts->failure = state_of_failure(counts, job, job_last_run_reason(pod));
    counts->failure_us = ended_us;
}

/* A matching rule of podFailurePolicy takes precedence over spec.requeue. */
static void
note_failure(struct job_pod_counts *counts, const struct job *job, const struct pod *pod,
             int64_t index)
{
    struct failure_ruling ruling = failure_policy_judge(job, pod);
    int64_t end = pod_end_us(pod);

    if (pod_end_is_cancelled(counts, job, pod, index)) {
        counts->excused++;
        index_counts_cancel(&counts->indexes, index);
        return;
    }
    if (pod_end_is_excused(job, pod, ruling)) {
        counts->excused++;
        if (pod_end_is_refused(pod))
            note_refusal(counts, pod);
        return;
    }
    counts->refusals = 0;
    if (ruling.action == FAILURE_IS_IGNORED)
        counts->excused++;
    else
        counts->failed++;
    note_cause(counts, job, pod, end);
    note_ruling(counts, job, pod, ruling);
    if (pod_is_ended_by_preemption(pod) && !job_is_array(job)
        && (job_completions(job) <= 1 || job_gang_size(job) > 0) && counts->fail_message == NULL)
        counts->fail_message =
            xstrdup(pod->status.cause->message != NULL ? pod->status.cause->message : "preempted");
    note_index_failure(counts, job, pod, index, ruling.action, end);
    note_backoff(counts, end);
}

static void
note_outcome(struct job_pod_counts *counts, const struct job *job, const struct pod *pod,
             int64_t index, int64_t attempt)
{
    if (pod_end_is_success(job, pod))
        note_success(counts, pod, index, attempt);
    else
        note_failure(counts, job, pod, index);
}

static void
note_unwritten(struct job_pod_counts *counts, const struct job_pod_ends *before)
{
    counts->unwritten.succeeded += counts->succeeded - before->succeeded;
    counts->unwritten.failed += counts->failed - before->failed;
    counts->unwritten.excused += counts->excused - before->excused;
}

static void
note_made(struct job_pod_counts *counts, int64_t index, int64_t attempt)
{
    struct expected *e = find_expected(counts, index, attempt);

    if (e != NULL)
        stop_expecting(counts, e);
    counts->made++;
    if (index >= 0)
        note_numbers(counts, index, attempt);
}

/* Takes the failures of the index from the annotations of a new pod. */
static void
note_past(struct job_pod_counts *counts, const struct job *job, const struct pod *pod,
          int64_t index)
{
    if (job->spec.backoff_limit_per_index != NULL && index >= 0)
        index_counts_note_failures(&counts->indexes, index,
                                   job_pod_number(pod, ANNOTATION_INDEX_FAILURES),
                                   job_pod_number(pod, ANNOTATION_INDEX_IGNORED), 0);
}

static void
recount(struct job_pod_counts *counts, unsigned was, unsigned is, int64_t index)
{
    counts->active += pod_sight_change(was, is, SEEN_ACTIVE);
    counts->live += pod_sight_change(was, is, SEEN_LIVE);
    counts->ready += pod_sight_change(was, is, SEEN_READY);
    counts->placed += pod_sight_change(was, is, SEEN_PLACED);
    counts->running += pod_sight_change(was, is, SEEN_RUNNING);
    counts->silent += pod_sight_change(was, is, SEEN_SILENT);
    counts->held += pod_sight_change(was, is, SEEN_HELD);
    counts->to_freeze += pod_sight_change(was, is, SEEN_TO_FREEZE);
    counts->frozen += pod_sight_change(was, is, SEEN_FROZEN);
    counts->over += pod_sight_change(was, is, SEEN_OVER);
    counts->ending += pod_sight_change(was, is, SEEN_ENDING);
    counts->deleting += pod_sight_change(was, is, SEEN_DELETING);
    if (index >= 0 && pod_sight_change(was, is, SEEN_ACTIVE) > 0)
        take_index(counts, index);
    else if (index >= 0 && pod_sight_change(was, is, SEEN_ACTIVE) < 0)
        release_index(counts, index);
}

void
job_pod_counts_see(struct job_pod_counts *counts, const struct job *job, const struct pod *pod)
{
    const int64_t failed = counts->failed;
    unsigned was = (unsigned)(uintptr_t)map_find(counts->pods, pod->meta.name);
    unsigned is = pod_sight_of(job, pod);
    int64_t index = -1, attempt = 0;

    job_pod_name_parse(job->meta.name, pod->meta.name, &index, &attempt);
    if (was == 0) {
        free(counts->refusal);
        counts->refusal = NULL;
        note_made(counts, index, attempt);
        note_past(counts, job, pod, index);
    } else if ((was & SEEN_ACTIVE) == 0) {
        is &= ~(unsigned)SEEN_ACTIVE; /* it was replaced, so stays inactive */
    }
    is |= was & SEEN_WITHDRAWN;
    if (counts->array != NULL && was != 0 && pod_sight_change(was, is, SEEN_PLACED) > 0)
        array_state_note_bound(counts->array);
    if (counts->array != NULL && was == 0 && array_state_is_barred(counts->array, index))
        array_state_request_visit(counts->array);
    if (pod_sight_change(was, is, SEEN_READY) > 0)
        counts->refusals = 0;
    recount(counts, was, is, index);
    pod_sight_note_yield(&counts->yields_to, pod, is, counts->frozen > 0);
    map_put(counts->pods, pod->meta.name, (void *)(uintptr_t)is);
    if ((is & SEEN_ACTIVE) == 0 && (was == 0 || (was & SEEN_ACTIVE) != 0)) {
        struct job_pod_ends before = {counts->succeeded, counts->failed, counts->excused};

        note_outcome(counts, job, pod, index, attempt);
        if (is_one_by_one(counts, job) && attempt >= counts->n_written)
            note_unwritten(counts, &before);
    }
    if (pod_sight_change(was, is, SEEN_ENDED) > 0)
        job_last_run_note(&counts->run, job_last_run_choose(job), pod, counts->failed > failed);
    if (pod_sight_change(was, is, SEEN_ENDED) > 0 && counts->array != NULL)
        element_counts_add_end(counts, job, pod, false, index);
}

static void
note_gone(struct job_pod_counts *counts, const struct job *job, const struct pod *last,
          int64_t index, unsigned was)
{
    if ((was & SEEN_ACTIVE) != 0 && job_pod_counts_excuses(job))
        counts->excused++;
    else if ((was & SEEN_ACTIVE) != 0)
        note_failure(counts, job, last, index);
}

/* The pod's end was not reported, and this is its last event. */
void
job_pod_counts_see_gone(struct job_pod_counts *counts, const struct job *job,
                        const struct pod *last)
{
    struct job_pod_ends before;
    int64_t index = -1, attempt = 0;
    unsigned was;

    job_pod_counts_see(counts, job, last);
    was = (unsigned)(uintptr_t)map_remove(counts->pods, last->meta.name);
    job_pod_name_parse(job->meta.name, last->meta.name, &index, &attempt);
    recount(counts, was, 0, index);
    if ((was & SEEN_WITHDRAWN) != 0 && (was & SEEN_ENDED) == 0) {
        element_counts_forget(counts, index, attempt);
        return;
    }
    before = (struct job_pod_ends){counts->succeeded, counts->failed, counts->excused};
    note_gone(counts, job, last, index, was);
    if (is_one_by_one(counts, job) && attempt >= counts->n_written)
        note_unwritten(counts, &before);
    if ((was & SEEN_ENDED) == 0)
        job_last_run_note_gone(&counts->run, job_last_run_choose(job), last);
    if ((was & SEEN_ENDED) == 0 && counts->array != NULL)
        element_counts_add_end(counts, job, last, true, index);
}
