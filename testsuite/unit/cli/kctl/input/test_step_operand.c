/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/step_operand.h"

#include <check.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(steps_are_told_from_jobs_and_names)
{
    static const struct {
        const char *text;
        bool is_step;
    } cases[] = {
        {"17.0", true},     {"17_4.12", true},   {"17", false},    {"17_4", false},
        {"17.", false},     {"17.batch", false}, {".0", false},    {"", false},
        {"a.0", false},     {"17.0.1", false},   {"17.0x", false}, {"17.-1", false},
        {"17,18.0", false}, {"job/17.0", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_msg(step_operand_looks_like(cases[i].text) == cases[i].is_step, "%s",
                      cases[i].text);
}
END_TEST

SUITE("step_operand", steps_are_told_from_jobs_and_names)
