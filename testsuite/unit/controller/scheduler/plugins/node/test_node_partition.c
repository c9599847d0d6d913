/* SPDX-License-Identifier: Apache-2.0 */
/* Partition through the real scheduler. */
#include "lib/api/policy/partition.h"

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

static void
add_node(struct world *w, const char *name, const char *label)
{
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"of\":\"%s\"}},\"status\":{"
        "\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"}}}",
        name,
        label);

    fake_client_put(w->api, &node_kind, text);
}

/* Its nodes are those of that label. Each call is a change of its spec. */
static void
set_partition(struct world *w,
              const char *name,
              const char *label,
              const char *more)
{
    static int generation;
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"u\",\"generation\":%d},"
        "\"spec\":{\"selector\":{\"matchLabels\":{\"of\":\"%s\"}}%s}}",
        name,
        ++generation,
        label,
        more);

    fake_client_put(w->api, &partition_kind, text);
}

static void
add_pod(struct world *w, const char *name, const char *partition)
{
    CLEANUP_FREE char *spec = xasprintf(",\"activeDeadlineSeconds\":7200,"
                                        "\"placement\":{\"partition\":\"%s\"}",
                                        partition);

    world_add_pod(w, name, "1", "1Gi", spec);
}

static const char *
cause_of(const struct world *w, const char *name)
{
    const struct pod_cause *cause = world_pod(w, name)->status.cause;

    return cause != NULL ? cause->message : "none";
}

START_TEST(a_pod_runs_on_the_nodes_of_its_partitions)
{
    static const struct {
        const char *partition, *node;
    } rows[] = {{"a", "n1"}, {"b", "n2"}, {"gone,b", "n2"}, {"empty,a", "n1"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct world *w = world_new(NULL);

        add_node(w, "n1", "a");
        add_node(w, "n2", "b");
        add_node(w, "n3", "none");
        set_partition(w, "a", "a", "");
        set_partition(w, "b", "b", "");
        set_partition(w, "empty", "nowhere", "");
        add_pod(w, "p", rows[i].partition);
        world_settle(w);

        ck_assert_str_eq(world_node_of(w, "p"), rows[i].node);
        world_free(w);
    }
}
END_TEST

START_TEST(a_partition_that_cannot_have_it_says_why)
{
    static const struct {
        const char *more, *words;
    } rows[] = {
        {",\"state\":\"Down\",\"reason\":\"new switch\"",
         "partition a is down (new switch)"},
        {",\"state\":\"Inactive\"", "partition a is inactive"},
        {",\"maximumTime\":\"1h\"", "over partition a's limit of 1:00:00"},
        {",\"maximumCPUs\":\"500m\"", "over partition a's limit of 500m CPUs"},
        {",\"maximumMemory\":\"512Mi\"",
         "over partition a's limit of 512Mi of memory"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct world *w = world_new(NULL);

        add_node(w, "n1", "a");
        set_partition(w, "a", "a", rows[i].more);
        add_pod(w, "p", "a");
        world_settle(w);
        world_advance(w, 1000);
        ck_assert_str_eq(world_node_of(w, "p"), "");
        ck_assert_str_eq(cause_of(w, "p"), rows[i].words);

        set_partition(w, "a", "a", ",\"state\":\"Drain\"");
        world_advance(w, 12000);
        ck_assert_str_eq(world_node_of(w, "p"), "n1");
        world_free(w);
    }
}
END_TEST

START_TEST(equal_pods_do_not_share_what_another_selector_gave)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", "a");
    add_node(w, "n2", "b");
    for (int i = 0; i < 8; i++) {
        CLEANUP_FREE char *name = xasprintf("p%d", i);

        set_partition(w, "p", i % 2 == 0 ? "a" : "b", "");
        add_pod(w, name, "p");
        world_settle(w);

        ck_assert_str_eq(world_node_of(w, name), i % 2 == 0 ? "n1" : "n2");
    }
    world_free(w);
}
END_TEST

START_TEST(many_changes_in_a_moment_are_one_event)
{
    struct world *w = world_new(NULL);
    uint64_t before;

    add_node(w, "n1", "a");
    set_partition(w, "a", "a", ",\"state\":\"Down\"");
    add_pod(w, "p", "a");
    world_settle(w);
    world_advance(w, 20000);
    before = scheduler_count(w->scheduler).attempts;
    for (int i = 0; i < 50; i++) {
        set_partition(w, "a", "a", ",\"state\":\"Down\"");
        fake_client_run(w->api);
    }
    world_settle(w);
    world_advance(w, 20000);

    ck_assert_uint_ge(scheduler_count(w->scheduler).attempts, before + 1);
    ck_assert_uint_le(scheduler_count(w->scheduler).attempts, before + 2);
    world_free(w);
}
END_TEST

START_TEST(a_change_is_told_to_those_that_wait_for_something_else)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", "a");
    set_partition(w, "a", "a", "");
    add_pod(w, "big", "a");
    world_add_pod(w, "p", "9", "1Gi", ",\"placement\":{\"partition\":\"a\"}");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "p"), "");
    set_partition(w, "a", "a", ",\"state\":\"Down\"");
    world_advance(w, 20000);

    ck_assert_str_eq(cause_of(w, "p"), "partition a is down");
    world_free(w);
}
END_TEST

START_TEST(times_are_read_in_both_forms)
{
    ck_assert_int_eq(partition_time_s("4h"), 14400);
    ck_assert_int_eq(partition_time_s("4:00:00"), 14400);
    ck_assert_int_eq(partition_time_s("1-00:00:00"), 86400);
    ck_assert_int_eq(partition_time_s("60"), 3600);
    ck_assert_int_eq(partition_time_s("none"), 0);
    ck_assert_int_eq(partition_time_s(""), 0);
    ck_assert_int_eq(partition_time_s("soon"), -1);
}
END_TEST

SUITE("node_partition",
      a_pod_runs_on_the_nodes_of_its_partitions,
      a_partition_that_cannot_have_it_says_why,
      equal_pods_do_not_share_what_another_selector_gave,
      many_changes_in_a_moment_are_one_event,
      a_change_is_told_to_those_that_wait_for_something_else,
      times_are_read_in_both_forms)
