/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream lets anybody who may bind write spec.nodeName, and a kubelet then admits or rejects
 * the pod. Here the node rejects nothing, and no agent starts a pod that lacks cores (decision
 * 12), so the scheduler has to do for such a pod what it does for its own: choose on the given
 * node, or fail it with a reason.
 */
#include "controller/scheduler/bind/unallocated_pods.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "controller/scheduler/bind/bind_call.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/state/cache.h"
#include "lib/allocator/allocator.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

#define LOST_US 40000000 /* as long as upstream waits for a missing node */

struct unallocated_pod {
    struct unallocated_pods *owner;
    char *key;
    struct pod_view *pod;
    struct client_call *call; /* under way, or NULL */
    struct grant *grant;      /* held in the cache */
    int64_t lost_us;          /* node missing since then; 0: it exists */
};

struct unallocated_pods {
    struct client *client;
    struct clock *clock;
    struct cache *cache;
    struct map *pods;
};

struct unallocated_pods *
unallocated_pods_new(struct client *client, struct clock *clock, struct cache *cache)
{
    struct unallocated_pods *a = xnew(struct unallocated_pods);

    a->client = client;
    a->clock = clock;
    a->cache = cache;
    a->pods = map_new();
    return a;
}

static void
unallocated_pod_free(struct unallocated_pod *u)
{
    client_cancel(u->call);
    pod_view_unref(u->pod);
    free(u->grant);
    free(u->key);
    free(u);
}

void
unallocated_pods_free(struct unallocated_pods *a)
{
    size_t at = 0;
    void *value;

    if (a == NULL)
        return;
    while (map_next(a->pods, &at, NULL, &value))
        unallocated_pod_free(value);
    map_free(a->pods);
    free(a);
}

static const char *
key_of(const struct pod_view *pod, char out[OBJECT_KEY_SIZE])
{
    snprintf(out, OBJECT_KEY_SIZE, "%s/%s", pod->namespace, pod->name);
    return out;
}

void
unallocated_pods_forget(struct unallocated_pods *a, const struct pod_view *pod)
{
    char key[OBJECT_KEY_SIZE];
    struct unallocated_pod *u = map_remove(a->pods, key_of(pod, key));

    if (u != NULL)
        unallocated_pod_free(u);
}

static bool
needs_allocation(const struct pod_view *pod)
{
    const struct pod_status *status = &pod->pod->status;

    return status->allocation == NULL && !pod_is_finished(pod->pod)
           && !pod_view_is_terminating(pod);
}

static bool
is_there(const struct node_view *node)
{
    return node != NULL && node->node != NULL;
}

/* No agent will ever report the pod. */
static bool
is_lost(const struct node_view *node, const struct pod_view *pod)
{
    const char *phase = pod->pod->status.phase;

    return !is_there(node) && (phase == NULL || strcmp(phase, "Pending") == 0);
}

void
unallocated_pods_add(struct unallocated_pods *a, struct pod_view *pod)
{
    const struct node_view *node = cache_find_node(a->cache, pod->pod->spec.node_name);
    char key[OBJECT_KEY_SIZE];
    struct unallocated_pod *u = map_find(a->pods, key_of(pod, key));

    if ((!is_lost(node, pod) && (node == NULL || node->ledger.occupancy == NULL))
        || !needs_allocation(pod)) {
        unallocated_pods_forget(a, pod);
        return;
    }
    if (u != NULL)
        return;
    u = xnew(struct unallocated_pod);
    u->owner = a;
    u->key = xstrdup(key);
    u->pod = pod_view_ref(pod);
    map_put(a->pods, key, u);
}

void
unallocated_pods_add_node(struct unallocated_pods *a, const char *node_name)
{
    const struct node_view *node = cache_find_node(a->cache, node_name);

    if (node == NULL || node->ledger.occupancy == NULL)
        return;
    for (uint32_t i = 0; i < node->pods.count; i++) {
        struct pod_view *pod = node->pods.items[i];

        /* The binding of an assumed pod is under way. */
        if (pod->pod->spec.node_name != NULL)
            unallocated_pods_add(a, pod);
    }
}

/* The pod's own update shows success. A write that failed is tried again with
 * what is free then, because another client may have bound what the pod was to
 * get.
 */
static void
wrote(const struct client_reply *reply, void *context)
{
    struct unallocated_pod *u = context;
    struct error err = {0};

    u->call = NULL;
    if (reply->code >= 200 && reply->code < 300)
        return;
    free(u->grant);
    u->grant = NULL;
    client_reply_error(reply, &err);
    log_warning("pod '%s': cannot give it an allocation on node '%s': %s, "
                "trying again",
                u->key, u->pod->pod->spec.node_name, err.text);
}

static void
refuse(struct unallocated_pod *u, const char *reason, const char *what)
{
    const char *node_name = u->pod->pod->spec.node_name;
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena);
    struct json *status = json_make_object(arena, body, "status");

    json_set_string(arena, status, "phase", "Failed");
    json_set_string(arena, status, "reason", reason);
    json_set(arena, status, "message",
             json_stringf(arena,
                          "The pod was bound to node \"%s\" without the "
                          "scheduler, and %s",
                          node_name, what));
    u->call = client_call(u->owner->client, arena,
                          &(struct client_request){
                              .verb = CLIENT_MERGE_PATCH,
                              .kind = &pod_kind,
                              .namespace = u->pod->namespace,
                              .name = u->pod->name,
                              .subresource = "status",
                              .body = body,
                          },
                          wrote, u);
}

static void
allocate_and_bind(struct unallocated_pod *u, struct node_view *node)
{
    struct cache *cache = u->owner->cache;
    struct pod_view *pod = cache_find_pod(cache, u->pod);

    if (pod == NULL)
        return;
    if (u->grant == NULL) {
        /* Drop what the pod held without known cores, because the grant below
         * counts it.
         */
        u->grant = xnew(struct grant);
        cache_hold(cache, pod, holding_new(0, 0, 0));
        if (allocator_grant(node->ledger.occupancy, pod->demand, u->grant) != ALLOCATOR_FITS) {
            free(u->grant);
            u->grant = NULL;
            refuse(u, REASON_OUT_OF_RESOURCES, "its cores, memory or devices are not free there");
            return;
        }
        cache_hold(cache, pod, grant_holding(u->grant, node->ledger.occupancy->topology_index));
    }
    u->call = bind_call(u->owner->client,
                        &(struct pod_to_bind){
                            .pod = pod,
                            .node_name = node->name,
                            .grant = u->grant,
                            .topology_index = node->ledger.occupancy->topology_index,
                        },
                        wrote, u);
}

/* The node may still register. */
static void
wait_for_node(struct unallocated_pod *u)
{
    int64_t now = clock_monotonic_us(u->owner->clock);

    if (u->lost_us == 0)
        u->lost_us = now;
    else if (now - u->lost_us >= LOST_US)
        refuse(u, REASON_NODE_NOT_FOUND, "there is no such node");
}

void
unallocated_pods_retry(struct unallocated_pods *a)
{
    size_t at = 0;
    void *value;

    while (map_next(a->pods, &at, NULL, &value)) {
        struct unallocated_pod *u = value;
        struct node_view *node = cache_find_node(a->cache, u->pod->pod->spec.node_name);

        if (u->call != NULL)
            continue;
        if (!is_there(node)) {
            wait_for_node(u);
            continue;
        }
        u->lost_us = 0;
        if (node->ledger.occupancy != NULL)
            allocate_and_bind(u, node);
    }
}
