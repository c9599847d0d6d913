/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_order.h"

#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

/* A machine of 8 CPUs; with two threads each, CPU N and N + 4 share a core. */
static struct topology_pu pu[8];
static struct topology machine = {.pu = pu, .n_pu = 8};

static void
setup(unsigned cores)
{
    for (unsigned i = 0; i < 8; i++) {
        bitset_add(&machine.pus, i);
        pu[i].core = (uint16_t)(i % cores);
    }
}

static const char *
make(const char *cpus, struct strbuf *out)
{
    static uint16_t memory[8];
    struct bitset set;

    ck_assert_int_eq(cpuset_parse(cpus, &set, NULL), 0);
    strbuf_truncate(out, 0);
    step_order_format(&set, step_order_make(&set, &machine, memory), out);
    return out->text;
}

START_TEST(threads_of_a_core_are_beside_each_other)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    setup(4);
    ck_assert_str_eq(make("0-7", &out), "0,4,1,5,2,6,3,7");
    ck_assert_str_eq(make("1,2,6,7", &out), "1-2,6-7");
    ck_assert_str_eq(make("1,5-6", &out), "1,5-6");
}
END_TEST

START_TEST(without_threads_or_a_topology_they_are_by_number)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct bitset set = {0}, strange = {0};
    uint16_t memory[8];

    setup(8);
    ck_assert_str_eq(make("0-3,6", &out), "0-3,6");
    bitset_add(&set, 1);
    ck_assert_ptr_null(step_order_make(&set, NULL, memory));
    bitset_add(&strange, 9); /* the machine has no such CPU */
    ck_assert_ptr_null(step_order_make(&strange, &machine, memory));
}
END_TEST

START_TEST(the_order_is_read_back)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct bitset set;
    const uint16_t *order;

    ck_assert_int_eq(step_order_parse(arena, "0,4,1,5,2-3", &set, &order), 0);
    ck_assert_uint_eq(bitset_count(&set), 6);
    ck_assert_uint_eq(order[1], 4);
    ck_assert_uint_eq(order[2], 1);
    ck_assert_uint_eq(order[5], 3);
    ck_assert_int_eq(step_order_parse(arena, "0-3,8", &set, &order), 0);
    ck_assert_ptr_null(order);
    ck_assert_int_eq(step_order_parse(arena, "4,4,0,4", &set, &order), 0); /* a user's words */
    ck_assert_uint_eq(bitset_count(&set), 2);
    ck_assert_uint_eq(order[0], 4);
    ck_assert_uint_eq(order[1], 0);
    ck_assert_int_lt(step_order_parse(arena, "0,x", &set, &order), 0);
    ck_assert_int_lt(step_order_parse(arena, "0,99999", &set, &order), 0);
}
END_TEST

SUITE("step_order", threads_of_a_core_are_beside_each_other,
      without_threads_or_a_topology_they_are_by_number, the_order_is_read_back)
