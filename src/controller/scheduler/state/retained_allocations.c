/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/state/retained_allocations.h"

#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/log.h"

static bool
is_whole(const struct remnant *remnant)
{
    return remnant->name != NULL && remnant->name[0] != '\0' && remnant->namespace != NULL
           && remnant->namespace[0] != '\0';
}

static void
keep(const struct retained_allocations *r, const struct object *node, const char *uid,
     const struct remnant *remnant)
{
    if (is_whole(remnant))
        cache_retain(r->cache, node->meta->name, uid, remnant);
    else
        log_error("node '%s': status.remnants: entry '%s' cannot be read: it "
                  "has no name or no namespace; ignoring it, so what it holds "
                  "is counted as free",
                  node->meta->name, uid);
}

/* The pod's properties are no longer known, so the event has no object for
 * hints to check.
 */
static void
release(const struct retained_allocations *r, const struct object *node, const char *uid,
        const struct remnant *remnant)
{
    (void)node;
    (void)remnant;
    if (cache_release(r->cache, uid))
        queue_event(r->queue, &event_assigned_pod_delete, NULL, NULL);
}

typedef void each_fn(const struct retained_allocations *r, const struct object *node,
                     const char *uid, const struct remnant *remnant);

/* Calls `each` for the remnants of `node` that `other` (or NULL) does not have.
 */
static void
visit_difference(const struct retained_allocations *r, const struct object *node,
                 const struct object *other, each_fn *each)
{
    const struct node *n = node != NULL ? node_of(node) : NULL;

    for (unsigned i = 0; n != NULL && i < n->status.remnants.count; i++) {
        const char *uid = n->status.remnants.items[i].key;

        if (other == NULL || node_find_remnant(node_of(other), uid) == NULL)
            each(r, node, uid, &n->status.remnants.items[i].value);
    }
}

void
retained_allocations_sync(const struct retained_allocations *r, const struct object *old_node,
                          const struct object *new_node)
{
    visit_difference(r, old_node, new_node, release);
    visit_difference(r, new_node, old_node, keep);
}

void
retained_allocations_keep(const struct retained_allocations *r, const struct object *pod)
{
    const struct node_view *v = cache_find_node(r->cache, pod_of(pod)->spec.node_name);
    const struct remnant *remnant =
        v != NULL && v->node != NULL ? node_find_remnant(v->node, pod->meta->uid) : NULL;

    if (remnant != NULL)
        keep(r, v->object, pod->meta->uid, remnant);
}
