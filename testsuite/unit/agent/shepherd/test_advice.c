/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/advice.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "agent/shepherd/ladder.h"
#include "agent/shepherd/outfit.h"
#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"

static int
rung_of(const char *name)
{
    struct ladder_report r = {0};

    while (strcmp(ladder_rung_name(&r), name) != 0) {
        ck_assert_str_ne(ladder_rung_name(&r), "?");
        r.rung++;
    }
    return r.rung;
}

START_TEST(a_failure_says_what_where_and_what_to_do)
{
    static const struct {
        const char *rung;
        int error_number;
        const char *says[3];
    } cases[] = {
        {"working directory", ENOENT, {"'/w'", "No such file", "this node"}},
        {"standard output", EACCES, {"'/out'", "uid 7", "user's rights"}},
        {"standard output", ENOSPC, {"'/out'", "No space", "no space left"}},
        {"program", ENOENT, {"'prog'", "No such file", "interpreter"}},
        {"program", EACCES, {"'prog'", "denied", "noexec"}},
        {"program", ENOEXEC, {"'prog'", "format", "begins with '#!'"}},
        {"program", E2BIG, {"'prog'", "too long", "environment"}},
        {"uid", EAGAIN, {"uid", "unavailable", "CAP_SETUID"}},
        {"identity", ENOTRECOVERABLE, {"identity", "nothing was run", ""}},
        {"umask", EIO, {"umask", "error", ""}},
    };
    const char *arguments[] = {"prog", NULL};
    struct outfit t = {
        .uid = 7,
        .work_dir = "/w",
        .stdin_path = "/in",
        .stdout_path = "/out",
        .arguments = arguments,
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ladder_report r = {
            rung_of(cases[i].rung),
            cases[i].error_number,
        };
        CLEANUP_FREE char *words = advice_dup(&t, &r);

        for (size_t j = 0; j < 3; j++)
            ck_assert_msg(strstr(words, cases[i].says[j]) != NULL,
                          "'%s' does not say '%s'",
                          words,
                          cases[i].says[j]);
    }
}
END_TEST

START_TEST(a_report_that_makes_no_sense_has_a_name_all_the_same)
{
    ck_assert_str_eq(ladder_rung_name(&(struct ladder_report){-1, 0}), "?");
    ck_assert_str_eq(ladder_rung_name(&(struct ladder_report){999, 0}), "?");
}
END_TEST

SUITE("advice",
      a_failure_says_what_where_and_what_to_do,
      a_report_that_makes_no_sense_has_a_name_all_the_same)
