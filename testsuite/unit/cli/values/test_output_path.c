/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values/output_path.h"

#include <check.h>
#include <errno.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(dictionary_objects_that_nobody_replaces_are_refused)
{
    static const struct {
        const char *path;
        int result;
    } cases[] = {
        {"out", 0},          {"%j-%x-%u-%N.txt", 0}, {"100%%", 0},        {"/dev/null", 0},
        {"", -EINVAL},       {"%", -EINVAL},         {"out-%J", -EINVAL}, {"out-%5j", 0},
        {"out-%5", -EINVAL}, {"%%%", -EINVAL},       {"out-%A_%4a", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = {0};

        ck_assert_msg(output_path_check(cases[i].path, &err) == cases[i].result, "'%s'",
                      cases[i].path);
        ck_assert_int_eq(err.code != 0, cases[i].result != 0);
    }
}
END_TEST

SUITE("output_path", dictionary_objects_that_nobody_replaces_are_refused)
