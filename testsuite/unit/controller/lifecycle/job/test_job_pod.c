/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/job_pod.h"

#include <check.h>
#include <string.h>

#include "controller/lifecycle/job/job_plan.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

START_TEST(names_of_pods_are_read_back)
{
    CLEANUP(arena_freep) struct arena *a = arena_new(0);
    int64_t index, attempt;

    ck_assert_str_eq(job_pod_name(a, "job-7", 3, 0), "job-7-3");
    ck_assert_str_eq(job_pod_name(a, "job-7", 3, 2), "job-7-3-r2");
    ck_assert(job_pod_name_parse("job-7", "job-7-3-r2", &index, &attempt));
    ck_assert_int_eq(index, 3);
    ck_assert_int_eq(attempt, 2);
    ck_assert(!job_pod_name_parse("job-7", "job-70-3", &index, &attempt));
    ck_assert(!job_pod_name_parse("job-7", "job-7-x", &index, &attempt));
    ck_assert(!job_pod_name_parse("job-7", "job-7-3-r", &index, &attempt));
    ck_assert(!job_pod_name_parse("job-7", "job", &index, &attempt));
}
END_TEST

/* Only the Job may set the pod's owner, its exclusions and its place in the
 * queue.
 */
START_TEST(a_template_signs_nothing)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"j\",\"namespace\":\"d\",\"uid\":\"u\","
        "\"annotations\":{\"kiln.hpc/eligible-at\":"
        "\"2026-01-01T00:00:00.000001Z\"}},\"spec\":{\"template\":{\"metadata\":{"
        "\"annotations\":{\"kiln.hpc/eligible-at\":\"1970\",\"kiln.hpc/repels\":"
        "\"all\",\"kiln.hpc/uid\":\"0\",\"kiln.hpc/deleted-by\":\"root\","
        "\"kiln.hpc/surplus\":\"x\",\"kiln.hpc/requeue-before\":\"9\","
        "\"kiln.hpc/of-a-later-release\":\"x\",\"kiln.hpc/tasks\":\"4\","
        "\"batch.kubernetes.io/job-completion-index\":\"3\",\"mine\":\"kept\"},"
        "\"labels\":{\"kiln.hpc/user\":\"root\",\"mine\":\"kept\"}},\"spec\":{"
        "\"containers\":[{\"name\":\"c\"}]}}}}";
    CLEANUP(arena_freep) struct arena *a = arena_new(0);
    CLEANUP(object_unrefp) const struct object *job = NULL;
    const struct job_plan_pod plan = {.attempt = 2};
    static const char *const reserved[] = {
        "kiln.hpc/repels",
        "kiln.hpc/uid",
        "kiln.hpc/surplus",
        "kiln.hpc/deleted-by",
        "kiln.hpc/requeue-before",
        "kiln.hpc/of-a-later-release",
        "batch.kubernetes.io/job-completion-index",
    };
    const struct json *pod, *said;

    ck_assert_int_eq(object_parse(&job_kind, text, strlen(text), &job, NULL), 0);

    pod = job_pod_make(a, job, &plan);
    said = json_get_path(pod, "metadata.annotations");

    ck_assert_str_eq(json_get_text(said, "kiln.hpc/eligible-at"), "2026-01-01T00:00:00.000001Z");
    for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
        ck_assert_msg(json_get(said, reserved[i]) == NULL, "%s", reserved[i]);
    ck_assert_str_eq(json_get_text(said, "mine"), "kept");
    ck_assert_str_eq(json_get_text(said, "kiln.hpc/tasks"), "4");
    ck_assert_ptr_null(json_get(json_get_path(pod, "metadata.labels"), "kiln.hpc/user"));
    ck_assert_str_eq(json_get_text(json_get_path(pod, "metadata.labels"), "mine"), "kept");
}
END_TEST

static const char *
value_of(const struct json *variables, const char *name)
{
    for (uint32_t i = 0; i < json_count(variables); i++)
        if (strcmp(json_get_text(json_at(variables, i), "name"), name) == 0)
            return json_get_text(json_at(variables, i), "value");
    return "";
}

START_TEST(the_pod_of_an_array_has_its_tasks_id_and_not_the_index)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"j\",\"namespace\":\"d\",\"uid\":\"u\"},"
        "\"spec\":{\"completionMode\":\"Indexed\",\"completions\":4,\"array\":{"
        "\"tasks\":\"3,10-20:5\"},\"template\":{\"metadata\":{\"annotations\":{"
        "\"kiln.hpc/variables\":\"slurm\"}},\"spec\":{\"execution\":{"
        "\"stdoutPath\":\"%x/%%a-%A_%4a-%6j-%N\",\"stderrPath\":\"e\"},"
        "\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":"
        "\"KILN_ARRAY_TASK_ID\",\"value\":\"x\"},{\"name\":\"MINE\",\"value\":"
        "\"y\"}]}]}}},\"status\":{\"id\":1042}}";
    CLEANUP(arena_freep) struct arena *a = arena_new(0);
    CLEANUP(object_unrefp) const struct object *job = NULL;
    const struct job_plan_pod plan = {.index = 2};
    const struct json *pod, *variables;

    ck_assert_int_eq(object_parse(&job_kind, text, strlen(text), &job, NULL), 0);

    pod = job_pod_make(a, job, &plan);
    variables = json_get(json_at(json_get_path(pod, "spec.containers"), 0), "env");

    ck_assert_str_eq(
        json_get_text(json_get_path(pod, "metadata.annotations"), "kiln.hpc/array-task"), "15");
    ck_assert_str_eq(json_path_text(pod, "spec.execution.stdoutPath"),
                     "%x/%%a-1042_0015-001042_15-%N");
    ck_assert_str_eq(json_path_text(pod, "spec.execution.stderrPath"), "e");
    ck_assert_str_eq(value_of(variables, "KILN_ARRAY_JOB_ID"), "1042");
    ck_assert_str_eq(value_of(variables, "KILN_ARRAY_TASK_ID"), "15");
    ck_assert_str_eq(value_of(variables, "SLURM_ARRAY_TASK_ID"), "15");
    ck_assert_str_eq(value_of(variables, "KILN_ARRAY_TASK_COUNT"), "4");
    ck_assert_str_eq(value_of(variables, "KILN_ARRAY_TASK_MIN"), "3");
    ck_assert_str_eq(value_of(variables, "KILN_ARRAY_TASK_MAX"), "20");
    ck_assert_str_eq(value_of(variables, "KILN_ARRAY_TASK_STEP"), "7");
    ck_assert_str_eq(value_of(variables, "MINE"), "y");
    ck_assert_uint_eq(json_count(variables), 13);
}
END_TEST

/* What is left to it is the user, and what it holds. */
START_TEST(a_pod_beside_the_first_holds_resources_and_runs_no_script)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"j\",\"namespace\":\"d\",\"uid\":\"u\"},\"spec\":{"
        "\"completionMode\":\"Indexed\",\"parallelism\":2,\"completions\":2,"
        "\"script\":{\"digest\":\"sha256:1\"},\"environment\":{\"digest\":\"sha256:2\"},"
        "\"scheduling\":{\"schedulingPolicy\":{\"gang\":{}},\"disruptionMode\":{\"all\":{}}},"
        "\"template\":{\"spec\":{\"execution\":{\"runs\":\"First\",\"umask\":\"0077\","
        "\"stdoutPath\":\"out\",\"stderrPath\":\"err\",\"stdinPath\":\"in\","
        "\"checkpointCommand\":\"save\",\"signal\":{\"name\":\"USR1\"}},"
        "\"containers\":[{\"name\":\"c\",\"args\":[\"x\"]}]}}}}";
    CLEANUP(arena_freep) struct arena *a = arena_new(0);
    CLEANUP(object_unrefp) const struct object *job = NULL;
    const struct job_plan_pod first = {.index = 0}, second = {.index = 1};
    const struct json *pod, *main, *e, *said;

    ck_assert_int_eq(object_parse(&job_kind, text, strlen(text), &job, NULL), 0);

    pod = job_pod_make(a, job, &first);
    main = json_at(json_get_path(pod, "spec.containers"), 0);
    ck_assert_ptr_null(json_get(main, "command"));
    ck_assert_uint_eq(json_count(json_get(main, "args")), 1);
    ck_assert_str_eq(json_path_text(pod, "spec.execution.stdoutPath"), "out");
    said = json_get_path(pod, "metadata.annotations");
    ck_assert_str_eq(json_get_text(said, "kiln.hpc/script"), "sha256:1");

    pod = job_pod_make(a, job, &second);
    main = json_at(json_get_path(pod, "spec.containers"), 0);
    e = json_get_path(pod, "spec.execution");
    said = json_get_path(pod, "metadata.annotations");
    ck_assert_uint_eq(json_count(json_get(main, "command")), 1);
    ck_assert_str_eq(json_text(json_at(json_get(main, "command"), 0)), "kiln-pause");
    ck_assert_ptr_null(json_get(main, "args"));
    ck_assert_ptr_null(json_get(said, "kiln.hpc/script"));
    ck_assert_str_eq(json_get_text(e, "stdoutPath"), "/dev/null");
    ck_assert_str_eq(json_get_text(e, "umask"), "0077");
    ck_assert_ptr_null(json_get(e, "stderrPath"));
    ck_assert_ptr_null(json_get(e, "stdinPath"));
    ck_assert_ptr_null(json_get(e, "signal"));
    ck_assert_ptr_null(json_get(e, "checkpointCommand"));
}
END_TEST

SUITE("job_pod", names_of_pods_are_read_back, a_template_signs_nothing,
      the_pod_of_an_array_has_its_tasks_id_and_not_the_index,
      a_pod_beside_the_first_holds_resources_and_runs_no_script)
