/* SPDX-License-Identifier: Apache-2.0 */
/* node_hooks.c - nodes and their leases, which agents may change by their own name only
 *
 * What administrators set on a node outlives its Node, because an agent that was
 * stopped for a repair registers again.
 */
#include <string.h>

#include "controller/apiserver/access/user_counts.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/objects/node_record.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/options.h"
#include "controller/apiserver/request/request.h"
#include "lib/api/cluster/lease.h"
#include "lib/api/node/node.h"
#include "lib/api/object/field_query.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"

static bool
names_node(const struct request *q, const char *node)
{
    const char *wanted = q->route.name;

    if (wanted == NULL && q->options.fields != NULL)
        wanted = field_query_demands(q->options.fields, "metadata.name");
    if (wanted == NULL && q->route.verb == VERB_CREATE)
        return true; /* admission checks the name in the body */
    return wanted != NULL && strcmp(wanted, node) == 0;
}

static bool
names_lease_of_node(const struct request *q, const char *node)
{
    return q->route.namespace != NULL && strcmp(q->route.namespace, NODE_LEASE_NAMESPACE) == 0
           && names_node(q, node);
}

static bool
removed(struct request *q, struct store_txn *txn, const struct object *node,
        const struct json *tree)
{
    (void)tree;
    node_record_leave(q, txn, node);
    return true;
}

/* A user's node counts as a node alone. */
static bool
measure(const struct object *object, uid_t *ret_uid, struct user_count *ret_count)
{
    if (!node_find_owner(node_of(object), ret_uid))
        return user_counts_measure(object, ret_uid, ret_count);
    *ret_count = (struct user_count){.nodes = 1};
    return true;
}

const struct kind_hooks node_hooks = {
    .kind = &node_kind,
    .agents_tell = true,
    .removed = removed,
    .names_node = names_node,
    .measure = measure,
};

const struct kind_hooks lease_hooks = {
    .kind = &lease_kind,
    .names_node = names_lease_of_node,
};
