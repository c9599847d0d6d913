/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node_use.h"

#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"

static int64_t
count_cpus(const char *list)
{
    struct bitset set;

    if (list == NULL || cpuset_parse(list, &set, NULL) < 0)
        return 0;
    return bitset_count(&set);
}

/* Agents name devices by their type: "gpu0". */
static void
add_allocation(struct node_use *use, const struct allocation *a)
{
    use->cpus += count_cpus(a->cpus) + count_cpus(a->withheld);
    for (unsigned i = 0; i < a->memory.count; i++)
        use->memory_bytes += quantity_text_value(a->memory.items[i].bytes);
    for (unsigned i = 0; i < a->devices.count; i++)
        use->gpus += strncmp(a->devices.items[i], "gpu", 3) == 0;
}

void
node_use_add_pod(struct node_use *use, const struct pod *pod)
{
    if (pod_is_finished(pod))
        return;
    use->pods++;
    if (pod->status.allocation == NULL)
        return;
    add_allocation(use, pod->status.allocation);
    if (pod_has_yielded(pod)) /* others count them, if they have them */
        use->cpus -= count_cpus(pod->status.allocation->cpus)
                     + count_cpus(pod->status.allocation->withheld);
}

void
node_use_add_remnants(struct node_use *use, const struct node *node)
{
    for (unsigned i = 0; i < node->status.remnants.count; i++) {
        const struct allocation *a =
            node->status.remnants.items[i].value.allocation;

        if (a != NULL)
            add_allocation(use, a);
    }
}
