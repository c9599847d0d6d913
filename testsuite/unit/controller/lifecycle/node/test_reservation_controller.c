/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/node/reservation_controller.h"

#include <check.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/base/alloc.h"
#include "lib/client/client.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

#define HOUR    (3600 * FAKE_SECOND)
#define TURN_MS 6000 /* the controller looks at the clock every 5 s */

#define AT_1    "\"start\":\"2024-01-01T01:00:00Z\","
#define AT_ONCE "\"start\":\"2024-01-01T00:00:00Z\","

static struct fake_clock now;
static struct fake_client *api;
static struct loop *loop;
static struct timer *end_of_turn;
static struct object_cache *cache;
static struct reservation_controller *controller;

static void
stop(UNUSED void *context)
{
    loop_stop(loop);
}

static void
settle(void)
{
    for (int i = 0; i < 4; i++) {
        fake_client_run(api);
        timer_start(end_of_turn, TURN_MS);
        loop_run(loop);
    }
    fake_client_run(api);
}

static void
advance(int64_t us)
{
    fake_clock_advance(&now, us);
    settle();
}

static void
begin(void)
{
    now = (struct fake_clock)FAKE_CLOCK;
    api = fake_client_new();
    skip_waits();
    loop = loop_new();
    end_of_turn = timer_new(loop, stop, NULL);
    cache = object_cache_new(fake_client_client(api));
    controller = reservation_controller_new(loop, fake_client_client(api), cache, &now.clock);
}

static void
start(void)
{
    object_cache_start(cache);
    settle();
}

static void
end(void)
{
    client_abandon(fake_client_client(api));
    reservation_controller_free(controller);
    object_cache_free(cache);
    timer_free(end_of_turn);
    loop_free(loop);
    fake_client_free(api);
}

static void
put_node_as(const char *name, const char *meta, const char *spec, bool is_ready)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\"%s},\"spec\":{%s},\"status\":{\"conditions\":["
                  "{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
                  name, meta, spec, is_ready ? "True" : "Unknown");

    fake_client_put(api, &node_kind, text);
}

static void
put_node(const char *name)
{
    put_node_as(name, "", "", true);
}

/* A pod that has run since FAKE_BEGIN. */
static void
put_pod(const char *name, const char *node, const char *spec, const char *phase)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{"
                  "\"nodeName\":\"%s\",%s\"containers\":[{\"name\":\"main\"}]},\"status\":{"
                  "\"phase\":\"%s\",\"startTime\":\"2024-01-01T00:00:00Z\"}}",
                  name, node, spec, phase);

    fake_client_put(api, &pod_kind, text);
}

static void
put_reservation(const char *name, const char *spec)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s}}", name, spec);

    fake_client_put(api, &reservation_kind, text);
}

static const struct node_reservation_status *
status(const char *name)
{
    const struct object *object = fake_client_find(api, &reservation_kind, NULL, name);

    ck_assert_ptr_nonnull(object);
    return &node_reservation_of(object)->status;
}

/* The names of its nodes; until the next call. */
static const char *
nodes(const char *name)
{
    static char text[256];
    const struct node_reservation_status *s = status(name);
    size_t length = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < s->nodes.count; i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", i > 0 ? " " : "",
                                   s->nodes.items[i]);
    return text;
}

static bool
is_cordoned(const char *node)
{
    return node_of(fake_client_find(api, &node_kind, NULL, node))->spec.unschedulable;
}

START_TEST(one_is_planned_then_active_then_ended_and_goes_after_a_day)
{
    begin();
    put_node("n1");
    put_reservation("r", AT_1 "\"duration\":\"2h\",\"nodes\":[\"n1\"]");
    start();
    ck_assert_str_eq(status("r")->state, RESERVATION_PLANNED);
    ck_assert_str_eq(nodes("r"), "n1");
    ck_assert_int_eq(status("r")->start_us, FAKE_BEGIN + HOUR);
    ck_assert_int_eq(status("r")->end_us, FAKE_BEGIN + 3 * HOUR);

    advance(HOUR);
    ck_assert_str_eq(status("r")->state, RESERVATION_ACTIVE);
    advance(2 * HOUR - FAKE_SECOND);
    ck_assert_str_eq(status("r")->state, RESERVATION_ACTIVE);
    advance(FAKE_SECOND);
    ck_assert_str_eq(status("r")->state, RESERVATION_ENDED);
    ck_assert_str_eq(nodes("r"), "n1");

    advance(24 * HOUR);
    ck_assert_uint_eq(fake_client_count(api, &reservation_kind), 1);
    advance(FAKE_SECOND);
    ck_assert_uint_eq(fake_client_count(api, &reservation_kind), 0);
    end();
}
END_TEST

START_TEST(a_clock_that_was_set_deletes_none)
{
    begin();
    put_node("n1");
    put_reservation("r", AT_ONCE "\"duration\":\"1h\",\"nodes\":[\"n1\"]");
    start();
    advance(HOUR);
    ck_assert_str_eq(status("r")->state, RESERVATION_ENDED);

    now.real_us += 48 * HOUR;
    settle();
    ck_assert_uint_eq(fake_client_count(api, &reservation_kind), 1);
    end();
}
END_TEST

START_TEST(a_daily_one_is_planned_again)
{
    begin();
    put_node("n1");
    put_reservation("r", AT_1 "\"duration\":\"2h\",\"recurrence\":\"Daily\",\"nodes\":[\"n1\"]");
    start();
    advance(3 * HOUR);
    ck_assert_str_eq(status("r")->state, RESERVATION_PLANNED);
    ck_assert_int_eq(status("r")->start_us, FAKE_BEGIN + 25 * HOUR);
    advance(22 * HOUR);
    ck_assert_str_eq(status("r")->state, RESERVATION_ACTIVE);
    end();
}
END_TEST

START_TEST(a_node_that_is_gone_or_silent_is_named)
{
    begin();
    put_node_as("n2", "", "", false);
    put_reservation("r", AT_1 "\"duration\":\"2h\",\"nodes\":[\"n1\",\"n2\"]");
    start();
    ck_assert_str_eq(status("r")->message, "node n1 is gone, node n2 is not ready");

    put_node("n1");
    put_node("n2");
    settle();
    ck_assert(status("r")->message == NULL || status("r")->message[0] == '\0');
    end();
}
END_TEST

START_TEST(a_number_takes_nodes_that_are_free_by_then_and_keeps_them)
{
    begin();
    put_node("n10");
    put_node("n9");
    put_node("n1"); /* busy for ever */
    put_node("n2"); /* busy until the start */
    put_node_as("n3", "", "\"unschedulable\":true", true);
    put_node_as("n4", "", "", false);
    put_pod("long", "n1", "", "Running");
    put_pod("brief", "n2", "\"activeDeadlineSeconds\":3600,", "Running");
    put_reservation("r", AT_1 "\"duration\":\"2h\",\"nodeCount\":3");
    start();
    ck_assert_str_eq(nodes("r"), "n2 n9 n10");

    put_pod("long", "n1", "", "Succeeded");
    put_node("n4");
    put_node("n0");
    settle();
    ck_assert_str_eq(nodes("r"), "n2 n9 n10");
    end();
}
END_TEST

START_TEST(the_node_that_is_free_first_is_taken_if_none_is_free_in_time)
{
    begin();
    put_node("n1");
    put_node("n2");
    put_pod("longer", "n1", "\"activeDeadlineSeconds\":14400,", "Running");
    put_pod("long", "n2", "\"activeDeadlineSeconds\":10800,", "Running");
    put_reservation("r", AT_1 "\"duration\":\"2h\",\"nodeCount\":1");
    start();
    ck_assert_str_eq(nodes("r"), "n2");
    end();
}
END_TEST

START_TEST(only_nodes_with_the_labels_and_none_of_a_user_are_taken)
{
    begin();
    put_node_as("n1", ",\"labels\":{\"rack\":\"a\"}", "", true);
    put_node_as("n2", ",\"labels\":{\"rack\":\"b\"}", "", true);
    put_node_as("n3",
                ",\"labels\":{\"rack\":\"b\"},\"annotations\":{\"" ANNOTATION_UID "\":\"4711\"}",
                "", true);
    put_reservation("r",
                    AT_1 "\"duration\":\"2h\",\"nodeCount\":2,\"nodeSelector\":{\"rack\":\"b\"}");
    start();
    ck_assert_str_eq(nodes("r"), "n2");
    ck_assert_str_eq(status("r")->message, "it has 1 of 2 nodes, and no other is free");
    end();
}
END_TEST

START_TEST(two_numbers_share_no_node_at_the_same_time)
{
    begin();
    put_node("n1");
    put_node("n2");
    put_reservation("a", AT_1 "\"duration\":\"2h\",\"nodeCount\":1");
    start();
    ck_assert_str_eq(nodes("a"), "n1");
    put_reservation("meets",
                    "\"start\":\"2024-01-01T02:59:00Z\",\"duration\":\"2h\",\"nodeCount\":1");
    put_reservation("follows",
                    "\"start\":\"2024-01-01T05:00:00Z\",\"duration\":\"2h\",\"nodeCount\":1");
    put_reservation("may", AT_1 "\"duration\":\"2h\",\"nodeCount\":1,\"overlap\":true");
    settle();
    ck_assert_str_eq(nodes("meets"), "n2");
    ck_assert_str_eq(nodes("follows"), "n1");
    ck_assert_str_eq(nodes("may"), "n1");
    end();
}
END_TEST

START_TEST(a_silent_node_is_replaced_and_kept_if_there_is_no_other)
{
    begin();
    put_node("n1");
    put_node("n2");
    put_reservation("r", AT_1 "\"duration\":\"2h\",\"nodeCount\":1");
    start();
    ck_assert_str_eq(nodes("r"), "n1");

    put_node_as("n1", "", "", false);
    settle();
    ck_assert_str_eq(nodes("r"), "n2");
    ck_assert_uint_eq(fake_client_count(api, &event_kind), 1);

    put_node_as("n2", "", "", false);
    settle();
    ck_assert_str_eq(nodes("r"), "n2");
    ck_assert_str_eq(status("r")->message, "node n2 is not ready");
    end();
}
END_TEST

START_TEST(a_flexible_one_begins_when_others_pods_have_ended)
{
    begin();
    put_node("n1");
    put_pod("other", "n1", "", "Running");
    put_pod("own", "n1", "\"placement\":{\"reservation\":\"r\"},", "Running");
    put_reservation("r", AT_1 "\"duration\":\"2h\",\"flexible\":true,\"nodes\":[\"n1\"],"
                              "\"deadline\":\"2024-01-01T02:00:00Z\"");
    start();
    ck_assert_str_eq(status("r")->state, RESERVATION_PLANNED);
    advance(HOUR);
    ck_assert_str_eq(status("r")->state, RESERVATION_PLANNED);
    ck_assert_str_eq(status("r")->message, "waits for 1 pod to end");
    advance(HOUR);
    ck_assert_str_eq(status("r")->message, "waits for 1 pod to end, it is past its deadline");

    put_pod("other", "n1", "", "Succeeded");
    settle();
    ck_assert_str_eq(status("r")->state, RESERVATION_ACTIVE);
    ck_assert_int_eq(status("r")->begun_us, FAKE_BEGIN + 2 * HOUR);
    ck_assert_int_eq(status("r")->end_us, FAKE_BEGIN + 4 * HOUR);
    advance(2 * HOUR);
    ck_assert_str_eq(status("r")->state, RESERVATION_ENDED);
    end();
}
END_TEST

START_TEST(a_maintenance_cordons_its_nodes_while_it_is_active)
{
    const struct object *node;

    begin();
    put_node("n1");
    put_node_as("n2", "", "\"unschedulable\":true", true);
    put_node("n3");
    put_reservation("m", AT_1 "\"duration\":\"2h\",\"maintenance\":true,\"reason\":\"firmware\","
                              "\"nodes\":[\"n1\",\"n2\"]");
    start();
    ck_assert(!is_cordoned("n1"));

    advance(HOUR);
    ck_assert(is_cordoned("n1"));
    ck_assert(!is_cordoned("n3"));
    node = fake_client_find(api, &node_kind, NULL, "n1");
    ck_assert_str_eq(string_map_find(&node->meta->annotations, "kiln.hpc/maintenance"), "m");
    ck_assert_str_eq(string_map_find(&node->meta->annotations, "kiln.hpc/drain-reason"),
                     "firmware");

    advance(2 * HOUR);
    ck_assert(!is_cordoned("n1"));
    ck_assert(is_cordoned("n2")); /* somebody else's */
    node = fake_client_find(api, &node_kind, NULL, "n1");
    ck_assert_ptr_null(string_map_find(&node->meta->annotations, "kiln.hpc/drain-reason"));
    end();
}
END_TEST

START_TEST(a_maintenance_that_is_deleted_gives_its_nodes_back)
{
    begin();
    put_node("n1");
    put_reservation("m", AT_ONCE "\"maintenance\":true,\"nodes\":[\"n1\"]");
    start();
    ck_assert(is_cordoned("n1"));

    fake_client_remove(api, &reservation_kind, NULL, "m");
    settle();
    ck_assert(!is_cordoned("n1"));
    end();
}
END_TEST

START_TEST(the_start_gives_nodes_of_a_deleted_maintenance_back)
{
    begin();
    put_node_as("n1", ",\"annotations\":{\"kiln.hpc/maintenance\":\"gone\"}",
                "\"unschedulable\":true", true);
    start();
    ck_assert(!is_cordoned("n1"));
    end();
}
END_TEST

SUITE("reservation_controller", one_is_planned_then_active_then_ended_and_goes_after_a_day,
      a_clock_that_was_set_deletes_none, a_daily_one_is_planned_again,
      a_node_that_is_gone_or_silent_is_named,
      a_number_takes_nodes_that_are_free_by_then_and_keeps_them,
      the_node_that_is_free_first_is_taken_if_none_is_free_in_time,
      only_nodes_with_the_labels_and_none_of_a_user_are_taken,
      two_numbers_share_no_node_at_the_same_time,
      a_silent_node_is_replaced_and_kept_if_there_is_no_other,
      a_flexible_one_begins_when_others_pods_have_ended,
      a_maintenance_cordons_its_nodes_while_it_is_active,
      a_maintenance_that_is_deleted_gives_its_nodes_back,
      the_start_gives_nodes_of_a_deleted_maintenance_back)
