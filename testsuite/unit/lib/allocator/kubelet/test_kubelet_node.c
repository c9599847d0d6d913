/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/kubelet_node.h"

#include "testsuite/lib/suite.h"
#include "testsuite/unit/lib/allocator/kubelet/racks.h"

#define GIB (UINT64_C(1) << 30)

/* Two NUMA nodes of four cores and 8 GiB, a device on each. */
static struct kubelet_node
node_of(const struct cpu_layout *l, enum hint_policy policy)
{
    struct kubelet_node n = {
        .merge = {.policy = policy, .nodes = 3},
        .devices = {.seats = {{.nodes = 1}, {.nodes = 2}}, .count = 2},
    };
    struct cpu_options options = {0};
    struct bitset none = {0};

    cpu_manager_init(&n.cpus, l, &options, &none);
    n.devices.numa_ids = l->levels[LEVEL_NUMA].ids;
    n.devices.n_numa = 2;
    for (uint16_t i = 0; i < 2; i++) {
        memory_manager_add_node(&n.memory, i);
        n.memory.nodes[i].cells[0] = (struct memory_cell){.allocatable = 8 * GIB, .free = 8 * GIB};
    }
    return n;
}

static struct kubelet_container
asking_for(unsigned cpus, uint64_t bytes, unsigned devices)
{
    struct kubelet_container c = {
        .cpu_milli = cpus * 1000,
        .memory = {.is_asked = {true}, .bytes = {bytes}},
        .n_devices = devices > 0,
    };

    c.devices[0].count = devices;
    return c;
}

static enum kubelet_reason
admit(struct kubelet_node *n, struct kubelet_container *c)
{
    struct kubelet_pod pod = {.is_guaranteed = true, .containers = c, .count = 1};
    const char *detail;

    return kubelet_node_admit(n, &pod, &detail);
}

START_TEST(cores_memory_and_devices_are_on_one_node)
{
    CLEANUP(cpu_layout_freep) struct cpu_layout *l = rack_layout(2, 2, 4, 1);
    struct kubelet_node n = node_of(l, HINT_SINGLE);
    struct kubelet_container first = asking_for(3, GIB, 0);
    struct kubelet_container second = asking_for(2, GIB, 1);

    ck_assert_int_eq(admit(&n, &first), KUBELET_ADMITTED);
    ck_assert_int_eq(admit(&n, &second), KUBELET_ADMITTED);
    ck_assert_uint_eq(second.hint.nodes, 2);
    ck_assert_uint_eq(second.blocks[0].nodes, 2);
    ck_assert(bitset_has(&second.got_devices, 1));
}
END_TEST

START_TEST(a_refused_pod_leaves_nothing_behind)
{
    CLEANUP(cpu_layout_freep) struct cpu_layout *l = rack_layout(2, 2, 4, 1);
    struct kubelet_node n = node_of(l, HINT_NONE);
    struct kubelet_container c[2] = {asking_for(2, GIB, 1), asking_for(2, 40 * GIB, 1)};
    struct kubelet_pod pod = {.is_guaranteed = true, .containers = c, .count = 2};
    const char *detail;

    ck_assert_int_eq(kubelet_node_admit(&n, &pod, &detail), KUBELET_UNEXPECTED);
    ck_assert_str_eq(detail, "memory-no-default-hint");
    ck_assert(bitset_equals(&n.cpus.shared, &l->cpus));
    ck_assert(bitset_is_empty(&n.devices.used));
    ck_assert_uint_eq(n.memory.nodes[0].cells[0].free, 8 * GIB);
}
END_TEST

START_TEST(an_unaligned_pod_is_refused_by_restricted)
{
    CLEANUP(cpu_layout_freep) struct cpu_layout *l = rack_layout(2, 2, 4, 1);
    struct kubelet_node n = node_of(l, HINT_RESTRICTED);
    struct kubelet_container a = asking_for(3, GIB, 0);
    struct kubelet_container b = asking_for(3, GIB, 0);
    struct kubelet_container c = asking_for(2, GIB, 0);

    ck_assert_int_eq(admit(&n, &a), KUBELET_ADMITTED);
    ck_assert_int_eq(admit(&n, &b), KUBELET_ADMITTED);
    ck_assert_int_eq(admit(&n, &c), KUBELET_TOPOLOGY_AFFINITY);
}
END_TEST

START_TEST(pod_scope_adds_the_containers_up)
{
    CLEANUP(cpu_layout_freep) struct cpu_layout *l = rack_layout(2, 2, 4, 1);
    struct kubelet_node n = node_of(l, HINT_SINGLE);
    struct kubelet_container c[2] = {asking_for(3, GIB, 0), asking_for(3, GIB, 0)};
    struct kubelet_pod pod = {.is_guaranteed = true, .containers = c, .count = 2};
    const char *detail;

    n.scope = SCOPE_POD;
    ck_assert_int_eq(kubelet_node_admit(&n, &pod, &detail), KUBELET_TOPOLOGY_AFFINITY);
    n.scope = SCOPE_CONTAINER;
    ck_assert_int_eq(kubelet_node_admit(&n, &pod, &detail), KUBELET_ADMITTED);
}
END_TEST

SUITE("kubelet_node", cores_memory_and_devices_are_on_one_node, a_refused_pod_leaves_nothing_behind,
      an_unaligned_pod_is_refused_by_restricted, pod_scope_adds_the_containers_up)
