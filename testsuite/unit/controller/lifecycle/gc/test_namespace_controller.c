/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/gc/namespace_controller.h"

#include <check.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/suite.h"

static struct fake_client *api;
static struct loop *loop;
static struct timer *end_of_turn;
static struct object_cache *cache;
static struct namespace_controller *garbage;
static struct arena *arena;

static void
stop(void *context)
{
    (void)context;
    loop_stop(loop);
}

static void
settle(void)
{
    for (int i = 0; i < 10; i++) {
        fake_client_run(api);
        timer_start(end_of_turn, 1);
        loop_run(loop);
    }
    fake_client_run(api);
}

static void
begin(void)
{
    arena = arena_new(0);
    api = fake_client_new();
    loop = loop_new();
    end_of_turn = timer_new(loop, stop, NULL);
    cache = object_cache_new(fake_client_client(api));
    garbage = namespace_controller_new(loop, fake_client_client(api), cache);
    object_cache_start(cache);
    settle();
}

static void
end(void)
{
    namespace_controller_free(garbage);
    object_cache_free(cache);
    timer_free(end_of_turn);
    loop_free(loop);
    fake_client_free(api);
    arena_free(arena);
}

static void
put_job(const char *uid, const char *metadata)
{
    fake_client_put(
        api,
        &job_kind,
        arena_printf(arena,
                     "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                     "\"metadata\":{\"name\":\"j\",\"namespace\":\"default\","
                     "\"uid\":\"%s\"%s},\"spec\":{\"template\":{\"spec\":"
                     "{\"containers\":[{\"name\":\"main\"}]}}}}",
                     uid,
                     metadata));
}

static void
put_pod(const char *name, const char *owner_kind, const char *owner_uid)
{
    fake_client_put(
        api,
        &pod_kind,
        arena_printf(arena,
                     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
                     "{\"name\":\"%s\",\"namespace\":\"default\","
                     "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","
                     "\"kind\":\"%s\",\"name\":\"j\",\"uid\":\"%s\","
                     "\"controller\":true}]},\"spec\":{\"containers\":"
                     "[{\"name\":\"main\"}]}}",
                     name,
                     owner_kind,
                     owner_uid));
}

static const struct object *
find(const struct kind *kind, const char *name)
{
    return fake_client_find(api, kind, "default", name);
}

START_TEST(pods_whose_job_is_gone_go_too)
{
    begin();
    put_job("u1", "");
    put_pod("of-job", "Job", "u1");
    put_pod("of-another", "Job", "u0");
    put_pod("of-a-set", "ReplicaSet", "u0");
    settle();

    ck_assert_ptr_nonnull(find(&pod_kind, "of-job"));
    ck_assert_ptr_null(find(&pod_kind, "of-another"));
    ck_assert_ptr_nonnull(find(&pod_kind, "of-a-set"));

    fake_client_remove(api, &job_kind, "default", "j");
    settle();
    ck_assert_ptr_null(find(&pod_kind, "of-job"));
    ck_assert_ptr_nonnull(find(&pod_kind, "of-a-set"));
    end();
}
END_TEST

static bool
is_job_j(const struct kind *kind,
         UNUSED const char *namespace,
         const char *name,
         UNUSED const char *uid,
         UNUSED void *context)
{
    return kind == &job_kind && strcmp(name, "j") == 0;
}

START_TEST(pods_of_a_job_that_cannot_be_read_stay)
{
    begin();
    object_cache_ask_damaged(cache, is_job_j, NULL);

    put_pod("of-damaged", "Job", "u0");
    settle();

    ck_assert_ptr_nonnull(find(&pod_kind, "of-damaged"));
    end();
}
END_TEST

START_TEST(a_delete_that_fails_is_tried_again)
{
    begin();
    fake_client_fail(api, CLIENT_DELETE, NULL, 503, "ServiceUnavailable");
    put_pod("of-another", "Job", "u0");

    for (int i = 0; i < 100 && find(&pod_kind, "of-another") != NULL; i++)
        settle();

    ck_assert_ptr_null(find(&pod_kind, "of-another"));
    ck_assert_uint_ge(fake_client_calls(api, CLIENT_DELETE, NULL), 2);
    end();
}
END_TEST

SUITE("namespace controller",
      pods_whose_job_is_gone_go_too,
      pods_of_a_job_that_cannot_be_read_stay,
      a_delete_that_fails_is_tried_again)
