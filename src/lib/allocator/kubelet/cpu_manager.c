/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/cpu_manager.h"

#include <stddef.h>
#include <string.h>

#include "lib/allocator/kubelet/cpu_accumulator.h"
#include "lib/allocator/kubelet/cpu_layout.h"
#include "lib/allocator/kubelet/node_sets.h"
#include "lib/allocator/kubelet/numa_hint.h"
#include "lib/base/macro.h"

bool
cpu_options_add(struct cpu_options *options, const char *name)
{
    static const struct {
        const char *name;
        size_t offset;
    } names[] = {
        {"align-by-socket", offsetof(struct cpu_options, align_by_socket)},
        {"distribute-cpus-across-cores", offsetof(struct cpu_options, distribute_across_cores)},
        {"distribute-cpus-across-numa", offsetof(struct cpu_options, distribute_across_numa)},
        {"full-pcpus-only", offsetof(struct cpu_options, full_pcpus_only)},
        {"prefer-align-cpus-by-uncorecache", offsetof(struct cpu_options, align_by_uncore)},
        {"strict-cpu-reservation", offsetof(struct cpu_options, strict_reservation)},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i].name, name) == 0) {
            *(bool *)((char *)options + names[i].offset) = true;
            return true;
        }
    return false;
}

void
cpu_manager_init(struct cpu_manager *m, const struct cpu_layout *layout,
                 const struct cpu_options *options, const struct bitset *reserved)
{
    m->layout = layout;
    m->options = *options;
    m->reserved = *reserved;
    m->shared = layout->cpus;
    if (options->strict_reservation)
        bitset_and_not(&m->shared, reserved);
}

void
cpu_manager_available(const struct cpu_manager *m, struct bitset *ret_cpus)
{
    *ret_cpus = m->shared;
    bitset_and_not(ret_cpus, &m->reserved);
}

/* CPUs by NUMA node, and the nodes that every hint must include. */
struct supply {
    const struct cpu_layout *layout;
    uint64_t must;                /* ids */
    unsigned total[64], free[64]; /* by place */
};

static void
count_supply(struct supply *s, const struct cpu_manager *m, const struct bitset *available,
             const struct bitset *reusable)
{
    const struct cpu_units *nodes = &m->layout->levels[LEVEL_NUMA];

    *s = (struct supply){.layout = m->layout};
    for (unsigned i = 0; i < nodes->count && i < 64; i++) {
        unsigned again = bitset_count_and(&nodes->cpus[i], reusable);

        s->total[i] = bitset_count(&nodes->cpus[i]);
        s->free[i] = bitset_count_and(&nodes->cpus[i], available) + again;
        if (again > 0)
            s->must |= UINT64_C(1) << nodes->ids[i];
    }
}

/* With align-by-socket: whether the nodes span no more sockets than the least
 * number of NUMA nodes needs.
 */
static bool
spans_few_sockets(const struct cpu_manager *m, uint64_t nodes, unsigned least)
{
    unsigned n_numa = m->layout->levels[LEVEL_NUMA].count;
    unsigned per_socket = n_numa / m->layout->n_sockets;
    struct bitset cpus;

    if (per_socket == 0)
        return false;
    cpu_layout_of_nodes(m->layout, nodes, &cpus);
    return cpu_layout_count_units(m->layout, LEVEL_SOCKET, &cpus)
           == (least + per_socket - 1) / per_socket;
}

void
cpu_manager_hints(const struct cpu_manager *m, const struct bitset *available,
                  const struct bitset *reusable, unsigned wanted, struct numa_hints *ret_hints)
{
    const struct cpu_units *nodes = &m->layout->levels[LEVEL_NUMA];
    unsigned least = nodes->count;
    struct node_sets_walk walk;
    struct supply s;

    count_supply(&s, m, available, reusable);
    for (bool more = node_sets_first(&walk, nodes->ids, nodes->count); more;
         more = node_sets_next(&walk)) {
        if (node_sets_sum(&walk, s.total) >= wanted && walk.set.size < least)
            least = walk.set.size;
        if ((walk.nodes & s.must) == s.must && node_sets_sum(&walk, s.free) >= wanted)
            numa_hints_add(ret_hints, walk.nodes, false);
    }
    for (unsigned i = 0; i < ret_hints->count; i++) {
        struct numa_hint *h = &ret_hints->items[i];

        h->is_preferred = (unsigned)__builtin_popcountll(h->nodes) == least
                          || (m->options.align_by_socket && spans_few_sockets(m, h->nodes, least));
    }
}

static bool
take(const struct cpu_layout *layout, const struct cpu_options *options,
     const struct bitset *available, unsigned wanted, struct bitset *ret_cpus)
{
    struct cpu_style style = {
        .is_spread = options->distribute_across_cores,
        .aligns_uncore = options->align_by_uncore,
        .distributes = options->distribute_across_numa,
        .group = options->full_pcpus_only ? cpu_layout_per(layout, LEVEL_CORE) : 1,
    };

    return cpu_accumulator_take(layout, available, wanted, &style, ret_cpus) == 0;
}

/* Keeps the CPUs of the affinity's NUMA nodes (with align-by-socket, of their
 * sockets).
 */
static void
align(const struct cpu_manager *m, const struct numa_hint *affinity, struct bitset *cpus)
{
    struct bitset meant;

    cpu_layout_of_nodes(m->layout, affinity->nodes, &meant);
    if (m->options.align_by_socket)
        cpu_layout_widen(m->layout, LEVEL_SOCKET, &meant, &meant);
    bitset_and(cpus, &meant);
}

static enum cpu_answer
check_whole_cores(const struct cpu_manager *m, unsigned wanted)
{
    struct bitset kept, whole = m->shared;

    if (!m->options.full_pcpus_only)
        return CPU_OK;
    if (wanted % cpu_layout_per(m->layout, LEVEL_CORE) != 0)
        return CPU_SMT_NOT_MULTIPLE;
    cpu_layout_widen(m->layout, LEVEL_CORE, &m->reserved, &kept);
    bitset_and_not(&whole, &kept);
    return bitset_count(&whole) < wanted ? CPU_SMT_NOT_ENOUGH : CPU_OK;
}

enum cpu_answer
cpu_manager_allocate(struct cpu_manager *m, unsigned wanted, const struct numa_hint *affinity,
                     const struct bitset *reusable, struct bitset *ret_cpus)
{
    enum cpu_answer answer = check_whole_cores(m, wanted);
    struct bitset all, aligned, taken = {0}, more;

    if (answer != CPU_OK)
        return answer;
    cpu_manager_available(m, &all);
    bitset_or(&all, reusable);
    if (!affinity->is_any) {
        unsigned some;

        aligned = all;
        align(m, affinity, &aligned);
        some = bitset_count(&aligned);
        if (!take(m->layout, &m->options, &aligned, some < wanted ? some : wanted, &taken))
            return CPU_NOT_ENOUGH;
        bitset_and_not(&all, &taken);
    }
    if (!take(m->layout, &m->options, &all, wanted - bitset_count(&taken), &more))
        return CPU_NOT_ENOUGH;
    bitset_or(&taken, &more);
    bitset_and_not(&m->shared, &taken);
    *ret_cpus = taken;
    return CPU_OK;
}
