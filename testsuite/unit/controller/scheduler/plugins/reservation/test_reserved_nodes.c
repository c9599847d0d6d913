/* SPDX-License-Identifier: Apache-2.0 */
/* Reservation and ReservedNodes through the real scheduler. The clock begins at
 * 2024-01-01T00:00:00Z.
 */
#include "lib/api/policy/node_reservation.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define HOUR_MS (INT64_C(3600) * 1000)
#define BACKOFF 12000

static void
add_node(struct world *w, const char *name)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\"},\"status\":{"
                  "\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"}}}",
                  name);

    fake_client_put(w->api, &node_kind, text);
}

/* Reserves node n1 from that hour of the day on. */
static void
reserve(struct world *w, const char *name, int hour, const char *more)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"u\"},\"spec\":{"
                  "\"nodes\":[\"n1\"],\"start\":\"2024-01-01T%02d:00:00Z\"%s}}",
                  name, hour, more);

    fake_client_put(w->api, &reservation_kind, text);
}

static void
add_pod(struct world *w, const char *name, int64_t limit_s, const char *own)
{
    CLEANUP_FREE char *spec =
        xasprintf("%s%.0lld%s%s%s", limit_s > 0 ? ",\"activeDeadlineSeconds\":" : "",
                  (long long)limit_s, own[0] != '\0' ? ",\"placement\":{\"reservation\":\"" : "",
                  own, own[0] != '\0' ? "\"}" : "");

    world_add_pod(w, name, "1", "1Gi", spec);
}

static const char *
cause_of(const struct world *w, const char *name)
{
    const struct pod_cause *cause = world_pod(w, name)->status.cause;

    return cause != NULL ? cause->code : "none";
}

#define TWO_HOURS   ",\"duration\":\"2h\""
#define MAINTENANCE ",\"maintenance\":true"

START_TEST(a_pod_passes_a_reservation_that_it_ends_before)
{
    static const struct {
        int64_t limit_s;
        const char *more, *node;
    } rows[] = {
        {3600, TWO_HOURS MAINTENANCE, "n1"},
        {3601, TWO_HOURS MAINTENANCE, ""},
        {0, TWO_HOURS MAINTENANCE, ""},
        {3601, TWO_HOURS ",\"recurrence\":\"Daily\",\"users\":[\"ann\"]", ""},
        {3600, TWO_HOURS ",\"recurrence\":\"Weekly\"", "n1"},
        {3601, ",\"users\":[\"ann\"]", ""},
        {3601, TWO_HOURS ",\"flexible\":true", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct world *w = world_new(NULL);

        add_node(w, "n1");
        reserve(w, "r", 1, rows[i].more);
        add_pod(w, "p", rows[i].limit_s, "");
        world_settle(w);
        world_advance(w, 1000);

        ck_assert_str_eq(world_node_of(w, "p"), rows[i].node);
        if (rows[i].node[0] == '\0')
            ck_assert_str_eq(cause_of(w, "p"), "ReservedNodes");
        world_free(w);
    }
}
END_TEST

START_TEST(a_waiting_pod_reads_which_reservation_and_when)
{
    static const struct {
        int hour;
        const char *more, *second, *words;
    } rows[] = {
        {1, TWO_HOURS MAINTENANCE, NULL,
         "would still run when reservation r begins at 2024-01-01T01:00:00Z, "
         "on every node with room"},
        {0, TWO_HOURS MAINTENANCE, NULL,
         "reservation r keeps every node with room until "
         "2024-01-01T02:00:00Z"},
        {0, ",\"users\":[\"ann\"]", NULL, "reservation r keeps every node with room"},
        {1, TWO_HOURS MAINTENANCE, "n2",
         "would still run when reservation r begins at 2024-01-01T01:00:00Z, "
         "or another"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct world *w = world_new(NULL);

        add_node(w, "n1");
        if (rows[i].second != NULL) {
            add_node(w, rows[i].second);
            fake_client_put(w->api, &reservation_kind,
                            "{\"metadata\":{\"name\":\"s\",\"uid\":\"v\"},"
                            "\"spec\":{\"nodes\":[\"n2\"],\"start\":"
                            "\"2024-01-01T01:30:00Z\",\"duration\":\"2h\"}}");
        }
        reserve(w, "r", rows[i].hour, rows[i].more);
        add_pod(w, "p", 7200, "");
        world_settle(w);
        world_advance(w, 1000);
        ck_assert_str_eq(cause_of(w, "p"), "ReservedNodes");
        ck_assert_str_eq(world_pod(w, "p")->status.cause->message, rows[i].words);
        world_free(w);
    }
}
END_TEST

START_TEST(a_pod_that_was_kept_out_starts_when_the_reservation_ends)
{
    struct world *w = world_new(NULL);
    int64_t from_us;

    add_node(w, "n1");
    reserve(w, "r", 1, TWO_HOURS MAINTENANCE);
    add_pod(w, "p", 7200, "");
    world_settle(w);
    world_advance(w, 1000);
    from_us = world_pod(w, "p")->status.cause->from_us;
    ck_assert_int_eq(from_us, FAKE_BEGIN + 3 * HOUR_MS * 1000);

    world_advance(w, 2 * HOUR_MS);
    ck_assert_str_eq(world_node_of(w, "p"), "");
    world_advance(w, HOUR_MS);
    world_advance(w, BACKOFF);
    ck_assert_str_eq(world_node_of(w, "p"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_pod_that_names_one_has_its_nodes_while_it_is_active)
{
    struct world *w = world_new(NULL);

    add_node(w, "n0");
    add_node(w, "n1");
    add_node(w, "n2");
    reserve(w, "r", 1, TWO_HOURS ",\"users\":[\"ann\"]");
    add_pod(w, "p", 60, "r");
    world_settle(w);
    world_advance(w, 1000);
    ck_assert_str_eq(world_node_of(w, "p"), "");
    ck_assert_str_eq(cause_of(w, "p"), "Reservation");
    ck_assert_int_eq(world_pod(w, "p")->status.cause->from_us, FAKE_BEGIN + HOUR_MS * 1000);

    world_advance(w, HOUR_MS);
    world_advance(w, BACKOFF);
    ck_assert_str_eq(world_node_of(w, "p"), "n1");
    for (int i = 0; i < 3; i++) {
        CLEANUP_FREE char *name = xasprintf("more%d", i);

        add_pod(w, name, 60, "r");
        world_settle(w);
        ck_assert_str_eq(world_node_of(w, name), "n1");
    }
    add_pod(w, "full", 60, "r");
    world_advance(w, 2 * HOUR_MS);
    world_advance(w, BACKOFF);
    ck_assert_str_eq(world_node_of(w, "full"), "");
    ck_assert_str_eq(cause_of(w, "full"), "ReservationDeleted");
    world_free(w);
}
END_TEST

START_TEST(one_that_goes_is_told_whatever_they_wait_for)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1");
    reserve(w, "r", 0, TWO_HOURS ",\"users\":[\"ann\"]");
    world_add_pod(w, "p", "9", "1Gi", ",\"placement\":{\"reservation\":\"r\"}");
    world_settle(w);
    world_advance(w, 1000);
    ck_assert_str_ne(cause_of(w, "p"), "ReservationDeleted");
    fake_client_remove(w->api, &reservation_kind, "", "r");
    world_settle(w);
    world_advance(w, BACKOFF);

    ck_assert_str_eq(cause_of(w, "p"), "ReservationDeleted");
    world_free(w);
}
END_TEST

START_TEST(two_that_overlap_share_and_a_maintenance_does_not)
{
    static const struct {
        const char *other, *node;
    } rows[] = {{",\"users\":[\"bob\"],\"overlap\":true" TWO_HOURS, "n1"},
                {MAINTENANCE ",\"overlap\":true" TWO_HOURS, ""}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct world *w = world_new(NULL);

        add_node(w, "n1");
        reserve(w, "r", 0, TWO_HOURS ",\"users\":[\"ann\"]");
        reserve(w, "other", 0, rows[i].other);
        add_pod(w, "p", 60, "r");
        world_settle(w);
        world_advance(w, BACKOFF);

        ck_assert_str_eq(world_node_of(w, "p"), rows[i].node);
        world_free(w);
    }
}
END_TEST

/* A pod of the node is still known: the scheduler's node view exists until that
 * is gone.
 */
START_TEST(a_node_that_is_gone_is_withheld_no_more)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1");
    add_pod(w, "p", 60, "");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "p"), "n1");
    fake_client_remove(w->api, &node_kind, "", "n1");
    world_settle(w);
    reserve(w, "r", 1, TWO_HOURS MAINTENANCE);
    world_settle(w);
    fake_client_remove(w->api, &pod_kind, "default", "p");
    world_settle(w);
    reserve(w, "r", 2, TWO_HOURS MAINTENANCE);
    world_settle(w);

    add_node(w, "n1");
    add_pod(w, "long", 7201, "");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "long"), "");
    add_pod(w, "short", 7100, "");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "short"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_clock_that_is_set_moves_what_is_active)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1");
    reserve(w, "r", 5, TWO_HOURS ",\"users\":[\"ann\"]");
    add_pod(w, "p", 60, "r");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "p"), "");
    w->time.real_us += 5 * HOUR_MS * 1000; /* forward, into the reservation */
    world_settle(w);
    world_advance(w, BACKOFF);
    ck_assert_str_eq(world_node_of(w, "p"), "n1");

    add_pod(w, "q", 3600, "");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "q"), "");
    w->time.real_us -= 5 * HOUR_MS * 1000; /* and back, before it */
    world_settle(w);
    world_advance(w, BACKOFF);
    ck_assert_str_eq(world_node_of(w, "q"), "n1");
    add_pod(w, "again", 60, "r");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "again"), "");
    world_free(w);
}
END_TEST

START_TEST(a_node_that_joins_later_is_withheld_and_one_may_leave)
{
    struct world *w = world_new(NULL);

    reserve(w, "r", 1, TWO_HOURS MAINTENANCE);
    add_pod(w, "p", 7200, "");
    world_settle(w);
    add_node(w, "n1");
    world_settle(w);
    world_advance(w, BACKOFF);
    ck_assert_str_eq(world_node_of(w, "p"), "");
    fake_client_remove(w->api, &node_kind, "", "n1");
    world_settle(w);
    add_node(w, "n1");
    world_settle(w);
    world_advance(w, BACKOFF);
    ck_assert_str_eq(world_node_of(w, "p"), "");
    fake_client_remove(w->api, &reservation_kind, "", "r");
    world_settle(w);
    world_advance(w, BACKOFF);
    ck_assert_str_eq(world_node_of(w, "p"), "n1");
    world_free(w);
}
END_TEST

START_TEST(a_scheduler_that_starts_again_knows_it)
{
    struct world *w = world_new(NULL);

    add_node(w, "n1");
    reserve(w, "r", 1, TWO_HOURS MAINTENANCE);
    world_settle(w);
    world_restart(w);
    add_pod(w, "long", 7200, "");
    add_pod(w, "short", 60, "");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "long"), "");
    ck_assert_str_eq(world_node_of(w, "short"), "n1");
    world_free(w);
}
END_TEST

START_TEST(many_changes_in_a_moment_are_one_event)
{
    struct world *w = world_new(NULL);
    uint64_t before;

    add_node(w, "n1");
    reserve(w, "r", 1, TWO_HOURS MAINTENANCE);
    add_pod(w, "p", 7200, "");
    world_settle(w);
    world_advance(w, 20000);
    before = scheduler_count(w->scheduler).attempts;
    for (int i = 0; i < 50; i++) {
        reserve(w, "r", 1, i % 2 == 0 ? TWO_HOURS "" : TWO_HOURS MAINTENANCE);
        fake_client_run(w->api);
    }
    world_settle(w);
    world_advance(w, 20000);

    ck_assert_uint_ge(scheduler_count(w->scheduler).attempts, before + 1);
    ck_assert_uint_le(scheduler_count(w->scheduler).attempts, before + 3);
    ck_assert_str_eq(world_node_of(w, "p"), "");
    world_free(w);
}
END_TEST

SUITE("reserved_nodes", a_pod_passes_a_reservation_that_it_ends_before,
      a_waiting_pod_reads_which_reservation_and_when,
      a_pod_that_was_kept_out_starts_when_the_reservation_ends,
      a_pod_that_names_one_has_its_nodes_while_it_is_active,
      one_that_goes_is_told_whatever_they_wait_for,
      two_that_overlap_share_and_a_maintenance_does_not, a_node_that_is_gone_is_withheld_no_more,
      a_clock_that_is_set_moves_what_is_active,
      a_node_that_joins_later_is_withheld_and_one_may_leave, a_scheduler_that_starts_again_knows_it,
      many_changes_in_a_moment_are_one_event)
