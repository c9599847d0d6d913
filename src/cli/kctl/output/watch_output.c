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
set_version(struct watch_state *w, const char *version)
{
    char *copy;

    if (version == NULL || version[0] == '\0')
        return;
    copy = xstrdup(version);
    free(w->version);
    w->version = copy;
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
is_known(const struct watch_state *w, const struct client_event *event, const char *version)
{
    return event->type == CLIENT_ADDED && w->shown > 0 && revision_of(version) <= w->shown;
}

/* The first objects come in the order of names, so the watch cannot go on from one
 * of these revisions; it can from that of the first change after them.
 */
static void
note_version(struct watch_state *w, const struct client_event *event, const char *version)
{
    if (w->version == NULL && event->type == CLIENT_ADDED)
        return;
    if (revision_of(version) >= revision_of(w->version))
        set_version(w, version);
}

static void
take_text(struct watch_state *w, const struct client_event *event)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *frame = json_parse(arena, event->text, event->length, NULL, NULL);
    const struct json *object = json_get(frame, "object");

    if (object == NULL || is_known(w, event, version_in(object)))
        return;
    note_version(w, event, version_in(object));
    if (event->type != CLIENT_BOOKMARK)
        listing_add(w->v->listing, object);
}

static void
take_object(struct watch_state *w, const struct client_event *event)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    if (is_known(w, event, event->object->meta->resource_version))
        return;
    listing_add(w->v->listing, object_tree(event->object, arena));
    note_version(w, event, event->object->meta->resource_version);
}

/* The server no longer has the changes since the last one that was shown, as
 * after another controller took over: the watch begins anew, with what there is.
 */
static void
begin_anew(struct watch_state *w)
{
    w->shown = w->version != NULL ? revision_of(w->version) : w->shown;
    free(w->version);
    w->version = NULL;
    timer_start(w->retry, 0);
}

static void
connection_lost(struct watch_state *w, const struct client_event *event)
{
    client_stop(w->watch);
    w->watch = NULL;
    if (event->status != NULL && event->status->code == 410 && w->version != NULL) {
        begin_anew(w);
        return;
    }
    if (event->status == NULL || event->status->code == 503) {
        /* The first loss may be the normal end of a watch. */
        if (w->n_lost++ == 1)
            fprintf(stderr, "kctl: the controller does not answer; waiting until it "
                            "does\n");
        timer_start(w->retry, RETRY_MS);
        return;
    }
    w->result = error_set(w->err, -EREMOTEIO, "%s",
                          event->status->message != NULL ? event->status->message
                                                         : "the server ended the watch");
    loop_stop(w->client->loop);
}

static void
watch_state_event(const struct client_event *event, void *context)
{
    struct watch_state *w = context;

    if (event->type == CLIENT_ERROR) {
        connection_lost(w, event);
        return;
    }
    w->n_lost = 0;
    if (event->text != NULL)
        take_text(w, event);
    else if (event->type != CLIENT_BOOKMARK)
        take_object(w, event);
    if (event->type == CLIENT_BOOKMARK)
        note_version(w, event, event->resource_version);
    listing_print(w->v->listing);
    if (fflush(stdout) != 0)
        loop_stop(w->client->loop); /* the reader has closed the pipe */
}

static void
start(void *context)
{
    struct watch_state *w = context;
    char query[48];
    const struct client_watch_request request = {
        .kind = w->v->object->kind,
        .namespace = w->v->object->namespace,
        .label_selector = w->v->label_selector,
        .field_selector = w->selector,
        .resource_version = w->version,
        .accept = w->v->accept,
        .query = w->v->accept != NULL ? query : NULL,
    };

    snprintf(query, sizeof(query), "kiln.hpc/utcOffset=%ld", kctl_utc_offset());
    w->watch = client_watch(w->client, &request, watch_state_event, w);
}

int
watch_output_run(struct kctl *kctl, const struct watch_output *watch_output, struct error *err)
{
    struct watch_state w = {
        .v = watch_output,
        .client = kctl_client(kctl),
        .err = err,
    };

    if (fflush(stdout) != 0)
        return 0; /* the reader has closed the pipe; program_end finds it, too */
    if (watch_output->object->name != NULL)
        w.selector = xasprintf("metadata.name=%s", watch_output->object->name);
    else if (watch_output->field_selector != NULL)
        w.selector = xstrdup(watch_output->field_selector);
    set_version(&w, watch_output->version);
    w.retry = timer_new(w.client->loop, start, &w);
    start(&w);
    loop_run(w.client->loop);
    client_stop(w.watch);
    timer_free(w.retry);
    free(w.selector);
    free(w.version);
    return w.result;
}
