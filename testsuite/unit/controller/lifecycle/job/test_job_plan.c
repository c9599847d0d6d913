/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/job_plan.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "controller/lifecycle/job/array_state.h"
#include "controller/lifecycle/job/job_pod_counts.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

#define NOW INT64_C(1700000000000000)

static struct arena *arena;
static const struct object *job;
static struct job_pod_counts *counts;

static const struct object *
parse(const struct kind *kind, const char *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(kind, text, strlen(text), &object, &err) == 0, "%s: %s", text,
                  err.text);
    return object;
}

/* A Job named "j" with those members of spec and status; if spec has no number,
 * of one pod, like the server's default.
 */
static void
given_job(const char *annotations, const char *spec, const char *status)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_printf(&text,
                  "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                  "\"metadata\":{\"name\":\"j\",\"namespace\":\"default\","
                  "\"uid\":\"u\",\"annotations\":{%s}},"
                  "\"spec\":{%s%s%s\"template\":{\"spec\":{%s\"containers\":"
                  "[{\"name\":\"main\"}]}}},\"status\":{%s}}",
                  annotations, spec, *spec ? "," : "",
                  strstr(spec, "parallelism") ? "" : "\"completions\":1,",
                  strstr(spec, "\"gang\"") ? "\"execution\":{\"runs\":\"Each\"}," : "", status);
    arena = arena_new(0);
    job = parse(&job_kind, text.text);
    counts = job_pod_counts_new(job_of(job));
}

static const struct object *
make_pod(const char *metadata, const char *name, const char *status)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_printf(&text,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
                  "{\"name\":\"%s\",\"namespace\":\"default\"%s},\"spec\":"
                  "{\"nodeName\":\"n1\",\"containers\":[{\"name\":"
                  "\"main\"}]},\"status\":{%s}}",
                  name, metadata, status);
    return parse(&pod_kind, text.text);
}

static void
given_pod_with(const char *metadata, const char *name, const char *status)
{
    const struct object *pod = make_pod(metadata, name, status);

    job_pod_counts_see(counts, job_of(job), pod_of(pod));
    object_unref(pod);
}

/* The pod's last state before it was gone. */
static void
given_pod_gone(const char *metadata, const char *name, const char *status)
{
    const struct object *pod = make_pod(metadata, name, status);

    job_pod_counts_see_gone(counts, job_of(job), pod_of(pod));
    object_unref(pod);
}

static void
given_pod(const char *name, const char *status)
{
    given_pod_with("", name, status);
}

static void
given_deleted_pod(const char *name, const char *status)
{
    given_pod_with(",\"deletionTimestamp\":\"2023-11-14T22:13:20Z\"", name, status);
}

static struct job_plan
plan_at(int64_t now)
{
    struct job_plan plan;

    job_pod_counts_settle(counts, job_of(job));
    job_plan(job_of(job), counts, now, 10, arena, &plan);
    return plan;
}

static void
done(void)
{
    job_pod_counts_free(counts);
    object_unref(job);
    arena_free(arena);
}

static bool
has_condition(const struct json *status, const char *type)
{
    const struct json *list = json_get(status, "conditions");

    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(json_get_text(list->items[i], "type"), type) == 0
            && strcmp(json_get_text(list->items[i], "status"), "True") == 0)
            return true;
    return false;
}

#define ENDING "\"ending\":{\"reason\":\"DeadlineExceeded\"}"
#define FAILED_WITH(code)                                             \
    "\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\"," \
    "\"state\":{\"terminated\":{\"exitCode\":" code ","               \
    "\"finishedAt\":\"2023-11-14T22:13:20Z\"}}}]"
#define DISRUPTED                                                          \
    "\"phase\":\"Failed\",\"conditions\":[{\"type\":\"DisruptionTarget\"," \
    "\"status\":\"True\"}]"

START_TEST(a_new_job_gets_its_pod)
{
    given_job("", "\"backoffLimit\":0", "\"id\":7");

    struct job_plan plan = plan_at(NOW);

    ck_assert_uint_eq(plan.n_create, 1);
    ck_assert_int_eq(plan.create[0].index, 0);
    ck_assert_int_eq(plan.create[0].attempt, 0);
    ck_assert_ptr_null(plan.status);
    done();
}
END_TEST

START_TEST(a_pod_that_was_asked_for_is_not_asked_for_again)
{
    given_job("", "", "");
    job_pod_counts_expect(counts, 0, 0, NOW);

    ck_assert_uint_eq(plan_at(NOW).n_create, 0);
    done();
}
END_TEST

START_TEST(a_job_whose_pod_succeeds_is_complete)
{
    given_job("", "\"backoffLimit\":0", "\"attempts\":1,\"active\":1");
    given_pod("j-0", "\"phase\":\"Succeeded\"");

    struct job_plan plan = plan_at(NOW);

    ck_assert_uint_eq(plan.n_create, 0);
    ck_assert(plan.status_is_urgent);
    ck_assert(has_condition(plan.status, "SuccessCriteriaMet"));
    ck_assert(has_condition(plan.status, "Complete"));
    ck_assert_int_eq(json_get_int(plan.status, "succeeded", 0), 1);
    ck_assert(json_is(json_get(plan.status, "active"), JSON_NULL));
    ck_assert_ptr_nonnull(json_get(plan.status, "completionTime"));
    done();
}
END_TEST

START_TEST(without_backoff_the_first_failure_is_the_last)
{
    given_job("", "\"backoffLimit\":0", "\"attempts\":1");
    given_pod("j-0", FAILED_WITH("3"));

    struct job_plan plan = plan_at(NOW);

    ck_assert(has_condition(plan.status, "FailureTarget"));
    ck_assert(has_condition(plan.status, "Failed"));
    ck_assert_int_eq(json_get_int(plan.status, "exitCode", 0), 3);
    ck_assert_int_eq(json_get_int(plan.status, "failed", 0), 1);
    done();
}
END_TEST

START_TEST(with_backoff_the_next_attempt_comes_after_a_pause)
{
    given_job("", "\"backoffLimit\":2", "\"attempts\":1");
    given_pod("j-0", FAILED_WITH("1"));

    struct job_plan at_once = plan_at(NOW + 1000000);
    struct job_plan later = plan_at(NOW + 11 * INT64_C(1000000));

    ck_assert_uint_eq(at_once.n_create, 0);
    ck_assert_int_eq(at_once.wake_after_us, 9000000);
    ck_assert_uint_eq(later.n_create, 1);
    ck_assert_int_eq(later.create[0].index, 0);
    ck_assert_int_eq(later.create[0].attempt, 1);
    done();
}
END_TEST

START_TEST(a_pod_lost_with_its_node_is_replaced_when_the_job_says_so)
{
    given_job("", "\"backoffLimit\":0,\"requeue\":true", "\"attempts\":1");
    given_pod("j-0", DISRUPTED);

    struct job_plan plan = plan_at(NOW);

    ck_assert_uint_eq(plan.n_create, 1);
    ck_assert_int_eq(plan.create[0].attempt, 1);
    done();
}
END_TEST

START_TEST(a_pod_that_failed_by_itself_beside_a_preemption_fails_the_job)
{
    given_job("", "\"requeue\":true,\"backoffLimit\":0", "\"attempts\":1");
    given_deleted_pod("j-0", "\"observed\":{\"ownEnd\":true},\"conditions\":[{\"type\":"
                             "\"DisruptionTarget\",\"status\":\"True\"}]," FAILED_WITH("7"));

    ck_assert(has_condition(plan_at(NOW).status, "FailureTarget"));
    done();
}
END_TEST

START_TEST(a_pod_lost_with_its_node_fails_the_job_otherwise)
{
    given_job("", "\"backoffLimit\":0", "\"attempts\":1");
    given_pod("j-0", DISRUPTED);

    ck_assert(has_condition(plan_at(NOW).status, "Failed"));
    done();
}
END_TEST

START_TEST(a_pod_that_was_made_and_is_gone_has_failed)
{
    given_job("", "\"backoffLimit\":0", "\"attempts\":1,\"active\":1");

    struct job_plan plan = plan_at(NOW);

    ck_assert_uint_eq(plan.n_create, 0);
    ck_assert(has_condition(plan.status, "Failed"));
    done();
}
END_TEST

/* The controller was killed after it had made pods, and before it wrote so: two of
 * the pods that the status has counted were removed.
 */
START_TEST(ends_that_were_counted_stay_counted_while_newer_pods_are_not)
{
    struct job_plan plan;

    given_job("", "\"parallelism\":2,\"completions\":9,\"backoffLimit\":6",
              "\"attempts\":4,\"succeeded\":2,\"failed\":1");
    given_pod("j-0", "\"phase\":\"Succeeded\"");
    given_pod("j-3", "\"phase\":\"Running\"");
    given_pod("j-4", "\"phase\":\"Running\"");
    given_pod("j-5", "\"phase\":\"Pending\"");

    plan = plan_at(NOW);
    ck_assert_int_eq(counts->succeeded, 2);
    ck_assert_int_eq(counts->failed, 1);
    ck_assert_int_eq(json_get_int(plan.status, "attempts", 0), 6);
    done();
}
END_TEST

START_TEST(a_requeued_job_ends_its_pod_and_runs_again)
{
    static const char asked[] = "\"kiln.hpc/requeue-before\":\"1\"";

    given_job(asked, "\"backoffLimit\":0", "\"attempts\":1,\"active\":1");
    given_pod("j-0", "\"phase\":\"Running\"");

    struct job_plan ending = plan_at(NOW);

    ck_assert(ending.delete_active);
    ck_assert_uint_eq(ending.n_create, 0);
    ck_assert_ptr_null(json_get(ending.status, "requeued"));
    done();

    given_job(asked, "\"backoffLimit\":0", "\"attempts\":1,\"active\":1");

    struct job_plan ended = plan_at(NOW);

    ck_assert(ended.status_is_urgent);
    ck_assert_int_eq(json_get_int(ended.status, "requeued", 0), 1);
    ck_assert_int_eq(json_get_int(ended.status, "excused", 0), 1);
    ck_assert_uint_eq(ended.n_create, 0);
    done();

    given_job(asked, "\"backoffLimit\":0", "\"attempts\":1,\"excused\":1,\"requeued\":1");

    struct job_plan again = plan_at(NOW);

    ck_assert(!has_condition(again.status, "Failed"));
    ck_assert_uint_eq(again.n_create, 1);
    ck_assert_int_eq(again.create[0].attempt, 1);
    done();
}
END_TEST

START_TEST(a_cancelled_job_has_failed_when_its_pods_are_gone)
{
    static const char asked[] = "\"kiln.hpc/cancel\":\"alice\"";
    static const char spec[] = "\"backoffLimit\":6,\"suspend\":true";

    given_job(asked, spec, "\"attempts\":1,\"active\":1");
    given_pod("j-0", "\"phase\":\"Running\"");

    struct job_plan ending = plan_at(NOW);

    ck_assert(ending.delete_active);
    ck_assert_uint_eq(ending.n_create, 0);
    ck_assert(ending.status_is_urgent);
    ck_assert_str_eq(json_get_text(ending.status, "state"), "Ending");
    ck_assert(!has_condition(ending.status, "FailureTarget")); /* it may have ended by itself */
    ck_assert(!has_condition(ending.status, "Failed"));
    done();

    given_job(asked, spec,
              "\"attempts\":1,\"active\":1,\"conditions\":[{\"type\":"
              "\"FailureTarget\",\"status\":\"True\",\"reason\":"
              "\"Cancelled\"}]");

    struct job_plan ended = plan_at(NOW);

    ck_assert(has_condition(ended.status, "FailureTarget"));
    ck_assert(has_condition(ended.status, "Failed"));
    done();
}
END_TEST

START_TEST(a_job_does_not_end_before_its_start_if_the_clock_was_set_back)
{
    given_job("", "", "\"attempts\":1,\"active\":1,\"startTime\":\"2030-01-01T00:00:00Z\"");
    given_pod("j-0", "\"phase\":\"Succeeded\"");

    struct job_plan plan = plan_at(NOW);

    ck_assert_str_eq(json_get_text(plan.status, "completionTime"), "2030-01-01T00:00:00Z");
    done();
}
END_TEST

START_TEST(a_job_that_succeeded_before_it_was_cancelled_is_complete)
{
    given_job("\"kiln.hpc/cancel\":\"alice\"", "", "\"attempts\":1");
    given_pod("j-0", "\"phase\":\"Succeeded\"");

    struct job_plan plan = plan_at(NOW);

    ck_assert(has_condition(plan.status, "Complete"));
    done();
}
END_TEST

START_TEST(a_held_job_has_no_pods)
{
    given_job("", "\"suspend\":true", "\"attempts\":1,\"active\":1");
    given_pod("j-0", "\"phase\":\"Pending\"");

    struct job_plan plan = plan_at(NOW);

    ck_assert_uint_eq(plan.n_create, 0);
    ck_assert(plan.status_is_urgent);
    ck_assert(has_condition(plan.status, "Suspended"));
    ck_assert(!plan.delete_active); /* not before the condition is written */
    done();

    given_job("", "\"suspend\":true",
              "\"attempts\":1,\"active\":1,\"conditions\":[{\"type\":"
              "\"Suspended\",\"status\":\"True\"}]");
    given_pod("j-0", "\"phase\":\"Pending\"");

    struct job_plan known = plan_at(NOW);

    ck_assert_uint_eq(known.n_create, 0);
    ck_assert(known.delete_active);
    done();
}
END_TEST

/* The whole sequence of a pod that is ended because its job was suspended. */
START_TEST(a_pod_that_is_held_is_not_held_against_its_job)
{
    static const char suspended[] = "\"attempts\":1,\"active\":1,\"conditions\":[{\"type\":"
                                    "\"Suspended\",\"status\":\"True\"}]";

    /* The pod was killed, and is not gone yet. */
    given_job("", "\"suspend\":true,\"backoffLimit\":0", suspended);
    given_deleted_pod("j-0", FAILED_WITH("143"));

    struct job_plan killed = plan_at(NOW);

    ck_assert(!has_condition(killed.status, "FailureTarget"));
    ck_assert_int_eq(json_get_int(killed.status, "excused", 0), 1);
    done();

    /* The pod is gone without a report. */
    given_job("", "\"suspend\":true,\"backoffLimit\":0", suspended);

    struct job_plan gone = plan_at(NOW);

    ck_assert(!has_condition(gone.status, "FailureTarget"));
    ck_assert_int_eq(json_get_int(gone.status, "excused", 0), 1);
    done();

    /* The job was released before the pod was gone, and waits for that. */
    given_job("", "\"backoffLimit\":0", suspended);
    given_deleted_pod("j-0", "\"phase\":\"Running\"");

    struct job_plan early = plan_at(NOW);

    ck_assert_uint_eq(early.n_create, 0);
    ck_assert_ptr_null(json_get(early.status, "conditions"));
    done();

    given_job("", "\"backoffLimit\":0", suspended);

    struct job_plan released = plan_at(NOW);

    ck_assert(released.status_is_urgent);
    ck_assert(!has_condition(released.status, "Suspended"));
    ck_assert(!has_condition(released.status, "FailureTarget"));
    ck_assert_uint_eq(released.n_create, 0);
    done();

    given_job("", "\"backoffLimit\":0",
              "\"attempts\":1,\"excused\":1,\"conditions\":[{\"type\":"
              "\"Suspended\",\"status\":\"False\"}]");

    struct job_plan again = plan_at(NOW);

    ck_assert_uint_eq(again.n_create, 1);
    ck_assert_int_eq(again.create[0].attempt, 1);
    done();
}
END_TEST

START_TEST(the_run_of_the_last_pod_is_kept_with_the_job)
{
    given_job("", "\"backoffLimit\":0", "\"attempts\":1");
    given_pod("j-0", FAILED_WITH("3"));

    const struct json *run = json_get(plan_at(NOW).status, "lastRun");

    ck_assert_str_eq(json_get_text(run, "podName"), "j-0");
    ck_assert_str_eq(json_get_text(run, "nodeName"), "n1");
    ck_assert_str_eq(json_get_text(run, "finishedAt"), "2023-11-14T22:13:20Z");
    ck_assert_int_eq(json_get_int(run, "exitCode", 0), 3);
    done();
}
END_TEST

START_TEST(the_suspended_time_of_the_last_pod_is_kept_with_the_job)
{
    given_job("", "\"backoffLimit\":0", "\"attempts\":1");
    given_pod("j-0", FAILED_WITH("3") ",\"frozenMicroseconds\":7000000");

    const struct json *run = json_get(plan_at(NOW).status, "lastRun");

    ck_assert_int_eq(json_get_int(run, "frozenMicroseconds", 0), 7000000);
    done();

    given_job("", "\"backoffLimit\":0",
              "\"attempts\":1,\"lastRun\":{\"podName\":\"j-0\","
              "\"frozenMicroseconds\":5}");
    given_pod("j-0", FAILED_WITH("3"));
    run = json_get(plan_at(NOW).status, "lastRun");
    ck_assert(json_is(json_get(run, "frozenMicroseconds"), JSON_NULL));
    done();
}
END_TEST

START_TEST(an_index_that_is_done_stays_done_without_its_pod)
{
    given_job("",
              "\"completionMode\":\"Indexed\",\"parallelism\":2,"
              "\"completions\":4",
              "\"attempts\":2,\"succeeded\":2,\"completedIndexes\":\"0,2\"");

    struct job_plan plan = plan_at(NOW);

    ck_assert_uint_eq(plan.n_create, 2);
    ck_assert_int_eq(plan.create[0].index, 1);
    ck_assert_int_eq(plan.create[1].index, 3);
    done();
}
END_TEST

START_TEST(a_job_with_a_begin_time_waits_for_it)
{
    given_job("", "\"beginTime\":\"2023-11-14T22:13:25Z\"", "");

    struct job_plan before = plan_at(NOW);
    struct job_plan after = plan_at(NOW + 5000000);

    ck_assert_uint_eq(before.n_create, 0);
    ck_assert_int_eq(before.wake_after_us, 5000000);
    ck_assert_uint_eq(after.n_create, 1);
    done();
}
END_TEST

START_TEST(parallelism_and_completions_bound_the_pods)
{
    static const struct {
        const char *spec;
        unsigned create;
    } cases[] = {
        {"\"parallelism\":3,\"completions\":5", 3},
        {"\"parallelism\":8,\"completions\":5", 5},
        {"\"parallelism\":0,\"completions\":5", 0},
        {"\"parallelism\":4", 4},
        {"\"parallelism\":50,\"completions\":50", 10},
        {"\"completionMode\":\"Indexed\",\"parallelism\":2,\"completions\":3", 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        given_job("", cases[i].spec, "");
        ck_assert_uint_eq(plan_at(NOW).n_create, cases[i].create);
        done();
    }
}
END_TEST

START_TEST(an_indexed_job_fills_the_indexes_that_are_missing)
{
    given_job("",
              "\"completionMode\":\"Indexed\",\"parallelism\":2,"
              "\"completions\":4",
              "\"attempts\":2");
    given_pod("j-0", "\"phase\":\"Succeeded\"");
    given_pod("j-1", "\"phase\":\"Running\"");

    struct job_plan plan = plan_at(NOW);

    ck_assert_uint_eq(plan.n_create, 1);
    ck_assert_int_eq(plan.create[0].index, 2);
    ck_assert_str_eq(json_get_text(plan.status, "completedIndexes"), "0");
    done();
}
END_TEST

#define POLICY(action, code)                                       \
    "\"podFailurePolicy\":{\"rules\":[{\"action\":\"" action "\"," \
    "\"onExitCodes\":{\"operator\":\"In\",\"values\":[" code "]}}]}"
#define INDEXED(n) "\"completionMode\":\"Indexed\",\"completions\":" n ",\"parallelism\":" n

static const char *
text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static const char *
reason_of(const struct json *status, const char *type)
{
    const struct json *list = json_get(status, "conditions");

    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(json_get_text(list->items[i], "type"), type) == 0)
            return json_get_text(list->items[i], "reason");
    return "";
}

/* Indexed jobs with one pod per index, which ended like this: 0 Succeeded, 'r'
 * Running, a digit Failed with that exit code.
 */
START_TEST(failures_count_as_the_job_says)
{
    static const struct {
        const char *spec, *pods;
        const char *verdict, *reason; /* of the Job, "" while it runs */
        const char *failed_indexes;
        int failed, excused;
    } cases[] = {
        {INDEXED("3") ",\"backoffLimit\":0", "0r4", "FailureTarget", "BackoffLimitExceeded", "", 1,
         0},
        {INDEXED("3") ",\"backoffLimit\":1", "0r4", "", "", "", 1, 0},
        {INDEXED("3") "," POLICY("FailJob", "4"), "0r4", "FailureTarget", "PodFailurePolicy", "", 1,
         0},
        {INDEXED("3") "," POLICY("FailJob", "5"), "0r4", "", "", "", 1, 0},
        {INDEXED("3") ",\"backoffLimit\":0," POLICY("Ignore", "4"), "0r4", "", "", "", 0, 1},
        {INDEXED("3") ",\"backoffLimitPerIndex\":0", "0r4", "", "", "2", 1, 0},
        {INDEXED("3") ",\"backoffLimitPerIndex\":1", "0r4", "", "", "", 1, 0},
        {INDEXED("3") ",\"backoffLimitPerIndex\":0,\"maxFailedIndexes\":1", "r44", "FailureTarget",
         "MaxFailedIndexesExceeded", "1,2", 2, 0},
        {INDEXED("3") ",\"backoffLimitPerIndex\":0,\"maxFailedIndexes\":2", "r44", "", "", "1,2", 2,
         0},
        {INDEXED("3") ",\"backoffLimitPerIndex\":0", "004", "FailureTarget", "FailedIndexes", "2",
         1, 0},
        {INDEXED("3") ",\"backoffLimitPerIndex\":5," POLICY("FailIndex", "4"), "0r4", "", "", "2",
         1, 0},
        {INDEXED("3") ",\"backoffLimitPerIndex\":0," POLICY("Ignore", "4"), "0r4", "", "", "", 0,
         1},
        {INDEXED("3") ",\"successPolicy\":{\"rules\":[{\"succeededIndexes\":"
                      "\"0\"}]}",
         "0rr", "SuccessCriteriaMet", "SuccessPolicy", "", 0, 0},
        {INDEXED("3") ",\"successPolicy\":{\"rules\":[{\"succeededCount\":"
                      "2}]}",
         "0rr", "", "", "", 0, 0},
        /* Failure is checked before success. */
        {INDEXED("3") ",\"backoffLimit\":0,\"successPolicy\":{\"rules\":["
                      "{\"succeededCount\":1}]}",
         "0r4", "FailureTarget", "BackoffLimitExceeded", "", 1, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        given_job("", cases[i].spec, "\"startTime\":\"2023-11-14T22:13:20Z\"");
        for (int k = 0; cases[i].pods[k] != '\0'; k++) {
            char c = cases[i].pods[k];

            given_pod(arena_printf(arena, "j-%d", k),
                      c == 'r'   ? "\"phase\":\"Running\""
                      : c == '0' ? "\"phase\":\"Succeeded\""
                                 : arena_printf(arena, FAILED_WITH("%c"), c));
        }

        const struct json *status = plan_at(NOW).status;

        ck_assert_msg(has_condition(status, "FailureTarget") == (cases[i].verdict[0] == 'F'),
                      "case %zu", i);
        ck_assert_msg(has_condition(status, "SuccessCriteriaMet") == (cases[i].verdict[0] == 'S'),
                      "case %zu", i);
        if (cases[i].verdict[0] != '\0')
            ck_assert_str_eq(reason_of(status, cases[i].verdict), cases[i].reason);
        ck_assert_str_eq(text_or_empty(json_get_text(status, "failedIndexes")),
                         cases[i].failed_indexes);
        ck_assert_int_eq(json_get_int(status, "failed", 0), cases[i].failed);
        ck_assert_int_eq(json_get_int(status, "excused", 0), cases[i].excused);
        done();
    }
}
END_TEST

/* Also the pods' annotations, which survive this controller. */
START_TEST(each_index_waits_after_its_own_failures)
{
    given_job("", INDEXED("3") ",\"backoffLimitPerIndex\":5", "");
    given_pod_with(",\"annotations\":{\"batch.kubernetes.io/"
                   "job-index-failure-count\":\"1\"}",
                   "j-1-r1", FAILED_WITH("1"));

    struct job_plan soon = plan_at(NOW + 11 * INT64_C(1000000));
    struct job_plan later = plan_at(NOW + 20 * INT64_C(1000000));

    ck_assert_uint_eq(soon.n_create, 2);
    ck_assert_int_eq(soon.create[0].index, 0);
    ck_assert_int_eq(soon.create[1].index, 2);
    ck_assert_int_eq(soon.create[1].failures, 0);
    ck_assert_int_eq(soon.wake_after_us, 9000000);
    ck_assert_uint_eq(later.n_create, 3);
    ck_assert_int_eq(later.create[1].index, 1);
    ck_assert_int_eq(later.create[1].attempt, 2);
    ck_assert_int_eq(later.create[1].failures, 2);
    done();
}
END_TEST

#define SECOND INT64_C(1000000)
#define REFUSED                                                             \
    "\"phase\":\"Failed\",\"reason\":\"AllocationOverlap\",\"conditions\":" \
    "[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"       \
    "\"AllocationOverlap\"}]"

/* A pod that was made that many seconds after NOW; `status` is that of a
 * refusal by its node, or another.
 */
static void
given_made(const char *name, unsigned after_s, const char *status)
{
    char metadata[64];

    snprintf(metadata, sizeof(metadata), ",\"creationTimestamp\":\"2023-11-14T22:%02u:%02uZ\"",
             13 + (20 + after_s) / 60, (20 + after_s) % 60);
    given_pod_with(metadata, name, status);
}

START_TEST(a_pod_that_nodes_refuse_is_tried_again_later_and_later)
{
    static const unsigned waits[] = {1, 2, 4, 8, 16, 32, 60, 60};
    unsigned after = 0;

    given_job("", "\"backoffLimit\":0", "\"attempts\":1");
    for (unsigned i = 0; i < ARRAY_SIZE(waits); i++) {
        CLEANUP_FREE char *name = xasprintf(i > 0 ? "j-0-r%u" : "j-0", i);

        given_made(name, after, REFUSED);
        struct job_plan early = plan_at(NOW + (after + waits[i]) * SECOND - SECOND / 2);
        after += waits[i];
        struct job_plan plan = plan_at(NOW + after * SECOND);

        ck_assert_uint_eq(early.n_create, 0);
        ck_assert_int_eq(early.wake_after_us, SECOND / 2);
        ck_assert_uint_eq(plan.n_create, 1);
        ck_assert_int_eq(plan.create[0].attempt, i + 1);
        ck_assert(!has_condition(plan.status, "FailureTarget"));
    }
    done();
}
END_TEST

START_TEST(a_node_whose_shepherds_die_at_once_is_tried_later_and_later)
{
    static const char lost[] = "\"phase\":\"Failed\",\"reason\":\"ShepherdLost\",\"conditions\":"
                               "[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
                               "\"ShepherdLost\"}]";

    given_job("", "\"backoffLimit\":0,\"requeue\":true", "");
    given_made("j-0", 0, lost);
    ck_assert_int_eq(plan_at(NOW).wake_after_us, SECOND);
    ck_assert_uint_eq(plan_at(NOW + SECOND).n_create, 1);

    given_made("j-0-r1", 1, lost);
    ck_assert_int_eq(plan_at(NOW + SECOND).wake_after_us, 2 * SECOND);
    done();
}
END_TEST

START_TEST(a_pod_that_ran_ends_the_row_of_refusals)
{
    given_job("", "\"backoffLimit\":0,\"requeue\":true", "");
    given_made("j-0", 0, REFUSED);
    given_made("j-0-r1", 1, REFUSED);
    given_made("j-0-r2", 3,
               "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","
               "\"status\":\"True\"}]");
    given_made("j-0-r2", 3, DISRUPTED);
    ck_assert_uint_eq(plan_at(NOW + 4 * SECOND).n_create, 1);

    given_made("j-0-r3", 4, REFUSED);
    ck_assert_int_eq(plan_at(NOW + 4 * SECOND).wake_after_us, SECOND);
    done();
}
END_TEST

/* One broken node must not delay the rest of an array. */
START_TEST(indexes_that_were_not_tried_do_not_wait_for_those_refused)
{
    given_job("", INDEXED("6"), "");
    given_made("j-0", 0, REFUSED);
    given_made("j-1", 0, REFUSED);
    given_made("j-2", 0, REFUSED);

    struct job_plan soon = plan_at(NOW);
    struct job_plan later = plan_at(NOW + SECOND);

    ck_assert_uint_eq(soon.n_create, 3);
    ck_assert_int_eq(soon.create[0].index, 3);
    ck_assert_int_eq(soon.wake_after_us, SECOND);
    ck_assert_uint_eq(later.n_create, 6);
    done();
}
END_TEST

START_TEST(an_index_that_has_failed_stays_failed_without_its_pods)
{
    given_job("", INDEXED("3") ",\"backoffLimitPerIndex\":0",
              "\"startTime\":\"2023-11-14T22:13:20Z\","
              "\"attempts\":1,\"failed\":1,\"failedIndexes\":\"1\"");

    struct job_plan plan = plan_at(NOW);

    ck_assert_uint_eq(plan.n_create, 2);
    ck_assert_int_eq(plan.create[0].index, 0);
    ck_assert_int_eq(plan.create[1].index, 2);
    ck_assert_ptr_null(plan.status);
    done();
}
END_TEST

#define RUNNING "\"phase\":\"Running\""
#define EARLY   "\"podReplacementPolicy\":\"TerminatingOrFailed\""
#define LATE    "\"podReplacementPolicy\":\"Failed\""

START_TEST(a_pod_is_replaced_when_it_ends_or_when_it_is_asked_to)
{
    static const struct {
        const char *spec, *pod;
        unsigned create;
        int failed, terminating;
    } cases[] = {
        {EARLY, RUNNING, 1, 1, 1},
        {LATE, RUNNING, 0, 0, 1},
        {EARLY, FAILED_WITH("143"), 1, 1, 0},
        {LATE, FAILED_WITH("143"), 1, 1, 0},
        /* A pod on an unreachable node may still run. */
        {EARLY, "\"phase\":\"Unknown\"", 0, 0, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        given_job("", cases[i].spec, "");
        given_deleted_pod("j-0", cases[i].pod);

        struct job_plan plan = plan_at(NOW + 60 * INT64_C(1000000));

        ck_assert_msg(plan.n_create == cases[i].create, "case %zu", i);
        ck_assert_int_eq(json_get_int(plan.status, "failed", 0), cases[i].failed);
        ck_assert_int_eq(json_get_int(plan.status, "terminating", 0), cases[i].terminating);
        ck_assert_int_eq(json_get_int(plan.status, "active", 0), 0);
        done();
    }
}
END_TEST

START_TEST(a_pod_that_was_replaced_is_not_counted_again_when_it_ends)
{
    given_job("", EARLY, "");
    given_deleted_pod("j-0", RUNNING);
    given_deleted_pod("j-0", "\"phase\":\"Unknown\"");
    given_deleted_pod("j-0", FAILED_WITH("143"));

    struct job_plan plan = plan_at(NOW + 60 * INT64_C(1000000));

    ck_assert_uint_eq(plan.n_create, 1);
    ck_assert_int_eq(json_get_int(plan.status, "failed", 0), 1);
    ck_assert_int_eq(json_get_int(plan.status, "exitCode", 0), 143);
    done();
}
END_TEST

START_TEST(a_job_has_not_ended_while_one_of_its_pods_is_ending)
{
    given_job("", EARLY ",\"backoffLimit\":0", "");
    given_deleted_pod("j-0", RUNNING);

    const struct json *ending = plan_at(NOW).status;

    ck_assert(has_condition(ending, "FailureTarget"));
    ck_assert(!has_condition(ending, "Failed"));

    given_deleted_pod("j-0", FAILED_WITH("143"));
    ck_assert(has_condition(plan_at(NOW).status, "Failed"));
    done();
}
END_TEST

START_TEST(a_job_that_wants_fewer_pods_lets_some_go)
{
    static const struct {
        const char *spec;
        unsigned create;
        int unwanted;
    } cases[] = {
        {"\"parallelism\":3,\"completions\":9", 0, 0},
        {"\"parallelism\":1,\"completions\":9", 0, 2},
        {"\"parallelism\":0,\"completions\":9", 0, 3},
        {"\"parallelism\":2", 0, 1},
        {INDEXED("2"), 0, 1},
        /* One pod belongs to an index that no longer exists. */
        {"\"completionMode\":\"Indexed\",\"completions\":2,"
         "\"parallelism\":3",
         0, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        given_job("", cases[i].spec, "");
        for (int k = 0; k < 3; k++)
            given_pod(arena_printf(arena, "j-%d", k), RUNNING);

        struct job_plan plan = plan_at(NOW);

        ck_assert_msg(plan.n_remove == cases[i].unwanted, "case %zu", i);
        ck_assert_uint_eq(plan.n_create, cases[i].create);
        done();
    }
}
END_TEST

START_TEST(a_pod_that_was_too_many_has_not_failed)
{
    static const char unwanted[] = ",\"annotations\":{\"kiln.hpc/surplus\":\"true\"}";
    static const char deleted[] = ",\"annotations\":{\"kiln.hpc/surplus\":\"true\"},"
                                  "\"deletionTimestamp\":\"2023-11-14T22:13:20Z\"";

    given_job("",
              LATE ",\"backoffLimit\":0,\"parallelism\":0,"
                   "\"completions\":4",
              "");
    given_pod_with(deleted, "j-0", FAILED_WITH("143"));
    given_pod_gone(unwanted, "j-1", "");

    const struct json *status = plan_at(NOW).status;

    ck_assert(!has_condition(status, "FailureTarget"));
    ck_assert_int_eq(json_get_int(status, "excused", 0), 2);
    done();
}
END_TEST

START_TEST(a_success_ends_the_row_of_failures)
{
    given_job("", "\"backoffLimit\":9,\"parallelism\":1,\"completions\":3", "");
    given_pod("j-0", FAILED_WITH("1"));
    given_pod("j-1", FAILED_WITH("1"));
    ck_assert_int_eq(plan_at(NOW).wake_after_us, 20000000);

    given_pod("j-2", "\"phase\":\"Succeeded\",\"containerStatuses\":[{\"name\":"
                     "\"main\",\"state\":{\"terminated\":{\"exitCode\":0,"
                     "\"finishedAt\":\"2023-11-14T22:13:21Z\"}}}]");
    ck_assert_uint_eq(plan_at(NOW + 1000000).n_create, 1);
    done();
}
END_TEST

#define WAITS "\"podReplacementPolicy\":\"Failed\","
#define ORDER                                                                          \
    "\"attempts\":1,\"conditions\":[{\"type\":\"FailureTarget\",\"status\":\"False\"," \
    "\"reason\":\"DeadlineExceeded\"}]"

START_TEST(a_job_past_its_deadline_fails_and_ends_its_pods)
{
    given_job("", WAITS "\"activeDeadlineSeconds\":60",
              "\"startTime\":\"2023-11-14T22:13:20Z\",\"attempts\":1");
    given_pod("j-0", "\"phase\":\"Running\"");

    struct job_plan before = plan_at(NOW + 59 * INT64_C(1000000));
    struct job_plan after = plan_at(NOW + 60 * INT64_C(1000000));

    ck_assert_int_eq(before.wake_after_us, 1000000);
    ck_assert(!after.delete_active);
    ck_assert_str_eq(json_get_text(after.status, "state"), "Ending");
    ck_assert_str_eq(json_get_text(json_at(json_get(after.status, "conditions"), 0), "status"),
                     "False");
    done();
    given_job("", WAITS "\"activeDeadlineSeconds\":60",
              "\"startTime\":\"2023-11-14T22:13:20Z\"," ORDER);
    given_pod("j-0", "\"phase\":\"Running\"");
    ck_assert(plan_at(NOW + 60 * INT64_C(1000000)).delete_active);
    done();

    /* As upstream's: the Job does not await the end. */
    given_job("", "\"activeDeadlineSeconds\":60",
              "\"startTime\":\"2023-11-14T22:13:20Z\",\"attempts\":1");
    given_pod("j-0", "\"phase\":\"Running\"");
    after = plan_at(NOW + 60 * INT64_C(1000000));
    ck_assert_str_eq(json_get_text(json_at(json_get(after.status, "conditions"), 0), "status"),
                     "True");
    done();

    /* Of several pods the ends are not kept: the Job says first that it fails. */
    given_job("", "\"activeDeadlineSeconds\":60,\"parallelism\":2,\"completions\":2",
              "\"startTime\":\"2023-11-14T22:13:20Z\",\"attempts\":2");
    given_pod("j-0", "\"phase\":\"Running\"");
    given_pod("j-1", "\"phase\":\"Running\"");
    after = plan_at(NOW + 60 * INT64_C(1000000));
    ck_assert(has_condition(after.status, "FailureTarget"));
    ck_assert(!has_condition(after.status, "Failed"));
    ck_assert(!after.delete_active);
    done();
}
END_TEST

#define FAIL_FAST                                                         \
    "\"parallelism\":9,\"completions\":9,\"completionMode\":\"Indexed\"," \
    "\"backoffLimitPerIndex\":0,\"array\":{\"tasks\":\"0-8\",\"failFast\":true}"

static void
given_failed_array(const char *status)
{
    given_job("", FAIL_FAST, status);
    array_state_set_loaded(counts->array);
    given_pod("j-0", FAILED_WITH("3"));
    given_pod("j-1", "\"phase\":\"Pending\"");
}

START_TEST(an_array_says_that_it_has_failed_before_its_other_pods_are_deleted)
{
    given_failed_array("\"attempts\":2");
    struct job_plan before = plan_at(NOW);

    ck_assert(has_condition(before.status, "FailureTarget"));
    ck_assert(!before.delete_active);
    done();

    given_failed_array("\"attempts\":2,\"conditions\":[{\"type\":\"FailureTarget\","
                       "\"status\":\"True\",\"reason\":\"FailedIndexes\"}]");
    ck_assert(plan_at(NOW).delete_active);
    done();
}
END_TEST

#define DEADLINE "\"deadline\":\"2023-11-14T22:23:20Z\"" /* NOW + 600 s */
/* Its pods have a limit of 200 s. */
static void
given_limited_job(const char *spec)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{"
                  "\"name\":\"j\",\"namespace\":\"default\",\"uid\":\"u\"},\"spec\":"
                  "{%s,\"completions\":1,\"template\":{\"spec\":{"
                  "\"activeDeadlineSeconds\":200,\"containers\":[{\"name\":\"main\"}]}}}}",
                  spec);

    arena = arena_new(0);
    job = parse(&job_kind, text);
    counts = job_pod_counts_new(job_of(job));
}

START_TEST(a_job_ends_when_its_limit_no_longer_fits_before_its_deadline)
{
    given_limited_job(DEADLINE);

    struct job_plan before = plan_at(NOW + 399 * INT64_C(1000000));
    struct job_plan after = plan_at(NOW + 400 * INT64_C(1000000) + 1);

    ck_assert_uint_eq(before.n_create, 1);
    ck_assert_uint_eq(after.n_create, 0);
    ck_assert(has_condition(after.status, "Failed"));
    ck_assert_str_eq(json_get_text(after.status, "state"), "Deadline");
    done();
}
END_TEST

START_TEST(a_job_that_runs_goes_on_until_its_deadline)
{
    given_job("", WAITS DEADLINE, "\"attempts\":1");
    given_pod("j-0", "\"phase\":\"Running\"");

    struct job_plan before = plan_at(NOW + 599 * INT64_C(1000000));
    struct job_plan after = plan_at(NOW + 600 * INT64_C(1000000));

    ck_assert(!before.delete_active);
    ck_assert_int_eq(before.wake_after_us, 1000001);
    ck_assert_str_eq(json_get_text(after.status, "state"), "Ending");
    done();
}
END_TEST

/* If the controller were killed after the deletion, or the write of the status
 * failed, the deleted pod would count as a failure, and the job would have
 * failed for that.
 */
START_TEST(pods_of_a_job_that_ends_are_deleted_after_the_status_says_why)
{
    static const char *const verdicts[] = {"FailureTarget", "SuccessCriteriaMet"};

    given_job("", DEADLINE ",\"parallelism\":2,\"completions\":2", "\"attempts\":1");
    given_pod("j-0", "\"phase\":\"Pending\"");

    struct job_plan first = plan_at(NOW + 600 * INT64_C(1000000));

    ck_assert(has_condition(first.status, "FailureTarget"));
    ck_assert(!first.delete_active);
    done();

    for (unsigned i = 0; i < ARRAY_SIZE(verdicts); i++) {
        CLEANUP_FREE char *status =
            xasprintf("\"attempts\":1,\"conditions\":[{\"type\":\"%s\",\"status\":\"True\","
                      "\"reason\":\"DeadlineExceeded\"}]",
                      verdicts[i]);

        given_job("", DEADLINE, status);
        given_pod("j-0", "\"phase\":\"Pending\"");

        struct job_plan second = plan_at(NOW + 600 * INT64_C(1000000));

        ck_assert(second.delete_active);
        done();
    }
}
END_TEST

/* Its first status is written when its pod has failed, and it waits for the
 * next one; its deadline counts nevertheless.
 */
START_TEST(a_job_that_fails_at_once_has_started_with_its_first_pod)
{
    given_job("", "\"activeDeadlineSeconds\":5,\"backoffLimit\":6", "");
    given_pod("j-0", FAILED_WITH("1"));
    counts->began_us = NOW;

    struct job_plan plan = plan_at(NOW + 900000);

    ck_assert_uint_eq(plan.n_create, 0);
    ck_assert_str_eq(json_get_text(plan.status, "startTime"), "2023-11-14T22:13:20Z");
    done();
    given_job("", "\"activeDeadlineSeconds\":5,\"backoffLimit\":6",
              "\"startTime\":\"2023-11-14T22:13:20Z\",\"attempts\":1,"
              "\"failed\":1");
    given_pod("j-0", FAILED_WITH("1"));
    ck_assert_int_eq(plan_at(NOW + 4000000).wake_after_us, 1000000);
    ck_assert(has_condition(plan_at(NOW + 5000000).status, "FailureTarget"));
    done();
}
END_TEST

/* The state to be written; NULL: none. */
static const char *
state_at(int64_t now)
{
    return json_get_text(plan_at(now).status, "state");
}

static void
given_waiting_pod(const char *name)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                  "\"%s\",\"namespace\":\"default\"},\"spec\":{\"containers\":"
                  "[{\"name\":\"main\"}]},\"status\":{}}",
                  name);
    const struct object *pod = parse(&pod_kind, text);

    job_pod_counts_see(counts, job_of(job), pod_of(pod));
    object_unref(pod);
}

START_TEST(a_new_job_is_pending_by_the_first_write_that_is_made_anyway)
{
    given_job("", "", "\"id\":7");
    ck_assert_ptr_null(plan_at(NOW).status);
    given_waiting_pod("j-0");
    ck_assert_str_eq(state_at(NOW), "Pending");
    done();

    given_job("", "", "\"id\":7,\"state\":\"Pending\",\"active\":1");
    given_waiting_pod("j-0");
    ck_assert_ptr_null(state_at(NOW));
    done();
}
END_TEST

START_TEST(a_job_whose_pods_are_ended_by_their_agents_is_ending)
{
    given_job("", "", "\"id\":7,\"state\":\"Running\"");
    given_pod("j-0", "\"phase\":\"Running\"," ENDING);
    ck_assert_str_eq(state_at(NOW), "Ending");
    ck_assert(plan_at(NOW).status_is_urgent);
    done();

    given_job("", "\"parallelism\":2,\"completions\":2", "\"id\":7");
    given_pod("j-0", "\"phase\":\"Running\"," ENDING);
    given_pod("j-1", "\"phase\":\"Running\"");
    ck_assert_str_eq(state_at(NOW), "Running");
    given_pod("j-1", "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Frozen\","
                     "\"status\":\"True\"}]");
    ck_assert_str_eq(state_at(NOW), "Frozen");
    given_pod("j-1", "\"phase\":\"Running\"," ENDING);
    ck_assert_str_eq(state_at(NOW), "Ending");
    given_pod("j-1", "\"phase\":\"Unknown\"");
    ck_assert_str_eq(state_at(NOW), "Unknown");
    done();
}
END_TEST

START_TEST(the_pod_that_is_furthest_says_what_the_job_does)
{
    given_job("", "\"parallelism\":9,\"completions\":9", "");
    given_waiting_pod("j-0");
    ck_assert_str_eq(state_at(NOW), "Pending");
    given_pod("j-1", "\"phase\":\"Pending\"");
    ck_assert_str_eq(state_at(NOW), "Starting");
    given_deleted_pod("j-2", "\"phase\":\"Running\"");
    ck_assert_str_eq(state_at(NOW), "Ending");
    given_pod("j-3", "\"phase\":\"Unknown\"");
    ck_assert_str_eq(state_at(NOW), "Unknown");
    given_pod("j-4", "\"phase\":\"Running\"");
    ck_assert_str_eq(state_at(NOW), "Running");

    given_pod("j-4", "\"phase\":\"Succeeded\"");
    ck_assert_str_eq(state_at(NOW), "Unknown");
    given_pod("j-3", "\"phase\":\"Succeeded\"");
    given_pod_gone("", "j-2", "\"phase\":\"Succeeded\"");
    given_pod("j-1", "\"phase\":\"Succeeded\"");
    ck_assert_str_eq(state_at(NOW), "Pending");
    done();
}
END_TEST

#define RAN(reason)                                                       \
    "\"phase\":\"Failed\",\"reason\":\"" reason "\","                     \
    "\"containerStatuses\":[{\"name\":\"main\",\"state\":"                \
    "{\"terminated\":{\"exitCode\":0,\"reason\":\"Error\",\"startedAt\":" \
    "\"2023-11-14T22:13:10Z\",\"finishedAt\":\"2023-11-14T22:13:20Z\"}}}]"
#define PUSHED_OUT                                                         \
    "\"phase\":\"Failed\",\"conditions\":[{\"type\":\"DisruptionTarget\"," \
    "\"status\":\"True\",\"reason\":\"PreemptionByScheduler\","            \
    "\"message\":\"for k\"}]"

#define OWN_END "\"observed\":{\"ownEnd\":true}," FAILED_WITH("3")

START_TEST(one_that_ran_and_waits_again_is_requeued)
{
    given_job("", "\"backoffLimit\":3", "\"attempts\":1");
    given_pod("j-0", RAN("Error"));
    ck_assert_str_eq(state_at(NOW), "Requeued");
    done();

    given_job("", "\"suspend\":true,\"backoffLimit\":3", "\"attempts\":1");
    given_pod("j-0", RAN("Error"));
    ck_assert_str_eq(state_at(NOW), "Held");
    done();

    given_job("", "\"parallelism\":1,\"completions\":9", "\"attempts\":2");
    given_pod("j-0", RAN("Error"));
    given_pod("j-1", "\"phase\":\"Succeeded\"");
    ck_assert_str_eq(state_at(NOW + 3600 * INT64_C(1000000)), "Pending");
    done();
}
END_TEST

/* As with a cancel: what the pod did before the order reached it counts. */
START_TEST(a_pod_that_ended_before_it_was_told_to_says_how_the_job_ended)
{
    static const struct {
        const char *pod, *state, *reason;
    } cases[] = {
        {"\"phase\":\"Succeeded\"", "Completed", NULL},
        {OWN_END, "Failed", "BackoffLimitExceeded"},
        {RAN("Terminated"), "Deadline", "DeadlineExceeded"},
        {RAN("DeadlineExceeded"), "Deadline", "DeadlineExceeded"},
        {RAN("NodeLost"), "Deadline", "DeadlineExceeded"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct json *status;

        given_job("", WAITS "\"backoffLimit\":0,\"activeDeadlineSeconds\":60",
                  "\"startTime\":\"2023-11-14T22:13:20Z\"," ORDER);
        given_deleted_pod("j-0", cases[i].pod);
        status = plan_at(NOW + 70 * INT64_C(1000000)).status;
        ck_assert_msg(strcmp(json_get_text(status, "state"), cases[i].state) == 0, "%zu: is %s", i,
                      json_get_text(status, "state"));
        ck_assert(has_condition(status, cases[i].reason != NULL ? "Failed" : "Complete"));
        if (cases[i].reason != NULL)
            ck_assert_str_eq(json_get_text(json_at(json_get(status, "conditions"), 1), "reason"),
                             cases[i].reason);
        done();
    }
}
END_TEST

START_TEST(an_ending_says_what_the_job_has_ended_of)
{
    static const struct {
        const char *annotations, *pod, *state;
    } cases[] = {
        {"", "\"phase\":\"Succeeded\"", "Completed"},
        {"", FAILED_WITH("3"), "Failed"},
        {"", RAN("OOMKilled"), "OutOfMemory"},
        {"", RAN("DeadlineExceeded"), "TimedOut"},
        {"", RAN("NodeLost"), "NodeFailed"},
        {"", PUSHED_OUT, "Preempted"},
        {"\"kiln.hpc/cancel\":\"alice\"", RAN("Terminated"), "Cancelled"},
        {"\"kiln.hpc/cancel\":\"alice\"", RAN("NodeLost"), "Cancelled"},
        {"\"kiln.hpc/cancel\":\"alice\"", RAN("ShepherdLost"), "Cancelled"},
        /* before the order reached it */
        {"\"kiln.hpc/cancel\":\"alice\"", "\"phase\":\"Succeeded\"", "Completed"},
        {"\"kiln.hpc/cancel\":\"alice\"", OWN_END, "Failed"},
        {"\"kiln.hpc/cancel\":\"alice\"", RAN("OOMKilled"), "OutOfMemory"},
        {"\"kiln.hpc/cancel\":\"alice\"", RAN("DeadlineExceeded"), "TimedOut"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct json *status;

        given_job(cases[i].annotations, "\"backoffLimit\":0",
                  "\"attempts\":1,\"state\":\"Running\"");
        if (cases[i].annotations[0] != '\0')
            given_deleted_pod("j-0", cases[i].pod);
        else
            given_pod("j-0", cases[i].pod);
        status = plan_at(NOW).status;
        ck_assert_msg(strcmp(json_get_text(status, "state"), cases[i].state) == 0, "%zu: is %s", i,
                      json_get_text(status, "state"));
        ck_assert(has_condition(status, "Complete") || has_condition(status, "Failed"));
        if (strcmp(cases[i].state, "Cancelled") == 0)
            ck_assert_str_eq(json_get_text(status, "cancelledBy"), "alice");
        else
            ck_assert_ptr_null(json_get(status, "cancelledBy"));
        done();
    }
}
END_TEST

START_TEST(a_job_that_is_over_ends_while_pods_are_left)
{
    given_job("\"kiln.hpc/cancel\":\"alice\"", "", "\"attempts\":1");
    given_pod("j-0", "\"phase\":\"Running\"");
    ck_assert_str_eq(state_at(NOW), "Ending");
    ck_assert_ptr_null(json_get(plan_at(NOW).status, "cancelledBy"));
    done();
}
END_TEST

/* The cause is in the Job's status when its pods are gone. */
START_TEST(an_ending_is_told_after_the_pods_are_gone)
{
    given_job("", "\"backoffLimit\":0",
              "\"attempts\":1,\"failed\":1,\"lastRun\":{\"podName\":\"j-0\","
              "\"reason\":\"OOMKilled\"},\"conditions\":[{\"type\":"
              "\"FailureTarget\",\"status\":\"True\",\"reason\":"
              "\"BackoffLimitExceeded\"}]");
    ck_assert_str_eq(state_at(NOW), "OutOfMemory");
    done();
}
END_TEST

START_TEST(the_last_run_says_who_pushed_it_out)
{
    struct json *run;

    given_job("", "\"backoffLimit\":0", "\"attempts\":1");
    given_pod("j-0", PUSHED_OUT);
    run = json_get(plan_at(NOW).status, "lastRun");
    ck_assert_str_eq(json_get_text(run, "reason"), "Preempted");
    ck_assert_str_eq(json_get_text(run, "message"), "for k");
    done();
}
END_TEST

static void
given_held_pod(const char *name)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                  "\"%s\",\"namespace\":\"default\",\"annotations\":{"
                  "\"kiln.hpc/hold\":\"true\"}},\"spec\":{\"containers\":"
                  "[{\"name\":\"main\"}]},\"status\":{}}",
                  name);
    const struct object *pod = parse(&pod_kind, text);

    job_pod_counts_see(counts, job_of(job), pod_of(pod));
    object_unref(pod);
}

#define HOLD "\"kiln.hpc/hold\":\"alice\""

START_TEST(a_held_job_makes_no_pods_and_says_who_holds_it)
{
    struct job_plan plan;

    given_job(HOLD, "", "\"id\":7");
    plan = plan_at(NOW);
    ck_assert_uint_eq(plan.n_create, 0);
    ck_assert(!plan.hold_waiting && !plan.delete_active);
    ck_assert_str_eq(json_get_text(plan.status, "state"), "Held");
    ck_assert_str_eq(plan.event.message, "Held by alice");
    done();

    given_job("", "", "\"id\":7,\"state\":\"Held\"");
    plan = plan_at(NOW);
    ck_assert_uint_eq(plan.n_create, 1);
    ck_assert_str_eq(json_get_text(plan.status, "state"), "Pending");
    ck_assert_str_eq(plan.event.reason, "Released");
    done();
}
END_TEST

START_TEST(a_pod_with_a_node_goes_on_while_its_job_is_held)
{
    struct job_plan plan;

    given_job(HOLD, "\"parallelism\":4,\"completions\":9", "");
    given_pod("j-0", "\"phase\":\"Running\"");
    given_pod("j-1", "\"phase\":\"Pending\"");
    given_waiting_pod("j-2");
    given_held_pod("j-3");
    plan = plan_at(NOW);
    ck_assert(plan.hold_waiting);
    ck_assert(!plan.delete_active && !plan.release_waiting);
    ck_assert_int_eq(plan.n_remove, 0);
    ck_assert_uint_eq(plan.n_create, 0);
    ck_assert_str_eq(json_get_text(plan.status, "state"), "Running");

    given_held_pod("j-2");
    ck_assert(!plan_at(NOW).hold_waiting);
    given_pod("j-0", "\"phase\":\"Succeeded\"");
    given_pod("j-1", "\"phase\":\"Succeeded\"");
    plan = plan_at(NOW);
    ck_assert_uint_eq(plan.n_create, 0);
    ck_assert_str_eq(json_get_text(plan.status, "state"), "Held");
    done();
}
END_TEST

START_TEST(released_the_pods_that_wait_are_as_before)
{
    struct job_plan plan;

    given_job("", "", "\"active\":1,\"attempts\":1,\"state\":\"Held\"");
    given_held_pod("j-0");
    plan = plan_at(NOW);
    ck_assert(plan.release_waiting && !plan.hold_waiting);
    ck_assert_uint_eq(plan.n_create, 0);
    given_waiting_pod("j-0");
    ck_assert(!plan_at(NOW).release_waiting);
    done();
}
END_TEST

START_TEST(a_failure_of_a_held_job_counts_and_is_tried_again_when_released)
{
    struct job_plan plan;

    given_job(HOLD, "\"backoffLimit\":3", "\"attempts\":1");
    given_pod("j-0", FAILED_WITH("1"));
    plan = plan_at(NOW + 3600 * INT64_C(1000000));
    ck_assert_int_eq(json_get_int(plan.status, "failed", 0), 1);
    ck_assert_uint_eq(plan.n_create, 0);
    ck_assert_int_eq(plan.wake_after_us, 0);
    done();

    given_job(HOLD, "\"backoffLimit\":0", "\"attempts\":1");
    given_pod("j-0", FAILED_WITH("1"));
    ck_assert_str_eq(state_at(NOW), "Failed");
    done();
}
END_TEST

START_TEST(a_job_that_is_requeued_and_held_stops_and_waits)
{
    struct job_plan plan;

    given_job("\"kiln.hpc/requeue-before\":\"1\"," HOLD, "\"backoffLimit\":0",
              "\"attempts\":1,\"active\":1");
    given_pod("j-0", "\"phase\":\"Running\"");
    ck_assert(plan_at(NOW).delete_active);
    given_pod_gone(",\"deletionTimestamp\":\"2023-11-14T22:13:20Z\"", "j-0",
                   "\"phase\":\"Running\"");
    plan = plan_at(NOW);
    ck_assert_int_eq(json_get_int(plan.status, "requeued", 0), 1);
    ck_assert_int_eq(json_get_int(plan.status, "excused", 0), 1);
    ck_assert_str_eq(json_get_text(plan.status, "state"), "Held");
    ck_assert_uint_eq(plan.n_create, 0);
    done();
}
END_TEST

/* ---- Attempts that are whole ---- */

#define GANG(more)                                                           \
    "\"completionMode\":\"Indexed\",\"completions\":20,\"parallelism\":20,"  \
    "\"backoffLimit\":0,\"scheduling\":{\"schedulingPolicy\":{\"gang\":{}}," \
    "\"disruptionMode\":{\"all\":{}}}" more

static void
given_members(int from, const char *status)
{
    for (int i = from; i < 20; i++)
        given_pod(arena_printf(arena, "j-%d", i), status);
}

/* Although one call plans at most ten pods of other Jobs. */
START_TEST(an_attempt_is_planned_as_a_whole)
{
    struct job_plan plan;

    given_job("", GANG(""), "");

    plan = plan_at(NOW);

    ck_assert_uint_eq(plan.n_create, 20);
    ck_assert_int_eq(plan.create[19].index, 19);
    done();
}
END_TEST

START_TEST(with_the_end_of_one_the_others_of_its_attempt_are_ended)
{
    struct job_plan plan;

    given_job("", GANG(""), "");
    given_deleted_pod("j-0", "\"phase\":\"Running\"");
    given_members(1, "\"phase\":\"Running\"");

    plan = plan_at(NOW);

    ck_assert(plan.end_rest);
    ck_assert(!plan.excuse_rest); /* no other attempt follows */
    ck_assert_uint_eq(plan.n_create, 0);
    done();
}
END_TEST

START_TEST(the_others_are_excused_if_another_attempt_may_follow)
{
    struct job_plan plan;

    given_job("", GANG(",\"requeue\":true"), "");
    given_pod("j-0", DISRUPTED);
    given_members(1, "\"phase\":\"Running\"");

    plan = plan_at(NOW);

    ck_assert(plan.end_rest);
    ck_assert(plan.excuse_rest);
    ck_assert_uint_eq(plan.n_create, 0);
    ck_assert(!has_condition(plan.status, "FailureTarget"));
    done();
}
END_TEST

START_TEST(the_next_attempt_has_one_number_for_all)
{
    struct job_plan plan;

    given_job("", GANG(",\"requeue\":true"), "");
    given_pod("j-0", "\"phase\":\"Succeeded\"");
    given_pod("j-0-r1", "\"phase\":\"Succeeded\"");
    given_members(1, DISRUPTED);
    for (int i = 1; i < 20; i++)
        given_pod(arena_printf(arena, "j-%d-r1", i), DISRUPTED);

    plan = plan_at(NOW);

    ck_assert_uint_eq(plan.n_create, 20);
    ck_assert_int_eq(plan.create[0].attempt, 2);
    ck_assert_int_eq(plan.create[19].attempt, 2);
    done();
}
END_TEST

SUITE("job_plan", a_job_that_fails_at_once_has_started_with_its_first_pod, a_new_job_gets_its_pod,
      a_pod_that_was_asked_for_is_not_asked_for_again, a_job_whose_pod_succeeds_is_complete,
      without_backoff_the_first_failure_is_the_last,
      with_backoff_the_next_attempt_comes_after_a_pause,
      a_pod_lost_with_its_node_is_replaced_when_the_job_says_so,
      a_pod_that_failed_by_itself_beside_a_preemption_fails_the_job,
      a_pod_lost_with_its_node_fails_the_job_otherwise, a_pod_that_was_made_and_is_gone_has_failed,
      an_array_says_that_it_has_failed_before_its_other_pods_are_deleted,
      a_requeued_job_ends_its_pod_and_runs_again,
      ends_that_were_counted_stay_counted_while_newer_pods_are_not,
      a_cancelled_job_has_failed_when_its_pods_are_gone,
      pods_of_a_job_that_ends_are_deleted_after_the_status_says_why,
      a_job_does_not_end_before_its_start_if_the_clock_was_set_back,
      a_job_that_succeeded_before_it_was_cancelled_is_complete, a_held_job_has_no_pods,
      a_pod_that_is_held_is_not_held_against_its_job, the_run_of_the_last_pod_is_kept_with_the_job,
      the_suspended_time_of_the_last_pod_is_kept_with_the_job,
      an_index_that_is_done_stays_done_without_its_pod, a_job_with_a_begin_time_waits_for_it,
      parallelism_and_completions_bound_the_pods, an_indexed_job_fills_the_indexes_that_are_missing,
      failures_count_as_the_job_says, each_index_waits_after_its_own_failures,
      a_pod_that_nodes_refuse_is_tried_again_later_and_later,
      a_node_whose_shepherds_die_at_once_is_tried_later_and_later,
      a_pod_that_ran_ends_the_row_of_refusals,
      indexes_that_were_not_tried_do_not_wait_for_those_refused,
      an_index_that_has_failed_stays_failed_without_its_pods,
      a_pod_is_replaced_when_it_ends_or_when_it_is_asked_to,
      a_pod_that_was_replaced_is_not_counted_again_when_it_ends,
      a_job_has_not_ended_while_one_of_its_pods_is_ending, a_job_that_wants_fewer_pods_lets_some_go,
      a_pod_that_was_too_many_has_not_failed, a_success_ends_the_row_of_failures,
      a_job_past_its_deadline_fails_and_ends_its_pods,
      a_pod_that_ended_before_it_was_told_to_says_how_the_job_ended,
      a_job_ends_when_its_limit_no_longer_fits_before_its_deadline,
      a_job_that_runs_goes_on_until_its_deadline,
      a_new_job_is_pending_by_the_first_write_that_is_made_anyway,
      a_job_whose_pods_are_ended_by_their_agents_is_ending,
      a_job_whose_pods_are_ended_by_their_agents_is_ending,
      the_pod_that_is_furthest_says_what_the_job_does, one_that_ran_and_waits_again_is_requeued,
      an_ending_says_what_the_job_has_ended_of, a_job_that_is_over_ends_while_pods_are_left,
      an_ending_is_told_after_the_pods_are_gone, the_last_run_says_who_pushed_it_out,
      a_held_job_makes_no_pods_and_says_who_holds_it,
      a_pod_with_a_node_goes_on_while_its_job_is_held, released_the_pods_that_wait_are_as_before,
      a_failure_of_a_held_job_counts_and_is_tried_again_when_released,
      a_job_that_is_requeued_and_held_stops_and_waits, an_attempt_is_planned_as_a_whole,
      with_the_end_of_one_the_others_of_its_attempt_are_ended,
      the_others_are_excused_if_another_attempt_may_follow, the_next_attempt_has_one_number_for_all)
