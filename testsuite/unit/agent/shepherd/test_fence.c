/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/fence.h"

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#define SECOND INT64_C(1000000)

START_TEST(a_fence_that_was_not_asked_for_never_comes)
{
    struct fence f = {.path = "/nonexistent", .began_us = 1};

    ck_assert_int_eq(fence_wait_ms(&f), -1);
}
END_TEST

START_TEST(a_fence_comes_so_long_after_the_last_contact)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/heard", dir);
    int64_t now = clock_boottime_us();
    struct fence f = {.path = path, .after_us = 60 * SECOND, .began_us = now};
    struct error err = {0};

    ck_assert_int_eq(fence_note(path, now - 61 * SECOND, &err), 0);
    ck_assert_int_eq(fence_wait_ms(&f), 0);

    ck_assert_int_eq(fence_note(path, now - 30 * SECOND, &err), 0);
    ck_assert_int_eq(fence_wait_ms(&f), 1000);
}
END_TEST

START_TEST(without_a_word_it_counts_from_the_begin)
{
    int64_t now = clock_boottime_us();
    struct fence fresh = {.path = "/nonexistent", .after_us = 60 * SECOND, .began_us = now};
    struct fence old = fresh;

    old.began_us -= 61 * SECOND;

    ck_assert_int_gt(fence_wait_ms(&fresh), 0);
    ck_assert_int_eq(fence_wait_ms(&old), 0);
}
END_TEST

START_TEST(a_note_that_cannot_be_written_is_said)
{
    struct error err = {0};

    ck_assert_int_lt(fence_note("/nonexistent/heard", 1, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/heard"));
}
END_TEST

SUITE("fence", a_fence_that_was_not_asked_for_never_comes,
      a_fence_comes_so_long_after_the_last_contact, without_a_word_it_counts_from_the_begin,
      a_note_that_cannot_be_written_is_said)
