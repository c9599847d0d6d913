/* SPDX-License-Identifier: Apache-2.0 */
/* ExclusiveUser - a node with a pod of a one-user partition takes only pods of
 * that user
 *
 * Kiln's own (Slurm's ExclusiveUser). It keeps a pod of such a partition off
 * nodes that have pods of other users, and all other users off a node that has
 * such a pod, whatever partition their pods name. The node of a rootless agent
 * takes only pods of the agent's user. While no partition and no node is like
 * this, all pods are treated the same.
 *
 * Extension points:  prefilter, filter
 * Woken by:          a pod of another user leaving a node; a partition that
 *                    changes; a node joining
 */
#include "controller/scheduler/framework/framework.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

struct exclusive_user {
    uint32_t has_others, of_other;
};

static int
exclusive_user_make(struct handle *handle, const struct json *args, void **ret_self,
                    struct error *err)
{
    struct exclusive_user *self = xnew(struct exclusive_user);

    (void)args;
    (void)err;
    self->has_others = handle_reason(handle, "node(s) have pods of other users");
    self->of_other = handle_reason(handle, "node(s) are another user's alone");
    *ret_self = self;
    return 0;
}

static bool
exclusive_user_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self;
    if (!pod->heeds_owners)
        return true;
    strbuf_add_text(out, pod->keeps_users_off ? "alone " : "");
    strbuf_add_int(out, pod->owner);
    return true;
}

static enum verdict
exclusive_user_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                         uint32_t *ret_reason)
{
    (void)self;
    (void)ret_result;
    (void)ret_reason;
    return c->pod->heeds_owners ? VERDICT_OK : VERDICT_SKIP;
}

static bool
has_pod_of_another(const struct pod_view *pod, const struct node_view *node)
{
    for (uint32_t i = 0; i < node->pods.count; i++)
        if (node->pods.items[i]->owner != pod->owner)
            return true;
    return false;
}

static bool
is_kept_by_another(const struct pod_view *pod, const struct node_view *node)
{
    for (uint32_t i = 0; i < node->pods.count; i++)
        if (node->pods.items[i]->keeps_users_off && node->pods.items[i]->owner != pod->owner)
            return true;
    return false;
}

/* Whether the node is of a rootless agent of another user. */
static bool
is_of_another(const struct pod_view *pod, const struct node_view *node)
{
    uid_t owner;

    return node_find_owner(node->node, &owner) && (int64_t)owner != pod->owner;
}

/* The owner of a pod that the API has forgotten is unknown, so as long as the
 * node retains its allocation the pod counts as another user's.
 */
static bool
has_forgotten_pod(const struct node_view *node)
{
    for (uint32_t i = 0; i < node->ledger.count; i++)
        if (node->ledger.entries[i].state == LEDGER_RETAINED)
            return true;
    return false;
}

static enum verdict
exclusive_user_filter(void *self, const struct cycle *c, const struct node_view *node,
                      uint32_t *ret_reason)
{
    const struct exclusive_user *me = self;

    if (!c->pod->heeds_owners)
        return VERDICT_OK;
    if (is_of_another(c->pod, node)) {
        *ret_reason = me->of_other;
        return VERDICT_NEVER;
    }
    if (is_kept_by_another(c->pod, node)) {
        *ret_reason = me->of_other;
        return VERDICT_REJECT;
    }
    if (c->pod->keeps_users_off && (has_pod_of_another(c->pod, node) || has_forgotten_pod(node))) {
        *ret_reason = me->has_others;
        return VERDICT_REJECT;
    }
    return VERDICT_OK;
}

static const struct wake wakes[] = {
    {EVENT_POD, ACTION_DELETE, NULL},
    {EVENT_PARTITION, ACTION_ALL, NULL},
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_ALLOCATABLE, NULL},
    WAKE_NEW_NODES,
};

const struct plugin exclusive_user_plugin = {
    .name = "ExclusiveUser",
    .make = exclusive_user_make,
    .drop = free,
    .filters_room = true,
    .sign = exclusive_user_sign,
    .prefilter = exclusive_user_prefilter,
    .filter_one = exclusive_user_filter,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
