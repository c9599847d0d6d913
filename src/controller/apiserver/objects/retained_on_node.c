/* SPDX-License-Identifier: Apache-2.0 */
/* retained_on_node.c - an agent removes a pod only after its last process, and on a
 * fenced node nothing runs: in all other cases processes may remain
 */
#include "controller/apiserver/objects/retained_on_node.h"

#include <errno.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/objects/write.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/remnant.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

static const struct object *
find_node(const struct request *q, const char *name)
{
    return name != NULL && name[0] != '\0'
               ? store_find(q->server->store, STORE_PENDING, &node_kind, NULL, name)
               : NULL;
}

bool
retained_on_node_expected(const struct request *q, const struct object *object)
{
    const struct pod *pod = pod_of(object);
    const struct object *node;

    if (q->principal->type == PRINCIPAL_AGENT || pod->status.allocation == NULL
        || pod_is_finished(pod))
        return false;
    node = find_node(q, pod->spec.node_name);
    return node != NULL && !node_is_fenced(node_of(node));
}

bool
retained_on_node_leave(struct request *q, struct store_txn *txn, const struct object *pod)
{
    const struct object *node = find_node(q, pod_of(pod)->spec.node_name);
    struct json *tree = object_tree(node, q->arena);
    struct json *status = json_make_object(q->arena, tree, "status");

    json_set(q->arena, json_make_object(q->arena, status, "remnants"), pod->meta->uid,
             remnant_make(q->arena, pod, clock_real_us(q->server->clock)));
    return write_put_other(q, txn, &node_kind, tree, object_tree(node, q->arena));
}

int
retained_on_node_check_disjoint(const struct request *q, const char *node_name,
                                const struct allocation *allocation, struct error *err)
{
    const struct object *node = find_node(q, node_name);
    const struct node *n = node != NULL ? node_of(node) : NULL;

    for (unsigned i = 0; n != NULL && i < n->status.remnants.count; i++) {
        const struct remnant *left = &n->status.remnants.items[i].value;

        if (left->allocation != NULL
            && allocation_check_disjoint(allocation, left->allocation, err) < 0)
            return error_wrap(err, -EEXIST,
                              "the remaining processes of pod %s/%s, which "
                              "was deleted by force",
                              left->namespace, left->name);
    }
    return 0;
}
