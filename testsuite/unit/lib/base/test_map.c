/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/map.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>

#include "testsuite/lib/suite.h"

/* A value that is told apart and never looked into. */
static void *
number(uintptr_t n)
{
    return (void *)n;
}

START_TEST(a_removed_key_is_gone_and_the_others_stay)
{
    struct map *m = map_new();
    char key[16];

    for (size_t i = 1; i <= 1000; i++) {
        snprintf(key, sizeof(key), "k%zu", i);
        ck_assert_ptr_null(map_put(m, key, number(i)));
    }
    for (size_t i = 1; i <= 1000; i += 2) {
        snprintf(key, sizeof(key), "k%zu", i);
        ck_assert_ptr_eq(map_remove(m, key), number(i));
    }

    ck_assert_uint_eq(map_count(m), 500);
    ck_assert_ptr_null(map_find(m, "k1"));
    ck_assert_ptr_eq(map_find(m, "k2"), number(2));
    map_free(m);
}
END_TEST

START_TEST(putting_a_key_again_returns_the_old_value)
{
    struct map *m = map_new();
    int a, b;

    ck_assert_ptr_null(map_put(m, "x", &a));
    ck_assert_ptr_eq(map_put(m, "x", &b), &a);

    ck_assert_uint_eq(map_count(m), 1);
    ck_assert_ptr_eq(map_find(m, "x"), &b);
    map_free(m);
}
END_TEST

SUITE("map",
      a_removed_key_is_gone_and_the_others_stay,
      putting_a_key_again_returns_the_old_value)
