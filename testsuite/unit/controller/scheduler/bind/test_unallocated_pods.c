/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/bind/unallocated_pods.h"

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define ON_N1 ",\"nodeName\":\"n1\"" EXCLUSIVE

/* A scheduler with a node and a pod that was bound there by hand. */
static struct world *
orphaned(void)
{
    struct world *w = world_new(NULL);

    world_close(w);
    world_add_numa_node(w, "n1", 1, 2);
    world_add_pod(w, "a", "2", "1Gi", ON_N1);
    world_open(w, NULL);
    return w;
}

static bool
has_allocation(const struct world *w, const char *name)
{
    return world_pod(w, name)->status.allocation != NULL;
}

START_TEST(one_that_does_not_lead_gives_nothing)
{
    struct world *w = orphaned();

    world_add_pod(w, "b", "2", "1Gi", ON_N1);
    fake_client_run(w->api);

    ck_assert(!has_allocation(w, "a"));
    ck_assert(!has_allocation(w, "b"));
    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_CREATE, "binding"), 0);
    world_free(w);
}
END_TEST

START_TEST(one_that_begins_to_lead_gives_what_all_it_knows_lacks)
{
    struct world *w = orphaned();

    world_add_pod(w, "b", "2", "1Gi", ON_N1);
    fake_client_run(w->api);
    scheduler_start(w->scheduler);
    world_settle(w);

    ck_assert(has_allocation(w, "a"));
    ck_assert(has_allocation(w, "b"));
    world_free(w);
}
END_TEST

START_TEST(one_that_leads_no_longer_leaves_the_rest_to_the_next)
{
    struct world *w = orphaned();

    fake_client_fail(w->api, CLIENT_CREATE, "binding", 500, "InternalError");
    scheduler_start(w->scheduler);
    fake_client_run(w->api);
    ck_assert(!has_allocation(w, "a"));
    world_close(w);
    fake_client_run(w->api);
    ck_assert(!has_allocation(w, "a"));

    world_open(w, NULL);
    scheduler_start(w->scheduler);
    fake_client_run(w->api);
    ck_assert(has_allocation(w, "a"));
    world_free(w);
}
END_TEST

START_TEST(a_failed_binding_is_tried_again)
{
    struct world *w = orphaned();

    fake_client_fail(w->api, CLIENT_CREATE, "binding", 500, "InternalError");
    scheduler_start(w->scheduler);
    fake_client_run(w->api);
    world_settle(w);

    ck_assert(has_allocation(w, "a"));
    world_free(w);
}
END_TEST

START_TEST(one_whose_node_comes_later_waits_for_it)
{
    struct world *w = world_new(NULL);

    world_add_pod(w, "a", "2", "1Gi", ON_N1);
    world_settle(w);
    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_CREATE, "binding"), 0);
    world_add_numa_node(w, "n1", 1, 2);
    world_settle(w);

    ck_assert(has_allocation(w, "a"));
    world_free(w);
}
END_TEST

START_TEST(one_that_is_gone_is_forgotten)
{
    struct world *w = orphaned();

    fake_client_remove(w->api, &pod_kind, "default", "a");
    fake_client_run(w->api);
    scheduler_start(w->scheduler);
    world_settle(w);

    ck_assert_uint_eq(fake_client_calls(w->api, CLIENT_CREATE, "binding"), 0);
    world_free(w);
}
END_TEST

SUITE("unallocated_pods", one_that_does_not_lead_gives_nothing,
      one_that_begins_to_lead_gives_what_all_it_knows_lacks,
      one_that_leads_no_longer_leaves_the_rest_to_the_next, a_failed_binding_is_tried_again,
      one_whose_node_comes_later_waits_for_it, one_that_is_gone_is_forgotten)
