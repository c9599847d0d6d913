/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/memory_manager.h"

#include "lib/allocator/kubelet/numa_hint.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

static struct memory_manager
two_nodes(uint64_t each)
{
    struct memory_manager l = {0};

    for (uint16_t i = 0; i < 2; i++) {
        memory_manager_add_node(&l, i);
        l.nodes[i].cells[0] = (struct memory_cell){.allocatable = each, .free = each};
    }
    return l;
}

static struct memory_request
asking(uint64_t bytes)
{
    return (struct memory_request){.is_asked = {true}, .bytes = {bytes}};
}

static const struct numa_hint anywhere = {.is_any = true};

START_TEST(memory_that_one_node_has_is_taken_from_one)
{
    struct memory_manager l = two_nodes(100);
    struct memory_request q = asking(60);
    uint64_t nodes;

    ck_assert_int_eq(memory_manager_allocate(&l, &q, NULL, &anywhere, &nodes), MEMORY_OK);
    ck_assert_uint_eq(nodes, 1);
    ck_assert_int_eq(memory_manager_allocate(&l, &q, NULL, &anywhere, &nodes), MEMORY_OK);
    ck_assert_uint_eq(nodes, 2);
}
END_TEST

START_TEST(a_node_used_alone_joins_no_group)
{
    struct memory_manager l = two_nodes(100);
    struct memory_request small = asking(10), large = asking(150);
    struct numa_hint both = {.nodes = 3};
    uint64_t nodes;

    memory_manager_allocate(&l, &small, NULL, &anywhere, &nodes);
    ck_assert_int_eq(memory_manager_allocate(&l, &large, NULL, &both, &nodes), MEMORY_GROUP_RULE);
}
END_TEST

START_TEST(released_memory_is_free_again)
{
    struct memory_manager l = two_nodes(100);
    struct memory_request large = asking(150);
    struct memory_block b = {.bytes = 150};

    ck_assert_int_eq(memory_manager_allocate(&l, &large, NULL, &anywhere, &b.nodes), MEMORY_OK);
    ck_assert_uint_eq(l.nodes[1].cells[0].free, 50);
    memory_manager_release(&l, &b);
    ck_assert_uint_eq(l.nodes[0].cells[0].free, 100);
    ck_assert_uint_eq(l.nodes[1].cells[0].free, 100);
    ck_assert_uint_eq(l.nodes[0].group, 1);
}
END_TEST

START_TEST(an_init_containers_memory_is_used_again)
{
    struct memory_manager l = two_nodes(100);
    struct memory_request q = asking(80);
    struct memory_reuse reuse = {0};
    struct memory_block b = {.bytes = 80};
    uint64_t nodes;

    memory_manager_allocate(&l, &q, &reuse, &anywhere, &b.nodes);
    memory_reuse_leave(&reuse, &b);
    ck_assert_int_eq(memory_manager_allocate(&l, &q, &reuse, &anywhere, &nodes), MEMORY_OK);
    ck_assert_uint_eq(nodes, 1);
    ck_assert_uint_eq(l.nodes[0].cells[0].free, 20);
}
END_TEST

SUITE("memory_manager", memory_that_one_node_has_is_taken_from_one,
      a_node_used_alone_joins_no_group, released_memory_is_free_again,
      an_init_containers_memory_is_used_again)
