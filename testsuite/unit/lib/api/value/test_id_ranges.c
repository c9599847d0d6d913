/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/id_ranges.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(ids_and_ranges_become_one_sorted_set)
{
    static const struct {
        const char *text;
        const char *set;
        int64_t total;
    } cases[] = {
        {"7", "7", 1},
        {"5,6", "5-6", 2},
        {"10-20", "10-20", 11},
        {"10-12,5,6,11-15,99", "5-6,10-15,99", 9},
        {"3,3,3", "3", 1},
        {"007", "7", 1},
        {"4-4", "4", 1},
        {"999999999999999999", "999999999999999999", 1},
        {"1042_7", "1042_7", 0},
        {"1042_[3-9]", "1042_[3-9]", 0},
        {"1042_[7]", "1042_7", 0},
        {"7,1043_1,1042_[1-100:2],1042_2,9", "7,9,1042_[1-3,5-99:2],1043_1", 2},
        {"1042_7,1042_9,1042_8,1042_20", "1042_[7-9,20]", 0},
        {"1042_7,1040-1050", "1040-1050", 11},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        struct id_ranges ranges = {0};

        ck_assert_int_eq(id_ranges_add(&ranges, cases[i].text, arena, NULL), 0);
        id_ranges_format(&ranges, &out);

        ck_assert_str_eq(out.text, cases[i].set);
        ck_assert_int_eq(ranges.total, cases[i].total);
    }
}
END_TEST

START_TEST(a_text_that_is_no_range_is_refused_in_words)
{
    static const char *const texts[] = {
        "",         "a",        "5,",        ",5",
        "5-",       "-5",       "5--6",      "5,,6",
        "5 6",      "0",        "1-2-3",     "20-10",
        "+5",       "0-3",      "1.5",       "99999999999999999999",
        "\xc2\xb2", "1042_",    "1042_[]",   "1042_[3",
        "1042_3]",  "1042_3-9", "1042_[3,]", "1042_[9-3]",
        "1042_[a]", "0_7",      "_7",        "1042_7_8",
        "1-3_7",    "[1-3]",
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct id_ranges ranges = {0};
        struct error err = {0};

        ck_assert_int_eq(id_ranges_add(&ranges, texts[i], arena, &err), -EINVAL);
        ck_assert_str_ne(err.text, "");
        ck_assert_uint_eq(ranges.count, 0);
        ck_assert_uint_eq(ranges.n_elements, 0);
    }
}
END_TEST

START_TEST(a_million_ids_are_refused_and_the_set_stays)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct id_ranges ranges = {0};
    struct error err = {0};

    ck_assert_int_eq(id_ranges_add(&ranges, "1-9999", arena, NULL), 0);
    ck_assert_int_eq(id_ranges_add(&ranges, "1-1000000", arena, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "1-1000000 are 1000000 jobs"));
    ck_assert_int_eq(id_ranges_add(&ranges, "10000", arena, NULL), 0);
    ck_assert_int_eq(id_ranges_add(&ranges, "10001", arena, &err), -EINVAL);
    ck_assert_int_eq(id_ranges_add(&ranges, "1-999999999999999999", arena, &err), -EINVAL);

    ck_assert_int_eq(ranges.total, 10000);
}
END_TEST

START_TEST(many_elements_one_by_one_are_one_list)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
    struct id_ranges ranges = {0};

    for (int i = 9000; i > 0; i--)
        strbuf_printf(&text, "1042_%d%s", i, i > 1 ? "," : "");

    ck_assert_int_eq(id_ranges_add(&ranges, text.text, arena, NULL), 0);
    ck_assert_int_eq(id_ranges_add(&ranges, "1042_0", arena, NULL), 0);

    id_ranges_format(&ranges, &out);
    ck_assert_str_eq(out.text, "1042_[0-9000]");
    ck_assert_uint_lt(arena_bytes(arena), 16 << 20);
}
END_TEST

START_TEST(elements_of_too_many_arrays_are_refused)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct id_ranges ranges = {0};
    struct error err = {0};

    for (int i = 1; i <= ID_RANGES_ARRAYS_MOST + 1; i++)
        strbuf_printf(&text, "%s%d_1", i > 1 ? "," : "", i);

    ck_assert_int_eq(id_ranges_add(&ranges, text.text, arena, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "257 arrays"));
}
END_TEST

START_TEST(ids_are_told_from_names)
{
    ck_assert(id_ranges_looks_like("1042"));
    ck_assert(id_ranges_looks_like("5,6"));
    ck_assert(id_ranges_looks_like("10-20"));
    ck_assert(id_ranges_looks_like("-5"));
    ck_assert(id_ranges_looks_like("1042_[1-100:2],7"));
    ck_assert(!id_ranges_looks_like("-"));
    ck_assert(!id_ranges_looks_like("job-7"));
    ck_assert(!id_ranges_looks_like("7zip"));
    ck_assert(!id_ranges_looks_like(""));
}
END_TEST

SUITE("id_ranges", ids_and_ranges_become_one_sorted_set,
      a_text_that_is_no_range_is_refused_in_words, a_million_ids_are_refused_and_the_set_stays,
      many_elements_one_by_one_are_one_list, elements_of_too_many_arrays_are_refused,
      ids_are_told_from_names)
