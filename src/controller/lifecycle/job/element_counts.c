/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/element_counts.h"

#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/dependencies/element_gate.h"
#include "controller/lifecycle/job/array_ends.h"
#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/job_pod.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "controller/lifecycle/job/pod_end.h"
#include "controller/lifecycle/job/pod_sight.h"
#include "lib/api/job/element_states.h"
#include "lib/api/job/job.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

/* Notes how often the element was interrupted since its last restart. If that
 * is too often, it gets no more pods, and the store is asked to hold it.
 */
static void
note_interrupted(struct job_pod_counts *counts, struct array_end *end, int64_t interrupted)
{
    end->interrupted = interrupted;
    end->is_too_often = counts->maximum_requeues > 0 && interrupted > counts->maximum_requeues;
    index_counts_set_interrupted(&counts->indexes, end->index, end->is_too_often ? 0 : interrupted);
    if (!end->is_too_often)
        return;
    array_state_hold(counts->array, end->index);
}

/* The last pod was deleted while no controller ran, which would have held the
 * element.
 */
static void
load_interrupted(struct job_pod_counts *counts, const struct element_tries *tries)
{
    struct array_end *end;

    index_counts_set_interrupted(&counts->indexes, tries->index, tries->interrupted);
    if (counts->maximum_requeues == 0 || tries->interrupted <= counts->maximum_requeues)
        return;
    end = array_ends_add(array_state_ends(counts->array), NULL, NULL, tries->index, ARRAY_AGAIN);
    end->of_attempt = tries->attempt - 1;
    end->attempt = tries->attempt;
    end->failures = tries->failures;
    end->ignored = tries->ignored;
    note_interrupted(counts, end, tries->interrupted);
}

static void
load_element(struct job_pod_counts *counts, const struct job *job, int64_t index,
             enum element_state state, const struct element_tries *tries)
{
    const int64_t *limit = job->spec.backoff_limit_per_index;

    if (tries != NULL && state == ELEMENT_WAITING) {
        if (tries->attempt > 0)
            array_state_add_try(counts->array, index, tries->attempt);
        if (tries->attempt > 0)
            index_counts_note(&counts->indexes, index, tries->attempt - 1);
        index_counts_note_failures(&counts->indexes, index, tries->failures, tries->ignored, 0);
        counts->failed += tries->failures;
        counts->made += tries->failures;
        if (tries->interrupted > 0)
            load_interrupted(counts, tries);
    }
    if (state == ELEMENT_DONE) {
        index_counts_finish(&counts->indexes, index);
        counts->succeeded++;
    } else if (state == ELEMENT_CANCELLED) {
        index_counts_cancel(&counts->indexes, index);
        if (tries == NULL)
            array_state_note_unstarted(counts->array, index);
        if (!array_state_is_cancelled(counts->array, index))
            array_state_add_vain(counts->array);
        counts->excused++;
    } else if (state == ELEMENT_FAILED) {
        index_counts_fail(&counts->indexes, index);
        counts->failed++;
    } else if (tries != NULL && limit != NULL && tries->failures > *limit) {
        /* The pod was deleted while no controller ran. */
        index_counts_fail(&counts->indexes, index);
        array_ends_add(array_state_ends(counts->array), NULL, NULL, index, ARRAY_FAILED);
        return;
    } else
        return;
    counts->made++;
}

bool
element_counts_load(struct job_pod_counts *counts, const struct job *job,
                    const struct json *elements)
{
    const struct json *chunks = json_get(elements, "chunks");
    struct element_chunk chunk = {0};

    for (uint32_t i = 0; i < json_count(chunks); i++) {
        const struct json *item = json_at(chunks, i);
        const char *text = json_get_text(item, "text");
        int64_t first = json_get_int(item, "number", 0) * ELEMENTS_A_CHUNK;

        if (text == NULL || !element_chunk_parse(&chunk, first, text))
            return false;
        for (int64_t at = 0; at < ELEMENTS_A_CHUNK; at++)
            load_element(counts, job, first + at, (enum element_state)chunk.states[at],
                         element_chunk_tries(&chunk, first + at));
        element_chunk_fini(&chunk);
    }
    array_state_set_loaded(counts->array);
    return true;
}

/* If the pod of the attempt before the recorded one still lives, it was
 * requeued but not ended: it must be ended.
 */
void
element_counts_find_requeued(struct job_pod_counts *counts, const struct job *job)
{
    int64_t index, attempt;

    while (array_state_take_try(counts->array, &index, &attempt)) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const char *pod = job_pod_name(arena, job->meta.name, index, attempt - 1);
        const unsigned is = (unsigned)(uintptr_t)map_find(counts->pods, pod);

        if ((is & SEEN_LIVE) != 0)
            array_state_requeue(counts->array, index);
    }
}

static bool
has_node(const struct pod *pod)
{
    return pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0';
}

void
element_counts_add_end(struct job_pod_counts *counts, const struct job *job, const struct pod *pod,
                       bool is_gone, int64_t index)
{
    const struct index_slot *slot = index_counts_find(&counts->indexes, index);
    bool is_done = pod->status.phase != NULL && strcmp(pod->status.phase, "Succeeded") == 0;
    struct array_end *end;

    if (index < 0)
        return;
    end = array_ends_add(array_state_ends(counts->array), is_gone ? NULL : pod->meta.name,
                         is_gone ? NULL : pod->meta.uid, index,
                         is_done                                            ? ARRAY_DONE
                         : pod_end_is_cancelled(counts, job, pod, index)    ? ARRAY_CANCELLED
                         : index_counts_is_settled(&counts->indexes, index) ? ARRAY_FAILED
                                                                            : ARRAY_AGAIN);
    end->of_attempt = job_pod_number(pod, ANNOTATION_ATTEMPT);
    if (end->of_attempt < 0)
        end->of_attempt = 0;
    if (has_node(pod) || end->of_attempt > 0)
        array_state_note_started(counts->array, index);
    else
        array_state_note_unstarted(counts->array, index);
    array_state_end_requeue(counts->array, index);
    /* needed for a requeue, and to know that a pod has started */
    if (end->outcome != ARRAY_AGAIN
        && (end->of_attempt > 0 || (end->outcome == ARRAY_CANCELLED && has_node(pod))))
        end->attempt = end->of_attempt + 1;
    if (end->outcome == ARRAY_AGAIN && slot != NULL) {
        end->attempt = slot->next_attempt;
        end->failures = slot->failures;
        end->ignored = slot->ignored;
        if (counts->maximum_requeues > 0)
            note_interrupted(counts, end, slot->interrupted + pod_end_is_interrupted(job, pod));
    }
}

void
element_counts_withdraw(struct job_pod_counts *counts, const struct pod *pod, bool is_cancelled)
{
    unsigned was = (unsigned)(uintptr_t)map_find(counts->pods, pod->meta.name);
    int64_t index = job_pod_number(pod, ANNOTATION_INDEX);
    const struct index_slot *slot = index_counts_find(&counts->indexes, index);
    struct array_end *end;

    if (was == 0 || (was & SEEN_WITHDRAWN) != 0)
        return;
    end = array_ends_add(array_state_ends(counts->array), pod->meta.name, pod->meta.uid, index,
                         is_cancelled ? ARRAY_CANCELLED : ARRAY_AGAIN);
    end->since_us = -1; /* send at once */
    end->attempt = job_pod_number(pod, ANNOTATION_ATTEMPT);
    if (!is_cancelled && slot != NULL) {
        end->failures = slot->failures;
        end->ignored = slot->ignored;
        end->interrupted = slot->interrupted;
    }
    map_put(counts->pods, pod->meta.name, (void *)(uintptr_t)(was | SEEN_WITHDRAWN));
}

void
element_counts_give_up(struct job_pod_counts *counts, unsigned most)
{
    struct element_gate *gate = array_state_gate(counts->array);
    struct array_ends *ends = array_state_ends(counts->array);
    int64_t index;

    while (most-- > 0 && index_set_count(&gate->never) > 0) {
        index = index_set_next(&gate->never, 0);
        element_gate_drop(gate, index);
        if (index_set_has(&counts->indexes.taken, index)
            || array_state_is_cancelled(counts->array, index))
            continue;
        index_counts_cancel(&counts->indexes, index);
        array_state_note_unstarted(counts->array, index);
        counts->made++;
        counts->excused++;
        array_state_add_vain(counts->array);
        ends->must_settle = true;
        array_ends_add(ends, NULL, NULL, index, ARRAY_CANCELLED);
    }
}

void
element_counts_keep(struct job_pod_counts *counts, const char *pod_name)
{
    unsigned was = (unsigned)(uintptr_t)map_find(counts->pods, pod_name);

    if (was != 0)
        map_put(counts->pods, pod_name, (void *)(uintptr_t)(was & ~(unsigned)SEEN_WITHDRAWN));
    if (counts->array != NULL)
        array_state_request_visit(counts->array);
}

void
element_counts_forget(struct job_pod_counts *counts, int64_t index, int64_t attempt)
{
    counts->made--;
    if (attempt == 0)
        array_state_note_unstarted(counts->array, index);
    if (array_state_is_cancelled(counts->array, index)) {
        counts->made++;
        counts->excused++;
        index_counts_cancel(&counts->indexes, index);
    } else
        index_counts_withdraw(&counts->indexes, index, attempt);
}

void
element_counts_find_unstarted(const struct job_pod_counts *counts, struct index_set *ret_indexes)
{
    const struct index_set *taken = &counts->indexes.taken;
    const struct index_set *had = array_state_unstarted(counts->array);
    const int64_t total = array_state_tasks(counts->array)->total;
    int64_t next;

    for (int64_t at = index_set_gap(taken, 0); at < total; at = index_set_gap(taken, next)) {
        next = index_set_next(taken, at);
        if (next > total)
            next = total;
        index_set_add_range(ret_indexes, at, next - 1);
    }
    for (size_t i = 0; i < counts->indexes.n_slots; i++)
        if (counts->indexes.slots[i].next_attempt > 0)
            index_set_remove(ret_indexes, counts->indexes.slots[i].index);
    for (size_t i = 0; i < had->count; i++)
        index_set_add_range(ret_indexes, had->ranges[i].first, had->ranges[i].last);
}
