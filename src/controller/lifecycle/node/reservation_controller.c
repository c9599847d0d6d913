/* SPDX-License-Identifier: Apache-2.0 */
/* A Reservation begins and ends by the real clock, which may be set; no wait is longer than
 * some seconds, and nothing is deleted while the clock seems to have jumped. A node that a
 * maintenance has cordoned carries the name of that maintenance, so that it is uncordoned when
 * that is over or was deleted while no controller ran, and a node that somebody else had
 * cordoned is left as it was.
 */
#include "controller/lifecycle/node/reservation_controller.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "controller/lifecycle/node/reservation_status.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/pending_calls.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"
#include "lib/json/json.h"

#define PARALLEL 16u

/* Nodes and pods change in groups: wait for more changes. */
#define SETTLE_MS 200

/* The real clock may be set, so no wait is longer than this. */
#define LONGEST_WAIT_MS 5000

#define JUMP_US (INT64_C(60) * 1000000)
#define KEPT_US (INT64_C(24) * 3600 * 1000000)

/* Annotation of a node: the maintenance that cordoned it. */
#define MAINTENANCE_BY "kiln.hpc/maintenance"
#define DRAIN_REASON   "kiln.hpc/drain-reason"

struct reservation_controller {
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
    struct event_recorder *event_recorder;
    struct workqueue *queue;
    int64_t offset_us; /* real clock minus monotonic clock, at the start */
};

/* The work on one Reservation. */
struct pass {
    struct reservation_controller *c;
    const char *name;
    const struct node_reservation *r; /* NULL: the Reservation is deleted */
    struct map *nodes;                /* nodes of an active maintenance */
    struct pending_calls *calls;
};

/* ---- Nodes under maintenance ---- */

static void
write_cordon(struct pass *pass, const struct object *node, bool is_cordoned)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct json *meta = json_make_object(arena, body, "metadata");
    struct json *notes = json_make_object(arena, meta, "annotations");
    const char *reason = pass->r != NULL ? pass->r->spec.reason : NULL;

    json_set(arena, json_make_object(arena, body, "spec"), "unschedulable",
             is_cordoned ? json_bool(arena, true) : json_null(arena));
    json_set(arena, notes, MAINTENANCE_BY,
             is_cordoned ? json_string(arena, pass->name) : json_null(arena));
    json_set(arena, notes, DRAIN_REASON,
             !is_cordoned ? json_null(arena)
             : reason != NULL && reason[0] != '\0'
                 ? json_string(arena, reason)
                 : json_string(arena, arena_printf(arena, "reservation %s", pass->name)));
    log_info("node '%s' %s maintenance '%s'", node->meta->name,
             is_cordoned ? "is cordoned for" : "is back from", pass->name);
    pending_calls_patch_seen(pass->calls, arena, node, NULL, body);
}

static void
check_node(const struct object *node, void *context)
{
    struct pass *pass = context;
    const char *by = string_map_find(&node->meta->annotations, MAINTENANCE_BY);
    bool is_ours = by != NULL && strcmp(by, pass->name) == 0;
    bool is_wanted = map_find(pass->nodes, node->meta->name) != NULL;

    if (is_wanted && !node_of(node)->spec.unschedulable)
        write_cordon(pass, node, true);
    else if (is_ours && !is_wanted)
        write_cordon(pass, node, false);
}

static bool
is_active(const struct reservation_controller *c, const struct node_reservation *r)
{
    int64_t now_us = clock_real_us(c->clock);
    struct reserved_window window;

    return node_reservation_window(r, now_us, &window) && window.from_us <= now_us
           && (!r->spec.is_flexible || r->status.begun_us > 0);
}

static void
keep_cordons(struct pass *pass)
{
    const char *const *names;
    unsigned count = 0;

    if (pass->r != NULL && pass->r->spec.is_maintenance && is_active(pass->c, pass->r))
        count = node_reservation_nodes(pass->r, &names);
    pass->nodes = map_new();
    for (unsigned i = 0; i < count; i++)
        map_put(pass->nodes, names[i], pass);
    object_cache_visit(pass->c->cache, &node_kind, check_node, pass);
    map_free(pass->nodes);
    pass->nodes = NULL;
}

/* ---- One Reservation ---- */

static void
remove_old(struct pass *pass, const struct object *object)
{
    log_info("reservation '%s' ended a day ago, and is deleted", pass->name);
    pending_calls_delete(pass->calls, object);
}

static bool
is_among(const struct json *names, const char *name)
{
    for (uint32_t i = 0; i < json_count(names); i++)
        if (strcmp(json_text(json_at(names, i)), name) == 0)
            return true;
    return false;
}

/* Reports the nodes that others replace, for a Reservation of a number of
 * nodes.
 */
static void
record_replaced(struct pass *pass, const struct object *object, const struct json *names)
{
    const struct node_reservation *r = pass->r;

    for (unsigned i = 0; i < r->status.nodes.count; i++) {
        const char *name = r->status.nodes.items[i];
        const struct object *node = object_cache_find(pass->c->cache, &node_kind, NULL, name);
        CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

        if (is_among(names, name))
            continue;
        strbuf_printf(&words,
                      "node %s is %s, and is replaced: the reservation has %u "
                      "of %" PRId64 " nodes",
                      name, node == NULL ? "gone" : "not ready", (unsigned)json_count(names),
                      r->spec.node_count);
        log_info("reservation '%s': %s", pass->name, words.text);
        event_recorder_record(pass->c->event_recorder, object, RECORD_WARNING, EVENT_NODE_REPLACED,
                              words.text);
    }
}

static void
keep_status(struct pass *pass, const struct object *object)
{
    struct reservation_controller *c = pass->c;
    int64_t now_us = clock_real_us(c->clock), wake_us, wait_ms;
    struct arena *arena = arena_new(0);
    struct json *body = reservation_status_make(arena, c->cache, object, now_us, &wake_us);

    if (body != NULL && pass->r->spec.node_count > 0)
        record_replaced(pass, object, json_get_path(body, "status.nodes"));
    if (body != NULL)
        pending_calls_patch_seen(pass->calls, arena, object, "status", body);
    else
        arena_free(arena);
    wait_ms = wake_us == INT64_MAX ? LONGEST_WAIT_MS : (wake_us - now_us) / 1000 + 1;
    workqueue_add_after(c->queue, pass->name,
                        wait_ms < LONGEST_WAIT_MS ? wait_ms : LONGEST_WAIT_MS);
}

/* A real clock that was set may be wrong: then no Reservation is deleted by it.
 */
static bool
is_clock_steady(const struct reservation_controller *c)
{
    int64_t moved_us = clock_real_us(c->clock) - clock_monotonic_us(c->clock) - c->offset_us;

    return moved_us < JUMP_US && moved_us > -JUMP_US;
}

static bool
is_old(const struct reservation_controller *c, const struct node_reservation *r)
{
    return is_clock_steady(c) && r->status.state != NULL
           && strcmp(r->status.state, RESERVATION_ENDED) == 0 && r->status.end_us > 0
           && r->status.end_us + KEPT_US < clock_real_us(c->clock) && !is_active(c, r);
}

static void
work_on_reservation(const char *key, void *context)
{
    struct reservation_controller *c = context;
    const struct object *object = object_cache_find(c->cache, &reservation_kind, NULL, key);
    struct pass pass = {.c = c, .name = key};

    if (!object_cache_has_synced(c->cache)) {
        workqueue_done(c->queue, key, WORKQUEUE_OK);
        return;
    }
    pass.calls = pending_calls_begin(c->client, c->queue, key);
    pass.r = object != NULL ? node_reservation_of(object) : NULL;
    if (pass.r == NULL || pass.r->spec.is_maintenance)
        keep_cordons(&pass);
    if (object != NULL && is_old(c, pass.r))
        remove_old(&pass, object);
    else if (object != NULL)
        keep_status(&pass, object);
    pending_calls_end(pass.calls);
}

/* ---- Events ---- */

static void
on_reservation(const struct object *old_object, const struct object *new_object, void *context)
{
    struct reservation_controller *c = context;

    workqueue_add(c->queue, (new_object != NULL ? new_object : old_object)->meta->name);
}

static void
queue_reservation(const struct object *reservation, void *context)
{
    struct reservation_controller *c = context;

    workqueue_add_after(c->queue, reservation->meta->name, SETTLE_MS);
}

static bool
is_as_before(const struct object *old_object, const struct object *new_object)
{
    return old_object != NULL && new_object != NULL
           && node_is_ready(node_of(old_object)) == node_is_ready(node_of(new_object))
           && node_of(old_object)->spec.unschedulable == node_of(new_object)->spec.unschedulable;
}

static void
on_node(const struct object *old_object, const struct object *new_object, void *context)
{
    struct reservation_controller *c = context;

    if (!is_as_before(old_object, new_object))
        object_cache_visit(c->cache, &reservation_kind, queue_reservation, c);
}

static void
queue_if_waiting(const struct object *reservation, void *context)
{
    struct reservation_controller *c = context;

    if (reservation_status_is_waiting(reservation, clock_real_us(c->clock)))
        queue_reservation(reservation, c);
}

static void
on_pod(UNUSED const struct object *old_object, const struct object *new_object, void *context)
{
    struct reservation_controller *c = context;

    if (new_object == NULL || pod_is_finished(pod_of(new_object)))
        object_cache_visit(c->cache, &reservation_kind, queue_if_waiting, c);
}

static void
check_maintenance(const struct object *node, void *context)
{
    struct reservation_controller *c = context;
    const char *by = string_map_find(&node->meta->annotations, MAINTENANCE_BY);

    if (by != NULL)
        workqueue_add(c->queue, by);
}

/* Includes maintenances that were deleted while no controller ran. */
static void
on_synced(void *context)
{
    struct reservation_controller *c = context;

    object_cache_visit(c->cache, &reservation_kind, queue_reservation, c);
    object_cache_visit(c->cache, &node_kind, check_maintenance, c);
}

struct reservation_controller *
reservation_controller_new(struct loop *loop, struct client *client, struct object_cache *cache,
                           struct clock *clock)
{
    struct reservation_controller *c = xnew(struct reservation_controller);

    c->client = client;
    c->cache = cache;
    c->clock = clock;
    c->offset_us = clock_real_us(clock) - clock_monotonic_us(clock);
    c->event_recorder = event_recorder_new(client, clock, "reservation-controller", NULL);
    c->queue = workqueue_new(loop, PARALLEL, work_on_reservation, c);
    object_cache_listen(cache, &reservation_kind, on_reservation, c);
    object_cache_listen(cache, &node_kind, on_node, c);
    object_cache_listen(cache, &pod_kind, on_pod, c);
    object_cache_on_synced(cache, on_synced, c);
    return c;
}

void
reservation_controller_free(struct reservation_controller *c)
{
    if (c == NULL)
        return;
    workqueue_free(c->queue);
    event_recorder_free(c->event_recorder);
    free(c);
}
