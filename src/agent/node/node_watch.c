/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/node_watch.h"

#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/remnant.h"
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

struct node_watch {
    struct node_watch_settings s;
    char *node;
    struct informer *informer;
    struct timer *again;
    bool is_patching;
    bool changed; /* while a call was under way */
};

static bool
is_given_up(const struct object *node)
{
    const struct node_condition *ready = node_find_condition(node_of(node), "Ready");

    return ready != NULL && strcmp(ready->status, "Unknown") == 0;
}

/* ---- Remnants ---- */

static void
on_patched(const struct client_reply *reply, void *context)
{
    struct node_watch *s = context;
    bool changed = s->changed;
    struct error err = {0};

    s->is_patching = s->changed = false;
    if (reply->code != 200 && reply->code != 404) {
        client_reply_error(reply, &err);
        log_warning("cannot report what deleted pods still hold here: %s, "
                    "trying again",
                    err.text);
        timer_start(s->again, AGAIN_MS);
    } else if (changed)
        node_watch_check(s);
}

static void
send_patch(struct node_watch *s, struct arena *arena TAKES, struct json *body)
{
    struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = &node_kind,
        .name = s->node,
        .subresource = "status",
        .body = body,
    };

    s->is_patching = true;
    client_call(s->s.client, arena, &request, on_patched, s);
}

/* One check's patch of the status. */
struct remnant_patch {
    struct arena *arena;
    const struct node *node;
    struct json *remnants;
};

static void
add_remnant(const struct object *pod, void *arg)
{
    struct remnant_patch *w = arg;

    if (node_find_remnant(w->node, pod->meta->uid) == NULL)
        json_set(w->arena, w->remnants, pod->meta->uid,
                 remnant_make(w->arena, pod, clock_real_us(&clock_system)));
}

static void
end_named_orphans(struct node_watch *s, const struct node *node)
{
    const char *uids = string_map_find(&node->meta.annotations, ANNOTATION_END_ORPHANS);

    if (uids != NULL && s->s.end_orphans != NULL)
        s->s.end_orphans(uids, s->s.context);
}

void
node_watch_check(struct node_watch *s)
{
    const struct object *object = informer_find(s->informer, NULL, s->node);
    const struct node *node = object != NULL ? node_of(object) : NULL;
    struct remnant_patch w = {.node = node};
    struct json *body;

    s->changed = s->is_patching;
    if (node == NULL || s->is_patching)
        return;
    end_named_orphans(s, node);
    w.arena = arena_new(0);
    body = json_object(w.arena);
    w.remnants = json_make_object(w.arena, json_make_object(w.arena, body, "status"), "remnants");
    for (unsigned i = 0; i < node->status.remnants.count; i++) {
        const char *uid = node->status.remnants.items[i].key;

        if (s->s.confirm_gone(uid, s->s.context))
            json_set(w.arena, w.remnants, uid, json_null(w.arena));
    }
    if (!node_is_fenced(node))
        s->s.visit_retained(add_remnant, &w, s->s.context);
    if (json_count(w.remnants) > 0)
        send_patch(s, w.arena, body);
    else
        arena_free(w.arena);
}

const struct object *
node_watch_node(const struct node_watch *s)
{
    return informer_find(s->informer, NULL, s->node);
}

void
node_watch_retry_soon(struct node_watch *s, int64_t within_ms)
{
    informer_retry_now(s->informer, within_ms);
}

static void
check_again(void *context)
{
    node_watch_check(context);
}

/* ---- Changes by others ---- */

static void
on_node(const struct object *old_object, const struct object *new_object, void *context)
{
    struct node_watch *s = context;

    if (new_object != NULL)
        timer_start(s->again, 0);
    if (new_object != NULL && s->s.seen != NULL)
        s->s.seen(new_object, s->s.context);
    if (new_object != NULL && !is_given_up(new_object))
        return;
    if (new_object != NULL && (old_object == NULL || !is_given_up(old_object)))
        log_info("the controller considered this node not ready; reporting "
                 "that it is healthy");
    s->s.outdated(s->s.context);
}

struct node_watch *
node_watch_new(const struct node_watch_settings *settings)
{
    struct node_watch *s = xnew(struct node_watch);
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
    s->again = timer_new(settings->loop, check_again, s);
    s->informer = informer_new(&informer);
    free(selector);
    return s;
}

void
node_watch_free(struct node_watch *s)
{
    if (s == NULL)
        return;
    informer_free(s->informer);
    timer_free(s->again);
    free(s->node);
    free(s);
}
