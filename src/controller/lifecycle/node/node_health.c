/* SPDX-License-Identifier: Apache-2.0 */
/* A silent node is not a dead one: its jobs may be running, and starting them a second time is
 * worse than waiting. So silence alone frees nothing. It takes proof: an administrator's word,
 * a program that has switched the node off, or the wish of the pods themselves that their
 * agent ends them when it is cut off (decisions 53 and 561).
 *
 * When most nodes are silent, the likely cause is here. Then nobody is given up, and no node
 * is switched off; users' own nodes do not count, since they could trigger or hide this.
 * Silence is measured on the own monotonic clock and from the own start, as clocks of two
 * machines differ and a renewal from before this controller proves nothing.
 */
#include "controller/lifecycle/node/node_health.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "controller/lifecycle/node/node_fencing.h"
#include "controller/lifecycle/node/node_verdict.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/pending_calls.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/cluster/lease.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/heap.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/client/event_recorder.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define DEFAULT_GRACE_MS 40000
#define LONGEST_CHECK_MS 5000
#define CHECKS_PER_GRACE 8
#define PARALLEL_NODES   64u
/* An agent that still runs has registered a deleted node again by then. */
#define DELETED_NODE_MS  60000

struct node_heartbeat {
    size_t place;       /* in by_time */
    int64_t at_us;      /* time of the last heartbeat, monotonic */
    int64_t renewed_us; /* the lease's own time: only tested for a change */
    bool silent;
    bool is_users; /* the node of a user's agent */
    char name[];
};

struct node_health {
    struct client *client;
    struct object_cache *cache;
    struct clock *clock;
    int64_t grace_us;
    bool (*is_cut_off)(void *context); /* or NULL */
    void *cut_off_context;
    int64_t cut_off_us;      /* monotonic: when it was cut off last */
    struct map *heard;       /* by node name */
    struct heap *by_time;    /* nodes that are not silent, oldest heartbeat
                           * first */
    size_t n_site, n_silent; /* of the site's own nodes */
    bool braked;
    struct event_recorder *event_recorder;
    struct node_fencing *fencing; /* NULL: silent nodes are not switched off */
    int64_t fence_after_us;
    struct timer *timer;
    struct workqueue *queue; /* names of nodes to check */
    int64_t check_ms;
};

/* The work on one node. */
struct health_pass {
    struct node_health *health;
    const char *node;
    struct pending_calls *calls;
};

/* ---- Heartbeats ---- */

static bool
came_earlier(const void *a, const void *b, UNUSED void *context)
{
    const struct node_heartbeat *x = a, *y = b;

    return x->at_us < y->at_us;
}

static void PRINTF(5, 6)
    tell_node(struct node_health *h, const char *name, enum recorded_event_kind kind,
              const char *reason, const char *format, ...)
{
    const struct object *node = object_cache_find(h->cache, &node_kind, NULL, name);
    CLEANUP_FREE char *message = NULL;
    va_list args;

    if (node == NULL)
        return;
    va_start(args, format);
    message = xvasprintf(format, args);
    va_end(args);
    event_recorder_record(h->event_recorder, node, kind, reason, message);
}

static struct node_heartbeat *
add_heartbeat(struct node_health *h, const char *node)
{
    struct node_heartbeat *n = map_find(h->heard, node);
    size_t size = strlen(node) + 1;

    if (n != NULL)
        return n;
    n = xcalloc(1, sizeof(*n) + size);
    memcpy(n->name, node, size);
    n->at_us = clock_monotonic_us(h->clock);
    map_put(h->heard, node, n);
    heap_push(h->by_time, n);
    h->n_site++;
    return n;
}

/* Adds the node to what the brake counts, or takes it away: 1 or -1. Users may
 * start and end their nodes as they like, so these do not count.
 */
static void
count_for_brake(struct node_health *h, const struct node_heartbeat *n, int by)
{
    if (n->is_users)
        return;
    h->n_site += (size_t)by;
    if (n->silent)
        h->n_silent += (size_t)by;
}

static void
set_silent(struct node_health *h, struct node_heartbeat *n, bool silent)
{
    count_for_brake(h, n, -1);
    n->silent = silent;
    count_for_brake(h, n, 1);
}

static bool
is_of_user(const struct object *node)
{
    return string_map_find(&node->meta->labels, LABEL_ROOTLESS) != NULL;
}

static void
note_heartbeat(struct node_health *h, struct node_heartbeat *n)
{
    n->at_us = clock_monotonic_us(h->clock);
    if (!n->silent) {
        heap_moved(h->by_time, n);
        return;
    }
    set_silent(h, n, false);
    heap_push(h->by_time, n);
    if (h->fencing != NULL)
        node_fencing_forget(h->fencing, n->name);
    log_info("node '%s' is reporting again", n->name);
    tell_node(h, n->name, RECORD_NORMAL, EVENT_NODE_READY, "Node %s is reporting again", n->name);
    workqueue_add(h->queue, n->name);
}

static void
on_lease(UNUSED const struct object *old_object, const struct object *new_object, void *context)
{
    struct node_health *h = context;
    struct node_heartbeat *n;
    int64_t renewed;

    if (new_object == NULL
        || object_cache_find(h->cache, &node_kind, NULL, new_object->meta->name) == NULL)
        return;
    n = add_heartbeat(h, new_object->meta->name);
    renewed = lease_of(new_object)->spec.renewed_at_us;
    if (renewed == n->renewed_us)
        return;
    n->renewed_us = renewed;
    note_heartbeat(h, n);
}

static void
forget(struct node_health *h, const char *node)
{
    struct node_heartbeat *n = map_remove(h->heard, node);

    if (n == NULL)
        return;
    count_for_brake(h, n, -1);
    if (!n->silent)
        heap_remove(h->by_time, n);
    free(n);
}

static void
on_lease_removed(UNUSED const struct client_reply *reply, UNUSED void *context)
{
}

/* The lease is deleted with its node, so the agent learns at its next renewal
 * that it has to register again.
 */
static void
remove_lease(struct node_health *h, const char *node)
{
    struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = &lease_kind,
        .namespace = NODE_LEASE_NAMESPACE,
        .name = node,
    };

    client_call(h->client, NULL, &request, on_lease_removed, h);
}

static void
on_node(const struct object *old_object, const struct object *new_object, void *context)
{
    struct node_health *h = context;
    struct node_heartbeat *n;

    if (new_object == NULL) {
        forget(h, old_object->meta->name);
        remove_lease(h, old_object->meta->name);
        workqueue_add_after(h->queue, old_object->meta->name, DELETED_NODE_MS);
        return;
    }
    n = add_heartbeat(h, new_object->meta->name);
    count_for_brake(h, n, -1);
    n->is_users = is_of_user(new_object);
    count_for_brake(h, n, 1);
    workqueue_add(h->queue, new_object->meta->name);
}

/* Handles a pod that is bound to a silent node, or reports from one that is
 * back.
 */
static void
on_pod(UNUSED const struct object *old_object, const struct object *new_object, void *context)
{
    struct node_health *h = context;
    const struct node_heartbeat *n;

    if (new_object == NULL || pod_of(new_object)->spec.node_name == NULL)
        return;
    n = map_find(h->heard, pod_of(new_object)->spec.node_name);
    if (n != NULL && n->silent)
        workqueue_add(h->queue, n->name);
}

/* ---- Detecting silence ---- */

static void
watch_the_brake(struct node_health *h)
{
    bool brake = h->n_site >= 4 && h->n_silent * 2 > h->n_site;

    if (brake && !h->braked)
        log_warning("%zu of %zu nodes are silent: is the network between them "
                    "and this controller down? Their pods are not given up",
                    h->n_silent, h->n_site);
    h->braked = brake;
}

static void
check(void *context)
{
    struct node_health *h = context;
    int64_t now_us = clock_monotonic_us(h->clock);
    int64_t limit = now_us - h->grace_us;
    struct node_heartbeat *n;

    if (h->is_cut_off != NULL && h->is_cut_off(h->cut_off_context))
        h->cut_off_us = now_us;
    if (h->cut_off_us > limit)
        return;
    while ((n = heap_top(h->by_time)) != NULL && n->at_us < limit) {
        heap_pop(h->by_time);
        set_silent(h, n, true);
        log_warning("node '%s' has not reported for %lld s; its pods keep "
                    "their cores until it reports again or is fenced (kctl "
                    "fence node %s)",
                    n->name, (long long)(h->grace_us / 1000000), n->name);
        tell_node(h, n->name, RECORD_WARNING, EVENT_NODE_NOT_READY,
                  "Node %s has not reported for %lld s; its pods keep their cores until it reports "
                  "again or is fenced",
                  n->name, (long long)(h->grace_us / 1000000));
        workqueue_add(h->queue, n->name);
    }
    watch_the_brake(h);
}

/* ---- Writing nodes and pods ---- */

/* Frees the arena and sends nothing if `body` is NULL. */
static void
write_wanted(struct health_pass *pass, const struct object *object, const char *subresource,
             struct arena *arena TAKES, struct json *body)
{
    if (body != NULL)
        pending_calls_patch_seen(pass->calls, arena, object, subresource, body);
    else
        arena_free(arena);
}

static void
write_node(struct health_pass *pass, const struct object *object, bool silent)
{
    const struct node *node = node_of(object);
    int64_t now = clock_real_us(pass->health->clock);
    struct arena *arena = arena_new(0);

    write_wanted(pass, object, "status", arena, node_verdict_status(arena, node, silent, now));
    arena = arena_new(0);
    write_wanted(pass, object, "status", arena, node_verdict_remnants(arena, node));
    arena = arena_new(0);
    write_wanted(pass, object, NULL, arena, node_verdict_taints(arena, node, silent, now));
    arena = arena_new(0);
    write_wanted(pass, object, NULL, arena, silent ? NULL : node_verdict_hardware(arena, node));
}

/* Time since the last heartbeat, or since one could have come; 0 for a node that
 * is not silent.
 */
static int64_t
silence_us(const struct node_health *h, const char *node)
{
    const struct node_heartbeat *n = map_find(h->heard, node);
    int64_t since_us;

    if (n == NULL || !n->silent)
        return 0;
    since_us = clock_monotonic_us(h->clock) - (n->at_us > h->cut_off_us ? n->at_us : h->cut_off_us);
    return since_us > 0 ? since_us : 1;
}

/* Tells the owner of the pod's Job, or of a pod without one. */
static void
record_silent_pod(struct health_pass *pass, const struct object *pod, const struct json *body)
{
    struct node_health *h = pass->health;
    const struct owner_reference *owner = meta_controller_of(pod->meta, &job_kind);
    const struct object *job =
        owner != NULL ? object_cache_find(h->cache, &job_kind, pod->meta->namespace, owner->name)
                      : NULL;
    const bool is_lost = strcmp(json_path_text(body, "status.phase"), "Failed") == 0;
    CLEANUP_FREE char *message =
        xasprintf(is_lost ? "Node %s is lost, and pod %s has ended with it"
                          : "Node %s, where pod %s runs, has stopped reporting; the pod keeps its "
                            "resources until the node reports again or is fenced",
                  pass->node, pod->meta->name);

    event_recorder_record(h->event_recorder, job != NULL ? job : pod, RECORD_WARNING,
                          is_lost ? EVENT_NODE_LOST : EVENT_NODE_NOT_READY, message);
}

static void
write_pod(const struct object *pod, void *context)
{
    struct health_pass *pass = context;
    struct node_health *h = pass->health;
    const struct object *node = object_cache_find(h->cache, &node_kind, NULL, pass->node);
    int64_t silent_us = silence_us(h, pass->node);
    int64_t left_us = node_verdict_fence_left_us(pod_of(pod), silent_us);
    struct arena *arena = arena_new(0);
    struct json *body;

    /* The controller may be the one that is cut off: decide about the pod
     * later.
     */
    if (left_us == 0 && h->braked) {
        left_us = h->check_ms * 1000;
        silent_us = 1;
    }
    if (left_us > 0 && !pod_is_finished(pod_of(pod)))
        workqueue_add_after(h->queue, pass->node, left_us / 1000 + 1);
    body = node_verdict_pod(arena, node != NULL ? node_of(node) : NULL, pod_of(pod), silent_us,
                            clock_real_us(h->clock));
    if (body != NULL)
        record_silent_pod(pass, pod, body);
    write_wanted(pass, pod, "status", arena, body);
}

/* ---- Switching silent nodes off ---- */

static void
note_unfinished(const struct object *pod, void *context)
{
    if (!pod_is_finished(pod_of(pod)))
        *(bool *)context = true;
}

static bool
has_pods(const struct node_health *h, const char *node)
{
    bool is_any = false;

    object_cache_visit_on_node(h->cache, node, note_unfinished, &is_any);
    return is_any;
}

/* A node without pods holds nothing back. The site's program gets no name that a
 * user has chosen: it may mean a machine of the site to it.
 */
static bool
is_fence_wanted(const char *node, void *context)
{
    struct node_health *h = context;
    const struct object *object = object_cache_find(h->cache, &node_kind, NULL, node);

    return object != NULL && !is_of_user(object) && !node_is_fenced(node_of(object)) && !h->braked
           && silence_us(h, node) >= h->fence_after_us && has_pods(h, node);
}

static void
on_fencing(const char *node, void *context)
{
    struct node_health *h = context;

    workqueue_add(h->queue, node);
}

/* Switches the node off, and writes the fence when it is off. */
static void
fence_silent(struct health_pass *pass, const struct object *node)
{
    struct node_health *h = pass->health;
    const int64_t left_us = h->fence_after_us - silence_us(h, pass->node);
    struct arena *arena;
    int64_t again_ms = 0;

    if (node_fencing_is_off(h->fencing, pass->node)) {
        arena = arena_new(0);
        write_wanted(pass, node, NULL, arena,
                     node_verdict_fence(arena, node_of(node), clock_real_us(h->clock)));
        return;
    }
    if (left_us > 0)
        again_ms = left_us / 1000 + 1;
    else if (h->braked)
        again_ms = h->check_ms;
    else if (is_fence_wanted(pass->node, h))
        again_ms = node_fencing_start(h->fencing, pass->node);
    if (again_ms > 0)
        workqueue_add_after(h->queue, pass->node, again_ms);
}

static void
work_on_node(const char *key, void *context)
{
    struct node_health *h = context;
    const struct object *node = object_cache_find(h->cache, &node_kind, NULL, key);
    const struct node_heartbeat *n = map_find(h->heard, key);
    struct health_pass pass = {.health = h, .node = key};

    if (!object_cache_has_synced(h->cache)) {
        workqueue_done(h->queue, key, WORKQUEUE_OK);
        return;
    }
    pass.calls = pending_calls_begin(h->client, h->queue, key);
    if (node != NULL)
        write_node(&pass, node, n != NULL && n->silent);
    if (h->fencing != NULL && (node == NULL || node_is_fenced(node_of(node))))
        node_fencing_forget(h->fencing, key);
    else if (h->fencing != NULL && n != NULL && n->silent)
        fence_silent(&pass, node);
    if (node == NULL || (n != NULL && n->silent) || node_is_fenced(node_of(node)))
        object_cache_visit_on_node(h->cache, key, write_pod, &pass);
    pending_calls_end(pass.calls);
}

/* All silence is measured from now: renewals from before this controller
 * started say nothing about the nodes.
 */
static void
on_synced(void *context)
{
    struct node_health *h = context;
    size_t at = 0;
    void *n;

    while (map_next(h->heard, &at, NULL, &n)) {
        struct node_heartbeat *node = n;

        note_heartbeat(h, node);
        workqueue_add(h->queue, node->name);
    }
    timer_repeat(h->timer, h->check_ms);
}

static int64_t
shorter(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct node_health *
node_health_new(const struct node_health_settings *settings)
{
    struct node_health *h = xnew(struct node_health);
    int64_t grace_ms;

    h->client = settings->client;
    h->cache = settings->cache;
    h->clock = settings->clock;
    grace_ms = settings->grace_ms ? settings->grace_ms : DEFAULT_GRACE_MS;
    h->grace_us = grace_ms * 1000;
    h->is_cut_off = settings->is_cut_off;
    h->cut_off_context = settings->cut_off_context;
    h->cut_off_us = INT64_MIN;
    h->check_ms = settings->check_ms ? settings->check_ms
                                     : shorter(grace_ms / CHECKS_PER_GRACE, LONGEST_CHECK_MS);
    h->heard = map_new();
    h->by_time = heap_new(came_earlier, NULL, offsetof(struct node_heartbeat, place));
    h->event_recorder = event_recorder_new(h->client, h->clock, "node-controller", NULL);
    h->fence_after_us = settings->fence_after_ms * 1000;
    if (settings->fence_program != NULL)
        h->fencing = node_fencing_new(&(struct node_fencing_settings){
            .loop = settings->loop,
            .clock = settings->clock,
            .cache = settings->cache,
            .event_recorder = h->event_recorder,
            .program = settings->fence_program,
            .limit_ms = settings->fence_limit_ms,
            .is_wanted = is_fence_wanted,
            .changed = on_fencing,
            .context = h,
        });
    h->timer = timer_new(settings->loop, check, h);
    h->queue = workqueue_new(settings->loop, PARALLEL_NODES, work_on_node, h);
    object_cache_listen(settings->cache, &node_kind, on_node, h);
    object_cache_listen(settings->cache, &lease_kind, on_lease, h);
    object_cache_listen(settings->cache, &pod_kind, on_pod, h);
    object_cache_on_synced(settings->cache, on_synced, h);
    return h;
}

void
node_health_free(struct node_health *h)
{
    size_t at = 0;
    void *n;

    if (h == NULL)
        return;
    node_fencing_free(h->fencing);
    workqueue_free(h->queue);
    event_recorder_free(h->event_recorder);
    timer_free(h->timer);
    heap_free(h->by_time);
    while (map_next(h->heard, &at, NULL, &n))
        free(n);
    map_free(h->heard);
    free(h);
}
