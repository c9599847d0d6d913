/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/memory/row_index.h"

#include <check.h>
#include <stdbool.h>
#include <string.h>

#include "controller/store/memory/object_index.h"
#include "testsuite/lib/suite.h"

START_TEST(a_row_is_found_until_it_is_removed)
{
    struct row_index *x = row_index_new();
    struct entry a = {0}, b = {0};

    row_index_add(x, 7, &a);
    row_index_add(x, INT64_C(1) << 40, &b);
    ck_assert_ptr_eq(row_index_find(x, 7), &a);
    ck_assert_ptr_eq(row_index_find(x, INT64_C(1) << 40), &b);
    ck_assert_ptr_null(row_index_find(x, 8));
    ck_assert_ptr_eq(row_index_remove(x, 7), &a);
    ck_assert_ptr_null(row_index_remove(x, 7));
    ck_assert_ptr_null(row_index_find(x, 7));
    ck_assert_uint_eq(row_index_count(x), 1);
    row_index_free(x);
}
END_TEST

#define ROWS 5000

/* Beside an array that says which rows are there. */
START_TEST(rows_come_and_go_without_being_mixed_up)
{
    static struct entry entries[ROWS];
    static bool is_there[ROWS];
    struct row_index *x = row_index_new();
    unsigned seed = 1;
    size_t count = 0;

    for (int i = 0; i < 100000; i++) {
        size_t k = (seed = seed * 1103515245 + 12345) >> 8;

        k %= ROWS;
        if (is_there[k])
            ck_assert_ptr_eq(row_index_remove(x, (int64_t)k + 1), &entries[k]);
        else
            row_index_add(x, (int64_t)k + 1, &entries[k]);
        is_there[k] = !is_there[k];
        count = is_there[k] ? count + 1 : count - 1;
    }
    for (size_t k = 0; k < ROWS; k++)
        ck_assert_ptr_eq(row_index_find(x, (int64_t)k + 1), is_there[k] ? &entries[k] : NULL);
    ck_assert_uint_eq(row_index_count(x), count);
    row_index_free(x);
}
END_TEST

SUITE("row_index", a_row_is_found_until_it_is_removed, rows_come_and_go_without_being_mixed_up)
