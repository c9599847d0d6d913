/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/hostlist.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
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
        {"rack1-node[098-101]", "rack1-node098 rack1-node099 rack1-node100 rack1-node101"},
        {"n[01-10,15],m3", "n01 n02 n03 n04 n05 n06 n07 n08 n09 n10 n15 m3"},
        {"n[9-11]", "n9 n10 n11"},
        {"n2,n[1-3],n1", "n2 n1 n3"},
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

START_TEST(a_text_that_is_no_list_is_refused)
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
        {"n[1-9999999999]", -EINVAL},
        {"n[1-99999999]", -E2BIG},
        {"n[1-999][1-999]", -E2BIG},
        {"n[0-65535],m", -E2BIG},
        {"n[1-010]", -EINVAL},
        {"n[08-9]", -EINVAL},
        {"n[1-3", -EINVAL},
        {"n[1;3]", -EINVAL},
        {"n/1", -EINVAL},
        {"[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]", -EINVAL},
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

START_TEST(an_error_has_the_position)
{
    static const char *const cases[][2] = {
        {"n1,,n2", "a name is missing at character 4"},
        {"n1, n2", "a character that no name has at character 4"},
        {"n[1-3", "no ']' closes the '[' at character 2"},
        {"n1]", "no '[' opens the ']' at character 3"},
        {"n[1-x]", "a number is missing at character 5"},
        {"n[1,7-3]", "a range runs backwards at character 5"},
        {"n[1,2x]", "neither a number nor ',' nor ']' at character 6"},
        {"n[08-9]", "a range's two ends have different numbers of leading zeros at character 3"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct error err = {0};
        const char **names;
        size_t count;

        ck_assert_int_eq(hostlist_expand(arena, cases[i][0], &names, &count, &err), -EINVAL);
        ck_assert_msg(strstr(err.text, cases[i][1]) != NULL, "'%s': %s", cases[i][0], err.text);
    }
}
END_TEST

START_TEST(as_many_names_as_allowed_are_made)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char **names;
    size_t count = 0;

    ck_assert_int_eq(hostlist_expand(arena, "n[0-65535]", &names, &count, NULL), 0);
    ck_assert_uint_eq(count, HOSTLIST_MAX);
    ck_assert_str_eq(names[65535], "n65535");
}
END_TEST

START_TEST(a_name_longer_than_names_may_be_is_refused)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char **names = NULL;
    size_t count = 0;

    for (int i = 0; i < 254; i++)
        strbuf_add_char(&text, 'n');

    ck_assert_int_eq(hostlist_expand(arena, text.text, &names, &count, NULL), -EINVAL);
    ck_assert_int_eq(hostlist_expand(arena, text.text + 1, &names, &count, NULL), 0);
}
END_TEST

START_TEST(names_are_sorted_and_shortened)
{
    static const char *const cases[][2] = {
        {"n1", "n1"},
        {"n3,n1,n2", "n[1-3]"},
        {"n10,n9,n8,n2", "n[2,8-10]"},
        {"n7,head,n1,n2", "head,n[1-2,7]"},
        {"n08,n09,n10,n11", "n[08-11]"},
        {"n9,n09,n10", "n[9,09-10]"},
        {"n09,n010", "n[09,010]"},
        {"rack1-n01-ib,rack1-n02-ib,rack2-n01-ib", "rack1-n[01-02]-ib,rack2-n01-ib"},
        {"login,data", "data,login"},
        {"n1234567890,n1234567891", "n1[234567890-234567891]"},
        {"n,n1,n2,n-", "n,n[1-2],n-"},
        /* of 63 characters, with digits inside */
        {"r1-0123456789012345678901234567890123456789012345678901234-n10,"
         "r1-0123456789012345678901234567890123456789012345678901234-n09",
         "r1-0123456789012345678901234567890123456789012345678901234-n[09-10]"},
        {"n2x0123456789012345678901234567890123456789012345678901234567x9,"
         "n10x012345678901234567890123456789012345678901234567890123456x9",
         "n2x0123456789012345678901234567890123456789012345678901234567x9,"
         "n10x012345678901234567890123456789012345678901234567890123456x9"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const char **names = NULL, **again = NULL;
        size_t count = 0, n_again = 0;

        ck_assert_int_eq(hostlist_expand(arena, cases[i][0], &names, &count, NULL), 0);
        hostlist_format(names, count, 0, &out);
        ck_assert_str_eq(out.text, cases[i][1]);
        ck_assert_int_eq(hostlist_expand(arena, out.text, &again, &n_again, NULL), 0);
        ck_assert_uint_eq(n_again, count);
        for (size_t j = 0; j < count; j++)
            ck_assert_str_eq(again[j], names[j]);
    }
}
END_TEST

START_TEST(a_long_list_ends_with_a_count)
{
    const char *names[] = {"a", "b", "c", "n1", "n2"};
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    hostlist_format(names, ARRAY_SIZE(names), 3, &out);

    ck_assert_str_eq(out.text, "a,b,... (3 more)");
}
END_TEST

/* The order of ranks: what the sorted names are shortened to gives them back. */
START_TEST(numbers_in_names_are_compared_by_value)
{
    const char *names[] = {
        "rack10-n1", "rack2-n10", "n10",           "rack2-n9",      "n9", "login", "n2-ib",
        "n1-ib",     "rack02-n3", "n123456789012", "n123456789011",
    };
    static const char expected[] = "login,n[9-10],n[1-2]-ib,n123[456789011-456789012],"
                                   "rack02-n3,rack2-n[9-10],rack10-n1";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf in_order = STRBUF_INIT;
    const char **back = NULL;
    size_t count = 0;

    qsort(names, ARRAY_SIZE(names), sizeof(*names), hostlist_compare);
    hostlist_format_in_order(names, ARRAY_SIZE(names), &in_order);
    ck_assert_str_eq(in_order.text, expected);
    ck_assert_int_eq(hostlist_expand(arena, in_order.text, &back, &count, NULL), 0);
    ck_assert_uint_eq(count, ARRAY_SIZE(names));
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(back[i], names[i]);
    hostlist_format(names, ARRAY_SIZE(names), 0, &text);
    ck_assert_str_eq(text.text, expected);
}
END_TEST

START_TEST(an_order_that_is_not_sorted_is_kept)
{
    static const char *const names[] = {"n3", "n1", "n2", "m1", "n4"};
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    hostlist_format_in_order(names, ARRAY_SIZE(names), &text);
    ck_assert_str_eq(text.text, "n[3,1-2],m1,n4");
}
END_TEST

SUITE("hostlist", numbers_in_names_are_compared_by_value, an_order_that_is_not_sorted_is_kept,
      an_error_has_the_position, as_many_names_as_allowed_are_made,
      a_name_longer_than_names_may_be_is_refused, names_are_sorted_and_shortened,
      a_long_list_ends_with_a_count, brackets_are_expanded_in_the_order_written,
      a_text_that_is_no_list_is_refused, a_text_of_brackets_alone_is_refused_before_it_is_walked)
