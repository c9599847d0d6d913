/* SPDX-License-Identifier: Apache-2.0 */
/* A demand is computed once for a pod and asked of thousands of nodes, so everything that the
 * text of the pod leaves open is decided here. Counts are cut off just above what any node can
 * have: they fit nowhere either way, and sums further on cannot overflow, whatever a user
 * wrote.
 */
#include "lib/allocator/demand.h"

#include <string.h>

#include "lib/api/pod/pod.h"
#include "lib/api/value/quantity.h"
#include "lib/base/bitset.h"
#include "lib/base/text.h"

#define DEVICE_PREFIX    "kiln.hpc/"
#define HUGEPAGES_PREFIX "hugepages-"
#define GPU_TYPE         "gpu"

static enum numa_policy
numa_policy_of(const char *text)
{
    if (text_is(text, "best-effort"))
        return NUMA_BEST_EFFORT;
    if (text_is(text, "restricted"))
        return NUMA_RESTRICTED;
    if (text_is(text, "single-numa-node"))
        return NUMA_SINGLE;
    return NUMA_NONE;
}

static enum distribution
distribution_of(const char *text)
{
    if (text_is(text, "scatter"))
        return DISTRIBUTION_SCATTER;
    if (text_is(text, "cyclic"))
        return DISTRIBUTION_CYCLIC;
    return DISTRIBUTION_PACK;
}

static enum memory_policy
memory_policy_of(const char *text)
{
    if (text_is(text, "preferred"))
        return MEMORY_PREFERRED;
    if (text_is(text, "interleave"))
        return MEMORY_INTERLEAVE;
    return MEMORY_BIND;
}

/* Limits a count to one more than any node can have: it still fits nowhere, and
 * sums cannot overflow.
 */
static unsigned
at_most_pus(int64_t count)
{
    return count > (int64_t)BITSET_BITS ? BITSET_BITS + 1 : (unsigned)count;
}

static unsigned
whole_cpus(int64_t cpu_milli)
{
    return at_most_pus(cpu_milli / 1000);
}

static void
make_exclusive(struct demand *demand)
{
    demand->is_exclusive = true;
    demand->pus = whole_cpus(demand->shared_milli);
    demand->shared_milli = 0;
}

void
demand_add_whole_node(struct demand *demand)
{
    demand->is_whole_node = true;
    if (!demand->is_exclusive)
        make_exclusive(demand);
}

void
demand_init(struct demand *demand, const struct placement *placement, int64_t cpu_milli,
            int64_t memory_bytes)
{
    memset(demand, 0, sizeof(*demand));
    demand->memory_bytes = memory_bytes;
    demand->shared_milli = cpu_milli;
    if (placement == NULL)
        return;
    demand->numa_policy = numa_policy_of(placement->numa_policy);
    demand->distribution = distribution_of(placement->distribution);
    demand->memory_policy = memory_policy_of(placement->memory_policy);
    demand->has_far_devices = text_is(placement->gpu_binding, "none");
    demand->gpu_model = placement->gpu_type;
    if (placement->cores_per_socket > 0)
        demand->cores_per_package = at_most_pus(placement->cores_per_socket);
    if (placement->threads_per_core > 0 && placement->threads_per_core < (int64_t)BITSET_BITS)
        demand->threads_per_core = (unsigned)placement->threads_per_core;
    if (text_is(placement->cpu_policy, "exclusive") && cpu_milli > 0 && cpu_milli % 1000 == 0)
        make_exclusive(demand);
    if (placement->whole_node)
        demand_add_whole_node(demand);
}

/* The device type if the resource is a device of the node's topology
 * ("kiln.hpc/gpu": "gpu"), otherwise NULL.
 */
static const char *
device_type(const char *resource_name)
{
    size_t length = strlen(DEVICE_PREFIX);

    return strncmp(resource_name, DEVICE_PREFIX, length) == 0 ? resource_name + length : NULL;
}

static void
add_device(struct demand *demand, const char *type, unsigned count)
{
    if (count == 0 || demand->n_devices == DEMAND_MAX_DEVICES)
        return;
    demand->devices[demand->n_devices++] = (struct demand_device){
        .type = type,
        .model = strcmp(type, GPU_TYPE) == 0 ? demand->gpu_model : NULL,
        .count = count,
    };
}

/* The page size of a resource such as "hugepages-2Mi"; 0 for any other. */
static int64_t
page_size(const char *resource_name)
{
    size_t length = strlen(HUGEPAGES_PREFIX);

    return strncmp(resource_name, HUGEPAGES_PREFIX, length) == 0
               ? quantity_text_value(resource_name + length)
               : 0;
}

static void
add_hugepages(struct demand *demand, int64_t page_bytes, int64_t bytes)
{
    if (page_bytes <= 0 || bytes <= 0 || demand->n_hugepages == DEMAND_MAX_HUGEPAGES)
        return;
    demand->hugepages[demand->n_hugepages++] = (struct demand_hugepages){
        .page_bytes = (uint64_t)page_bytes,
        .bytes = bytes,
    };
}

void
demand_add_resource(struct demand *demand, const char *name, int64_t amount)
{
    const char *type = device_type(name);

    add_hugepages(demand, page_size(name), amount);
    if (type != NULL && amount > 0)
        add_device(demand, type, amount < UINT16_MAX ? (unsigned)amount : UINT16_MAX);
}
