/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_update.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static struct json *
parse(struct arena *arena, const char *text)
{
    struct json *tree = json_parse(arena, text, strlen(text), NULL, NULL);

    ck_assert_msg(tree != NULL, "%s", text);
    return tree;
}

static void
is_json(struct arena *arena, const struct json *tree, const char *expected)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    json_print(tree, &text);
    ck_assert_msg(json_equals(tree, parse(arena, expected)), "%s is not %s", text.text, expected);
}

#define TEMPLATE(meta, more, resources)                                     \
    "{\"metadata\":{" meta "},\"spec\":{" more "\"containers\":[{"          \
    "\"name\":\"main\",\"image\":\"host\",\"resources\":{" resources "}}]," \
    "\"restartPolicy\":\"Never\"}}"

#define LABELS "\"labels\":{\"a\":\"b\"}"

START_TEST(a_difference_says_who_may_change_it)
{
    static const struct {
        const char *is;
        enum job_update what;
    } rows[] = {
        {TEMPLATE(LABELS, "\"activeDeadlineSeconds\":60,", ""), JOB_UPDATE_NONE},
        {TEMPLATE(LABELS ",\"annotations\":{}", "\"activeDeadlineSeconds\":60,", ""),
         JOB_UPDATE_NONE},
        {TEMPLATE(LABELS, "\"activeDeadlineSeconds\":61,", ""), JOB_UPDATE_LIMIT},
        {TEMPLATE(LABELS, "", ""), JOB_UPDATE_LIMIT},
        {TEMPLATE(LABELS,
                  "\"activeDeadlineSeconds\":61,"
                  "\"nodeSelector\":{\"a\":\"b\"},",
                  ""),
         JOB_UPDATE_WAITING},
        {TEMPLATE(LABELS,
                  "\"activeDeadlineSeconds\":60,\"priority\":1,"
                  "\"placement\":{\"partition\":\"x\"},",
                  "\"requests\":{\"cpu\":\"2\"}"),
         JOB_UPDATE_WAITING},
        {TEMPLATE(LABELS ",\"annotations\":{\"kiln.hpc/tasks\":\"2\"}",
                  "\"activeDeadlineSeconds\":60,", ""),
         JOB_UPDATE_WAITING},
        {TEMPLATE(LABELS ",\"annotations\":{\"mine\":\"2\"}", "\"activeDeadlineSeconds\":60,", ""),
         JOB_UPDATE_OTHER},
        {TEMPLATE("", "\"activeDeadlineSeconds\":60,", ""), JOB_UPDATE_OTHER},
        {"{\"metadata\":{" LABELS
         "},\"spec\":{\"activeDeadlineSeconds\":60,\"containers\":[{\"name\":"
         "\"main\",\"image\":\"host\",\"workingDir\":\"/tmp\",\"resources\":{}}],"
         "\"restartPolicy\":\"Never\"}}",
         JOB_UPDATE_WAITING},
        {TEMPLATE(LABELS,
                  "\"activeDeadlineSeconds\":60,\"priority\":1,"
                  "\"hostname\":\"x\",",
                  ""),
         JOB_UPDATE_OTHER},
        {"{\"metadata\":{" LABELS
         "},\"spec\":{\"activeDeadlineSeconds\":60,\"containers\":[{\"name\":"
         "\"main\",\"image\":\"other\",\"resources\":{}}],"
         "\"restartPolicy\":\"Never\"}}",
         JOB_UPDATE_OTHER},
        {"{\"metadata\":{" LABELS "},\"spec\":{\"activeDeadlineSeconds\":60,\"containers\":[],"
         "\"restartPolicy\":\"Never\"}}",
         JOB_UPDATE_OTHER},
        {"{}", JOB_UPDATE_OTHER},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const struct json *old =
            parse(arena, TEMPLATE(LABELS, "\"activeDeadlineSeconds\":60,", ""));

        ck_assert_msg(job_update_compare(arena, parse(arena, rows[i].is), old) == rows[i].what,
                      "row %zu", i);
    }
}
END_TEST

START_TEST(updates_are_numbered_whatever_a_request_says)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *old = parse(arena, "{\"metadata\":{\"name\":\"j\"}}");
    struct json *job = parse(arena, "{\"metadata\":{\"annotations\":{\"kiln.hpc/update\":\"9\"}}}");

    job_update_keep_number(arena, job, old);
    is_json(arena, job, "{\"metadata\":{}}");
    job_update_count(arena, job, old);
    is_json(arena, job, "{\"metadata\":{\"annotations\":{\"kiln.hpc/update\":\"1\"}}}");
    old = json_dup(arena, job);
    json_remove(json_get(job, "metadata"), "annotations");
    job_update_keep_number(arena, job, old);
    is_json(arena, job, "{\"metadata\":{\"annotations\":{\"kiln.hpc/update\":\"1\"}}}");
    job_update_count(arena, job, old);
    is_json(arena, job, "{\"metadata\":{\"annotations\":{\"kiln.hpc/update\":\"2\"}}}");
}
END_TEST

START_TEST(the_directory_goes_to_pods_that_wait)
{
    static const char job[] =
        "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\","
        "\"workingDir\":\"/new\"}]}}}}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *waits =
        parse(arena, "{\"spec\":{\"containers\":[{\"name\":\"main\",\"workingDir\":\"/old\"}]}}");
    struct json *runs = parse(arena, "{\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":"
                                     "\"main\",\"workingDir\":\"/old\"}]}}");

    job_update_pod(arena, waits, parse(arena, job));
    ck_assert_str_eq(
        json_get_text(json_at(json_get_path(waits, "spec.containers"), 0), "workingDir"), "/new");
    job_update_pod(arena, runs, parse(arena, job));
    ck_assert_str_eq(
        json_get_text(json_at(json_get_path(runs, "spec.containers"), 0), "workingDir"), "/old");
}
END_TEST

/* Fields that admission and others have set remain. */
START_TEST(a_pod_becomes_what_its_job_says)
{
    static const char job[] = "{\"metadata\":{\"annotations\":{\"kiln.hpc/update\":\"3\","
                              "\"kiln.hpc/job-name\":\"new\"}},\"spec\":{\"template\":" TEMPLATE(
                                  "\"annotations\":{\"kiln.hpc/tasks\":\"2\"}",
                                  "\"activeDeadlineSeconds\":60,\"placement\":{\"gpuType\":\"a\"},",
                                  "\"requests\":{\"cpu\":\"4\"}") "}}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *waits = parse(arena, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"priority\":7,"
                                      "\"nodeSelector\":{\"a\":\"b\"},\"tolerations\":[{\"key\":"
                                      "\"k\"}],\"containers\":[{\"name\":\"main\",\"resources\":{"
                                      "\"requests\":{\"cpu\":\"1\",\"memory\":\"1\"}}}]}}");
    struct json *runs = parse(arena, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\","
                                     "\"priority\":7,\"containers\":[{\"name\":\"main\"}]}}");

    job_update_pod(arena, waits, parse(arena, job));
    is_json(arena, waits,
            "{\"metadata\":{\"name\":\"p\",\"annotations\":{"
            "\"kiln.hpc/update\":\"3\",\"kiln.hpc/tasks\":\"2\","
            "\"kiln.hpc/job-name\":\"new\"}},\"spec\":{"
            "\"activeDeadlineSeconds\":60,\"placement\":{\"gpuType\":\"a\"},"
            "\"tolerations\":[{\"key\":\"k\"}],\"containers\":[{\"name\":"
            "\"main\",\"resources\":{\"requests\":{\"cpu\":\"4\"}}}]}}");
    job_update_pod(arena, runs, parse(arena, job));
    is_json(arena, runs,
            "{\"metadata\":{\"name\":\"p\",\"annotations\":{"
            "\"kiln.hpc/update\":\"3\"}},\"spec\":{\"nodeName\":\"n\","
            "\"priority\":7,\"activeDeadlineSeconds\":60,"
            "\"containers\":[{\"name\":\"main\"}]}}");
}
END_TEST

#define AFFINITY(terms)                                    \
    "\"affinity\":{\"nodeAffinity\":{"                     \
    "\"requiredDuringSchedulingIgnoredDuringExecution\":{" \
    "\"nodeSelectorTerms\":[" terms "]}}}"
#define OF_PARTITION                                       \
    "{\"key\":\"kiln.hpc/partition\",\"operator\":\"In\"," \
    "\"values\":[\"a\",\"b\"]}"
#define OF_FEATURE "{\"key\":\"f\",\"operator\":\"Exists\"}"

START_TEST(a_partition_takes_the_place_of_the_one_before)
{
    static const struct {
        const char *was, *is;
    } rows[] = {
        {"{}", "{\"placement\":{\"partition\":\"new\"}}"},
        {"{\"placement\":{\"gpuType\":\"a\",\"partition\":\"old\"}}",
         "{\"placement\":{\"gpuType\":\"a\",\"partition\":\"new\"}}"},
        {"{\"nodeSelector\":{\"kiln.hpc/partition\":\"old\"}}",
         "{\"placement\":{\"partition\":\"new\"}}"},
        {"{\"nodeSelector\":{\"kiln.hpc/partition\":\"old\",\"a\":\"b\"}}",
         "{\"nodeSelector\":{\"a\":\"b\"},"
         "\"placement\":{\"partition\":\"new\"}}"},
        {"{" AFFINITY("{\"matchExpressions\":[" OF_PARTITION "]}") "}",
         "{\"placement\":{\"partition\":\"new\"}}"},
        {"{" AFFINITY("{\"matchExpressions\":[" OF_FEATURE "," OF_PARTITION "]}") "}",
         "{" AFFINITY("{\"matchExpressions\":[" OF_FEATURE
                      "]}") ","
                            "\"placement\":{\"partition\":\"new\"}}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *spec = parse(arena, rows[i].was);

        job_update_set_partition(arena, spec, "new");
        is_json(arena, spec, rows[i].is);
    }
}
END_TEST

SUITE("job_update", a_difference_says_who_may_change_it,
      updates_are_numbered_whatever_a_request_says, the_directory_goes_to_pods_that_wait,
      a_pod_becomes_what_its_job_says, a_partition_takes_the_place_of_the_one_before)
