/* SPDX-License-Identifier: Apache-2.0 */
/* settle.c - POST jobs/NAME/elements, for the job controller: settles or
 * creates many elements of an array at once, in one transaction
 *
 * To settle elements is to record their results and remove their pods:
 *
 *   {"settle": [{"index": 7, "pod": "job-5-7", "uid": "...", "as": "Done"},
 *               {"index": 8, "pod": ..., "uid": ..., "as": "Again",
 *                "attempt": 1, "failures": 1, "ignored": 0}, ...]}
 *
 * The request may have the "uid" of the array: then another array of that name
 * is refused.
 *
 * "as" is Done, Failed or Cancelled; or Again, and then the element waits for
 * its next pod, of the given attempt. A pod that has not ended, or had not when
 * the request was made (without "ofAttempt"), is removed only while it has no
 * node. Only the store knows whether the pod was bound first, so the answer lists
 * the indexes whose pods remain: {"kept": [8]}. "ofAttempt"
 * is the attempt of the pod: an element that was requeued after that attempt
 * still waits for its next pod, and the answer lists it in "stale".
 *
 * With Again, "interrupted" is the number of the element's pods that ended
 * through no fault of the job since it last started again. "hold" beside it
 * adds the element to spec.array.held and resets the count, both in this
 * transaction, so that a request that arrives twice does not hold a released
 * element again. The answer lists those elements: {"held": [8]}.
 *
 * To create pods: {"make": [POD, ...]}, see make_pods.c.
 */
#include <string.h>

#include "controller/apiserver/objects/element_record.h"
#include "controller/apiserver/objects/retained_on_node.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/task_list.h"
#include "lib/api/value/task_sets.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

struct settling {
    struct request *q;
    const struct object *job;
    struct store_txn *txn;
    struct json *kept;
    struct json *stale;         /* elements that were requeued */
    struct json *held;          /* elements that were interrupted too often */
    struct element_chunk chunk; /* number `number`; -1: none is read */
    int64_t number;
};

static void
write_chunk(struct settling *s)
{
    if (s->number >= 0)
        element_record_write(s->q->server->store, s->txn, s->job, s->number, &s->chunk);
    element_chunk_fini(&s->chunk);
    s->number = -1;
}

static void
read_chunk(struct settling *s, int64_t number)
{
    if (s->number == number)
        return;
    write_chunk(s);
    (void)element_record_read(s->q->server->store, s->job->meta->uid, number, &s->chunk);
    s->number = number;
}

static bool
is_placed(const struct pod *pod)
{
    return pod->spec.node_name != NULL && pod->spec.node_name[0] != '\0';
}

static const struct object *
find_pod(const struct settling *s, const struct json *item)
{
    const char *name = json_get_text(item, "pod");
    const char *uid = json_get_text(item, "uid");
    const struct object *pod = name != NULL ? store_find(s->q->server->store, STORE_PENDING,
                                                         &pod_kind, s->job->meta->namespace, name)
                                            : NULL;

    return pod != NULL && uid != NULL && strcmp(pod->meta->uid, uid) == 0
                   && meta_is_controlled_by(pod->meta, s->job)
               ? pod
               : NULL;
}

/* Returns false when the reply is made. */
static bool
remove_pod(struct settling *s, const struct object *pod)
{
    struct request *q = s->q;

    if (retained_on_node_expected(q, pod) && !retained_on_node_leave(q, s->txn, pod))
        return false;
    write_remove_pod(q, s->txn, pod);
    return true;
}

static enum element_state
state_of(const char *word)
{
    return text_is(word, "Done")        ? ELEMENT_DONE
           : text_is(word, "Failed")    ? ELEMENT_FAILED
           : text_is(word, "Cancelled") ? ELEMENT_CANCELLED
                                        : ELEMENT_WAITING;
}

static bool
is_to_hold(const struct json *item)
{
    return text_is(json_get_text(item, "as"), "Again") && json_is_true(json_get(item, "hold"));
}

static void
note(struct settling *s, int64_t index, const struct json *item)
{
    struct element_tries tries = {
        .index = index,
        .attempt = json_get_int(item, "attempt", 0),
        .failures = json_get_int(item, "failures", 0),
        .ignored = json_get_int(item, "ignored", 0),
        .interrupted = json_get_int(item, "interrupted", 0),
    };

    if (is_to_hold(item)) {
        tries.interrupted = 0;
        json_append(s->q->arena, s->held, json_int(s->q->arena, index));
    }
    read_chunk(s, index / ELEMENTS_A_CHUNK);
    s->chunk.states[index % ELEMENTS_A_CHUNK] = (uint8_t)state_of(json_get_text(item, "as"));
    element_chunk_set_tries(&s->chunk, &tries);
}

/* Whether the element was requeued after that pod was created: then the pod's
 * end does not count.
 */
static bool
is_requeued(struct settling *s, int64_t index, const struct json *item)
{
    const struct element_tries *tries;

    if (json_get(item, "ofAttempt") == NULL)
        return false;
    read_chunk(s, index / ELEMENTS_A_CHUNK);
    tries = element_chunk_tries(&s->chunk, index);
    return s->chunk.states[index % ELEMENTS_A_CHUNK] == ELEMENT_WAITING && tries != NULL
           && tries->attempt > json_get_int(item, "ofAttempt", 0);
}

/* An earlier request removed the element's pod and counted it. If the element
 * was held or requeued after that, its count is 0 and there is nothing to do.
 */
static void
hold_counted(struct settling *s, int64_t index)
{
    const struct element_tries *was = element_chunk_tries(&s->chunk, index);
    struct element_tries tries;

    if (was == NULL || was->interrupted == 0)
        return;
    tries = *was;
    tries.interrupted = 0;
    element_chunk_set_tries(&s->chunk, &tries);
    json_append(s->q->arena, s->held, json_int(s->q->arena, index));
}

/* The pod had no node when the request was made. If it has run and ended meanwhile, its
 * end counts, and the job controller sends it once it has seen it.
 */
static bool
is_withdrawal(const struct json *item)
{
    return json_get(item, "ofAttempt") == NULL;
}

static bool
settle_one(struct settling *s, const struct json *item)
{
    const int64_t index = json_get_int(item, "index", -1);
    const struct object *pod = find_pod(s, item);

    if (index < 0 || index >= *job_of(s->job)->spec.completions)
        return true;
    if (pod != NULL && is_placed(pod_of(pod))
        && (!pod_is_finished(pod_of(pod)) || is_withdrawal(item))) {
        json_append(s->q->arena, s->kept, json_int(s->q->arena, index));
        return true;
    }
    if (!is_requeued(s, index, item))
        note(s, index, item);
    else if (is_to_hold(item))
        hold_counted(s, index);
    else if (!text_is(json_get_text(item, "as"), "Again"))
        json_append(s->q->arena, s->stale, json_int(s->q->arena, index));
    return pod == NULL || remove_pod(s, pod);
}

/* The list of s->held and the elements that are already in spec.array.held. */
static const char *
format_held(struct settling *s)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct job_array *array = job_of(s->job)->spec.array;
    struct arena *arena = s->q->arena;
    const uint32_t n = json_count(s->held);
    struct task_range *ranges = arena_new_array(arena, struct task_range, n);
    struct task_list all, was, more, both;
    struct error err = {0};

    if (task_list_parse(arena, array->tasks, &all, &err) < 0
        || task_list_parse(arena, array->held != NULL ? array->held : "", &was, &err) < 0)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        int64_t index = 0;

        (void)json_to_int(json_at(s->held, i), &index);
        ranges[i].first = ranges[i].last = task_list_at(&all, index);
        ranges[i].step = 1;
    }
    if (task_list_of_ranges(arena, ranges, n, &more, &err) < 0
        || task_sets_unite(arena, &was, &more, &both, &err) < 0) {
        log_error("cannot hold the tasks of job '%s/%s' that were interrupted "
                  "too often: %s",
                  s->job->meta->namespace, s->job->meta->name, err.text);
        return NULL;
    }
    task_list_format(&both, &text);
    return arena_strdup(arena, text.length > 0 ? text.text : "");
}

/* Returns false when the reply is made. */
static bool
hold(struct settling *s)
{
    struct arena *arena = s->q->arena;
    const char *list = json_count(s->held) > 0 ? format_held(s) : NULL;
    struct json *old_tree, *tree, *meta;

    if (list == NULL) {
        s->held = json_array(arena);
        return true;
    }
    old_tree = object_tree(s->job, arena);
    tree = json_dup(arena, old_tree);
    meta = json_make_object(arena, tree, "metadata");
    json_set_int(arena, meta, "generation", json_get_int(meta, "generation", 0) + 1);
    json_set_string(arena, json_make_object(arena, json_make_object(arena, tree, "spec"), "array"),
                    "held", list);
    return write_put_other(s->q, s->txn, &job_kind, tree, old_tree);
}

/* Returns false when the reply is made. */
static bool
settle_all(struct settling *s)
{
    const struct json *items = json_get(s->q->body, "settle");

    for (uint32_t i = 0; i < json_count(items); i++)
        if (!settle_one(s, json_at(items, i))) {
            element_chunk_fini(&s->chunk);
            return false;
        }
    write_chunk(s);
    return hold(s);
}

/* ---- The request ---- */

void
verb_settle(struct request *q)
{
    struct settling s = {
        .q = q,
        .job = write_find(q),
        .kept = json_array(q->arena),
        .stale = json_array(q->arena),
        .held = json_array(q->arena),
        .number = -1,
    };
    struct json *answer = json_object(q->arena);

    if (s.job == NULL || !job_is_array(job_of(s.job))) {
        if (s.job != NULL)
            reply_bad_request(&q->reply, "the Job is not an array");
        request_finish_durably(q);
        return;
    }
    if (!make_pods_is_meant(q, s.job)) {
        request_finish_durably(q);
        return;
    }
    if (json_get(q->body, "make") != NULL) {
        make_pods_of_array(q, s.job);
        return;
    }
    s.txn = store_begin(q->server->store);
    if (!settle_all(&s)) {
        request_rollback(q, s.txn);
        return;
    }
    json_set(q->arena, answer, "kept", s.kept);
    if (json_count(s.stale) > 0)
        json_set(q->arena, answer, "stale", s.stale);
    if (json_count(s.held) > 0)
        json_set(q->arena, answer, "held", s.held);
    reply_tree(&q->reply, 200, answer);
    request_commit(q, s.txn);
}
