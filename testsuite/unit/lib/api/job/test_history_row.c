/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/history_row.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

#define NOW_US INT64_C(1795421000000000)

static const struct object *
parse(const struct kind *kind, const char *text)
{
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(kind, text, strlen(text), &object, &err) == 0, "%s: %s", err.text,
                  text);
    return object;
}

/* A pod of the Job j, with further metadata and a status. */
static const struct object *
pod(const char *meta, const char *status)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
                  "\"name\":\"j-0\",\"namespace\":\"a\",\"uid\":\"p\","
                  "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
                  "\"name\":\"j\",\"uid\":\"u\",\"controller\":true}]%s},"
                  "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"main\"}]},"
                  "\"status\":{%s}}",
                  meta, status);

    return parse(&pod_kind, text);
}

static const struct object *
job(const char *annotations)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\",\"metadata\":{"
                  "\"name\":\"j\",\"namespace\":\"a\",\"uid\":\"u\","
                  "\"annotations\":{%s}},\"spec\":{\"template\":{\"spec\":{"
                  "\"containers\":[{\"name\":\"main\"}]}}}}",
                  annotations);

    return parse(&job_kind, text);
}

#define DELETED                                        \
    ",\"deletionTimestamp\":\"2026-11-23T08:00:00Z\"," \
    "\"deletionGracePeriodSeconds\":30"
#define FAILED "\"phase\":\"Failed\""
#define EXIT_3_AT(time)                                             \
    FAILED ",\"containerStatuses\":[{\"name\":\"main\",\"state\":{" \
           "\"terminated\":{\"exitCode\":3,\"startedAt\":"          \
           "\"2026-11-23T07:00:00Z\",\"finishedAt\":\"" time "\"}}}]"
#define ENDED_ON_ORDER_AT(code, time)                                     \
    FAILED ",\"containerStatuses\":[{\"name\":\"main\",\"state\":{"       \
           "\"terminated\":{\"reason\":\"Terminated\",\"exitCode\":" code \
           ",\"startedAt\":\"2026-11-23T07:00:00Z\",\"finishedAt\":\"" time "\"}}}]"
#define TARGET(why)                                                        \
    ",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\"," \
    "\"reason\":\"" why "\"}]"

static const struct ending {
    const char *meta, *status;
    const char *job; /* its annotations; NULL: deleted */
    const char *deleted_by;
    const char *state, *by;
} endings[] = {
    {"", "\"phase\":\"Succeeded\"", "", NULL, "Completed", NULL},
    {"", FAILED, "", NULL, "Failed", NULL},
    {DELETED, "\"phase\":\"Running\"", "\"kiln.hpc/cancel\":\"alice\"", NULL, "Cancelled", "alice"},
    {DELETED, EXIT_3_AT("2026-11-23T07:59:31Z"), "\"kiln.hpc/cancel\":\"alice\"", NULL, "Cancelled",
     "alice"},
    {DELETED, EXIT_3_AT("2026-11-23T07:59:31Z"),
     "\"kiln.hpc/requeue-before\":\"1\",\"kiln.hpc/requeued-by\":\"olga\"", NULL, "Requeued",
     "olga"},
    {DELETED, EXIT_3_AT("2026-11-23T07:59:29Z"), "\"kiln.hpc/cancel\":\"alice\"", NULL, "Failed",
     NULL},
    /* ended on order, whatever the exit code and the node's clock */
    {DELETED, ENDED_ON_ORDER_AT("0", "2026-11-23T07:59:29Z"), "\"kiln.hpc/cancel\":\"alice\"", NULL,
     "Cancelled", "alice"},
    {DELETED, ENDED_ON_ORDER_AT("3", "2026-11-23T07:59:29Z"), "\"kiln.hpc/cancel\":\"alice\"", NULL,
     "Cancelled", "alice"},
    {DELETED, ENDED_ON_ORDER_AT("0", "2026-11-23T07:59:31Z"),
     "\"kiln.hpc/requeue-before\":\"1\",\"kiln.hpc/requeued-by\":\"olga\"", NULL, "Requeued",
     "olga"},
    {DELETED ",\"annotations\":{\"kiln.hpc/deleted-by\":\"olga\"}",
     ENDED_ON_ORDER_AT("0", "2026-11-23T07:59:31Z"), "", NULL, "Cancelled", "olga"},
    /* before the order */
    {DELETED, "\"phase\":\"Succeeded\"", "\"kiln.hpc/cancel\":\"alice\"", NULL, "Completed", NULL},
    /* cancelled, and then lost with its node or its shepherd */
    {DELETED, FAILED ",\"reason\":\"NodeLost\"", "\"kiln.hpc/cancel\":\"alice\"", NULL, "Cancelled",
     "alice"},
    {DELETED, FAILED ",\"reason\":\"ShepherdLost\"", "\"kiln.hpc/cancel\":\"alice\"", NULL,
     "Cancelled", "alice"},
    {DELETED, "\"phase\":\"Running\"", NULL, "bob", "Cancelled", "bob"},
    {DELETED, "\"phase\":\"Running\"", NULL, NULL, "Cancelled", NULL},
    {DELETED ",\"annotations\":{\"kiln.hpc/deleted-by\":\"olga\"}", FAILED, "", NULL, "Cancelled",
     "olga"},
    {DELETED, FAILED, "\"kiln.hpc/requeue-before\":\"1\",\"kiln.hpc/requeued-by\":\"olga\"", NULL,
     "Requeued", "olga"},
    {DELETED, FAILED, "\"kiln.hpc/hold\":\"alice\"", NULL, "Requeued", "alice"},
    {DELETED,
     FAILED TARGET("PreemptionByScheduler") ",\"cause\":{\"code\":"
                                            "\"Preempted\",\"message\":"
                                            "\"preempted by job 51 of u\"}",
     "", NULL, "Preempted", "job 51"},
    /* preempted before its process started, and gone */
    {DELETED,
     "\"phase\":\"Pending\"" TARGET("PreemptionByScheduler") ",\"cause\":{\"code\":"
                                                             "\"Preempted\",\"message\":"
                                                             "\"preempted by job 51 of u\"}",
     "", NULL, "Preempted", "job 51"},
    {DELETED ",\"annotations\":{\"kiln.hpc/deleted-by\":\"olga\"}",
     FAILED TARGET("EvictionByEvictionAPI") ",\"cause\":{\"code\":\"Evicted\","
                                            "\"message\":\"evicted by olga\"}",
     "", NULL, "Preempted", "olga"},
    {"", FAILED ",\"reason\":\"DeadlineExceeded\"", "", NULL, "TimedOut", "time limit"},
    {"", FAILED ",\"reason\":\"NodeLost\"" TARGET("DeletionByTaintManager"), "", NULL, "NodeFailed",
     "node n1"},
};

START_TEST(a_row_says_who_or_what_ended_it)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
        const struct ending *e = &endings[i];
        const struct object *p = pod(e->meta, e->status);
        const struct object *j = e->job != NULL ? job(e->job) : NULL;
        struct history_row row;

        history_row_of_pod(&row, arena, p, j, e->deleted_by, NOW_US);

        ck_assert_msg(strcmp(row.state, e->state) == 0, "%zu: is %s", i, row.state);
        if (e->by == NULL)
            ck_assert_msg(row.ended_by == NULL, "%zu: %s", i, row.ended_by);
        else
            ck_assert_msg(row.ended_by != NULL && strcmp(row.ended_by, e->by) == 0, "%zu: %s", i,
                          row.ended_by != NULL ? row.ended_by : "nobody");
        object_unref(p);
        object_unref(j);
    }
}
END_TEST

#define FROZEN(at) "{\"type\":\"Frozen\",\"status\":\"True\",\"lastTransitionTime\":\"" at "\"}"
#define TOLD(at) \
    ",{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"lastTransitionTime\":\"" at "\"}"
#define MAIN(state) ",\"containerStatuses\":[{\"name\":\"main\",\"state\":{" state "}}]"
#define BEGAN       "\"startedAt\":\"2026-11-23T07:00:00Z\""

/* A pod of a gang, of that rank, that its Job's end has ended. */
static struct history_row
row_of_gang(struct arena *arena, const char *rank, const char *meta, const char *condition)
{
    CLEANUP_FREE char *of_pod = xasprintf(
        "{\"metadata\":{\"name\":\"j-1\",\"namespace\":\"a\",\"uid\":\"p\",\"annotations\":{"
        "\"batch.kubernetes.io/job-completion-index\":\"%s\"%s},\"ownerReferences\":[{"
        "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"u\","
        "\"controller\":true}]" DELETED "},\"spec\":{\"nodeName\":\"n1\",\"execution\":{\"runs\":"
        "\"First\"},\"containers\":[{\"name\":\"main\",\"command\":[\"%s\"]}]},\"status\":{" FAILED
        ",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{\"reason\":"
        "\"Terminated\",\"exitCode\":143,\"signal\":15,\"startedAt\":\"2026-11-23T07:00:00Z\","
        "\"finishedAt\":\"2026-11-23T08:00:00Z\"}}}]}}",
        rank, meta, strcmp(rank, "0") == 0 ? "sh" : "kiln-pause");
    CLEANUP_FREE char *of_job =
        xasprintf("{\"metadata\":{\"name\":\"j\",\"namespace\":\"a\",\"uid\":\"u\"},\"spec\":{"
                  "\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}},\"status\":{"
                  "\"conditions\":[{\"type\":\"%s\",\"status\":\"True\"}]}}",
                  condition);
    const struct object *p = parse(&pod_kind, of_pod), *j = parse(&job_kind, of_job);
    struct history_row row;

    history_row_of_pod(&row, arena, p, j, NULL, NOW_US);
    if (row.ended_by != NULL) /* which is the object's */
        row.ended_by = arena_strdup(arena, row.ended_by);
    object_unref(p);
    object_unref(j);
    return row;
}

START_TEST(a_pod_that_holds_other_nodes_ends_as_its_job_does)
{
    struct arena *arena = arena_new(0);
    struct history_row row = row_of_gang(arena, "1", "", "SuccessCriteriaMet");

    ck_assert_str_eq(row.state, "Completed");
    ck_assert_ptr_null(row.reason);
    ck_assert_ptr_null(row.exit_code);
    ck_assert_int_eq(row.signal, 0);
    row = row_of_gang(arena, "1", "", "FailureTarget");
    ck_assert_str_eq(row.state, "Cancelled");
    ck_assert_ptr_null(row.reason);
    row = row_of_gang(arena, "1", ",\"kiln.hpc/deleted-by\":\"ann\"", "FailureTarget");
    ck_assert_str_eq(row.state, "Cancelled");
    ck_assert_str_eq(row.ended_by, "ann");
    row = row_of_gang(arena, "0", "", "FailureTarget");
    ck_assert_str_eq(row.state, "Cancelled");
    ck_assert_int_eq(row.signal, 15);
    arena_free(arena);
}
END_TEST

START_TEST(a_suspended_attempt_that_others_ended_did_not_run)
{
    static const struct {
        const char *status;
        int64_t frozen_s, lasted_s;
    } rows[] = {
        /* its node was lost while it was frozen */
        {"\"phase\":\"Failed\",\"frozenMicroseconds\":5000000,"
         "\"conditions\":[" FROZEN("2026-11-23T07:01:00Z")
             TOLD("2026-11-23T07:11:00Z") "]" MAIN("\"running\":{" BEGAN "}"),
         605, 660},
        /* its node has reported the duration of the freeze */
        {"\"phase\":\"Failed\",\"frozenMicroseconds\":5000000,"
         "\"conditions\":[" FROZEN("2026-11-23T07:01:00Z") TOLD("2026-11-23T07:11:00Z") "]" MAIN(
             "\"terminated\":{\"exitCode\":1," BEGAN ",\"finishedAt\":\"2026-11-23T07:05:00Z\"}"),
         5, 300},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP(object_unrefp) const struct object *p = pod("", rows[i].status);
        CLEANUP(object_unrefp) const struct object *j = job("");
        struct history_row row;

        history_row_of_pod(&row, arena, p, j, NULL, NOW_US);

        ck_assert_int_eq(row.frozen_us, rows[i].frozen_s * 1000000);
        ck_assert_int_eq(row.end_at_us - row.start_at_us, rows[i].lasted_s * 1000000);
    }
}
END_TEST

#define ARRAY(status)                                                         \
    "{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\",\"metadata\":{"            \
    "\"name\":\"j\",\"namespace\":\"a\",\"uid\":\"u\"},\"spec\":{\"array\":{" \
    "\"tasks\":\"0-9\",\"failFast\":true},\"template\":{\"spec\":{"           \
    "\"containers\":[{\"name\":\"main\"}]}}},\"status\":{\"array\":{"         \
    "\"unstarted\":\"3-9\"},\"lastRun\":{\"exitCode\":143,\"signal\":15},"    \
    "\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\"," status "}]}}"
#define ENDED_FAST "\"reason\":\"FailedIndexes\""

START_TEST(tasks_that_never_ran_did_not_end_as_the_last_one_did)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(object_unrefp)
    const struct object *fast = parse(&job_kind, ARRAY(ENDED_FAST));
    CLEANUP(object_unrefp)
    const struct object *p = pod(DELETED, EXIT_3_AT("2026-11-23T07:59:31Z"));
    struct history_row row;

    history_row_of_job(&row, arena, fast, NOW_US);

    ck_assert_str_eq(row.state, "Cancelled");
    ck_assert_str_eq(row.reason, "Cancelled");
    ck_assert_str_eq(row.message, "a task failed, and fail-fast ends the others");
    ck_assert_str_eq(row.ended_by, "fail-fast");

    history_row_of_pod(&row, arena, p, fast, NULL, NOW_US);

    ck_assert_str_eq(row.state, "Cancelled");
    ck_assert_str_eq(row.ended_by, "fail-fast");
}
END_TEST

SUITE("history_row", a_row_says_who_or_what_ended_it,
      a_pod_that_holds_other_nodes_ends_as_its_job_does,
      tasks_that_never_ran_did_not_end_as_the_last_one_did,
      a_suspended_attempt_that_others_ended_did_not_run)
