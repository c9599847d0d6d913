/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job_tally.h"

#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/job_pod.h"
#include "lib/api/job.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

/* An index that has had a pod and is not done. */
struct tally_slot {
    int64_t index;
    int64_t next_attempt; /* STALE: its index is done */
    int64_t active;       /* more than 0: taken */
};

#define STALE (-1)

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

/* ---- The run that ended last ---- */

static char *
dup_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? xstrdup(text) : NULL;
}

static void
fini_run(struct tally_run *run)
{
    free(run->pod_name);
    free(run->node_name);
    free(run->reason);
    free(run->message);
    *run = (struct tally_run){0};
}

static void
set_usage(struct tally_run *run, const struct pod_usage *usage)
{
    if (usage == NULL)
        return;
    run->has_usage = true;
    run->peak_memory_bytes = usage->peak_memory_bytes;
    run->user_cpu_us = usage->user_cpu_us;
    run->system_cpu_us = usage->system_cpu_us;
}

static void
recall_run(struct tally_run *run, const struct job_status *status)
{
    const struct job_run *known = status->last_run;

    if (known != NULL) {
        run->pod_name = dup_or_null(known->pod_name);
        run->node_name = dup_or_null(known->node_name);
        run->reason = dup_or_null(known->reason);
        run->message = dup_or_null(known->message);
        run->started_at_us = known->started_at_us;
        run->finished_at_us = known->finished_at_us;
        run->signal = known->signal;
        set_usage(run, known->usage);
    }
    if (status->exit_code != NULL) {
        run->has_exit_code = true;
        run->exit_code = *status->exit_code;
    }
}

/* In whole seconds, as it is read back from the status. */
static int64_t
whole_seconds(int64_t us)
{
    return us - us % 1000000;
}

/* By the end, then by the pod's number: whatever order they are seen in. */
static bool
is_later(const struct tally_run *known,
         const struct tally_run *run,
         const char *pod_name)
{
    if (known->pod_name == NULL || run->finished_at_us > known->finished_at_us)
        return true;
    return run->finished_at_us == known->finished_at_us
           && strverscmp(pod_name, known->pod_name) >= 0;
}

/* The pod as it was last seen. */
static void
note_run(struct job_tally *t, const struct pod *pod)
{
    struct container_state state = {0};
    struct tally_run run = {0};
    bool has_state = pod_main_state(pod, &state);

    run.started_at_us = whole_seconds(state.started_at_us);
    run.has_exit_code = t->run.has_exit_code;
    run.exit_code = t->run.exit_code;
    if (has_state && state.terminated) {
        run.finished_at_us = whole_seconds(state.finished_at_us);
        run.signal = state.signal;
        run.has_exit_code = true;
        run.exit_code = state.signal > 0 && state.exit_code == 0
                            ? 128 + state.signal
                            : state.exit_code;
    } else if (run.started_at_us > 0) {
        run.finished_at_us = whole_seconds(pod->meta.deleted_at_us);
    }
    if (!is_later(&t->run, &run, pod->meta.name))
        return;
    run.pod_name = xstrdup(pod->meta.name);
    run.node_name = dup_or_null(pod->spec.node_name);
    run.reason =
        dup_or_null(pod->status.reason != NULL && pod->status.reason[0] != '\0'
                        ? pod->status.reason
                        : state.reason);
    run.message = dup_or_null(pod->status.message);
    set_usage(&run, pod->status.usage);
    fini_run(&t->run);
    t->run = run;
}

/* ---- Indexes ---- */

static size_t
find_slot(const struct job_tally *t, int64_t index)
{
    size_t low = 0, high = t->n_slots;

    if (high > 0 && t->slots[high - 1].index < index)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (t->slots[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct tally_slot *
slot_of(struct job_tally *t, int64_t index)
{
    size_t at = find_slot(t, index);

    if (at < t->n_slots && t->slots[at].index == index)
        return &t->slots[at];
    if (t->n_slots == t->slot_room) {
        t->slot_room = t->slot_room > 0 ? t->slot_room * 2 : 1;
        t->slots = xrealloc_array(t->slots, t->slot_room, sizeof(*t->slots));
    }
    memmove(&t->slots[at + 1],
            &t->slots[at],
            (t->n_slots - at) * sizeof(*t->slots));
    t->n_slots++;
    t->slots[at] = (struct tally_slot){.index = index};
    return &t->slots[at];
}

static void
drop_slot(struct job_tally *t, int64_t index)
{
    size_t at = find_slot(t, index);

    if (at == t->n_slots || t->slots[at].index != index)
        return;
    memmove(&t->slots[at],
            &t->slots[at + 1],
            (t->n_slots - at - 1) * sizeof(*t->slots));
    t->n_slots--;
}

int64_t
job_tally_next_attempt(const struct job_tally *t, int64_t index)
{
    size_t at = find_slot(t, index);

    return at < t->n_slots && t->slots[at].index == index
               ? t->slots[at].next_attempt
               : 0;
}

static void
note_numbers(struct job_tally *t, int64_t index, int64_t attempt)
{
    struct tally_slot *slot;

    if (index >= t->next_index)
        t->next_index = index + 1;
    if (!t->is_numbered || index_set_has(&t->done, index))
        return;
    slot = slot_of(t, index);
    if (attempt >= slot->next_attempt)
        slot->next_attempt = attempt + 1;
}

static void
take_index(struct job_tally *t, int64_t index)
{
    if (!t->is_numbered || index_set_has(&t->done, index))
        return;
    if (slot_of(t, index)->active++ == 0)
        index_set_add(&t->taken, index);
}

static void
release_index(struct job_tally *t, int64_t index)
{
    if (!t->is_numbered || index_set_has(&t->done, index))
        return;
    if (--slot_of(t, index)->active == 0)
        index_set_remove(&t->taken, index);
}

/* Half of the slots at a time, so that each costs the same. */
static void
drop_stale_slots(struct job_tally *t)
{
    size_t kept = 0;

    if (t->n_stale_slots * 2 < t->n_slots)
        return;
    for (size_t i = 0; i < t->n_slots; i++)
        if (t->slots[i].next_attempt != STALE)
            t->slots[kept++] = t->slots[i];
    t->n_slots = kept;
    t->n_stale_slots = 0;
}

static void
finish_index(struct job_tally *t, int64_t index)
{
    size_t at = find_slot(t, index);

    if (!t->is_numbered || index_set_has(&t->done, index))
        return;
    index_set_add(&t->done, index);
    index_set_add(&t->taken, index);
    if (at < t->n_slots && t->slots[at].index == index) {
        t->slots[at].next_attempt = STALE;
        t->n_stale_slots++;
        drop_stale_slots(t);
    }
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
    recall_run(&t->run, status);
    if (is_indexed(job) && status->completed_indexes != NULL) {
        index_set_parse(&t->done, status->completed_indexes);
        index_set_parse(&t->taken, status->completed_indexes);
    } else if (t->is_numbered && !is_indexed(job) && status->succeeded > 0) {
        finish_index(t, 0);
    }
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
    index_set_fini(&t->done);
    index_set_fini(&t->taken);
    fini_run(&t->run);
    free(t->slots);
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
    struct tally_slot *slot;

    if (e == NULL)
        return;
    stop_expecting(t, e);
    if (index + 1 == t->next_index)
        t->next_index = index;
    if (!t->is_numbered || index_set_has(&t->done, index))
        return;
    slot = slot_of(t, index);
    if (attempt + 1 == slot->next_attempt)
        slot->next_attempt = attempt;
    if (slot->next_attempt == 0 && slot->active == 0)
        drop_slot(t, index);
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

static void
note_failure(struct job_tally *t, const struct job *job, const struct pod *pod)
{
    struct container_state state;

    if ((pod->meta.deleted_at_us != 0 && job_tally_excuses(job))
        || (job->spec.requeue && is_disrupted(pod))) {
        t->excused++;
        return;
    }
    t->failed++;
    if (pod_main_state(pod, &state)
        && state.finished_at_us > t->last_failure_us)
        t->last_failure_us = state.finished_at_us;
}

static void
note_end(struct job_tally *t,
         const struct job *job,
         const struct pod *pod,
         int64_t index)
{
    if (pod->status.phase != NULL
        && strcmp(pod->status.phase, "Succeeded") == 0) {
        t->succeeded++;
        if (index >= 0)
            finish_index(t, index);
    } else {
        note_failure(t, job, pod);
    }
    note_run(t, pod);
}

/* A pod that nobody told the end of has been seen for the last time. */
static void
note_gone(struct job_tally *t, const struct job *job, const struct pod *pod)
{
    if (job_tally_excuses(job))
        t->excused++;
    else
        note_failure(t, job, pod);
    note_run(t, pod);
    if (t->run.reason == NULL && strcmp(t->run.pod_name, pod->meta.name) == 0)
        t->run.reason = xstrdup(REASON_POD_DELETED);
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
    if (was == 0)
        note_made(t, index, attempt);
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
        note_gone(t, job, last);
}
