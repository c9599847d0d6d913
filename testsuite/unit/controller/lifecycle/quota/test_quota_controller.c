/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/quota/quota_controller.h"

#include <check.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

/* counts are written once a second */
#define PATIENCE_US (20 * INT64_C(1000000))

static struct fake_client *api;
static struct loop *loop;
static struct timer *end_of_turn;
static struct object_cache *cache;
static struct quota_controller *counter;
static struct arena *arena;

static void
stop(void *context)
{
    (void)context;
    loop_stop(loop);
}

static void
turn(void)
{
    fake_client_run(api);
    timer_start(end_of_turn, 5);
    loop_run(loop);
    fake_client_run(api);
}

static void
begin(void)
{
    arena = arena_new(0);
    api = fake_client_new();
    skip_waits();
    loop = loop_new();
    end_of_turn = timer_new(loop, stop, NULL);
    cache = object_cache_new(fake_client_client(api));
    counter = quota_controller_new(loop, fake_client_client(api), cache);
    object_cache_start(cache);
    turn();
}

static void
end(void)
{
    quota_controller_free(counter);
    object_cache_free(cache);
    timer_free(end_of_turn);
    loop_free(loop);
    fake_client_free(api);
    arena_free(arena);
}

static void
put_quota(const char *name, const char *hard)
{
    fake_client_put(api, &resource_quota_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"%s\","
                                 "\"namespace\":\"a\"},\"spec\":{\"hard\":%s}}",
                                 name, hard));
}

static void
put(const struct kind *kind, const char *namespace, const char *name)
{
    fake_client_put(api, kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"%s\","
                                 "\"namespace\":\"%s\"}}",
                                 name, namespace));
}

static void
put_claim(const char *name, const char *size)
{
    fake_client_put(api, &persistent_volume_claim_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"%s\","
                                 "\"namespace\":\"a\"},\"spec\":{\"resources\":"
                                 "{\"requests\":{\"storage\":\"%s\"}}}}",
                                 name, size));
}

static const char *
used(const char *quota, const char *what)
{
    const struct object *o = fake_client_find(api, &resource_quota_kind, "a", quota);
    const char *text = json_get_text(json_get_path(object_tree(o, arena), "status.used"), what);

    return text != NULL ? text : "";
}

static void
expect_used(const char *quota, const char *what, const char *amount)
{
    int64_t until_us = clock_monotonic_us(&clock_system) + PATIENCE_US;

    while (strcmp(used(quota, what), amount) != 0 && clock_monotonic_us(&clock_system) < until_us)
        turn();
    ck_assert_str_eq(used(quota, what), amount);
}

START_TEST(the_share_of_a_removed_object_is_given_back_whatever_its_kind)
{
    begin();
    put(&config_map_kind, "a", "one");
    put(&config_map_kind, "b", "elsewhere");
    put_quota("q", "{\"configmaps\":\"9\",\"count/jobs.batch\":\"9\","
                   "\"requests.storage\":\"1Ti\"}");
    expect_used("q", "configmaps", "1");
    put(&config_map_kind, "a", "two");
    put(&job_kind, "a", "job");
    put_claim("data", "1Gi");
    expect_used("q", "requests.storage", "1Gi");
    ck_assert_str_eq(used("q", "configmaps"), "2");
    ck_assert_str_eq(used("q", "count/jobs.batch"), "1");

    put_claim("data", "3Gi");
    expect_used("q", "requests.storage", "3Gi");
    fake_client_remove(api, &config_map_kind, "a", "one");
    fake_client_remove(api, &job_kind, "a", "job");
    fake_client_remove(api, &persistent_volume_claim_kind, "a", "data");
    expect_used("q", "requests.storage", "0");
    ck_assert_str_eq(used("q", "configmaps"), "1");
    ck_assert_str_eq(used("q", "count/jobs.batch"), "0");
    end();
}
END_TEST

START_TEST(a_kind_is_listed_once_however_often_it_is_counted)
{
    unsigned lists;

    begin();
    put_quota("q", "{\"configmaps\":\"9\"}");
    expect_used("q", "configmaps", "0");
    lists = fake_client_calls(api, CLIENT_LIST, NULL);
    put(&config_map_kind, "a", "one");
    expect_used("q", "configmaps", "1");
    put_quota("more", "{\"count/configmaps\":\"9\"}");
    expect_used("more", "count/configmaps", "1");
    fake_client_remove(api, &config_map_kind, "a", "one");
    expect_used("more", "count/configmaps", "0");

    ck_assert_uint_eq(fake_client_calls(api, CLIENT_LIST, NULL), lists);
    end();
}
END_TEST

SUITE("quota count", the_share_of_a_removed_object_is_given_back_whatever_its_kind,
      a_kind_is_listed_once_however_often_it_is_counted)
