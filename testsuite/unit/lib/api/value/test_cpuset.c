/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/cpuset.h"

#include <check.h>
#include <errno.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(a_list_is_written_back_in_its_shortest_form)
{
    static const struct {
        const char *text;
        const char *shortest;
        unsigned count;
    } cases[] = {
        {"", "", 0},
        {"0", "0", 1},
        {"0-3", "0-3", 4},
        {"3,1,2,0", "0-3", 4},
        {"0-7,64-71", "0-7,64-71", 16},
        {"5-5,7", "5,7", 2},
        {"0-3,2-5", "0-5", 6},
        {"1023", "1023", 1},
        {"0-1023", "0-1023", 1024},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bitset set;
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        ck_assert_int_eq(cpuset_parse(cases[i].text, &set, NULL), 0);
        cpuset_format(&set, &out);

        ck_assert_str_eq(out.text, cases[i].shortest);
        ck_assert_uint_eq(bitset_count(&set), cases[i].count);
    }
}
END_TEST

START_TEST(a_text_that_is_no_list_is_refused_and_changes_nothing)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        {",", -EINVAL},       {"1,", -EINVAL},   {",1", -EINVAL},
        {"1,,2", -EINVAL},    {"3-1", -EINVAL},  {"1-", -EINVAL},
        {"-1", -EINVAL},      {"a", -EINVAL},    {"1 2", -EINVAL},
        {"0-8:2/4", -EINVAL}, {"1024", -ERANGE}, {"0-99999999999999999999", -ERANGE},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bitset set = {{7}};
        struct error err = {0};

        ck_assert_int_eq(cpuset_parse(cases[i].text, &set, &err), cases[i].code);

        ck_assert_uint_eq(set.words[0], 7);
        ck_assert_ptr_nonnull(strstr(err.text, cases[i].text));
    }
}
END_TEST

SUITE("cpuset", a_list_is_written_back_in_its_shortest_form,
      a_text_that_is_no_list_is_refused_and_changes_nothing)
