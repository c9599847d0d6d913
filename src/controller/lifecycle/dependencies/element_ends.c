/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/dependencies/element_ends.h"

#include <stdlib.h>

#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

void
element_ends_read_tasks(struct arena *arena, const struct job *job, struct task_list *ret_tasks)
{
    struct error err = {0};

    /* The API server has validated the list. */
    if (!job_is_array(job) || task_list_parse(arena, job->spec.array->tasks, ret_tasks, &err) < 0)
        *ret_tasks = (struct task_list){0};
}

struct element_ends *
element_ends_new(void)
{
    struct element_ends *ends = xnew(struct element_ends);

    ends->arena = arena_new(0);
    return ends;
}

void
element_ends_free(struct element_ends *ends)
{
    if (ends == NULL)
        return;
    index_set_fini(&ends->ok);
    index_set_fini(&ends->bad);
    index_set_fini(&ends->cancelled);
    index_set_fini(&ends->begun);
    arena_free(ends->arena);
    free(ends);
}

void
element_ends_follow(struct element_ends *ends, const struct job *job)
{
    if (ends->is_known)
        return;
    element_ends_read_tasks(ends->arena, job, &ends->tasks);
    ends->is_known = true;
    ends->is_loaded = ends->is_loaded || ends->tasks.total == 0;
}

bool
element_ends_needs_load(const struct element_ends *ends)
{
    return ends->is_known && !ends->is_loaded;
}

void
element_ends_begin(struct element_ends *ends, int64_t index)
{
    if (!index_set_has(&ends->ok, index) && !index_set_has(&ends->bad, index))
        index_set_add(&ends->begun, index);
}

/* The later state counts: an element that was about to be cancelled may have
 * completed, and an ended one may run again.
 */
void
element_ends_see(struct element_ends *ends, int64_t index, enum element_state state)
{
    index_set_remove(&ends->begun, index);
    index_set_remove(&ends->ok, index);
    index_set_remove(&ends->bad, index);
    index_set_remove(&ends->cancelled, index);
    if (state == ELEMENT_WAITING)
        return;
    index_set_add(state == ELEMENT_DONE ? &ends->ok : &ends->bad, index);
    if (state == ELEMENT_CANCELLED)
        index_set_add(&ends->cancelled, index);
}

bool
element_ends_load(struct element_ends *ends, const struct json *elements)
{
    const struct json *chunks = json_get(elements, "chunks");
    struct element_chunk chunk = {0};

    if (chunks == NULL)
        return false;
    for (uint32_t i = 0; i < json_count(chunks); i++) {
        const struct json *item = json_at(chunks, i);
        const char *text = json_get_text(item, "text");
        int64_t first = json_get_int(item, "number", 0) * ELEMENTS_A_CHUNK;

        if (text == NULL || !element_chunk_parse(&chunk, first, text))
            return false;
        for (int64_t at = 0; at < ELEMENTS_A_CHUNK; at++)
            if (chunk.states[at] != ELEMENT_WAITING)
                element_ends_see(ends, first + at, (enum element_state)chunk.states[at]);
        for (size_t t = 0; t < chunk.n_tries; t++)
            if (chunk.tries[t].attempt > 0)
                element_ends_begin(ends, chunk.tries[t].index);
        element_chunk_fini(&chunk);
    }
    ends->is_loaded = true;
    return true;
}

void
element_ends_reset(struct element_ends *ends)
{
    index_set_fini(&ends->ok);
    index_set_fini(&ends->bad);
    index_set_fini(&ends->cancelled);
    ends->ok = ends->bad = ends->cancelled = (struct index_set){0};
    ends->is_loaded = ends->tasks.total == 0;
}

void
element_ends_close(struct element_ends *ends, bool is_ok, bool is_gone)
{
    ends->is_lost = ends->is_lost || (is_gone && !is_ok && !ends->is_loaded);
    ends->is_over = true;
    ends->is_whole_ok = ends->is_whole_ok || is_ok;
    ends->is_loaded = is_ok || is_gone || ends->tasks.total == 0;
}
