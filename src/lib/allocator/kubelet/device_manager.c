/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/device_manager.h"

#include "lib/allocator/kubelet/node_sets.h"
#include "lib/allocator/kubelet/numa_hint.h"

/* The devices of one resource: all, the free ones, and those that the pod may
 * reuse.
 */
struct device_stock {
    struct bitset all, free, again;
    bool has_nodes; /* the NUMA node of some device is known */
};

static void
take_stock(const struct device_manager *b, unsigned resource, const struct bitset *reusable,
           struct device_stock *ret_stock)
{
    struct device_stock s = {0};

    for (unsigned i = 0; i < b->count; i++) {
        if (b->seats[i].resource != resource)
            continue;
        bitset_add(&s.all, i);
        s.has_nodes |= b->seats[i].nodes != 0;
    }
    s.free = s.all;
    bitset_and_not(&s.free, &b->used);
    s.again = s.all;
    bitset_and(&s.again, reusable);
    *ret_stock = s;
}

static unsigned
count_near(const struct device_manager *b, const struct bitset *devices, uint64_t nodes)
{
    unsigned n = 0;

    bitset_foreach(i, devices) n += (b->seats[i].nodes & nodes) != 0;
    return n;
}

/* Whether each reusable device with known NUMA nodes is near one of these
 * nodes.
 */
static bool
covers(const struct device_manager *b, const struct bitset *again, uint64_t nodes)
{
    bitset_foreach(i, again) if (b->seats[i].nodes != 0
                                 && (b->seats[i].nodes & nodes) == 0) return false;
    return true;
}

void
device_manager_hints(const struct device_manager *b, unsigned resource, unsigned wanted,
                     const struct bitset *reusable, struct numa_hints *ret_hints)
{
    unsigned least = b->n_numa;
    struct node_sets_walk walk;
    struct device_stock s;
    struct bitset any;

    take_stock(b, resource, reusable, &s);
    ret_hints->is_anything = !s.has_nodes;
    any = s.free;
    bitset_or(&any, &s.again);
    if (!s.has_nodes || bitset_count(&any) < wanted)
        return;
    for (bool more = node_sets_first(&walk, b->numa_ids, b->n_numa); more;
         more = node_sets_next(&walk)) {
        if (count_near(b, &s.all, walk.nodes) >= wanted && walk.set.size < least)
            least = walk.set.size;
        if (covers(b, &s.again, walk.nodes)
            && count_near(b, &s.again, walk.nodes) + count_near(b, &s.free, walk.nodes) >= wanted)
            numa_hints_add(ret_hints, walk.nodes, false);
    }
    for (unsigned i = 0; i < ret_hints->count; i++)
        ret_hints->items[i].is_preferred =
            (unsigned)__builtin_popcountll(ret_hints->items[i].nodes) == least;
}

/* Takes devices in their order until enough are taken; only devices near the
 * nodes, or any device for UINT64_MAX.
 */
static void
take_some(const struct device_manager *b, const struct bitset *from, uint64_t nodes,
          unsigned *wanted, struct bitset *taken)
{
    bitset_foreach(i, from)
    {
        if (*wanted == 0)
            return;
        if (bitset_has(taken, i) || (nodes != UINT64_MAX && (b->seats[i].nodes & nodes) == 0))
            continue;
        bitset_add(taken, i);
        --*wanted;
    }
}

bool
device_manager_allocate(struct device_manager *b, unsigned resource, unsigned wanted,
                        const struct numa_hint *affinity, const struct bitset *reusable,
                        struct bitset *ret_devices)
{
    struct bitset taken = {0};
    struct device_stock s;

    take_stock(b, resource, reusable, &s);
    take_some(b, &s.again, UINT64_MAX, &wanted, &taken);
    if (bitset_count(&s.free) < wanted)
        return false;
    if (!affinity->is_any)
        take_some(b, &s.free, affinity->nodes, &wanted, &taken);
    take_some(b, &s.free, UINT64_MAX, &wanted, &taken);
    bitset_or(&b->used, &taken);
    *ret_devices = taken;
    return true;
}
