/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/numa_hint.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

void
numa_hints_fini(struct numa_hints *h)
{
    free(h->items);
    *h = (struct numa_hints){0};
}

void
numa_hints_add(struct numa_hints *h, uint64_t nodes, bool is_preferred)
{
    xgrow(h->items, h->count, h->capacity);
    h->items[h->count++] = (struct numa_hint){.nodes = nodes, .is_preferred = is_preferred};
}

#define MOST_MEETINGS (1u << 18) /* more than 255 * 255, all pairs of sets of 8 nodes */

/* The hints of one resource; "no preference" and "impossible" are hints too. */
struct resource_hints {
    const struct numa_hint *items;
    unsigned count;
};

static const struct numa_hint anything = {.is_any = true, .is_preferred = true};
static const struct numa_hint nothing = {.is_any = true, .is_preferred = false};

static struct resource_hints
hints_of(const struct numa_hints *h)
{
    if (h == NULL || h->is_anything)
        return (struct resource_hints){.items = &anything, .count = 1};
    if (h->count == 0)
        return (struct resource_hints){.items = &nothing, .count = 1};
    return (struct resource_hints){.items = h->items, .count = h->count};
}

/* single-numa-node considers only preferred hints of one node or any node. */
static bool
is_considered(const struct hint_merge *m, const struct numa_hint *h)
{
    return m->policy != HINT_SINGLE
           || (h->is_preferred && (h->is_any || __builtin_popcountll(h->nodes) == 1));
}

/* The mean distance between all pairs of these nodes, in millionths. */
static uint64_t
mean_distance(const struct hint_merge *m, uint64_t nodes)
{
    unsigned n = (unsigned)__builtin_popcountll(m->nodes), row = 0;
    uint64_t sum = 0, pairs = 0;

    if (m->distances == NULL)
        return 0;
    for (uint64_t a = m->nodes; a != 0; a &= a - 1, row++) {
        unsigned column = 0;

        if ((nodes & a & -a) == 0)
            continue;
        for (uint64_t b = m->nodes; b != 0; b &= b - 1, column++)
            if ((nodes & b & -b) != 0) {
                sum += m->distances[row * n + column];
                pairs++;
            }
    }
    return pairs > 0 ? sum * 1000000 / pairs : 0;
}

/* Whether `a` is the better set: with fewer nodes, then (if enabled) closer
 * together, then with lower ids.
 */
static bool
is_fitter(const struct hint_merge *m, uint64_t a, uint64_t b)
{
    int wide_a = __builtin_popcountll(a), wide_b = __builtin_popcountll(b);

    if (wide_a != wide_b)
        return wide_a < wide_b;
    if (m->prefers_closest && m->policy != HINT_SINGLE) {
        uint64_t far_a = mean_distance(m, a), far_b = mean_distance(m, b);

        if (far_a != far_b)
            return far_a < far_b;
    }
    return a < b;
}

/* Ranks the width of a set that not all resources prefer; lower is better. The
 * best is the width that the most demanding resource needs at least, then
 * narrower ones, then wider ones.
 */
static int
rank_of_width(uint64_t nodes, int wanted)
{
    int width = __builtin_popcountll(nodes);

    return width <= wanted ? wanted - width : 64 + width;
}

static bool
prefers(const struct hint_merge *m, struct resource_hints v, uint64_t nodes, bool *is_any)
{
    bool found = false;

    *is_any = false;
    for (unsigned i = 0; i < v.count; i++) {
        if (!is_considered(m, &v.items[i]) || !v.items[i].is_preferred)
            continue;
        if (v.items[i].is_any)
            *is_any = true;
        else if (v.items[i].nodes == nodes)
            found = true;
    }
    return found || *is_any;
}

/* Whether every resource prefers exactly these nodes, or has no affinity. */
static bool
all_prefer(const struct hint_merge *m, const struct numa_hints *const *resources, unsigned count,
           uint64_t nodes)
{
    bool is_any;

    for (unsigned i = 0; i < count; i++)
        if (!prefers(m, hints_of(resources[i]), nodes, &is_any))
            return false;
    return true;
}

static bool
all_prefer_anything(const struct hint_merge *m, const struct numa_hints *const *resources,
                    unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        bool is_any;

        prefers(m, hints_of(resources[i]), 0, &is_any);
        if (!is_any)
            return false;
    }
    return true;
}

static bool
best_preferred(const struct hint_merge *m, const struct numa_hints *const *resources,
               unsigned count, uint64_t *ret_nodes)
{
    uint64_t best = 0;

    if (all_prefer_anything(m, resources, count))
        best = m->nodes;
    for (unsigned i = 0; i < count; i++) {
        struct resource_hints v = hints_of(resources[i]);

        for (unsigned k = 0; k < v.count; k++) {
            uint64_t nodes = v.items[k].nodes;

            if (v.items[k].is_any || !v.items[k].is_preferred || (nodes & m->nodes) == 0
                || (best != 0 && !is_fitter(m, nodes & m->nodes, best))
                || !all_prefer(m, resources, count, nodes))
                continue;
            best = nodes & m->nodes;
        }
    }
    *ret_nodes = best;
    return best != 0;
}

/* Distinct sets of NUMA nodes, in a hash table with open addressing. */
struct sets {
    uint64_t *slots; /* 0: empty */
    unsigned size, count;
};

static bool sets_put(struct sets *s, uint64_t nodes);

static void
sets_grow(struct sets *s)
{
    struct sets old = *s;

    s->size = old.size > 0 ? old.size * 2 : 64;
    s->count = 0;
    s->slots = xnew_array(uint64_t, s->size);
    for (unsigned i = 0; i < old.size; i++)
        if (old.slots[i] != 0)
            sets_put(s, old.slots[i]);
    free(old.slots);
}

static bool
sets_put(struct sets *s, uint64_t nodes)
{
    unsigned at;

    if ((s->count + 1) * 2 > s->size)
        sets_grow(s);
    at = (unsigned)((nodes * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (s->size - 1);
    while (s->slots[at] != 0 && s->slots[at] != nodes)
        at = (at + 1) & (s->size - 1);
    if (s->slots[at] == nodes)
        return false;
    s->slots[at] = nodes;
    s->count++;
    return true;
}

/* Intersects each set found so far with each hint of the next resource. Narrow
 * hints come first; wide ones are dropped when there are more hints than on any
 * machine that the kubelet supports.
 */
static void
meet(const struct hint_merge *m, struct sets *so_far, struct resource_hints v)
{
    struct sets after = {0};
    unsigned most = MOST_MEETINGS / (so_far->count > 0 ? so_far->count : 1);

    if (v.count > most)
        v.count = most;

    for (unsigned i = 0; i < so_far->size; i++) {
        if (so_far->slots[i] == 0)
            continue;
        for (unsigned k = 0; k < v.count; k++) {
            uint64_t nodes = v.items[k].is_any ? m->nodes : v.items[k].nodes;

            if (is_considered(m, &v.items[k]) && (nodes & so_far->slots[i]) != 0)
                sets_put(&after, nodes & so_far->slots[i]);
        }
    }
    free(so_far->slots);
    *so_far = after;
}

static int
least_width(const struct hint_merge *m, struct resource_hints v)
{
    int least = -1;

    for (unsigned i = 0; i < v.count; i++) {
        int width = __builtin_popcountll(v.items[i].nodes);

        if (!v.items[i].is_any && is_considered(m, &v.items[i]) && (least < 0 || width < least))
            least = width;
    }
    return least;
}

static bool
best_common(const struct hint_merge *m, const struct numa_hints *const *resources, unsigned count,
            uint64_t *ret_nodes)
{
    struct sets common = {0};
    uint64_t best = 0;
    int wanted = 0;

    sets_put(&common, m->nodes);
    for (unsigned i = 0; i < count; i++) {
        int least = least_width(m, hints_of(resources[i]));

        if (least > wanted)
            wanted = least;
        meet(m, &common, hints_of(resources[i]));
    }
    for (unsigned i = 0; i < common.size; i++) {
        uint64_t nodes = common.slots[i];
        int rank, best_rank;

        if (nodes == 0)
            continue;
        rank = rank_of_width(nodes, wanted);
        best_rank = rank_of_width(best, wanted);
        if (best == 0 || rank < best_rank || (rank == best_rank && is_fitter(m, nodes, best)))
            best = nodes;
    }
    free(common.slots);
    *ret_nodes = best;
    return best != 0;
}

bool
numa_hint_merge(const struct hint_merge *m, const struct numa_hints *const *resources,
                unsigned count, struct numa_hint *ret_best)
{
    struct numa_hint best = {0};

    if (m->policy == HINT_NONE) {
        *ret_best = nothing;
        return true;
    }
    if (best_preferred(m, resources, count, &best.nodes))
        best.is_preferred = true;
    else if (!best_common(m, resources, count, &best.nodes))
        best.nodes = m->nodes;
    if (m->policy == HINT_SINGLE && best.nodes == m->nodes) {
        best.is_any = true;
        best.nodes = 0;
    }
    *ret_best = best;
    return m->policy == HINT_BEST_EFFORT || best.is_preferred;
}
