/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/quantity.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(an_amount_is_read_exactly)
{
    static const struct {
        const char *text;
        int64_t value, milli;
    } cases[] = {
        {"0", 0, 0},
        {"500m", 1, 500},
        {"1.5", 2, 1500},
        {"-1.5", -2, -1500},
        {"1Ki", 1024, 1024000},
        {"0.5Gi", 536870912, 536870912000},
        {"1e3", 1000, 1000000},
        {"1n", 1, 1},
        {"100E", INT64_MAX, INT64_MAX},
        {"8Ei", INT64_MAX, INT64_MAX},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ck_assert_int_eq(quantity_text_value(cases[i].text), cases[i].value);
        ck_assert_int_eq(quantity_text_milli(cases[i].text), cases[i].milli);
    }
}
END_TEST

START_TEST(a_wrong_amount_is_refused)
{
    static const char *const cases[] = {
        "",      "1e",   "1ki",  "1 ",    "0x10", "1_0", "NaN", "1..2", "--1", "1KB", "1-1",   "1Z",
        "1e1e1", "\xff", "1Gib", "1e+-1", "10,5", "1E+", "1iK", "1e9e", "K1",  "+-1", "1.2.3", "e",
    };
    struct quantity q;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ck_assert_msg(quantity_parse(cases[i], &q) == -EINVAL, "%s", cases[i]);
        ck_assert_int_eq(quantity_text_value(cases[i]), 0);
    }
    ck_assert_int_eq(quantity_parse("1e999", &q), -ERANGE);
    ck_assert_int_eq(quantity_parse("1e30", &q), -ERANGE);
    ck_assert_int_eq(quantity_text_value(NULL), 0);
}
END_TEST

START_TEST(an_amount_is_written_in_its_shortest_form)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"1000m", "1"}, {"1024Mi", "1Gi"},   {"1500", "1500"},
        {"1000", "1k"}, {"1.5Gi", "1536Mi"}, {"0.5Ki", "512"},
        {"-0", "0"},    {"1e3", "1e3"},      {"0.0000000001", "1n"},
    };
    char text[QUANTITY_TEXT_SIZE];
    struct quantity q;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ck_assert_int_eq(quantity_parse(cases[i].in, &q), 0);
        quantity_format(&q, text);
        ck_assert_str_eq(text, cases[i].out);
    }
}
END_TEST

START_TEST(sums_stay_within_bounds)
{
    struct quantity most, one = quantity_of(1, QUANTITY_BINARY_SI);
    struct quantity zero = quantity_of(0, QUANTITY_DECIMAL_SI);
    char text[QUANTITY_TEXT_SIZE];

    ck_assert_int_eq(quantity_parse("1e29", &most), 0);
    for (int i = 0; i < 10; i++)
        quantity_add(&most, &most);
    ck_assert_int_eq(quantity_sign(&most), 1);
    ck_assert_int_eq(quantity_value(&most), INT64_MAX);
    quantity_format(&most, text);

    quantity_subtract(&zero, &one);
    ck_assert_int_eq(quantity_value(&zero), -1);
    ck_assert_int_eq(quantity_compare(&zero, &one), -1);
    ck_assert_int_eq(zero.format, QUANTITY_BINARY_SI);
}
END_TEST

SUITE("quantity", an_amount_is_read_exactly, a_wrong_amount_is_refused,
      an_amount_is_written_in_its_shortest_form, sums_stay_within_bounds)
