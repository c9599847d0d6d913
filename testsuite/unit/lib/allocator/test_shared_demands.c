/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/shared_demands.h"

#include <check.h>

#include "lib/allocator/demand.h"
#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"

static struct demand
some_demand(unsigned pus, unsigned gpus)
{
    struct demand d;

    demand_init(&d, NULL, 0, 1 << 20);
    d.pus = pus;
    demand_add_resource(&d, "kiln.hpc/gpu", gpus);
    return d;
}

START_TEST(pods_that_ask_for_the_same_have_one_demand)
{
    CLEANUP(shared_demands_freep)
    struct shared_demands *s = shared_demands_new();
    const struct demand a = some_demand(2, 1), b = some_demand(2, 1);
    const struct demand *first = shared_demands_get(s, &a);
    const struct demand *second = shared_demands_get(s, &b);

    ck_assert_ptr_eq(first, second);
    ck_assert_uint_eq(first->pus, 2);
    ck_assert_uint_eq(first->devices[0].count, 1);
    shared_demand_unref(first);
    ck_assert_uint_eq(second->devices[0].count, 1);
    shared_demand_unref(second);
}
END_TEST

START_TEST(pods_that_ask_for_something_else_have_their_own)
{
    static const struct {
        unsigned pus, gpus;
    } rows[] = {{2, 1}, {3, 1}, {2, 2}, {2, 0}};
    CLEANUP(shared_demands_freep)
    struct shared_demands *s = shared_demands_new();
    const struct demand *held[ARRAY_SIZE(rows)];

    for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct demand d = some_demand(rows[i].pus, rows[i].gpus);

        held[i] = shared_demands_get(s, &d);
    }

    for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
        ck_assert_uint_eq(held[i]->pus, rows[i].pus);
        ck_assert_uint_eq(held[i]->n_devices, rows[i].gpus > 0);
        shared_demand_unref(held[i]);
    }
}
END_TEST

START_TEST(a_demand_that_borrows_from_its_pod_is_not_shared)
{
    CLEANUP(shared_demands_freep)
    struct shared_demands *s = shared_demands_new();
    struct demand d = some_demand(2, 0);
    const struct demand *first, *second;

    d.gpu_model = "a100";
    first = shared_demands_get(s, &d);
    second = shared_demands_get(s, &d);

    ck_assert_ptr_ne(first, second);
    shared_demand_unref(first);
    shared_demand_unref(second);
}
END_TEST

START_TEST(a_demand_outlives_those_that_are_remembered)
{
    struct shared_demands *s = shared_demands_new();
    const struct demand d = some_demand(2, 1);
    const struct demand *held = shared_demands_get(s, &d);

    for (unsigned i = 0; i < 2000; i++) {
        const struct demand other = some_demand(3 + i, 0);

        shared_demand_unref(shared_demands_get(s, &other));
    }
    shared_demands_free(s);

    ck_assert_uint_eq(held->pus, 2);
    shared_demand_unref(held);
}
END_TEST

SUITE("shared_demands", pods_that_ask_for_the_same_have_one_demand,
      pods_that_ask_for_something_else_have_their_own,
      a_demand_that_borrows_from_its_pod_is_not_shared, a_demand_outlives_those_that_are_remembered)
