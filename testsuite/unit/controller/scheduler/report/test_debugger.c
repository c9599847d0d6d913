/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/debugger.h"

#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/state/cache.h"
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
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"%s\"}}", name);

    return fake_client_put(b->api, &node_kind, text);
}

static const struct object *
put_pod(struct bench *b, const char *name, const char *node, const char *phase)
{
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
        "\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":\"main\","
        "\"image\":\"host\"}]},\"status\":{\"phase\":\"%s\"}}",
        name,
        node,
        phase);

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

START_TEST(what_is_known_and_there_is_no_difference)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct object *node, *pods[2];
    struct bench b;

    bench_init(&b);
    node = put_node(&b, "n1");
    cache_set_node(b.cache, node);
    pods[0] = put_pod(&b, "a", "n1", "Running");
    pods[1] = put_pod(&b, "over", "n1", "Succeeded");
    know_pod(&b, pods[0], "n1");
    debugger_compare_nodes(b.debugger, &node, 1, &text);
    debugger_compare_pods(b.debugger, pods, 2, &text);

    ck_assert_uint_eq(text.length, 0);
    bench_fini(&b);
}
END_TEST

START_TEST(what_the_api_has_and_the_cache_does_not_was_missed)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct object *node, *pod;
    struct bench b;

    bench_init(&b);
    node = put_node(&b, "n1");
    pod = put_pod(&b, "a", "n1", "Running");
    debugger_compare_nodes(b.debugger, &node, 1, &text);
    debugger_compare_pods(b.debugger, &pod, 1, &text);

    ck_assert_str_eq(text.text, "missed node n1\nmissed pod default/a\n");
    bench_fini(&b);
}
END_TEST

START_TEST(what_the_cache_has_and_the_api_does_not_is_redundant)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct bench b;

    bench_init(&b);
    cache_set_node(b.cache, put_node(&b, "n1"));
    know_pod(&b, put_pod(&b, "a", "n1", "Running"), "n1");
    debugger_compare_nodes(b.debugger, NULL, 0, &text);
    debugger_compare_pods(b.debugger, NULL, 0, &text);

    ck_assert_str_eq(text.text, "redundant node n1\nredundant pod default/a\n");
    bench_fini(&b);
}
END_TEST

START_TEST(the_dump_has_every_node_its_pods_and_its_nominations)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP(pod_view_unrefp) struct pod_view *waiting = NULL;
    struct bench b;

    bench_init(&b);
    cache_set_node(b.cache, put_node(&b, "n1"));
    know_pod(&b, put_pod(&b, "a", "n1", "Running"), "n1");
    waiting = pod_view_new(put_pod(&b, "w", "", "Pending"), b.resources);
    nominator_add(b.nominator, waiting, cache_find_node(b.cache, "n1"));
    debugger_dump(b.debugger, &text);

    ck_assert_ptr_nonnull(strstr(text.text, "node n1: 1 pods"));
    ck_assert_ptr_nonnull(strstr(text.text, "node n1: pod default/a\n"));
    ck_assert_ptr_nonnull(
        strstr(text.text, "node n1: pod default/w is nominated\n"));
    bench_fini(&b);
}
END_TEST

SUITE("debugger",
      what_is_known_and_there_is_no_difference,
      what_the_api_has_and_the_cache_does_not_was_missed,
      what_the_cache_has_and_the_api_does_not_is_redundant,
      the_dump_has_every_node_its_pods_and_its_nominations)
