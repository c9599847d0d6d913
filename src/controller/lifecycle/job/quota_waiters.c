/* SPDX-License-Identifier: Apache-2.0 */
/* Retrying each refused Job on a timer would be thousands of refused creates a second, and
 * would give room to whoever happens to ask. So a refused Job waits without any call, with the
 * amounts that the refusal named, and room wakes the first in order that fit (decisions 292
 * and 560).
 *
 * The room is an estimate: the quota's status is a second old at times, and others create
 * pods, too. That costs a refused call and never a pod too many, because admission decides.
 * Room that was promised to a woken Job is subtracted until it has its pod or is refused
 * again, or one free CPU would wake everybody.
 */
#include "controller/lifecycle/job/quota_waiters.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/job/job_verdict.h"
#include "controller/lifecycle/quota/quota_line.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/job/job_wait.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/quantity.h"
#include "lib/api/value/quota_refusal.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define AT_A_TIME 64u /* most Jobs that a quota lets try at a time */

/* A refusal and the event of the status that explains it arrive in any order. So
 * a refused Job for which there seems to be room is tried again after this time.
 */
#define AGAIN_MS 200

/* One ResourceQuota, also while nobody waits for it. */
struct quota_room {
    char *key;                  /* "NS/QUOTA" */
    const char *name;           /* in `key` */
    const struct object *quota; /* a reference; NULL: it is deleted, and only
                                 * its line remains */
    bool is_counted;
    bool must_wake;
    unsigned n_names;
    char *names[QUOTA_LINE_RESOURCES];  /* resources that refusals named; index 0
                                        * is for what no room can satisfy */
    int64_t room[QUOTA_LINE_RESOURCES]; /* in thousandths */
    struct quota_line *line;
    struct list tried; /* woken, and not refused again */
};

struct quota_waiter {
    struct quota_place place;
    struct list link; /* in tried, or in no list: then in the line */
    struct quota_room *room;
    bool is_tried, is_update, has_many;
};

struct quota_waiters {
    quota_waiters_wake_fn *wake;
    quota_waiters_priority_fn *priority;
    void *context;
    struct map *rooms;   /* by key of the quota */
    struct map *waiters; /* by key of the Job */
    struct timer *again;
};

/* ---- Rooms ---- */

static struct quota_room *
find_room(struct quota_waiters *w, const char *namespace, const char *name, size_t n_name)
{
    CLEANUP_FREE char *key = xasprintf("%s/%.*s", namespace, (int)n_name, name);
    struct quota_room *r = map_find(w->rooms, key);

    if (r != NULL)
        return r;
    r = xnew(struct quota_room);
    r->key = key;
    key = NULL;
    r->name = strchr(r->key, '/') + 1;
    r->names[r->n_names++] = xstrdup("");
    r->line = quota_line_new();
    list_init(&r->tried);
    map_put(w->rooms, r->key, r);
    return r;
}

static void
free_room(struct quota_room *r)
{
    for (unsigned i = 0; i < r->n_names; i++)
        free(r->names[i]);
    quota_line_free(r->line);
    object_unref(r->quota);
    free(r->key);
    free(r);
}

static void
forget_if_unused(struct quota_waiters *w, struct quota_room *r)
{
    if (r->quota != NULL || quota_line_count(r->line) > 0 || !list_is_empty(&r->tried))
        return;
    map_remove(w->rooms, r->key);
    free_room(r);
}

static const struct json *
amounts_of(const struct object *quota, const char *path, struct arena *arena)
{
    return json_get_path(object_tree(quota, arena), path);
}

/* Amounts come from users, so a difference may be below any number. */
static int64_t
less(int64_t amount, int64_t what)
{
    int64_t left;

    return __builtin_sub_overflow(amount, what, &left) ? INT64_MIN : left;
}

/* A resource that the quota does not limit any more has any room. */
static void
measure(struct quota_room *r, unsigned i, struct arena *arena)
{
    const struct json *hard = amounts_of(r->quota, "status.hard", arena);
    const struct json *used = amounts_of(r->quota, "status.used", arena);

    r->room[i] = json_get(hard, r->names[i]) != NULL
                     ? less(quantity_text_milli(json_get_text(hard, r->names[i])),
                            quantity_text_milli(json_get_text(used, r->names[i])))
                     : INT64_MAX;
}

/* The index of a resource, QUOTA_LINE_RESOURCES if there are too many. */
static unsigned
index_of(struct quota_room *r, const char *name, size_t n)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;
    unsigned i = 1;

    while (i < r->n_names && (strlen(r->names[i]) != n || strncmp(r->names[i], name, n) != 0))
        i++;
    if (i < r->n_names || i == QUOTA_LINE_RESOURCES)
        return i;
    r->names[r->n_names++] = xstrndup(name, n);
    arena = arena_new(0);
    if (r->quota != NULL)
        measure(r, i, arena);
    return i;
}

/* ---- Waking ---- */

static void
subtract(int64_t room[QUOTA_LINE_RESOURCES], const struct quota_waiter *waiter)
{
    for (unsigned i = 0; i < QUOTA_LINE_RESOURCES; i++)
        if (waiter->place.needs[i] > 0)
            room[i] = waiter->has_many ? 0 : less(room[i], waiter->place.needs[i]);
}

static struct quota_waiter *
waiter_of(struct quota_place *place)
{
    return container_of(place, struct quota_waiter, place);
}

static void
try_now(struct quota_waiters *w, struct quota_waiter *waiter)
{
    if (waiter->is_tried)
        return;
    quota_line_remove(waiter->room->line, &waiter->place);
    waiter->is_tried = true;
    list_add_last(&waiter->room->tried, &waiter->link);
    w->wake(waiter->place.key, w->context);
}

/* Wakes the first Jobs that fit into the room that is not promised yet. A quota
 * that is deleted refuses nothing.
 */
static void
wake_first(struct quota_waiters *w, struct quota_room *r)
{
    int64_t room[QUOTA_LINE_RESOURCES];
    struct quota_place *place;
    unsigned n = 0;

    r->must_wake = false;
    if ((r->quota != NULL && !r->is_counted) || quota_line_count(r->line) == 0)
        return;
    memcpy(room, r->room, sizeof(room));
    for (unsigned i = 0; r->quota == NULL && i < QUOTA_LINE_RESOURCES; i++)
        room[i] = INT64_MAX;
    list_foreach(pos, &r->tried)
    {
        subtract(room, container_of(pos, struct quota_waiter, link));
        n++;
    }
    while (n++ < AT_A_TIME && (place = quota_line_find_first(r->line, room)) != NULL) {
        subtract(room, waiter_of(place));
        try_now(w, waiter_of(place));
    }
}

static void
wake_marked(void *context)
{
    struct quota_waiters *w = context;
    size_t at = 0;
    void *value;

    while (map_next(w->rooms, &at, NULL, &value)) {
        struct quota_room *r = value;

        if (r->must_wake)
            wake_first(w, r);
    }
}

static void
wake_later(struct quota_waiters *w, struct quota_room *r)
{
    r->must_wake = true;
    if (!timer_is_running(w->again))
        timer_start(w->again, AGAIN_MS);
}

/* ---- Waiters ---- */

/* Takes the waiter out of the line or of those that are tried. */
static void
take_out(struct quota_waiter *waiter)
{
    if (waiter->is_tried)
        list_remove(&waiter->link);
    else
        quota_line_remove(waiter->room->line, &waiter->place);
    waiter->is_tried = false;
}

static void
set_order(const struct quota_waiters *w, struct quota_place *place, const struct object *job)
{
    place->priority = w->priority(job, w->context);
    place->eligible_at_us = job_eligible_at_us(job_of(job));
    place->job_id = job_of(job)->status.id;
}

static bool
has_many_pods(const struct job *job)
{
    return job_is_array(job) || job_parallelism(job) > 1;
}

static struct quota_waiter *
new_waiter(struct quota_waiters *w, const char *key)
{
    struct quota_waiter *waiter = xnew(struct quota_waiter);

    waiter->place.key = xstrdup(key);
    map_put(w->waiters, key, waiter);
    return waiter;
}

static int64_t
milli(const char *text, size_t n)
{
    CLEANUP_FREE char *copy = xstrndup(text, n);

    return quantity_text_milli(copy);
}

static void
set_needs(struct quota_waiter *waiter, const struct quota_refusal *refusal)
{
    struct quota_room *r = waiter->room;
    struct quota_pair pair;
    const char *at = NULL;

    memset(waiter->place.needs, 0, sizeof(waiter->place.needs));
    if (refusal->kind == QUOTA_REFUSAL_UNSPECIFIED)
        waiter->place.needs[0] = 1;
    while (quota_refusal_next(refusal, &at, &pair)) {
        const unsigned i = index_of(r, pair.name, pair.n_name);

        if (i < QUOTA_LINE_RESOURCES)
            waiter->place.needs[i] = milli(pair.asks, pair.n_asks);
    }
}

static void
put_in(const struct quota_waiters *w, struct quota_waiter *waiter, struct quota_room *r,
       const struct object *job)
{
    waiter->room = r;
    waiter->has_many = has_many_pods(job_of(job));
    set_order(w, &waiter->place, job);
}

bool
quota_waiters_refuse(struct quota_waiters *w, const struct object *job, const char *words,
                     bool is_update, bool *ret_is_new)
{
    char key[OBJECT_KEY_SIZE];
    struct quota_waiter *waiter;
    struct quota_refusal refusal;
    struct quota_room *r, *before = NULL;
    struct quota_pair pair;
    const char *at = NULL;

    if (words == NULL || !quota_refusal_parse(words, &refusal)
        || (refusal.kind == QUOTA_REFUSAL_EXCEEDED
            && !quota_refusal_next(&refusal, &at, &pair))) /* a shortened message */
        return false;
    object_key(job, key);
    r = find_room(w, job->meta->namespace, refusal.quota, refusal.n_quota);
    waiter = map_find(w->waiters, key);
    if (waiter != NULL) {
        before = waiter->room;
        take_out(waiter);
    } else {
        waiter = new_waiter(w, key);
    }
    *ret_is_new = before != r;
    put_in(w, waiter, r, job);
    waiter->is_update = is_update;
    set_needs(waiter, &refusal);
    quota_line_add(r->line, &waiter->place);
    wake_later(w, r);
    if (before != NULL && before != r) {
        wake_later(w, before);
        forget_if_unused(w, before);
    }
    return true;
}

void
quota_waiters_recall(struct quota_waiters *w, const struct object *job)
{
    const struct pod_cause *cause = job_of(job)->status.cause;
    char key[OBJECT_KEY_SIZE];
    struct quota_waiter *waiter;
    size_t length;
    const char *quota = cause != NULL ? job_wait_find_quota(cause->message, &length) : NULL;
    CLEANUP_FREE char *room_key = NULL;
    struct quota_room *r;

    if (quota == NULL)
        return;
    object_key(job, key);
    room_key = xasprintf("%s/%.*s", job->meta->namespace, (int)length, quota);
    r = map_find(w->rooms, room_key);
    if (r == NULL || map_find(w->waiters, key) != NULL)
        return;
    waiter = new_waiter(w, key);
    put_in(w, waiter, r, job);
    quota_line_add(waiter->room->line, &waiter->place);
    wake_later(w, waiter->room);
}

void
quota_waiters_remove(struct quota_waiters *w, const char *key)
{
    struct quota_waiter *waiter = map_remove(w->waiters, key);
    struct quota_room *r;

    if (waiter == NULL)
        return;
    r = waiter->room;
    take_out(waiter);
    free(waiter->place.key);
    free(waiter);
    wake_first(w, r);
    forget_if_unused(w, r);
}

void
quota_waiters_see_job(struct quota_waiters *w, const struct object *job, bool asks_anew)
{
    char key[OBJECT_KEY_SIZE];
    struct quota_waiter *waiter;
    struct quota_place order;

    if (map_count(w->waiters) == 0)
        return;
    object_key(job, key);
    waiter = map_find(w->waiters, key);
    if (waiter == NULL || waiter->is_tried)
        return;
    set_order(w, &order, job);
    if (order.priority != waiter->place.priority
        || order.eligible_at_us != waiter->place.eligible_at_us
        || order.job_id != waiter->place.job_id) {
        quota_line_remove(waiter->room->line, &waiter->place);
        set_order(w, &waiter->place, job);
        quota_line_add(waiter->room->line, &waiter->place);
    }
    if (asks_anew)
        try_now(w, waiter);
}

/* ---- Quotas ---- */

static bool
is_counted(const struct object *quota, struct arena *arena)
{
    const struct json *hard = amounts_of(quota, "spec.hard", arena);
    const struct json *used = amounts_of(quota, "status.used", arena);

    for (uint32_t i = 0; i < json_count(hard); i++)
        if (json_get(used, hard->members[i].name) == NULL)
            return false;
    return true;
}

/* Other pods may be covered, and the amounts that people read have changed. */
static bool
limits_others(const struct object *old_quota, const struct object *new_quota, struct arena *arena)
{
    static const char *const paths[] = {"spec.scopes", "spec.scopeSelector", "status.hard"};

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        if (!json_equals(amounts_of(old_quota, paths[i], arena),
                         amounts_of(new_quota, paths[i], arena)))
            return true;
    return false;
}

static void
try_all(struct quota_waiters *w, struct quota_room *r)
{
    struct quota_place *place;
    int64_t all[QUOTA_LINE_RESOURCES];

    for (unsigned i = 0; i < QUOTA_LINE_RESOURCES; i++)
        all[i] = INT64_MAX;
    while ((place = quota_line_find_first(r->line, all)) != NULL)
        try_now(w, waiter_of(place));
}

void
quota_waiters_see_quota(struct quota_waiters *w, const struct object *old_quota,
                        const struct object *new_quota)
{
    const struct object *quota = new_quota != NULL ? new_quota : old_quota;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct quota_room *r =
        find_room(w, quota->meta->namespace, quota->meta->name, strlen(quota->meta->name));

    object_unref(r->quota);
    r->quota = NULL;
    if (new_quota == NULL) {
        try_all(w, r);
        forget_if_unused(w, r);
        return;
    }
    r->quota = object_ref(new_quota);
    r->is_counted = is_counted(r->quota, arena);
    for (unsigned i = 1; i < r->n_names; i++)
        measure(r, i, arena);
    if (old_quota != NULL && limits_others(old_quota, new_quota, arena))
        try_all(w, r);
    else
        wake_first(w, r);
}

/* ---- Look ---- */

bool
quota_waiters_holds_back(const struct quota_waiters *w, const char *key, bool is_update)
{
    const struct quota_waiter *waiter = map_find(w->waiters, key);

    return waiter != NULL && !waiter->is_tried && (!is_update || waiter->is_update);
}

struct json *
quota_waiters_explain(const struct quota_waiters *w, const struct object *job, struct arena *arena)
{
    char key[OBJECT_KEY_SIZE];
    const struct quota_waiter *waiter;
    size_t before = 0, waiting;
    struct json *answer;

    object_key(job, key);
    waiter = map_find(w->waiters, key);
    if (waiter == NULL)
        return NULL;
    waiting = quota_line_count(waiter->room->line);
    list_foreach(pos, &waiter->room->tried) waiting++;
    if (!waiter->is_tried)
        before = quota_line_rank(waiter->room->line, &waiter->place);
    answer = json_object(arena);
    json_set_string(arena, answer, "name", waiter->room->name);
    json_set_int(arena, answer, "place", (int64_t)before + 1);
    json_set_int(arena, answer, "waiting", (int64_t)waiting);
    return answer;
}

/* ---- Life ---- */

struct quota_waiters *
quota_waiters_new(struct loop *loop, quota_waiters_wake_fn *wake,
                  quota_waiters_priority_fn *priority, void *context)
{
    struct quota_waiters *w = xnew(struct quota_waiters);

    w->wake = wake;
    w->priority = priority;
    w->context = context;
    w->rooms = map_new();
    w->waiters = map_new();
    w->again = timer_new(loop, wake_marked, w);
    return w;
}

void
quota_waiters_free(struct quota_waiters *w)
{
    size_t at = 0;
    void *value;

    if (w == NULL)
        return;
    while (map_next(w->waiters, &at, NULL, &value)) {
        struct quota_waiter *waiter = value;

        free(waiter->place.key);
        free(waiter);
    }
    at = 0;
    while (map_next(w->rooms, &at, NULL, &value))
        free_room(value);
    map_free(w->waiters);
    map_free(w->rooms);
    timer_free(w->again);
    free(w);
}
