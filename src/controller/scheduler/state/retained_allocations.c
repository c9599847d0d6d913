/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/state/retained_allocations.h"

#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define HIGHEST_PRIORITY 2000001000 /* system-node-critical */

/* When a pod is deleted of which nobody says when. */
#define LONG_AGO_US 1000000

/* The pod has only the requests that the remnant names. */
static void
set_requests(struct arena *arena,
             struct json *container,
             const struct remnant *remnant)
{
    struct json *requests =
        json_make_object(arena,
                         json_make_object(arena, container, "resources"),
                         "requests");

    for (unsigned i = 0; i < remnant->requests.count; i++)
        if (remnant->requests.items[i].value != NULL)
            json_set_string(arena,
                            requests,
                            remnant->requests.items[i].key,
                            remnant->requests.items[i].value);
}

static struct json *
make_tree(struct arena *arena,
          const char *node,
          const char *uid,
          const struct remnant *remnant)
{
    struct json *pod = json_object(arena);
    struct json *meta = json_make_object(arena, pod, "metadata");
    struct json *spec = json_make_object(arena, pod, "spec");
    struct json *status = json_make_object(arena, pod, "status");
    struct json *containers = json_array(arena);
    struct json *container = json_object(arena);
    char left_at[TIME_TEXT_SIZE];

    json_set_string(arena, meta, "name", remnant->name);
    json_set_string(arena, meta, "namespace", remnant->namespace);
    json_set_string(arena, meta, "uid", uid);
    json_set_string(arena, meta, "resourceVersion", "0");
    time_format(remnant->left_at_us != 0 ? remnant->left_at_us : LONG_AGO_US,
                false,
                left_at);
    json_set_string(arena, meta, "deletionTimestamp", left_at);
    json_set_string(arena, spec, "nodeName", node);
    json_set_int(arena, spec, "priority", HIGHEST_PRIORITY);
    json_set_string(arena, container, "name", "main");
    set_requests(arena, container, remnant);
    json_append(arena, containers, container);
    json_set(arena, spec, "containers", containers);
    json_set_string(arena, status, "phase", "Running");
    if (remnant->allocation != NULL)
        json_set(arena,
                 status,
                 "allocation",
                 record_encode(&allocation_record, arena, remnant->allocation));
    return pod;
}

static bool
is_whole(const struct remnant *remnant)
{
    return remnant->name != NULL && remnant->name[0] != '\0'
           && remnant->namespace != NULL && remnant->namespace[0] != '\0';
}

/* A pod as it was, as far as it counts. NULL: it makes no sense. */
static struct pod_view *
make_pod(const struct retained_allocations *p,
         const struct object *node,
         const char *uid,
         const struct remnant *remnant)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {.text = "it has no name or no namespace"};
    struct json *tree = NULL;
    const struct object *pod;
    struct pod_view *view;

    if (is_whole(remnant))
        tree = make_tree(arena, node->meta->name, uid, remnant);
    if (tree == NULL
        || record_normalize(pod_kind.record, arena, tree, NULL, &err) < 0) {
        log_error("node '%s': status.remnants: entry '%s' cannot be read: %s; "
                  "ignoring it, so what it holds is counted as free",
                  node->meta->name,
                  uid,
                  err.text);
        return NULL;
    }
    pod = object_new(&pod_kind, tree);
    view = pod_view_new(pod, p->resources);
    object_unref(pod);
    return view;
}

static void
keep(const struct retained_allocations *p,
     const struct object *node,
     const char *uid,
     const struct remnant *remnant)
{
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = make_pod(p, node, uid, remnant);

    if (pod != NULL && cache_find_pod(p->cache, pod) == NULL)
        cache_set_pod(p->cache, pod, node->meta->name);
}

static void
release(const struct retained_allocations *p,
        const struct object *node,
        const char *uid,
        const struct remnant *remnant)
{
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = make_pod(p, node, uid, remnant);

    if (pod == NULL || !cache_remove_pod(p->cache, pod))
        return;
    queue_event(p->queue, &event_assigned_pod_delete, pod->object, NULL);
}

typedef void each_fn(const struct retained_allocations *p,
                     const struct object *node,
                     const char *uid,
                     const struct remnant *remnant);

/* Calls for what is left on `node` and not on `other` (or NULL). */
static void
visit_difference(const struct retained_allocations *p,
                 const struct object *node,
                 const struct object *other,
                 each_fn *each)
{
    const struct node *n = node != NULL ? node_of(node) : NULL;

    for (unsigned i = 0; n != NULL && i < n->status.remnants.count; i++) {
        const char *uid = n->status.remnants.items[i].key;

        if (other == NULL || node_find_remnant(node_of(other), uid) == NULL)
            each(p, node, uid, &n->status.remnants.items[i].value);
    }
}

void
retained_allocations_sync(const struct retained_allocations *p,
                          const struct object *old_node,
                          const struct object *new_node)
{
    visit_difference(p, old_node, new_node, release);
    visit_difference(p, new_node, old_node, keep);
}

void
retained_allocations_keep(const struct retained_allocations *p,
                          const struct object *pod)
{
    const struct node_view *v =
        cache_find_node(p->cache, pod_of(pod)->spec.node_name);
    const struct remnant *remnant =
        v != NULL && v->node != NULL
            ? node_find_remnant(v->node, pod->meta->uid)
            : NULL;

    if (remnant != NULL)
        keep(p, v->object, pod->meta->uid, remnant);
}
