/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job_pod.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
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

SUITE("job_pod", names_of_pods_are_read_back)
