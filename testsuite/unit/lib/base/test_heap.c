/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/heap.h"

#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "testsuite/lib/suite.h"

struct item {
    int key;
    size_t place;
};

static bool
is_less(const void *a, const void *b, void *context)
{
    const struct item *x = a;
    const struct item *y = b;

    (*(int *)context)++;
    return x->key < y->key;
}

static struct heap *
heap_of(struct item *items, size_t count, int *compared)
{
    struct heap *h = heap_new(is_less, compared, offsetof(struct item, place));

    for (size_t i = 0; i < count; i++)
        heap_push(h, &items[i]);
    return h;
}

static void
fill(struct item *items, size_t count)
{
    struct random_source source = {.state = 1};

    for (size_t i = 0; i < count; i++)
        items[i] = (struct item){(int)random_below(&source, 500), HEAP_NOWHERE};
}

static void
check_that_it_drains_in_order(struct heap *h)
{
    struct item *before = heap_pop(h);
    struct item *next;

    while ((next = heap_pop(h)) != NULL) {
        ck_assert_int_le(before->key, next->key);
        ck_assert_uint_eq(next->place, HEAP_NOWHERE);
        before = next;
    }
    ck_assert_uint_eq(heap_count(h), 0);
}

START_TEST(elements_come_out_in_order)
{
    struct item items[1000];
    int compared = 0;
    struct heap *h;

    fill(items, 1000);
    h = heap_of(items, 1000, &compared);

    ck_assert_uint_eq(heap_count(h), 1000);
    check_that_it_drains_in_order(h);
    heap_free(h);
}
END_TEST

START_TEST(removal_from_anywhere_keeps_the_order_and_costs_little)
{
    struct item items[1000];
    int compared = 0;
    struct heap *h;

    fill(items, 1000);
    h = heap_of(items, 1000, &compared);
    compared = 0;
    for (size_t i = 0; i < 1000; i += 3) {
        heap_remove(h, &items[i]);
        ck_assert_uint_eq(items[i].place, HEAP_NOWHERE);
    }

    ck_assert_int_lt(compared, 334 * 2 * 11);
    ck_assert_uint_eq(heap_count(h), 666);
    check_that_it_drains_in_order(h);
    heap_free(h);
}
END_TEST

START_TEST(a_pop_compares_little_more_than_once_a_level)
{
    struct item items[1000];
    int compared = 0;
    struct heap *h;

    fill(items, 1000);
    h = heap_of(items, 1000, &compared);
    compared = 0;
    check_that_it_drains_in_order(h);

    ck_assert_int_lt(compared, 1000 * 13);
    heap_free(h);
}
END_TEST

START_TEST(a_moved_element_finds_its_new_place)
{
    struct item items[100];
    int compared = 0;
    struct heap *h;

    fill(items, 100);
    h = heap_of(items, 100, &compared);
    for (size_t i = 0; i < 100; i += 2) {
        items[i].key = i % 4 == 0 ? items[i].key - 700 : items[i].key + 700;
        heap_moved(h, &items[i]);
    }

    check_that_it_drains_in_order(h);
    heap_free(h);
}
END_TEST

START_TEST(every_element_knows_where_it_is)
{
    struct item items[50];
    int compared = 0;
    struct heap *h;

    fill(items, 50);
    h = heap_of(items, 50, &compared);

    for (size_t i = 0; i < heap_count(h); i++) {
        const struct item *item = heap_at(h, i);

        ck_assert_uint_eq(item->place, i);
    }
    heap_free(h);
}
END_TEST

START_TEST(an_empty_heap_has_no_top)
{
    int compared = 0;
    struct heap *h = heap_of(NULL, 0, &compared);

    ck_assert_ptr_null(heap_top(h));
    ck_assert_ptr_null(heap_pop(h));
    heap_free(h);
    heap_free(NULL);
}
END_TEST

SUITE("heap", elements_come_out_in_order, removal_from_anywhere_keeps_the_order_and_costs_little,
      a_pop_compares_little_more_than_once_a_level, a_moved_element_finds_its_new_place,
      every_element_knows_where_it_is, an_empty_heap_has_no_top)
