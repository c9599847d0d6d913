/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/memory_manager.h"

#include <stddef.h>

#include "lib/allocator/kubelet/node_sets.h"
#include "lib/allocator/kubelet/numa_hint.h"
#include "lib/base/macro.h"

void
memory_manager_add_node(struct memory_manager *m, uint16_t id)
{
    unsigned at = m->count++;

    while (at > 0 && m->ids[at - 1] > id) {
        m->ids[at] = m->ids[at - 1];
        m->nodes[at] = m->nodes[at - 1];
        at--;
    }
    m->ids[at] = id;
    m->nodes[at] = (struct memory_node){.id = id, .group = UINT64_C(1) << id};
}

struct memory_node *
memory_manager_find(struct memory_manager *m, uint16_t id)
{
    for (unsigned i = 0; i < m->count; i++)
        if (m->ids[i] == id)
            return &m->nodes[i];
    return NULL;
}

static struct memory_block *
find_reuse(struct memory_reuse *r, uint64_t nodes, unsigned type)
{
    for (unsigned i = 0; r != NULL && i < r->count; i++)
        if (r->items[i].nodes == nodes && r->items[i].type == type)
            return &r->items[i];
    return NULL;
}

static uint64_t
reusable(const struct memory_reuse *r, uint64_t nodes, unsigned type)
{
    for (unsigned i = 0; r != NULL && i < r->count; i++)
        if (r->items[i].nodes == nodes && r->items[i].type == type)
            return r->items[i].bytes;
    return 0;
}

void
memory_reuse_leave(struct memory_reuse *r, const struct memory_block *b)
{
    struct memory_block *found = find_reuse(r, b->nodes, b->type);

    if (found == NULL) {
        if (r->count < MEMORY_REUSES)
            r->items[r->count++] = *b;
    } else if (b->bytes > found->bytes) {
        found->bytes = b->bytes;
    }
}

void
memory_reuse_take(struct memory_reuse *r, const struct memory_block *b)
{
    struct memory_block *found = find_reuse(r, b->nodes, b->type);

    if (found != NULL)
        found->bytes -= b->bytes < found->bytes ? b->bytes : found->bytes;
}

/* Sums over a set of NUMA nodes. */
struct memory_sums {
    uint64_t allocatable[MEMORY_TYPES];
    uint64_t free[MEMORY_TYPES];
};

static void
add_up(const struct memory_manager *m, uint64_t nodes, struct memory_sums *ret_sums)
{
    *ret_sums = (struct memory_sums){0};
    for (unsigned i = 0; i < m->count; i++) {
        if ((nodes >> m->ids[i] & 1) == 0)
            continue;
        for (unsigned t = 0; t < MEMORY_TYPES; t++) {
            ret_sums->allocatable[t] += m->nodes[i].cells[t].allocatable;
            ret_sums->free[t] += m->nodes[i].cells[t].free;
        }
    }
}

static bool
has_free(const struct memory_request *q, const struct memory_sums *sums,
         const struct memory_reuse *reuse, uint64_t nodes)
{
    for (unsigned t = 0; t < MEMORY_TYPES; t++)
        if (q->is_asked[t] && sums->free[t] + reusable(reuse, nodes, t) < q->bytes[t])
            return false;
    return true;
}

static bool
could_hold(const struct memory_request *q, const struct memory_sums *sums)
{
    for (unsigned t = 0; t < MEMORY_TYPES; t++)
        if (q->is_asked[t] && sums->allocatable[t] < q->bytes[t])
            return false;
    return true;
}

/* Whether the group rule allows these nodes to be used together. */
static bool
obeys_groups(const struct memory_manager *m, uint64_t nodes)
{
    for (unsigned i = 0; i < m->count; i++) {
        const struct memory_node *n = &m->nodes[i];

        if ((nodes >> n->id & 1) != 0 && n->assignments > 0 && n->group != nodes)
            return false;
    }
    return true;
}

void
memory_manager_hints(const struct memory_manager *m, const struct memory_request *request,
                     const struct memory_reuse *reuse, struct numa_hints *ret_hints)
{
    unsigned least = m->count;
    struct node_sets_walk walk;

    for (bool more = node_sets_first(&walk, m->ids, m->count); more; more = node_sets_next(&walk)) {
        struct memory_sums sums;

        add_up(m, walk.nodes, &sums);
        if (!could_hold(request, &sums))
            continue;
        if (walk.set.size < least)
            least = walk.set.size;
        if (obeys_groups(m, walk.nodes) && has_free(request, &sums, reuse, walk.nodes))
            numa_hints_add(ret_hints, walk.nodes, false);
    }
    for (unsigned i = 0; i < ret_hints->count; i++)
        ret_hints->items[i].is_preferred =
            (unsigned)__builtin_popcountll(ret_hints->items[i].nodes) == least;
}

/* Finds the best hint that contains these nodes: a preferred one before others,
 * then the one with fewest nodes, then with the lowest ids.
 */
static bool
find_best(const struct numa_hints *hints, uint64_t nodes, struct numa_hint *ret_best)
{
    const struct numa_hint *best = NULL;

    for (unsigned i = 0; i < hints->count; i++) {
        const struct numa_hint *h = &hints->items[i];
        int wide = __builtin_popcountll(h->nodes);
        int best_wide = best != NULL ? __builtin_popcountll(best->nodes) : 0;

        if ((h->nodes & nodes) != nodes)
            continue;
        if (best == NULL || (h->is_preferred && !best->is_preferred)
            || (h->is_preferred == best->is_preferred
                && (wide < best_wide || (wide == best_wide && h->nodes < best->nodes))))
            best = h;
    }
    if (best != NULL)
        *ret_best = *best;
    return best != NULL;
}

static enum memory_answer
settle_nodes(const struct memory_manager *m, const struct memory_request *request,
             const struct memory_reuse *reuse, const struct numa_hint *affinity,
             uint64_t *ret_nodes)
{
    CLEANUP(numa_hints_fini) struct numa_hints hints = {0};
    struct numa_hint best = *affinity;
    struct memory_sums sums;

    memory_manager_hints(m, request, reuse, &hints);
    if (affinity->is_any) {
        if (!find_best(&hints, 0, &best))
            return MEMORY_NO_DEFAULT;
        if (!best.is_preferred && affinity->is_preferred)
            return MEMORY_DEFAULT_NOT_PREFERRED;
    }
    add_up(m, best.nodes, &sums);
    if (!has_free(request, &sums, NULL, 0)) {
        bool was_preferred = best.is_preferred;

        if (!find_best(&hints, best.nodes, &best))
            return MEMORY_NO_EXTENSION;
        if (!best.is_preferred && was_preferred)
            return MEMORY_EXTENSION_NOT_PREFERRED;
    }
    /* The kubelet allows a single node of a group here, so only wider sets are
     * checked.
     */
    if (__builtin_popcountll(best.nodes) > 1 && !obeys_groups(m, best.nodes))
        return MEMORY_GROUP_RULE;
    *ret_nodes = best.nodes;
    return MEMORY_OK;
}

static void
fill(struct memory_manager *m, uint64_t nodes, unsigned type, uint64_t bytes)
{
    for (unsigned i = 0; i < m->count; i++) {
        struct memory_node *n = &m->nodes[i];
        struct memory_cell *cell = &n->cells[type];
        uint64_t some = bytes < cell->free ? bytes : cell->free;

        if ((nodes >> n->id & 1) == 0)
            continue;
        n->assignments++;
        n->group = nodes;
        cell->reserved += some;
        cell->free -= some;
        bytes -= some;
    }
}

enum memory_answer
memory_manager_allocate(struct memory_manager *m, const struct memory_request *request,
                        const struct memory_reuse *reuse, const struct numa_hint *affinity,
                        uint64_t *ret_nodes)
{
    enum memory_answer answer = settle_nodes(m, request, reuse, affinity, ret_nodes);

    if (answer != MEMORY_OK)
        return answer;
    for (unsigned t = 0; t < MEMORY_TYPES; t++) {
        uint64_t again, bytes = request->bytes[t];

        if (!request->is_asked[t])
            continue;
        again = reusable(reuse, *ret_nodes, t);
        fill(m, *ret_nodes, t, bytes > again ? bytes - again : 0);
    }
    return MEMORY_OK;
}

void
memory_manager_release(struct memory_manager *m, const struct memory_block *block)
{
    uint64_t bytes = block->bytes;

    for (unsigned i = 0; i < m->count; i++) {
        struct memory_node *n = &m->nodes[i];
        struct memory_cell *cell = &n->cells[block->type];
        uint64_t some = bytes < cell->reserved ? bytes : cell->reserved;

        if ((block->nodes >> n->id & 1) == 0)
            continue;
        if (--n->assignments == 0)
            n->group = UINT64_C(1) << n->id;
        cell->reserved -= some;
        cell->free += some;
        bytes -= some;
    }
}
