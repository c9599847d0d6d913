/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/lineage/revision_ranges.h"

#include <check.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"

static void
expect(const struct revision_ranges *ranges, const char *text)
{
    CLEANUP_FREE char *is = revision_ranges_format(ranges);

    ck_assert_str_eq(is, text);
}

START_TEST(ranges_are_read_sorted_and_written)
{
    struct revision_ranges r;

    revision_ranges_parse(NULL, &r);
    expect(&r, "");
    revision_ranges_parse("50 60;10 20;", &r);
    expect(&r, "10 20;50 60;");
    revision_ranges_add(&r, 30, 31); /* no revision is between them */
    revision_ranges_add(&r, 30, 40);
    expect(&r, "10 20;30 40;50 60;");
}
END_TEST

START_TEST(ranges_that_meet_are_one)
{
    struct revision_ranges r;

    revision_ranges_parse("10 20;30 40;50 60;", &r);
    revision_ranges_add(&r, 15, 35);
    expect(&r, "10 40;50 60;");
    revision_ranges_add(&r, 55, 58);
    expect(&r, "10 40;50 60;");
    revision_ranges_add(&r, 5, 100);
    expect(&r, "5 100;");
    /* Revision 100 is known. */
    revision_ranges_add(&r, 100, 200);
    expect(&r, "5 100;100 200;");
}
END_TEST

START_TEST(the_nearest_of_too_many_become_one)
{
    struct revision_ranges r = {.count = 0};

    for (int i = 0; i < REVISION_RANGES_MOST; i++)
        revision_ranges_add(&r, 1000 * i, 1000 * i + 100);
    ck_assert_uint_eq(r.count, REVISION_RANGES_MOST);
    ck_assert(!revision_ranges_covers(&r, 5500, 5500));
    revision_ranges_add(&r, 5600, 5700);
    ck_assert_uint_eq(r.count, REVISION_RANGES_MOST);
    /* What was lost stays lost. */
    for (int i = 0; i < REVISION_RANGES_MOST; i++)
        ck_assert(revision_ranges_covers(&r, 1000 * i, 1000 * i + 99));
    ck_assert(revision_ranges_covers(&r, 5600, 5699));
    ck_assert(!revision_ranges_covers(&r, 8100, 8500));
}
END_TEST

START_TEST(a_range_covers_only_what_is_within_it)
{
    struct revision_ranges r;

    revision_ranges_parse("10 20;20 30;", &r);
    ck_assert(revision_ranges_covers(&r, 10, 19));
    ck_assert(!revision_ranges_covers(&r, 10, 20));
    ck_assert(!revision_ranges_covers(&r, 9, 15));
}
END_TEST

SUITE("revision_ranges", ranges_are_read_sorted_and_written, ranges_that_meet_are_one,
      the_nearest_of_too_many_become_one, a_range_covers_only_what_is_within_it)
