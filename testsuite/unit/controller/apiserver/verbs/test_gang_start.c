/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/object.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

static const struct principal job_controller = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};

#define START JOBS "/g/start"
#define N     3

static const char gang[] =
    "{\"metadata\":{\"name\":\"g\"},\"spec\":{\"parallelism\":3,\"completions\":3,"
    "\"completionMode\":\"Indexed\",\"scheduling\":{\"schedulingPolicy\":{\"gang\":{}},"
    "\"disruptionMode\":{\"all\":{}}},\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
    "\"execution\":{\"runs\":\"Each\"},\"containers\":[{\"name\":\"main\",\"command\":["
    "\"/bin/true\"]}]}}}}";

static char job_uid[64];
static char uids[N][64];

/* The pod of one index as the job controller makes it. */
static void
make_pod(struct world *w, int index, int attempt)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;
    CLEANUP_ANSWER struct answer a = {0};

    strbuf_printf(&body,
                  "{\"metadata\":{\"name\":\"g-%d\",\"annotations\":{"
                  "\"kiln.hpc/start-barrier\":\"3\",\"kiln.hpc/attempt\":\"%d\"},"
                  "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
                  "\"g\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":{\"restartPolicy\":"
                  "\"Never\",\"securityContext\":{\"runAsUser\":2001,\"runAsGroup\":2001},"
                  "\"containers\":[{\"name\":\"main\",\"command\":[\"/bin/true\"]}]}}",
                  index, attempt, job_uid);
    a = world_ask(w, &job_controller, HTTP_POST, PODS, body.text);
    ck_assert_msg(a.code == 201, "%s", a.text);
    (void)snprintf(uids[index], sizeof(uids[index]), "%s", answer_get(&a, "metadata.uid"));
}

static const char *
path_of(int index, const char *part)
{
    static char path[128];

    (void)snprintf(path, sizeof(path), PODS "/g-%d%s", index, part);
    return path;
}

static void
patch(struct world *w, int index, const char *part, const char *body)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_PATCH, path_of(index, part), body);

    ck_assert_msg(a.code == 200, "%s", a.text);
}

static void
prepare(struct world *w, int index)
{
    patch(w, index, "/status",
          "{\"status\":{\"conditions\":[{\"type\":\"Prepared\",\"status\":\"True\"}]}}");
}

static void
begin(struct world *w)
{
    CLEANUP_ANSWER struct answer a = {0};

    world_init(w);
    a = world_ask(w, &alice, HTTP_POST, JOBS, gang);
    ck_assert_msg(a.code == 201, "%s", a.text);
    (void)snprintf(job_uid, sizeof(job_uid), "%s", answer_get(&a, "metadata.uid"));
    for (int i = 0; i < N; i++)
        make_pod(w, i, 0);
}

static int
start_as(struct world *w, const struct principal *who, int from, int to, char said[256])
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;
    CLEANUP_ANSWER struct answer a = {0};

    strbuf_printf(&body, "{\"uid\":\"%s\",\"pods\":[", job_uid);
    for (int i = from; i < to; i++)
        strbuf_printf(&body, "%s{\"name\":\"g-%d\",\"uid\":\"%s\"}", i > from ? "," : "", i,
                      uids[i]);
    strbuf_add_text(&body, "]}");
    a = world_ask(w, who, HTTP_POST, START, body.text);
    (void)snprintf(said, 256, "%s", a.text != NULL ? a.text : "");
    return a.code;
}

static void
check_refused(struct world *w, int from, int to, const char *words)
{
    char said[256];

    ck_assert_int_eq(start_as(w, &job_controller, from, to, said), 409);
    ck_assert_msg(strstr(said, words) != NULL, "%s", said);
}

/* The time of the mark, in `out`; "" : none. */
static const char *
mark_of(struct world *w, int index, char out[64])
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, path_of(index, ""), NULL);
    const struct json *annotations = json_get(json_get(a.body, "metadata"), "annotations");
    const char *mark = json_get_text(annotations, "kiln.hpc/gang-started");

    (void)snprintf(out, 64, "%s", mark != NULL ? mark : "");
    return out;
}

static void
check_none_marked(struct world *w)
{
    char mark[64];

    for (int i = 0; i < N; i++)
        ck_assert_str_eq(mark_of(w, i, mark), "");
}

START_TEST(all_that_are_prepared_are_marked_at_one_time)
{
    CLEANUP_WORLD struct world w;
    char said[256], first[64], again[64];

    begin(&w);
    for (int i = 0; i < N; i++)
        prepare(&w, i);

    ck_assert_int_eq(start_as(&w, &job_controller, 0, N, said), 200);

    ck_assert_msg(strstr(said, "\"started\":3") != NULL, "%s", said);
    mark_of(&w, 0, first);
    ck_assert_str_ne(first, "");
    for (int i = 1; i < N; i++)
        ck_assert_str_eq(mark_of(&w, i, again), first);

    /* doubled: the mark keeps its time */
    ck_assert_int_eq(start_as(&w, &job_controller, 0, N, said), 200);
    ck_assert_msg(strstr(said, "\"started\":0") != NULL, "%s", said);
    ck_assert_str_eq(mark_of(&w, 0, again), first);
}
END_TEST

START_TEST(one_that_is_not_prepared_keeps_all_from_starting)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    prepare(&w, 0);
    prepare(&w, 2);

    check_refused(&w, 0, N, "pod g-1 is not prepared");
    check_none_marked(&w);
    prepare(&w, 1);
    check_refused(&w, 0, 2, "2 pods are not the 3 that start together");
    check_none_marked(&w);
}
END_TEST

/* An agent of an earlier release starts its pod at once. */
START_TEST(one_that_runs_already_counts_as_prepared)
{
    CLEANUP_WORLD struct world w;
    char said[256];

    begin(&w);
    prepare(&w, 0);
    patch(&w, 1, "/status", "{\"status\":{\"phase\":\"Running\"}}");
    prepare(&w, 2);

    ck_assert_int_eq(start_as(&w, &job_controller, 0, N, said), 200);
}
END_TEST

START_TEST(one_that_is_being_deleted_or_has_failed_keeps_all_from_starting)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    for (int i = 0; i < N; i++)
        prepare(&w, i);
    patch(&w, 1, "/status", "{\"status\":{\"phase\":\"Failed\"}}");

    check_refused(&w, 0, N, "pod g-1 has ended or is being ended");
    check_none_marked(&w);
}
END_TEST

/* A late request names the pods of an attempt that is over. */
START_TEST(members_of_another_attempt_are_refused)
{
    CLEANUP_WORLD struct world w;
    char old[64];

    begin(&w);
    for (int i = 0; i < N; i++)
        prepare(&w, i);
    memcpy(old, uids[2], sizeof(old));
    ck_assert_int_eq(
        world_code(&w, &admin, HTTP_DELETE, path_of(2, ""), "{\"gracePeriodSeconds\":0}"), 200);
    make_pod(&w, 2, 1);
    prepare(&w, 2);
    check_refused(&w, 0, N, "pod g-2 does not start with these others");
    memcpy(uids[2], old, sizeof(old));
    check_refused(&w, 0, N, "pod g-2 is not there any more");
    check_none_marked(&w);
}
END_TEST

START_TEST(a_job_that_is_held_or_cancelled_does_not_start)
{
    CLEANUP_WORLD struct world w;

    begin(&w);
    for (int i = 0; i < N; i++)
        prepare(&w, i);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &admin, HTTP_PATCH, JOBS "/g", "{\"spec\":{\"suspend\":true}}");

        ck_assert_int_eq(a.code, 200);
    }
    check_refused(&w, 0, N, "the Job is suspended");
    check_none_marked(&w);
}
END_TEST

START_TEST(users_may_not_start_and_a_list_is_checked)
{
    CLEANUP_WORLD struct world w;
    char said[256];

    begin(&w);
    for (int i = 0; i < N; i++)
        prepare(&w, i);
    ck_assert_int_eq(start_as(&w, &alice, 0, N, said), 403);
    ck_assert_int_eq(world_code(&w, &job_controller, HTTP_POST, START, "{}"), 400);
    ck_assert_int_eq(world_code(&w, &job_controller, HTTP_POST, START,
                                "{\"pods\":[{\"name\":\"g-1\",\"uid\":\"a\"},{},{}]}"),
                     409);
    memcpy(uids[1], uids[0], sizeof(uids[1]));
    check_refused(&w, 0, N, "pod g-1 is not there any more");
    check_none_marked(&w);
}
END_TEST

SUITE("gang_start", all_that_are_prepared_are_marked_at_one_time,
      one_that_is_not_prepared_keeps_all_from_starting, one_that_runs_already_counts_as_prepared,
      one_that_is_being_deleted_or_has_failed_keeps_all_from_starting,
      members_of_another_attempt_are_refused, a_job_that_is_held_or_cancelled_does_not_start,
      users_may_not_start_and_a_list_is_checked)
