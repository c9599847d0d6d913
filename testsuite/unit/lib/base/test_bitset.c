/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/bitset.h"

#include "testsuite/lib/suite.h"

/* Members at the ends of words, so that every boundary is crossed. */
static struct bitset
set_of(const unsigned *bits, size_t count)
{
    struct bitset s = {0};

    for (size_t i = 0; i < count; i++)
        bitset_add(&s, bits[i]);
    return s;
}

#define SET(...) \
    set_of((const unsigned[]){__VA_ARGS__}, sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

START_TEST(a_set_has_what_was_added_and_not_removed)
{
    struct bitset s = SET(0, 63, 64, 1023);

    bitset_remove(&s, 63);
    bitset_remove(&s, 5);

    ck_assert(bitset_has(&s, 0));
    ck_assert(!bitset_has(&s, 63));
    ck_assert(bitset_has(&s, 64));
    ck_assert(bitset_has(&s, 1023));
    ck_assert_uint_eq(bitset_count(&s), 3);
}
END_TEST

START_TEST(a_number_beyond_the_size_is_never_a_member)
{
    struct bitset s = SET(0);

    ck_assert(!bitset_has(&s, BITSET_BITS));
    ck_assert(!bitset_has(&s, 4000000000u));
}
END_TEST

START_TEST(members_are_visited_in_order)
{
    static const unsigned members[] = {0, 1, 63, 64, 127, 500, 1023};
    struct bitset s = set_of(members, 7);
    size_t at = 0;

    bitset_foreach(bit, &s) ck_assert_uint_eq(bit, members[at++]);

    ck_assert_uint_eq(at, 7);
}
END_TEST

START_TEST(next_beyond_the_last_member_is_the_size)
{
    struct bitset s = SET(10);

    ck_assert_uint_eq(bitset_next(&s, 10), 10);
    ck_assert_uint_eq(bitset_next(&s, 11), BITSET_BITS);
    ck_assert_uint_eq(bitset_next(&s, BITSET_BITS), BITSET_BITS);
    ck_assert_uint_eq(bitset_next(&s, BITSET_BITS + 7), BITSET_BITS);
}
END_TEST

START_TEST(sets_join_meet_and_differ)
{
    struct bitset a = SET(1, 2, 100);
    struct bitset b = SET(2, 100, 900);
    struct bitset joined = a;
    struct bitset met = a;
    struct bitset left = a;
    struct bitset all = SET(1, 2, 100, 900);
    struct bitset both = SET(2, 100);
    struct bitset only_a = SET(1);

    bitset_or(&joined, &b);
    bitset_and(&met, &b);
    bitset_and_not(&left, &b);

    ck_assert(bitset_equals(&joined, &all));
    ck_assert(bitset_equals(&met, &both));
    ck_assert(bitset_equals(&left, &only_a));
    ck_assert_uint_eq(bitset_count_and(&a, &b), 2);
}
END_TEST

START_TEST(sets_know_what_they_contain)
{
    struct bitset all = SET(1, 2, 3, 700);
    struct bitset some = SET(2, 700);
    struct bitset other = SET(4, 701);
    struct bitset none = {0};

    ck_assert(bitset_contains(&all, &some));
    ck_assert(!bitset_contains(&some, &all));
    ck_assert(bitset_contains(&none, &none));
    ck_assert(bitset_intersects(&all, &some));
    ck_assert(!bitset_intersects(&all, &other));
    ck_assert(bitset_is_empty(&none));
    ck_assert(!bitset_is_empty(&other));
    ck_assert(!bitset_equals(&some, &other));
}
END_TEST

SUITE("bitset", a_set_has_what_was_added_and_not_removed,
      a_number_beyond_the_size_is_never_a_member, members_are_visited_in_order,
      next_beyond_the_last_member_is_the_size, sets_join_meet_and_differ,
      sets_know_what_they_contain)
