/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node_use.h"

#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_sums.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/json/json.h"

static int64_t
count_cpus(const char *list)
{
    struct bitset set;

    if (list == NULL || cpuset_parse(list, &set, NULL) < 0)
        return 0;
    return bitset_count(&set);
}

static int64_t
requested_milli(const struct pod *pod)
{
    struct pod_sums sums = {0};
    int64_t milli;

    pod_sums_add_requests(&sums, &pod->spec, NULL);
    milli = pod_sum_milli(pod_sums_find(&sums, "cpu"));
    pod_sums_fini(&sums);
    return milli;
}

int64_t
node_use_held_milli(const struct pod *pod)
{
    const struct allocation *a = pod->status.allocation;

    if (a == NULL || a->cpus == NULL)
        return requested_milli(pod);
    return (count_cpus(a->cpus) + count_cpus(a->withheld)) * 1000;
}

/* Without a list of cores each hardware thread is a core. */
static int64_t
threads_of_core(const struct node *node)
{
    const struct json *topology = node->status.topology;
    int64_t cores = json_count(json_get(topology, "cores"));
    int64_t threads = count_cpus(json_get_text(topology, "cpus"));

    return cores > 0 && threads > cores ? (threads + cores - 1) / cores : 1;
}

/* Exclusive cores are whole cores, even if the pod uses fewer threads of each.
 */
static int64_t
planned_threads(const struct placement *p, int64_t asked, int64_t of_core)
{
    int64_t used =
        p->threads_per_core > 0 && p->threads_per_core < of_core ? p->threads_per_core : of_core;

    return (asked + used - 1) / used * of_core;
}

int64_t
node_use_planned_milli(const struct pod *pod, const struct node *node)
{
    const struct placement *p = pod->spec.placement;
    int64_t milli = requested_milli(pod);
    int64_t all_milli = quantity_text_milli(string_map_find(&node->status.allocatable, "cpu"));

    if (p == NULL)
        return milli;
    if (p->whole_node)
        return all_milli > milli ? all_milli : milli;
    if (p->cpu_policy == NULL || strcmp(p->cpu_policy, "exclusive") != 0 || milli % 1000 != 0)
        return milli;
    return planned_threads(p, milli / 1000, threads_of_core(node)) * 1000;
}

/* Agents name devices after their type: "gpu0". */
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
    if (pod->status.allocation == NULL || pod->status.allocation->cpus == NULL)
        use->shared_milli += requested_milli(pod);
    if (pod->status.allocation == NULL)
        return;
    add_allocation(use, pod->status.allocation);
    if (pod_has_yielded(pod)) {
        use->cpus -=
            count_cpus(pod->status.allocation->cpus) + count_cpus(pod->status.allocation->withheld);
        use->n_yielded++;
    }
}

int64_t
node_use_cpus(const struct node_use *use)
{
    return use->cpus + (use->shared_milli + 999) / 1000;
}

static void
unite(struct bitset *sum, const char *list)
{
    struct bitset set;

    if (list != NULL && cpuset_parse(list, &set, NULL) == 0)
        bitset_or(sum, &set);
}

void
node_lending_note(struct node_lending *lending, const struct pod *pod)
{
    const struct allocation *a = pod->status.allocation;
    struct bitset *sum = pod_has_yielded(pod) ? &lending->lent : &lending->taken;

    if (a == NULL || pod_is_finished(pod))
        return;
    unite(sum, a->cpus);
    unite(sum, a->withheld);
}

void
node_use_add_kept(struct node_use *use, const struct node_lending *l, const struct node *node)
{
    struct bitset kept = l->lent, taken = l->taken;

    for (unsigned i = 0; i < node->status.remnants.count; i++) {
        const struct allocation *a = node->status.remnants.items[i].value.allocation;

        if (a == NULL)
            continue;
        unite(&taken, a->cpus);
        unite(&taken, a->withheld);
    }
    bitset_and_not(&kept, &taken);
    use->kept = bitset_count(&kept);
    use->cpus += use->kept;
}

void
node_use_add_remnants(struct node_use *use, const struct node *node)
{
    for (unsigned i = 0; i < node->status.remnants.count; i++) {
        const struct allocation *a = node->status.remnants.items[i].value.allocation;

        if (a != NULL)
            add_allocation(use, a);
    }
}
