/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/element_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define SINCE "/since" /* records written beside one that cannot be read */

static void
name_chunk(const char *job_uid, int64_t number, const char *end, char out[128])
{
    (void)snprintf(out, 128, "array/%.64s/%" PRId64 "%s", job_uid, number, end);
}

static const char *
find(const struct store *store, const char *job_uid, int64_t number, const char *end)
{
    char name[128];

    name_chunk(job_uid, number, end, name);
    return store_find_secret(store, name);
}

/* Without a record this is true, and all elements wait. */
static bool
parse(const char *text, int64_t number, struct element_chunk *ret_chunk)
{
    *ret_chunk = (struct element_chunk){0};
    return text == NULL || element_chunk_parse(ret_chunk, number * ELEMENTS_A_CHUNK, text);
}

/* Where both have an element, the later record wins. */
static void
add_later(struct element_chunk *chunk, const struct element_chunk *later, int64_t number)
{
    for (int64_t at = 0; at < ELEMENTS_A_CHUNK; at++) {
        if (later->states[at] == ELEMENT_WAITING)
            continue;
        chunk->states[at] = later->states[at];
        element_chunk_set_tries(chunk, &(struct element_tries){
                                           .index = number * ELEMENTS_A_CHUNK + at,
                                       });
    }
    for (size_t i = 0; i < later->n_tries; i++)
        element_chunk_set_tries(chunk, &later->tries[i]);
}

bool
element_record_read(const struct store *store, const char *job_uid, int64_t number,
                    struct element_chunk *ret_chunk)
{
    const char *text = find(store, job_uid, number, "");
    const char *since = find(store, job_uid, number, SINCE);
    struct element_chunk later;
    bool is_whole = parse(text, number, ret_chunk);

    if (since == NULL)
        return is_whole;
    if (parse(since, number, &later))
        add_later(ret_chunk, &later, number);
    else
        is_whole = false;
    element_chunk_fini(&later);
    return is_whole;
}

const char *
element_record_text(const struct store *store, const char *job_uid, int64_t number,
                    struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf both = STRBUF_INIT;
    const char *text = find(store, job_uid, number, "");
    const char *since = find(store, job_uid, number, SINCE);
    struct element_chunk chunk;

    if (since == NULL)
        return text;
    if (element_record_read(store, job_uid, number, &chunk))
        element_chunk_format(&chunk, number * ELEMENTS_A_CHUNK, &both);
    element_chunk_fini(&chunk);
    return both.length > 0 ? arena_strdup(arena, both.text) : text != NULL ? text : since;
}

/* The suffix of the name to write: SINCE beside a record that cannot be read.
 */
static const char *
choose_end(const struct store *store, const struct object *job, int64_t number)
{
    const char *uid = job->meta->uid;
    struct element_chunk chunk;
    bool is_whole = parse(find(store, uid, number, ""), number, &chunk);

    element_chunk_fini(&chunk);
    if (!is_whole && find(store, uid, number, SINCE) == NULL)
        log_error("the record of elements %" PRId64 " to %" PRId64 " of job "
                  "'%s/%s' is damaged, or of a later release: it is left as "
                  "it is, and their further results are recorded beside it",
                  number * ELEMENTS_A_CHUNK, (number + 1) * ELEMENTS_A_CHUNK - 1,
                  job->meta->namespace, job->meta->name);
    return is_whole ? "" : SINCE;
}

void
element_record_write(const struct store *store, struct store_txn *txn, const struct object *job,
                     int64_t number, const struct element_chunk *chunk)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *end = choose_end(store, job, number);
    char name[128];

    if (end[0] == '\0' && find(store, job->meta->uid, number, SINCE) != NULL) {
        name_chunk(job->meta->uid, number, SINCE, name);
        store_txn_remove_secret(txn, name); /* the chunk includes it now */
    }
    name_chunk(job->meta->uid, number, end, name);
    element_chunk_format(chunk, number * ELEMENTS_A_CHUNK, &text);
    store_txn_put_secret(txn, name, text.text);
}

/* ---- Removals ---- */

static int64_t
number_of(const struct meta *meta, const char *annotation)
{
    const char *text = string_map_find(&meta->annotations, annotation);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static const struct object *
find_array(const struct request *q, const struct object *pod)
{
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    const struct object *job = owner != NULL
                                   ? store_find(q->server->store, STORE_PENDING, &job_kind,
                                                pod->meta->namespace, owner->name)
                                   : NULL;

    return job != NULL && job_is_array(job_of(job)) && strcmp(job->meta->uid, owner->uid) == 0
               ? job
               : NULL;
}

/* Whether the pod was ended because of its Job, at a user's request. */
static bool
is_asked_for(const struct job *job, const struct pod *pod)
{
    return job->spec.suspend || string_map_find(&pod->meta.annotations, ANNOTATION_SURPLUS) != NULL
           || string_map_find(&pod->meta.annotations, ANNOTATION_REQUEUE_BEFORE) != NULL;
}

/* Whether the pod was not started, or was lost with its node and the Job is to
 * be requeued then.
 */
static bool
is_interrupted(const struct job *job, const struct pod *pod)
{
    return pod_was_not_started(pod)
           || (job->spec.requeue && pod_was_disrupted(pod) && !pod_is_ended_by_preemption(pod));
}

static const struct object *
find_partition(void *owner, const char *kind, const char *name)
{
    (void)kind;
    return store_find(owner, STORE_PENDING, &partition_kind, NULL, name);
}

/* Without a limit the number of interruptions is not used. */
static bool
is_limited(const struct request *q, const struct pod *pod)
{
    return q->server->policy->limits.maximum_requeues > 0
           || partition_maximum_requeues(pod_spec_partition(&pod->spec), find_partition,
                                         q->server->store)
                  > 0;
}

static int64_t
count_interrupted(const struct request *q, const struct job *job, const struct pod *pod,
                  const struct element_tries *before)
{
    if (!is_limited(q, pod))
        return 0;
    return (before != NULL ? before->interrupted : 0)
           + (is_interrupted(job, pod) && !is_asked_for(job, pod));
}

/* Whether spec.array.cancelled has the task. */
static bool
is_task_cancelled(const struct job *job, int64_t index)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;
    const struct job_array *array = job->spec.array;
    struct task_list tasks, cancelled;

    if (array->cancelled == NULL || array->cancelled[0] == '\0')
        return false;
    arena = arena_new(0);
    return task_list_parse(arena, array->tasks, &tasks, NULL) == 0
           && task_list_parse(arena, array->cancelled, &cancelled, NULL) == 0 && index < tasks.total
           && task_list_index(&cancelled, task_list_at(&tasks, index)) >= 0;
}

/* As the job controller judges: the pod was ended, because the task or the whole
 * array was cancelled, or because another task has failed.
 */
static bool
is_cancelled(const struct job *job, const struct pod *pod, int64_t index)
{
    return pod_was_ended(pod)
           && (job_is_cancelled(job) || job_has_failed_fast(job) || is_task_cancelled(job, index));
}

/* Records the result of a pod that somebody other than the job controller
 * removes; the controller would have settled it. This record informs the
 * controller even if it does not see the removal.
 */
void
element_record_note_pod(struct request *q, struct store_txn *txn, const struct object *object)
{
    const struct object *job = find_array(q, object);
    const struct pod *pod = pod_of(object);
    const char *phase = pod->status.phase;
    struct element_chunk chunk;
    const struct element_tries *requeued;
    struct element_tries tries;
    int64_t number;

    if (job == NULL || string_map_find(&object->meta->annotations, ANNOTATION_INDEX) == NULL)
        return;
    tries.index = number_of(object->meta, ANNOTATION_INDEX);
    if (tries.index < 0
        || (job_of(job)->spec.completions != NULL && tries.index >= *job_of(job)->spec.completions))
        return;
    number = tries.index / ELEMENTS_A_CHUNK;
    (void)element_record_read(q->server->store, job->meta->uid, number, &chunk);
    requeued = element_chunk_tries(&chunk, tries.index);
    if (chunk.states[tries.index % ELEMENTS_A_CHUNK] == ELEMENT_WAITING && requeued != NULL
        && requeued->attempt > number_of(object->meta, ANNOTATION_ATTEMPT)) {
        element_chunk_fini(&chunk);
        return; /* its next pod has that number already */
    }
    tries.attempt = number_of(object->meta, ANNOTATION_ATTEMPT) + 1;
    tries.failures = number_of(object->meta, ANNOTATION_INDEX_FAILURES);
    tries.ignored = number_of(object->meta, ANNOTATION_INDEX_IGNORED);
    tries.interrupted = count_interrupted(q, job_of(job), pod, requeued);
    if (phase != NULL && strcmp(phase, "Succeeded") == 0)
        chunk.states[tries.index % ELEMENTS_A_CHUNK] = ELEMENT_DONE;
    else if (is_cancelled(job_of(job), pod, tries.index)) {
        chunk.states[tries.index % ELEMENTS_A_CHUNK] = ELEMENT_CANCELLED;
        /* only the earlier attempts have started */
        if (pod->spec.node_name == NULL || pod->spec.node_name[0] == '\0')
            tries = (struct element_tries){.index = tries.index, .attempt = tries.attempt - 1};
    } else if (!is_asked_for(job_of(job), pod) && !is_interrupted(job_of(job), pod))
        tries.failures++;
    element_chunk_set_tries(&chunk, &tries);
    element_record_write(q->server->store, txn, job, number, &chunk);
    element_chunk_fini(&chunk);
}

void
element_record_forget(struct request *q, struct store_txn *txn, const struct object *job)
{
    static const char *const ends[] = {"", SINCE};
    const int64_t *n = job_of(job)->spec.completions;

    for (int64_t i = 0; n != NULL && i * ELEMENTS_A_CHUNK < *n; i++)
        for (size_t e = 0; e < ARRAY_SIZE(ends); e++) {
            char name[128];

            name_chunk(job->meta->uid, i, ends[e], name);
            if (store_find_secret(q->server->store, name) != NULL)
                store_txn_remove_secret(txn, name);
        }
}
