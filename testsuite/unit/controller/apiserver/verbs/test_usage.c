/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "lib/api/cluster/metrics.h"
#include "testsuite/lib/suite.h"

#define NODES   "/api/v1/nodes"
#define USAGE   NODES "/n1/usage"
#define METRICS "/apis/metrics.k8s.io/v1beta1"
#define OF_PODS METRICS "/namespaces/default/pods"

#define FIGURES "{\"windowMilliseconds\":15000,\"cpuNanocores\":1500000000,"

/* A report of n1 with one pod that n1 claims to run. */
static char *
report_of(struct world *w, const char *pod)
{
    CLEANUP_FREE char *path = xasprintf(PODS "/%s", pod);
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, path, NULL);
    const char *uid = answer_get(&a, "metadata.uid");

    return xasprintf("{\"intervalMilliseconds\":15000,\"node\":" FIGURES
                     "\"memoryBytes\":4194304},\"pods\":[{\"namespace\":\"default\","
                     "\"name\":\"%s\",\"uid\":\"%s\",\"figures\":" FIGURES
                     "\"memoryBytes\":1048576},\"total\":{\"userCpuMicroseconds\":7}}]}",
                     pod, uid != NULL ? uid : "none");
}

/* Pod a is on n1, pod b waits. */
static void
begin(struct world *w)
{
    world_init(w);
    world_code(w, &admin, HTTP_POST, NODES,
               "{\"metadata\":{\"name\":\"n1\",\"labels\":{\"x\":\"y\"}}}");
    world_code(w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(w, &alice, HTTP_POST, PODS, POD("b"));
    ck_assert_int_eq(world_code(w, &scheduler_room, HTTP_POST, PODS "/a/binding",
                                "{\"target\":{\"name\":\"n1\"},\"allocation\":{\"cpus\":"
                                "\"0\",\"memoryNodes\":\"0\"}}"),
                     201);
}

static int
tell(struct world *w, const struct principal *who, const char *pod)
{
    CLEANUP_FREE char *report = report_of(w, pod);

    return world_code(w, who, HTTP_POST, USAGE, report);
}

static unsigned
count(struct world *w, const char *target)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &bob, HTTP_GET, target, NULL);

    ck_assert_int_eq(a.code, 200);
    return json_count(json_get(a.body, "items"));
}

START_TEST(reported_usage_is_read_as_metrics)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    ck_assert_int_eq(tell(&w, &agent_n1, "a"), 201);
    CLEANUP_ANSWER struct answer node = world_ask(&w, &bob, HTTP_GET, METRICS "/nodes/n1", NULL);
    CLEANUP_ANSWER struct answer pod = world_ask(&w, &bob, HTTP_GET, OF_PODS "/a", NULL);
    const struct json *container = json_at(json_get(pod.body, "containers"), 0);

    ck_assert_str_eq(answer_get(&node, "kind"), "NodeMetrics");
    ck_assert_str_eq(answer_get(&node, "window"), "15s");
    ck_assert_str_eq(answer_get(&node, "usage.cpu"), "1500m");
    ck_assert_str_eq(answer_get(&node, "usage.memory"), "4Mi");
    ck_assert_str_eq(answer_get(&node, "metadata.labels.x"), "y");
    ck_assert_str_eq(json_path_text(container, "name"), "main");
    ck_assert_str_eq(json_path_text(container, "usage.memory"), "1Mi");
    ck_assert_int_eq(json_get_int(json_get(pod.body, "total"), "userCpuMicroseconds", 0), 7);
}
END_TEST

START_TEST(a_report_makes_no_revision)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    int64_t before = store_revision(w.store);
    ck_assert_int_eq(tell(&w, &agent_n1, "a"), 201);

    ck_assert_int_eq(store_revision(w.store), before);
}
END_TEST

START_TEST(lists_are_selected)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    tell(&w, &agent_n1, "a");

    ck_assert_uint_eq(count(&w, METRICS "/nodes"), 1);
    ck_assert_uint_eq(count(&w, METRICS "/nodes?labelSelector=x%3Dy"), 1);
    ck_assert_uint_eq(count(&w, METRICS "/nodes?labelSelector=x%3Dz"), 0);
    ck_assert_uint_eq(count(&w, METRICS "/pods"), 1);
    ck_assert_uint_eq(count(&w, OF_PODS), 1);
    ck_assert_uint_eq(count(&w, METRICS "/namespaces/other/pods"), 0);
    ck_assert_uint_eq(count(&w, OF_PODS "?fieldSelector=metadata.name%3Db"), 0);
}
END_TEST

START_TEST(an_agent_speaks_for_its_own_pods_alone)
{
    CLEANUP_WORLD struct world w;
    const struct principal other = {
        .type = PRINCIPAL_AGENT, .name = "root", .groups = no_groups, .n_groups = 1, .node = "n2"};

    begin(&w);

    ck_assert_int_eq(tell(&w, &other, "a"), 403);
    ck_assert_int_eq(tell(&w, &bob, "a"), 403);
    ck_assert_int_eq(tell(&w, &agent_n1, "b"), 201);
    ck_assert_int_eq(world_code(&w, &bob, HTTP_GET, OF_PODS "/b", NULL), 404);
}
END_TEST

START_TEST(usage_that_is_reported_no_more_is_gone)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    tell(&w, &agent_n1, "a");
    tell(&w, &agent_n1, "b"); /* and without a */
    ck_assert_uint_eq(count(&w, OF_PODS), 0);
    ck_assert_uint_eq(count(&w, METRICS "/nodes"), 1);
    w.time.monotonic_us += 60 * INT64_C(1000000);

    ck_assert_uint_eq(count(&w, METRICS "/nodes"), 0);
}
END_TEST

START_TEST(a_report_that_is_none_is_refused)
{
    static const char *const bad[] = {
        "{}",
        "{\"intervalMilliseconds\":0}",
        "{\"intervalMilliseconds\":-1}",
        "{\"intervalMilliseconds\":\"x\"}",
        "[]",
        "{\"intervalMilliseconds\":1,\"pods\":{}}",
    };
    CLEANUP_WORLD struct world w;

    begin(&w);

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
        ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_POST, USAGE, bad[i]), 400);
    ck_assert_int_eq(
        world_code(&w, &admin, HTTP_POST, NODES "/nope/usage", "{\"intervalMilliseconds\":1}"),
        404);
}
END_TEST

START_TEST(windows_are_written_as_upstream_does)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {15000, "15s"},
        {2500, "2.5s"},
        {90001, "1m30.001s"},
        {3600000, "1h0m0s"},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[METRICS_WINDOW_SIZE];

        metrics_format_window(cases[i].ms, text);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

SUITE("usage", reported_usage_is_read_as_metrics, a_report_makes_no_revision, lists_are_selected,
      an_agent_speaks_for_its_own_pods_alone, usage_that_is_reported_no_more_is_gone,
      a_report_that_is_none_is_refused, windows_are_written_as_upstream_does)
