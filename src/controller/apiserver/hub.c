/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/hub.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/authorization.h"
#include "controller/apiserver/frame.h"
#include "controller/apiserver/render.h"
#include "controller/store/store.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/metric.h"
#include "lib/json/json.h"

/* Views that differ: few; the oldest makes room. */
#define FRAMES 8

struct made {
    const char *type;
    struct accept accept;
    const struct kind *kind;
    bool is_whole;
    bool with_columns;
    struct frame *frame;
};

struct hub {
    struct clock *clock;
    int64_t revision; /* of the last state */
    const struct object *before;
    const struct object *last_state;
    const struct object *object; /* of the frames; a reference */
    struct made made[FRAMES];
    unsigned n_made, next;
    struct metric *frames_made; /* or NULL */
};

static void
forget_frames(struct hub *hub)
{
    for (unsigned i = 0; i < hub->n_made; i++)
        frame_unref(hub->made[i].frame);
    hub->n_made = hub->next = 0;
    object_unrefp(&hub->object);
    hub->object = NULL;
}

static void
forget_state(struct hub *hub)
{
    object_unrefp(&hub->last_state);
    object_unrefp(&hub->before);
    hub->last_state = hub->before = NULL;
}

void
hub_free(struct hub *hub)
{
    if (hub == NULL)
        return;
    forget_frames(hub);
    forget_state(hub);
    free(hub);
}

struct hub *
hub_new(struct metric_registry *metrics, struct clock *clock)
{
    struct hub *hub = xnew(struct hub);

    hub->clock = clock;
    if (metrics != NULL)
        hub->frames_made = metric_series(
            metric_counter(metrics,
                           "kiln_watch_frames_made_total",
                           "Changes written out for watchers, each once for "
                           "all who see it alike.",
                           NULL));
    return hub;
}

const struct object *
hub_last_state(struct hub *hub, const struct store_change *change)
{
    const struct object *before = change->old_object;
    CLEANUP(arena_freep) struct arena *arena = NULL;
    struct json *tree;
    char revision[24];

    if (hub->revision == change->revision && hub->before == before)
        return hub->last_state;
    forget_state(hub);
    hub->revision = change->revision;
    hub->before = object_ref(before);
    if (before->revision == change->revision) {
        hub->last_state = object_ref(before);
        return before;
    }
    arena = arena_new(0);
    tree = object_tree(before, arena);
    snprintf(revision, sizeof(revision), "%" PRId64, change->revision);
    json_set_string(arena,
                    json_get(tree, "metadata"),
                    "resourceVersion",
                    revision);
    hub->last_state = object_new(before->kind, tree);
    return hub->last_state;
}

static bool
is_same_accept(const struct accept *a, const struct accept *b)
{
    return a->form == b->form && a->include == b->include
           && a->is_kiln == b->is_kiln && a->is_v1beta1 == b->is_v1beta1;
}

struct frame *
hub_frame(struct hub *hub,
          const struct view *view,
          const char *type,
          const struct object *object,
          bool with_columns)
{
    bool is_whole = authorization_reads_whole(view->caller, object);
    struct view now;
    struct made *made;

    if (hub->object != object) {
        forget_frames(hub);
        hub->object = object_ref(object);
    }
    for (unsigned i = 0; i < hub->n_made; i++) {
        made = &hub->made[i];
        if (made->type == type && made->is_whole == is_whole
            && made->with_columns == with_columns && made->kind == view->kind
            && is_same_accept(&made->accept, &view->accept))
            return made->frame;
    }
    made = &hub->made[hub->next];
    if (hub->n_made == FRAMES)
        frame_unref(made->frame);
    else
        hub->n_made++;
    hub->next = (hub->next + 1) % FRAMES;
    made->type = type;
    made->accept = view->accept;
    made->kind = view->kind;
    made->is_whole = is_whole;
    made->with_columns = with_columns;
    made->frame = frame_new();
    now = *view;
    now.now_us = clock_real_us(hub->clock);
    render_event(made->frame, &now, type, object, with_columns);
    frame_flatten(made->frame);
    if (hub->frames_made != NULL)
        metric_count(hub->frames_made, 1);
    return made->frame;
}
