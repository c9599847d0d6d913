/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/lookout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/kctl.h"
#include "cli/kctl/listing.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/status.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

#define RETRY_MS 1000

struct keeper {
    const struct lookout *v;
    struct client *client;
    struct client_watch *watch;
    struct timer *retry;
    char *selector;
    char *version;
    struct error *err;
    int result;
    unsigned n_lost; /* in a row */
};

static void
set_version(struct keeper *k, const char *version)
{
    char *copy;

    if (version == NULL || version[0] == '\0')
        return;
    copy = xstrdup(version);
    free(k->version);
    k->version = copy;
}

/* A row's version is that of its object. */
static const char *
version_in(const struct json *object)
{
    const char *version = json_path_text(object, "metadata.resourceVersion");
    const struct json *row = json_at(json_get(object, "rows"), 0);

    if (version != NULL && version[0] != '\0')
        return version;
    return json_path_text(row, "object.metadata.resourceVersion");
}

static void
take_text(struct keeper *k, const char *text, size_t length, bool is_bookmark)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *frame = json_parse(arena, text, length, NULL, NULL);
    const struct json *object = json_get(frame, "object");

    if (object == NULL)
        return;
    set_version(k, version_in(object));
    if (is_bookmark)
        return;
    listing_add(k->v->listing, object);
}

static void
take_object(struct keeper *k, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    listing_add(k->v->listing, object_tree(object, arena));
    set_version(k, object->meta->resource_version);
}

static void
lose(struct keeper *k, const struct client_event *event)
{
    client_stop(k->watch);
    k->watch = NULL;
    if (event->status == NULL) {
        /* Not of a watch that ended in good order. */
        if (k->n_lost++ == 1)
            fprintf(stderr,
                    "kctl: the controller does not answer; waiting until it "
                    "does\n");
        timer_start(k->retry, RETRY_MS);
        return;
    }
    k->result = error_set(k->err,
                          event->status->code == 410 ? -ESTALE : -EREMOTEIO,
                          "%s",
                          event->status->message != NULL
                              ? event->status->message
                              : "the server ended the watch");
    loop_stop(k->client->loop);
}

static void
keeper_event(const struct client_event *event, void *context)
{
    struct keeper *k = context;

    if (event->type == CLIENT_ERROR) {
        lose(k, event);
        return;
    }
    k->n_lost = 0;
    if (event->text != NULL)
        take_text(k,
                  event->text,
                  event->length,
                  event->type == CLIENT_BOOKMARK);
    else if (event->type != CLIENT_BOOKMARK)
        take_object(k, event->object);
    set_version(k, event->resource_version);
    listing_print(k->v->listing);
    if (fflush(stdout) != 0)
        loop_stop(k->client->loop); /* nobody reads any more */
}

static void
start(void *context)
{
    struct keeper *k = context;
    const struct client_watch_request request = {
        .kind = k->v->object->kind,
        .namespace = k->v->object->namespace,
        .label_selector = k->v->label_selector,
        .field_selector = k->selector,
        .resource_version = k->version,
        .accept = k->v->accept,
    };

    k->watch = client_watch(k->client, &request, keeper_event, k);
}

int
lookout_keep(struct kctl *kctl,
             const struct lookout *lookout,
             struct error *err)
{
    struct keeper k = {
        .v = lookout,
        .client = kctl_client(kctl),
        .err = err,
    };

    fflush(stdout);
    if (lookout->object->name != NULL)
        k.selector = xasprintf("metadata.name=%s", lookout->object->name);
    else if (lookout->field_selector != NULL)
        k.selector = xstrdup(lookout->field_selector);
    set_version(&k, lookout->version);
    k.retry = timer_new(k.client->loop, start, &k);
    start(&k);
    loop_run(k.client->loop);
    client_stop(k.watch);
    timer_free(k.retry);
    free(k.selector);
    free(k.version);
    return k.result;
}
