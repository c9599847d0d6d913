/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/standing.h"

#include <string.h>

#include "lib/api/kind.h"
#include "lib/api/meta.h"
#include "lib/api/node.h"
#include "lib/api/object.h"
#include "lib/api/remnant.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define AGAIN_MS 2000

struct standing {
    struct standing_settings s;
    char *node;
    struct informer *informer;
    struct timer *again;
    bool releasing;
    bool changed; /* while a call was under way */
};

static bool
is_given_up(const struct object *node)
{
    const struct node_condition *ready =
        node_find_condition(node_of(node), "Ready");

    return ready != NULL && strcmp(ready->status, "Unknown") == 0;
}

/* ---- Remnants ---- */

static void
on_released(const struct client_reply *reply, void *context)
{
    struct standing *s = context;
    bool changed = s->changed;
    struct error err = {0};

    s->releasing = s->changed = false;
    if (reply->code != 200 && reply->code != 404) {
        client_reply_error(reply, &err);
        log_warning("cannot say what deleted pods have left here: %s, trying "
                    "again",
                    err.text);
        timer_start(s->again, AGAIN_MS);
    } else if (changed)
        standing_look(s);
}

static void
release(struct standing *s, struct arena *arena TAKES, struct json *body)
{
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &node_kind,
        .name = s->node,
        .subresource = "status",
        .body = body,
    };

    s->releasing = true;
    client_call(s->s.client, arena, &request, on_released, s);
}

/* What is said of a look. */
struct word {
    struct arena *arena;
    const struct node *node;
    struct json *remnants;
};

static void
claim(const struct object *pod, void *arg)
{
    struct word *w = arg;

    if (node_find_remnant(w->node, pod->meta->uid) == NULL)
        json_set(w->arena,
                 w->remnants,
                 pod->meta->uid,
                 remnant_make(w->arena, pod, clock_real_us(&clock_system)));
}

static void
hear_of_orphans(struct standing *s, const struct node *node)
{
    const char *uids =
        string_map_find(&node->meta.annotations, ANNOTATION_END_ORPHANS);

    if (uids != NULL && s->s.end_orphans != NULL)
        s->s.end_orphans(uids, s->s.context);
}

void
standing_look(struct standing *s)
{
    const struct object *object = informer_find(s->informer, NULL, s->node);
    const struct node *node = object != NULL ? node_of(object) : NULL;
    struct word w = {.node = node};
    struct json *body;

    s->changed = s->releasing;
    if (node == NULL || s->releasing)
        return;
    hear_of_orphans(s, node);
    w.arena = arena_new(0);
    body = json_object(w.arena);
    w.remnants = json_make_object(w.arena,
                                  json_make_object(w.arena, body, "status"),
                                  "remnants");
    for (unsigned i = 0; i < node->status.remnants.count; i++) {
        const char *uid = node->status.remnants.items[i].key;

        if (s->s.disown(uid, s->s.context))
            json_set(w.arena, w.remnants, uid, json_null(w.arena));
    }
    if (!node_is_fenced(node))
        s->s.visit_unclaimed(claim, &w, s->s.context);
    if (json_count(w.remnants) > 0)
        release(s, w.arena, body);
    else
        arena_free(w.arena);
}

const struct object *
standing_node(const struct standing *s)
{
    return informer_find(s->informer, NULL, s->node);
}

void
standing_hurry(struct standing *s, int64_t within_ms)
{
    informer_hurry(s->informer, within_ms);
}

static void
look_again(void *context)
{
    standing_look(context);
}

/* ---- What others wrote ---- */

static void
on_node(const struct object *old_object,
        const struct object *new_object,
        void *context)
{
    struct standing *s = context;

    if (new_object != NULL)
        timer_start(s->again, 0);
    if (new_object != NULL && s->s.seen != NULL)
        s->s.seen(new_object, s->s.context);
    if (new_object != NULL && !is_given_up(new_object))
        return;
    if (new_object != NULL && (old_object == NULL || !is_given_up(old_object)))
        log_info("the controller had not heard of this node, telling it that "
                 "it is well");
    s->s.doubted(s->s.context);
}

struct standing *
standing_new(const struct standing_settings *settings)
{
    struct standing *s = xnew(struct standing);
    char *selector = xasprintf("metadata.name=%s", settings->node);
    struct informer_settings informer = {
        .client = settings->client,
        .kind = &node_kind,
        .field_selector = selector,
        .changed = on_node,
        .context = s,
    };

    s->s = *settings;
    s->node = xstrdup(settings->node);
    s->again = timer_new(settings->loop, look_again, s);
    s->informer = informer_new(&informer);
    free(selector);
    return s;
}

void
standing_free(struct standing *s)
{
    if (s == NULL)
        return;
    informer_free(s->informer);
    timer_free(s->again);
    free(s->node);
    free(s);
}
