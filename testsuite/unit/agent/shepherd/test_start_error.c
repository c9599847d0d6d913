/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/start_error.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "agent/shepherd/become_user.h"
#include "agent/shepherd/prepared_job.h"
#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"

static int
step_of(const char *name)
{
    struct become_user_report r = {0};

    while (strcmp(become_user_step_name(&r), name) != 0) {
        ck_assert_str_ne(become_user_step_name(&r), "?");
        r.step++;
    }
    return r.step;
}

START_TEST(a_failure_says_what_where_and_what_to_do)
{
    static const struct {
        const char *step;
        int error_number;
        const char *says[3];
    } cases[] = {
        {"working directory", ENOENT, {"'/w'", "No such file", "no such directory on this node"}},
        {"standard input", ENOENT, {"'/in'", "No such file", "no such file on this node"}},
        {"standard output", ENOENT, {"'/out'", "No such file", "its parent directories"}},
        {"standard output", EACCES, {"'/out'", "uid 7", "no permission"}},
        {"standard output", ENOSPC, {"'/out'", "No space", "no space left"}},
        {"program", ENOENT, {"'prog'", "No such file", "interpreter"}},
        {"program", EACCES, {"'prog'", "denied", "noexec"}},
        {"program", ENOEXEC, {"'prog'", "format", "begins with '#!'"}},
        {"program", E2BIG, {"'prog'", "too long", "environment"}},
        {"keyring", EDQUOT, {"keyring", "quota", "root_maxkeys"}},
        {"uid", EAGAIN, {"uid", "unavailable", "CAP_SETUID"}},
        {"identity", ENOTRECOVERABLE, {"identity", "it was not started", ""}},
        {"umask", EIO, {"umask", "error", ""}},
    };
    const char *arguments[] = {"prog", NULL};
    struct prepared_job t = {
        .who.uid = 7,
        .work_dir = "/w",
        .stdin_path = "/in",
        .stdout_path = "/out",
        .arguments = arguments,
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct become_user_report r = {
            step_of(cases[i].step),
            cases[i].error_number,
        };
        CLEANUP_FREE char *words = start_error_dup(&t, &r);

        for (size_t j = 0; j < 3; j++)
            ck_assert_msg(strstr(words, cases[i].says[j]) != NULL, "'%s' does not say '%s'", words,
                          cases[i].says[j]);
    }
}
END_TEST

START_TEST(a_report_that_makes_no_sense_has_a_name_all_the_same)
{
    ck_assert_str_eq(become_user_step_name(&(struct become_user_report){-1, 0}), "?");
    ck_assert_str_eq(become_user_step_name(&(struct become_user_report){999, 0}), "?");
}
END_TEST

SUITE("start_error", a_failure_says_what_where_and_what_to_do,
      a_report_that_makes_no_sense_has_a_name_all_the_same)
