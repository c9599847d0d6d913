/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/gc/namespace_controller.h"

#include <check.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/skipped_waits.h"
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
    skip_waits();
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
put_namespace(const char *more)
{
    fake_client_put(api, &namespace_kind,
                    arena_printf(arena,
                                 "{\"metadata\":{\"name\":\"lab\"%s},"
                                 "\"spec\":{\"finalizers\":"
                                 "[\"kubernetes\"]}}",
                                 more));
}

START_TEST(a_namespace_that_terminates_is_emptied_and_then_finalized)
{
    begin();
    put_namespace("");
    fake_client_put(api, &pod_kind,
                    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"lab\"},"
                    "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}");
    settle();
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_DELETE_COLLECTION, NULL), 0);

    put_namespace(",\"deletionTimestamp\":\"2024-01-01T00:00:00Z\"");
    settle();
    ck_assert_uint_gt(fake_client_calls(api, CLIENT_DELETE_COLLECTION, NULL), 0);
    ck_assert_uint_eq(fake_client_calls(api, CLIENT_REPLACE, "finalize"), 0);

    fake_client_remove(api, &pod_kind, "lab", "p");
    for (int i = 0; i < 200 && fake_client_calls(api, CLIENT_REPLACE, "finalize") == 0; i++)
        settle();
    ck_assert_uint_gt(fake_client_calls(api, CLIENT_REPLACE, "finalize"), 0);
    end();
}
END_TEST

SUITE("namespace controller", a_namespace_that_terminates_is_emptied_and_then_finalized)
