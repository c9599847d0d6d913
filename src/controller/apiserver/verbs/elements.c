/* SPDX-License-Identifier: Apache-2.0 */
/* elements.c - GET jobs/NAME/elements?tasks=7,9-12&limit=100&continue=...: the
 * state of elements of an array, with exit code and usage
 *
 * {"items": [{"task": 7, "index": 6, "state": "Completed", "attempt": 1,
 *   "node": "n1", "exitCode": 0, "cpuTimeMicros": ...}, ...],
 *  "continue": "..."}
 *
 * The state of an element with a pod is the pod's. For others the store's
 * record has the result, and history the details.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/element_record.h"
#include "controller/apiserver/objects/element_requeue.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/history/history.h"
#include "controller/history/history_question.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/task_list.h"
#include "lib/api/value/task_sets.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MOST    1000
#define ROWS_MOST     5000 /* of history, for one page */

struct element_listing {
    struct request *q;
    const struct object *job;
    struct task_list tasks, held, cancelled, wanted;
    struct json *items;
    struct json *answer;
    struct element_chunk chunk;
    int64_t number;                /* of `chunk`; -1: none is read */
    int64_t first_gone, last_gone; /* indexes whose pods are gone; -1: none */
    struct history_question question;
};

/* ---- The record, for the job controller ---- */

/* Makes {"chunks": [{"number": 0, "text": ...}]} of the chunks that exist. */
static struct json *
list_chunks(struct request *q, const struct object *job)
{
    const int64_t n = *job_of(job)->spec.completions;
    struct json *answer = json_object(q->arena);
    struct json *chunks = json_array(q->arena);

    for (int64_t i = 0; i * ELEMENTS_A_CHUNK < n; i++) {
        const char *text = element_record_text(q->server->store, job->meta->uid, i, q->arena);
        struct json *chunk;

        if (text == NULL)
            continue;
        chunk = json_object(q->arena);
        json_set_int(q->arena, chunk, "number", i);
        json_set_string(q->arena, chunk, "text", text);
        json_append(q->arena, chunks, chunk);
    }
    json_set(q->arena, answer, "chunks", chunks);
    return answer;
}

/* ---- One element ---- */

static const struct element_chunk *
read_chunk(struct element_listing *l, int64_t index)
{
    if (l->number != index / ELEMENTS_A_CHUNK) {
        element_chunk_fini(&l->chunk);
        l->number = index / ELEMENTS_A_CHUNK;
        (void)element_record_read(l->q->server->store, l->job->meta->uid, l->number, &l->chunk);
    }
    return &l->chunk;
}

static enum job_state
state_of_pod(const struct pod *pod)
{
    const char *phase = pod->status.phase != NULL ? pod->status.phase : "";

    if (strcmp(phase, "Succeeded") == 0)
        return JOB_STATE_COMPLETED;
    /* Whoever deleted it decides what its end was; that is being written. */
    if (strcmp(phase, "Failed") == 0)
        return pod_was_ended(pod) ? JOB_STATE_ENDING : JOB_STATE_FAILED;
    if (strcmp(phase, "Unknown") == 0)
        return JOB_STATE_UNKNOWN;
    if (pod_is_ending(pod))
        return JOB_STATE_ENDING;
    if (strcmp(phase, "Running") == 0)
        return JOB_STATE_RUNNING;
    return pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0' ? JOB_STATE_STARTING
                                                                         : JOB_STATE_PENDING;
}

static void
set_time(struct arena *arena, struct json *o, const char *name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (us == 0)
        return;
    time_format(us, false, text);
    json_set_string(arena, o, name, text);
}

static void
describe_pod(struct element_listing *l, struct json *item, const struct object *object)
{
    struct arena *arena = l->q->arena;
    const struct pod *pod = pod_of(object);
    struct container_state state = {0};
    const char *attempt = string_map_find(&object->meta->annotations, ANNOTATION_ATTEMPT);

    json_set_int(arena, item, "attempt", (attempt != NULL ? strtoll(attempt, NULL, 10) : 0) + 1);
    json_set_string(arena, item, "pod", object->meta->name);
    if (pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0')
        json_set_string(arena, item, "node", pod->spec.node_name);
    if (!pod_main_state(pod, &state))
        return;
    set_time(arena, item, "startTime", state.started_at_us);
    if (!state.terminated)
        return;
    set_time(arena, item, "endTime", state.finished_at_us);
    json_set_int(arena, item, "exitCode", state.exit_code);
    if (state.signal > 0)
        json_set_int(arena, item, "signal", state.signal);
}

/* The state of an element that has no pod. */
static enum job_state
state_of_record(const struct element_listing *l, enum element_state state, int64_t task)
{
    switch (state) {
    case ELEMENT_DONE:
        return JOB_STATE_COMPLETED;
    case ELEMENT_FAILED:
        return JOB_STATE_FAILED;
    case ELEMENT_CANCELLED:
        return JOB_STATE_CANCELLED;
    case ELEMENT_WAITING:
        break;
    }
    if (job_is_finished(job_of(l->job)) || task_list_index(&l->cancelled, task) >= 0)
        return JOB_STATE_CANCELLED;
    return job_is_held(job_of(l->job)) || task_list_index(&l->held, task) >= 0 ? JOB_STATE_HELD
                                                                               : JOB_STATE_PENDING;
}

static void
add_element(struct element_listing *l, int64_t task, int64_t index)
{
    struct arena *arena = l->q->arena;
    const struct element_chunk *chunk = read_chunk(l, index);
    const struct element_tries *tries = element_chunk_tries(chunk, index);
    enum element_state record = (enum element_state)chunk->states[index % ELEMENTS_A_CHUNK];
    const struct object *pod =
        element_requeue_pod(l->q->server->store, l->job, index, tries != NULL ? tries->attempt : 0);
    struct json *item = json_object(arena);
    enum job_state state =
        pod != NULL ? state_of_pod(pod_of(pod)) : state_of_record(l, record, task);

    json_set_int(arena, item, "task", task);
    json_set_int(arena, item, "index", index);
    json_set_string(arena, item, "state", job_state_words(state)->name);
    json_append(arena, l->items, item);
    if (pod != NULL) {
        describe_pod(l, item, pod);
    } else if (record != ELEMENT_WAITING || tries != NULL) {
        if (l->first_gone < 0 || index < l->first_gone)
            l->first_gone = index;
        if (index > l->last_gone)
            l->last_gone = index;
    }
}

/* ---- History ---- */

static bool
has_ended(const struct json *item)
{
    return job_state_is_ended(job_state_of_name(json_get_text(item, "state")));
}

/* Copies a row's values to the element. Rows are in the order of their ends, so
 * the values of the last attempt remain. An element that runs again is pending
 * or held, whatever the state of its last attempt.
 */
static void
take_row(struct element_listing *l, struct json *item, const struct json *row)
{
    static const char
        *const names[] =
            {
                "attempt",
                "pod",
                "node",
                "startTime",
                "endTime",
                "exitCode",
                "signal",
                "reason",
                "cpuTimeMicros",
                "peakMemoryBytes",
                "rssBytes",
                "cacheBytes",
                "gpus",
                "gpuMillis",
                "gpuPeakMemoryBytes",
                "gpuMemoryBytes",
                "readBytes",
                "writtenBytes",
                "state", /* this and the next only for an element that has ended */
                "endedBy",
            };
    const size_t n = ARRAY_SIZE(names) - (has_ended(item) ? 0 : 2);

    if (json_get_int(item, "attempt", 0) > json_get_int(row, "attempt", 0))
        return;
    for (size_t i = 0; i < n; i++) {
        struct json *value = json_get(row, names[i]);

        if (value != NULL)
            json_set(l->q->arena, item, names[i], value);
    }
}

static int
compare_items(const void *a, const void *b)
{
    int64_t x = json_get_int(*(const struct json *const *)a, "index", 0);
    int64_t y = json_get_int(*(const struct json *const *)b, "index", 0);

    return (x > y) - (x < y);
}

static struct json *
find_item(struct json **sorted, uint32_t count, int64_t index)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (json_get_int(sorted[middle], "index", 0) < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && json_get_int(sorted[low], "index", -1) == index ? sorted[low] : NULL;
}

static void
take_rows(struct element_listing *l, const struct json *rows)
{
    uint32_t count = json_count(l->items);
    struct json **sorted = arena_new_array(l->q->arena, struct json *, count + 1);

    for (uint32_t i = 0; i < count; i++)
        sorted[i] = json_at(l->items, i);
    qsort(sorted, count, sizeof(*sorted), compare_items);
    for (uint32_t i = 0; i < json_count(rows); i++) {
        const struct json *row = json_at(rows, i);
        struct json *item = find_item(sorted, count, json_get_int(row, "index", -1));

        if (item != NULL)
            take_row(l, item, row);
    }
}

static void
finish(struct element_listing *l)
{
    reply_tree(&l->q->reply, 200, l->answer);
    request_finish_durably(l->q);
}

static void
answered(const char *text, size_t length, const struct error *err, void *context)
{
    struct element_listing *l = context;

    /* Without history the items still have most values. */
    if (err == NULL)
        take_rows(l, json_get(json_parse(l->q->arena, text, length, NULL, NULL), "items"));
    else
        json_set(l->q->arena, l->answer, "notice",
                 json_stringf(l->q->arena, "history is not available: %s", err->text));
    finish(l);
}

/* All rights are given, because the principal may read the Job and so its rows.
 */
static void
ask_history(struct element_listing *l)
{
    struct error err = {0};

    l->question = (struct history_question){
        .rights.is_all = true,
        .job_id = job_of(l->job)->status.id,
        .has_index = true,
        .index = l->first_gone,
        .last_index = l->last_gone,
        .limit = ROWS_MOST,
    };
    if (l->q->server->history == NULL
        || history_ask(l->q->server->history, &l->question, answered, l, &err) < 0)
        finish(l);
}

/* ---- The request ---- */

static bool
read_list(struct element_listing *l, const char *text, struct task_list *ret_list)
{
    struct error err = {0};

    if (task_list_parse(l->q->arena, text != NULL ? text : "", ret_list, &err) == 0)
        return true;
    reply_bad_request(&l->q->reply, "tasks: %s", err.text);
    return false;
}

static const char *
option(const struct element_listing *l, const char *name)
{
    return parameter_find(l->q->options.parameters, l->q->options.n_parameters, name);
}

static int64_t
number_of(const struct element_listing *l, const char *name, int64_t fallback, int64_t most)
{
    const char *text = option(l, name);
    int64_t n = text != NULL ? strtoll(text, NULL, 10) : fallback;

    return n < 0 ? 0 : n > most ? most : n;
}

static bool
read_lists(struct element_listing *l)
{
    const struct job_array *array = job_of(l->job)->spec.array;
    const char *asked = option(l, "tasks");
    struct task_list wanted;
    struct error err = {0};

    if (!read_list(l, array->tasks, &l->tasks) || !read_list(l, array->held, &l->held)
        || !read_list(l, array->cancelled, &l->cancelled)
        || !read_list(l, asked != NULL ? asked : array->tasks, &wanted))
        return false;
    if (task_sets_intersect(l->q->arena, &wanted, &l->tasks, &l->wanted, &err) == 0)
        return true;
    reply_bad_request(&l->q->reply, "tasks: %s", err.text);
    return false;
}

static void
list_elements(struct element_listing *l)
{
    struct arena *arena = l->q->arena;
    int64_t limit = number_of(l, "limit", LIMIT_DEFAULT, LIMIT_MOST);
    int64_t at = number_of(l, "continue", 0, l->wanted.total);

    for (; at < l->wanted.total && json_count(l->items) < limit; at++) {
        int64_t task = task_list_at(&l->wanted, at);

        add_element(l, task, task_list_index(&l->tasks, task));
    }
    element_chunk_fini(&l->chunk);
    json_set(arena, l->answer, "items", l->items);
    if (at < l->wanted.total)
        json_set(arena, l->answer, "continue", json_stringf(arena, "%" PRId64, at));
}

static void
answer_people(struct request *q, const struct object *job)
{
    struct element_listing *l = arena_alloc(q->arena, sizeof(*l));

    *l = (struct element_listing){
        .q = q,
        .job = job,
        .items = json_array(q->arena),
        .answer = json_object(q->arena),
        .number = -1,
        .first_gone = -1,
        .last_gone = -1,
    };
    if (!read_lists(l)) {
        request_finish(q);
        return;
    }
    list_elements(l);
    if (l->first_gone >= 0)
        ask_history(l);
    else
        finish(l);
}

void
verb_get_elements(struct request *q)
{
    const struct object *job = write_find(q);
    const char *view = parameter_find(q->options.parameters, q->options.n_parameters, "view");

    if (job == NULL || !authorization_covers(q, job)) {
        request_finish_durably(q);
        return;
    }
    if (!job_is_array(job_of(job)))
        reply_bad_request(&q->reply, "job '%s' is not a job array", job->meta->name);
    else if (q->principal->type == PRINCIPAL_LIFECYCLE && view != NULL)
        reply_tree(&q->reply, 200, list_chunks(q, job));
    else {
        answer_people(q, job);
        return;
    }
    request_finish_durably(q);
}
