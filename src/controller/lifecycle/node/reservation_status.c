/* SPDX-License-Identifier: Apache-2.0 */
/* A Reservation of a number of nodes keeps the nodes that it has as long as they are ready:
 * plans have been made around them, and users may have been told. Only what is missing is
 * chosen anew, those first that will be free in time.
 */
#include "controller/lifecycle/node/reservation_status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/api/reservation_nodes.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define NAMES_TOLD 5u

struct reservation_draft {
    const struct object_cache *cache;
    const struct node_reservation *r;
    int64_t now_us;
    const char **names; /* the nodes that the Reservation has now */
    unsigned count, capacity;
    struct map *taken; /* nodes of this Reservation or of others */
    struct reservation_nodes free_nodes;
    unsigned strangers; /* pods on its nodes that do not use the Reservation */
};

static const struct object *
find_node(const struct reservation_draft *d, const char *name)
{
    return object_cache_find(d->cache, &node_kind, NULL, name);
}

static bool
is_usable(const struct reservation_draft *d, const char *name)
{
    const struct object *node = find_node(d, name);

    return node != NULL && node_is_ready(node_of(node));
}

static void
add_name(struct reservation_draft *d, const char *name)
{
    xgrow(d->names, d->count, d->capacity);
    d->names[d->count++] = name;
    map_put(d->taken, name, d);
}

/* ---- Choosing a number of nodes ---- */

static void
note_other(const struct object *object, void *context)
{
    struct reservation_draft *d = context;
    const struct node_reservation *other = node_reservation_of(object);
    const char *const *names;
    unsigned count;

    if (other == d->r || d->r->spec.may_overlap
        || !node_reservation_meets_other(d->r, other, d->now_us))
        return;
    count = node_reservation_nodes(other, &names);
    for (unsigned i = 0; i < count; i++)
        map_put(d->taken, names[i], d);
}

static void
note_end(const struct object *object, void *context)
{
    int64_t *last_us = context;
    const struct pod *pod = pod_of(object);
    int64_t end_us = reservation_nodes_end_us(pod, *last_us);

    if (!pod_is_finished(pod) && end_us > *last_us)
        *last_us = end_us;
}

static void
note_candidate(const struct object *object, void *context)
{
    struct reservation_draft *d = context;
    const struct node *node = node_of(object);
    int64_t last_us = d->now_us;

    if (!node_is_ready(node) || node->spec.unschedulable || !reservation_nodes_match(d->r, node)
        || map_find(d->taken, object->meta->name) != NULL)
        return;
    object_cache_visit_on_node(d->cache, object->meta->name, note_end, &last_us);
    reservation_nodes_add(&d->free_nodes, object->meta->name, last_us);
}

static void
choose_nodes(struct reservation_draft *d)
{
    const struct node_reservation *r = d->r;
    unsigned wanted = (unsigned)r->spec.node_count;

    for (unsigned i = 0; i < r->status.nodes.count && d->count < wanted; i++)
        if (is_usable(d, r->status.nodes.items[i]))
            add_name(d, r->status.nodes.items[i]);
    if (d->count == wanted)
        return;
    object_cache_visit(d->cache, &reservation_kind, note_other, d);
    object_cache_visit(d->cache, &node_kind, note_candidate, d);
    reservation_nodes_choose(&d->free_nodes, wanted - d->count,
                             r->spec.start_us > d->now_us ? r->spec.start_us : d->now_us);
    for (unsigned i = 0; i < d->free_nodes.count; i++)
        add_name(d, d->free_nodes.items[i].name);
    /* If too few other nodes are free, keep nodes that are not ready: they may
     * come back.
     */
    for (unsigned i = 0; i < r->status.nodes.count && d->count < wanted; i++)
        if (!is_usable(d, r->status.nodes.items[i])
            && find_node(d, r->status.nodes.items[i]) != NULL)
            add_name(d, r->status.nodes.items[i]);
}

static void
find_nodes(struct reservation_draft *d)
{
    if (d->r->spec.node_count > 0) {
        choose_nodes(d);
        return;
    }
    for (unsigned i = 0; i < d->r->spec.nodes.count; i++)
        add_name(d, d->r->spec.nodes.items[i]);
}

/* ---- Message ---- */

static void
add_trouble(const struct reservation_draft *d, struct strbuf *out)
{
    unsigned count = 0;

    for (unsigned i = 0; i < d->count; i++) {
        const struct object *node = find_node(d, d->names[i]);

        if (node != NULL && node_is_ready(node_of(node)))
            continue;
        if (count++ < NAMES_TOLD)
            strbuf_printf(out, "%snode %s is %s", out->length > 0 ? ", " : "", d->names[i],
                          node == NULL ? "gone" : "not ready");
    }
    if (count > NAMES_TOLD)
        strbuf_printf(out, ", and %u more", count - NAMES_TOLD);
    if (d->r->spec.node_count > (int64_t)d->count)
        strbuf_printf(out, "%sit has %u of %" PRId64 " nodes, and no other is free",
                      out->length > 0 ? ", " : "", d->count, d->r->spec.node_count);
}

/* ---- The state ---- */

static void
count_stranger(const struct object *object, void *context)
{
    struct reservation_draft *d = context;
    const struct pod *pod = pod_of(object);
    const struct placement *p = pod->spec.placement;

    if (!pod_is_finished(pod)
        && (p == NULL || p->reservation == NULL || strcmp(p->reservation, d->r->meta.name) != 0))
        d->strangers++;
}

bool
reservation_status_is_waiting(const struct object *reservation, int64_t now_us)
{
    const struct node_reservation *r = node_reservation_of(reservation);

    return r->spec.is_flexible && r->status.begun_us == 0 && r->spec.start_us <= now_us;
}

/* Whether a flexible Reservation begins now, since no other pods run on its
 * nodes.
 */
static bool
begins(struct reservation_draft *d, const struct object *reservation)
{
    if (!reservation_status_is_waiting(reservation, d->now_us))
        return false;
    for (unsigned i = 0; i < d->count; i++)
        object_cache_visit_on_node(d->cache, d->names[i], count_stranger, d);
    return d->strangers == 0 && d->count > 0;
}

static bool
are_same_nodes(const struct reservation_draft *d)
{
    bool are_same = d->count == d->r->status.nodes.count;

    for (unsigned i = 0; are_same && i < d->count; i++)
        are_same = strcmp(d->names[i], d->r->status.nodes.items[i]) == 0;
    return are_same;
}

static void
set_time(struct arena *arena, struct json *status, const char *name, int64_t us)
{
    char text[TIME_TEXT_SIZE];

    if (us == 0 || us == INT64_MAX) {
        json_set(arena, status, name, json_null(arena));
        return;
    }
    time_format(us, false, text);
    json_set_string(arena, status, name, text);
}

/* The API stores times in whole seconds. */
static int64_t
whole(int64_t us)
{
    return us == INT64_MAX ? 0 : us / 1000000 * 1000000;
}

static struct json *
make_body(const struct reservation_draft *d, struct arena *arena,
          const struct node_reservation_status *now)
{
    const struct node_reservation_status *was = &d->r->status;
    struct json *body, *status, *nodes;

    if (text_equals_loosely(was->state, now->state)
        && text_equals_loosely(was->message, now->message)
        && whole(was->start_us) == whole(now->start_us) && whole(was->end_us) == whole(now->end_us)
        && whole(was->begun_us) == whole(now->begun_us) && are_same_nodes(d))
        return NULL;
    body = json_object(arena);
    status = json_make_object(arena, body, "status");
    json_set_string(arena, status, "state", now->state);
    set_time(arena, status, "start", now->start_us);
    set_time(arena, status, "end", now->end_us);
    set_time(arena, status, "begun", now->begun_us);
    nodes = json_array(arena);
    for (unsigned i = 0; i < d->count; i++)
        json_append(arena, nodes, json_string(arena, d->names[i]));
    json_set(arena, status, "nodes", nodes);
    json_set(arena, status, "message",
             now->message[0] != '\0' ? json_string(arena, now->message) : json_null(arena));
    return body;
}

static struct json *
make(struct reservation_draft *d, struct arena *arena, const struct object *reservation,
     int64_t *ret_wake_us)
{
    struct node_reservation r = *d->r; /* with the new status */
    struct node_reservation_status *now = &r.status;
    CLEANUP_STRBUF struct strbuf message = STRBUF_INIT;
    struct reserved_window window;

    *ret_wake_us = INT64_MAX;
    if (!node_reservation_window(&r, d->now_us, &window)) {
        now->state = RESERVATION_ENDED;
        now->message = "";
        for (unsigned i = 0; i < r.status.nodes.count; i++)
            add_name(d, r.status.nodes.items[i]);
        return make_body(d, arena, now);
    }
    find_nodes(d);
    if (!r.spec.is_flexible)
        now->begun_us = 0;
    if (begins(d, reservation)) {
        now->begun_us = d->now_us;
        (void)node_reservation_window(&r, d->now_us, &window);
    }
    now->start_us = window.from_us;
    now->end_us = window.until_us;
    now->state = window.from_us <= d->now_us ? RESERVATION_ACTIVE : RESERVATION_PLANNED;
    add_trouble(d, &message);
    if (r.spec.is_flexible && now->begun_us == 0)
        now->state = RESERVATION_PLANNED;
    if (d->strangers > 0)
        strbuf_printf(&message, "%swaits for %u pod%s to end", message.length > 0 ? ", " : "",
                      d->strangers, d->strangers == 1 ? "" : "s");
    if (now->begun_us == 0 && r.spec.deadline_us > 0 && r.spec.deadline_us <= d->now_us)
        strbuf_printf(&message, "%sit is past its deadline", message.length > 0 ? ", " : "");
    now->message = message.length > 0 ? message.text : "";
    *ret_wake_us = window.from_us > d->now_us ? window.from_us : window.until_us;
    return make_body(d, arena, now);
}

struct json *
reservation_status_make(struct arena *arena, const struct object_cache *cache,
                        const struct object *reservation, int64_t now_us, int64_t *ret_wake_us)
{
    struct reservation_draft d = {
        .cache = cache,
        .r = node_reservation_of(reservation),
        .now_us = now_us,
        .taken = map_new(),
    };
    struct json *body = make(&d, arena, reservation, ret_wake_us);

    map_free(d.taken);
    free(d.names);
    reservation_nodes_fini(&d.free_nodes);
    return body;
}
