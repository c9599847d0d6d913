/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/task_list.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(ids_and_ranges_become_one_sorted_list)
{
    static const struct {
        const char *text;
        const char *list;
        int64_t total;
    } cases[] = {
        {"", "", 0},
        {"0", "0", 1},
        {"0-99", "0-99", 100},
        {"1-1000:7", "1-995:7", 143},
        {"3,5,9-12", "3,5,9-12", 6},
        {"9-12,5,3", "3,5,9-12", 6},
        {"3,3,3", "3", 1},
        {"007", "7", 1},
        {"4-4:9", "4", 1},
        {"1-10:100", "1", 1},
        {"3,4", "3-4", 2},
        {"1,3,5", "1-5:2", 3},
        {"1-5,3-9", "1-9", 9},
        {"1-9:2,2-8:2", "1-9", 9},
        {"1-1000000:2,1-999999:2", "1-999999:2", 500000},
        {"1-1000000:2,2-1000000:2", "1-1000000", 1000000},
        {"0-9:2,5", "0-4:2,5-6,8", 6},
        {"0-1000000,7-999:3", "0-1000000", 1000001},
        {"0-4000000000", "0-4000000000", 4000000001},
        {"0-4000000000:4000000000", "0,4000000000", 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        struct task_list list;

        ck_assert_int_eq(task_list_parse(arena, cases[i].text, &list, NULL), 0);
        task_list_format(&list, &out);

        ck_assert_str_eq(out.length > 0 ? out.text : "", cases[i].list);
        ck_assert_int_eq(list.total, cases[i].total);
    }
}
END_TEST

START_TEST(a_text_that_is_no_list_is_refused_in_words)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"a", "'a' is neither a task id"},
        {"5,", "a task id is missing"},
        {",5", "a task id is missing"},
        {"5-", "'5-' is neither a task id"},
        {"-5", "'-5' is neither a task id"},
        {"1-2-3", "'1-2-3' is neither a task id"},
        {"1:3", "'1:3' is neither a task id"},
        {"1-9:", "'1-9:' is neither a task id"},
        {"1-9:2:3", "'1-9:2:3' is neither a task id"},
        {"1 ,2", "'1 ' is neither a task id"},
        {"1-9%4", "'1-9%4' is neither a task id"},
        {"7-3", "the range '7-3' ends before it begins"},
        {"1-9:0", "has a step of 0"},
        {"4000000001", "the largest task id is 4000000000"},
        {"1-99999999999999999999", "the largest task id is 4000000000"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct task_list list;
        struct error err = {0};

        ck_assert_int_eq(task_list_parse(arena, cases[i].text, &list, &err), -EINVAL);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "'%s': %s", cases[i].text,
                      err.text);
    }
}
END_TEST

START_TEST(indexes_and_ids_find_each_other)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct task_list list;

    ck_assert_int_eq(task_list_parse(arena, "3,5,9-12,20-1000000:5", &list, NULL), 0);

    ck_assert_int_eq(task_list_at(&list, 0), 3);
    ck_assert_int_eq(task_list_at(&list, 1), 5);
    ck_assert_int_eq(task_list_at(&list, 5), 12);
    ck_assert_int_eq(task_list_at(&list, 6), 20);
    ck_assert_int_eq(task_list_at(&list, list.total - 1), 1000000);
    for (int64_t i = 0; i < list.total; i++)
        ck_assert_int_eq(task_list_index(&list, task_list_at(&list, i)), i);
    ck_assert_int_eq(task_list_index(&list, 0), -1);
    ck_assert_int_eq(task_list_index(&list, 4), -1);
    ck_assert_int_eq(task_list_index(&list, 21), -1);
    ck_assert_int_eq(task_list_index(&list, 1000005), -1);
    ck_assert_int_eq(task_list_index(&list, -1), -1);
    ck_assert_int_eq(task_list_index(&(struct task_list){0}, 0), -1);
}
END_TEST

START_TEST(ranges_that_cross_again_and_again_are_refused)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct task_list list;
    struct error err = {0};

    for (int i = 0; i < 2000; i++)
        strbuf_printf(&text, "%s%d-15000:3,%d-15000:7", i > 0 ? "," : "", 3 * (i % 5),
                      7 * (i % 5) + 1);

    ck_assert_int_eq(task_list_parse(arena, text.text, &list, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "overlap too often"));
    ck_assert_uint_lt(arena_bytes(arena), 1 << 20);
}
END_TEST

START_TEST(a_list_of_too_many_ranges_is_refused)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct task_list list;
    struct error err = {0};

    /* Triangular numbers: no three of them have equal distances. */
    for (int64_t i = 1; i <= TASK_LIST_RANGES_MOST; i++)
        strbuf_printf(&text, "%s%ld", i > 1 ? "," : "", (long)(i * i / 2 + i));
    ck_assert_int_eq(task_list_parse(arena, text.text, &list, NULL), 0);
    strbuf_printf(&text, ",%s", "1");

    ck_assert_int_eq(task_list_parse(arena, text.text, &list, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "the limit of 10000"));
    ck_assert_int_eq(task_list_parse(arena, "1-1000000:3,1-1000000:7", &list, &err), -EINVAL);
}
END_TEST

SUITE("task_list", ids_and_ranges_become_one_sorted_list,
      a_text_that_is_no_list_is_refused_in_words, indexes_and_ids_find_each_other,
      ranges_that_cross_again_and_again_are_refused, a_list_of_too_many_ranges_is_refused)
