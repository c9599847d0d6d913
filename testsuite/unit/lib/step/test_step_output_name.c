/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_output_name.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static const struct step_output_values values = {
    .job_id = "128",
    .job_name = "a/b",
    .user = "ann",
    .step_id = "0",
    .node = "n1.example.org",
    .node_index = 1,
    .task = 2,
};

START_TEST(patterns_become_names)
{
    static const struct {
        const char *pattern, *expected;
        enum step_output_scope scope;
    } cases[] = {
        {"out", "out", STEP_OUTPUT_ONE},
        {"job%J.out", "job128.0.out", STEP_OUTPUT_ONE},
        {"job%4j.out", "job0128.out", STEP_OUTPUT_ONE},
        {"job%j-%2t.out", "job128-02.out", STEP_OUTPUT_TASK},
        {"%N.%n", "n1.1", STEP_OUTPUT_NODE},
        {"%n-%t", "1-2", STEP_OUTPUT_TASK},
        {"%x.%u.%s.%A.%a", "a_b.ann.0.128.4294967294", STEP_OUTPUT_ONE},
        {"100%%", "100%", STEP_OUTPUT_ONE},
        {"%%t", "%t", STEP_OUTPUT_ONE},
        {"%999999999999999t", "0000000002", STEP_OUTPUT_TASK},
        {"a\\%t", "a%t", STEP_OUTPUT_ONE},
        {"%3s", "000", STEP_OUTPUT_ONE},
        {"end%", "end", STEP_OUTPUT_ONE},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        step_output_name_expand(cases[i].pattern, &values, &out);
        ck_assert_str_eq(out.text, cases[i].expected);
        ck_assert_int_eq(step_output_name_scope(cases[i].pattern), cases[i].scope);
    }
}
END_TEST

START_TEST(a_task_of_an_array_has_its_numbers)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct step_output_values of_array = values;

    of_array.array_job_id = "120";
    of_array.array_task_id = "7";
    step_output_name_expand("%A_%3a", &of_array, &out);
    ck_assert_str_eq(out.text, "120_007");
}
END_TEST

START_TEST(unknown_letters_are_refused)
{
    struct error error = {0};

    ck_assert_int_eq(step_output_name_check("a%j.%2t.%%", NULL), 0);
    ck_assert_int_eq(step_output_name_check("a\\%q", NULL), 0);
    ck_assert_int_eq(step_output_name_check("%q", &error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "%q is no pattern; there are %j"));
    ck_assert_int_eq(step_output_name_check("a%", &error), -EINVAL);
    ck_assert_int_eq(step_output_name_check("a%3", &error), -EINVAL);
}
END_TEST

SUITE("step_output_name", patterns_become_names, a_task_of_an_array_has_its_numbers,
      unknown_letters_are_refused)
