/* SPDX-License-Identifier: Apache-2.0 */
/* A yield has three parties that may die: the scheduler that asks, the agent that freezes, and
 * the API. Its state is in the pod alone, so each of them continues from there (decision 272).
 * The request is taken back under the same condition under which a binding is accepted, so a
 * pod that comes onto the cores and one that gets them back cannot both succeed.
 *
 * A pod that did not yield in time is not asked again for minutes; otherwise one that cannot
 * be frozen would keep a preemptor waiting for it.
 */
#include "controller/scheduler/bind/yields.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/bind/evictions.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/state/cache.h"
#include "lib/allocator/holding.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/heap.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define FREEZE_WAIT_US  (INT64_C(30) * 1000000)
#define REFUSED_US      (INT64_C(300) * 1000000)
#define RESUME_AGAIN_US (INT64_C(1) * 1000000)
#define LOOK_AGAIN_US   (INT64_C(10) * 1000000) /* without an event */

/* A pod that was asked to yield, yields, or has refused to. */
struct yielding {
    struct yields *owner;
    char *key;
    struct pod_view *pod; /* its last reported state */
    /* The pod that it is being asked for, or that is to be activated because it
     * yields already; or NULL.
     */
    struct pod_view *preemptor;
    struct client_call *call;
    int64_t asked_at_us;      /* when asked, while it still runs; or 0 */
    int64_t refused_until_us; /* 0: it did not refuse */
    int64_t next_us;          /* not to be checked before */
    int64_t look_us;          /* the next check */
    size_t place;
};

struct yields {
    struct yields_settings settings;
    struct map *pods;   /* by namespace/name */
    struct heap *looks; /* the same pods, by look_us */
};

static bool
is_sooner(const void *a, const void *b, void *context)
{
    (void)context;
    return ((const struct yielding *)a)->look_us < ((const struct yielding *)b)->look_us;
}

struct yields *
yields_new(const struct yields_settings *settings)
{
    struct yields *y = xnew(struct yields);

    y->settings = *settings;
    y->pods = map_new();
    y->looks = heap_new(is_sooner, NULL, offsetof(struct yielding, place));
    return y;
}

static void
yielding_free(struct yielding *e)
{
    if (e->place != HEAP_NOWHERE)
        heap_remove(e->owner->looks, e);
    client_cancel(e->call);
    pod_view_unref(e->pod);
    pod_view_unref(e->preemptor);
    free(e->key);
    free(e);
}

void
yields_free(struct yields *y)
{
    size_t at = 0;
    void *value;

    if (y == NULL)
        return;
    while (map_next(y->pods, &at, NULL, &value))
        yielding_free(value);
    map_free(y->pods);
    heap_free(y->looks);
    free(y);
}

static int64_t
now_us(const struct yields *y)
{
    return clock_monotonic_us(y->settings.clock);
}

/* Schedules the next check, but not before next_us. */
static void
schedule_check(struct yielding *e, int64_t at_us)
{
    e->look_us = at_us > e->next_us ? at_us : e->next_us;
    heap_moved(e->owner->looks, e);
}

static struct yielding *
find(const struct yields *y, const struct pod_view *pod)
{
    char key[OBJECT_KEY_SIZE];
    struct yielding *e;

    if (map_count(y->pods) == 0)
        return NULL;
    snprintf(key, sizeof(key), "%s/%s", pod->namespace, pod->name);
    e = map_find(y->pods, key);
    return e != NULL && pod_view_is_same(e->pod, pod) ? e : NULL;
}

static void
drop(struct yields *y, struct yielding *e)
{
    map_remove(y->pods, e->key);
    yielding_free(e);
}

static struct yielding *
make(struct yields *y, struct pod_view *pod)
{
    struct yielding *e = find(y, pod), *former;

    if (e != NULL)
        return e;
    e = xnew(struct yielding);
    e->owner = y;
    e->key = xasprintf("%s/%s", pod->namespace, pod->name);
    e->pod = pod_view_ref(pod);
    e->place = HEAP_NOWHERE;
    former = map_put(y->pods, e->key, e);
    if (former != NULL)
        yielding_free(former);
    heap_push(y->looks, e);
    return e;
}

/* ---- The annotation ---- */

/* Words NULL: removes the annotation, so the pod runs again. */
static void
write_wish(struct yielding *e, const char *words, client_done_fn *done)
{
    struct arena *arena = arena_new(512);
    struct json *body = json_object(arena);
    struct json *meta = json_make_object(arena, body, "metadata");

    if (e->pod->uid != NULL)
        json_set_string(arena, meta, "uid", e->pod->uid);
    json_set(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_YIELD,
             words != NULL ? json_string(arena, words) : json_null(arena));
    e->call = client_call(e->owner->settings.client, arena,
                          &(struct client_request){
                              .verb = CLIENT_MERGE_PATCH,
                              .kind = &pod_kind,
                              .namespace = e->pod->namespace,
                              .name = e->pod->name,
                              .body = body,
                          },
                          done, e);
}

/* If the API refused the write, the pod is not asked again for a while. */
static void
asked(const struct client_reply *reply, void *context)
{
    struct yielding *e = context;
    struct yields *y = e->owner;
    CLEANUP(pod_view_unrefp) struct pod_view *preemptor = e->preemptor;
    struct error err = {0};

    e->call = NULL;
    e->preemptor = NULL;
    e->next_us = now_us(y) + RESUME_AGAIN_US;
    schedule_check(e, 0);
    if (client_reply_error(reply, &err) == 0) {
        if (pod_has_yielded(e->pod->pod)) /* to another pod, so to this one */
            y->settings.ended(preemptor, y->settings.context);
        return;
    }
    e->refused_until_us = now_us(y) + REFUSED_US;
    if (reply->code != 404 && reply->code != 409)
        log_warning("pod '%s' was to be suspended for another one, but runs "
                    "on: %s",
                    e->key, err.text);
    y->settings.ended(preemptor, y->settings.context);
}

void
yields_ask(struct yields *y, struct pod_view *victim, struct pod_view *preemptor)
{
    CLEANUP_FREE char *words = evictions_describe(preemptor);
    CLEANUP_FREE char *message = NULL;
    const char *is = pod_find_yield(victim->pod);
    struct yielding *e = make(y, victim);

    if (e->call != NULL || e->preemptor != NULL)
        return;
    if (is != NULL && strcmp(is, words) == 0) {
        if (victim->has_yielded)
            e->preemptor = pod_view_ref(preemptor);
        schedule_check(e, 0);
        return;
    }
    e->preemptor = pod_view_ref(preemptor);
    message = xasprintf("Suspended for %s, which runs on its cores", words);
    y->settings.record(victim, EVENT_PREEMPTED, message, y->settings.context);
    write_wish(e, words, asked);
}

/* These pods wait for the room that this one was to make. */
static void
notify_nominated(const struct yields *y, const struct node_view *node)
{
    for (uint32_t i = 0; i < node->ledger.n_nominated; i++)
        y->settings.ended(nominator_pod(node, i), y->settings.context);
}

/* A pod that came during the call could not ask this one, and no event would tell it
 * that it can now.
 */
static void
resumed(const struct client_reply *reply, void *context)
{
    struct yielding *e = context;
    struct yields *y = e->owner;
    const struct node_view *node = cache_find_node(y->settings.cache, e->pod->pod->spec.node_name);
    struct error err = {0};

    e->call = NULL;
    e->next_us = now_us(y) + RESUME_AGAIN_US;
    schedule_check(e, 0);
    if (node != NULL)
        notify_nominated(y, node);
    if (client_reply_error(reply, &err) == 0) {
        y->settings.record(e->pod, EVENT_RESUMED, "The pod that used its cores no longer runs",
                           y->settings.context);
        return;
    }
    log_debug("pod '%s' stays suspended for now: %s", e->key, err.text);
}

/* ---- The pod's state in the API ---- */

void
yields_note(struct yields *y, struct pod_view *pod)
{
    struct yielding *e = find(y, pod);

    if (e == NULL && !pod->is_to_yield)
        return;
    if (e == NULL)
        e = make(y, pod);
    if (pod->is_to_yield != e->pod->is_to_yield)
        e->next_us = 0;
    pod_view_ref(pod);
    pod_view_unref(e->pod);
    e->pod = pod;
    if (!pod->is_to_yield || pod->has_yielded)
        e->asked_at_us = 0;
    else if (e->asked_at_us == 0)
        e->asked_at_us = now_us(y);
    schedule_check(e, 0);
    if (!pod->is_to_yield && e->call == NULL && e->refused_until_us == 0)
        drop(y, e);
}

void
yields_forget(struct yields *y, const struct pod_view *pod)
{
    struct yielding *e = find(y, pod);

    if (e != NULL)
        drop(y, e);
}

/* ---- When a pod may run again ---- */

static bool
shares_cores(const struct pod_view *a, const struct pod_view *b)
{
    const struct holding *x = a->holding, *z = b->holding;

    for (unsigned i = 0; x != NULL && z != NULL && i < x->n_cores; i++)
        for (unsigned k = 0; k < z->n_cores; k++)
            if (x->cores[i] == z->cores[k])
                return true;
    return false;
}

/* Of the pods that wait for the same cores, the most important one runs first.
 */
static bool
goes_before(const struct pod_view *a, const struct pod_view *b)
{
    if (!a->is_to_yield || a->priority != b->priority)
        return !a->is_to_yield || a->priority > b->priority;
    if (pod_view_start_us(a) != pod_view_start_us(b))
        return pod_view_start_us(a) < pod_view_start_us(b);
    return strcmp(a->uid != NULL ? a->uid : a->name, b->uid != NULL ? b->uid : b->name) < 0;
}

/* The pod that uses its cores: the one that its annotation names, otherwise one
 * that runs, otherwise any that goes before it. NULL: there is none.
 */
static const struct pod_view *
find_user_of_cores(const struct node_view *node, const struct pod_view *pod, bool *ret_is_named)
{
    const char *to = pod_find_yield(pod->pod);
    const struct pod_view *user = NULL;

    *ret_is_named = false;
    for (uint32_t i = 0; i < node->pods.count && !*ret_is_named; i++) {
        const struct pod_view *other = node->pods.items[i];
        CLEANUP_FREE char *words = NULL;

        if (pod_view_is_same(other, pod) || !goes_before(other, pod) || !shares_cores(other, pod))
            continue;
        words = evictions_describe(other);
        *ret_is_named = strcmp(words, to) == 0;
        if (user == NULL || *ret_is_named || !other->is_to_yield)
            user = other;
    }
    return user;
}

/* The pod that it yields to is still expected on the node. */
static bool
is_wanted(const struct node_view *node, const struct pod_view *pod)
{
    const char *to = pod_find_yield(pod->pod);

    for (uint32_t i = 0; i < node->ledger.n_nominated; i++) {
        const struct pod_view *other = nominator_pod(node, i);
        CLEANUP_FREE char *words = evictions_describe(other);

        if (other->priority > pod->priority && strcmp(words, to) == 0)
            return true;
    }
    return false;
}

static bool
has_refused(const struct yielding *e, int64_t now)
{
    return !pod_has_yielded(e->pod->pod)
           && (pod_cannot_freeze(e->pod->pod)
               || (e->asked_at_us != 0 && now - e->asked_at_us > FREEZE_WAIT_US));
}

static void
named(const struct client_reply *reply, void *context)
{
    struct yielding *e = context;

    (void)reply; /* checked again in both cases */
    e->call = NULL;
    e->next_us = now_us(e->owner) + RESUME_AGAIN_US;
    schedule_check(e, 0);
}

/* True while the pod has to stay frozen. Its owner reads for whom, so the
 * annotation is changed when the pod that it names is gone.
 */
static bool
stands_on(struct yielding *e, const struct node_view *node)
{
    bool is_named;
    const struct pod_view *user = find_user_of_cores(node, e->pod, &is_named);
    CLEANUP_FREE char *words = NULL;

    if (user == NULL || is_named || is_wanted(node, e->pod))
        return user != NULL || is_wanted(node, e->pod);
    words = evictions_describe(user);
    write_wish(e, words, named);
    return true;
}

static void
settle_one(struct yields *y, struct yielding *e, int64_t now)
{
    const struct node_view *node = cache_find_node(y->settings.cache, e->pod->pod->spec.node_name);
    CLEANUP(pod_view_unrefp) struct pod_view *preemptor = e->preemptor;

    e->preemptor = NULL;
    if (preemptor != NULL) {
        e->next_us = now + RESUME_AGAIN_US;
        y->settings.ended(preemptor, y->settings.context);
        return;
    }
    if (node == NULL || pod_view_is_terminating(e->pod))
        return;
    if (has_refused(e, now)) {
        if (e->refused_until_us == 0) {
            log_warning("pod '%s' was to be suspended for %s, but runs on", e->key,
                        pod_find_yield(e->pod->pod));
            notify_nominated(y, node);
        }
        e->refused_until_us = now + REFUSED_US;
    } else if (stands_on(e, node)) {
        return;
    }
    cache_take_back(y->settings.cache, e->pod);
    write_wish(e, NULL, resumed);
}

/* The passing of time is no event, so the next check is scheduled here. */
static int64_t
next_check(const struct yielding *e, int64_t now)
{
    int64_t at = now + LOOK_AGAIN_US;

    if (!e->pod->is_to_yield)
        return e->refused_until_us;
    if (e->asked_at_us != 0 && e->refused_until_us == 0 && e->asked_at_us + FREEZE_WAIT_US < at)
        at = e->asked_at_us + FREEZE_WAIT_US + 1;
    return e->preemptor != NULL ? now : at;
}

unsigned
yields_settle(struct yields *y)
{
    const int64_t now = heap_count(y->looks) > 0 ? now_us(y) : 0;
    const size_t most = heap_count(y->looks);
    struct yielding *e;
    unsigned n = 0;

    while (n < most && (e = heap_top(y->looks)) != NULL && e->look_us <= now) {
        n++;
        if (e->call == NULL && !e->pod->is_to_yield && e->refused_until_us <= now) {
            drop(y, e);
            continue;
        }
        schedule_check(e, now + LOOK_AGAIN_US);
        if (e->call != NULL)
            continue;
        if (e->pod->is_to_yield)
            settle_one(y, e, now);
        if (e->call == NULL)
            schedule_check(e, next_check(e, now));
    }
    return n;
}

void
yields_wake(struct yields *y, const struct node_view *node)
{
    if (map_count(y->pods) == 0)
        return;
    for (uint32_t i = 0; i < node->pods.count; i++) {
        struct yielding *e = node->pods.items[i]->is_to_yield ? find(y, node->pods.items[i]) : NULL;

        if (e != NULL)
            schedule_check(e, 0);
    }
}

/* ---- Look ---- */

/* Few pods are asked at a time, so a walk is enough. */
bool
yields_has_preemptor(const struct yields *y, const struct pod_view *preemptor)
{
    size_t at = 0;
    void *value;

    while (map_next(y->pods, &at, NULL, &value)) {
        const struct yielding *e = value;

        if (e->preemptor != NULL && pod_view_is_same(e->preemptor, preemptor))
            return true;
    }
    return false;
}

bool
yields_is_refused(const struct yields *y, const struct pod_view *pod)
{
    const struct yielding *e = find(y, pod);

    return e != NULL && e->refused_until_us > now_us(y);
}
