/* SPDX-License-Identifier: Apache-2.0 */
/* The members of a program that runs on several nodes must start together or not at all, and
 * neither the controller nor an agent may be needed twice for it. So preparation and start are
 * two facts in the pods: each agent reports "prepared" and waits, and one transaction, which
 * checks again that all live members are, lets all of them start (decision 635). A controller
 * that dies before it has changed nothing, and after it nothing is left to do.
 *
 * Waiting costs nodes, so it has a bound, counted from when the first was seen to be prepared.
 * The members that are ended then have run nothing, so that is nobody's failure, and another
 * attempt follows (decision 636). No start is given while the node of a member is silent,
 * since that member would not learn of it.
 */
#include "controller/lifecycle/gang/gang_starter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/node/node.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"
#include "lib/json/json.h"

#define PARALLEL      16u
#define NODE_AGAIN_MS 1000 /* a member's node does not report: look again */

struct gang_starter {
    struct gang_starter_settings s;
    struct event_recorder *event_recorder;
    struct map *gangs; /* key of a Job, to its struct waiting_gang */
    struct workqueue *queue;
    struct workqueue *orphans; /* keys of pods */
    struct list calls;
};

/* The gang of a Job of which at least one pod is prepared and awaits its start. */
struct waiting_gang {
    int64_t n_prepared;
    int64_t since_us; /* monotonic: when the first of them was seen */
};

struct gang_call {
    struct list link;
    struct gang_starter *starter;
    struct workqueue *queue; /* of the key */
    struct client_call *call;
    char *key;
    const struct object *pod; /* of a removal; or NULL */
};

static bool
is_live(const struct pod *pod)
{
    return !pod_is_finished(pod) && pod->meta.deleted_at_us == 0;
}

static bool
is_waiting(const struct object *pod)
{
    return pod != NULL && pod_awaits_start(pod_of(pod)) && is_live(pod_of(pod))
           && pod_is_prepared(pod_of(pod));
}

/* Its Job was deleted without it, so nobody will ever start it. */
static bool
is_orphan(const struct object *pod)
{
    return pod != NULL && pod_awaits_start(pod_of(pod)) && is_live(pod_of(pod))
           && meta_controller_of(pod->meta, &job_kind) == NULL;
}

static void
find_key(const struct object *pod, const struct owner_reference *job, char key[OBJECT_KEY_SIZE])
{
    snprintf(key, OBJECT_KEY_SIZE, "%s/%s", pod->meta->namespace, job->name);
}

static void
count(struct gang_starter *s, const char *key, int64_t by, int64_t size)
{
    struct waiting_gang *gang = map_find(s->gangs, key);

    if (gang == NULL) {
        gang = xnew(struct waiting_gang);
        gang->since_us = clock_monotonic_us(s->s.clock);
        map_put(s->gangs, key, gang);
        if (s->s.wait_ms > 0)
            workqueue_add_after(s->queue, key, s->s.wait_ms);
    }
    gang->n_prepared += by;
    if (gang->n_prepared <= 0) {
        map_remove(s->gangs, key);
        free(gang);
    } else if (gang->n_prepared >= size && object_cache_has_synced(s->s.cache)) {
        workqueue_add(s->queue, key);
    }
}

static void
count_if_waiting(struct gang_starter *s, const struct object *pod, int64_t by)
{
    const struct owner_reference *job =
        is_waiting(pod) ? meta_controller_of(pod->meta, &job_kind) : NULL;
    char key[OBJECT_KEY_SIZE];

    if (job == NULL)
        return;
    find_key(pod, job, key);
    count(s, key, by, pod_start_barrier(pod_of(pod)));
}

/* Each version counts for the Job that it has: a Job that is deleted may leave its pods
 * behind, without an owner, and another one of its name must not count them.
 */
static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    struct gang_starter *s = context;
    char key[OBJECT_KEY_SIZE];

    count_if_waiting(s, new_object, 1);
    count_if_waiting(s, old_object, -1);
    if (!is_orphan(new_object))
        return;
    object_key(new_object, key);
    workqueue_add(s->orphans, key);
}

/* ---- The members of an attempt ---- */

struct members {
    const struct object_cache *cache;
    const struct object *pods[JOB_GANG_MAX]; /* those that are prepared */
    uint32_t count;
    int64_t size;                    /* of the gang; 0: each pod starts by itself */
    const struct object *unprepared; /* the first by name that has a node; or NULL */
    const struct object *succeeded;  /* the newest that has ended so, before the start; or NULL */
    int64_t n_succeeded;             /* of its attempt */
    bool is_any_silent;              /* the node of one of them */
};

static bool
is_placed(const struct object *pod)
{
    const char *node = pod_of(pod)->spec.node_name;

    return node != NULL && node[0] != '\0';
}

static bool
has_silent_node(const struct object_cache *cache, const struct object *pod)
{
    const struct object *node =
        is_placed(pod) ? object_cache_find(cache, &node_kind, NULL, pod_of(pod)->spec.node_name)
                       : NULL;

    return node != NULL && !node_is_ready(node_of(node));
}

static bool
has_succeeded(const struct object *pod)
{
    const char *phase = pod_of(pod)->status.phase;

    return phase != NULL && strcmp(phase, "Succeeded") == 0;
}

static bool
is_of_attempt(const struct object *pod, const struct object *other)
{
    const struct scheduling_group *a = pod_of(pod)->spec.scheduling_group;
    const struct scheduling_group *b = pod_of(other)->spec.scheduling_group;

    return a == NULL || b == NULL || strcmp(a->pod_group_name, b->pod_group_name) == 0;
}

/* Pods of earlier attempts may be there, too. */
static void
note_success(struct members *m, const struct object *pod)
{
    if (m->succeeded != NULL && is_of_attempt(pod, m->succeeded)) {
        m->n_succeeded++;
    } else if (m->succeeded == NULL
               || pod->meta->created_at_us > m->succeeded->meta->created_at_us) {
        m->succeeded = pod;
        m->n_succeeded = 1;
    }
}

static void
add_member(const struct object *pod, void *context)
{
    struct members *m = context;

    if (has_succeeded(pod) && pod_awaits_start(pod_of(pod)))
        note_success(m, pod);
    if (!is_live(pod_of(pod)) || !pod_awaits_start(pod_of(pod)) || m->count == ARRAY_SIZE(m->pods))
        return;
    if (pod_is_prepared(pod_of(pod))) {
        m->pods[m->count++] = pod;
        m->is_any_silent |= has_silent_node(m->cache, pod);
    } else if (m->unprepared == NULL || strcmp(pod->meta->name, m->unprepared->meta->name) < 0) {
        m->unprepared = pod;
    }
}

static int
compare_names(const void *a, const void *b)
{
    const struct object *const *x = a, *const *y = b;

    return strcmp((*x)->meta->name, (*y)->meta->name);
}

/* ---- The calls ---- */

static void
call_free(struct gang_call *c)
{
    list_remove(&c->link);
    object_unref(c->pod);
    free(c->key);
    free(c);
}

static struct gang_call *
call_new(struct gang_starter *s, struct workqueue *queue, const char *key)
{
    struct gang_call *c = xnew(struct gang_call);

    list_add_last(&s->calls, &c->link);
    c->starter = s;
    c->queue = queue;
    c->key = xstrdup(key);
    return c;
}

/* 409: a member has changed, which the watch shows; or the Job is held, and its pods
 * are ended.
 */
static void
on_answered(const struct client_reply *reply, void *context)
{
    struct gang_call *c = context;
    struct error err = {0};
    const bool has_failed = client_reply_error(reply, &err) < 0 && reply->code != 404;

    if (has_failed)
        log_debug("the gang of '%s': %s, trying again", c->key, err.text);
    workqueue_done(c->queue, c->key, has_failed ? WORKQUEUE_FAILED : WORKQUEUE_OK);
    call_free(c);
}

static void
start(struct gang_starter *s, const char *key, const struct object *job, struct members *m)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena), *list = json_array(arena);
    struct gang_call *c = call_new(s, s->queue, key);

    qsort(m->pods, m->count, sizeof(m->pods[0]), compare_names);
    for (uint32_t i = 0; i < m->count; i++) {
        struct json *item = json_object(arena);

        json_set_string(arena, item, "name", m->pods[i]->meta->name);
        json_set_string(arena, item, "uid", m->pods[i]->meta->uid);
        json_append(arena, list, item);
    }
    json_set_string(arena, body, "uid", job->meta->uid);
    json_set(arena, body, "pods", list);
    c->call = client_call(s->s.client, arena,
                          &(struct client_request){
                              .verb = CLIENT_CREATE,
                              .kind = &job_kind,
                              .namespace = job->meta->namespace,
                              .name = job->meta->name,
                              .subresource = "start",
                              .body = body,
                              .raw = true,
                          },
                          on_answered, c);
}

/* ---- Members that the others have waited for too long ---- */

static void
send_removal(struct gang_call *c)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);

    json_set_string(arena, json_make_object(arena, body, "preconditions"), "uid",
                    c->pod->meta->uid);
    c->call = client_call(c->starter->s.client, arena,
                          &(struct client_request){
                              .verb = CLIENT_DELETE,
                              .kind = &pod_kind,
                              .namespace = c->pod->meta->namespace,
                              .name = c->pod->meta->name,
                              .body = body,
                          },
                          on_answered, c);
}

static void
on_marked(const struct client_reply *reply, void *context)
{
    if (reply->code == 200)
        send_removal(context);
    else
        on_answered(reply, context);
}

static const char *
explain_end(const struct gang_starter *s, const struct object *pod, struct arena *arena)
{
    const long long limit_s = (long long)(s->s.wait_ms / 1000);

    if (is_waiting(pod))
        return arena_printf(arena,
                            "it waited for %lld s to start together with the job's other pods, of "
                            "which one ended before all were prepared",
                            limit_s);
    if (!is_placed(pod))
        return arena_printf(arena,
                            "it has no node %lld s after the first of the job's nodes was prepared",
                            limit_s);
    return arena_printf(arena,
                        "node %s did not prepare it within %lld s of the first of the job's nodes",
                        pod_of(pod)->spec.node_name, limit_s);
}

/* The pod is marked first, so that its end is not a failure of the job. Its attempt ends
 * with it.
 */
static void
give_up(struct gang_starter *s, const char *key, const struct object *pod)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena), *condition = json_object(arena);
    struct json *status = json_make_object(arena, body, "status"), *list = json_array(arena);
    struct gang_call *c = call_new(s, s->queue, key);
    char now[TIME_TEXT_SIZE];

    time_format(clock_real_us(s->s.clock), false, now);
    json_set_string(arena, json_make_object(arena, body, "metadata"), "uid", pod->meta->uid);
    json_set_string(arena, condition, "type", "DisruptionTarget");
    json_set_string(arena, condition, "status", "True");
    json_set_string(arena, condition, "reason", REASON_NOT_PREPARED);
    json_set_string(arena, condition, "message", explain_end(s, pod, arena));
    json_set_string(arena, condition, "lastTransitionTime", now);
    json_append(arena, list, condition);
    json_set(arena, status, "conditions", list);
    log_warning("pod '%s/%s': %s", pod->meta->namespace, pod->meta->name,
                json_get_text(condition, "message"));
    event_recorder_record(s->event_recorder, pod, RECORD_WARNING, REASON_NOT_PREPARED,
                          json_get_text(condition, "message"));
    c->pod = object_ref(pod);
    c->call = client_call(s->s.client, arena,
                          &(struct client_request){
                              .verb = CLIENT_STRATEGIC_PATCH,
                              .kind = &pod_kind,
                              .namespace = pod->meta->namespace,
                              .name = pod->meta->name,
                              .subresource = "status",
                              .body = body,
                          },
                          on_marked, c);
}

/* It would hold its node for ever: the time limit begins with the start. */
static void
work_on_orphan(const char *key, void *context)
{
    struct gang_starter *s = context;
    const struct object *pod = object_cache_find_key(s->s.cache, &pod_kind, key);
    struct gang_call *c;

    if (!is_orphan(pod)) {
        workqueue_done(s->orphans, key, WORKQUEUE_OK);
        return;
    }
    log_info("pod '%s': its Job was deleted before it could start, so it is deleted", key);
    c = call_new(s, s->orphans, key);
    c->pod = object_ref(pod);
    send_removal(c);
}

/* How long the prepared pods go on waiting; INT64_MAX: for ever. */
static int64_t
wait_left_ms(const struct gang_starter *s, const struct waiting_gang *gang)
{
    const int64_t waited_ms = (clock_monotonic_us(s->s.clock) - gang->since_us) / 1000;

    return s->s.wait_ms > 0 ? s->s.wait_ms - waited_ms : INT64_MAX;
}

static void
wait_on(struct gang_starter *s, const char *key, int64_t left_ms, bool is_startable)
{
    if (is_startable || left_ms <= 0) /* 0: the others are not there yet, or are ending */
        left_ms = NODE_AGAIN_MS;
    if (left_ms < INT64_MAX)
        workqueue_add_after(s->queue, key, left_ms + 1);
    workqueue_done(s->queue, key, WORKQUEUE_OK);
}

static bool
is_startable(const struct members *m)
{
    return m->count > 0 && m->count == m->size;
}

/* The member that is not waited for any longer. If none is left that could still be
 * prepared because one has succeeded, as an agent of the release before does not wait for
 * the others, nothing else would end those that wait: its index is done. If another is
 * missing, the Job ends them.
 */
static const struct object *
find_overdue(const struct members *m)
{
    const struct object *first = NULL;

    if (m->unprepared != NULL || m->succeeded == NULL || m->count + m->n_succeeded != m->size)
        return m->unprepared;
    for (uint32_t i = 0; i < m->count; i++)
        if (is_of_attempt(m->pods[i], m->succeeded)
            && (first == NULL || strcmp(m->pods[i]->meta->name, first->meta->name) < 0))
            first = m->pods[i];
    return first;
}

static void
work_on_gang(const char *key, void *context)
{
    struct gang_starter *s = context;
    const struct object *job = object_cache_find_key(s->s.cache, &job_kind, key);
    const struct waiting_gang *gang = map_find(s->gangs, key);
    const struct object *overdue;
    struct members *m;

    if (job == NULL || gang == NULL || !object_cache_has_synced(s->s.cache)) {
        workqueue_done(s->queue, key, WORKQUEUE_OK);
        return;
    }
    m = xnew(struct members);
    m->cache = s->s.cache;
    m->size = job_gang_size(job_of(job));
    object_cache_visit_owned(s->s.cache, job->meta->uid, add_member, m);
    overdue = find_overdue(m);
    if (is_startable(m) && !m->is_any_silent)
        start(s, key, job, m);
    else if (overdue != NULL && wait_left_ms(s, gang) <= 0)
        give_up(s, key, overdue);
    else
        wait_on(s, key, wait_left_ms(s, gang), is_startable(m));
    free(m);
}

static void
on_synced(void *context)
{
    struct gang_starter *s = context;
    const char *key;
    size_t at = 0;
    void *gang;

    while (map_next(s->gangs, &at, &key, &gang))
        workqueue_add(s->queue, key);
}

struct gang_starter *
gang_starter_new(const struct gang_starter_settings *settings)
{
    struct gang_starter *s = xnew(struct gang_starter);

    s->s = *settings;
    s->event_recorder =
        event_recorder_new(settings->client, settings->clock, "job-controller", NULL);
    s->gangs = map_new();
    list_init(&s->calls);
    s->queue = workqueue_new(settings->loop, PARALLEL, work_on_gang, s);
    s->orphans = workqueue_new(settings->loop, PARALLEL, work_on_orphan, s);
    object_cache_listen(settings->cache, &pod_kind, on_pod, s);
    object_cache_on_synced(settings->cache, on_synced, s);
    return s;
}

void
gang_starter_free(struct gang_starter *s)
{
    size_t at = 0;
    void *gang;

    if (s == NULL)
        return;
    list_foreach_safe(link, &s->calls)
    {
        struct gang_call *c = container_of(link, struct gang_call, link);

        client_cancel(c->call);
        call_free(c);
    }
    while (map_next(s->gangs, &at, NULL, &gang))
        free(gang);
    map_free(s->gangs);
    workqueue_free(s->queue);
    workqueue_free(s->orphans);
    event_recorder_free(s->event_recorder);
    free(s);
}
