/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/numa/memory_check.h"

#include <errno.h>
#include <inttypes.h>

#include <numa.h>

#include "lib/api/node/topology.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

#define TOLERATED 16 /* a difference up to 1/16 is no disagreement */

int
memory_facts_read(struct memory_facts *ret_facts)
{
    struct memory_facts f = {0};

    if (numa_available() < 0)
        return -ENOSYS;
    for (int id = 0; id <= numa_max_node(); id++) {
        long long bytes = numa_node_size64(id, NULL);

        if (f.n == ARRAY_SIZE(f.ids) || !numa_bitmask_isbitset(numa_nodes_ptr, (unsigned)id))
            continue;
        f.ids[f.n] = (unsigned)id;
        f.bytes[f.n++] = bytes > 0 ? (uint64_t)bytes : 0;
    }
    for (unsigned i = 0; i < f.n; i++)
        for (unsigned j = 0; j < f.n; j++) {
            int distance = numa_distance((int)f.ids[i], (int)f.ids[j]);

            if (distance > 0 && distance < 256)
                f.distances[i][j] = (unsigned char)distance;
        }
    *ret_facts = f;
    return 0;
}

/* The node's index in the facts, or f->n if the facts lack it. */
static unsigned
find_node(const struct memory_facts *f, unsigned id)
{
    unsigned i = 0;

    while (i < f->n && f->ids[i] != id)
        i++;
    return i;
}

static void
begin_clause(struct strbuf *words)
{
    if (words->length > 0)
        strbuf_add_text(words, "; ");
}

static uint64_t
sum_bytes(const struct topology *t)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < t->n_numa; i++)
        sum += t->numa[i].memory_bytes;
    return sum;
}

/* All memory of the node: with its share of the reserved memory, and its huge
 * pages.
 */
static uint64_t
whole_bytes(const struct topology_numa *n, uint64_t reserved, uint64_t sum)
{
    uint64_t bytes = n->memory_bytes;

    if (sum > 0)
        bytes += (uint64_t)((__uint128_t)reserved * n->memory_bytes / sum);
    for (unsigned i = 0; i < n->n_hugepages; i++)
        bytes += n->hugepages[i].page_bytes * n->hugepages[i].count;
    return bytes;
}

static bool
is_size_alike(uint64_t a, uint64_t b)
{
    uint64_t larger = a > b ? a : b;

    return larger - (a > b ? b : a) <= larger / TOLERATED;
}

static unsigned
check_sizes(const struct topology *t, uint64_t reserved, const struct memory_facts *f,
            struct strbuf *words)
{
    uint64_t sum = sum_bytes(t);
    unsigned differences = 0;

    for (unsigned i = 0; i < t->n_numa; i++) {
        const struct topology_numa *n = &t->numa[i];
        uint64_t bytes = whole_bytes(n, reserved, sum);
        unsigned at = find_node(f, n->os_index);

        if (at < f->n && is_size_alike(bytes, f->bytes[at]))
            continue;
        begin_clause(words);
        differences++;
        if (at == f->n)
            strbuf_printf(words, "hwloc shows NUMA node %u, but libnuma does not", n->os_index);
        else
            strbuf_printf(
                words, "NUMA node %u has %" PRIu64 " MiB by hwloc and %" PRIu64 " MiB by libnuma",
                n->os_index, bytes >> 20, f->bytes[at] >> 20);
    }
    return differences;
}

static unsigned
check_distances(const struct topology *t, const struct memory_facts *f, struct strbuf *words)
{
    unsigned differences = 0;

    for (unsigned i = 0; t->distances != NULL && i < t->n_numa; i++)
        for (unsigned j = 0; j < t->n_numa; j++) {
            unsigned from = find_node(f, t->numa[i].os_index);
            unsigned to = find_node(f, t->numa[j].os_index);
            unsigned by_hwloc = t->distances[i * t->n_numa + j];

            if (from == f->n || to == f->n || f->distances[from][to] == 0
                || f->distances[from][to] == by_hwloc)
                continue;
            begin_clause(words);
            differences++;
            strbuf_printf(words,
                          "the distance from NUMA node %u to %u is %u by "
                          "hwloc and %u by libnuma",
                          t->numa[i].os_index, t->numa[j].os_index, by_hwloc,
                          f->distances[from][to]);
        }
    return differences;
}

unsigned
memory_check(const struct topology *topology, uint64_t reserved_bytes,
             const struct memory_facts *facts, struct strbuf *words)
{
    return check_sizes(topology, reserved_bytes, facts, words)
           + check_distances(topology, facts, words);
}
