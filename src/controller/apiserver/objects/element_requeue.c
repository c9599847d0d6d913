/* SPDX-License-Identifier: Apache-2.0 */
/* A requeue and the end of the old run may come in any order, also across a kill. The record
 * of the element decides: as soon as it names the next attempt, results of earlier ones no
 * longer count, whoever reports them.
 */
#include "controller/apiserver/objects/element_requeue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/apiserver/objects/element_record.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"

struct chunk_reader {
    const struct store *store;
    const struct object *job;
    struct element_chunk chunk; /* number `number`; -1: none is read */
    int64_t number;
    bool is_whole;
};

static int64_t
next_of(const struct element_chunk *chunk, int64_t index)
{
    const struct element_tries *tries = element_chunk_tries(chunk, index);

    return tries != NULL ? tries->attempt : 0;
}

const struct object *
element_requeue_pod(const struct store *store, const struct object *job, int64_t index,
                    int64_t attempt)
{
    const struct object *found = NULL;
    char name[512];

    for (int64_t a = attempt > 0 ? attempt - 1 : 0; a <= attempt + 1; a++) {
        const struct object *pod;
        int length = snprintf(name, sizeof(name), "%s-%" PRId64, job->meta->name, index);

        if (a > 0)
            (void)snprintf(name + length, sizeof(name) - (size_t)length, "-r%" PRId64, a);
        pod = store_find(store, STORE_PENDING, &pod_kind, job->meta->namespace, name);
        if (pod != NULL && meta_is_controlled_by(pod->meta, job))
            found = pod;
    }
    return found;
}

static void
read_chunk(struct chunk_reader *r, int64_t index)
{
    if (r->number == index / ELEMENTS_A_CHUNK)
        return;
    element_chunk_fini(&r->chunk);
    r->number = index / ELEMENTS_A_CHUNK;
    r->is_whole = element_record_read(r->store, r->job->meta->uid, r->number, &r->chunk);
}

/* The number of the element's next attempt; 0: it has not started, or must not
 * change.
 */
static int64_t
find_attempt(struct chunk_reader *r, int64_t index)
{
    const struct object *pod;
    const char *number;
    int64_t next;

    read_chunk(r, index);
    next = next_of(&r->chunk, index);
    if (!r->is_whole)
        return 0;
    switch (r->chunk.states[index % ELEMENTS_A_CHUNK]) {
    case ELEMENT_DONE:
    case ELEMENT_FAILED:
        return next > 0 ? next : 1;
    case ELEMENT_CANCELLED:
        return 0;
    default:
        break;
    }
    pod = element_requeue_pod(r->store, r->job, index, next);
    if (pod == NULL || pod_of(pod)->spec.node_name == NULL
        || pod_of(pod)->spec.node_name[0] == '\0')
        return 0;
    number = string_map_find(&pod->meta->annotations, ANNOTATION_ATTEMPT);
    next = (number != NULL ? strtoll(number, NULL, 10) : 0) + 1;
    return next;
}

static bool
is_cancelled(const struct task_list *cancelled, const struct chunk_reader *r, int64_t task,
             int64_t index)
{
    return task_list_index(cancelled, task) >= 0
           || r->chunk.states[index % ELEMENTS_A_CHUNK] == ELEMENT_CANCELLED;
}

int
element_requeue_find(const struct store *store, const struct object *job,
                     const struct task_list *meant, struct arena *arena,
                     struct element_requeue *ret_found, struct error *err)
{
    const struct job_array *array = job_of(job)->spec.array;
    struct task_range *ranges = arena_new_array(arena, struct task_range, (size_t)meant->total + 1);
    struct chunk_reader r = {.store = store, .job = job, .number = -1};
    struct element_requeue found = {0};
    struct task_list all, cancelled;
    size_t n = 0;

    if (task_list_parse(arena, array->tasks, &all, err) < 0
        || task_list_parse(arena, array->cancelled != NULL ? array->cancelled : "", &cancelled, err)
               < 0)
        return -EINVAL;
    for (int64_t i = 0; i < meant->total; i++) {
        const int64_t task = task_list_at(meant, i);
        const int64_t index = task_list_index(&all, task);

        if (index < 0)
            continue;
        read_chunk(&r, index);
        if (is_cancelled(&cancelled, &r, task, index))
            found.n_cancelled++;
        else if (find_attempt(&r, index) > 0)
            ranges[n++] = (struct task_range){.first = task, .last = task, .step = 1};
    }
    element_chunk_fini(&r.chunk);
    if (n > 0 && task_list_of_ranges(arena, ranges, n, &found.tasks, err) < 0)
        return -EINVAL;
    *ret_found = found;
    return 0;
}

void
element_requeue_note(struct request *q, struct store_txn *txn, const struct object *job,
                     const struct task_list *tasks)
{
    struct chunk_reader r = {
        .store = q->server->store,
        .job = job,
        .number = -1,
    };
    int64_t written = -1;
    struct task_list all;

    if (task_list_parse(q->arena, job_of(job)->spec.array->tasks, &all, NULL) < 0)
        return;
    for (int64_t i = 0; i < tasks->total; i++) {
        const int64_t index = task_list_index(&all, task_list_at(tasks, i));
        int64_t attempt;

        if (written >= 0 && index / ELEMENTS_A_CHUNK != written)
            element_record_write(r.store, txn, job, written, &r.chunk);
        attempt = find_attempt(&r, index);
        written = r.number;
        if (attempt == 0)
            continue;
        r.chunk.states[index % ELEMENTS_A_CHUNK] = ELEMENT_WAITING;
        element_chunk_set_tries(&r.chunk, &(struct element_tries){
                                              .index = index,
                                              .attempt = attempt,
                                          });
    }
    if (written >= 0)
        element_record_write(r.store, txn, job, written, &r.chunk);
    element_chunk_fini(&r.chunk);
}

void
element_requeue_visit(const struct store *store, const struct object *job,
                      const struct task_list *tasks,
                      bool (*visit)(const struct object *pod, void *context), void *context)
{
    CLEANUP(arena_freep) struct arena *scratch = arena_new(0);
    struct chunk_reader r = {.store = store, .job = job, .number = -1};
    struct task_list all;
    bool goes_on = task_list_parse(scratch, job_of(job)->spec.array->tasks, &all, NULL) == 0;

    for (int64_t i = 0; goes_on && i < tasks->total; i++) {
        const int64_t index = task_list_index(&all, task_list_at(tasks, i));
        const struct object *pod;

        if (index < 0)
            continue;
        read_chunk(&r, index);
        pod = element_requeue_pod(store, job, index, next_of(&r.chunk, index));
        goes_on = pod == NULL || visit(pod, context);
    }
    element_chunk_fini(&r.chunk);
}
