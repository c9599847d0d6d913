/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/files/rlimit.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(limits_are_read_by_name)
{
    struct rlimit_setting s;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    ck_assert_int_eq(rlimit_parse("nofile", "64", "unlimited", &s, NULL), 0);
    ck_assert_int_eq(s.resource, RLIMIT_NOFILE);
    ck_assert_uint_eq(s.soft, 64);
    ck_assert(s.hard == RLIM_INFINITY);
    ck_assert_str_eq(rlimit_name(s.resource), "nofile");
    rlimit_format_value(s.hard, &text);
    ck_assert_str_eq(text.text, "unlimited");
}
END_TEST

START_TEST(a_wrong_limit_is_refused)
{
    static const struct {
        const char *name, *soft, *hard, *says;
    } cases[] = {
        {"files", "1", "1", "'files'"},
        {"", "1", "1", "''"},
        {"core", "-1", "1", "'-1'"},
        {"core", "1k", "1", "'1k'"},
        {"core", "1", "", "''"},
        {"core", "2", "1", "above"},
        {"core", "unlimited", "1", "above"},
        {"core", "99999999999999999999999", "1", "99999"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct rlimit_setting s;
        struct error err = {0};

        ck_assert_int_eq(rlimit_parse(cases[i].name, cases[i].soft, cases[i].hard, &s, &err),
                         -EINVAL);
        ck_assert_msg(strstr(err.text, cases[i].says), "%s", err.text);
    }
}
END_TEST

SUITE("rlimit", limits_are_read_by_name, a_wrong_limit_is_refused)
