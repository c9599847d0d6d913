/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/gc/retention.h"

#include <check.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/json/record.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

#define HOUR (3600 * FAKE_SECOND)

static struct fake_clock now;
static struct fake_client *api;
static struct loop *loop;
static struct timer *end_of_turn;
static struct object_cache *cache;
static struct retention *retention;
static struct arena *arena;

static void
stop(void *context)
{
    (void)context;
    loop_stop(loop);
}

/* Retention checks once a second of real time. */
static void
until_left(size_t jobs)
{
    for (int i = 0; i < 300 && fake_client_count(api, &job_kind) != jobs; i++) {
        fake_client_run(api);
        timer_start(end_of_turn, 50);
        loop_run(loop);
    }
    ck_assert_uint_eq(fake_client_count(api, &job_kind), jobs);
}

static void
begin(int64_t max_age_s, int64_t max_count)
{
    now = (struct fake_clock)FAKE_CLOCK;
    arena = arena_new(0);
    api = fake_client_new();
    skip_waits();
    loop = loop_new();
    end_of_turn = timer_new(loop, stop, NULL);
    cache = object_cache_new(fake_client_client(api));
    retention = retention_new(&(struct retention_settings){
        .loop = loop,
        .client = fake_client_client(api),
        .cache = cache,
        .clock = &now.clock,
        .max_age_s = max_age_s,
        .max_count = max_count,
    });
}

static void
end(void)
{
    retention_free(retention);
    object_cache_free(cache);
    timer_free(end_of_turn);
    loop_free(loop);
    fake_client_free(api);
    arena_free(arena);
}

/* Completed that long before FAKE_BEGIN; 0: running. */
static void
put_job_of(const char *name, const char *spec, const char *pod_spec, int64_t ended_us_ago)
{
    char ended[TIME_TEXT_SIZE];
    const char *status = "";

    time_format(FAKE_BEGIN - ended_us_ago, false, ended);
    if (ended_us_ago > 0)
        status = arena_printf(arena,
                              "\"completionTime\":\"%s\",\"conditions\":"
                              "[{\"type\":\"Complete\",\"status\":\"True\","
                              "\"lastTransitionTime\":\"%s\"}]",
                              ended, ended);
    fake_client_put(api, &job_kind,
                    arena_printf(arena,
                                 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                                 "\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                                 "\"spec\":{%s\"template\":{\"spec\":{%s\"containers\":"
                                 "[{\"name\":\"main\"}]}}},\"status\":{%s}}",
                                 name, spec, pod_spec, status));
}

static void
put_job(const char *name, const char *spec, int64_t ended_us_ago)
{
    put_job_of(name, spec, "", ended_us_ago);
}

static void
put_users_job(const char *name, unsigned uid, int64_t ended_us_ago)
{
    put_job_of(name, "", arena_printf(arena, "\"securityContext\":{\"runAsUser\":%u},", uid),
               ended_us_ago);
}

static bool
is_there(const char *name)
{
    return fake_client_find(api, &job_kind, "default", name) != NULL;
}

START_TEST(jobs_go_by_their_age_once_they_have_ended)
{
    begin(24 * 3600, 0);
    put_job("old", "", 25 * HOUR);
    put_job("new", "", HOUR);
    put_job("runs", "", 0);
    object_cache_start(cache);

    until_left(2);
    ck_assert(!is_there("old"));

    fake_clock_advance(&now, 24 * HOUR);
    until_left(1);
    ck_assert(is_there("runs"));
    end();
}
END_TEST

START_TEST(those_that_say_so_go_earlier)
{
    begin(24 * 3600, 0);
    put_job("brief", "\"ttlSecondsAfterFinished\":600,", HOUR);
    put_job("usual", "", HOUR);
    object_cache_start(cache);

    until_left(1);
    ck_assert(is_there("usual"));
    end();
}
END_TEST

static void
run_for_a_while(void)
{
    for (int i = 0; i < 25; i++) {
        fake_client_run(api);
        timer_start(end_of_turn, 50);
        loop_run(loop);
    }
}

START_TEST(one_that_says_so_after_its_end_goes_earlier_or_later)
{
    begin(24 * 3600, 0);
    put_job("sooner", "", HOUR);
    put_job("later", "\"ttlSecondsAfterFinished\":7200,", HOUR);
    object_cache_start(cache);
    fake_client_run(api);
    put_job("sooner", "\"ttlSecondsAfterFinished\":600,", HOUR);
    put_job("later", "\"ttlSecondsAfterFinished\":14400,", HOUR);

    until_left(1);
    ck_assert(is_there("later"));
    fake_clock_advance(&now, 2 * HOUR);
    run_for_a_while();
    ck_assert(is_there("later"));
    fake_clock_advance(&now, HOUR);
    until_left(0);
    end();
}
END_TEST

/* The server has a newer version, which the watch has not delivered yet. */
START_TEST(one_that_was_changed_meanwhile_is_looked_at_again)
{
    begin(24 * 3600, 0);
    put_job("changed", "\"ttlSecondsAfterFinished\":600,", HOUR);
    fake_client_fail(api, CLIENT_DELETE, NULL, 409, "Conflict");
    object_cache_start(cache);

    until_left(0);
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_DELETE, NULL), 2);
    end();
}
END_TEST

START_TEST(of_too_many_the_oldest_go)
{
    begin(24 * 3600, 2);
    put_job("a", "", 3 * HOUR);
    put_job("b", "", HOUR);
    put_job("c", "", 2 * HOUR);
    put_job("runs", "", 0);
    object_cache_start(cache);

    until_left(3);
    ck_assert(!is_there("a"));
    end();
}
END_TEST

/* There are more than are removed at a time. The watch reports each removal
 * before the call is answered.
 */
START_TEST(the_oldest_go_however_many_there_are)
{
    enum { MANY = 600, KEPT = 5 };

    begin(24 * 3600, KEPT);
    for (int i = 0; i < MANY; i++)
        put_job(arena_printf(arena, "j%d", i), "", (MANY - i) * FAKE_SECOND);
    object_cache_start(cache);

    until_left(KEPT);
    ck_assert(is_there("j599"));
    ck_assert(is_there("j595"));
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_DELETE, NULL), MANY - KEPT);
    end();
}
END_TEST

START_TEST(a_removal_that_fails_is_tried_again)
{
    begin(24 * 3600, 0);
    put_job("old", "", 25 * HOUR);
    fake_client_fail(api, CLIENT_DELETE, NULL, 500, "InternalError");
    object_cache_start(cache);
    while (fake_client_calls(api, CLIENT_DELETE, NULL) == 0) {
        timer_start(end_of_turn, 10);
        loop_run(loop);
        fake_client_run(api);
    }
    ck_assert(is_there("old"));

    fake_clock_advance(&now, HOUR);

    until_left(0);
    end();
}
END_TEST

START_TEST(the_most_jobs_of_a_user_do_not_push_out_those_of_others)
{
    begin(0, 4);
    put_users_job("a-oldest", 1, 9 * HOUR);
    put_users_job("a-old", 1, 8 * HOUR);
    for (int i = 0; i < 20; i++)
        put_users_job(arena_printf(arena, "b-%d", i), 2, (int64_t)(i + 1) * FAKE_SECOND);
    object_cache_start(cache);
    until_left(4);
    ck_assert(is_there("a-oldest"));
    ck_assert(is_there("a-old"));
    ck_assert(is_there("b-0"));
    ck_assert(is_there("b-1"));
    end();
}
END_TEST

SUITE("retention", the_most_jobs_of_a_user_do_not_push_out_those_of_others,
      jobs_go_by_their_age_once_they_have_ended, those_that_say_so_go_earlier,
      one_that_says_so_after_its_end_goes_earlier_or_later,
      one_that_was_changed_meanwhile_is_looked_at_again, of_too_many_the_oldest_go,
      the_oldest_go_however_many_there_are, a_removal_that_fails_is_tried_again)
