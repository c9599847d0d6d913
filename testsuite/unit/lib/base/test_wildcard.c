/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/wildcard.h"

#include <check.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(stars_and_question_marks_match)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "anything", true},
        {"sweep*", "sweep-17", true},
        {"sweep*", "my-sweep", false},
        {"*sweep", "my-sweep", true},
        {"a*b*c", "a-b-b-c", true},
        {"a*b*c", "a-c-b", false},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"a?c",
         "a\xc3\xa9"
         "c",
         true}, /* one character of two bytes */
        {"[ab]", "a", false},
        {"[ab]", "[ab]", true},
        {"a", "A", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_int_eq(wildcard_matches(cases[i].pattern, cases[i].text), cases[i].matches);
}
END_TEST

START_TEST(no_pattern_takes_long)
{
    char pattern[129], text[254];
    const int64_t begin_us = clock_monotonic_us(&clock_system);

    for (size_t i = 0; i < 128; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[127] = 'b';
    pattern[128] = '\0';
    memset(text, 'a', 253);
    text[253] = '\0';
    for (unsigned i = 0; i < 100; i++)
        ck_assert(!wildcard_matches(pattern, text));

    ck_assert_int_lt(clock_monotonic_us(&clock_system) - begin_us, 2000000);
}
END_TEST

SUITE("wildcard", stars_and_question_marks_match, no_pattern_takes_long)
