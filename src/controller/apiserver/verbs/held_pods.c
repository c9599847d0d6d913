/* SPDX-License-Identifier: Apache-2.0 */
/* held_pods.c - POST nodes/NAME/mark: the pods that the node has, with the
 * mark of its cluster (marks/cluster_mark.h)
 *
 * A pod that waited when a copy of the store was made may run by the time that
 * the copy is put back. A pod is never unbound, so a node that has it was given
 * it by a binding that the store has lost. The binding is written again, with
 * the allocation that the node holds: otherwise the pod would be bound, and
 * run, a second time. Whatever else has the same cores in the store has ended.
 */
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/marks/cluster_mark.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/bind.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/store/store.h"
#include "lib/api/node/node.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* The node of a rootless agent has only pods of its user, whatever it says. */
static bool
may_have(const struct request *q, const struct object *pod)
{
    const struct object *node =
        store_find(q->server->store, STORE_PENDING, &node_kind, NULL, q->route.name);
    uid_t node_owner, owner;

    return node != NULL
           && (!node_find_owner(node_of(node), &node_owner)
               || (object_owner(pod, &owner) && owner == node_owner));
}

/* The pod of the list if the store has it without a node, or NULL. */
static const struct object *
find_unbound(const struct request *q, const struct json *item)
{
    const char *namespace = json_get_text(item, "namespace"), *name = json_get_text(item, "name");
    const char *uid = json_get_text(item, "uid");
    const struct object *pod =
        namespace != NULL && name != NULL && uid != NULL
            ? store_find(q->server->store, STORE_PENDING, &pod_kind, namespace, name)
            : NULL;
    const char *node = pod != NULL ? pod_of(pod)->spec.node_name : NULL;

    if (pod == NULL || strcmp(pod->meta->uid, uid) != 0 || pod->meta->deleted_at_us != 0
        || pod_is_finished(pod_of(pod)) || !may_have(q, pod))
        return NULL;
    if (node == NULL || node[0] == '\0')
        return pod;
    if (strcmp(node, q->route.name) != 0)
        log_warning("pod '%s/%s' is bound to node '%s', and node '%s' has it, too: one of the two "
                    "bindings was made with another store",
                    namespace, name, node, q->route.name);
    return NULL;
}

static bool
has_unbound(struct request *q, const struct json *pods)
{
    for (uint32_t i = 0; q->principal->type == PRINCIPAL_AGENT && i < json_count(pods); i++)
        if (find_unbound(q, json_at(pods, i)) != NULL)
            return true;
    return false;
}

/* Returns false when the allocation cannot be read. */
static bool
make_binding(struct bind_member *m, const struct json *item)
{
    struct request *q = m->q;
    struct json *target;
    struct causes causes;

    m->body = json_object(q->arena);
    (void)json_make_object(q->arena, m->body, "metadata");
    target = json_make_object(q->arena, m->body, "target");
    json_set_string(q->arena, target, "kind", "Node");
    json_set_string(q->arena, target, "name", q->route.name);
    json_set(q->arena, m->body, "allocation", json_dup(q->arena, json_get(item, "allocation")));
    if (record_normalize(&binding_record, q->arena, m->body, NULL, NULL) != 0)
        return false;
    record_decode(&binding_record, q->arena, m->body, &m->binding);
    if (m->binding.allocation == NULL)
        return false;
    causes_init(&causes, q->arena);
    allocation_check(m->binding.allocation, json_get(m->body, "allocation"), &causes);
    return causes.count == 0;
}

static bool
bind_unbound(struct request *q, struct store_txn *txn, const struct json *pods)
{
    for (uint32_t i = 0; i < json_count(pods); i++) {
        const struct object *pod = find_unbound(q, json_at(pods, i));
        struct bind_member m = {.q = q};
        struct json *tree, *old_tree;

        if (pod == NULL)
            continue;
        m.name = pod->meta->name;
        if (!make_binding(&m, json_at(pods, i))) {
            log_error("node '%s' has pod '%s/%s', which the store has without a node, but its "
                      "allocation there cannot be read",
                      q->route.name, pod->meta->namespace, pod->meta->name);
            continue;
        }
        log_warning("pod '%s/%s' waits in the store, but node '%s' has it: the store has lost its "
                    "binding, which is written again",
                    pod->meta->namespace, pod->meta->name, q->route.name);
        old_tree = object_tree(pod, q->arena);
        tree = bind_make_tree(&m, pod, old_tree);
        json_remove(json_get(tree, "spec"), "schedulingGates"); /* they were removed before */
        if (!write_put_other(q, txn, &pod_kind, tree, old_tree))
            return false;
    }
    return true;
}

void
verb_mark(struct request *q)
{
    static const struct cluster_mark_pods held = {.find = has_unbound, .bind = bind_unbound};

    cluster_mark_serve(q, &held);
}
