/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "lib/api/object/object.h"
#include "testsuite/lib/suite.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

static int64_t
revision_of(struct world *w, const char *target)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, target, NULL);

    return atoll(answer_get(&a, "metadata.resourceVersion"));
}

START_TEST(a_stale_version_is_a_conflict)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &admin, HTTP_POST, MAPS, "{\"metadata\":{\"name\":\"m\"}}");

    ck_assert_int_eq(world_code(&w, &admin, HTTP_PUT, MAPS "/m",
                                "{\"metadata\":{\"name\":\"m\",\"resourceVersion\":\"1\"}}"),
                     409);
}
END_TEST

START_TEST(a_change_of_nothing_keeps_the_version)
{
    CLEANUP_WORLD struct world w;
    int64_t before;

    world_init(&w);
    world_code(&w, &admin, HTTP_POST, MAPS,
               "{\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":\"1\"}}");
    before = revision_of(&w, MAPS "/m");

    world_code(&w, &admin, HTTP_PATCH, MAPS "/m", "{\"data\":{\"a\":\"1\"}}");
    ck_assert_int_eq(revision_of(&w, MAPS "/m"), before);

    world_code(&w, &admin, HTTP_PATCH, MAPS "/m", "{\"data\":{\"a\":\"2\"}}");
    ck_assert_int_gt(revision_of(&w, MAPS "/m"), before);
}
END_TEST

START_TEST(spec_and_status_change_apart)
{
    CLEANUP_WORLD struct world w;
    const char *both = "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"status\":{"
                       "\"phase\":\"Running\"}}";

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("p"));
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &admin, HTTP_PATCH, PODS "/p", both);
        CLEANUP_ANSWER struct answer b = world_ask(&w, &admin, HTTP_PATCH, PODS "/p/status", both);

        ck_assert_str_eq(answer_get(&a, "status.phase"), "Pending");
        ck_assert_str_eq(answer_get(&b, "status.phase"), "Running");
    }
}
END_TEST

START_TEST(a_client_that_does_not_know_kilns_fields_keeps_them)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS,
                                "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"placement\":{"
                                "\"numaPolicy\":\"restricted\"},\"containers\":[{\"name\":"
                                "\"main\"}]}}"),
                     201);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, PODS "/p", NULL);
        CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

        json_remove(json_get(a.body, "spec"), "placement");
        json_print(a.body, &body);
        {
            CLEANUP_ANSWER struct answer b = world_ask(&w, &alice, HTTP_PUT, PODS "/p", body.text);

            ck_assert_int_eq(b.code, 200);
            ck_assert_str_eq(answer_get(&b, "spec.placement.numaPolicy"), "restricted");
        }
    }
}
END_TEST

#define TIMES_OF(begin, deadline)                                                             \
    "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"beginTime\":" begin ",\"deadline\":" deadline \
    ",\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\""                     \
    ":[{\"name\":\"c\",\"image\":\"host\"}]}}}}"
#define A_YEAR "\"2150-01-01T00:00:00Z\""

static void
assert_times(struct world *w, bool begin, bool deadline)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &alice, HTTP_GET, JOBS "/j", NULL);

    ck_assert_msg((strstr(a.text, "\"beginTime\"") != NULL) == begin
                      && (strstr(a.text, "\"deadline\"") != NULL) == deadline,
                  "%s", a.text);
}

START_TEST(a_field_of_kilns_is_cleared_by_an_explicit_null)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_POST, JOBS, TIMES_OF("\"2149-01-01T00:00:00Z\"", A_YEAR)), 201);
    world_code(&w, &alice, HTTP_PATCH, JOBS "/j", "{\"spec\":{\"beginTime\":null}}");
    assert_times(&w, false, true);

    world_code(&w, &alice, HTTP_PATCH, JOBS "/j",
               "{\"spec\":{\"beginTime\":\"2149-01-01T00:00:00Z\"}}");
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, JOBS "/j", NULL);
        struct json *spec = json_get(a.body, "spec");
        CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

        json_remove(spec, "deadline");
        json_set(a.arena, spec, "beginTime", json_null(a.arena));
        json_print(a.body, &body);
        ck_assert_int_eq(world_code(&w, &alice, HTTP_PUT, JOBS "/j", body.text), 200);
    }
    assert_times(&w, false, true);
}
END_TEST

START_TEST(the_owner_stays)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("p"));
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_PATCH, PODS "/p",
                      "{\"metadata\":{\"annotations\":{\"kiln.hpc/user\":\"bob\"},"
                      "\"labels\":{\"kiln.hpc/user\":null}}}");

        ck_assert_int_eq(a.code, 200);
        ck_assert_ptr_null(strstr(a.text, "\"bob\""));
        ck_assert_ptr_nonnull(strstr(a.text, "\"labels\":{\"kiln.hpc/user\":\"alice\"}"));
    }
}
END_TEST

/* Like `apply`, which sends the manifest without these members. */
START_TEST(fields_from_admission_need_not_be_sent_again)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, "/apis/scheduling.k8s.io/v1/priorityclasses",
                                "{\"metadata\":{\"name\":\"high\",\"annotations\":"
                                "{\"kiln.hpc/allowed-namespaces\":\"*\"}},"
                                "\"value\":7,"
                                "\"preemptionPolicy\":\"Never\"}"),
                     201);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS,
                                "{\"metadata\":{\"name\":\"p\"},\"spec\":{"
                                "\"priorityClassName\":\"high\","
                                "\"containers\":[{\"name\":\"c\","
                                "\"image\":\"host\"}]}}"),
                     201);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_PATCH, PODS "/p",
                      "{\"spec\":{\"priority\":null,\"preemptionPolicy\":null,"
                      "\"tolerations\":[{\"key\":\"mine\",\"operator\":\"Exists\"}]}}");

        ck_assert_msg(a.code == 200, "%s", a.text);
        ck_assert_str_eq(answer_get(&a, "spec.preemptionPolicy"), "Never");
        ck_assert_ptr_nonnull(strstr(a.text, "\"priority\":7"));
        ck_assert_ptr_nonnull(strstr(a.text, "\"mine\""));
        ck_assert_ptr_nonnull(strstr(a.text, "node.kubernetes.io/unreachable"));
    }
}
END_TEST

START_TEST(an_allocation_is_not_reported_but_bound)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("p"));

    ck_assert_int_eq(world_code(&w, &admin, HTTP_PATCH, PODS "/p/status",
                                "{\"status\":{\"allocation\":{\"cpus\":\"0-3\"}}}"),
                     403);
}
END_TEST

START_TEST(the_end_of_a_pod_is_written_once)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("p"));
    world_code(&w, &admin, HTTP_PATCH, PODS "/p/status",
               "{\"status\":{\"phase\":\"Failed\",\"reason\":\"NodeLost\"}}");

    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &admin, HTTP_PATCH, PODS "/p/status",
                                                   "{\"status\":{\"phase\":\"Succeeded\"}}");

        ck_assert_int_eq(a.code, 409);
        ck_assert_ptr_nonnull(strstr(a.text, "ended as Failed: NodeLost"));
    }
    ck_assert_int_eq(
        world_code(&w, &admin, HTTP_PATCH, PODS "/p/status", "{\"status\":{\"message\":\"more\"}}"),
        200);
}
END_TEST

/* ---- A Job whose template changes is requeued ---- */

static void
assert_asked(struct world *w, const char *job, const char *number)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, job, NULL);
    const struct json *annotations = json_get_path(a.body, "metadata.annotations");

    ck_assert_pstr_eq(json_get_text(annotations, "kiln.hpc/requeue-before"), number);
}

START_TEST(a_template_that_changes_before_the_hold_is_seen_asks_for_new_pods)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));
    ck_assert_int_eq(world_code(&w, &admin, HTTP_PATCH, JOBS "/j",
                                "{\"spec\":{\"suspend\":true,\"template\":{\"spec\":{"
                                "\"priority\":7}}}}"),
                     200);
    assert_asked(&w, JOBS "/j", "1");

    /* A write of an older copy does not undo it. */
    world_code(&w, &alice, HTTP_PATCH, JOBS "/j",
               "{\"metadata\":{\"annotations\":{"
               "\"kiln.hpc/requeue-before\":null}}}");
    assert_asked(&w, JOBS "/j", "1");
}
END_TEST

START_TEST(a_job_that_is_held_for_good_is_changed_without)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));
    world_code(&w, &admin, HTTP_PATCH, JOBS "/j", "{\"spec\":{\"suspend\":true}}");
    ck_assert_int_eq(world_code(&w, &admin, HTTP_PATCH, JOBS "/j/status",
                                "{\"status\":{\"conditions\":[{\"type\":\"Suspended\","
                                "\"status\":\"True\"}]}}"),
                     200);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_PATCH, JOBS "/j",
                                "{\"spec\":{\"template\":{\"spec\":{\"priority\":7}}}}"),
                     200);
    assert_asked(&w, JOBS "/j", NULL);
}
END_TEST

/* The text is not normalized again when it is stored. */
static void
check_is_normal(struct world *w, const struct kind *kind, const char *target,
                enum body_format format, const char *patch)
{
    CLEANUP_ANSWER struct answer a = world_put(w, &(struct question){
                                                      .who = &admin,
                                                      .method = HTTP_PATCH,
                                                      .target = target,
                                                      .format = format,
                                                      .body = patch,
                                                  });
    CLEANUP(object_unrefp) const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(a.code == 200, "%s: %s", patch, a.text);
    ck_assert_int_eq(object_parse(kind, a.text, strlen(a.text), &object, &err), 0);
    ck_assert_str_eq(object_text(object, a.arena), a.text);
}

START_TEST(a_status_that_was_written_is_as_its_table_wants_it)
{
    static const char *const of_pod[] = {
        "{\"status\":{\"reason\":\"r\",\"phase\":\"Running\",\"message\":\"m\"}}",
        "{\"metadata\":{\"labels\":{\"z\":\"1\",\"a\":\"2\"}},\"status\":{"
        "\"startTime\":\"2024-01-01T00:00:00.5+01:00\",\"conditions\":[{"
        "\"status\":\"True\",\"type\":\"Ready\"}]}}",
        "{\"metadata\":{\"annotations\":{\"b\":\"1\"},\"finalizers\":[\"a/b\"]},"
        "\"status\":{\"unknown\":1,\"reason\":null,\"hostIP\":\"10.0.0.1\"}}",
        "{\"status\":{\"containerStatuses\":[{\"state\":{\"running\":{}},"
        "\"name\":\"main\",\"image\":\"i\",\"imageID\":\"\",\"restartCount\":0,"
        "\"ready\":true}],\"message\":\"\"}}",
    };
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("p"));
    for (size_t i = 0; i < ARRAY_SIZE(of_pod); i++) {
        check_is_normal(&w, &pod_kind, PODS "/p/status", BODY_MERGE_PATCH, of_pod[i]);
        check_is_normal(&w, &pod_kind, PODS "/p/status", BODY_STRATEGIC_PATCH, of_pod[i]);
    }
    world_code(&w, &admin, HTTP_POST, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"}}");
    check_is_normal(&w, &node_kind, "/api/v1/nodes/n/status", BODY_MERGE_PATCH,
                    "{\"status\":{\"conditions\":[{\"status\":\"True\",\"type\":"
                    "\"Ready\"}],\"capacity\":{\"memory\":\"1024Mi\",\"cpu\":"
                    "\"4000m\"}}}");
}
END_TEST

SUITE("update", a_stale_version_is_a_conflict, a_change_of_nothing_keeps_the_version,
      spec_and_status_change_apart, a_status_that_was_written_is_as_its_table_wants_it,
      a_client_that_does_not_know_kilns_fields_keeps_them,
      a_field_of_kilns_is_cleared_by_an_explicit_null, the_owner_stays,
      fields_from_admission_need_not_be_sent_again, an_allocation_is_not_reported_but_bound,
      the_end_of_a_pod_is_written_once,
      a_template_that_changes_before_the_hold_is_seen_asks_for_new_pods,
      a_job_that_is_held_for_good_is_changed_without)
