/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/cpu_accumulator.h"

#include <errno.h>

#include "lib/base/random.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/kubelet/racks.h"

static struct bitset
some_of(const struct cpu_layout *l, struct random_source *r, unsigned percent)
{
    struct bitset s = {0};

    bitset_foreach(cpu, &l->cpus) if (random_below(r, 100) < percent) bitset_add(&s, cpu);
    return s;
}

/* For any free CPUs: the result has the requested number, all of them free. */
static void
check_style(const struct cpu_layout *l, const struct cpu_style *style)
{
    struct random_source r = {7};

    for (unsigned round = 0; round < 40; round++) {
        struct bitset available = some_of(l, &r, 20 + 2 * round), taken;
        unsigned n = bitset_count(&available);
        unsigned wanted = 1 + (unsigned)random_below(&r, n + 2);
        int result = cpu_accumulator_take(l, &available, wanted, style, &taken);

        ck_assert_int_eq(result, wanted > n ? -ENOSPC : 0);
        if (result < 0)
            continue;
        ck_assert_uint_eq(bitset_count(&taken), wanted);
        ck_assert(bitset_contains(&available, &taken));
    }
}

START_TEST(the_cpus_taken_are_free_and_as_many_as_asked_for)
{
    static const struct cpu_style styles[] = {
        {.group = 1},
        {.is_spread = true, .group = 1},
        {.aligns_uncore = true, .group = 1},
        {.distributes = true, .group = 1},
        {.distributes = true, .group = 2},
    };
    static const unsigned shapes[][4] = {{1, 1, 8, 2}, {2, 4, 4, 2}, {4, 2, 8, 1}, {2, 8, 8, 4}};

    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        CLEANUP(cpu_layout_freep)
        struct cpu_layout *l = rack_layout(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);

        for (size_t k = 0; k < ARRAY_SIZE(styles); k++)
            check_style(l, &styles[k]);
    }
}
END_TEST

START_TEST(sharing_ends_on_the_largest_machine)
{
    CLEANUP(cpu_layout_freep)
    struct cpu_layout *l = rack_layout(8, 64, 8, 2);
    struct cpu_style style = {.distributes = true, .group = 2};
    struct random_source r = {3};
    struct bitset available = some_of(l, &r, 60), taken;

    ck_assert_int_eq(cpu_accumulator_take(l, &available, 400, &style, &taken), 0);
    ck_assert_uint_eq(bitset_count(&taken), 400);
    ck_assert(bitset_contains(&available, &taken));
}
END_TEST

START_TEST(sharing_ends_when_cores_are_half_taken)
{
    CLEANUP(cpu_layout_freep)
    struct cpu_layout *l = rack_layout(2, 4, 4, 2);
    struct cpu_style style = {.distributes = true, .group = 2};
    struct bitset available = l->cpus, taken;

    bitset_remove(&available, 3);
    bitset_remove(&available, 10);
    bitset_remove(&available, 12);
    bitset_remove(&available, 30);
    ck_assert_int_eq(cpu_accumulator_take(l, &available, 22, &style, &taken), 0);
    ck_assert_uint_eq(bitset_count(&taken), 22);
    ck_assert(bitset_contains(&available, &taken));
}
END_TEST

START_TEST(an_even_share_comes_from_each_numa_node)
{
    CLEANUP(cpu_layout_freep)
    struct cpu_layout *l = rack_layout(2, 2, 8, 1);
    struct cpu_style style = {.distributes = true, .group = 1};
    struct bitset taken;

    ck_assert_int_eq(cpu_accumulator_take(l, &l->cpus, 10, &style, &taken), 0);
    ck_assert_uint_eq(bitset_count_and(&taken, &l->levels[LEVEL_NUMA].cpus[0]), 5);
}
END_TEST

SUITE("cpu_accumulator", the_cpus_taken_are_free_and_as_many_as_asked_for,
      sharing_ends_on_the_largest_machine, sharing_ends_when_cores_are_half_taken,
      an_even_share_comes_from_each_numa_node)
