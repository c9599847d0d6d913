/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/grid.h"

#include <check.h>

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static struct grid *
grid_of(size_t n_rows, const char *const rows[][2])
{
    struct grid *grid = grid_new(false);

    grid_add_column(grid, "Name");
    grid_add_column(grid, "Status");
    for (size_t i = 0; i < n_rows; i++)
        grid_add_row(grid, rows[i]);
    return grid;
}

START_TEST(columns_are_as_wide_as_their_widest_cell)
{
    static const char *const rows[][2] = {{"a", "Ready"},
                                          {"a-long-name", NULL},
                                          {"b", "x"}};
    CLEANUP(grid_freep) struct grid *grid = grid_of(3, rows);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_print(grid, true, &out);

    ck_assert_str_eq(out.text,
                     "NAME          STATUS\n"
                     "a             Ready\n"
                     "a-long-name\n"
                     "b             x\n");
}
END_TEST

START_TEST(headings_may_be_left_out)
{
    static const char *const rows[][2] = {{"a", "b"}};
    CLEANUP(grid_freep) struct grid *grid = grid_of(1, rows);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_print(grid, false, &out);

    ck_assert_str_eq(out.text, "a      b\n");
}
END_TEST

START_TEST(characters_are_counted_and_not_bytes)
{
    static const char *const rows[][2] = {{"\xc3\xa9\xc3\xa9", "x"},
                                          {"abcdef", "y"}};
    CLEANUP(grid_freep) struct grid *grid = grid_of(2, rows);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_print(grid, false, &out);

    ck_assert_str_eq(out.text, "\xc3\xa9\xc3\xa9       x\nabcdef   y\n");
}
END_TEST

START_TEST(control_characters_do_not_reach_the_terminal)
{
    static const char *const rows[][2] = {{"a\033[31mb", "two\nlines"}};
    CLEANUP(grid_freep) struct grid *grid = grid_of(1, rows);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_print(grid, false, &out);

    ck_assert_str_eq(out.text, "a?[31mb   two lines\n");
}
END_TEST

START_TEST(rows_are_sorted_by_the_numbers_in_their_names)
{
    static const char *const rows[][2] = {{"n10", "c"},
                                          {"n2", "b"},
                                          {"n1", "a"}};
    CLEANUP(grid_freep) struct grid *grid = grid_of(3, rows);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_sort(grid, 1);
    grid_print(grid, false, &out);

    ck_assert_str_eq(out.text, "n1     a\nn2     b\nn10    c\n");
}
END_TEST

START_TEST(rows_that_come_later_keep_the_columns)
{
    static const char *const rows[][2] = {{"a-long-name", "x"}};
    static const char *const more[] = {"b", "y"};
    CLEANUP(grid_freep) struct grid *grid = grid_of(1, rows);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_clear(grid);
    ck_assert_uint_eq(grid_rows(grid), 0);
    grid_add_row(grid, more);
    grid_print(grid, false, &out);

    ck_assert_str_eq(out.text, "b             y\n");
}
END_TEST

SUITE("grid",
      columns_are_as_wide_as_their_widest_cell,
      headings_may_be_left_out,
      characters_are_counted_and_not_bytes,
      control_characters_do_not_reach_the_terminal,
      rows_are_sorted_by_the_numbers_in_their_names,
      rows_that_come_later_keep_the_columns)
