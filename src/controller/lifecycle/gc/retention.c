/* SPDX-License-Identifier: Apache-2.0 */
/* When there are too many finished Jobs, the oldest of the user with the most go first, so
 * that somebody who runs a hundred thousand short jobs does not push out the results of all
 * others. Each deletion has the version of the Job that was judged as its precondition: a Job
 * that was updated since may have to stay. Until the call is answered, the Job is in no heap,
 * or it would be chosen again in the next second.
 */
#include "controller/lifecycle/gc/retention.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/heap.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define DEFAULT_AGE_S   (7 * 24 * 3600)
#define DEFAULT_COUNT   100000
#define CHECK_MS        1000
#define DELETES_AT_ONCE 256u

/* The finished Jobs of a user, except those whose delete call is pending. */
struct owner_jobs {
    size_t place;        /* in by_count; HEAP_NOWHERE: no jobs */
    struct heap *by_end; /* sorted by ended_us */
};

/* A finished Job. It is in both heaps, or its delete call is pending. If the
 * watch reports the Job as deleted before the call is answered, it waits in
 * `departed` for the answer.
 */
struct finished {
    struct list link; /* in `departed` */
    struct owner_jobs *owner;
    size_t end_place; /* in the owner's by_end */
    size_t due_place; /* in by_due, sorted by due_us */
    int64_t ended_us;
    int64_t due_us;
    bool is_going; /* the delete call is pending */
    bool is_gone;  /* the watch reported the deletion */
    char *namespace;
    char *name;
    char *uid;
    char *version; /* resourceVersion of the Job that this was read from */
    struct retention *retention;
};

struct retention {
    struct client *client;
    struct clock *clock;
    int64_t max_age_us;
    size_t max_count;
    struct map *finished;  /* by "NS/NAME" */
    struct map *owners;    /* by uid */
    struct heap *by_count; /* owners, the one with the most jobs on top */
    size_t count;          /* of jobs in the owners' heaps */
    struct heap *by_due;
    struct list departed; /* is_gone, but the delete call is not answered */
    struct timer *timer;
    unsigned deletes;
};

static bool
ended_earlier(const void *a, const void *b, UNUSED void *context)
{
    const struct finished *x = a, *y = b;

    return x->ended_us < y->ended_us;
}

static bool
has_more(const void *a, const void *b, UNUSED void *context)
{
    const struct owner_jobs *x = a, *y = b;

    return heap_count(x->by_end) > heap_count(y->by_end);
}

static bool
due_earlier(const void *a, const void *b, UNUSED void *context)
{
    const struct finished *x = a, *y = b;

    return x->due_us < y->due_us;
}

static void
free_finished(struct finished *f)
{
    free(f->namespace);
    free(f->name);
    free(f->uid);
    free(f->version);
    free(f);
}

/* A complete Job has a completion time; a failed one ended at its last
 * condition.
 */
static int64_t
end_of(const struct job *job)
{
    int64_t end = job->status.completion_at_us;

    for (unsigned i = 0; i < job->status.conditions.count; i++)
        if (job->status.conditions.items[i].last_transition_at_us > end)
            end = job->status.conditions.items[i].last_transition_at_us;
    return end;
}

/* An update may change when the Job ended and when it must be deleted. */
static void
read_times(struct finished *f, const struct job *job)
{
    const int64_t *ttl = job->spec.ttl_seconds_after_finished;

    f->ended_us = end_of(job);
    f->due_us = f->ended_us + f->retention->max_age_us;
    if (ttl != NULL && f->ended_us + *ttl * 1000000 < f->due_us)
        f->due_us = f->ended_us + *ttl * 1000000;
    free(f->version);
    f->version = xstrdup(job->meta.resource_version);
}

/* ---- Owners ---- */

static struct owner_jobs *
make_owner(struct retention *r, const struct object *job)
{
    struct owner_jobs *owner;
    char key[24] = "nobody";
    uid_t uid;

    if (object_owner(job, &uid))
        snprintf(key, sizeof(key), "%u", (unsigned)uid);
    owner = map_find(r->owners, key);
    if (owner != NULL)
        return owner;
    owner = xnew(struct owner_jobs);
    owner->place = HEAP_NOWHERE;
    owner->by_end = heap_new(ended_earlier, NULL, offsetof(struct finished, end_place));
    map_put(r->owners, key, owner);
    return owner;
}

static void
owner_changed(struct retention *r, struct owner_jobs *owner)
{
    if (owner->place == HEAP_NOWHERE)
        heap_push(r->by_count, owner);
    else if (heap_count(owner->by_end) == 0)
        heap_remove(r->by_count, owner);
    else
        heap_moved(r->by_count, owner);
}

static void
add_to_owner(struct finished *f)
{
    heap_push(f->owner->by_end, f);
    f->retention->count++;
    owner_changed(f->retention, f->owner);
}

static void
remove_from_owner(struct finished *f)
{
    heap_remove(f->owner->by_end, f);
    f->retention->count--;
    owner_changed(f->retention, f->owner);
}

/* ---- Jobs ---- */

static void
note_finished(struct retention *r, const char *key, const struct object *object)
{
    struct finished *f = xnew(struct finished);
    const struct job *job = job_of(object);

    f->retention = r;
    f->owner = make_owner(r, object);
    read_times(f, job);
    f->namespace = xstrdup(job->meta.namespace);
    f->name = xstrdup(job->meta.name);
    f->uid = xstrdup(job->meta.uid);
    map_put(r->finished, key, f);
    add_to_owner(f);
    heap_push(r->by_due, f);
}

/* A Job whose delete call is pending is in no heap; on_deleted puts it back if
 * the Job remains.
 */
static void
note_again(struct finished *f, const struct job *job)
{
    struct retention *r = f->retention;

    read_times(f, job);
    if (f->end_place != HEAP_NOWHERE)
        heap_moved(f->owner->by_end, f);
    if (f->due_place != HEAP_NOWHERE)
        heap_moved(r->by_due, f);
}

static void
put_back(struct finished *f)
{
    heap_push(f->retention->by_due, f);
    add_to_owner(f);
}

static void
take_out(struct retention *r, struct finished *f)
{
    if (f->end_place != HEAP_NOWHERE)
        remove_from_owner(f);
    if (f->due_place != HEAP_NOWHERE)
        heap_remove(r->by_due, f);
}

static void
on_job(const struct object *old_object, const struct object *new_object, void *context)
{
    struct retention *r = context;
    const struct object *job = new_object ? new_object : old_object;
    char key[OBJECT_KEY_SIZE];
    struct finished *f;

    object_key(job, key);
    if (new_object == NULL) {
        f = map_remove(r->finished, key);
        if (f == NULL)
            return;
        take_out(r, f);
        f->is_gone = true;
        if (f->is_going)
            list_add_last(&r->departed, &f->link);
        else
            free_finished(f);
        return;
    }
    if (!job_is_finished(job_of(job)))
        return;
    f = map_find(r->finished, key);
    if (f == NULL)
        note_finished(r, key, job);
    else
        note_again(f, job_of(job));
}

static void
on_deleted(const struct client_reply *reply, void *context)
{
    struct finished *f = context;
    struct retention *r = f->retention;
    struct error err = {0};

    r->deletes--;
    f->is_going = false;
    if (f->is_gone) {
        list_remove(&f->link);
        free_finished(f);
        return;
    }
    if (reply->code == 200 || reply->code == 404)
        return;               /* the watch reports the deletion, or a new Job of that name */
    if (reply->code == 409) { /* changed since: judge the Job again */
        put_back(f);
        return;
    }
    client_reply_error(reply, &err);
    log_warning("cannot remove the finished job '%s/%s': %s, trying again "
                "in a minute",
                f->namespace, f->name, err.text);
    f->due_us = clock_real_us(r->clock) + 60 * INT64_C(1000000);
    put_back(f);
}

/* The preconditions restrict the delete to the Job that was judged: a new Job
 * of the same name, or one that was changed since, may have to be kept.
 */
static void
remove_job(struct retention *r, struct finished *f)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *preconditions;
    struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = &job_kind,
        .namespace = f->namespace,
        .name = f->name,
        .body = body,
    };

    json_set_string(arena, body, "kind", "DeleteOptions");
    json_set_string(arena, body, "apiVersion", "v1");
    json_set_string(arena, body, "propagationPolicy", "Background");
    preconditions = json_make_object(arena, body, "preconditions");
    json_set_string(arena, preconditions, "uid", f->uid);
    json_set_string(arena, preconditions, "resourceVersion", f->version);
    take_out(r, f);
    f->is_going = true;
    r->deletes++;
    client_call(r->client, arena, &request, on_deleted, f);
}

static void
check(void *context)
{
    struct retention *r = context;
    int64_t now = clock_real_us(r->clock);
    struct finished *f;

    while (r->deletes < DELETES_AT_ONCE && (f = heap_top(r->by_due)) != NULL && f->due_us <= now)
        remove_job(r, f);
    while (r->deletes < DELETES_AT_ONCE && r->count > r->max_count) {
        const struct owner_jobs *most = heap_top(r->by_count);

        remove_job(r, heap_top(most->by_end));
    }
}

static void
on_synced(void *context)
{
    struct retention *r = context;

    timer_repeat(r->timer, CHECK_MS);
}

struct retention *
retention_new(const struct retention_settings *settings)
{
    struct retention *r = xnew(struct retention);

    r->client = settings->client;
    r->clock = settings->clock;
    r->max_age_us = (settings->max_age_s ? settings->max_age_s : DEFAULT_AGE_S) * 1000000;
    r->max_count = (size_t)(settings->max_count ? settings->max_count : DEFAULT_COUNT);
    r->finished = map_new();
    list_init(&r->departed);
    r->owners = map_new();
    r->by_count = heap_new(has_more, NULL, offsetof(struct owner_jobs, place));
    r->by_due = heap_new(due_earlier, NULL, offsetof(struct finished, due_place));
    r->timer = timer_new(settings->loop, check, r);
    object_cache_listen(settings->cache, &job_kind, on_job, r);
    object_cache_on_synced(settings->cache, on_synced, r);
    return r;
}

void
retention_free(struct retention *r)
{
    size_t at = 0;
    void *f;

    if (r == NULL)
        return;
    timer_free(r->timer);
    while (map_next(r->finished, &at, NULL, &f))
        free_finished(f);
    while (!list_is_empty(&r->departed)) {
        struct finished *last = container_of(r->departed.next, struct finished, link);

        list_remove(&last->link);
        free_finished(last);
    }
    map_free(r->finished);
    at = 0;
    while (map_next(r->owners, &at, NULL, &f)) {
        heap_free(((struct owner_jobs *)f)->by_end);
        free(f);
    }
    map_free(r->owners);
    heap_free(r->by_count);
    heap_free(r->by_due);
    free(r);
}
