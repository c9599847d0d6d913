/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/adoption.h"

#include <stdbool.h>
#include <stdio.h>

#include "controller/scheduler/bind_call.h"
#include "controller/scheduler/cache.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "lib/allocator/allocator.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/kind.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/json/json.h"

struct orphan {
    struct adoption *owner;
    char *key;
    struct pod_view *pod;
    struct client_call *call; /* under way, or NULL */
    struct grant *grant;      /* made, and held in the cache */
};

struct adoption {
    struct client *client;
    struct cache *cache;
    struct map *orphans;
};

struct adoption *
adoption_new(struct client *client, struct cache *cache)
{
    struct adoption *a = xnew(struct adoption);

    a->client = client;
    a->cache = cache;
    a->orphans = map_new();
    return a;
}

static void
orphan_free(struct orphan *o)
{
    client_cancel(o->call);
    pod_view_unref(o->pod);
    free(o->grant);
    free(o->key);
    free(o);
}

void
adoption_free(struct adoption *a)
{
    size_t at = 0;
    void *value;

    if (a == NULL)
        return;
    while (map_next(a->orphans, &at, NULL, &value))
        orphan_free(value);
    map_free(a->orphans);
    free(a);
}

static const char *
key_of(const struct pod_view *pod, char out[OBJECT_KEY_SIZE])
{
    snprintf(out, OBJECT_KEY_SIZE, "%s/%s", pod->namespace, pod->name);
    return out;
}

void
adoption_forget(struct adoption *a, const struct pod_view *pod)
{
    char key[OBJECT_KEY_SIZE];
    struct orphan *o = map_remove(a->orphans, key_of(pod, key));

    if (o != NULL)
        orphan_free(o);
}

static bool
needs_allocation(const struct pod_view *pod)
{
    const struct pod_status *status = &pod->pod->status;

    return status->allocation == NULL && !pod_is_finished(pod->pod)
           && !pod_view_is_terminating(pod);
}

void
adoption_add(struct adoption *a, struct pod_view *pod)
{
    const struct node_view *node =
        cache_find_node(a->cache, pod->pod->spec.node_name);
    char key[OBJECT_KEY_SIZE];
    struct orphan *o = map_find(a->orphans, key_of(pod, key));

    if (node == NULL || node->occupancy == NULL || !needs_allocation(pod)) {
        adoption_forget(a, pod);
        return;
    }
    if (o != NULL)
        return;
    o = xnew(struct orphan);
    o->owner = a;
    o->key = xstrdup(key);
    o->pod = pod_view_ref(pod);
    map_put(a->orphans, key, o);
}

void
adoption_add_node(struct adoption *a, const char *node_name)
{
    const struct node_view *node = cache_find_node(a->cache, node_name);

    if (node == NULL || node->occupancy == NULL)
        return;
    for (uint32_t i = 0; i < node->pods.count; i++) {
        struct pod_view *pod = node->pods.items[i];

        /* An assumed one has its binding under way. */
        if (pod->pod->spec.node_name != NULL)
            adoption_add(a, pod);
    }
}

/* What comes of it is seen in the pod; failing, it is tried again. */
static void
wrote(const struct client_reply *reply, void *context)
{
    struct orphan *o = context;
    struct error err = {0};

    o->call = NULL;
    if (reply->code >= 200 && reply->code < 300)
        return;
    client_reply_error(reply, &err);
    log_warning("pod '%s': giving it an allocation on node '%s': %s, trying "
                "again",
                o->key,
                o->pod->pod->spec.node_name,
                err.text);
}

static void
refuse(struct orphan *o, const struct node_view *node)
{
    struct arena *arena = arena_new(1024);
    struct json *body = json_object(arena);
    struct json *status = json_make_object(arena, body, "status");

    json_set_string(arena, status, "phase", "Failed");
    json_set_string(arena, status, "reason", "OutOfResources");
    json_set(arena,
             status,
             "message",
             json_stringf(arena,
                          "The pod was bound to node \"%s\" without the "
                          "scheduler, and its cores, memory or devices are "
                          "not free there",
                          node->name));
    o->call = client_call(o->owner->client,
                          arena,
                          &(struct client_request){
                              .verb = CLIENT_MERGE_PATCH,
                              .kind = &pod_kind,
                              .namespace = o->pod->namespace,
                              .name = o->pod->name,
                              .subresource = "status",
                              .body = body,
                          },
                          wrote,
                          o);
}

static void
adopt(struct orphan *o, struct node_view *node)
{
    struct cache *cache = o->owner->cache;
    struct pod_view *pod = cache_find_pod(cache, o->pod);

    if (pod == NULL)
        return;
    if (o->grant == NULL) {
        /* What it holds without our knowing where is no longer counted. */
        o->grant = xnew(struct grant);
        cache_hold(cache, pod, holding_new(0, 0, 0));
        if (allocator_grant(node->occupancy, &pod->demand, o->grant)
            != ALLOCATOR_FITS) {
            free(o->grant);
            o->grant = NULL;
            refuse(o, node);
            return;
        }
        cache_hold(cache,
                   pod,
                   grant_holding(o->grant, node->occupancy->silicon));
    }
    o->call = bind_call(o->owner->client,
                        pod,
                        node->name,
                        o->grant,
                        node->occupancy->silicon,
                        wrote,
                        o);
}

void
adoption_run(struct adoption *a)
{
    size_t at = 0;
    void *value;

    while (map_next(a->orphans, &at, NULL, &value)) {
        struct orphan *o = value;
        struct node_view *node =
            cache_find_node(a->cache, o->pod->pod->spec.node_name);

        if (o->call == NULL && node != NULL && node->occupancy != NULL)
            adopt(o, node);
    }
}
