/* SPDX-License-Identifier: Apache-2.0 */
/* All watchers of a change come in the same turn of the loop, so it is enough to remember the
 * last change: what the first watcher needs is made for all, and forgotten when the next
 * change comes. Views differ (redaction, tables, time zones), but there are few of them.
 */
#include "controller/apiserver/watch/shared_change.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/http/render.h"
#include "controller/apiserver/request/accept.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/view.h"
#include "controller/store/store.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/metric.h"
#include "lib/json/json.h"

/* Different views are few. When there are more, the oldest frame is dropped. */
#define FRAMES 8

struct made_text {
    const char *type;
    struct accept accept;
    const struct kind *kind;
    bool is_whole;
    bool with_columns;
    bool has_east;
    int64_t east_s;
    struct frame *frame;
};

struct shared_change {
    struct clock *clock;
    int64_t revision; /* of `last_state` */
    const struct object *before;
    const struct object *last_state;
    const struct object *object; /* of the frames in `made`; a reference */
    struct made_text made[FRAMES];
    unsigned n_made, next;
    struct frame_pool *pool;
    struct metric *frames_made; /* or NULL */
};

static void
forget_frames(struct shared_change *shared_change)
{
    for (unsigned i = 0; i < shared_change->n_made; i++)
        frame_unref(shared_change->made[i].frame);
    shared_change->n_made = shared_change->next = 0;
    object_unrefp(&shared_change->object);
    shared_change->object = NULL;
}

static void
forget_state(struct shared_change *shared_change)
{
    object_unrefp(&shared_change->last_state);
    object_unrefp(&shared_change->before);
    shared_change->last_state = shared_change->before = NULL;
}

void
shared_change_free(struct shared_change *shared_change)
{
    if (shared_change == NULL)
        return;
    forget_frames(shared_change);
    forget_state(shared_change);
    frame_pool_free(shared_change->pool);
    free(shared_change);
}

struct shared_change *
shared_change_new(struct metric_registry *metrics, struct clock *clock)
{
    struct shared_change *shared_change = xnew(struct shared_change);

    shared_change->clock = clock;
    shared_change->pool = frame_pool_new();
    if (metrics != NULL)
        shared_change->frames_made =
            metric_series(metric_counter(metrics, "kiln_watch_frames_made_total",
                                         "Changes that were encoded for watchers, each once "
                                         "for all watchers with the same view.",
                                         NULL));
    return shared_change;
}

const struct object *
shared_change_last_state(struct shared_change *shared_change, const struct store_change *change)
{
    const struct object *before = change->old_object;
    CLEANUP(arena_freep) struct arena *arena = NULL;
    struct json *tree;
    char revision[24];

    if (shared_change->revision == change->revision && shared_change->before == before)
        return shared_change->last_state;
    forget_state(shared_change);
    shared_change->revision = change->revision;
    shared_change->before = object_ref(before);
    if (before->revision == change->revision) {
        shared_change->last_state = object_ref(before);
        return before;
    }
    arena = arena_new(0);
    tree = object_tree(before, arena);
    snprintf(revision, sizeof(revision), "%" PRId64, change->revision);
    json_set_string(arena, json_get(tree, "metadata"), "resourceVersion", revision);
    shared_change->last_state = object_new(before->kind, tree);
    return shared_change->last_state;
}

static bool
is_same_accept(const struct accept *a, const struct accept *b)
{
    return a->form == b->form && a->include == b->include && a->is_kiln == b->is_kiln
           && a->is_v1beta1 == b->is_v1beta1;
}

static bool
is_same_zone(const struct made_text *made, const struct view *view)
{
    return made->has_east == (view->east_s != NULL)
           && (view->east_s == NULL || made->east_s == *view->east_s);
}

struct frame *
shared_change_frame(struct shared_change *shared_change, const struct view *view, const char *type,
                    const struct object *object, bool with_columns)
{
    bool is_whole = authorization_reads_whole(view->principal, object);
    struct view now;
    struct made_text *made;

    if (shared_change->object != object) {
        forget_frames(shared_change);
        shared_change->object = object_ref(object);
    }
    for (unsigned i = 0; i < shared_change->n_made; i++) {
        made = &shared_change->made[i];
        if (made->type == type && made->is_whole == is_whole && made->with_columns == with_columns
            && made->kind == view->kind && is_same_accept(&made->accept, &view->accept)
            && is_same_zone(made, view))
            return made->frame;
    }
    made = &shared_change->made[shared_change->next];
    if (shared_change->n_made == FRAMES)
        frame_unref(made->frame);
    else
        shared_change->n_made++;
    shared_change->next = (shared_change->next + 1) % FRAMES;
    made->type = type;
    made->accept = view->accept;
    made->kind = view->kind;
    made->is_whole = is_whole;
    made->with_columns = with_columns;
    made->has_east = view->east_s != NULL;
    made->east_s = made->has_east ? *view->east_s : 0;
    made->frame = frame_pool_take(shared_change->pool);
    now = *view;
    now.now_us = clock_real_us(shared_change->clock);
    render_event(made->frame, &now, type, object, with_columns);
    frame_flatten(made->frame);
    if (shared_change->frames_made != NULL)
        metric_count(shared_change->frames_made, 1);
    return made->frame;
}
