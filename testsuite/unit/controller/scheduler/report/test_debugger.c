/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/debugger.h"

#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/state/cache.h"
#include "testsuite/lib/apart.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

/* A cache with a node and a pod on it, from the test's API. */
struct bench {
    struct fake_clock time;
    struct fake_client *api;
    struct string_ids *resources;
    struct string_ids *signatures;
    struct nominator *nominator;
    struct cache *cache;
    struct queue *queue;
    struct debugger *debugger;
};

static const struct object *
put_node(struct bench *b, const char *name)
{
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"%s\"}}", name);

    return fake_client_put(b->api, &node_kind, text);
}

static const struct object *
put_pod(struct bench *b, const char *name, const char *node, const char *phase)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                  "\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":\"main\","
                  "\"image\":\"host\"}]},\"status\":{\"phase\":\"%s\"}}",
                  name, node, phase);

    return fake_client_put(b->api, &pod_kind, text);
}

static void
bench_init(struct bench *b)
{
    static const struct fake_clock clock = FAKE_CLOCK;

    b->time = clock;
    b->api = fake_client_new();
    b->resources = string_ids_new();
    b->signatures = string_ids_new();
    b->nominator = nominator_new();
    b->cache = cache_new(&(struct cache_settings){
        .clock = &b->time.clock,
        .resources = b->resources,
    });
    b->queue = queue_new(&(struct queue_settings){
        .clock = &b->time.clock,
        .nominator = b->nominator,
        .signatures = b->signatures,
    });
    b->debugger = debugger_new(&(struct debugger_settings){
        .client = fake_client_client(b->api),
        .cache = b->cache,
        .queue = b->queue,
    });
}

static void
bench_fini(struct bench *b)
{
    debugger_free(b->debugger);
    queue_free(b->queue);
    cache_free(b->cache);
    nominator_free(b->nominator);
    string_ids_free(b->resources);
    string_ids_free(b->signatures);
    fake_client_free(b->api);
}

static void
know_pod(struct bench *b, const struct object *object, const char *node)
{
    CLEANUP(pod_view_unrefp)
    struct pod_view *pod = pod_view_new(object, b->resources);

    cache_set_pod(b->cache, pod, node);
}

static void
run(const void *context)
{
    const struct bench *b = context;

    debugger_run(b->debugger);
    fake_client_run(b->api);
}

static const char *
logged(const struct bench *b, struct apart *ret_run)
{
    apart(ret_run, run, b);
    ck_assert_int_eq(ret_run->status, 0);
    return ret_run->text;
}

static unsigned
count_lines(const char *text, const char *words)
{
    unsigned count = 0;

    while ((text = strstr(text, words)) != NULL) {
        text += strlen(words);
        count++;
    }
    return count;
}

START_TEST(a_cache_that_equals_the_api_has_no_difference)
{
    struct apart run;
    const char *text;
    struct bench b;

    bench_init(&b);
    cache_set_node(b.cache, put_node(&b, "n1"));
    know_pod(&b, put_pod(&b, "a", "n1", "Running"), "n1");
    put_pod(&b, "over", "n1", "Succeeded");
    text = logged(&b, &run);

    ck_assert_uint_eq(count_lines(text, "comparison: "), 2);
    ck_assert_ptr_nonnull(strstr(text, "comparison: the cache has the same 1 nodes as the API"));
    ck_assert_ptr_nonnull(strstr(text, "comparison: the cache has the same 2 pods as the API"));
    bench_fini(&b);
}
END_TEST

START_TEST(an_object_that_only_the_api_has_was_missed)
{
    struct apart run;
    const char *text;
    struct bench b;

    bench_init(&b);
    put_node(&b, "n1");
    put_pod(&b, "a", "n1", "Running");
    text = logged(&b, &run);

    ck_assert_uint_eq(count_lines(text, "comparison: "), 2);
    ck_assert_ptr_nonnull(strstr(text, "comparison: missed node n1\n"));
    ck_assert_ptr_nonnull(strstr(text, "comparison: missed pod default/a\n"));
    bench_fini(&b);
}
END_TEST

START_TEST(an_object_that_only_the_cache_has_is_redundant)
{
    struct apart run;
    const char *text;
    struct bench b;

    bench_init(&b);
    cache_set_node(b.cache, put_node(&b, "n1"));
    know_pod(&b, put_pod(&b, "a", "n1", "Running"), "n1");
    fake_client_remove(b.api, &node_kind, NULL, "n1");
    fake_client_remove(b.api, &pod_kind, "default", "a");
    text = logged(&b, &run);

    ck_assert_uint_eq(count_lines(text, "comparison: "), 2);
    ck_assert_ptr_nonnull(strstr(text, "comparison: redundant node n1\n"));
    ck_assert_ptr_nonnull(strstr(text, "comparison: redundant pod default/a\n"));
    bench_fini(&b);
}
END_TEST

START_TEST(the_dump_has_every_node_its_pods_and_its_nominations)
{
    CLEANUP(pod_view_unrefp) struct pod_view *waiting = NULL;
    struct apart run;
    const char *text;
    struct bench b;

    bench_init(&b);
    cache_set_node(b.cache, put_node(&b, "n1"));
    know_pod(&b, put_pod(&b, "a", "n1", "Running"), "n1");
    waiting = pod_view_new(put_pod(&b, "w", "", "Pending"), b.resources);
    nominator_add(b.nominator, waiting, cache_find_node(b.cache, "n1"));
    text = logged(&b, &run);

    ck_assert_ptr_nonnull(strstr(text, "node n1: 1 pods"));
    ck_assert_ptr_nonnull(strstr(text, "node n1: pod default/a\n"));
    ck_assert_ptr_nonnull(strstr(text, "node n1: pod default/w is nominated\n"));
    bench_fini(&b);
}
END_TEST

SUITE("debugger", a_cache_that_equals_the_api_has_no_difference,
      an_object_that_only_the_api_has_was_missed, an_object_that_only_the_cache_has_is_redundant,
      the_dump_has_every_node_its_pods_and_its_nominations)
