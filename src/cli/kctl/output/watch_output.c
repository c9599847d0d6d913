/* SPDX-License-Identifier: Apache-2.0 */
/* A watch that ends is continued from the version that was shown last. If the server does not
 * have that any more, the watch begins anew, and what was shown already is left out by its
 * revision, since revisions rise, also over a change of controllers.
 */
#include "cli/kctl/output/watch_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "cli/kctl/output/listing.h"
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

struct watch_state {
    const struct watch_output *v;
    struct client *client;
    struct client_watch *watch;
    struct timer *retry;
    char *selector;
    char *version;
    struct error *err;
    int result;
    unsigned n_lost; /* consecutive losses */
    int64_t shown;   /* lists up to this revision were shown already; 0: none is */
};

static void
set_version(struct watch_state *k, const char *version)
{
    char *copy;

    if (version == NULL || version[0] == '\0')
        return;
    copy = xstrdup(version);
    free(k->version);
    k->version = copy;
}

/* The version of a row is that of its object. */
static const char *
version_in(const struct json *object)
{
    const char *version = json_path_text(object, "metadata.resourceVersion");
    const struct json *row = json_at(json_get(object, "rows"), 0);

    if (version != NULL && version[0] != '\0')
        return version;
    return json_path_text(row, "object.metadata.resourceVersion");
}

static int64_t
revision_of(const char *version)
{
    return version != NULL ? strtoll(version, NULL, 10) : 0;
}

/* A watch that begins anew shows what there is first, most of which is known. The
 * server issues rising revisions, also after another controller took over.
 */
static bool
is_known(const struct watch_state *k, const struct client_event *event, const char *version)
{
    return event->type == CLIENT_ADDED && k->shown > 0 && revision_of(version) <= k->shown;
}

/* The first objects come in the order of names, so the watch cannot go on from one
 * of these revisions; it can from that of the first change after them.
 */
static void
note_version(struct watch_state *k, const struct client_event *event, const char *version)
{
    if (k->version == NULL && event->type == CLIENT_ADDED)
        return;
    if (revision_of(version) >= revision_of(k->version))
        set_version(k, version);
}

static void
take_text(struct watch_state *k, const struct client_event *event)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *frame = json_parse(arena, event->text, event->length, NULL, NULL);
    const struct json *object = json_get(frame, "object");

    if (object == NULL || is_known(k, event, version_in(object)))
        return;
    note_version(k, event, version_in(object));
    if (event->type != CLIENT_BOOKMARK)
        listing_add(k->v->listing, object);
}

static void
take_object(struct watch_state *k, const struct client_event *event)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    if (is_known(k, event, event->object->meta->resource_version))
        return;
    listing_add(k->v->listing, object_tree(event->object, arena));
    note_version(k, event, event->object->meta->resource_version);
}

/* The server no longer has the changes since the last one that was shown, as
 * after another controller took over: the watch begins anew, with what there is.
 */
static void
begin_anew(struct watch_state *k)
{
    k->shown = k->version != NULL ? revision_of(k->version) : k->shown;
    free(k->version);
    k->version = NULL;
    timer_start(k->retry, 0);
}

static void
connection_lost(struct watch_state *k, const struct client_event *event)
{
    client_stop(k->watch);
    k->watch = NULL;
    if (event->status != NULL && event->status->code == 410 && k->version != NULL) {
        begin_anew(k);
        return;
    }
    if (event->status == NULL || event->status->code == 503) {
        /* The first loss may be the normal end of a watch. */
        if (k->n_lost++ == 1)
            fprintf(stderr, "kctl: the controller does not answer; waiting until it "
                            "does\n");
        timer_start(k->retry, RETRY_MS);
        return;
    }
    k->result = error_set(k->err, -EREMOTEIO, "%s",
                          event->status->message != NULL ? event->status->message
                                                         : "the server ended the watch");
    loop_stop(k->client->loop);
}

static void
watch_state_event(const struct client_event *event, void *context)
{
    struct watch_state *k = context;

    if (event->type == CLIENT_ERROR) {
        connection_lost(k, event);
        return;
    }
    k->n_lost = 0;
    if (event->text != NULL)
        take_text(k, event);
    else if (event->type != CLIENT_BOOKMARK)
        take_object(k, event);
    if (event->type == CLIENT_BOOKMARK)
        note_version(k, event, event->resource_version);
    listing_print(k->v->listing);
    if (fflush(stdout) != 0)
        loop_stop(k->client->loop); /* the reader has closed the pipe */
}

static void
start(void *context)
{
    struct watch_state *k = context;
    char query[48];
    const struct client_watch_request request = {
        .kind = k->v->object->kind,
        .namespace = k->v->object->namespace,
        .label_selector = k->v->label_selector,
        .field_selector = k->selector,
        .resource_version = k->version,
        .accept = k->v->accept,
        .query = k->v->accept != NULL ? query : NULL,
    };

    snprintf(query, sizeof(query), "kiln.hpc/utcOffset=%ld", kctl_utc_offset());
    k->watch = client_watch(k->client, &request, watch_state_event, k);
}

int
watch_output_run(struct kctl *kctl, const struct watch_output *watch_output, struct error *err)
{
    struct watch_state k = {
        .v = watch_output,
        .client = kctl_client(kctl),
        .err = err,
    };

    if (fflush(stdout) != 0)
        return 0; /* the reader has closed the pipe; program_end finds it, too */
    if (watch_output->object->name != NULL)
        k.selector = xasprintf("metadata.name=%s", watch_output->object->name);
    else if (watch_output->field_selector != NULL)
        k.selector = xstrdup(watch_output->field_selector);
    set_version(&k, watch_output->version);
    k.retry = timer_new(k.client->loop, start, &k);
    start(&k);
    loop_run(k.client->loop);
    client_stop(k.watch);
    timer_free(k.retry);
    free(k.selector);
    free(k.version);
    return k.result;
}
