/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/human.h"

#include <check.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

#define S INT64_C(1000000)

START_TEST(a_duration_is_as_long_as_people_care)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {-3 * S, "<invalid>"},
        {-S, "0s"},
        {0, "0s"},
        {119 * S, "119s"},
        {120 * S, "2m"},
        {185 * S, "3m5s"},
        {600 * S, "10m"},
        {7199 * S, "119m"},
        {3 * 3600 * S, "3h"},
        {(3 * 3600 + 600) * S, "3h10m"},
        {8 * 3600 * S, "8h"},
        {47 * 3600 * S, "47h"},
        {48 * 3600 * S, "2d"},
        {(2 * 24 + 5) * 3600 * S, "2d5h"},
        {30 * 86400 * S, "30d"},
        {(2 * 365 + 30) * 86400 * S, "2y30d"},
        {9 * 365 * 86400 * S, "9y"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[HUMAN_TEXT_SIZE];

        human_duration(cases[i].us, text);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(an_amount_has_one_decimal_at_the_most)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0B"},
        {1023, "1023B"},
        {1024, "1Ki"},
        {1536, "1.5Ki"},
        {INT64_C(64) << 30, "64Gi"},
        {(INT64_C(200) << 30) + (INT64_C(1) << 29), "200Gi"},
        {INT64_MAX, "7.9Ei"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[HUMAN_TEXT_SIZE];

        human_bytes(cases[i].bytes, text);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

SUITE("human", a_duration_is_as_long_as_people_care, an_amount_has_one_decimal_at_the_most)
