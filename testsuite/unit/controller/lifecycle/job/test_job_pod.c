/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/job_pod.h"

#include <check.h>
#include <string.h>

#include "controller/lifecycle/job/job_plan.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
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

/* Whose pod it is, whom it repels and where it waits is the Job's to say. */
START_TEST(a_template_signs_nothing)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"j\",\"namespace\":\"d\",\"uid\":\"u\","
        "\"annotations\":{\"kiln.hpc/eligible-at\":"
        "\"2026-01-01T00:00:00.000001Z\"}},\"spec\":{\"template\":{\"metadata\":{"
        "\"annotations\":{\"kiln.hpc/eligible-at\":\"1970\",\"kiln.hpc/repels\":"
        "\"all\",\"kiln.hpc/uid\":\"0\",\"mine\":\"kept\"}},\"spec\":{"
        "\"containers\":[{\"name\":\"c\"}]}}}}";
    CLEANUP(arena_freep) struct arena *a = arena_new(0);
    CLEANUP(object_unrefp) const struct object *job = NULL;
    const struct job_plan_pod plan = {.attempt = 2};
    const struct json *said;

    ck_assert_int_eq(object_parse(&job_kind, text, strlen(text), &job, NULL),
                     0);

    said = json_get_path(job_pod_make(a, job, &plan), "metadata.annotations");

    ck_assert_str_eq(json_get_text(said, "kiln.hpc/eligible-at"),
                     "2026-01-01T00:00:00.000001Z");
    ck_assert_ptr_null(json_get(said, "kiln.hpc/repels"));
    ck_assert_ptr_null(json_get(said, "kiln.hpc/uid"));
    ck_assert_str_eq(json_get_text(said, "mine"), "kept");
}
END_TEST

SUITE("job_pod", names_of_pods_are_read_back, a_template_signs_nothing)
