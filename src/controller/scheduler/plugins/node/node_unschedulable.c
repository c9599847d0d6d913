/* SPDX-License-Identifier: Apache-2.0 */
/* NodeUnschedulable - a cordoned node takes only pods that tolerate it
 *
 * Extension points:  filter
 * Woken by:          a node joining or being uncordoned; the pod's tolerations
 */
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/framework/taints.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"

struct node_unschedulable {
    uint32_t cordoned;
};

static const struct taint cordon = {
    .key = TAINT_UNSCHEDULABLE,
    .effect = "NoSchedule",
};

static int
node_unschedulable_make(struct handle *handle, const struct json *args, void **ret_self,
                        struct error *err)
{
    struct node_unschedulable *self = xnew(struct node_unschedulable);

    (void)args, (void)err;
    self->cordoned = handle_reason(handle, "node(s) were unschedulable");
    *ret_self = self;
    return 0;
}

static bool
node_unschedulable_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self;
    tolerations_sign(&pod->pod->spec, out);
    return true;
}

static void
node_unschedulable_filter(void *self, const struct cycle *c, const struct node_view *const *nodes,
                          unsigned count, struct answer *answers)
{
    const struct node_unschedulable *me = self;

    for (unsigned i = 0; i < count; i++)
        if (nodes[i]->is_unschedulable && !taint_is_tolerated(&cordon, &c->pod->pod->spec)) {
            answers[i].verdict = VERDICT_NEVER;
            answers[i].reason = me->cordoned;
        }
}

static bool
node_hint(void *self, const struct pod_view *pod, const struct object *old_object,
          const struct object *new_object)
{
    bool was_open = old_object != NULL && !node_of(old_object)->spec.unschedulable;

    (void)self, (void)pod;
    return !was_open && !node_of(new_object)->spec.unschedulable;
}

static bool
tolerations_hint(void *self, const struct pod_view *pod, const struct object *old_object,
                 const struct object *new_object)
{
    (void)self, (void)old_object;
    return pod_view_is_of(pod, new_object)
           && taint_is_tolerated(&cordon, &pod_of(new_object)->spec);
}

static const struct wake wakes[] = {
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_TAINT, node_hint},
    {EVENT_POD, ACTION_UPDATE_POD_TOLERATIONS, tolerations_hint},
};

const struct plugin node_unschedulable_plugin = {
    .name = "NodeUnschedulable",
    .make = node_unschedulable_make,
    .drop = free,
    .sign = node_unschedulable_sign,
    .filter = node_unschedulable_filter,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
};
