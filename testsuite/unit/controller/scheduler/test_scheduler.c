/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/scheduler.h"

#include "lib/api/cluster/event.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

START_TEST(a_pod_gets_whole_cores_on_one_numa_node)
{
    struct world *w = world_new(NULL);
    const struct allocation *a;

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w, "a", "3", "1Gi", EXCLUSIVE);
    world_settle(w);

    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    a = world_allocation(w, "a");
    ck_assert_ptr_nonnull(a);
    ck_assert_str_eq(a->cpus, "0-1,8");
    ck_assert_str_eq(a->withheld, "9");
    ck_assert_str_eq(a->memory_nodes, "0");
    ck_assert_uint_eq(a->memory.count, 1);
    ck_assert_str_eq(a->memory.items[0].bytes, "1Gi");
    world_free(w);
}
END_TEST

START_TEST(a_pod_without_placement_runs_in_the_shared_pool)
{
    struct world *w = world_new(NULL);
    const struct allocation *a;

    world_add_numa_node(w, "n1", 1, 2);
    world_add_pod(w, "a", "500m", "1Gi", "");
    world_settle(w);

    a = world_allocation(w, "a");
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_null(a->cpus);
    ck_assert_str_eq(a->shared_cpu, "500m");
    world_free(w);
}
END_TEST

START_TEST(withheld_threads_are_charged)
{
    struct world *w = world_new(NULL);

    world_add_numa_node(w, "n1", 1, 2);
    world_add_pod(w, "a", "1", "1Gi", EXCLUSIVE);
    world_add_pod(w, "b", "1", "1Gi", EXCLUSIVE);
    world_add_pod(w, "c", "1", "1Gi", EXCLUSIVE);
    world_settle(w);

    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    ck_assert_str_eq(world_node_of(w, "c"), "");
    world_free(w);
}
END_TEST

START_TEST(a_pod_that_fits_nowhere_says_why_and_starts_when_room_is_made)
{
    struct world *w = world_new(NULL);
    const struct pod_condition *c;
    const struct pod *pod;

    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "4", "1Gi", "");
    world_settle(w);
    world_add_pod(w, "b", "2", "1Gi", "");
    world_settle(w);

    pod = world_pod(w, "b");
    c = pod_find_condition(pod, "PodScheduled");
    ck_assert_ptr_nonnull(c);
    ck_assert_str_eq(c->status, "False");
    ck_assert_str_eq(c->reason, "Unschedulable");
    ck_assert_str_eq(c->message, "0/1 nodes are available: 1 Insufficient cpu. "
                                 "preemption: 0/1 nodes are available: 1 No preemption "
                                 "victims found for incoming pod.");

    fake_client_remove(w->api, &pod_kind, "default", "a");
    world_advance(w, 1100);
    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_pod_being_deleted_keeps_its_cores_until_it_is_gone)
{
    struct world *w = world_new(NULL);

    world_add_numa_node(w, "n1", 1, 1);
    world_add_pod(w, "a", "2", "1Gi", EXCLUSIVE);
    world_settle(w);
    world_add_pod(w, "b", "2", "1Gi", EXCLUSIVE);
    fake_client_put(w->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":"
                    "\"uid-2\",\"deletionTimestamp\":\"2024-01-01T00:00:30Z\"},\"spec\":{"
                    "\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\",\"resources\":"
                    "{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}}]},\"status\":{"
                    "\"allocation\":{\"cpus\":\"0-1\",\"memoryNodes\":\"0\"}}}");
    world_advance(w, 5000);
    ck_assert_str_eq(world_node_of(w, "b"), "");

    fake_client_remove(w->api, &pod_kind, "default", "a");
    world_advance(w, 11000);
    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_binding_that_fails_is_tried_again)
{
    struct world *w = world_new(NULL);

    world_add_numa_node(w, "n1", 1, 2);
    world_add_pod(w, "a", "2", "1Gi", EXCLUSIVE);
    fake_client_fail(w->api, CLIENT_CREATE, "binding", 500, "InternalError");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "a"), "");
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 0);

    world_advance(w, 1100);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    ck_assert_str_eq(world_allocation(w, "a")->cpus, "0,2");
    world_free(w);
}
END_TEST

START_TEST(a_pod_deleted_while_it_is_bound_does_not_come_back)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "2", "1Gi", "");
    fake_client_run(w->api);
    scheduler_work(w->scheduler, 10);
    fake_client_remove(w->api, &pod_kind, "default", "a");
    world_settle(w);
    world_advance(w, 60000);

    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 0);
    ck_assert_uint_eq(scheduler_count(w->scheduler).active, 0);
    ck_assert_uint_eq(scheduler_count(w->scheduler).backoff, 0);
    ck_assert_uint_eq(scheduler_count(w->scheduler).unschedulable_pods, 0);
    world_free(w);
}
END_TEST

START_TEST(a_binding_of_a_pod_that_is_gone_ends_without_a_word)
{
    struct world *w = world_new(NULL);
    struct scheduler_counts count;

    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "2", "1Gi", "");
    fake_client_run(w->api);
    fake_client_remove(w->api, &pod_kind, "default", "a");
    scheduler_work(w->scheduler, 10);
    world_settle(w);
    world_advance(w, 60000);
    count = scheduler_count(w->scheduler);

    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_CREATE, "binding"), 1);
    ck_assert_uint_eq(count.errors, 0);
    ck_assert_uint_eq(count.assumed, 0);
    ck_assert_uint_eq(count.active + count.backoff + count.unschedulable_pods, 0);
    ck_assert_uint_eq(fake_client_count(w->api, &event_kind), 0);
    world_free(w);
}
END_TEST

START_TEST(a_restarted_scheduler_knows_what_is_taken)
{
    struct world *w = world_new(NULL);

    world_add_numa_node(w, "n1", 2, 2);
    world_add_pod(w, "a", "4", "1Gi", SINGLE_NUMA);
    world_settle(w);
    ck_assert_str_eq(world_allocation(w, "a")->cpus, "0-1,4-5");

    world_restart(w);
    world_add_pod(w, "b", "4", "1Gi", SINGLE_NUMA);
    world_settle(w);
    world_add_pod(w, "c", "2", "1Gi", SINGLE_NUMA);
    world_settle(w);

    ck_assert_str_eq(world_allocation(w, "b")->cpus, "2-3,6-7");
    ck_assert_str_eq(world_node_of(w, "c"), "");
    world_free(w);
}
END_TEST

START_TEST(a_pod_bound_by_hand_is_given_an_allocation)
{
    struct world *w = world_new(NULL);

    world_add_numa_node(w, "n1", 1, 2);
    world_settle(w);
    world_add_pod(w, "a", "2", "1Gi", ",\"nodeName\":\"n1\"" EXCLUSIVE);
    world_advance(w, 200);

    ck_assert_ptr_nonnull(world_allocation(w, "a"));
    ck_assert_str_eq(world_allocation(w, "a")->cpus, "0,2");
    world_free(w);
}
END_TEST

START_TEST(a_pod_bound_by_hand_that_does_not_fit_is_refused)
{
    struct world *w = world_new(NULL);

    world_add_numa_node(w, "n1", 1, 2);
    world_add_pod(w, "a", "4", "1Gi", EXCLUSIVE);
    world_settle(w);
    world_add_pod(w, "b", "2", "1Gi", ",\"nodeName\":\"n1\"" EXCLUSIVE);
    world_advance(w, 200);

    ck_assert_str_eq(world_pod(w, "b")->status.phase, "Failed");
    ck_assert_str_eq(world_pod(w, "b")->status.reason, "OutOfResources");
    world_free(w);
}
END_TEST

/* Another pod was bound to its cores a moment before. */
START_TEST(a_pod_bound_by_hand_is_given_others_when_it_was_too_late)
{
    struct world *w = world_new(NULL);

    world_add_numa_node(w, "n1", 1, 2);
    world_settle(w);
    fake_client_fail(w->api, CLIENT_CREATE, "binding", 409, "Conflict");
    world_add_pod(w, "a", "2", "1Gi", ",\"nodeName\":\"n1\"" EXCLUSIVE);
    fake_client_run(w->api);
    scheduler_tick(w->scheduler);
    fake_client_run(w->api);
    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_CREATE, "binding"), 1);
    ck_assert_ptr_null(world_pod(w, "a")->status.allocation);
    fake_client_put(w->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"b\",\"namespace\":\"default\"},\"spec\":{"
                    "\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\",\"image\":"
                    "\"host\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]" EXCLUSIVE
                    "},\"status\":{\"phase\":\"Running\",\"allocation\":{\"cpus\":\"0,2\","
                    "\"memoryNodes\":\"0\"}}}");
    world_advance(w, 200);
    world_advance(w, 200);

    ck_assert_str_eq(world_allocation(w, "a")->cpus, "1,3");
    world_free(w);
}
END_TEST

START_TEST(a_pod_bound_by_hand_to_no_node_waits_for_it_a_while)
{
    struct world *w = world_new(NULL);

    world_add_pod(w, "a", "2", "1Gi", ",\"nodeName\":\"n1\"" EXCLUSIVE);
    world_add_pod(w, "b", "2", "1Gi", ",\"nodeName\":\"n2\"" EXCLUSIVE);
    world_advance(w, 200);
    world_advance(w, 30000);
    ck_assert_ptr_null(world_pod(w, "b")->status.phase);
    world_add_numa_node(w, "n1", 1, 2);
    world_advance(w, 200);
    world_advance(w, 30000);

    ck_assert_str_eq(world_allocation(w, "a")->cpus, "0,2");
    ck_assert_str_eq(world_pod(w, "b")->status.phase, "Failed");
    ck_assert_str_eq(world_pod(w, "b")->status.reason, "NodeNotFound");
    ck_assert_ptr_nonnull(strstr(world_pod(w, "b")->status.message, "there is no such node"));
    world_free(w);
}
END_TEST

START_TEST(a_gated_pod_waits_for_its_gates)
{
    struct world *w = world_new(NULL);
    const struct pod_condition *c;

    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "1", "1Gi", ",\"schedulingGates\":[{\"name\":\"x/y\"}]");
    world_settle(w);
    c = pod_find_condition(world_pod(w, "a"), "PodScheduled");
    ck_assert_ptr_nonnull(c);
    ck_assert_str_eq(c->reason, "SchedulingGated");
    ck_assert_str_eq(world_node_of(w, "a"), "");

    fake_client_put(w->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":"
                    "\"uid-2\"},\"spec\":{\"containers\":[{\"name\":\"main\"}]}}");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_scheduler_that_does_not_lead_writes_nothing_until_it_leads)
{
    struct world *w = world_new(NULL);

    world_close(w);
    world_open(w, NULL);
    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "1", "1Gi", ",\"schedulingGates\":[{\"name\":\"x/y\"}]");
    fake_client_run(w->api);
    ck_assert_ptr_null(pod_find_condition(world_pod(w, "a"), "PodScheduled"));

    scheduler_start(w->scheduler);
    world_settle(w);
    ck_assert_ptr_nonnull(pod_find_condition(world_pod(w, "a"), "PodScheduled"));
    world_free(w);
}
END_TEST

START_TEST(work_under_way_ends_when_the_scheduler_leads_no_longer)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "1", "1Gi", "");
    fake_client_run(w->api);
    fake_client_fail(w->api, CLIENT_CREATE, "binding", 500, "InternalError");
    scheduler_work(w->scheduler, 1);
    fake_client_run(w->api); /* the binding failed, and is to be retried */
    world_close(w);
    world_open(w, NULL);
    fake_clock_advance(&w->time, 60 * FAKE_SECOND);
    fake_client_run(w->api);
    ck_assert_str_eq(world_node_of(w, "a"), "");

    scheduler_start(w->scheduler);
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_pod_that_fails_often_makes_one_event_with_a_count)
{
    struct world *w = world_new(NULL);
    const struct pod_condition *c;

    world_add_node(w, "n1", 4);
    world_add_pod(w, "big", "8", "1Gi", "");
    for (int i = 0; i < 20; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        world_add_pod(w, name, "100m", "1Mi", "");
        world_advance(w, 12000);
        fake_client_remove(w->api, &pod_kind, "default", name);
        world_advance(w, 12000);
    }

    c = pod_find_condition(world_pod(w, "big"), "PodScheduled");
    ck_assert_ptr_nonnull(c);
    ck_assert_uint_eq(fake_client_count(w->api, &event_kind), 1 + 20);
    ck_assert_uint_lt(fake_client_calls(w->api, CLIENT_STRATEGIC_PATCH, "status"), 3);
    world_free(w);
}
END_TEST

START_TEST(explain_names_what_is_missing_on_the_nearest_nodes)
{
    struct world *w = world_new(NULL);
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *why;

    world_add_numa_node(w, "n1", 2, 4);
    world_add_pod(w, "a", "12", "1Gi", SINGLE_NUMA);
    world_add_pod(w, "c", "4", "1Gi", SINGLE_NUMA);
    world_settle(w);
    world_add_pod(w, "b", "8", "1Gi", SINGLE_NUMA);
    world_add_pod(w, "d", "8", "1Gi", SINGLE_NUMA);
    world_settle(w);

    why = scheduler_explain(w->scheduler, fake_client_find(w->api, &pod_kind, "default", "d"),
                            false, arena);
    ck_assert_str_eq(json_path_text(why, "state"), "Waiting");
    ck_assert_str_eq(json_get_text(json_at(json_get(why, "nearest"), 0), "node"), "n1");
    world_free(w);
}
END_TEST

START_TEST(nothing_is_placed_while_scheduling_is_paused)
{
    atomic_bool is_paused = true;
    struct world *w = world_new(&(struct scheduler_settings){.is_paused = &is_paused});
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *why;

    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "1", "1Gi", "");
    world_settle(w);
    world_advance(w, 60000);
    ck_assert_str_eq(world_node_of(w, "a"), "");
    why = scheduler_explain(w->scheduler, fake_client_find(w->api, &pod_kind, "default", "a"),
                            false, arena);
    ck_assert_str_eq(json_path_text(why, "cause.code"), "SchedulingPaused");

    /* The scheduler says by itself that there is work again. */
    ck_assert(!w->is_ready);
    atomic_store(&is_paused, false);
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

START_TEST(equal_pods_start_in_the_order_they_came)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 1);
    for (int i = 0; i < 5; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        world_add_pod(w, name, "1", "1Mi", "");
        world_advance(w, 10);
    }
    for (int i = 0; i < 5; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        ck_assert_str_eq(world_node_of(w, name), "n1");
        fake_client_remove(w->api, &pod_kind, "default", name);
        world_advance(w, 2000);
    }
    world_free(w);
}
END_TEST

START_TEST(a_more_important_pod_makes_room_and_gets_exact_cores)
{
    struct world *w = world_new(NULL);

    world_add_numa_node(w, "n1", 2, 2);
    world_add_pod(w, "low-a", "4", "1Gi", SINGLE_NUMA);
    world_add_pod(w, "low-b", "4", "1Gi", SINGLE_NUMA);
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "low-a"), "n1");
    ck_assert_str_eq(world_node_of(w, "low-b"), "n1");

    world_add_pod(w, "high", "4", "1Gi", ",\"priority\":100" SINGLE_NUMA);
    world_advance(w, 100);
    world_advance(w, 1000);

    ck_assert_str_eq(world_node_of(w, "high"), "n1");
    ck_assert_uint_eq(fake_client_count(w->api, &pod_kind), 2);
    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_DELETE, NULL), 1);
    world_free(w);
}
END_TEST

START_TEST(nobody_is_evicted_for_a_pod_that_would_not_fit_even_so)
{
    struct world *w = world_new(NULL);

    world_add_numa_node(w, "n1", 2, 2);
    world_add_pod(w, "low", "4", "1Gi", SINGLE_NUMA);
    world_settle(w);
    world_add_pod(w, "high", "6", "1Gi", ",\"priority\":100" SINGLE_NUMA);
    world_advance(w, 100);

    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_DELETE, NULL), 0);
    ck_assert_str_eq(world_node_of(w, "low"), "n1");
    world_free(w);
}
END_TEST

/* The API reports the binding as done, but the watch never shows it. */
START_TEST(room_that_was_never_confirmed_is_others_in_the_end)
{
    struct world *w = world_new(&(struct scheduler_settings){.assume_expire_us = 30 * 1000000});

    world_add_node(w, "n1", 1);
    world_add_pod(w, "a", "1", "1Gi", "");
    world_add_pod(w, "b", "1", "1Gi", "");
    fake_client_run(w->api);
    informers_free(w->informers);
    w->informers = NULL;
    world_settle(w);
    world_advance(w, 29000);
    ck_assert_uint_eq(scheduler_count(w->scheduler).scheduled, 1);
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 1);
    ck_assert_str_eq(world_node_of(w, "b"), "");

    world_advance(w, 2000);
    world_advance(w, 10000);
    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    world_free(w);
}
END_TEST

#define DELETED_BIG                                                              \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"big\","    \
    "\"namespace\":\"default\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}," \
    "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"host\"}]}}"

START_TEST(a_pod_that_waits_for_the_first_node_is_left_alone_until_it_comes)
{
    struct world *w = world_new(NULL);
    uint64_t attempts;

    for (unsigned i = 0; i < 20; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%u", i);
        world_add_pod(w, name, "1", "100Mi", i % 2 ? EXCLUSIVE : "");
    }
    world_advance(w, 20000);
    world_advance(w, 20000);
    world_advance(w, 20000);
    attempts = scheduler_count(w->scheduler).attempts;
    for (unsigned i = 0; i < 10; i++)
        world_advance(w, 20000);
    ck_assert_uint_eq(scheduler_count(w->scheduler).attempts, attempts);
    ck_assert_uint_eq(scheduler_count(w->scheduler).unschedulable_pods, 20);

    world_add_numa_node(w, "n1", 1, 64);
    for (unsigned i = 0; i < 4; i++)
        world_advance(w, 20000);
    ck_assert_uint_eq(scheduler_count(w->scheduler).scheduled, 20);
    world_free(w);
}
END_TEST

START_TEST(a_waiting_pod_that_is_deleted_at_once_leaves_the_queue)
{
    struct world *w = world_new(NULL);
    const struct object *last = NULL;

    world_add_node(w, "n1", 4);
    world_add_pod(w, "big", "64", "1Gi", "");
    world_settle(w);
    ck_assert_uint_eq(scheduler_count(w->scheduler).unschedulable_pods, 1);
    ck_assert_int_eq(object_parse(&pod_kind, DELETED_BIG, strlen(DELETED_BIG), &last, NULL), 0);
    scheduler_pod_changed(w->scheduler, last, NULL);

    ck_assert_uint_eq(scheduler_count(w->scheduler).unschedulable_pods, 0);
    object_unref(last);
    world_free(w);
}
END_TEST

/* Every way in which a waiting pod may be removed: at once, with a
 * deletionTimestamp, and between two attempts.
 */
START_TEST(a_waiting_pod_that_goes_leaves_the_queue)
{
    static const int64_t waits_ms[] = {0, 300, 1500, 4000};

    for (size_t i = 0; i < 2 * ARRAY_SIZE(waits_ms); i++) {
        struct world *w = world_new(NULL);
        bool is_told = i % 2 == 1;

        world_add_node(w, "n1", 4);
        world_add_pod(w, "big", "64", "1Gi", "");
        world_settle(w);
        world_advance(w, waits_ms[i / 2]);
        world_add_pod(w, "other", "1", "1Gi", "");
        world_settle(w);
        if (is_told)
            fake_client_put(w->api, &pod_kind,
                            "{\"metadata\":{\"name\":\"big\",\"namespace\":\"default\","
                            "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{"
                            "\"containers\":[{\"name\":\"main\",\"image\":\"host\"}]}}");
        fake_client_remove(w->api, &pod_kind, "default", "big");
        world_settle(w);
        fake_client_remove(w->api, &pod_kind, "default", "other");
        world_advance(w, 2000);

        ck_assert_uint_eq(scheduler_count(w->scheduler).unschedulable_pods, 0);
        ck_assert_uint_eq(scheduler_count(w->scheduler).backoff, 0);
        ck_assert_uint_eq(scheduler_count(w->scheduler).active, 0);
        world_free(w);
    }
}
END_TEST

#define POD_MARKED(mark)                                                     \
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"u\"," \
    "\"annotations\":{" mark "}},\"spec\":{\"containers\":[{\"name\":"       \
    "\"main\"}]}}"
#define HELD "\"kiln.hpc/hold\":\"true\""

START_TEST(a_held_pod_leaves_the_queue_until_it_is_released)
{
    struct world *w = world_new(NULL);

    fake_client_put(w->api, &pod_kind, POD_MARKED(""));
    world_settle(w);
    fake_client_put(w->api, &pod_kind, POD_MARKED(HELD));
    world_add_node(w, "n1", 4);
    world_advance(w, 60000);
    ck_assert_str_eq(world_node_of(w, "a"), "");
    ck_assert_uint_eq(scheduler_count(w->scheduler).active, 0);
    ck_assert_uint_eq(scheduler_count(w->scheduler).unschedulable_pods, 0);

    fake_client_put(w->api, &pod_kind, POD_MARKED(""));
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

/* The API refuses a binding after its Job was held; the pod's mark comes later.
 */
START_TEST(a_pod_that_is_held_while_it_is_bound_waits_for_its_release)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "n1", 4);
    fake_client_put(w->api, &pod_kind, POD_MARKED(""));
    fake_client_fail(w->api, CLIENT_CREATE, "binding", 409, "Conflict");
    fake_client_run(w->api);
    scheduler_work(w->scheduler, 10);
    fake_client_put(w->api, &pod_kind, POD_MARKED(HELD));
    world_settle(w);
    world_advance(w, 60000);
    ck_assert_str_eq(world_node_of(w, "a"), "");
    ck_assert_uint_eq(scheduler_count(w->scheduler).assumed, 0);
    ck_assert_uint_eq(scheduler_count(w->scheduler).backoff, 0);

    fake_client_put(w->api, &pod_kind, POD_MARKED(""));
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
}
END_TEST

SUITE("scheduler", a_pod_gets_whole_cores_on_one_numa_node,
      a_pod_without_placement_runs_in_the_shared_pool, withheld_threads_are_charged,
      a_pod_that_fits_nowhere_says_why_and_starts_when_room_is_made,
      a_pod_being_deleted_keeps_its_cores_until_it_is_gone, a_binding_that_fails_is_tried_again,
      a_pod_deleted_while_it_is_bound_does_not_come_back,
      a_binding_of_a_pod_that_is_gone_ends_without_a_word,
      a_restarted_scheduler_knows_what_is_taken, a_pod_bound_by_hand_is_given_an_allocation,
      a_pod_bound_by_hand_that_does_not_fit_is_refused,
      a_pod_bound_by_hand_is_given_others_when_it_was_too_late,
      a_pod_bound_by_hand_to_no_node_waits_for_it_a_while, a_gated_pod_waits_for_its_gates,
      a_scheduler_that_does_not_lead_writes_nothing_until_it_leads,
      work_under_way_ends_when_the_scheduler_leads_no_longer,
      a_pod_that_fails_often_makes_one_event_with_a_count,
      explain_names_what_is_missing_on_the_nearest_nodes, a_waiting_pod_that_goes_leaves_the_queue,
      room_that_was_never_confirmed_is_others_in_the_end,
      a_pod_that_waits_for_the_first_node_is_left_alone_until_it_comes,
      a_waiting_pod_that_is_deleted_at_once_leaves_the_queue,
      nothing_is_placed_while_scheduling_is_paused, equal_pods_start_in_the_order_they_came,
      a_more_important_pod_makes_room_and_gets_exact_cores,
      nobody_is_evicted_for_a_pod_that_would_not_fit_even_so,
      a_held_pod_leaves_the_queue_until_it_is_released,
      a_pod_that_is_held_while_it_is_bound_waits_for_its_release)
