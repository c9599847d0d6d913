/* SPDX-License-Identifier: Apache-2.0 */
/* Difficult cases of placement, through the whole scheduler. */
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#include "lib/api/node/allocation.h"
#include "lib/api/policy/partition.h"
#include "lib/api/value/cpuset.h"

/* A node whose cores have one PU each; `topology` has its CPUs and NUMA nodes.
 */
static void
put_node(struct world *w, const char *name, unsigned cpus, const char *topology)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":"
                  "{\"cpu\":\"%u\",\"memory\":\"64Gi\",\"pods\":\"256\"},"
                  "\"topology\":%s}}",
                  name, cpus, topology);
    fake_client_put(w->api, &node_kind, s.text);
}

static struct bitset
cpus_of(const struct world *w, const char *pod)
{
    struct bitset set;

    ck_assert_int_eq(cpuset_parse(world_allocation(w, pod)->cpus, &set, NULL), 0);
    return set;
}

START_TEST(one_of_two_pods_gets_the_last_aligned_cores)
{
    struct world *w = world_new(NULL);
    bool has_a, has_b;

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w, "first", "8", "1Gi", SINGLE_NUMA);
    world_settle(w);
    world_add_pod(w, "a", "8", "1Gi", SINGLE_NUMA);
    world_add_pod(w, "b", "8", "1Gi", SINGLE_NUMA);
    world_settle(w);

    has_a = world_node_of(w, "a")[0] != '\0';
    has_b = world_node_of(w, "b")[0] != '\0';
    ck_assert_int_ne(has_a, has_b);
    world_free(w);
}
END_TEST

START_TEST(a_small_pod_leaves_the_whole_numa_node_to_a_large_one)
{
    struct world *w = world_new(NULL);

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w, "first", "2", "1Gi", SINGLE_NUMA);
    world_settle(w);
    world_add_pod(w, "small", "2", "1Gi", SINGLE_NUMA);
    world_settle(w);
    world_add_pod(w, "large", "8", "1Gi", SINGLE_NUMA);
    world_settle(w);

    ck_assert_str_eq(world_allocation(w, "small")->memory_nodes,
                     world_allocation(w, "first")->memory_nodes);
    ck_assert_str_eq(world_node_of(w, "large"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_small_pod_leaves_the_whole_node_to_a_large_one)
{
    struct world *w = world_new(NULL);

    world_add_numa_node(w, "n1", 2, 4);
    world_add_numa_node(w, "n2", 2, 4);
    for (unsigned i = 0; i < 4; i++) {
        char name[8];

        snprintf(name, sizeof(name), "s%u", i);
        world_add_pod(w, name, "2", "1Gi", SINGLE_NUMA);
        world_settle(w);
    }
    world_add_pod(w, "large", "16", "1Gi", EXCLUSIVE);
    world_settle(w);

    ck_assert_str_ne(world_node_of(w, "large"), "");
    world_free(w);
}
END_TEST

/* A pod that runs, or is ending to make room. */
static void
put_bound(struct world *w, const char *name, const char *meta, const char *cpu, const char *memory,
          const char *allocation)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"%s},"
                  "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\","
                  "\"image\":\"host\",\"resources\":{\"requests\":{\"cpu\":\"%s\","
                  "\"memory\":\"%s\"}}}]" SINGLE_NUMA "},\"status\":{\"phase\":"
                  "\"Running\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":"
                  "\"True\",\"reason\":\"PreemptionByScheduler\"}],\"allocation\":%s}}",
                  name, meta, cpu, memory, allocation);

    fake_client_put(w->api, &pod_kind, text);
}

/* NUMA node 0 has three free cores, 1 has two; "large" waits for all cores of
 * 1, where another pod is ending.
 */
static struct world *
world_with_room_being_made(const char *memory_of_0)
{
    struct world *w = world_new(NULL);
    CLEANUP_FREE char *on_0 = xasprintf("{\"cpus\":\"0,8\",\"memoryNodes\":\"0\",\"memory\":[{"
                                        "\"node\":0,\"bytes\":\"%s\"}]}",
                                        memory_of_0);

    world_add_numa_node(w, "n1", 2, 4);
    put_bound(w, "stays", "", "2", memory_of_0, on_0);
    put_bound(w, "leaves",
              ",\"deletionTimestamp\":\"2024-01-01T00:00:00Z\","
              "\"deletionGracePeriodSeconds\":30",
              "4", "1Gi", "{\"cpus\":\"4-5,12-13\",\"memoryNodes\":\"1\"}");
    fake_client_put(w->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"large\",\"namespace\":\"default\"},"
                    "\"spec\":{\"priority\":100,\"containers\":[{\"name\":\"main\","
                    "\"image\":\"host\",\"resources\":{\"requests\":{\"cpu\":\"8\","
                    "\"memory\":\"1Gi\"}}}]" SINGLE_NUMA
                    "},\"status\":{\"nominatedNodeName\":\"n1\"}}");
    world_settle(w);
    return w;
}

START_TEST(a_small_pod_keeps_off_what_a_large_one_is_to_have)
{
    struct world *w = world_with_room_being_made("1Gi");

    world_add_pod(w, "small", "2", "1Gi", SINGLE_NUMA);
    world_settle(w);
    ck_assert_str_eq(world_allocation(w, "small")->memory_nodes, "0");
    ck_assert_str_eq(world_node_of(w, "large"), "");

    fake_client_remove(w->api, &pod_kind, "default", "leaves");
    world_advance(w, 1000);
    ck_assert_str_eq(world_allocation(w, "large")->cpus, "4-7,12-15");
    world_free(w);
}
END_TEST

START_TEST(a_small_pod_waits_where_only_that_would_do)
{
    struct world *w = world_with_room_being_made("14Gi");

    world_add_pod(w, "small", "2", "4Gi", SINGLE_NUMA);
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "small"), "");

    fake_client_remove(w->api, &pod_kind, "default", "leaves");
    world_advance(w, 1000);
    ck_assert_str_eq(world_allocation(w, "large")->cpus, "4-7,12-15");
    ck_assert_str_eq(world_node_of(w, "small"), "");
    world_free(w);
}
END_TEST

START_TEST(memory_spans_numa_nodes_while_the_cores_stay_on_one)
{
    struct world *w = world_new(NULL);
    const struct allocation *a;
    struct bitset cpus;

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w, "heavy", "4", "20Gi", EXCLUSIVE);
    world_settle(w);

    a = world_allocation(w, "heavy");
    cpus = cpus_of(w, "heavy");
    ck_assert_str_eq(a->memory_nodes, "0-1");
    ck_assert_uint_eq(a->memory.count, 2);
    ck_assert_uint_eq(bitset_count(&cpus), 4);
    world_free(w);
}
END_TEST

START_TEST(offline_cores_in_the_middle_are_not_given)
{
    static const char holes[] = "{\"cpus\":\"0,3,8-9,12,15\",\"packages\":[\"0,3,8-9,12,15\"],"
                                "\"numaNodes\":[{\"node\":0,\"cpus\":\"0,3\",\"memory\":\"8Gi\"},"
                                "{\"node\":2,\"cpus\":\"8-9,12,15\",\"memory\":\"8Gi\"}]}";
    struct world *w = world_new(NULL);

    put_node(w, "n1", 6, holes);
    world_add_pod(w, "four", "4", "1Gi", SINGLE_NUMA);
    world_settle(w);
    world_add_pod(w, "two", "2", "1Gi", SINGLE_NUMA);
    world_settle(w);

    ck_assert_str_eq(world_allocation(w, "four")->cpus, "8-9,12,15");
    ck_assert_str_eq(world_allocation(w, "four")->memory_nodes, "2");
    ck_assert_str_eq(world_allocation(w, "two")->cpus, "0,3");
    world_free(w);
}
END_TEST

START_TEST(an_asymmetric_node_is_used_as_it_is)
{
    static const char uneven[] = "{\"cpus\":\"0-7\",\"packages\":[\"0-1\",\"2-7\"],\"numaNodes\":["
                                 "{\"node\":0,\"cpus\":\"0-1\",\"memory\":\"30Gi\"},"
                                 "{\"node\":1,\"cpus\":\"2-7\",\"memory\":\"2Gi\"}]}";
    struct world *w = world_new(NULL);

    put_node(w, "n1", 8, uneven);
    world_add_pod(w, "wide", "5", "1Gi", SINGLE_NUMA);
    world_add_pod(w, "heavy", "2", "20Gi", SINGLE_NUMA);
    world_add_pod(w, "both", "5", "20Gi", SINGLE_NUMA);
    world_settle(w);

    ck_assert_str_eq(world_allocation(w, "wide")->memory_nodes, "1");
    ck_assert_str_eq(world_allocation(w, "heavy")->cpus, "0-1");
    ck_assert_str_eq(world_node_of(w, "both"), "");
    world_free(w);
}
END_TEST

/* A core of a running pod disappears: the pod is still charged for it. */
START_TEST(a_topology_that_changes_under_pods_gives_nothing_twice)
{
    static const char before[] = "{\"cpus\":\"0-7\",\"packages\":[\"0-7\"],\"numaNodes\":["
                                 "{\"node\":0,\"cpus\":\"0-3\",\"memory\":\"8Gi\"},"
                                 "{\"node\":1,\"cpus\":\"4-7\",\"memory\":\"8Gi\"}]}";
    static const char after[] = "{\"cpus\":\"1-7\",\"packages\":[\"1-7\"],\"numaNodes\":["
                                "{\"node\":0,\"cpus\":\"1-3\",\"memory\":\"8Gi\"},"
                                "{\"node\":1,\"cpus\":\"4-7\",\"memory\":\"4Gi\"}]}";
    struct world *w = world_new(NULL);
    struct bitset running, next;

    put_node(w, "n1", 8, before);
    world_add_pod(w, "runs", "2", "1Gi", SINGLE_NUMA);
    world_settle(w);
    ck_assert_str_eq(world_allocation(w, "runs")->cpus, "0-1");
    put_node(w, "n1", 7, after);
    world_settle(w);
    world_add_pod(w, "four", "4", "1Gi", SINGLE_NUMA);
    world_settle(w);
    world_add_pod(w, "one", "1", "1Gi", SINGLE_NUMA);
    world_settle(w);
    world_add_pod(w, "more", "1", "1Gi", SINGLE_NUMA);
    world_settle(w);

    running = cpus_of(w, "runs");
    next = cpus_of(w, "one");
    ck_assert(!bitset_intersects(&running, &next));
    ck_assert_str_eq(world_allocation(w, "one")->cpus, "2");
    ck_assert_str_eq(world_allocation(w, "four")->cpus, "4-7");
    ck_assert_str_eq(world_node_of(w, "more"), "");
    world_free(w);
}
END_TEST

START_TEST(a_scheduler_that_died_before_its_binding_is_followed_exactly)
{
    struct world *w = world_new(NULL);
    struct bitset a, b;

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w, "a", "8", "1Gi", SINGLE_NUMA);
    fake_client_run(w->api);
    scheduler_work(w->scheduler, 1); /* assumed; the binding is under way */
    world_restart(w);
    world_settle(w);
    world_add_pod(w, "b", "8", "1Gi", SINGLE_NUMA);
    world_settle(w);

    a = cpus_of(w, "a");
    b = cpus_of(w, "b");
    ck_assert(!bitset_intersects(&a, &b));
    world_free(w);
}
END_TEST

/* The hardware is the same, but its NUMA nodes are reported in another order
 * before the bindings are written.
 */
START_TEST(a_binding_says_what_was_chosen_on_the_topology_that_was)
{
    static const char first[] = "{\"cpus\":\"0-99\",\"packages\":[\"0-99\"],\"numaNodes\":["
                                "{\"node\":0,\"cpus\":\"0-49\",\"memory\":\"32Gi\"},"
                                "{\"node\":1,\"cpus\":\"50-99\",\"memory\":\"32Gi\"}]}";
    static const char second[] = "{\"cpus\":\"0-99\",\"packages\":[\"0-99\"],\"numaNodes\":["
                                 "{\"node\":1,\"cpus\":\"50-99\",\"memory\":\"32Gi\"},"
                                 "{\"node\":0,\"cpus\":\"0-49\",\"memory\":\"32Gi\"}]}";
    struct world *w = world_new(NULL);
    char name[8];

    world_close(w); /* a second scheduler, which may not write yet */
    world_open(w, NULL);
    put_node(w, "n1", 100, first);
    for (unsigned i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "p%u", i);
        world_add_pod(w, name, "1", "1Mi", SINGLE_NUMA);
    }
    fake_client_run(w->api);
    scheduler_work(w->scheduler, 100);
    put_node(w, "n1", 100, second);
    fake_client_run(w->api);
    scheduler_start(w->scheduler);
    world_settle(w);

    for (unsigned i = 0; i < 10; i++) {
        struct bitset cpus;

        snprintf(name, sizeof(name), "p%u", i);
        cpus = cpus_of(w, name);
        ck_assert_str_eq(world_allocation(w, name)->memory_nodes,
                         bitset_next(&cpus, 0) < 50 ? "0" : "1");
    }
    world_free(w);
}
END_TEST

/* ---- Partitions whose nodes have one pod each ---- */

static void
set_partition(struct world *w, const char *name, const char *spec)
{
    static int generation;
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"u\","
                                        "\"generation\":%d},\"spec\":{%s}}",
                                        name, ++generation, spec);

    fake_client_put(w->api, &partition_kind, text);
}

static void
put_node_of(struct world *w, const char *name, const char *size)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"size\":\"%s\"}},"
                  "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\","
                  "\"pods\":\"9\"},\"topology\":{\"cpus\":\"0-3\",\"packages\":[\"0-3\"],"
                  "\"numaNodes\":[{\"node\":0,\"cpus\":\"0-3\",\"memory\":\"8Gi\"}]}}}",
                  name, size);

    fake_client_put(w->api, &node_kind, text);
}

static void
add_pod_of(struct world *w, const char *name, const char *cpus, const char *policy,
           const char *partitions)
{
    CLEANUP_FREE char *spec =
        xasprintf(",\"placement\":{\"cpuPolicy\":\"%s\",\"partition\":\"%s\"}", policy, partitions);

    world_add_pod(w, name, cpus, "1Gi", spec);
    world_settle(w);
}

static struct world *
make_exclusive_world(bool without_sharing)
{
    struct world *w = world_new(&(struct scheduler_settings){
        .without_sharing = without_sharing,
        .initial_backoff_us = 1000,
        .max_backoff_us = 1000,
    });

    set_partition(w, "all", "");
    set_partition(w, "few", "\"selector\":{\"matchLabels\":{\"size\":\"small\"}}");
    set_partition(w, "big",
                  "\"exclusive\":\"Node\",\"selector\":{\"matchLabels\":{\"size\":\"big\"}}");
    return w;
}

static unsigned
count_cpus(const struct world *w, const char *pod)
{
    struct bitset set = cpus_of(w, pod);

    return bitset_count(&set);
}

START_TEST(a_pod_takes_the_whole_node_only_where_its_partition_says_so)
{
    for (int without_sharing = 0; without_sharing < 2; without_sharing++) {
        struct world *w = make_exclusive_world(without_sharing != 0);

        put_node_of(w, "n1", "big");
        add_pod_of(w, "runs", "1", "exclusive", "all");
        ck_assert_str_eq(world_node_of(w, "runs"), "n1");
        add_pod_of(w, "both", "1", "exclusive", "big,few");
        add_pod_of(w, "shares", "500m", "shared", "big,few");
        ck_assert_str_eq(world_node_of(w, "both"), "");

        put_node_of(w, "n2", "small");
        world_advance(w, 20000);
        ck_assert_str_eq(world_node_of(w, "both"), "n2");
        ck_assert_uint_eq(count_cpus(w, "both"), 1);
        ck_assert_str_eq(world_node_of(w, "shares"), "n2");
        add_pod_of(w, "fills", "2", "exclusive", "all");
        ck_assert_str_eq(world_node_of(w, "fills"), "n2");

        add_pod_of(w, "later", "2", "exclusive", "big,few");
        ck_assert_str_eq(world_node_of(w, "later"), "");
        fake_client_remove(w->api, &pod_kind, "default", "runs");
        world_advance(w, 20000);
        ck_assert_str_eq(world_node_of(w, "later"), "n1");
        ck_assert_uint_eq(count_cpus(w, "later"), 4);
        world_free(w);
    }
}
END_TEST

/* Where a node is in both, the pod need not wait for all of it. */
START_TEST(a_pod_shares_a_node_that_is_in_its_other_partition_too)
{
    for (int without_sharing = 0; without_sharing < 2; without_sharing++) {
        struct world *w = make_exclusive_world(without_sharing != 0);

        put_node_of(w, "n1", "big");
        add_pod_of(w, "whole", "1", "exclusive", "big,all");
        ck_assert_str_eq(world_node_of(w, "whole"), "n1");
        ck_assert_uint_eq(count_cpus(w, "whole"), 4);
        add_pod_of(w, "waits", "1", "exclusive", "all,big");
        ck_assert_str_eq(world_node_of(w, "waits"), "");

        fake_client_remove(w->api, &pod_kind, "default", "whole");
        world_advance(w, 20000);
        ck_assert_uint_eq(count_cpus(w, "waits"), 1);
        add_pod_of(w, "beside", "1", "exclusive", "big,all");
        ck_assert_uint_eq(count_cpus(w, "beside"), 1);
        add_pod_of(w, "shares", "500m", "shared", "big,all");
        ck_assert_str_eq(world_node_of(w, "shares"), "n1");
        ck_assert_ptr_null(world_allocation(w, "shares")->cpus);
        add_pod_of(w, "alone", "1", "exclusive", "big");
        ck_assert_str_eq(world_node_of(w, "alone"), "");
        world_free(w);
    }
}
END_TEST

START_TEST(a_partition_that_changes_or_loses_a_node_lets_pods_share_it)
{
    struct world *w = make_exclusive_world(false);

    put_node_of(w, "n1", "big");
    add_pod_of(w, "runs", "1", "exclusive", "all");
    add_pod_of(w, "a", "1", "exclusive", "big,few");
    ck_assert_str_eq(world_node_of(w, "a"), "");
    set_partition(w, "big", "\"selector\":{\"matchLabels\":{\"size\":\"big\"}}");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");

    set_partition(w, "big",
                  "\"exclusive\":\"Node\",\"selector\":{\"matchLabels\":{\"size\":\"big\"}}");
    world_advance(w, 20000);
    add_pod_of(w, "b", "1", "exclusive", "big,few");
    ck_assert_str_eq(world_node_of(w, "b"), "");
    put_node_of(w, "n1", "small");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    world_free(w);
}
END_TEST

SUITE("numa_fit", one_of_two_pods_gets_the_last_aligned_cores,
      a_small_pod_leaves_the_whole_numa_node_to_a_large_one,
      a_small_pod_leaves_the_whole_node_to_a_large_one,
      a_small_pod_keeps_off_what_a_large_one_is_to_have, a_small_pod_waits_where_only_that_would_do,
      memory_spans_numa_nodes_while_the_cores_stay_on_one,
      offline_cores_in_the_middle_are_not_given, an_asymmetric_node_is_used_as_it_is,
      a_topology_that_changes_under_pods_gives_nothing_twice,
      a_binding_says_what_was_chosen_on_the_topology_that_was,
      a_scheduler_that_died_before_its_binding_is_followed_exactly,
      a_pod_takes_the_whole_node_only_where_its_partition_says_so,
      a_pod_shares_a_node_that_is_in_its_other_partition_too,
      a_partition_that_changes_or_loses_a_node_lets_pods_share_it)
