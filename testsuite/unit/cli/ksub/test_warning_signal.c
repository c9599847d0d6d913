/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/warning_signal.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "cli/ksub/submission.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(a_warning_is_read_as_slurm_reads_it)
{
    static const struct {
        const char *text, *name;
        int seconds;
        bool batch_only;
    } cases[] = {
        {"USR1", "USR1", 60, false},         {"usr1@120", "USR1", 120, false},
        {"SIGTERM@0", "TERM", 0, false},     {"B:INT@5", "INT", 5, true},
        {"b:10@65535", "USR1", 65535, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct submission_signal s = {0};

        ck_assert_int_eq(warning_signal_parse(cases[i].text, &s, NULL), 0);
        ck_assert_str_eq(s.name, cases[i].name);
        ck_assert_int_eq(s.seconds_before, cases[i].seconds);
        ck_assert_int_eq(s.batch_only, cases[i].batch_only);
    }
}
END_TEST

START_TEST(a_wrong_signal_is_refused_and_changes_nothing)
{
    static const char *const cases[] = {
        "",         "@",          "@60",    "B:",         "NOPE",
        "0",        "999",        "USR1@",  "USR1@-1",    "USR1@x",
        "USR1@60s", "USR1@65536", "A:USR1", "SIGSIGUSR1", "AVERYLONGNAMEOFASIGNAL@1",
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct submission_signal s = {.name = "HUP"};
        struct error err = {0};

        ck_assert_msg(warning_signal_parse(cases[i], &s, &err) == -EINVAL, "'%s'", cases[i]);
        ck_assert_str_eq(s.name, "HUP");
        ck_assert_ptr_nonnull(strstr(err.text, "USR1@120"));
    }
}
END_TEST

SUITE("warning_signal", a_warning_is_read_as_slurm_reads_it,
      a_wrong_signal_is_refused_and_changes_nothing)
