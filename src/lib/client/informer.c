/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever happens to a connection, a new list is right: it is compared with what is known,
 * and the differences are told as changes. So the informer needs no memory of deletions, and
 * an interrupted watch, a restored store and a server that went back are one case (decision
 * 339). A watch that delivers older changes after newer ones has missed others, too.
 *
 * A name with another uid is another object, so its deletion is told before its creation: a
 * handler that kept the old one's state would give it to the new one. Delays grow and have a
 * random part, as ten thousand agents lose the same server in one moment.
 */
#include "lib/client/informer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/object_map.h"
#include "lib/api/object/status.h"
#include "lib/base/alloc.h"
#include "lib/base/backoff.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

#define PAGE           2000
#define RETRY_FIRST_MS 100
#define RETRY_MOST_MS  30000

/* When a watch that lived this long ends, the retry delay starts again from its
 * first value.
 */
#define WATCH_GOOD_MS 10000

struct informer {
    struct informer_settings settings;
    struct object_map *objects; /* one reference each */
    bool has_synced;

    /* A list under way: the objects of the pages received so far. */
    struct client_call *call;
    struct object_map *listed;
    char *list_version;

    struct client_watch *watch;
    char *version;  /* resourceVersion of the watch; NULL: list first */
    int64_t newest; /* latest revision of the list or the watch */
    int64_t watch_started_ms;

    struct timer *retry;
    int64_t retry_ms;    /* the next delay */
    int64_t retry_at_ms; /* set while the timer runs */
    bool was_answered;   /* at the last failure: the server answered */
    struct random_source random;
};

static void list_start(struct informer *in, const char *continue_token);
static void watch_start(struct informer *in);

static void
objects_free(struct object_map *objects)
{
    const struct object *object = NULL;
    size_t at = 0;

    if (objects == NULL)
        return;
    while (object_map_next(objects, &at, &object))
        object_unref(object);
    object_map_free(objects);
}

static char *
dup_or_null(const char *text)
{
    return text != NULL ? xstrdup(text) : NULL;
}

static void
set_text(char **text, const char *value)
{
    char *copy = dup_or_null(value);

    free(*text);
    *text = copy;
}

static void
notify(const struct informer *in, const struct object *old_object, const struct object *new_object)
{
    in->settings.changed(old_object, new_object, in->settings.context);
}

/* An object with the same name but another uid is a new object: handlers must
 * see the deletion of the old one before the new one is added.
 */
static bool
is_same_life(const struct object *a, const struct object *b)
{
    return a->meta->uid == NULL || b->meta->uid == NULL || strcmp(a->meta->uid, b->meta->uid) == 0;
}

static void
take_object(struct informer *in, const struct object *object)
{
    CLEANUP(object_unrefp)
    const struct object *old_object = object_map_put(in->objects, object_ref(object));

    if (old_object != NULL && !is_same_life(old_object, object)) {
        notify(in, old_object, NULL);
        notify(in, NULL, object);
        return;
    }
    if (old_object == NULL || old_object->revision != object->revision)
        notify(in, old_object, object);
}

static void
drop_object(struct informer *in, const struct object *last)
{
    CLEANUP(object_unrefp)
    const struct object *old_object =
        object_map_remove(in->objects, last->meta->namespace, last->meta->name);

    if (old_object != NULL)
        notify(in, is_same_life(old_object, last) ? last : old_object, NULL);
}

/* Retries */

static void
retry_run(void *arg)
{
    struct informer *in = arg;

    if (in->version != NULL)
        watch_start(in);
    else
        list_start(in, NULL);
}

static void
retry_in(struct informer *in, int64_t ms)
{
    in->retry_at_ms = loop_now_ms() + ms;
    timer_start(in->retry, ms);
}

/* The delay doubles; a third of it is random, so that ten thousand agents do
 * not retry at the same moment. Once the server answers again, the delay that
 * grew while it did not answer is reset: after a restart a watch is refused as
 * too old, and the list that must follow should not wait for half a minute.
 */
static void
retry_later(struct informer *in, bool is_answered)
{
    int64_t part;

    if (is_answered && !in->was_answered)
        in->retry_ms = RETRY_FIRST_MS;
    in->was_answered = is_answered;
    part = in->retry_ms / 3;
    retry_in(in, in->retry_ms - part + (int64_t)random_below(&in->random, (uint64_t)part + 1));
    in->retry_ms = backoff_next(in->retry_ms, RETRY_FIRST_MS, RETRY_MOST_MS);
}

/* A server that is overloaded, or that its proxy cannot reach, does not count
 * as answering.
 */
static bool
is_answer(int64_t code)
{
    return code != 0 && code != 429 && code < 500;
}

/* The list */

static void
list_forget(struct informer *in)
{
    objects_free(in->listed);
    in->listed = NULL;
    set_text(&in->list_version, NULL);
}

static void
drop_unlisted(struct informer *in)
{
    const struct object *gone = NULL;
    size_t at = 0;

    while (object_map_next(in->objects, &at, &gone)) {
        const struct meta *meta = gone->meta;

        if (object_map_find(in->listed, meta->namespace, meta->name) != NULL)
            continue;
        object_map_remove(in->objects, meta->namespace, meta->name);
        notify(in, gone, NULL);
        object_unref(gone);
    }
}

static void
list_finish(struct informer *in)
{
    const struct object *object = NULL;
    size_t at = 0;

    drop_unlisted(in);
    while (object_map_next(in->listed, &at, &object))
        take_object(in, object);
    set_text(&in->version, in->list_version);
    in->newest = strtoll(in->version, NULL, 10);
    list_forget(in);
    watch_start(in);
    if (in->has_synced)
        return;
    in->has_synced = true;
    if (in->settings.synced != NULL)
        in->settings.synced(in->settings.context);
}

static void
list_done(const struct client_reply *reply, void *context)
{
    struct informer *in = context;
    struct error err = {0};

    in->call = NULL;
    if (client_reply_error(reply, &err) < 0) {
        log_debug("Cannot list %s: %s, trying again.", in->settings.kind->plural, err.text);
        list_forget(in);
        retry_later(in, is_answer(reply->code));
        if (reply->code == 403 && in->settings.refused != NULL)
            in->settings.refused(&err, in->settings.context);
        return;
    }
    for (size_t i = 0; i < reply->n_objects; i++)
        object_unref(object_map_put(in->listed, object_ref(reply->objects[i])));
    if (in->list_version == NULL)
        set_text(&in->list_version, reply->resource_version != NULL ? reply->resource_version : "");
    if (reply->continue_token != NULL && reply->continue_token[0] != '\0')
        list_start(in, reply->continue_token);
    else
        list_finish(in);
}

static void
list_start(struct informer *in, const char *continue_token)
{
    struct client_request request = {
        .verb = CLIENT_LIST,
        .kind = in->settings.kind,
        .namespace = in->settings.namespace,
        .label_selector = in->settings.label_selector,
        .field_selector = in->settings.field_selector,
        .continue_token = continue_token,
        .limit = PAGE,
    };

    if (continue_token == NULL) {
        list_forget(in);
        in->listed = object_map_new();
    }
    in->call = client_call(in->settings.client, NULL, &request, list_done, in);
}

/* The watch */

static bool
is_too_old(const struct client_event *event)
{
    return event->status != NULL && event->status->code == 410;
}

static void
notify_interrupted(const struct informer *in)
{
    if (in->settings.interrupted != NULL)
        in->settings.interrupted(in->settings.context);
}

static void
watch_lost(struct informer *in, const struct client_event *event)
{
    client_stop(in->watch);
    in->watch = NULL;
    if (loop_now_ms() - in->watch_started_ms >= WATCH_GOOD_MS)
        in->retry_ms = RETRY_FIRST_MS;
    /* Any other refusal may mean that the server does not know the
     * resourceVersion, as after its state was restored from a backup: a new
     * list is always right. A 503 says nothing about it: the server is away.
     */
    if (event->status != NULL && event->status->code != 503)
        set_text(&in->version, NULL);
    if (is_too_old(event))
        log_debug("The watch of %s is too old, listing again.", in->settings.kind->plural);
    retry_later(in, event->status != NULL && is_answer(event->status->code));
    notify_interrupted(in);
}

/* A watch must deliver changes in order. A watch that goes back may show the
 * old state of a pod that is gone, and may have skipped changes that are
 * delivered nowhere else. A new list is always right.
 */
static bool
has_gone_back(struct informer *in, const struct client_event *event)
{
    const char *text = event->resource_version != NULL ? event->resource_version
                       : event->object != NULL         ? event->object->meta->resource_version
                                                       : NULL;
    const int64_t revision = text != NULL ? strtoll(text, NULL, 10) : 0;

    if (revision == 0 || revision >= in->newest) {
        in->newest = revision != 0 ? revision : in->newest;
        return false;
    }
    log_warning("the watch of %s has gone back from revision %" PRId64 " to %" PRId64
                ", listing again",
                in->settings.kind->plural, in->newest, revision);
    client_stop(in->watch);
    in->watch = NULL;
    set_text(&in->version, NULL);
    retry_later(in, true);
    return true;
}

static void
watch_event(const struct client_event *event, void *context)
{
    struct informer *in = context;

    if (event->type != CLIENT_ERROR && has_gone_back(in, event))
        return;
    switch (event->type) {
    case CLIENT_ERROR:
        watch_lost(in, event);
        return;
    case CLIENT_ADDED:
    case CLIENT_MODIFIED:
        take_object(in, event->object);
        break;
    case CLIENT_DELETED:
        drop_object(in, event->object);
        break;
    case CLIENT_BOOKMARK:
        break;
    }
    if (event->resource_version != NULL)
        set_text(&in->version, event->resource_version);
    else if (event->object != NULL)
        set_text(&in->version, event->object->meta->resource_version);
    in->retry_ms = RETRY_FIRST_MS;
}

static void
watch_start(struct informer *in)
{
    const struct client_watch_request request = {
        .kind = in->settings.kind,
        .namespace = in->settings.namespace,
        .label_selector = in->settings.label_selector,
        .field_selector = in->settings.field_selector,
        .resource_version = in->version,
    };

    in->watch_started_ms = loop_now_ms();
    in->watch = client_watch(in->settings.client, &request, watch_event, in);
}

/* Life */

void
informer_free(struct informer *in)
{
    if (in == NULL)
        return;
    client_cancel(in->call);
    client_stop(in->watch);
    timer_free(in->retry);
    list_forget(in);
    objects_free(in->objects);
    free(in->version);
    free((char *)(uintptr_t)in->settings.namespace);
    free((char *)(uintptr_t)in->settings.label_selector);
    free((char *)(uintptr_t)in->settings.field_selector);
    free(in);
}

struct informer *
informer_new(const struct informer_settings *settings)
{
    struct informer *in = xnew(struct informer);

    in->settings = *settings;
    in->settings.namespace = dup_or_null(settings->namespace);
    in->settings.label_selector = dup_or_null(settings->label_selector);
    in->settings.field_selector = dup_or_null(settings->field_selector);
    in->objects = object_map_new();
    in->retry = timer_new(settings->client->loop, retry_run, in);
    in->retry_ms = RETRY_FIRST_MS;
    random_bytes(&in->random, sizeof(in->random));
    list_start(in, NULL);
    return in;
}

void
informer_retry_now(struct informer *in, int64_t within_ms)
{
    int64_t ms = (int64_t)random_below(&in->random, (uint64_t)within_ms + 1);

    if (!timer_is_running(in->retry))
        return;
    in->retry_ms = RETRY_FIRST_MS;
    if (loop_now_ms() + ms < in->retry_at_ms)
        retry_in(in, ms);
}

bool
informer_is_disconnected(const struct informer *in)
{
    return timer_is_running(in->retry);
}

bool
informer_is_listing(const struct informer *in)
{
    return in->listed != NULL;
}

bool
informer_has_synced(const struct informer *in)
{
    return in->has_synced;
}

const struct object *
informer_find(const struct informer *in, const char *namespace, const char *name)
{
    return object_map_find(in->objects, namespace, name);
}

size_t
informer_count(const struct informer *in)
{
    return object_map_count(in->objects);
}

void
informer_visit(const struct informer *in, informer_visit_fn *visit, void *context)
{
    const struct object *object = NULL;
    size_t at = 0;

    while (object_map_next(in->objects, &at, &object))
        visit(object, context);
}
