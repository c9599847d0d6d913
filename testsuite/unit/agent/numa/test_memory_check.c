/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/numa/memory_check.h"

#include <check.h>

#include "lib/api/node/topology.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define GIB (UINT64_C(1) << 30)

/* Two NUMA nodes, 0 and 4, of 64 GiB each, 21 apart. */
static struct topology *
two_nodes(void)
{
    struct topology *t = topology_new();

    t->n_numa = 2;
    t->numa = xnew_array(struct topology_numa, 2);
    t->numa[1].os_index = 4;
    t->numa[0].memory_bytes = t->numa[1].memory_bytes = 64 * GIB;
    t->distances = xnew_array(uint16_t, 4);
    t->distances[0] = t->distances[3] = 10;
    t->distances[1] = t->distances[2] = 21;
    return t;
}

static struct memory_facts
same_facts(void)
{
    return (struct memory_facts){
        .n = 2,
        .ids = {0, 4},
        .bytes = {64 * GIB, 64 * GIB},
        .distances = {{10, 21}, {21, 10}},
    };
}

START_TEST(two_pictures_that_agree_are_not_mentioned)
{
    CLEANUP(topology_freep) struct topology *t = two_nodes();
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct memory_facts f = same_facts();

    f.bytes[0] -= GIB; /* used by the kernel */
    ck_assert_uint_eq(memory_check(t, 0, &f, &words), 0);
    ck_assert_uint_eq(words.length, 0);
}
END_TEST

START_TEST(reserved_memory_and_huge_pages_belong_to_their_node)
{
    CLEANUP(topology_freep) struct topology *t = two_nodes();
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const struct memory_facts f = same_facts();

    t->numa[0].n_hugepages = 1;
    t->numa[0].hugepages[0].page_bytes = GIB;
    t->numa[0].hugepages[0].count = 16;
    t->numa[0].memory_bytes = 36 * GIB;
    t->numa[1].memory_bytes = 48 * GIB;
    ck_assert_uint_eq(memory_check(t, 28 * GIB, &f, &words), 0);
    ck_assert_uint_eq(memory_check(t, 0, &f, &words), 2);
}
END_TEST

START_TEST(each_disagreement_is_a_clause)
{
    CLEANUP(topology_freep) struct topology *t = two_nodes();
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct memory_facts f = same_facts();

    f.bytes[1] = 32 * GIB;
    f.distances[1][0] = 31;
    ck_assert_uint_eq(memory_check(t, 0, &f, &words), 2);
    ck_assert_str_eq(words.text, "NUMA node 4 has 65536 MiB by hwloc and 32768 MiB by "
                                 "libnuma; the distance from NUMA node 4 to 0 is 21 by "
                                 "hwloc and 31 by libnuma");
}
END_TEST

START_TEST(a_node_that_one_of_them_does_not_see)
{
    CLEANUP(topology_freep) struct topology *t = two_nodes();
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct memory_facts f = same_facts();

    f.ids[1] = 1; /* a node that jobs may not be allowed to use */
    ck_assert_uint_eq(memory_check(t, 0, &f, &words), 1);
    ck_assert_str_eq(words.text, "hwloc shows NUMA node 4, but libnuma does not");
}
END_TEST

START_TEST(this_machine_has_memory)
{
    struct memory_facts f;

    if (memory_facts_read(&f) < 0)
        return; /* a kernel without NUMA support */
    ck_assert_uint_ge(f.n, 1);
    ck_assert_uint_gt(f.bytes[0], 0);
    ck_assert_uint_eq(f.distances[0][0], 10);
}
END_TEST

SUITE("memory check", two_pictures_that_agree_are_not_mentioned,
      reserved_memory_and_huge_pages_belong_to_their_node, each_disagreement_is_a_clause,
      a_node_that_one_of_them_does_not_see, this_machine_has_memory)
