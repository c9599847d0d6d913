/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/node/taint_eviction.h"

#include <check.h>
#include <stdio.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

#define T(members) "\"taints\":[" members "]"
#define GONE       "{\"key\":\"gone\",\"effect\":\"NoExecute\"}"
#define GONE_SINCE                                \
    "{\"key\":\"gone\",\"effect\":\"NoExecute\"," \
    "\"timeAdded\":\"1970-01-01T00:01:40Z\"}"
#define SOFT "{\"key\":\"gone\",\"effect\":\"NoSchedule\"}"
#define SILENT                                     \
    "{\"key\":\"node.kubernetes.io/unreachable\"," \
    "\"effect\":\"NoExecute\"}"
#define OTHER      "{\"key\":\"other\",\"effect\":\"NoExecute\"}"
#define P(members) "\"tolerations\":[" members "]"
#define FOR_EVER   "{\"key\":\"gone\",\"operator\":\"Exists\"}"
#define FOR(s)                                                            \
    "{\"key\":\"gone\",\"operator\":\"Exists\",\"effect\":\"NoExecute\"," \
    "\"tolerationSeconds\":" s "}"

/* The controller on a real event loop and a fake API. */
struct stage {
    struct fake_clock time;
    struct fake_client *api;
    struct loop *loop;
    struct object_cache *cache;
    struct taint_eviction *eviction;
    unsigned turns;
};

static void
stage_init(struct stage *s)
{
    static const struct fake_clock clock = FAKE_CLOCK;

    s->time = clock;
    s->api = fake_client_new();
    skip_waits();
    s->loop = loop_new();
    s->cache = object_cache_new(fake_client_client(s->api));
    s->eviction = taint_eviction_new(&(struct taint_eviction_settings){
        .loop = s->loop,
        .client = fake_client_client(s->api),
        .cache = s->cache,
        .clock = &s->time.clock,
    });
    object_cache_start(s->cache);
}

/* Runs many turns of the loop, each with the API's answers: more than any work
 * here takes, even on a slow machine.
 */
static void
turn(void *arg)
{
    struct stage *s = arg;

    fake_client_run(s->api);
    if (--s->turns == 0)
        loop_stop(s->loop);
}

static void
settle(struct stage *s)
{
    CLEANUP(timer_freep) struct timer *timer = timer_new(s->loop, turn, s);

    s->turns = 20;
    timer_repeat(timer, 1);
    loop_run(s->loop);
}

static void
stage_fini(struct stage *s)
{
    taint_eviction_free(s->eviction);
    object_cache_free(s->cache);
    loop_free(s->loop);
    fake_client_free(s->api);
}

static void
put_node(struct stage *s, const char *spec)
{
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"n1\"},\"spec\":{%s}}", spec);

    fake_client_put(s->api, &node_kind, text);
}

static void
put_pod(struct stage *s, const char *name, const char *tolerations)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                  "\"uid\":\"uid-%s\"},"
                  "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\","
                  "\"image\":\"host\"}],%s},\"status\":{\"phase\":\"Running\"}}",
                  name, name, tolerations);

    fake_client_put(s->api, &pod_kind, text);
}

/* Whether the pod is still there at that time, when its object has changed and
 * so it is checked again.
 */
static bool
is_there_at(struct stage *s, int64_t at_us, const char *tolerations)
{
    s->time.real_us = at_us;
    put_pod(s, "x", tolerations);
    settle(s);
    return fake_client_find(s->api, &pod_kind, "default", "x") != NULL;
}

START_TEST(a_pod_stays_as_long_as_it_tolerates_every_taint)
{
    static const struct {
        const char *node, *pod;
        int64_t seen_s, due_s; /* -1: never */
    } cases[] = {
        {T(""), P(""), 1000, -1},
        {T(SOFT), P(""), 1000, -1},
        {T(GONE), P(""), 1000, 0},
        {T(GONE), P(FOR_EVER), 1000, -1},
        {T(GONE), P(FOR("60")), 1000, 1060},
        {T(GONE), P(FOR("0")), 1000, 0},
        {T(GONE), P(FOR("-5")), 1000, 0},
        {T(GONE), P(FOR("9223372036854775807")), 1000, -1},
        {T(GONE_SINCE), P(FOR("60")), 150, 160},
        {T(GONE_SINCE), P(FOR("60")), 1000, 160},
        {T(GONE "," OTHER), P(FOR("60")), 1000, 0},
        {T(GONE "," SOFT), P(FOR("60")), 1000, 1060},
        {T(GONE), P(FOR("60") "," FOR_EVER), 1000, 1060},
        {T(SILENT), P(""), 1000, -1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const int64_t seen_us = cases[i].seen_s * FAKE_SECOND;
        const int64_t due_us = cases[i].due_s * FAKE_SECOND;
        const int64_t last_us = cases[i].due_s < 0 ? INT64_C(1000000) * FAKE_SECOND : due_us - 1;
        struct stage s;

        stage_init(&s);
        put_node(&s, cases[i].node);
        ck_assert_msg(is_there_at(&s, seen_us, cases[i].pod) == (last_us >= seen_us),
                      "case %zu at first", i);
        if (last_us >= seen_us)
            ck_assert_msg(is_there_at(&s, last_us, cases[i].pod), "case %zu before", i);
        if (cases[i].due_s >= 0 && due_us > seen_us)
            ck_assert_msg(!is_there_at(&s, due_us, cases[i].pod), "case %zu", i);
        stage_fini(&s);
    }
}
END_TEST

START_TEST(only_those_that_do_not_tolerate_it_are_told_and_deleted)
{
    struct stage s;

    stage_init(&s);
    put_node(&s, T(""));
    put_pod(&s, "stays", P(FOR_EVER));
    put_pod(&s, "goes", P(""));
    settle(&s);
    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_DELETE, NULL), 0);
    put_node(&s, T(GONE));
    settle(&s);

    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_STRATEGIC_PATCH, "status"), 1);
    ck_assert_uint_eq(fake_client_calls(s.api, CLIENT_DELETE, NULL), 1);
    ck_assert_ptr_null(fake_client_find(s.api, &pod_kind, "default", "goes"));
    ck_assert_ptr_nonnull(fake_client_find(s.api, &pod_kind, "default", "stays"));
    stage_fini(&s);
}
END_TEST

START_TEST(a_pod_that_comes_to_such_a_node_is_ended)
{
    struct stage s;

    stage_init(&s);
    put_node(&s, T(GONE));
    settle(&s);
    put_pod(&s, "goes", P(""));
    settle(&s);

    ck_assert_ptr_null(fake_client_find(s.api, &pod_kind, "default", "goes"));
    stage_fini(&s);
}
END_TEST

START_TEST(a_silent_node_ends_nobody)
{
    struct stage s;

    stage_init(&s);
    put_node(&s, T(SILENT));
    put_pod(&s, "stays", P(""));
    settle(&s);

    ck_assert_ptr_nonnull(fake_client_find(s.api, &pod_kind, "default", "stays"));
    stage_fini(&s);
}
END_TEST

SUITE("taint eviction", a_pod_stays_as_long_as_it_tolerates_every_taint,
      only_those_that_do_not_tolerate_it_are_told_and_deleted,
      a_pod_that_comes_to_such_a_node_is_ended, a_silent_node_ends_nobody)
