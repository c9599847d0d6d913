/* SPDX-License-Identifier: Apache-2.0 */
/* Evictions through the real scheduler, with a slow API. */
#include "controller/scheduler/bind/evictions.h"

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define NODES 8

/* Nodes that are full of pods of low priority, a small one with a pod of its
 * own, and a preempting pod: the API has not answered yet.
 */
static struct world *
preempting(void)
{
    struct world *w = world_new(NULL);

    world_add_node(w, "small", 1);
    world_add_pod(w, "other", "1", "1Gi", ",\"priority\":200");
    world_settle(w);
    for (int i = 0; i < NODES; i++) {
        char node[16], pod[16];

        snprintf(node, sizeof(node), "n%d", i);
        snprintf(pod, sizeof(pod), "low-%d", i);
        world_add_node(w, node, 4);
        world_add_pod(w, pod, "4", "1Gi", "");
    }
    world_settle(w);
    world_add_pod(w, "high", "4", "1Gi", ",\"priority\":100");
    fake_client_run(w->api);
    scheduler_work(w->scheduler, 1);
    return w;
}

/* A pod of another node is deleted, which may help. */
static void
wake(struct world *w)
{
    const struct object *other =
        object_ref(fake_client_find(w->api, &pod_kind, "default", "other"));

    scheduler_pod_changed(w->scheduler, other, NULL);
    object_unref(other);
    fake_clock_advance(&w->time, 2 * FAKE_SECOND);
    scheduler_tick(w->scheduler);
    scheduler_work(w->scheduler, 10);
}

static unsigned
deletions(const struct world *w)
{
    return fake_client_calls(w->api, CLIENT_DELETE, NULL);
}

START_TEST(a_pod_that_waits_for_victims_does_not_look_for_others)
{
    struct world *w = preempting();
    uint64_t attempts = scheduler_count(w->scheduler).attempts;

    wake(w);
    ck_assert_uint_gt(scheduler_count(w->scheduler).attempts, attempts);
    world_advance(w, 2000);
    world_advance(w, 2000);

    ck_assert_uint_eq(deletions(w), 1);
    ck_assert_str_ne(world_node_of(w, "high"), "");
    world_free(w);
}
END_TEST

START_TEST(a_victim_is_told_why_before_it_goes)
{
    struct world *w = preempting();

    ck_assert_uint_gt(fake_client_calls(w->api, CLIENT_STRATEGIC_PATCH, "status"), 0);
    ck_assert_uint_eq(deletions(w), 0);
    fake_client_run(w->api);

    ck_assert_uint_eq(deletions(w), 1);
    world_free(w);
}
END_TEST

START_TEST(another_way_is_looked_for_where_a_victim_cannot_be_told)
{
    struct world *w = preempting();

    fake_client_fail(w->api, CLIENT_STRATEGIC_PATCH, "status", 500, "InternalError");
    fake_client_run(w->api);
    ck_assert_uint_eq(deletions(w), 0);
    world_advance(w, 100);
    world_advance(w, 2000);

    ck_assert_uint_eq(deletions(w), 1);
    ck_assert_str_ne(world_node_of(w, "high"), "");
    world_free(w);
}
END_TEST

START_TEST(a_preemptor_that_goes_takes_nothing_back)
{
    struct world *w = preempting();

    fake_client_remove(w->api, &pod_kind, "default", "high");
    world_advance(w, 2000);

    ck_assert_uint_eq(deletions(w), 1);
    world_free(w);
}
END_TEST

SUITE("evictions", a_pod_that_waits_for_victims_does_not_look_for_others,
      a_victim_is_told_why_before_it_goes, another_way_is_looked_for_where_a_victim_cannot_be_told,
      a_preemptor_that_goes_takes_nothing_back)
