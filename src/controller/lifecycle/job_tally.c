/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job_tally.h"

#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/failure_policy.h"
#include "controller/lifecycle/job_pod.h"
#include "lib/api/job.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"

struct expected {
    struct list link;
    int64_t index;
    int64_t attempt;
    int64_t until_us;
};

/* ---- What the Job says ---- */

bool
job_tally_is_suspended(const struct job *job)
{
    return job_find_condition(job, "Suspended") != NULL;
}

bool
job_tally_is_requeued(const struct job *job, int64_t *ret_before)
{
    const char *before =
        string_map_find(&job->meta.annotations, ANNOTATION_REQUEUE_BEFORE);

    *ret_before = before != NULL ? strtoll(before, NULL, 10) : 0;
    return *ret_before > job->status.requeued;
}

bool
job_tally_excuses(const struct job *job)
{
    int64_t before;

    return job->spec.suspend || job_tally_is_suspended(job)
           || job_tally_is_requeued(job, &before);
}

static bool
is_indexed(const struct job *job)
{
    return job->spec.completion_mode != NULL
           && strcmp(job->spec.completion_mode, "Indexed") == 0;
}

/* ---- Indexes ---- */

static void
note_numbers(struct job_tally *t, int64_t index, int64_t attempt)
{
    if (index >= t->next_index)
        t->next_index = index + 1;
    if (t->is_numbered)
        index_ledger_note(&t->indexes, index, attempt);
}

static void
take_index(struct job_tally *t, int64_t index)
{
    if (t->is_numbered)
        index_ledger_take(&t->indexes, index);
}

static void
release_index(struct job_tally *t, int64_t index)
{
    if (t->is_numbered)
        index_ledger_release(&t->indexes, index);
}

/* ---- Life ---- */

struct job_tally *
job_tally_new(const struct job *job)
{
    const struct job_status *status = &job->status;
    struct job_tally *t = xnew(struct job_tally);
    const int64_t *completions = job->spec.completions;

    t->job_uid = xstrdup(job->meta.uid);
    t->is_numbered =
        is_indexed(job) || (completions != NULL && *completions == 1);
    t->pods = map_new();
    list_init(&t->expected);
    tally_run_recall(&t->run, status);
    if (is_indexed(job))
        index_ledger_recall(&t->indexes,
                            status->completed_indexes,
                            status->failed_indexes);
    else if (t->is_numbered && status->succeeded > 0)
        index_ledger_finish(&t->indexes, 0);
    return t;
}

void
job_tally_free(struct job_tally *t)
{
    if (t == NULL)
        return;
    list_foreach_safe(pos, &t->expected)
        free(container_of(pos, struct expected, link));
    map_free(t->pods);
    index_ledger_fini(&t->indexes);
    tally_run_fini(&t->run);
    free(t->fail_message);
    free(t->job_uid);
    free(t);
}

/* The part of what is gone that the status has counted already. */
static void
recall(int64_t counted, int64_t *seen, int64_t *gone)
{
    int64_t n = counted > *seen ? counted - *seen : 0;

    if (n > *gone)
        n = *gone;
    *seen += n;
    *gone -= n;
}

/* A pod that failed before its job was suspended has failed. */
static void
restore_failures(struct job_tally *t, const struct job_status *was)
{
    int64_t n = was->failed - t->failed;

    if (n > t->excused - was->excused)
        n = t->excused - was->excused;
    if (n <= 0)
        return;
    t->failed += n;
    t->excused -= n;
}

void
job_tally_settle(struct job_tally *t, const struct job *job)
{
    const struct job_status *was = &job->status;
    int64_t gone = was->attempts - t->made;

    if (gone > 0)
        t->made = was->attempts;
    else
        gone = 0;
    recall(was->succeeded, &t->succeeded, &gone);
    recall(was->failed, &t->failed, &gone);
    recall(was->excused, &t->excused, &gone);
    if (job_tally_excuses(job))
        t->excused += gone;
    else
        t->failed += gone;
    restore_failures(t, was);
    if (!is_indexed(job) && t->is_numbered && was->attempts > 0)
        note_numbers(t, 0, was->attempts - 1);
    else if (!t->is_numbered && t->next_index < was->attempts)
        t->next_index = was->attempts;
}

/* ---- Creates on their way ---- */

static struct expected *
find_expected(const struct job_tally *t, int64_t index, int64_t attempt)
{
    list_foreach(pos, &t->expected)
    {
        struct expected *e = container_of(pos, struct expected, link);

        if (e->index == index && e->attempt == attempt)
            return e;
    }
    return NULL;
}

static void
stop_expecting(struct job_tally *t, struct expected *e)
{
    t->n_expected--;
    t->active--;
    release_index(t, e->index);
    list_remove(&e->link);
    free(e);
}

void
job_tally_expect(struct job_tally *t,
                 int64_t index,
                 int64_t attempt,
                 int64_t until_us)
{
    struct expected *e = xnew(struct expected);

    e->index = index;
    e->attempt = attempt;
    e->until_us = until_us;
    list_add_last(&t->expected, &e->link);
    t->n_expected++;
    t->active++;
    note_numbers(t, index, attempt);
    take_index(t, index);
}

/* Its number may be given to the next try. */
void
job_tally_give_up(struct job_tally *t, int64_t index, int64_t attempt)
{
    struct expected *e = find_expected(t, index, attempt);

    if (e == NULL)
        return;
    stop_expecting(t, e);
    if (index + 1 == t->next_index)
        t->next_index = index;
    if (t->is_numbered)
        index_ledger_withdraw(&t->indexes, index, attempt);
}

void
job_tally_expire(struct job_tally *t, int64_t now_us)
{
    list_foreach_safe(pos, &t->expected)
    {
        struct expected *e = container_of(pos, struct expected, link);

        if (e->until_us <= now_us)
            job_tally_give_up(t, e->index, e->attempt);
    }
}

/* ---- Pods ---- */

static bool
is_ready(const struct pod *pod)
{
    const struct pod_condition *ready = pod_find_condition(pod, "Ready");

    return !pod_is_finished(pod) && ready != NULL
           && strcmp(ready->status, "True") == 0;
}

/* Lost with its node, or pushed out by others. */
static bool
is_disrupted(const struct pod *pod)
{
    const struct pod_condition *c = pod_find_condition(pod, "DisruptionTarget");

    return c != NULL && strcmp(c->status, "True") == 0;
}

static int64_t
number_of(const struct pod *pod, const char *annotation)
{
    const char *text = string_map_find(&pod->meta.annotations, annotation);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* What the pod's index has failed before it, and with it. */
static void
note_index_failure(struct job_tally *t,
                   const struct job *job,
                   const struct pod *pod,
                   int64_t index,
                   enum failure_action action,
                   int64_t ended_us)
{
    const int64_t *limit = job->spec.backoff_limit_per_index;
    int64_t failures = number_of(pod, ANNOTATION_INDEX_FAILURES);
    int64_t ignored = number_of(pod, ANNOTATION_INDEX_IGNORED);

    if (limit == NULL || index < 0)
        return;
    if (action == FAILURE_IS_IGNORED)
        ignored++;
    else
        failures++;
    if (action == FAILURE_ENDS_INDEX || failures > *limit)
        index_ledger_fail(&t->indexes, index);
    else
        index_ledger_note_failures(&t->indexes,
                                   index,
                                   failures,
                                   ignored,
                                   ended_us);
}

/* The next pod waits the longer, the more have failed since one succeeded. */
static void
note_backoff(struct job_tally *t, int64_t ended_us)
{
    if (ended_us < t->last_success_us)
        return;
    t->failures_in_a_row++;
    if (ended_us > t->last_failure_us)
        t->last_failure_us = ended_us;
}

static void
note_success(struct job_tally *t, const struct pod *pod, int64_t index)
{
    struct container_state state = {0};

    t->succeeded++;
    if (index >= 0 && t->is_numbered)
        index_ledger_finish(&t->indexes, index);
    pod_main_state(pod, &state);
    if (state.finished_at_us > t->last_success_us)
        t->last_success_us = state.finished_at_us;
    if (t->last_success_us >= t->last_failure_us)
        t->failures_in_a_row = 0;
}

static void
note_ruling(struct job_tally *t,
            const struct job *job,
            const struct pod *pod,
            struct failure_ruling ruling)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;

    if (ruling.action != FAILURE_ENDS_JOB || t->fail_message != NULL)
        return;
    arena = arena_new(0);
    t->fail_message =
        xstrdup(failure_policy_explain(job, pod, ruling.rule, arena));
}

static void
note_failure(struct job_tally *t,
             const struct job *job,
             const struct pod *pod,
             int64_t index)
{
    struct failure_ruling ruling = failure_policy_judge(job, pod);
    struct container_state state = {0};

    if ((pod->meta.deleted_at_us != 0 && job_tally_excuses(job))
        || (ruling.rule < 0 && job->spec.requeue && is_disrupted(pod))) {
        t->excused++;
        return;
    }
    pod_main_state(pod, &state);
    if (ruling.action == FAILURE_IS_IGNORED)
        t->excused++;
    else
        t->failed++;
    note_ruling(t, job, pod, ruling);
    note_index_failure(t, job, pod, index, ruling.action, state.finished_at_us);
    note_backoff(t, state.finished_at_us);
}

static void
note_end(struct job_tally *t,
         const struct job *job,
         const struct pod *pod,
         int64_t index)
{
    if (pod->status.phase != NULL
        && strcmp(pod->status.phase, "Succeeded") == 0)
        note_success(t, pod, index);
    else
        note_failure(t, job, pod, index);
    tally_run_note(&t->run, pod);
}

/* A pod that nobody told the end of has been seen for the last time. */
static void
note_gone(struct job_tally *t,
          const struct job *job,
          const struct pod *pod,
          int64_t index)
{
    if (job_tally_excuses(job))
        t->excused++;
    else
        note_failure(t, job, pod, index);
    tally_run_note_gone(&t->run, pod);
}

static void
note_made(struct job_tally *t, int64_t index, int64_t attempt)
{
    struct expected *e = find_expected(t, index, attempt);

    if (e != NULL)
        stop_expecting(t, e);
    t->made++;
    if (index >= 0)
        note_numbers(t, index, attempt);
}

/* A pod is told how its index has failed before it. */
static void
note_past(struct job_tally *t,
          const struct job *job,
          const struct pod *pod,
          int64_t index)
{
    if (job->spec.backoff_limit_per_index != NULL && index >= 0)
        index_ledger_note_failures(&t->indexes,
                                   index,
                                   number_of(pod, ANNOTATION_INDEX_FAILURES),
                                   number_of(pod, ANNOTATION_INDEX_IGNORED),
                                   0);
}

/* A pod as it was seen last, in the place of a pointer of the map. */
enum sight {
    SEEN = 1,
    SEEN_ACTIVE = 2,
    SEEN_READY = 4,
    SEEN_DELETING = 8,
};

static unsigned
sight_of(const struct pod *pod)
{
    return SEEN | (pod_is_finished(pod) ? 0u : SEEN_ACTIVE)
           | (is_ready(pod) ? SEEN_READY : 0u)
           | (pod->meta.deleted_at_us != 0 ? SEEN_DELETING : 0u);
}

static int
change(unsigned was, unsigned is, unsigned what)
{
    return ((is & what) != 0) - ((was & what) != 0);
}

static void
recount(struct job_tally *t, unsigned was, unsigned is, int64_t index)
{
    t->active += change(was, is, SEEN_ACTIVE);
    t->ready += change(was, is, SEEN_READY);
    t->deleting += change(was, is, SEEN_DELETING);
    if (index >= 0 && change(was, is, SEEN_ACTIVE) > 0)
        take_index(t, index);
    else if (index >= 0 && change(was, is, SEEN_ACTIVE) < 0)
        release_index(t, index);
}

void
job_tally_see(struct job_tally *t, const struct job *job, const struct pod *pod)
{
    unsigned was = (unsigned)(uintptr_t)map_find(t->pods, pod->meta.name);
    unsigned is = sight_of(pod);
    int64_t index = -1, attempt = 0;

    job_pod_name_parse(job->meta.name, pod->meta.name, &index, &attempt);
    if (was == 0) {
        note_made(t, index, attempt);
        note_past(t, job, pod, index);
    }
    recount(t, was, is, index);
    map_put(t->pods, pod->meta.name, (void *)(uintptr_t)is);
    if ((is & SEEN_ACTIVE) == 0 && (was == 0 || (was & SEEN_ACTIVE) != 0))
        note_end(t, job, pod, index);
}

void
job_tally_see_gone(struct job_tally *t,
                   const struct job *job,
                   const struct pod *last)
{
    int64_t index = -1, attempt = 0;
    unsigned was;

    job_tally_see(t, job, last);
    was = (unsigned)(uintptr_t)map_remove(t->pods, last->meta.name);
    job_pod_name_parse(job->meta.name, last->meta.name, &index, &attempt);
    recount(t, was, 0, index);
    if ((was & SEEN_ACTIVE) != 0)
        note_gone(t, job, last, index);
}
