/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/text_width.h"

#include <check.h>
#include <locale.h>
#include <stdlib.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

static const struct {
    const char *text;
    size_t width;
} cases[] = {
    {"", 0},
    {"abc", 3},
    {"caf\xc3\xa9", 4},                      /* Latin */
    {"cafe\xcc\x81", 4},                     /* with a combining accent */
    {"\xe6\xbc\xa2\xe5\xad\x97", 4},         /* Chinese */
    {"\xed\x95\x9c\xea\xb8\x80", 4},         /* Korean */
    {"\xef\xbc\xa1", 2},                     /* a full-width A */
    {"\xf0\x9f\x98\x80", 2},                 /* an emoji */
    {"\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa", 2}, /* a flag of two letters */
    {"\xff\xfe", 2},                         /* no UTF-8 */
    {"\xe6\xbc", 2},                         /* cut off */
    {"\xc0\x80", 2},                         /* overlong */
    {"\xed\xa0\x80", 3},                     /* a surrogate */
};

START_TEST(texts_have_the_width_that_a_terminal_gives_them)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_uint_eq(text_width(cases[i].text), cases[i].width);
}
END_TEST

START_TEST(the_locale_of_the_user_changes_no_width)
{
    setenv("LC_ALL", "C", 1);
    ck_assert_ptr_nonnull(setlocale(LC_ALL, ""));

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_uint_eq(text_width(cases[i].text), cases[i].width);
    ck_assert_str_eq(setlocale(LC_ALL, NULL), "C");
}
END_TEST

START_TEST(a_cut_keeps_characters_and_their_accents_whole)
{
    ck_assert_uint_eq(text_width_cut("abc", 2), 2);
    ck_assert_uint_eq(text_width_cut("abc", 9), 3);
    ck_assert_uint_eq(text_width_cut("e\xcc\x81x", 1), 3);
    ck_assert_uint_eq(text_width_cut("\xe6\xbc\xa2\xe5\xad\x97", 3), 3);
    ck_assert_uint_eq(text_width_cut("\xe6\xbc\xa2", 1), 0);
    ck_assert_uint_eq(text_width_cut("abc", 0), 0);
}
END_TEST

SUITE("text_width", texts_have_the_width_that_a_terminal_gives_them,
      the_locale_of_the_user_changes_no_width, a_cut_keeps_characters_and_their_accents_whole)
