/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/item_map.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"

#define ITEMS 1000u

struct item {
    char key[16];
};

static const char *
key_of(const void *item)
{
    return ((const struct item *)item)->key;
}

static struct item *
some_items(void)
{
    struct item *items = xnew_array(struct item, ITEMS);

    for (unsigned i = 0; i < ITEMS; i++)
        snprintf(items[i].key, sizeof(items[i].key), "k%u", i);
    return items;
}

START_TEST(a_removed_item_is_gone_and_the_others_stay)
{
    CLEANUP(item_map_freep) struct item_map *m = item_map_new(key_of);
    CLEANUP_FREE struct item *items = some_items();

    for (unsigned i = 0; i < ITEMS; i++)
        ck_assert_ptr_null(item_map_put(m, &items[i]));
    for (unsigned i = 0; i < ITEMS; i += 2)
        ck_assert_ptr_eq(item_map_remove(m, items[i].key), &items[i]);

    ck_assert_uint_eq(item_map_count(m), ITEMS / 2);
    for (unsigned i = 0; i < ITEMS; i++)
        ck_assert_ptr_eq(item_map_find(m, items[i].key), i % 2 == 0 ? NULL : &items[i]);
    ck_assert_ptr_null(item_map_remove(m, "k0"));
    ck_assert_ptr_null(item_map_find(m, "another"));
}
END_TEST

START_TEST(an_item_takes_the_place_of_another_with_its_key)
{
    CLEANUP(item_map_freep) struct item_map *m = item_map_new(key_of);
    struct item a = {"x"}, b = {"x"};

    ck_assert_ptr_null(item_map_find(m, "x"));
    ck_assert_ptr_null(item_map_put(m, &a));
    ck_assert_ptr_eq(item_map_put(m, &b), &a);

    ck_assert_uint_eq(item_map_count(m), 1);
    ck_assert_ptr_eq(item_map_find(m, "x"), &b);
}
END_TEST

START_TEST(a_map_that_churns_finds_what_is_there)
{
    CLEANUP(item_map_freep) struct item_map *m = item_map_new(key_of);
    CLEANUP_FREE struct item *items = some_items();

    for (unsigned i = 0; i < 50 * ITEMS; i++) {
        ck_assert_ptr_null(item_map_put(m, &items[i % ITEMS]));
        if (i >= 10)
            ck_assert_ptr_nonnull(item_map_remove(m, items[(i - 10) % ITEMS].key));
    }

    ck_assert_uint_eq(item_map_count(m), 10);
    ck_assert_ptr_eq(item_map_find(m, items[ITEMS - 1].key), &items[ITEMS - 1]);
}
END_TEST

START_TEST(a_walk_meets_each_item_once_though_they_are_removed)
{
    CLEANUP(item_map_freep) struct item_map *m = item_map_new(key_of);
    CLEANUP_FREE struct item *items = some_items();
    CLEANUP_FREE bool *is_met = xnew_array(bool, ITEMS);
    unsigned n_met = 0;
    size_t at = 0;
    void *item;

    for (unsigned i = 0; i < ITEMS; i++)
        item_map_put(m, &items[i]);
    while (item_map_next(m, &at, &item)) {
        const ptrdiff_t i = (struct item *)item - items;

        ck_assert(!is_met[i]);
        is_met[i] = true;
        n_met++;
        ck_assert_ptr_eq(item_map_remove(m, key_of(item)), item);
    }

    ck_assert_uint_eq(n_met, ITEMS);
    ck_assert_uint_eq(item_map_count(m), 0);
}
END_TEST

SUITE("item_map", a_removed_item_is_gone_and_the_others_stay,
      an_item_takes_the_place_of_another_with_its_key, a_map_that_churns_finds_what_is_there,
      a_walk_meets_each_item_once_though_they_are_removed)
