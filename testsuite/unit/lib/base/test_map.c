/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/map.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "testsuite/lib/suite.h"

/* A value that is compared and never dereferenced. */
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

START_TEST(a_map_that_churns_stays_right)
{
    struct map *m = map_new();
    char key[32];

    for (uintptr_t i = 1; i <= 20000; i++) {
        snprintf(key, sizeof(key), "key-%zu", (size_t)i);
        map_put(m, key, number(i));
        if (i > 10) {
            snprintf(key, sizeof(key), "key-%zu", (size_t)i - 10);
            ck_assert_ptr_eq(map_remove(m, key), number(i - 10));
        }
    }

    ck_assert_uint_eq(map_count(m), 10);
    for (uintptr_t i = 19991; i <= 20000; i++) {
        snprintf(key, sizeof(key), "key-%zu", (size_t)i);
        ck_assert_ptr_eq(map_find(m, key), number(i));
    }
    map_free(m);
}
END_TEST

START_TEST(iteration_meets_every_key_once_and_may_remove_it)
{
    struct map *m = map_new();
    bool met[101] = {false};
    const char *key;
    char name[16];
    void *value;
    size_t at = 0;

    for (uintptr_t i = 1; i <= 100; i++) {
        snprintf(name, sizeof(name), "%zu", (size_t)i);
        map_put(m, name, number(i));
    }
    while (map_next(m, &at, &key, &value)) {
        ck_assert_uint_eq(strtoul(key, NULL, 10), (uintptr_t)value);
        ck_assert(!met[(uintptr_t)value]);
        met[(uintptr_t)value] = true;
        map_remove(m, key);
    }

    for (int i = 1; i <= 100; i++)
        ck_assert(met[i]);
    ck_assert_uint_eq(map_count(m), 0);
    map_free(m);
}
END_TEST

START_TEST(an_empty_map_answers_and_a_cleared_one_is_empty)
{
    struct map *m = map_new();
    void *value;
    size_t at = 0;
    int a;

    ck_assert_ptr_null(map_find(m, "x"));
    ck_assert_ptr_null(map_remove(m, "x"));
    ck_assert(!map_next(m, &at, NULL, &value));
    map_put(m, "", &a);
    ck_assert_ptr_eq(map_find(m, ""), &a);
    map_clear(m);
    ck_assert_ptr_null(map_find(m, ""));
    ck_assert_uint_eq(map_count(m), 0);
    map_put(m, "x", &a);
    ck_assert_uint_eq(map_count(m), 1);
    map_free(m);
    map_free(NULL);
}
END_TEST

START_TEST(keys_are_copied)
{
    struct map *m = map_new();
    char key[] = "abc";
    int a;

    map_put(m, key, &a);
    key[0] = 'x';

    ck_assert_ptr_eq(map_find(m, "abc"), &a);
    ck_assert_ptr_null(map_find(m, "xbc"));
    map_free(m);
}
END_TEST

SUITE("map", a_removed_key_is_gone_and_the_others_stay, putting_a_key_again_returns_the_old_value,
      a_map_that_churns_stays_right, iteration_meets_every_key_once_and_may_remove_it,
      an_empty_map_answers_and_a_cleared_one_is_empty, keys_are_copied)
