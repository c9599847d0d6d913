/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values/hostlist.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(brackets_are_expanded_in_the_order_written)
{
    static const char *const cases[][2] = {
        {"n1", "n1"},
        {"n1,n2", "n1 n2"},
        {"n[1-3]", "n1 n2 n3"},
        {"n[08-10]", "n08 n09 n10"},
        {"n[1,3-4],login", "n1 n3 n4 login"},
        {"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
        {"n[5]-ib.site", "n5-ib.site"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;
        const char **names = NULL;
        size_t count = 0;

        ck_assert_int_eq(hostlist_expand(arena, cases[i][0], &names, &count, NULL), 0);
        for (size_t j = 0; j < count; j++)
            strbuf_printf(&all, "%s%s", j > 0 ? " " : "", names[j]);
        ck_assert_str_eq(all.text, cases[i][1]);
    }
}
END_TEST

START_TEST(what_is_no_list_is_refused)
{
    static const struct {
        const char *text;
        int result;
    } cases[] = {
        {"", -EINVAL},
        {",", -EINVAL},
        {"n1,", -EINVAL},
        {"n[", -EINVAL},
        {"n]", -EINVAL},
        {"n[]", -EINVAL},
        {"n[1-]", -EINVAL},
        {"n[3-1]", -EINVAL},
        {"n[a]", -EINVAL},
        {"n[1,]", -EINVAL},
        {"n 1", -EINVAL},
        {"n[1[2]]", -EINVAL},
        {"n[1-999999999]", -EINVAL},
        {"n[1-99999999]", -E2BIG},
        {"n[1-99][1-99]", -E2BIG},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const char **names = NULL;
        size_t count = 0;

        ck_assert_msg(hostlist_expand(arena, cases[i].text, &names, &count, NULL)
                          == cases[i].result,
                      "'%s'", cases[i].text);
        ck_assert_ptr_null(names);
    }
}
END_TEST

START_TEST(a_text_of_brackets_alone_is_refused_before_it_is_walked)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char **names = NULL;
    size_t count = 0;

    for (int i = 0; i < 100000; i++)
        strbuf_add_text(&text, "[1]");

    ck_assert_int_eq(hostlist_expand(arena, text.text, &names, &count, NULL), -EINVAL);
}
END_TEST

SUITE("hostlist", brackets_are_expanded_in_the_order_written, what_is_no_list_is_refused,
      a_text_of_brackets_alone_is_refused_before_it_is_walked)
