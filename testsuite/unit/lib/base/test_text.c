/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/text.h"

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
        ck_assert_int_eq(text_matches(cases[i].pattern, cases[i].text), cases[i].matches);
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
        ck_assert(!text_matches(pattern, text));

    ck_assert_int_lt(clock_monotonic_us(&clock_system) - begin_us, 2000000);
}
END_TEST

START_TEST(an_absent_text_is_no_word_and_not_set)
{
    ck_assert(text_is_set("a"));
    ck_assert(!text_is_set(""));
    ck_assert(!text_is_set(NULL));
    ck_assert(text_is("a", "a"));
    ck_assert(!text_is("a", "b"));
    ck_assert(!text_is(NULL, "a"));
    ck_assert(!text_is(NULL, ""));
    ck_assert_str_eq(text_or_empty("a"), "a");
    ck_assert_str_eq(text_or_empty(NULL), "");
}
END_TEST

START_TEST(an_absent_text_equals_the_empty_one_loosely_only)
{
    ck_assert(text_equals(NULL, NULL));
    ck_assert(!text_equals(NULL, ""));
    ck_assert(!text_equals("", NULL));
    ck_assert(text_equals("a", (const char[]){'a', 0}));
    ck_assert(!text_equals("a", "b"));
    ck_assert(text_equals_loosely(NULL, NULL));
    ck_assert(text_equals_loosely(NULL, ""));
    ck_assert(text_equals_loosely("", NULL));
    ck_assert(!text_equals_loosely(NULL, "a"));
    ck_assert(!text_equals_loosely("a", "b"));
}
END_TEST

SUITE("text", stars_and_question_marks_match, no_pattern_takes_long,
      an_absent_text_is_no_word_and_not_set, an_absent_text_equals_the_empty_one_loosely_only)
