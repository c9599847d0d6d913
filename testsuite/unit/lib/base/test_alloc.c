/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/alloc.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "testsuite/lib/apart.h"
#include "testsuite/lib/suite.h"

START_TEST(memory_from_xnew_is_zeroed)
{
    int *numbers = xnew_array(int, 100);

    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(numbers[i], 0);
    free(numbers);
}
END_TEST

START_TEST(zero_bytes_are_a_pointer_that_can_be_freed)
{
    void *a = xmalloc(0);
    void *b = xcalloc(0, 8);
    void *c = xmemdup(NULL, 0);

    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    ck_assert_ptr_nonnull(c);
    free(a);
    free(b);
    free(c);
}
END_TEST

static void
ask_for_too_much(UNUSED const void *context)
{
    volatile size_t many = SIZE_MAX / 2;

    free(xrealloc_array(NULL, many, 4));
}

START_TEST(a_size_that_overflows_ends_the_program)
{
    struct apart run;

    apart(&run, ask_for_too_much, NULL);

    ck_assert_int_eq(run.status, -SIGABRT);
    ck_assert_ptr_eq(strstr(run.text, "out of memory"), run.text);
}
END_TEST

START_TEST(strndup_stops_at_the_length_or_the_end)
{
    CLEANUP_FREE char *cut = xstrndup("abcdef", 3);
    CLEANUP_FREE char *whole = xstrndup("ab", 10);

    ck_assert_str_eq(cut, "abc");
    ck_assert_str_eq(whole, "ab");
}
END_TEST

START_TEST(asprintf_makes_a_string_of_any_length)
{
    CLEANUP_FREE char *text = xasprintf("%0*d", 5000, 7);

    ck_assert_uint_eq(strlen(text), 5000);
}
END_TEST

START_TEST(an_array_grows_by_doubling_and_keeps_what_it_held)
{
    int *items = NULL;
    size_t count = 0;
    size_t capacity = 0;

    for (int i = 0; i < 1000; i++) {
        xgrow(items, count, capacity);
        items[count++] = i;
    }

    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(items[i], i);
    ck_assert_uint_eq(capacity, 1024);
    free(items);
}
END_TEST

SUITE("alloc", memory_from_xnew_is_zeroed, zero_bytes_are_a_pointer_that_can_be_freed,
      a_size_that_overflows_ends_the_program, strndup_stops_at_the_length_or_the_end,
      asprintf_makes_a_string_of_any_length, an_array_grows_by_doubling_and_keeps_what_it_held)
