/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/random.h"

#include <ctype.h>
#include <string.h>

#include "testsuite/lib/suite.h"

START_TEST(random_bytes_fill_all_that_was_asked_and_no_more)
{
    unsigned char bytes[1026];
    unsigned changed = 0;

    memset(bytes, 0, sizeof(bytes));
    random_bytes(bytes + 1, 1024);

    for (size_t i = 1; i <= 1024; i++)
        changed += bytes[i] != 0;
    ck_assert_uint_gt(changed, 900);
    ck_assert_uint_eq(bytes[0], 0);
    ck_assert_uint_eq(bytes[1025], 0);
}
END_TEST

START_TEST(a_uuid_has_its_form_and_never_comes_twice)
{
    char a[UUID_SIZE];
    char b[UUID_SIZE];

    random_uuid(a);
    random_uuid(b);

    ck_assert_uint_eq(strlen(a), 36);
    for (size_t i = 0; i < 36; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23)
            ck_assert_int_eq(a[i], '-');
        else
            ck_assert(isxdigit((unsigned char)a[i]) && !isupper(a[i]));
    ck_assert_int_eq(a[14], '4');
    ck_assert_ptr_nonnull(strchr("89ab", a[19]));
    ck_assert_str_ne(a, b);
}
END_TEST

/* Values of the reference implementation, seed 1234567. */
START_TEST(the_same_seed_gives_the_published_numbers)
{
    struct random_source source = {.state = 1234567};

    ck_assert_uint_eq(random_next(&source), 6457827717110365317u);
    ck_assert_uint_eq(random_next(&source), 3203168211198807973u);
    ck_assert_uint_eq(random_next(&source), 9817491932198370423u);
}
END_TEST

START_TEST(numbers_below_a_bound_stay_below_and_reach_all)
{
    struct random_source source = {.state = 1};
    unsigned seen[7] = {0};

    for (int i = 0; i < 7000; i++) {
        uint64_t n = random_below(&source, 7);

        ck_assert_uint_lt(n, 7);
        seen[n]++;
    }
    for (int i = 0; i < 7; i++)
        ck_assert_uint_gt(seen[i], 800);
    ck_assert_uint_eq(random_below(&source, 1), 0);
}
END_TEST

SUITE("random", random_bytes_fill_all_that_was_asked_and_no_more,
      a_uuid_has_its_form_and_never_comes_twice, the_same_seed_gives_the_published_numbers,
      numbers_below_a_bound_stay_below_and_reach_all)
