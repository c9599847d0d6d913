/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/error.h"

#include <errno.h>
#include <string.h>

#include "testsuite/lib/suite.h"

START_TEST(an_error_has_its_code_and_its_words)
{
    struct error err = {0};

    ck_assert_int_eq(error_set(&err, -ENOENT, "job '%s' not found", "j1"), -ENOENT);

    ck_assert_int_eq(err.code, -ENOENT);
    ck_assert_str_eq(err.text, "job 'j1' not found");
}
END_TEST

START_TEST(wrapping_puts_words_in_front)
{
    struct error err = {0};

    error_set(&err, -ENOSPC, "disk full");
    ck_assert_int_eq(error_wrap(&err, -EIO, "writing '%s'", "x"), -EIO);

    ck_assert_int_eq(err.code, -EIO);
    ck_assert_str_eq(err.text, "writing 'x': disk full");
}
END_TEST

START_TEST(wrapping_nothing_adds_the_text_of_the_errno)
{
    struct error err = {0};

    error_wrap(&err, -ENOSPC, "writing 'x'");

    ck_assert_str_eq(err.text, "writing 'x': No space left on device");
}
END_TEST

START_TEST(nobody_has_to_listen)
{
    ck_assert_int_eq(error_set(NULL, -EINVAL, "words"), -EINVAL);
    ck_assert_int_eq(error_wrap(NULL, -EINVAL, "words"), -EINVAL);
}
END_TEST

START_TEST(words_without_end_are_cut_and_terminated)
{
    struct error err = {0};

    error_set(&err, -EINVAL, "%0*d", 5000, 1);
    error_wrap(&err, -EINVAL, "%0*d", 5000, 2);

    ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
}
END_TEST

START_TEST(an_error_may_quote_its_own_words)
{
    struct error err = {0};

    error_set(&err, -EINVAL, "inner");
    error_set(&err, -EINVAL, "outer (%s)", err.text);

    ck_assert_str_eq(err.text, "outer (inner)");
}
END_TEST

SUITE("error", an_error_has_its_code_and_its_words, wrapping_puts_words_in_front,
      wrapping_nothing_adds_the_text_of_the_errno, nobody_has_to_listen,
      words_without_end_are_cut_and_terminated, an_error_may_quote_its_own_words)
