/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "testsuite/lib/suite.h"

static struct answer
submit(struct world *w, const char *key, const char *body)
{
    return world_put(w, &(struct question){.who = &alice,
                                           .method = HTTP_POST,
                                           .target = JOBS,
                                           .format = BODY_JSON,
                                           .body = body,
                                           .key = key});
}

START_TEST(a_job_gets_an_id_a_name_its_user_and_digests)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    {
        CLEANUP_ANSWER struct answer a = submit(&w, NULL, JOB("\"generateName\":\"job-\""));
        const struct json *annotations = json_get_path(a.body, "metadata.annotations");

        ck_assert_int_eq(a.code, 201);
        ck_assert_str_eq(answer_get(&a, "metadata.name"), "job-1");
        ck_assert_int_eq(json_get_int(json_get(a.body, "status"), "id", 0), 1);
        ck_assert_str_eq(json_get_text(annotations, "kiln.hpc/user"), "alice");
        ck_assert_int_eq(strncmp(answer_get(&a, "spec.script.digest"), "sha256:", 7), 0);
        ck_assert_ptr_null(strstr(a.text, "echo secret"));
        ck_assert_int_eq(json_get_int(json_get_path(a.body, "spec.template.spec.securityContext"),
                                      "runAsUser", 0),
                         2001);
    }
}
END_TEST

START_TEST(a_submission_repeated_is_one_job)
{
    CLEANUP_WORLD struct world w;
    const char *body = JOB("\"generateName\":\"job-\"");

    world_init(&w);
    {
        CLEANUP_ANSWER struct answer first = submit(&w, "key-1", body);
        CLEANUP_ANSWER struct answer again = submit(&w, "key-1", body);
        CLEANUP_ANSWER struct answer other =
            submit(&w, "key-1", JOB("\"generateName\":\"other-\""));
        CLEANUP_ANSWER struct answer fresh = submit(&w, "key-2", body);

        ck_assert_int_eq(first.code, 201);
        ck_assert_int_eq(again.code, 200);
        ck_assert_str_eq(answer_get(&again, "metadata.uid"), answer_get(&first, "metadata.uid"));
        ck_assert_int_eq(other.code, 409);
        ck_assert_int_eq(fresh.code, 201);
        ck_assert_str_eq(answer_get(&fresh, "metadata.name"), "job-2");
    }
}
END_TEST

START_TEST(a_key_without_end_is_refused)
{
    CLEANUP_WORLD struct world w;
    char key[200] = {0};

    memset(key, 'k', sizeof(key) - 1);
    world_init(&w);
    {
        CLEANUP_ANSWER struct answer a = submit(&w, key, JOB("\"name\":\"j\""));

        ck_assert_int_eq(a.code, 400);
    }
}
END_TEST

#define SCRIPT(content)                                                     \
    "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"script\":{" content         \
    "},\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":" \
    "[{\"name\":\"main\"}]}}}}"

START_TEST(content_that_cannot_be_run_is_refused)
{
    static const char *const bodies[] = {
        SCRIPT("\"text\":\"\""),
        SCRIPT("\"text\":\"echo without an interpreter\""),
        SCRIPT("\"text\":\"#!/bin/sh\",\"data\":\"IyEvYmluL3No\""),
        SCRIPT("\"digest\":\"sha256:00\""),
    };
    CLEANUP_WORLD struct world w;

    world_init(&w);

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
        ck_assert_msg(world_code(&w, &alice, HTTP_POST, JOBS, bodies[i]) == 403, "%s", bodies[i]);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, JOBS, SCRIPT("\"data\":\"not base64!\"")),
                     400);
}
END_TEST

START_TEST(a_script_comes_back_byte_by_byte)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, JOBS,
                                SCRIPT("\"data\":\"IyEvYmluL3NoCnBya\\nW50ZiAnXDAwMCcK\"")),
                     201); /* a line break in base64 is not part of the script */
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, JOBS "/j/script", NULL);

        ck_assert_str_eq(a.text, "#!/bin/sh\nprintf '\\000'\n");
    }
}
END_TEST

START_TEST(a_pod_that_is_no_process_of_the_host_is_refused)
{
    static const char *const specs[] = {
        "\"containers\":[{\"name\":\"a\",\"image\":\"ubuntu\"}]",
        "\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]",
        "\"containers\":[{\"name\":\"a\"}],\"initContainers\":[{\"name\":"
        "\"b\"}]",
        "\"containers\":[{\"name\":\"a\",\"env\":[{\"name\":\"A\","
        "\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}}]}]",
        "\"containers\":[{\"name\":\"a\"}],\"volumes\":[{\"name\":\"v\","
        "\"hostPath\":{\"path\":\"/etc\"}}]",
        "\"containers\":[{\"name\":\"a\",\"securityContext\":{"
        "\"privileged\":true}}]",
    };
    CLEANUP_WORLD struct world w;

    world_init(&w);

    for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
        CLEANUP_FREE char *body =
            xasprintf("{\"metadata\":{\"name\":\"p\"},\"spec\":{%s}}", specs[i]);

        ck_assert_msg(world_code(&w, &alice, HTTP_POST, PODS, body) == 403, "%s", specs[i]);
    }
}
END_TEST

#define CRON_JOBS "/apis/batch/v1/namespaces/default/cronjobs"
#define CRON(container)                                                     \
    "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"schedule\":\"@daily\","     \
    "\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":" \
    "\"Never\",\"containers\":[{\"name\":\"m\"" container "}]}}}}}}"

START_TEST(a_pod_of_a_cron_job_is_a_process_of_the_host_as_well)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, CRON_JOBS, CRON("")), 201);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, CRON_JOBS "/c", NULL);

        ck_assert_ptr_nonnull(strstr(a.text, "\"image\":\"host\""));
    }
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, CRON_JOBS, CRON(",\"image\":\"ubuntu\"")),
                     403);

    w.server->profile = &api_profile_conformance;
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, CRON_JOBS, CRON("")), 422);
}
END_TEST

#define CRON_AT(schedule)                                               \
    "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"schedule\":\"" schedule \
    "\",\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{"            \
    "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"m\","      \
    "\"image\":\"host\"}]}}}}}}"

/* A CronJob that upstream, or a former release, accepted can still be changed.
 */
START_TEST(a_schedule_that_never_comes_is_refused)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);

    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_POST, CRON_JOBS, CRON_AT("0 0 31 4,6 *"));

        ck_assert_int_eq(a.code, 403);
        ck_assert_ptr_nonnull(strstr(a.text, "Schedule: '0 0 31 4,6 *' never occurs"));
    }
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, CRON_JOBS, CRON("")), 201);
    w.server->profile = &api_profile_conformance;
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, CRON_JOBS "/c",
                                "{\"spec\":{\"schedule\":\"0 0 30 2 *\"}}"),
                     200);
    w.server->profile = &api_profile_kiln;
    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_PATCH, CRON_JOBS "/c", "{\"spec\":{\"suspend\":true}}"), 200);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, CRON_JOBS "/c",
                                "{\"spec\":{\"schedule\":\"0 0 31 9 *\"}}"),
                     403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, CRON_JOBS "/c",
                                "{\"spec\":{\"schedule\":\"0 0 30 9 *\"}}"),
                     200);
}
END_TEST

START_TEST(a_dry_run_leaves_nothing)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS "?dryRun=All", POD("a")), 201);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_GET, PODS "/a", NULL), 404);
}
END_TEST

START_TEST(a_name_is_taken_once)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS, POD("a")), 201);
    ck_assert_int_eq(world_code(&w, &bob, HTTP_POST, PODS, POD("a")), 409);
}
END_TEST

START_TEST(bad_bodies_are_told_what_is_wrong)
{
    static const struct {
        const char *target;
        const char *body;
        int code;
    } bodies[] = {
        {PODS, "", 400},
        {PODS, "{", 400},
        {PODS, "[]", 400},
        {PODS, "{\"metadata\":{\"name\":5}}", 400},
        {PODS, "{\"metadata\":{\"name\":\"UPPER\"}}", 422},
        {PODS, "{\"kind\":\"Job\",\"metadata\":{\"name\":\"a\"}}", 400},
        {PODS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}}", 400},
        {PODS "?fieldValidation=Strict", "{\"metadata\":{},\"x\":1}", 400},
        {PODS "?dryRun=Some", POD("a"), 422},
        {"/api/v1/namespaces/nowhere/pods", POD("a"), 404},
    };
    CLEANUP_WORLD struct world w;

    world_init(&w);

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
        ck_assert_msg(world_code(&w, &alice, HTTP_POST, bodies[i].target, bodies[i].body)
                          == bodies[i].code,
                      "%s %s", bodies[i].target, bodies[i].body);
}
END_TEST

#define HELD_JOB(annotations, spec)                                                             \
    "{\"metadata\":{\"generateName\":\"j-\",\"annotations\":{" annotations "}},\"spec\":{" spec \
    "\"template\":{\"spec\":{\"restartPolicy\":"                                                \
    "\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"host\"}]}}}}"

#define SUSPENDED "\"suspend\":true,"

/* Checks the condition Suspended and the state of a new Job; "" for none. */
static void
check_first_status(struct world *w, const char *body, const char *condition, const char *state)
{
    CLEANUP_ANSWER struct answer a = submit(w, NULL, body);
    const struct json *status = json_get(a.body, "status");
    const struct json *first = json_at(json_get(status, "conditions"), 0);
    const char *type = json_get_text(first, "type");
    const char *name = json_get_text(status, "state");

    ck_assert_msg(a.code == 201, "%s: %s", body, a.text);
    ck_assert_str_eq(type != NULL ? type : "", condition);
    ck_assert_str_eq(name != NULL ? name : "", state);
    if (type == NULL)
        return;
    ck_assert_str_eq(json_get_text(first, "status"), "True");
    ck_assert_str_eq(json_get_text(first, "reason"), "JobSuspended");
    ck_assert_str_eq(json_get_text(first, "lastTransitionTime"),
                     answer_get(&a, "metadata.creationTimestamp"));
}

START_TEST(a_job_that_is_held_from_the_first_says_so_at_once)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    check_first_status(&w, HELD_JOB("", ""), "", "");
    check_first_status(&w, HELD_JOB("", SUSPENDED), "Suspended", "Held");
    check_first_status(&w, HELD_JOB("\"kiln.hpc/hold\":\"me\"", ""), "", "Held");
    check_first_status(&w,
                       HELD_JOB("", SUSPENDED "\"managedBy\":"
                                              "\"kubernetes.io/job-controller\","),
                       "Suspended", "Held");
}
END_TEST

START_TEST(nothing_is_said_of_a_job_of_which_more_is_to_be_said)
{
    static const char *const bodies[] = {
        HELD_JOB("", SUSPENDED "\"managedBy\":\"example.com/other\","),
        HELD_JOB("", SUSPENDED "\"completions\":0,\"parallelism\":0,"),
        HELD_JOB("", SUSPENDED "\"array\":{\"tasks\":\"0-3\"},"),
        HELD_JOB("\"kiln.hpc/cancel\":\"me\"", SUSPENDED),
    };
    CLEANUP_WORLD struct world w;

    world_init(&w);
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
        check_first_status(&w, bodies[i], "", "");
    w.server->profile = &api_profile_conformance;
    check_first_status(&w, HELD_JOB("", SUSPENDED), "", "");
}
END_TEST

SUITE("create", a_job_gets_an_id_a_name_its_user_and_digests, a_submission_repeated_is_one_job,
      a_key_without_end_is_refused, content_that_cannot_be_run_is_refused,
      a_script_comes_back_byte_by_byte, a_pod_that_is_no_process_of_the_host_is_refused,
      a_pod_of_a_cron_job_is_a_process_of_the_host_as_well, a_schedule_that_never_comes_is_refused,
      a_job_that_is_held_from_the_first_says_so_at_once,
      nothing_is_said_of_a_job_of_which_more_is_to_be_said, a_dry_run_leaves_nothing,
      a_name_is_taken_once, bad_bodies_are_told_what_is_wrong)
