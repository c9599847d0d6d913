/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/state/retained_allocations.h"

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

/* Two threads of one core, and possibly the remnant of a pod. */
#define NODE(remnants)                                                    \
    "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":"        \
    "{\"cpu\":\"2\",\"memory\":\"16Gi\",\"pods\":\"256\"},\"topology\":{" \
    "\"cpus\":\"0-1\",\"packages\":[\"0-1\"],\"cores\":[\"0,1\"],"        \
    "\"numaNodes\":[{\"node\":0,\"cpus\":\"0-1\",\"memory\":\"16Gi\"}]}," \
    "\"remnants\":{" remnants "}}}"
#define REMNANT(uid)                                                    \
    "\"" uid "\":{\"namespace\":\"default\",\"name\":\"a\",\"leftAt\":" \
    "\"2024-01-01T00:00:00Z\",\"requests\":{\"cpu\":\"2\",\"memory\":"  \
    "\"1Gi\"},\"allocation\":{\"cpus\":\"0-1\",\"memoryNodes\":\"0\"}}"

static void
put_node(struct world *w, const char *json)
{
    fake_client_put(w->api, &node_kind, json);
}

START_TEST(a_retained_allocation_takes_its_cores)
{
    struct world *w = world_new(NULL);

    put_node(w, NODE(REMNANT("gone")));
    world_add_pod(w, "b", "2", "1Gi", EXCLUSIVE);
    world_advance(w, 5000);
    ck_assert_str_eq(world_node_of(w, "b"), "");

    put_node(w, NODE(""));
    world_advance(w, 11000);
    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    ck_assert_uint_eq(scheduler_count(w->scheduler).pods, 1);
    world_free(w);
}
END_TEST

/* The two changes may come in either order. */
START_TEST(a_pod_and_what_is_left_of_it_are_counted_once)
{
    for (int node_first = 0; node_first < 2; node_first++) {
        struct world *w = world_new(NULL);
        char *left;

        put_node(w, NODE(""));
        world_add_pod(w, "a", "2", "1Gi", EXCLUSIVE);
        world_settle(w);
        left = xasprintf(NODE(REMNANT("%s")),
                         fake_client_find(w->api, &pod_kind, "default", "a")->meta->uid);
        world_add_pod(w, "b", "2", "1Gi", EXCLUSIVE);
        if (node_first) {
            put_node(w, left);
            world_settle(w);
        }
        fake_client_remove(w->api, &pod_kind, "default", "a");
        if (!node_first)
            put_node(w, left);
        world_advance(w, 11000);
        ck_assert_str_eq(world_node_of(w, "b"), "");
        ck_assert_uint_eq(scheduler_count(w->scheduler).pods, 1);

        put_node(w, NODE(""));
        world_advance(w, 11000);
        ck_assert_str_eq(world_node_of(w, "b"), "n1");
        free(left);
        world_free(w);
    }
}
END_TEST

/* Remnants of pods without `requests`, and malformed ones. */
START_TEST(members_that_a_node_leaves_out_are_not_needed)
{
    static const struct {
        const char *remnant;
        unsigned pods;
    } cases[] = {
        {"{\"namespace\":\"default\",\"name\":\"a\",\"allocation\":{"
         "\"cpus\":\"0-1\"}}",
         1},
        {"{\"namespace\":\"default\",\"name\":\"a\"}", 1},
        {"{\"namespace\":\"default\",\"name\":\"a\",\"requests\":{\"cpu\":"
         "\"0.5\"},\"allocation\":{\"cpus\":\"nine\",\"memory\":[{}]}}",
         1},
        {"{\"namespace\":\"default\",\"name\":\"a\",\"allocation\":{"
         "\"devices\":[\"gpu0\",\"gpu0\"],\"memory\":[{\"node\":7,"
         "\"bytes\":\"-1\"}]}}",
         1},
        {"{}", 0},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        struct world *w = world_new(NULL);
        CLEANUP_FREE char *node = xasprintf(NODE("\"gone\":%s"), cases[i].remnant);

        put_node(w, node);
        world_settle(w);
        ck_assert_uint_eq(scheduler_count(w->scheduler).pods, cases[i].pods);
        ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_CREATE, "binding"), 0);

        put_node(w, NODE(""));
        world_settle(w);
        ck_assert_uint_eq(scheduler_count(w->scheduler).pods, 0);
        world_free(w);
    }
}
END_TEST

START_TEST(an_allocation_goes_with_its_node)
{
    struct world *w = world_new(NULL);

    put_node(w, NODE(REMNANT("gone")));
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).pods, 1);

    fake_client_remove(w->api, &node_kind, NULL, "n1");
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).pods, 0);
    world_free(w);
}
END_TEST

/* A pod's remnant withholds three of four cores. */
START_TEST(an_allocation_follows_the_nodes_topology)
{
#define FOUR(topology)                                                  \
    "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":"      \
    "{\"cpu\":\"4\",\"memory\":\"16Gi\",\"pods\":\"2\"}," topology      \
    "\"remnants\":{\"gone\":{\"namespace\":\"default\",\"name\":\"a\"," \
    "\"requests\":{\"cpu\":\"1\"},\"allocation\":{\"cpus\":\"1-3\"}}}}}"
#define TOPOLOGY                                                        \
    "\"topology\":{\"cpus\":\"0-3\",\"packages\":[\"0-3\"],\"cores\":[" \
    "\"0\",\"1\",\"2\",\"3\"],\"numaNodes\":[{\"node\":0,\"cpus\":"     \
    "\"0-3\",\"memory\":\"16Gi\"}]},"
    struct world *w = world_new(NULL);

    put_node(w, FOUR(""));
    world_settle(w);
    put_node(w, FOUR(TOPOLOGY));
    world_add_pod(w, "b", "2", "1Gi", EXCLUSIVE);
    world_advance(w, 5000);
    ck_assert_str_eq(world_node_of(w, "b"), "");

    /* One CPU is free, and the node has room for one pod. */
    world_add_pod(w, "c", "1", "1Gi", EXCLUSIVE);
    world_add_pod(w, "d", "0", "1Gi", "");
    world_advance(w, 5000);
    ck_assert_str_eq(world_node_of(w, "c"), "n1");
    ck_assert_str_eq(world_node_of(w, "d"), "");
    ck_assert_uint_eq(scheduler_count(w->scheduler).pods, 2);
    world_free(w);
}
END_TEST

SUITE("retained_allocations", a_retained_allocation_takes_its_cores,
      a_pod_and_what_is_left_of_it_are_counted_once, members_that_a_node_leaves_out_are_not_needed,
      an_allocation_follows_the_nodes_topology, an_allocation_goes_with_its_node)
