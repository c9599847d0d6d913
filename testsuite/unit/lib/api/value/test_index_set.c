/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/index_set.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define N 64

static void
is_text(const struct index_set *set, const char *wanted)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    index_set_format(set, INT64_MAX, &text);
    ck_assert_str_eq(text.text, wanted);
}

START_TEST(neighbours_become_one_range)
{
    struct index_set set = {0};

    index_set_add(&set, 3);
    index_set_add(&set, 5);
    is_text(&set, "3,5");
    index_set_add(&set, 4);
    is_text(&set, "3-5");
    ck_assert_uint_eq(set.count, 1);
    index_set_add(&set, 0);
    index_set_add_range(&set, 1, 9);
    is_text(&set, "0-9");
    ck_assert_uint_eq(set.count, 1);
    index_set_fini(&set);
}
END_TEST

START_TEST(memory_beyond_the_end_is_not_written)
{
    static const struct {
        int64_t end;
        const char *wanted;
    } cases[] = {{100, "0-2,5-9"}, {8, "0-2,5-7"}, {7, "0-2,5,6"},
                 {6, "0-2,5"},     {5, "0-2"},     {0, ""}};
    struct index_set set = {0};

    index_set_add_range(&set, 0, 2);
    index_set_add_range(&set, 5, 9);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        index_set_format(&set, cases[i].end, &text);
        ck_assert_str_eq(text.text, cases[i].wanted);
    }
    index_set_fini(&set);
}
END_TEST

START_TEST(an_index_taken_out_of_a_range_divides_it)
{
    struct index_set set = {0};

    index_set_add_range(&set, 0, 9);
    index_set_remove(&set, 4);
    index_set_remove(&set, 0);
    index_set_remove(&set, 9);
    index_set_remove(&set, 20);
    is_text(&set, "1-3,5-8");
    ck_assert_int_eq(index_set_gap(&set, 1), 4);
    ck_assert_int_eq(index_set_gap(&set, 0), 0);
    ck_assert_int_eq(index_set_gap(&set, 6), 9);
    ck_assert_int_eq(index_set_gap(&set, 30), 30);
    index_set_fini(&set);
}
END_TEST

START_TEST(lists_are_read_as_they_are_written)
{
    static const char *const good[] = {"", "0", "0,1", "0-2", "7,9,11-13"};
    static const char *const bad[] = {"x", "1-", "2-1", ",1", "-1", "1 2"};

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct index_set set = {0};

        ck_assert(index_set_parse(&set, good[i]));
        is_text(&set, good[i]);
        index_set_fini(&set);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct index_set set = {0};

        ck_assert_msg(!index_set_parse(&set, bad[i]), "%s", bad[i]);
        index_set_fini(&set);
    }
}
END_TEST

START_TEST(the_common_indexes_of_two_sets_are_counted)
{
    static const struct {
        const char *a, *b;
        int common;
    } cases[] = {
        {"", "0-9", 0},
        {"0-3,8", "2-9", 3},
        {"0,2,4,6", "1,3,5", 0},
        {"0-9", "1,3-4,9-20", 4},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct index_set a = {0}, b = {0};

        index_set_parse(&a, cases[i].a);
        index_set_parse(&b, cases[i].b);
        ck_assert_int_eq(index_set_count_common(&a, &b), cases[i].common);
        ck_assert_int_eq(index_set_count_common(&b, &a), cases[i].common);
        index_set_fini(&a);
        index_set_fini(&b);
    }
}
END_TEST

/* Compares with a set that is one bool per index. */
START_TEST(a_random_walk_agrees_with_a_plain_set)
{
    struct index_set set = {0};
    bool plain[N] = {false};

    srandom(7);
    for (int step = 0; step < 20000; step++) {
        int64_t i = random() % N;
        int64_t end = random() % N;
        int64_t count = 0, below = 0;

        plain[i] = random() % 2 == 0;
        if (plain[i])
            index_set_add(&set, i);
        else
            index_set_remove(&set, i);
        for (int64_t k = 0; k < N; k++) {
            ck_assert(index_set_has(&set, k) == plain[k]);
            count += plain[k];
            below += plain[k] && k < end;
        }
        ck_assert_int_eq(index_set_count(&set), count);
        ck_assert_int_eq(index_set_count_below(&set, end), below);
        for (size_t k = 1; k < set.count; k++)
            ck_assert_int_lt(set.ranges[k - 1].last + 1, set.ranges[k].first);
    }
    index_set_fini(&set);
}
END_TEST

SUITE("index_set", neighbours_become_one_range, memory_beyond_the_end_is_not_written,
      an_index_taken_out_of_a_range_divides_it, lists_are_read_as_they_are_written,
      the_common_indexes_of_two_sets_are_counted, a_random_walk_agrees_with_a_plain_set)
