/* SPDX-License-Identifier: Apache-2.0 */
/* The record of elements in the store is the truth about what has ended; the counts in memory
 * follow it. It is read before anything is decided about an array, and counted anew when ends
 * were refused as outdated. Ends are sent a second after they happened, or when there are
 * many: a pod that is removed too early makes the store keep its row of history until that has
 * been written.
 */
#include "controller/lifecycle/job/array_sync.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/dependencies/dependencies.h"
#include "controller/lifecycle/dependencies/element_gate.h"
#include "controller/lifecycle/job/array_calls.h"
#include "controller/lifecycle/job/array_ends.h"
#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/element_counts.h"
#include "controller/lifecycle/job/job_memory.h"
#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "controller/lifecycle/job/job_sync.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/job/job.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/client/event_recorder.h"
#include "lib/json/json.h"

#define AGAIN_AFTER_MS 1000

/* Ended pods of an array are kept this long, so that most have their history
 * row before they are deleted; otherwise the store keeps the row until it is
 * written.
 */
#define SETTLE_AFTER_US INT64_C(1000000)
#define SETTLE_MANY     256

struct array_sync {
    struct array_sync_settings settings;
};

static struct job_memory *
find_memory(struct array_sync *sync, const struct object *job)
{
    char key[OBJECT_KEY_SIZE];
    struct job_memory *m;

    object_key(job, key);
    m = job_memories_peek(sync->settings.memories, key);
    return m != NULL && m->counts->array != NULL && strcmp(m->counts->job_uid, job->meta->uid) == 0
               ? m
               : NULL;
}

static void
on_elements_read(const struct object *job, const struct json *elements, void *context)
{
    struct array_sync *sync = context;
    struct job_memory *m = find_memory(sync, job);
    char key[OBJECT_KEY_SIZE];

    object_key(job, key);
    if (m == NULL || array_state_is_loaded(m->counts->array))
        return; /* read twice: the job's state was dropped in between */
    if (!array_state_end_load(m->counts->array)) {
        /* The record may be older than the removal of a pod that is no longer seen. */
        workqueue_add(sync->settings.queue, key);
        return;
    }
    if (elements == NULL) {
        workqueue_add_after(sync->settings.queue, key, AGAIN_AFTER_MS);
        return;
    }
    if (!element_counts_load(m->counts, job_of(job), elements)) {
        array_state_set_broken(m->counts->array);
        log_error("job '%s/%s' is not processed: the record of its elements "
                  "is of a later release, or damaged",
                  job->meta->namespace, job->meta->name);
        return;
    }
    job_memories_recount(sync->settings.memories, job_of(job), m->counts);
    element_counts_find_requeued(m->counts, job_of(job));
    workqueue_add(sync->settings.queue, key);
}

bool
array_sync_knows_elements(struct array_sync *sync, struct job_memory *m, const struct object *job)
{
    struct array_state *a = m->counts->array;

    if (a == NULL || array_state_is_loaded(a))
        return true;
    if (array_state_begin_load(a))
        array_calls_read(sync->settings.client, job, on_elements_read, sync);
    return false;
}

static bool
has_index(const struct json *list, int64_t index)
{
    int64_t is;

    for (uint32_t i = 0; i < json_count(list); i++)
        if (json_to_int(json_at(list, i), &is) == 0 && is == index)
            return true;
    return false;
}

static enum element_state
state_of_end(const struct array_end *end)
{
    switch (end->outcome) {
    case ARRAY_DONE:
        return ELEMENT_DONE;
    case ARRAY_FAILED:
        return ELEMENT_FAILED;
    case ARRAY_CANCELLED:
        return ELEMENT_CANCELLED;
    case ARRAY_AGAIN:
        break;
    }
    return ELEMENT_WAITING;
}

static void on_settled(const struct object *job, const struct json *kept, const struct json *stale,
                       const struct json *held, void *context);

static void
send_ends(struct array_sync *sync, struct job_memory *m, const struct object *job)
{
    struct array_ends *ends = array_state_ends(m->counts->array);

    ends->must_settle = false;
    m->is_settling = true;
    array_calls_settle(sync->settings.client, job, ends, on_settled, sync);
}

/* The message has the words of a held job that is not an array. */
static void
record_held(struct array_sync *sync, const struct object *job, const struct job_pod_counts *counts,
            const struct array_end *end)
{
    const int64_t task = task_list_at(array_state_tasks(counts->array), end->index);
    CLEANUP_FREE char *words =
        xasprintf("task %" PRId64 " held: interrupted %" PRId64 " times, started again "
                  "%" PRId64 " time%s at most; 'kctl release %" PRId64 "_%" PRId64 "' "
                  "lets it run again",
                  task, end->interrupted, counts->maximum_requeues,
                  counts->maximum_requeues == 1 ? "" : "s", job_of(job)->status.id, task);

    event_recorder_record(sync->settings.event_recorder, job, RECORD_WARNING, EVENT_HELD, words);
}

static void
on_settled(const struct object *job, const struct json *kept, const struct json *stale,
           const struct json *held, void *context)
{
    struct array_sync *sync = context;
    struct job_memory *m = find_memory(sync, job);
    struct array_ends *ends;
    char key[OBJECT_KEY_SIZE];

    object_key(job, key);
    if (m == NULL)
        return;
    m->is_settling = false;
    ends = array_state_ends(m->counts->array);
    list_foreach_safe(pos, &ends->list)
    {
        struct array_end *end = container_of(pos, struct array_end, link);

        if (!end->is_sent)
            break;
        end->is_sent = false;
        if (kept == NULL)
            continue;
        if (end->is_too_often && has_index(held, end->index))
            record_held(sync, job, m->counts, end);
        else if (end->is_too_often) /* released or requeued meanwhile */
            array_state_follow_again(m->counts->array);
        if (end->of_attempt < 0 && has_index(kept, end->index))
            element_counts_keep(m->counts, end->pod);
        else if (end->outcome != ARRAY_AGAIN && !has_index(stale, end->index))
            dependencies_see_element(sync->settings.dependencies, job->meta->uid, end->index,
                                     state_of_end(end));
        array_ends_drop(ends, end);
    }
    /* The next request is sent at once if many ends are left, since more
     * elements may end during a sync than one request holds.
     */
    if (json_count(stale) > 0) /* the counts include elements that run again */
        job_memories_forget(sync->settings.memories, key);
    else if (kept != NULL && ends->count >= SETTLE_MANY)
        send_ends(sync, m, job);
    if (kept == NULL)
        workqueue_add_after(sync->settings.queue, key, AGAIN_AFTER_MS);
    else
        workqueue_add(sync->settings.queue, key);
}

void
array_sync_settle(struct array_sync *sync, const char *key, struct job_memory *m,
                  const struct object *job)
{
    int64_t now_us = clock_monotonic_us(sync->settings.clock);
    struct array_ends *ends;
    struct array_end *first;
    int64_t left;

    if (m->counts->array == NULL || m->is_settling)
        return;
    ends = array_state_ends(m->counts->array);
    if (ends->count == 0)
        return;
    first = container_of(ends->list.next, struct array_end, link);
    if (first->since_us == 0)
        first->since_us = now_us;
    left = first->since_us + SETTLE_AFTER_US - now_us;
    if (left > 0 && ends->count < SETTLE_MANY && m->counts->active > 0 && !ends->must_settle) {
        workqueue_add_after(sync->settings.queue, key, left / 1000 + 1);
        return;
    }
    send_ends(sync, m, job);
}

struct pod_count_walk {
    struct job_sync *calls;
    struct job_pod_counts *counts;
    int64_t n_withdraw;
};

static bool
is_placed(const struct pod *pod)
{
    return pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0';
}

/* A pod that has not started is withdrawn if its element is held; the pod of a
 * cancelled element is ended in any case.
 */
static void
check_pod(const struct object *object, void *context)
{
    struct pod_count_walk *l = context;
    const struct array_state *a = l->counts->array;
    const struct pod *pod = pod_of(object);
    int64_t index = -1, attempt;

    if (pod_is_finished(pod) || pod->meta.deleted_at_us != 0
        || !job_pod_name_parse(job_sync_job(l->calls)->meta->name, pod->meta.name, &index,
                               &attempt))
        return;
    if (is_placed(pod)) {
        if (array_state_is_cancelled(a, index))
            job_sync_delete_pod(l->calls, object);
        else if (array_state_is_requeued(a, index))
            job_sync_requeue_pod(l->calls, object);
        return;
    }
    if (array_state_is_barred(a, index)) {
        element_counts_withdraw(l->counts, pod, array_state_is_cancelled(a, index));
    } else if (l->n_withdraw > 0) {
        l->n_withdraw--;
        element_counts_withdraw(l->counts, pod, false);
    }
}

void
array_sync_visit_pods(struct array_sync *sync, struct job_sync *calls,
                      struct job_pod_counts *counts, int64_t n_withdraw)
{
    struct pod_count_walk l = {calls, counts, n_withdraw};
    struct array_ends *ends;

    if (counts->array == NULL || (!array_state_take_visit(counts->array) && n_withdraw == 0))
        return;
    object_cache_visit_owned(sync->settings.cache, counts->job_uid, check_pod, &l);
    ends = array_state_ends(counts->array);
    ends->must_settle = ends->count > 0;
}

int64_t
array_sync_see_gate(struct array_sync *sync, struct job_memory *m, const struct object *job)
{
    struct array_state *a = m->counts->array;
    struct element_gate *gate;
    int64_t wake_after_us;

    if (a == NULL)
        return 0;
    gate = dependencies_gate(sync->settings.dependencies, job, &wake_after_us);
    array_state_set_gate(a, gate);
    if (gate == NULL)
        return 0;
    array_state_note_free(a, gate->freed_from);
    gate->freed_from = INT64_MAX;
    if (m->counts->waits_for != NULL && m->counts->waits_for->verdict != DEPENDENCY_IS_MET)
        return wake_after_us;
    if (!sync->settings.holds_never_satisfied && array_state_ends(a)->count < SETTLE_MANY)
        element_counts_give_up(m->counts, SETTLE_MANY);
    return wake_after_us;
}

struct array_sync *
array_sync_new(const struct array_sync_settings *settings)
{
    struct array_sync *sync = xnew(struct array_sync);

    sync->settings = *settings;
    return sync;
}

void
array_sync_free(struct array_sync *sync)
{
    free(sync);
}

void
array_sync_hold_never_satisfied(struct array_sync *sync, bool holds)
{
    sync->settings.holds_never_satisfied = holds;
}
