/* SPDX-License-Identifier: Apache-2.0 */
/* admission_node.c - refuses to delete a node that pods run on
 *
 * Those pods would be started elsewhere, and run twice.
 */
#include <string.h>

#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"

#define FORCE "kiln.hpc/force"

struct pods_there {
    unsigned count;
    const struct object *first;
};

static bool
count_unfinished(const struct object *object, void *context)
{
    struct pods_there *there = context;

    if (pod_is_finished(pod_of(object)))
        return true;
    if (there->count++ == 0)
        there->first = object;
    return true;
}

static bool
is_forced(const struct request *q)
{
    const char *force = parameter_find(q->options.parameters, q->options.n_parameters, FORCE);

    return force != NULL && strcmp(force, "true") == 0;
}

static const char *
way_out(struct request *q, const char *name)
{
    return arena_printf(q->arena,
                        "drain it first (kctl drain %s), or fence it if it "
                        "is permanently off (kctl fence --yes %s); to delete "
                        "it anyway, which starts the pods again elsewhere "
                        "while they may still run: kctl delete node %s --yes "
                        "(?" FORCE "=true)",
                        name, name, name);
}

bool
node_in_use_admit(struct request *q, struct json *tree, const struct object *node)
{
    const char *name = node->meta->name;
    struct pods_there there = {0};

    (void)tree;
    if (is_forced(q) || node_is_fenced(node_of(node)))
        return true;
    store_visit_index(q->server->store, &pod_kind, POD_BY_NODE, STORE_PENDING, name,
                      count_unfinished, &there);
    if (there.count > 0)
        reply_conflict(&q->reply, &node_kind, "", name,
                       "%u pod%s not ended on it (%s/%s): %s (NodeInUse)", there.count,
                       there.count == 1 ? " has" : "s have", there.first->meta->namespace,
                       there.first->meta->name, way_out(q, name));
    else if (node_of(node)->status.remnants.count > 0)
        reply_conflict(&q->reply, &node_kind, "", name,
                       "processes of %u pod%s deleted by force may still run "
                       "on it: %s (NodeInUse)",
                       node_of(node)->status.remnants.count,
                       node_of(node)->status.remnants.count == 1 ? "" : "s", way_out(q, name));
    else
        return true;
    return false;
}
