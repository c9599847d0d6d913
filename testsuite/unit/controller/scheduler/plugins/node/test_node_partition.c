/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions through the real scheduler. */
#include "lib/api/policy/partition.h"

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

static void
add_node(struct world *w, const char *name, const char *label)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"of\":\"%s\"}},\"status\":{"
                  "\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"}}}",
                  name, label);

    fake_client_put(w->api, &node_kind, text);
}

/* Sets a partition of the nodes with that label. Each call changes its spec. */
static void
set_partition(struct world *w, const char *name, const char *label, const char *more)
{
    static int generation;
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"u\",\"generation\":%d},"
                  "\"spec\":{\"selector\":{\"matchLabels\":{\"of\":\"%s\"}}%s}}",
                  name, ++generation, label, more);

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
        {",\"state\":\"Down\",\"reason\":\"new switch\"", "partition a is down (new switch)"},
        {",\"state\":\"Inactive\"", "partition a is inactive"},
        {",\"maximumTime\":\"1h\"", "over partition a's limit of 1:00:00"},
        {",\"maximumCPUs\":\"500m\"", "over partition a's limit of 500m CPUs"},
        {",\"maximumMemory\":\"512Mi\"", "over partition a's limit of 512Mi of memory"},
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

/* ---- Tiers ---- */

#define TIER(n) ",\"priorityTier\":" n

static void
add_tiered(struct world *w, const char *name, const char *more)
{
    world_add_pod(w, name, "4", "1Gi", more);
}

/* The pods of four CPUs that have run, one after the other, on one node. */
START_TEST(a_higher_tier_goes_before_every_priority)
{
    static const char *const wanted[] = {"high", "middle-7", "middle", "low-9"};
    struct world *w = world_new(NULL);

    set_partition(w, "low", "a", "");
    set_partition(w, "middle", "a", TIER("2"));
    set_partition(w, "high", "a", TIER("65533"));
    add_tiered(w, "low-9",
               ",\"priority\":2000000000,\"placement\":{\"partition\":"
               "\"high,low\"}");
    add_tiered(w, "middle", ",\"placement\":{\"partition\":\"middle\"}");
    add_tiered(w, "middle-7", ",\"priority\":7,\"placement\":{\"partition\":\"middle\"}");
    add_tiered(w, "high",
               ",\"priority\":-2000000000,\"placement\":{\"partition\":"
               "\"high\"}");
    world_settle(w);
    add_node(w, "n1", "a");
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        world_advance(w, 20000);
        for (size_t j = i; j < ARRAY_SIZE(wanted); j++)
            ck_assert_str_eq(world_node_of(w, wanted[j]), j == i ? "n1" : "");
        fake_client_remove(w->api, &pod_kind, "default", wanted[i]);
    }
    world_free(w);
}
END_TEST

static bool
is_there(const struct world *w, const char *name)
{
    return fake_client_find(w->api, &pod_kind, "default", name) != NULL;
}

START_TEST(a_higher_tier_preempts_where_the_lower_one_lets)
{
    static const struct {
        const char *running, *waiting; /* partitions */
        const char *mode;              /* of the first */
        bool is_preempted;
    } rows[] = {
        {"low", "high", "Requeue", true},      {"low", "high", "Cancel", true},
        {"low", "high", "Off", false},         {"low", "low", "Requeue", false},
        {"high", "low", "Requeue", false},     {"low", "high,low", "Requeue", false},
        {"high,low", "high", "Requeue", true}, {"low", "gone,high", "Requeue", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct world *w = world_new(NULL);
        CLEANUP_FREE char *low = xasprintf(",\"preemptionMode\":\"%s\"", rows[i].mode);
        CLEANUP_FREE char *runs =
            xasprintf(",\"placement\":{\"partition\":\"%s\"}", rows[i].running);
        CLEANUP_FREE char *waits =
            xasprintf(",\"placement\":{\"partition\":\"%s\"}", rows[i].waiting);

        add_node(w, "n1", "a");
        set_partition(w, "low", "a", low);
        set_partition(w, "high", "a", TIER("2"));
        add_tiered(w, "first", runs);
        world_settle(w);
        ck_assert_str_eq(world_node_of(w, "first"), "n1");
        add_tiered(w, "second", waits);
        world_advance(w, 20000);
        world_advance(w, 20000);

        ck_assert_msg(is_there(w, "first") != rows[i].is_preempted, "%s by %s", rows[i].running,
                      rows[i].waiting);
        ck_assert_str_eq(world_node_of(w, "second"), rows[i].is_preempted ? "n1" : "");
        world_free(w);
    }
}
END_TEST

START_TEST(a_class_has_a_mode_of_its_own)
{
    static const struct {
        const char *class_mode, *partition_mode;
        bool is_preempted;
    } rows[] = {
        {"Off", "Requeue", false}, {"Requeue", "Off", true}, {"Cancel", "Off", true},
        {NULL, "Off", false},      {NULL, "Requeue", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct world *w = world_new(NULL);
        CLEANUP_FREE char *mode = rows[i].class_mode == NULL
                                      ? xstrdup("")
                                      : xasprintf(",\"annotations\":{\"kiln.hpc/preemption-mode\":"
                                                  "\"%s\"}",
                                                  rows[i].class_mode);
        CLEANUP_FREE char *class = xasprintf("{\"metadata\":{\"name\":\"c\"%s},\"value\":0}", mode);
        CLEANUP_FREE char *low = xasprintf(",\"preemptionMode\":\"%s\"", rows[i].partition_mode);

        fake_client_put(w->api, &priority_class_kind, class);
        add_node(w, "n1", "a");
        set_partition(w, "low", "a", low);
        add_tiered(w, "first",
                   ",\"priorityClassName\":\"c\",\"placement\":{"
                   "\"partition\":\"low\"}");
        world_settle(w);
        add_tiered(w, "second", ",\"priority\":9,\"placement\":{\"partition\":\"low\"}");
        world_advance(w, 20000);
        world_advance(w, 20000);

        ck_assert_msg(is_there(w, "first") != rows[i].is_preempted, "row %zu", i);
        ck_assert_str_eq(world_node_of(w, "second"), rows[i].is_preempted ? "n1" : "");
        world_free(w);
    }
}
END_TEST

#define MANY 100

/* A pod whose tier changed before the others' could preempt pods of its own
 * partition.
 */
START_TEST(many_pods_change_their_tier_by_and_by_and_none_is_tried_meanwhile)
{
    struct world *w = world_new(NULL);
    uint64_t attempts;

    add_node(w, "n1", "a");
    set_partition(w, "a", "a", "");
    add_tiered(w, "runs", ",\"placement\":{\"partition\":\"a\"}");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "runs"), "n1");
    for (unsigned i = 0; i < MANY; i++) {
        CLEANUP_FREE char *name = xasprintf("w%u", i);

        add_tiered(w, name, ",\"placement\":{\"partition\":\"a\"}");
    }
    world_advance(w, 20000);
    attempts = scheduler_count(w->scheduler).attempts;

    set_partition(w, "a", "a", TIER("3"));
    fake_client_run(w->api);
    scheduler_tick(w->scheduler);
    ck_assert(scheduler_work(w->scheduler, 1));
    ck_assert_uint_eq(scheduler_count(w->scheduler).attempts, attempts);
    fake_client_remove(w->api, &pod_kind, "default", "w7");
    world_add_pod(w, "w8", "5", "1Gi", ",\"placement\":{\"partition\":\"a\"}");
    /* again, before all pods have the former change */
    set_partition(w, "a", "a", TIER("2"));
    world_advance(w, 20000);
    world_advance(w, 20000);
    ck_assert_uint_gt(scheduler_count(w->scheduler).attempts, attempts);
    ck_assert(is_there(w, "runs"));

    set_partition(w, "b", "a", TIER("3"));
    set_partition(w, "a", "a", TIER("4"));
    fake_client_run(w->api);
    scheduler_tick(w->scheduler);
    add_tiered(w, "other", ",\"placement\":{\"partition\":\"b\"}");
    world_advance(w, 20000);
    ck_assert(is_there(w, "runs"));
    ck_assert_str_eq(world_node_of(w, "other"), "");
    world_free(w);
}
END_TEST

START_TEST(pods_not_yet_notified_are_forgotten_with_the_scheduler)
{
    struct world *w = world_new(NULL);

    set_partition(w, "a", "a", "");
    for (unsigned i = 0; i < MANY; i++) {
        CLEANUP_FREE char *name = xasprintf("w%u", i);

        add_tiered(w, name, ",\"placement\":{\"partition\":\"a\"}");
    }
    world_settle(w);
    set_partition(w, "a", "a", TIER("3"));
    fake_client_run(w->api);
    scheduler_tick(w->scheduler);

    ck_assert(w->is_ready);
    world_free(w);
}
END_TEST

/* The change counts for running and waiting pods at the same moment. */
START_TEST(a_tier_that_changes_counts_at_once)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", "a");
    set_partition(w, "a", "a", "");
    set_partition(w, "b", "a", "");
    add_tiered(w, "runs", ",\"placement\":{\"partition\":\"a\"}");
    world_settle(w);
    add_tiered(w, "first", ",\"placement\":{\"partition\":\"a\"}");
    add_tiered(w, "second", ",\"placement\":{\"partition\":\"b\"}");
    world_advance(w, 20000);
    ck_assert(is_there(w, "runs"));
    for (int i = 0; i < 50; i++)
        set_partition(w, "b", "a", i % 2 == 0 ? TIER("9") : TIER("5"));
    world_advance(w, 20000);
    world_advance(w, 20000);

    ck_assert(!is_there(w, "runs"));
    ck_assert_str_eq(world_node_of(w, "second"), "n1");
    ck_assert_str_eq(world_node_of(w, "first"), "");

    set_partition(w, "a", "a", TIER("6"));
    world_advance(w, 20000);
    world_advance(w, 20000);
    ck_assert(!is_there(w, "second"));
    ck_assert_str_eq(world_node_of(w, "first"), "n1");

    add_tiered(w, "third", ",\"placement\":{\"partition\":\"b\"}");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "third"), "");
    set_partition(w, "a", "a", "");
    world_advance(w, 20000);
    world_advance(w, 20000);
    ck_assert(!is_there(w, "first"));
    ck_assert_str_eq(world_node_of(w, "third"), "n1");
    world_free(w);
}
END_TEST

/* A job of a lower tier is not backfilled if it is as long, but is if it ends
 * before; backfill follows the order of the queue.
 */
START_TEST(the_first_of_the_highest_tier_has_the_reservation)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1", "a");
    set_partition(w, "low", "a", "");
    set_partition(w, "high", "a", TIER("2"));
    world_add_pod(w, "runs", "2", "1Gi",
                  ",\"activeDeadlineSeconds\":3600,\"placement\":{"
                  "\"partition\":\"high\"}");
    world_settle(w);
    add_tiered(w, "wide",
               ",\"activeDeadlineSeconds\":60,\"priority\":9,\"placement\":{"
               "\"partition\":\"low\"}");
    world_advance(w, 20000);
    add_tiered(w, "wide-high",
               ",\"activeDeadlineSeconds\":60,\"placement\":{"
               "\"partition\":\"high\"}");
    world_advance(w, 20000);
    add_pod(w, "long", "low"); /* longer than the hour */
    world_add_pod(w, "short", "2", "1Gi",
                  ",\"activeDeadlineSeconds\":600,\"placement\":{"
                  "\"partition\":\"low\"}");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "short"), "n1");
    ck_assert_str_eq(world_node_of(w, "long"), "");
    fake_client_remove(w->api, &pod_kind, "default", "short");
    fake_client_remove(w->api, &pod_kind, "default", "runs");
    world_advance(w, 20000);

    ck_assert_str_eq(world_node_of(w, "wide-high"), "n1");
    ck_assert_str_eq(world_node_of(w, "wide"), "");
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
    ck_assert_int_eq(partition_given_time_s("1h", "4h"), 3600);
    ck_assert_int_eq(partition_given_time_s("none", "4h"), 14400);
    ck_assert_int_eq(partition_given_time_s("4h", "1h"), 3600);
    ck_assert_int_eq(partition_given_time_s("1h", "none"), 3600);
    ck_assert_int_eq(partition_given_time_s("", NULL), 0);
}
END_TEST

SUITE("node_partition", a_pod_runs_on_the_nodes_of_its_partitions,
      a_partition_that_cannot_have_it_says_why, equal_pods_do_not_share_what_another_selector_gave,
      many_changes_in_a_moment_are_one_event,
      a_change_is_told_to_those_that_wait_for_something_else,
      a_higher_tier_goes_before_every_priority, a_higher_tier_preempts_where_the_lower_one_lets,
      a_class_has_a_mode_of_its_own,
      many_pods_change_their_tier_by_and_by_and_none_is_tried_meanwhile,
      pods_not_yet_notified_are_forgotten_with_the_scheduler, a_tier_that_changes_counts_at_once,
      the_first_of_the_highest_tier_has_the_reservation, times_are_read_in_both_forms)
