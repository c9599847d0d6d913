/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/heartbeat.h"

#include "lib/api/cluster/lease.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/clock.h"
#include "testsuite/unit/agent/run_loop.h"

static struct {
    struct fake_client *api;
    struct heartbeat *heartbeat;
    unsigned lost, renewed, back;
    int64_t sent_us;
} world;

static void
lost(void *context)
{
    (void)context;
    world.lost++;
}

static void
renewed(int64_t sent_us, void *context)
{
    (void)context;
    world.renewed++;
    world.sent_us = sent_us;
}

static void
back(void *context)
{
    (void)context;
    world.back++;
}

static void
begin(int64_t every_ms)
{
    memset(&world, 0, sizeof(world));
    world.api = fake_client_new();
    world.heartbeat = heartbeat_new(&(struct heartbeat_settings){
        .loop = fake_client_client(world.api)->loop,
        .client = fake_client_client(world.api),
        .clock = &clock_system,
        .node = "n1",
        .every_ms = every_ms,
        .lost = lost,
        .renewed = renewed,
        .back = back,
    });
    heartbeat_start(world.heartbeat);
}

static void
end(void)
{
    heartbeat_free(world.heartbeat);
    fake_client_free(world.api);
}

static const struct object *
find_lease(void)
{
    return fake_client_find(world.api, &lease_kind, NODE_LEASE_NAMESPACE, "n1");
}

START_TEST(a_lease_that_is_missing_is_made)
{
    int64_t before_us = clock_boottime_us();

    begin(0);
    run_loop_until(world.api, world.renewed > 0);

    ck_assert_str_eq(lease_of(find_lease())->spec.holder, "n1");
    ck_assert_uint_eq(world.lost, 0);
    ck_assert_int_ge(world.sent_us, before_us);
    ck_assert_int_le(world.sent_us, clock_boottime_us());
    end();
}
END_TEST

START_TEST(a_lease_lasts_four_beats)
{
    static const struct {
        int64_t every_ms;
        int64_t duration_s;
    } cases[] = {{0, 40}, {10000, 40}, {300, 2}, {1, 1}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin(cases[i].every_ms);
        run_loop_until(world.api, world.renewed > 0);
        ck_assert_int_eq(lease_of(find_lease())->spec.duration_s, cases[i].duration_s);
        end();
    }
}
END_TEST

START_TEST(a_heartbeat_can_be_hastened_but_not_doubled)
{
    begin(3600 * 1000);
    heartbeat_hasten(world.heartbeat);
    heartbeat_hasten(world.heartbeat);
    run_loop_until(world.api, world.renewed > 0);
    ck_assert_uint_eq(world.renewed, 1);

    heartbeat_hasten(world.heartbeat);
    run_loop_until(world.api, world.renewed > 1);
    ck_assert_uint_eq(world.renewed, 2);
    end();
}
END_TEST

START_TEST(the_heartbeat_goes_on_through_failures)
{
    begin(1);
    run_loop_until(world.api, world.renewed > 0);
    fake_client_fail(world.api, CLIENT_MERGE_PATCH, NULL, 500, "InternalError");
    ck_assert_uint_eq(world.back, 0);
    run_loop_until(world.api, world.renewed > 3);

    ck_assert_uint_eq(world.lost, 0);
    ck_assert_uint_eq(world.back, 1);
    end();
}
END_TEST

START_TEST(a_lease_that_has_gone_is_made_again_and_said)
{
    begin(1);
    run_loop_until(world.api, world.renewed > 0);
    fake_client_remove(world.api, &lease_kind, NODE_LEASE_NAMESPACE, "n1");
    run_loop_until(world.api, world.lost > 0);

    run_loop_until(world.api, find_lease() != NULL);
    ck_assert_uint_eq(world.lost, 1);
    end();
}
END_TEST

SUITE("heartbeat", a_heartbeat_can_be_hastened_but_not_doubled, a_lease_that_is_missing_is_made,
      a_lease_lasts_four_beats, the_heartbeat_goes_on_through_failures,
      a_lease_that_has_gone_is_made_again_and_said)
