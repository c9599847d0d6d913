/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

static const struct principal job_controller = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};

#define ELEMENTS JOBS "/sweep/elements"
#define QUOTAS   "/api/v1/namespaces/default/resourcequotas"

static const char array[] = "{\"metadata\":{\"name\":\"sweep\"},\"spec\":{\"array\":{\"tasks\":"
                            "\"0-999\"},\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                            "\"containers\":[{\"name\":\"main\",\"command\":[\"/bin/true\"],"
                            "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}}";

static char uid[64]; /* of the array */

static void
begin(struct world *w)
{
    CLEANUP_ANSWER struct answer a = {0};

    world_init(w);
    a = world_ask(w, &alice, HTTP_POST, JOBS, array);
    ck_assert_int_eq(a.code, 201);
    (void)snprintf(uid, sizeof(uid), "%s", answer_get(&a, "metadata.uid"));
}

/* The pod of an element as the job controller writes it. */
static void
add_pod(struct strbuf *out, int index)
{
    strbuf_printf(out,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                  "\"sweep-%d\",\"labels\":{\"batch.kubernetes.io/"
                  "job-completion-index\":\"%d\"},\"annotations\":{\"batch.kubernetes."
                  "io/job-completion-index\":\"%d\",\"kiln.hpc/array-task\":\"%d\"},"
                  "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                  "\"name\":\"sweep\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":{"
                  "\"restartPolicy\":\"Never\",\"securityContext\":{\"runAsUser\":2001,"
                  "\"runAsGroup\":2001},\"containers\":[{\"name\":\"main\",\"command\":["
                  "\"/bin/true\"],\"env\":[{\"name\":\"OTHER\",\"value\":\"7\"},{"
                  "\"name\":\"KILN_ARRAY_TASK_ID\",\"value\":\"%d\"}],\"resources\":{"
                  "\"requests\":{\"cpu\":\"1\"}}}],\"execution\":{\"stdoutPath\":"
                  "\"/tmp/out-%d\"}}}",
                  index, index, index, index, uid, index, index);
}

static struct answer
make(struct world *w, const struct principal *who, const int *indexes, size_t n)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    strbuf_add_text(&body, "{\"make\":[");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            strbuf_add_char(&body, ',');
        add_pod(&body, indexes[i]);
    }
    strbuf_add_text(&body, "]}");
    return world_ask(w, who, HTTP_POST, ELEMENTS, body.text);
}

static const char *
path_of(int index, char out[128])
{
    (void)snprintf(out, 128, PODS "/sweep-%d", index);
    return out;
}

/* The pod without the members that differ for every pod. */
static struct json *
read_pod(struct world *w, int index, struct answer *a)
{
    char path[128];
    struct json *meta;

    *a = world_ask(w, &admin, HTTP_GET, path_of(index, path), NULL);
    ck_assert_int_eq(a->code, 200);
    meta = json_get(a->body, "metadata");
    ck_assert(json_remove(meta, "uid"));
    ck_assert(json_remove(meta, "resourceVersion"));
    return a->body;
}

/* Includes pods whose names become longer within the request. */
START_TEST(a_pod_of_many_is_as_one_that_is_made_alone)
{
    static const int indexes[] = {7, 8, 9, 10, 11, 100};
    CLEANUP_WORLD struct world w;
    char path[128];

    begin(&w);
    {
        CLEANUP_ANSWER struct answer a = make(&w, &job_controller, indexes, ARRAY_SIZE(indexes));

        ck_assert_int_eq(a.code, 200);
        ck_assert_uint_eq(json_count(json_get(a.body, "refused")), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(indexes); i++) {
        CLEANUP_ANSWER struct answer many = {0}, alone = {0};
        CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

        read_pod(&w, indexes[i], &many);
        ck_assert_int_eq(world_code(&w, &admin, HTTP_DELETE, path_of(indexes[i], path),
                                    "{\"gracePeriodSeconds\":0}"),
                         200);
        add_pod(&body, indexes[i]);
        ck_assert_int_eq(world_code(&w, &job_controller, HTTP_POST, PODS, body.text), 201);
        read_pod(&w, indexes[i], &alone);
        ck_assert_msg(json_equals(many.body, alone.body), "%s\n%s", many.text, alone.text);
    }
}
END_TEST

START_TEST(no_two_have_one_uid)
{
    static const int indexes[] = {0, 1, 2};
    CLEANUP_WORLD struct world w;
    char seen[3][64];

    begin(&w);
    {
        CLEANUP_ANSWER struct answer a = make(&w, &job_controller, indexes, 3);

        ck_assert_int_eq(a.code, 200);
    }
    for (int i = 0; i < 3; i++) {
        char path[128];
        CLEANUP_ANSWER struct answer a = world_ask(&w, &admin, HTTP_GET, path_of(i, path), NULL);

        (void)snprintf(seen[i], 64, "%s", answer_get(&a, "metadata.uid"));
    }
    ck_assert_str_ne(seen[0], seen[1]);
    ck_assert_str_ne(seen[1], seen[2]);
    ck_assert_str_ne(seen[0], seen[2]);
}
END_TEST

static int64_t
used_pods(struct world *w)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, QUOTAS "/few", NULL);
    const char *used = json_get_text(json_get_path(a.body, "status.used"), "pods");

    return used != NULL ? strtoll(used, NULL, 10) : -1;
}

START_TEST(a_quota_lets_as_many_be_made_as_it_has)
{
    static const int indexes[] = {0, 1, 2, 3};
    CLEANUP_WORLD struct world w;
    char path[128];

    begin(&w);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, QUOTAS,
                                "{\"metadata\":{\"name\":\"few\"},\"spec\":{\"hard\":{"
                                "\"pods\":\"2\"}}}"),
                     201);
    ck_assert_int_eq(world_code(&w, &job_controller, HTTP_PATCH, QUOTAS "/few/status",
                                "{\"status\":{\"hard\":{\"pods\":\"2\"},"
                                "\"used\":{\"pods\":\"0\"}}}"),
                     200);
    for (int round = 0; round < 2; round++) { /* existing pods count */
        CLEANUP_ANSWER struct answer a = make(&w, &job_controller, indexes, 4);
        const struct json *refused = json_get(a.body, "refused");

        ck_assert_int_eq(a.code, 200);
        ck_assert_uint_eq(json_count(refused), 2);
        ck_assert_str_eq(json_get_text(json_at(refused, 0), "pod"), "sweep-2");
        ck_assert_str_eq(json_get_text(json_at(refused, 1), "pod"), "sweep-3");
        ck_assert_ptr_nonnull(
            strstr(json_get_text(json_at(refused, 0), "message"), "exceeded quota: few"));
        ck_assert_str_eq(json_get_text(json_at(refused, 1), "message"),
                         json_get_text(json_at(refused, 0), "message"));
        ck_assert_int_eq(used_pods(&w), 2);
    }
    ck_assert_int_eq(world_code(&w, &admin, HTTP_GET, path_of(1, path), NULL), 200);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_GET, path_of(2, path), NULL), 404);
}
END_TEST

START_TEST(a_name_that_another_pod_has_stops_no_other)
{
    static const int indexes[] = {0, 1, 2};
    CLEANUP_WORLD struct world w;
    char path[128];

    begin(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS, POD("sweep-1")), 201);
    {
        CLEANUP_ANSWER struct answer a = make(&w, &job_controller, indexes, 3);
        const struct json *refused = json_get(a.body, "refused");

        ck_assert_int_eq(a.code, 200);
        ck_assert_uint_eq(json_count(refused), 1);
        ck_assert_str_eq(json_get_text(json_at(refused, 0), "pod"), "sweep-1");
        ck_assert_ptr_nonnull(
            strstr(json_get_text(json_at(refused, 0), "message"), "already exists"));
    }
    ck_assert_int_eq(world_code(&w, &admin, HTTP_GET, path_of(2, path), NULL), 200);
}
END_TEST

START_TEST(only_the_job_controller_makes_them)
{
    static const int indexes[] = {0};
    const struct principal *const others[] = {&alice, &bob, &operator_, &scheduler_room, &agent_n1};
    CLEANUP_WORLD struct world w;
    char path[128];

    begin(&w);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        CLEANUP_ANSWER struct answer a = make(&w, others[i], indexes, 1);

        ck_assert_int_eq(a.code, 403);
    }
    ck_assert_int_eq(world_code(&w, &admin, HTTP_GET, path_of(0, path), NULL), 404);
}
END_TEST

START_TEST(nothing_is_for_another_array_of_that_name)
{
    static const char *const bodies[] = {
        "{\"uid\":\"other\",\"make\":[]}",
        "{\"uid\":\"other\",\"settle\":[{\"index\":0,\"as\":\"Done\"}]}",
    };
    CLEANUP_WORLD struct world w;

    begin(&w);
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
        ck_assert_int_eq(world_code(&w, &job_controller, HTTP_POST, ELEMENTS, bodies[i]), 409);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &job_controller, HTTP_GET, ELEMENTS "?view=record", NULL);

        ck_assert_int_eq(a.code, 200);
        ck_assert_uint_eq(json_count(json_get(a.body, "chunks")), 0);
    }
}
END_TEST

static void
settle(struct world *w, int index, const char *as, int of_attempt, const char *want)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf stale = STRBUF_INIT;
    CLEANUP_ANSWER struct answer a = {0};

    strbuf_printf(&body,
                  "{\"uid\":\"%s\",\"settle\":[{\"index\":%d,\"as\":\"%s\","
                  "\"ofAttempt\":%d}]}",
                  uid, index, as, of_attempt);
    a = world_ask(w, &job_controller, HTTP_POST, ELEMENTS, body.text);
    ck_assert_int_eq(a.code, 200);
    if (json_get(a.body, "stale") != NULL)
        json_print(json_get(a.body, "stale"), &stale);
    ck_assert_str_eq(stale.length > 0 ? stale.text : "", want);
}

static const char *
state_of(struct world *w, const char *task, struct answer *a)
{
    char path[128];

    (void)snprintf(path, sizeof(path), ELEMENTS "?tasks=%s", task);
    *a = world_ask(w, &alice, HTTP_GET, path, NULL);
    ck_assert_int_eq(a->code, 200);
    return json_get_text(json_at(json_get(a->body, "items"), 0), "state");
}

/* The element's record shows that the next attempt has another number. */
/* The job controller withdrew the pods of a held and of a cancelled element before it
 * saw that they had been bound, had run and ended.
 */
START_TEST(a_pod_that_ran_before_it_was_withdrawn_keeps_its_end)
{
    static const int indexes[] = {3, 4};
    static const char *const words[] = {"Again", "Cancelled"};
    CLEANUP_WORLD struct world w;
    char path[128], call[160];

    begin(&w);
    {
        CLEANUP_ANSWER struct answer made = make(&w, &job_controller, indexes, 2);

        ck_assert_int_eq(made.code, 200);
    }
    for (int i = 0; i < 2; i++) {
        CLEANUP_ANSWER struct answer settled = {0}, pod = {0};
        CLEANUP_FREE char *body = NULL;

        (void)snprintf(call, sizeof(call), "%s/binding", path_of(indexes[i], path));
        ck_assert_int_eq(
            world_code(&w, &scheduler_room, HTTP_POST, call, "{\"target\":{\"name\":\"n1\"}}"),
            201);
        (void)snprintf(call, sizeof(call), "%s/status", path);
        ck_assert_int_eq(
            world_code(&w, &agent_n1, HTTP_PATCH, call, "{\"status\":{\"phase\":\"Succeeded\"}}"),
            200);
        pod = world_ask(&w, &admin, HTTP_GET, path, NULL);
        body = xasprintf("{\"settle\":[{\"index\":%d,\"as\":\"%s\",\"pod\":\"sweep-%d\","
                         "\"uid\":\"%s\"}]}",
                         indexes[i], words[i], indexes[i], answer_get(&pod, "metadata.uid"));
        settled = world_ask(&w, &job_controller, HTTP_POST, ELEMENTS, body);

        ck_assert_uint_eq(json_count(json_get(settled.body, "kept")), 1);
        ck_assert_int_eq(world_code(&w, &admin, HTTP_GET, path, NULL), 200);
    }
}
END_TEST

static int
bind_task(struct world *w, int index)
{
    char path[128], call[160];

    (void)snprintf(call, sizeof(call), "%s/binding", path_of(index, path));
    return world_code(w, &scheduler_room, HTTP_POST, call, "{\"target\":{\"name\":\"n1\"}}");
}

static int
patch_array(struct world *w, const char *spec)
{
    CLEANUP_FREE char *body = xasprintf("{\"spec\":{\"array\":{%s}}}", spec);

    return world_code(w, &alice, HTTP_PATCH, JOBS "/sweep", body);
}

/* Before the job controller has withdrawn their pods. */
START_TEST(no_pod_of_a_held_or_cancelled_task_is_given_a_node)
{
    static const int indexes[] = {3, 4, 5};
    CLEANUP_WORLD struct world w;

    begin(&w);
    {
        CLEANUP_ANSWER struct answer made = make(&w, &job_controller, indexes, 3);

        ck_assert_int_eq(made.code, 200);
    }
    ck_assert_int_eq(patch_array(&w, "\"held\":\"3,7-9\",\"cancelled\":\"4\""), 200);
    ck_assert_int_eq(bind_task(&w, 3), 409);
    ck_assert_int_eq(bind_task(&w, 4), 409);
    ck_assert_int_eq(bind_task(&w, 5), 201);

    ck_assert_int_eq(patch_array(&w, "\"held\":\"7-9\""), 200);
    ck_assert_int_eq(bind_task(&w, 3), 201);
    ck_assert_int_eq(bind_task(&w, 4), 409);
}
END_TEST

START_TEST(no_pod_of_a_cancelled_job_is_given_a_node)
{
    static const int indexes[] = {3};
    CLEANUP_WORLD struct world w;

    begin(&w);
    {
        CLEANUP_ANSWER struct answer made = make(&w, &job_controller, indexes, 1);

        ck_assert_int_eq(made.code, 200);
    }
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, JOBS "/sweep",
                                "{\"metadata\":{\"annotations\":{\"kiln.hpc/cancel\":\"x\"}}}"),
                     200);
    ck_assert_int_eq(bind_task(&w, 3), 409);
}
END_TEST

START_TEST(an_end_of_before_a_requeue_counts_no_more)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    settle(&w, 7, "Again\",\"attempt\":1,\"x\":\"", 0, "");
    settle(&w, 7, "Failed", 0, "[7]");
    settle(&w, 7, "Again", 0, "");
    {
        CLEANUP_ANSWER struct answer a = {0};

        ck_assert_str_eq(state_of(&w, "7", &a), "Pending");
    }
    settle(&w, 7, "Done", 1, "");
    {
        CLEANUP_ANSWER struct answer a = {0};

        ck_assert_str_eq(state_of(&w, "7", &a), "Completed");
    }
}
END_TEST

SUITE("settle", no_pod_of_a_held_or_cancelled_task_is_given_a_node,
      no_pod_of_a_cancelled_job_is_given_a_node, an_end_of_before_a_requeue_counts_no_more,
      a_pod_of_many_is_as_one_that_is_made_alone, no_two_have_one_uid,
      a_quota_lets_as_many_be_made_as_it_has, a_name_that_another_pod_has_stops_no_other,
      only_the_job_controller_makes_them, nothing_is_for_another_array_of_that_name,
      a_pod_that_ran_before_it_was_withdrawn_keeps_its_end)
