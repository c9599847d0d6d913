/* SPDX-License-Identifier: Apache-2.0 */
/* The node health controller, on a clock that the test advances. */
#include "controller/lifecycle/node/node_health.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

#define GRACE (40 * FAKE_SECOND)

static struct fake_clock now;
static struct fake_client *api;
static struct loop *loop;
static struct timer *end_of_turn;
static struct object_cache *cache;
static struct node_health *health;
static int renewals;
static const char *fence_program; /* NULL: none */
static bool cut_off;

static void
stop(void *context)
{
    (void)context;
    loop_stop(loop);
}

/* Runs loop and API until both have nothing left to do. */
static void
settle(void)
{
    for (int i = 0; i < 10; i++) {
        fake_client_run(api);
        timer_start(end_of_turn, 2);
        loop_run(loop);
    }
    fake_client_run(api);
}

static void
pass_time(int64_t us)
{
    fake_clock_advance(&now, us);
    settle();
}

static void
renew(const char *node)
{
    char text[256];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"kube-node-lease\"},\"spec\":{\"renewTime\":"
             "\"2020-01-01T00:%02d:%02d.000000Z\"}}",
             node, renewals / 60, renewals % 60);
    renewals++;
    fake_client_put(api, &lease_kind, text);
}

#define FENCED                                                    \
    "\"taints\":[{\"key\":\"node.kubernetes.io/out-of-service\"," \
    "\"effect\":\"NoExecute\"}]"

static void
put_node(const char *name, const char *spec)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s},\"status\":"
                  "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                  name, spec);

    fake_client_put(api, &node_kind, text);
}

/* The node of an agent of user 4711. */
static void
put_users_node(const char *name)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"" LABEL_ROOTLESS "\":\"4711\"}},"
                  "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                  name);

    fake_client_put(api, &node_kind, text);
}

static void
put_pod(const char *name, const char *node, const char *spec)
{
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                                        "\"spec\":{\"nodeName\":\"%s\",%s\"containers\":[{\"name\":"
                                        "\"main\"}]},\"status\":{\"phase\":\"Running\"}}",
                                        name, node, spec);

    fake_client_put(api, &pod_kind, text);
}

static const char *
phase(const char *pod)
{
    return pod_of(fake_client_find(api, &pod_kind, "default", pod))->status.phase;
}

static const struct node *
the_node(const char *name)
{
    return node_of(fake_client_find(api, &node_kind, NULL, name));
}

static const char *
ready(const char *name)
{
    const struct node *node = the_node(name);

    for (unsigned i = 0; i < node->status.conditions.count; i++)
        if (strcmp(node->status.conditions.items[i].type, "Ready") == 0)
            return node->status.conditions.items[i].status;
    return "";
}

static bool
is_tainted(const char *name, const char *key)
{
    const struct node *node = the_node(name);

    for (unsigned i = 0; i < node->spec.taints.count; i++)
        if (strcmp(node->spec.taints.items[i].key, key) == 0)
            return true;
    return false;
}

static bool
is_cut_off(UNUSED void *context)
{
    return cut_off;
}

static void
begin(void)
{
    struct node_health_settings settings = {.check_ms = 1, .is_cut_off = is_cut_off};

    now = (struct fake_clock)FAKE_CLOCK;
    renewals = 0;
    if (fence_program == NULL) /* a program takes real time */
        skip_waits();
    api = fake_client_new();
    loop = loop_new();
    end_of_turn = timer_new(loop, stop, NULL);
    cache = object_cache_new(fake_client_client(api));
    settings.loop = loop;
    settings.client = fake_client_client(api);
    settings.cache = cache;
    settings.clock = &now.clock;
    settings.grace_ms = GRACE / 1000;
    settings.fence_program = fence_program;
    settings.fence_after_ms = 10 * GRACE / 1000;
    settings.fence_limit_ms = 30000;
    health = node_health_new(&settings);
    object_cache_start(cache);
}

static void
end(void)
{
    node_health_free(health);
    object_cache_free(cache);
    timer_free(end_of_turn);
    loop_free(loop);
    fake_client_free(api);
}

START_TEST(a_silent_nodes_pods_are_unknown_and_keep_what_they_have)
{
    begin();
    put_node("n1", "");
    put_pod("p", "n1", "");
    renew("n1");
    settle();

    pass_time(GRACE);
    ck_assert_str_eq(ready("n1"), "True");
    pass_time(FAKE_SECOND);
    ck_assert_str_eq(ready("n1"), "Unknown");
    ck_assert(is_tainted("n1", TAINT_UNREACHABLE));
    ck_assert_str_eq(phase("p"), "Unknown");
    ck_assert_uint_eq(fake_client_count(api, &event_kind), 2); /* node and pod */
    pass_time(1000 * GRACE);
    ck_assert_str_eq(phase("p"), "Unknown");
    ck_assert_uint_eq(fake_client_count(api, &event_kind), 2);
    end();
}
END_TEST

/* A repeated list shows the same renewal. */
START_TEST(a_node_is_heard_of_when_its_lease_is_renewed_and_only_then)
{
    begin();
    put_node("n1", "");
    renew("n1");
    settle();

    pass_time(GRACE / 2);
    renew("n1");
    settle();
    pass_time(GRACE / 2 + FAKE_SECOND);
    ck_assert_str_eq(ready("n1"), "True");

    renewals--;
    renew("n1"); /* with the time of the former renewal */
    pass_time(GRACE / 2);
    ck_assert_str_eq(ready("n1"), "Unknown");

    renew("n1");
    settle();
    ck_assert(!is_tainted("n1", TAINT_UNREACHABLE));
    end();
}
END_TEST

START_TEST(clocks_begin_when_this_controller_is_ready)
{
    begin();
    put_node("n1", "");
    renew("n1");
    fake_clock_advance(&now, 1000 * GRACE);
    settle();

    ck_assert_str_eq(ready("n1"), "True");
    pass_time(GRACE + FAKE_SECOND);
    ck_assert_str_eq(ready("n1"), "Unknown");
    end();
}
END_TEST

/* Meanwhile it refuses heartbeats. */
START_TEST(silence_counts_anew_after_this_controller_was_cut_off)
{
    begin();
    put_node("n1", "");
    put_node("n2", "");
    put_pod("p", "n1", "\"execution\":{\"fenceAfterSeconds\":120},");
    renew("n2");
    settle();
    cut_off = true;
    pass_time(1000 * GRACE);
    ck_assert_str_eq(ready("n1"), "True");
    cut_off = false;
    pass_time(GRACE - FAKE_SECOND);
    ck_assert_str_eq(ready("n1"), "True");
    renew("n2");
    pass_time(2 * FAKE_SECOND);
    ck_assert_str_eq(ready("n1"), "Unknown");
    ck_assert_str_eq(ready("n2"), "True");

    cut_off = true;
    pass_time(1000 * GRACE);
    put_pod("q", "n1", ""); /* a reason to look at the node's pods */
    settle();
    ck_assert_str_eq(phase("p"), "Unknown");
    cut_off = false;
    end();
}
END_TEST

START_TEST(pods_are_given_up_when_their_node_is_fenced)
{
    begin();
    put_node("n1", "");
    put_pod("p", "n1", "");
    settle();
    pass_time(GRACE + FAKE_SECOND);
    ck_assert_str_eq(phase("p"), "Unknown");

    put_node("n1", FENCED);
    settle();

    ck_assert_str_eq(phase("p"), "Failed");
    ck_assert_str_eq(pod_of(fake_client_find(api, &pod_kind, "default", "p"))->status.reason,
                     "NodeLost");
    end();
}
END_TEST

START_TEST(a_pod_that_fences_itself_is_given_up_some_time_after_that)
{
    begin();
    put_node("n1", "");
    put_pod("careful", "n1", "\"execution\":{\"fenceAfterSeconds\":60},");
    put_pod("other", "n1", "");
    settle();

    pass_time(69 * FAKE_SECOND);
    ck_assert_str_eq(phase("careful"), "Unknown");
    pass_time(2 * FAKE_SECOND);
    put_pod("nudge", "n1", "");
    settle();
    ck_assert_str_eq(phase("careful"), "Failed");
    ck_assert_str_eq(phase("other"), "Unknown");
    end();
}
END_TEST

/* Then this controller itself may be cut off. */
START_TEST(while_most_nodes_are_silent_nothing_is_given_up)
{
    static const char *const nodes[] = {"n1", "n2", "n3", "n4"};

    begin();
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        put_node(nodes[i], "");
    put_pod("careful", "n1", "\"execution\":{\"fenceAfterSeconds\":60},");
    settle();
    pass_time(GRACE + FAKE_SECOND);
    pass_time(60 * FAKE_SECOND);
    put_pod("nudge", "n1", "");
    settle();
    ck_assert_str_eq(phase("careful"), "Unknown");

    for (size_t i = 1; i < ARRAY_SIZE(nodes); i++)
        renew(nodes[i]);
    settle();
    put_pod("nudge", "n1", "\"hostname\":\"again\",");
    settle();
    ck_assert_str_eq(phase("careful"), "Failed");
    end();
}
END_TEST

/* A user could otherwise end many nodes of his own, and nobody's pods would be
 * given up.
 */
START_TEST(silent_nodes_of_users_hold_nothing_up)
{
    static const char *const nodes[] = {"n1", "n2", "n3", "n4"};
    static const char *const users[] = {"a-eve", "b-eve", "c-eve", "d-eve", "e-eve"};

    begin();
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        put_node(nodes[i], "");
    for (size_t i = 0; i < ARRAY_SIZE(users); i++)
        put_users_node(users[i]);
    put_pod("careful", "n1", "\"execution\":{\"fenceAfterSeconds\":60},");
    settle();
    for (int k = 0; k < 4; k++) {
        pass_time(GRACE - FAKE_SECOND);
        for (size_t i = 1; i < ARRAY_SIZE(nodes); i++)
            renew(nodes[i]);
        settle();
    }
    pass_time(FAKE_SECOND);
    put_pod("nudge", "n1", "");
    settle();
    ck_assert_str_eq(phase("careful"), "Failed");
    end();
}
END_TEST

/* ---- Switching nodes off ---- */

/* Passes the time after which a silent node is switched off; the pod's event
 * stands for the timer, which has the real clock.
 */
static void
wait_for_fencing(const char *program)
{
    fence_program = program;
    begin();
    fence_program = NULL;
    put_node("n1", "");
    put_pod("p", "n1", "");
    renew("n1");
    settle();
    pass_time(GRACE + FAKE_SECOND);
    put_pod("p", "n1", "");
    settle();
    ck_assert(!is_tainted("n1", TAINT_OUT_OF_SERVICE));
    pass_time(9 * GRACE);
    put_pod("p", "n1", "");
    settle();
}

START_TEST(a_silent_node_is_fenced_when_the_program_has_switched_it_off)
{
    wait_for_fencing("/bin/true");
    for (int i = 0; i < 5000 && !is_tainted("n1", TAINT_OUT_OF_SERVICE); i++)
        settle();
    ck_assert(is_tainted("n1", TAINT_OUT_OF_SERVICE));
    settle();
    ck_assert_str_eq(phase("p"), "Failed");
    end();
}
END_TEST

START_TEST(a_node_is_not_fenced_when_the_program_fails_or_cannot_be_run)
{
    static const char *const programs[] = {"/bin/false", "/nonexistent/program"};

    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        wait_for_fencing(programs[i]);
        for (int k = 0; k < 5000 && fake_client_count(api, &event_kind) < 3 + (i == 0); k++)
            settle();
        ck_assert_uint_ge(fake_client_count(api, &event_kind), 3 + (i == 0));
        ck_assert(!is_tainted("n1", TAINT_OUT_OF_SERVICE));
        ck_assert_str_eq(phase("p"), "Unknown");
        end();
    }
}
END_TEST

START_TEST(a_node_without_pods_is_not_switched_off_nor_are_most_nodes)
{
    fence_program = "/bin/true";
    begin();
    fence_program = NULL;
    for (int i = 0; i < 4; i++) {
        char name[8];

        snprintf(name, sizeof(name), "n%d", i);
        put_node(name, "");
        renew(name);
    }
    put_pod("p", "n0", "");
    settle();
    pass_time(11 * GRACE); /* all are silent */
    put_pod("p", "n0", "");
    for (int i = 0; i < 20; i++)
        settle();
    ck_assert(!is_tainted("n0", TAINT_OUT_OF_SERVICE));

    fake_client_remove(api, &pod_kind, "default", "p");
    settle();
    for (int i = 1; i < 4; i++) {
        char name[8];

        snprintf(name, sizeof(name), "n%d", i);
        renew(name);
    }
    for (int i = 0; i < 20; i++)
        settle();
    ck_assert(!is_tainted("n0", TAINT_OUT_OF_SERVICE));
    end();
}
END_TEST

/* The name that a user gave his node may be that of a machine to the program. */
START_TEST(the_node_of_a_user_is_not_switched_off)
{
    fence_program = "/bin/true";
    begin();
    fence_program = NULL;
    put_users_node("n1.eve");
    put_node("n1", "");
    put_pod("p", "n1.eve", "");
    put_pod("q", "n1", "");
    settle();
    pass_time(11 * GRACE);
    put_pod("p", "n1.eve", "");
    put_pod("q", "n1", "");
    for (int i = 0; i < 5000 && !is_tainted("n1", TAINT_OUT_OF_SERVICE); i++)
        settle();
    ck_assert(is_tainted("n1", TAINT_OUT_OF_SERVICE));
    ck_assert(!is_tainted("n1.eve", TAINT_OUT_OF_SERVICE));
    end();
}
END_TEST

START_TEST(the_lease_of_a_node_goes_with_it)
{
    begin();
    put_node("n1", "");
    renew("n1");
    settle();

    fake_client_remove(api, &node_kind, NULL, "n1");
    settle();

    ck_assert_uint_eq(fake_client_count(api, &lease_kind), 0);
    end();
}
END_TEST

START_TEST(a_change_that_could_not_be_written_is_written_later)
{
    begin();
    put_node("n1", "");
    put_pod("p", "n1", "");
    settle();
    fake_client_fail(api, CLIENT_MERGE_PATCH, "status", 503, "Unavailable");

    pass_time(GRACE + FAKE_SECOND);
    for (int i = 0; i < 100 && strcmp(phase("p"), "Unknown") != 0; i++)
        settle();
    for (int i = 0; i < 100 && strcmp(ready("n1"), "Unknown") != 0; i++)
        settle();

    ck_assert_str_eq(ready("n1"), "Unknown");
    ck_assert_str_eq(phase("p"), "Unknown");
    end();
}
END_TEST

SUITE("node_health", a_silent_nodes_pods_are_unknown_and_keep_what_they_have,
      a_node_is_heard_of_when_its_lease_is_renewed_and_only_then,
      clocks_begin_when_this_controller_is_ready,
      silence_counts_anew_after_this_controller_was_cut_off,
      pods_are_given_up_when_their_node_is_fenced,
      a_pod_that_fences_itself_is_given_up_some_time_after_that,
      while_most_nodes_are_silent_nothing_is_given_up, silent_nodes_of_users_hold_nothing_up,
      a_silent_node_is_fenced_when_the_program_has_switched_it_off,
      a_node_is_not_fenced_when_the_program_fails_or_cannot_be_run,
      a_node_without_pods_is_not_switched_off_nor_are_most_nodes,
      the_node_of_a_user_is_not_switched_off, the_lease_of_a_node_goes_with_it,
      a_change_that_could_not_be_written_is_written_later)
