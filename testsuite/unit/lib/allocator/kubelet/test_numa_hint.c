/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/numa_hint.h"

#include "lib/base/random.h"
#include "testsuite/lib/suite.h"

#define ALL 15u /* four NUMA nodes */

/* The merge as the kubelet does it: every combination of one hint per resource.
 */
struct all_ways {
    const struct numa_hints *resources;
    unsigned count;
    int wanted;
    struct numa_hint best;
    bool has_best;
};

static int
width(uint64_t nodes)
{
    return __builtin_popcountll(nodes);
}

static bool
is_better(const struct all_ways *w, uint64_t nodes, bool is_preferred)
{
    int a = width(nodes), b = width(w->best.nodes);

    if (!w->has_best)
        return true;
    if (is_preferred != w->best.is_preferred)
        return is_preferred;
    if (is_preferred || a == b)
        return a < b || (a == b && nodes < w->best.nodes);
    if (b > w->wanted)
        return a < b;
    return b < w->wanted && a <= w->wanted && a > b;
}

static void
try_way(struct all_ways *w, unsigned at, uint64_t common, uint64_t first, bool is_preferred)
{
    if (at == w->count) {
        if (common != 0 && is_better(w, common, is_preferred)) {
            w->best = (struct numa_hint){.nodes = common, .is_preferred = is_preferred};
            w->has_best = true;
        }
        return;
    }
    for (unsigned i = 0; i < w->resources[at].count; i++) {
        const struct numa_hint *h = &w->resources[at].items[i];

        try_way(w, at + 1, common & h->nodes, first == 0 ? h->nodes : first,
                is_preferred && h->is_preferred && (first == 0 || first == h->nodes));
    }
}

static void
random_hints(struct random_source *r, struct numa_hints *h)
{
    unsigned n = 1 + (unsigned)random_below(r, 4);

    for (unsigned i = 0; i < n; i++)
        numa_hints_add(h, 1 + random_below(r, ALL), random_below(r, 2) == 0);
}

START_TEST(the_merge_is_the_best_of_all_ways)
{
    struct hint_merge m = {.policy = HINT_RESTRICTED, .nodes = ALL};
    struct random_source r = {11};

    for (unsigned round = 0; round < 2000; round++) {
        struct numa_hints hints[3] = {0};
        const struct numa_hints *all[3] = {&hints[0], &hints[1], &hints[2]};
        struct all_ways w = {.resources = hints, .count = 3};
        struct numa_hint best;
        bool admitted;

        for (unsigned i = 0; i < 3; i++) {
            int least = 64;

            random_hints(&r, &hints[i]);
            for (unsigned k = 0; k < hints[i].count; k++)
                if (width(hints[i].items[k].nodes) < least)
                    least = width(hints[i].items[k].nodes);
            if (least > w.wanted)
                w.wanted = least;
        }
        try_way(&w, 0, ALL, 0, true);
        if (!w.has_best)
            w.best.nodes = ALL;
        admitted = numa_hint_merge(&m, all, 3, &best);

        ck_assert_uint_eq(best.nodes, w.best.nodes);
        ck_assert_int_eq(best.is_preferred, w.best.is_preferred);
        ck_assert_int_eq(admitted, w.best.is_preferred);
        for (unsigned i = 0; i < 3; i++)
            numa_hints_fini(&hints[i]);
    }
}
END_TEST

START_TEST(an_unsatisfiable_hint_is_refused_by_the_strict_policies)
{
    static const struct {
        enum hint_policy policy;
        bool admitted;
    } rows[] = {{HINT_NONE, true},
                {HINT_BEST_EFFORT, true},
                {HINT_RESTRICTED, false},
                {HINT_SINGLE, false}};
    struct numa_hints none = {0};
    const struct numa_hints *all[] = {&none};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct hint_merge m = {.policy = rows[i].policy, .nodes = ALL};
        struct numa_hint best;

        ck_assert_int_eq(numa_hint_merge(&m, all, 1, &best), rows[i].admitted);
    }
}
END_TEST

START_TEST(a_dozen_resources_cost_no_product)
{
    struct hint_merge m = {.policy = HINT_BEST_EFFORT, .nodes = 255};
    struct numa_hints hints[12] = {0};
    const struct numa_hints *all[12];
    struct numa_hint best;

    for (unsigned i = 0; i < 12; i++) {
        for (uint64_t nodes = 1; nodes < 256; nodes++)
            numa_hints_add(&hints[i], nodes, false);
        all[i] = &hints[i];
    }
    ck_assert(numa_hint_merge(&m, all, 12, &best));
    ck_assert_uint_eq(best.nodes, 1);
    for (unsigned i = 0; i < 12; i++)
        numa_hints_fini(&hints[i]);
}
END_TEST

SUITE("numa_hint", the_merge_is_the_best_of_all_ways,
      an_unsatisfiable_hint_is_refused_by_the_strict_policies, a_dozen_resources_cost_no_product)
