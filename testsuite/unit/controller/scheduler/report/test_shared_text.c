/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/shared_text.h"

#include <check.h>
#include <stdio.h>

#include "testsuite/lib/suite.h"

START_TEST(a_text_of_many_is_held_once_and_as_long_as_one_has_it)
{
    CLEANUP(shared_text_freep) struct shared_text *p = shared_text_new();
    char text[] = "0/3 nodes are available";
    const char *first = shared_text_take(p, text);
    const char *second = shared_text_take(p, "0/3 nodes are available");
    const char *other;

    ck_assert_ptr_eq(second, first);
    text[0] = '1';
    ck_assert_str_eq(first, "0/3 nodes are available");
    other = shared_text_take(p, text);
    ck_assert_ptr_ne(other, first);
    ck_assert_uint_eq(shared_text_count(p), 2);

    shared_text_drop(p, first);
    ck_assert_str_eq(second, "0/3 nodes are available");
    shared_text_drop(p, second);
    shared_text_drop(p, NULL);
    ck_assert_uint_eq(shared_text_count(p), 1);
    shared_text_drop(p, other);
    ck_assert_uint_eq(shared_text_count(p), 0);
}
END_TEST

START_TEST(a_text_dropped_by_all_can_be_shared_again)
{
    CLEANUP(shared_text_freep) struct shared_text *p = shared_text_new();

    for (unsigned i = 0; i < 1000; i++) {
        char text[32];
        const char *taken;

        snprintf(text, sizeof(text), "reason %u", i % 7);
        taken = shared_text_take(p, text);
        ck_assert_str_eq(taken, text);
        shared_text_drop(p, taken);
    }
    ck_assert_uint_eq(shared_text_count(p), 0);
}
END_TEST

SUITE("shared_text", a_text_of_many_is_held_once_and_as_long_as_one_has_it,
      a_text_dropped_by_all_can_be_shared_again)
