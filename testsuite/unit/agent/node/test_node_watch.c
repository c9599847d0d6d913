/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/node_watch.h"

#include "lib/api/node/allocation.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "testsuite/unit/agent/run_loop.h"

#define NODE(ready, remnants)                                      \
    "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"conditions\":[" \
    "{\"type\":\"Ready\",\"status\":\"" ready "\"}],\"remnants\":{" remnants "}}}"
#define REMNANT "\"uid-a\":{\"namespace\":\"default\",\"name\":\"a\"}"

static struct {
    struct fake_client *api;
    struct node_watch *node_watch;
    unsigned outdated;
    bool is_here; /* something of the pods is left here */
    const struct object *retained;
} world;

static void
outdated(void *context)
{
    (void)context;
    world.outdated++;
}

static bool
confirm_gone(const char *pod_uid, void *context)
{
    (void)context;
    ck_assert_str_eq(pod_uid, "uid-a");
    return !world.is_here;
}

static void
visit_retained(void (*visit)(const struct object *pod, void *arg), void *arg, void *context)
{
    (void)context;
    if (world.retained != NULL)
        visit(world.retained, arg);
}

static void
begin(const char *node)
{
    memset(&world, 0, sizeof(world));
    world.api = fake_client_new();
    fake_client_put(world.api, &node_kind, node);
    world.node_watch = node_watch_new(&(struct node_watch_settings){
        .loop = fake_client_client(world.api)->loop,
        .client = fake_client_client(world.api),
        .node = "n1",
        .outdated = outdated,
        .confirm_gone = confirm_gone,
        .visit_retained = visit_retained,
    });
    for (int i = 0; i < 10; i++)
        run_loop_step(world.api);
}

static void
end(void)
{
    node_watch_free(world.node_watch);
    fake_client_free(world.api);
}

static unsigned
count_remnants(void)
{
    const struct object *node = fake_client_find(world.api, &node_kind, NULL, "n1");

    return node_of(node)->status.remnants.count;
}

START_TEST(a_node_that_is_well_is_left_alone)
{
    begin(NODE("True", ""));

    ck_assert_uint_eq(world.outdated, 0);
    ck_assert_uint_eq(fake_client_calls(world.api, CLIENT_MERGE_PATCH, "status"), 0);
    end();
}
END_TEST

START_TEST(a_pod_that_was_given_up_is_noticed)
{
    begin(NODE("True", ""));
    fake_client_put(world.api, &node_kind, NODE("Unknown", ""));
    run_loop_until(world.api, world.outdated > 0);
    end();
}
END_TEST

START_TEST(a_pod_that_has_gone_is_noticed)
{
    begin(NODE("True", ""));
    fake_client_remove(world.api, &node_kind, NULL, "n1");
    run_loop_until(world.api, world.outdated > 0);
    end();
}
END_TEST

START_TEST(a_pod_that_has_left_the_node_is_given_back)
{
    begin(NODE("True", REMNANT));

    run_loop_until(world.api, count_remnants() == 0);
    end();
}
END_TEST

START_TEST(a_pod_on_the_node_is_kept_until_it_has_left)
{
    begin(NODE("True", ""));
    world.is_here = true;
    fake_client_put(world.api, &node_kind, NODE("True", REMNANT));
    for (int i = 0; i < 10; i++)
        run_loop_step(world.api);
    ck_assert_uint_eq(count_remnants(), 1);

    world.is_here = false;
    node_watch_check(world.node_watch);
    run_loop_until(world.api, count_remnants() == 0);
    end();
}
END_TEST

#define FENCED                                                                               \
    "{\"metadata\":{\"name\":\"n1\"},\"spec\":{\"taints\":[{\"key\":\"" TAINT_OUT_OF_SERVICE \
    "\",\"effect\":\"NoExecute\"}]},\"status\":{"                                            \
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}"

START_TEST(a_pod_that_was_given_up_is_claimed_when_fencing_ends)
{
    const struct remnant *r;

    begin(FENCED);
    world.is_here = true;
    world.retained =
        fake_client_put(world.api, &pod_kind,
                        "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":"
                        "\"uid-a\"},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":"
                        "\"main\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}},{\"name\":"
                        "\"side\",\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]},"
                        "\"status\":{\"phase\":\"Failed\",\"allocation\":{\"cpus\":\"4-5\"}}}");
    node_watch_check(world.node_watch);
    for (int i = 0; i < 10; i++)
        run_loop_step(world.api);
    ck_assert_uint_eq(count_remnants(), 0);

    fake_client_put(world.api, &node_kind, NODE("True", ""));
    run_loop_until(world.api, count_remnants() == 1);
    r = node_find_remnant(node_of(fake_client_find(world.api, &node_kind, NULL, "n1")), "uid-a");
    ck_assert_str_eq(r->name, "a");
    ck_assert_str_eq(r->allocation->cpus, "4-5");
    ck_assert_str_eq(r->requests.items[0].value, "2500m");

    world.is_here = false;
    world.retained = NULL;
    node_watch_check(world.node_watch);
    run_loop_until(world.api, count_remnants() == 0);
    end();
}
END_TEST

START_TEST(a_claim_that_fails_is_tried_again)
{
    begin(NODE("True", ""));
    fake_client_fail(world.api, CLIENT_MERGE_PATCH, "status", 500, "InternalError");
    fake_client_put(world.api, &node_kind, NODE("True", REMNANT));

    run_loop_until(world.api, count_remnants() == 0);
    ck_assert_uint_ge(fake_client_calls(world.api, CLIENT_MERGE_PATCH, "status"), 2);
    end();
}
END_TEST

SUITE("node_watch", a_node_that_is_well_is_left_alone, a_pod_that_was_given_up_is_noticed,
      a_pod_that_has_gone_is_noticed, a_pod_that_has_left_the_node_is_given_back,
      a_pod_on_the_node_is_kept_until_it_has_left,
      a_pod_that_was_given_up_is_claimed_when_fencing_ends, a_claim_that_fails_is_tried_again)
