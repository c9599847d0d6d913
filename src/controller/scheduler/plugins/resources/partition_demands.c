/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/resources/partition_demands.h"

#include "controller/scheduler/framework/framework.h"
#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/partition.h"
#include "lib/base/macro.h"

/* The partition in which the pod would start on the node, with all of the node
 * or with a part of it; NULL: unknown.
 */
static const struct partition *
find_start(const struct handle *h, const struct pod_view *pod, const struct node_view *node,
           bool has_whole_node)
{
    return partition_find_start(pod_spec_partition(&pod->pod->spec), &node->node->meta.labels,
                                has_whole_node, h->find, h->owner);
}

void
partition_demands_find(const struct handle *h, const struct pod_view *pod,
                       const struct node_view *node, struct partition_demands *ret_demands)
{
    const struct partition *with_all, *with_part;

    *ret_demands = (struct partition_demands){.items = {pod->demand}, .count = 1};
    if (pod->whole_demand == NULL || node == NULL || h->find == NULL)
        return;
    with_all = find_start(h, pod, node, true);
    if (with_all == NULL || !partition_is_of_one_pod(with_all))
        return;
    ret_demands->items[0] = pod->whole_demand;
    with_part = find_start(h, pod, node, false);
    if (!partition_is_of_one_pod(with_part))
        ret_demands->items[ret_demands->count++] = pod->demand;
}

bool
partition_demands_of_node_changed(UNUSED void *self, const struct pod_view *pod,
                                  UNUSED const struct object *old_node,
                                  UNUSED const struct object *new_node)
{
    return pod->whole_demand != NULL;
}

/* If the partition has lost the property, the pod may have lost the second
 * demand already.
 */
bool
partition_demands_changed(UNUSED void *self, const struct pod_view *pod,
                          const struct object *old_partition,
                          UNUSED const struct object *new_partition)
{
    return pod->whole_demand != NULL
           || (old_partition != NULL && partition_is_of_one_pod(partition_of(old_partition)));
}
