/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node_use.h"

#include <check.h>
#include <string.h>

#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

/* 4 cores of 2 threads; one CPU is reserved for the system. */
#define WITH_CORES                                           \
    "\"topology\":{\"cpus\":\"0-3,5-7\",\"cores\":[\"0,4\"," \
    "\"1,5\",\"2,6\",\"3,7\"]}"
#define WITHOUT_CORES "\"topology\":{\"cpus\":\"0-6\"}"
#define NO_TOPOLOGY   "\"phase\":\"\""

static const struct object *
make(const struct kind *kind, const char *text)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = json_parse(arena, text, strlen(text), NULL, NULL);

    ck_assert_ptr_nonnull(tree);
    ck_assert_int_eq(record_normalize(kind->record, arena, tree, NULL, NULL), 0);
    return object_new(kind, tree);
}

static const struct object *
make_node(const char *status)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    return make(&node_kind, arena_printf(arena,
                                         "{\"apiVersion\":\"v1\",\"kind\":\"Node\","
                                         "\"metadata\":{\"name\":\"n1\"},\"status\":{"
                                         "\"allocatable\":{\"cpu\":\"7\"},%s}}",
                                         status));
}

static const struct object *
make_pod(const char *cpu, const char *placement, const char *allocation)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    return make(&pod_kind,
                arena_printf(arena,
                             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                             "\"a\",\"namespace\":\"b\"},\"spec\":{\"containers\":[{\"name\":"
                             "\"main\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]%s%s},"
                             "\"status\":{\"phase\":\"Pending\"%s%s}}",
                             cpu, placement[0] != '\0' ? ",\"placement\":" : "", placement,
                             allocation[0] != '\0' ? ",\"allocation\":" : "", allocation));
}

START_TEST(a_pod_that_waits_will_hold_whole_cores_or_the_whole_node)
{
    static const struct {
        const char *node, *cpu, *placement;
        int64_t milli;
    } rows[] = {
        {WITH_CORES, "1500m", "", 1500},
        {WITH_CORES, "3", "", 3000},
        {WITH_CORES, "3", "{\"cpuPolicy\":\"shared\"}", 3000},
        {WITH_CORES, "2500m", "{\"cpuPolicy\":\"exclusive\"}", 2500},
        {WITH_CORES, "2", "{\"cpuPolicy\":\"exclusive\"}", 2000},
        {WITH_CORES, "3", "{\"cpuPolicy\":\"exclusive\"}", 4000},
        {WITH_CORES, "3", "{\"cpuPolicy\":\"exclusive\",\"threadsPerCore\":1}", 6000},
        {WITH_CORES, "3", "{\"cpuPolicy\":\"exclusive\",\"threadsPerCore\":8}", 4000},
        {WITH_CORES, "1", "{\"wholeNode\":true}", 7000},
        {WITH_CORES, "9", "{\"wholeNode\":true}", 9000},
        {WITHOUT_CORES, "3", "{\"cpuPolicy\":\"exclusive\",\"threadsPerCore\":1}", 3000},
        {NO_TOPOLOGY, "3", "{\"cpuPolicy\":\"exclusive\"}", 3000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct object *node = make_node(rows[i].node);
        const struct object *pod = make_pod(rows[i].cpu, rows[i].placement, "");

        ck_assert_msg(node_use_planned_milli(pod_of(pod), node_of(node)) == rows[i].milli,
                      "row %zu: %lld", i,
                      (long long)node_use_planned_milli(pod_of(pod), node_of(node)));
        object_unref(pod);
        object_unref(node);
    }
}
END_TEST

START_TEST(a_pod_on_a_node_holds_its_threads_and_those_kept_idle)
{
    static const struct {
        const char *cpu, *allocation;
        int64_t milli;
    } rows[] = {
        {"3", "", 3000},
        {"1500m", "{\"sharedCPU\":\"1500m\"}", 1500},
        {"3", "{\"cpus\":\"0-2\"}", 3000},
        {"3", "{\"cpus\":\"0-2\",\"withheld\":\"4-6\"}", 6000},
        {"1", "{\"cpus\":\"0\",\"withheld\":\"1-7\"}", 8000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct object *pod = make_pod(rows[i].cpu, "", rows[i].allocation);

        ck_assert_int_eq(node_use_held_milli(pod_of(pod)), rows[i].milli);
        object_unref(pod);
    }
}
END_TEST

/* A frozen pod that yields its cores to another. */
static const struct object *
make_still(const char *cpus, const char *withheld)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    return make(&pod_kind,
                arena_printf(arena,
                             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                             "\"a\",\"namespace\":\"b\",\"annotations\":{\"kiln.hpc/yield\":"
                             "\"job 1\"}},\"spec\":{\"containers\":[{\"name\":\"main\"}]},"
                             "\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":"
                             "\"Frozen\",\"status\":\"True\",\"reason\":\"Yielded\"}],"
                             "\"allocation\":{\"cpus\":\"%s\",\"withheld\":\"%s\",\"memory\":["
                             "{\"node\":0,\"bytes\":\"1Gi\"}]}}}",
                             cpus, withheld));
}

START_TEST(cores_that_are_lent_count_once_and_those_that_nobody_took_too)
{
    const struct object *pods[] = {
        make_still("0-3", "4-7"),
        make_still("0-1", "4-5"), /* two of its cores belong to the first */
        make_pod("1", "", "{\"cpus\":\"0\",\"withheld\":\"4\"}"),
        make_pod("2", "", "{\"cpus\":\"8-9\"}"),
        make_pod("1", "", ""),
    };
    const struct object *node = make_node(WITHOUT_CORES);
    const struct object *with_remnant =
        make_node(WITHOUT_CORES ",\"remnants\":{\"u-1\":{\"namespace\":\"b\",\"name\":"
                                "\"c\",\"allocation\":{\"cpus\":\"2-3\"}}}");
    struct node_lending lending = {0};
    struct node_use use = {0}, left;

    for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
        node_use_add_pod(&use, pod_of(pods[i]));
    ck_assert_int_eq(use.cpus, 4);
    ck_assert_int_eq(use.n_yielded, 2);
    ck_assert_int_eq(use.shared_milli, 1000); /* of the last one, which shares */
    ck_assert_int_eq(node_use_cpus(&use), 5);
    ck_assert_int_eq(use.memory_bytes, INT64_C(2) << 30);
    for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
        node_lending_note(&lending, pod_of(pods[i]));
    left = use;
    node_use_add_kept(&use, &lending, node_of(node));
    ck_assert_int_eq(use.kept, 6);
    ck_assert_int_eq(use.cpus, 10);

    node_use_add_kept(&left, &lending, node_of(with_remnant));
    node_use_add_remnants(&left, node_of(with_remnant));
    ck_assert_int_eq(left.kept, 4);
    ck_assert_int_eq(left.cpus, 10);
    object_unref(node);
    object_unref(with_remnant);
    for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
        object_unref(pods[i]);
}
END_TEST

SUITE("node_use", a_pod_that_waits_will_hold_whole_cores_or_the_whole_node,
      a_pod_on_a_node_holds_its_threads_and_those_kept_idle,
      cores_that_are_lent_count_once_and_those_that_nobody_took_too)
