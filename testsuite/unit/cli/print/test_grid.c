/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/grid.h"

#include <check.h>
#include <string.h>

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
    static const char *const rows[][2] = {{"a", "Ready"}, {"a-long-name", NULL}, {"b", "x"}};
    CLEANUP(grid_freep) struct grid *grid = grid_of(3, rows);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_print(grid, true, &out);

    ck_assert_str_eq(out.text, "NAME          STATUS\n"
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
    static const char *const rows[][2] = {{"\xc3\xa9\xc3\xa9", "x"}, {"abcdef", "y"}};
    CLEANUP(grid_freep) struct grid *grid = grid_of(2, rows);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_print(grid, false, &out);

    ck_assert_str_eq(out.text, "\xc3\xa9\xc3\xa9       x\nabcdef   y\n");
}
END_TEST

START_TEST(wide_and_combining_characters_are_counted_in_columns)
{
    static const char *const rows[][2] = {
        {"\xe6\xbc\xa2\xe5\xad\x97", "x"}, /* two Chinese characters */
        {"e\xcc\x81"
         "abc",
         "y"},                       /* a combining accent */
        {"\xf0\x9f\x98\x80..", "z"}, /* an emoji */
    };
    CLEANUP(grid_freep) struct grid *grid = grid_of(3, rows);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_print(grid, false, &out);

    ck_assert_str_eq(out.text, "\xe6\xbc\xa2\xe5\xad\x97   x\n"
                               "e\xcc\x81"
                               "abc   y\n"
                               "\xf0\x9f\x98\x80..   z\n");
}
END_TEST

/* ID is right-aligned, NAME and WHY may be cut, USER and CPUS may be omitted.
 */
static struct grid *
grid_of_jobs(unsigned width)
{
    static const struct grid_column columns[] = {
        {.name = "Id", .is_right = true}, {.name = "Name", .least = 4},
        {.name = "User", .weight = 1},    {.name = "CPUs", .is_right = true, .weight = 2},
        {.name = "Why", .least = 6},
    };
    static const char *const rows[][5] = {
        {"7", "a-very-long-name", "alice", "1", "waits for two CPUs on n1"},
        {"1042", "b", "bob", "128", ""},
    };
    struct grid *grid = grid_new(false);

    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        grid_add_styled(grid, &columns[i]);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        grid_add_row(grid, rows[i]);
    grid_set_gap(grid, 2);
    grid_set_width(grid, width);
    return grid;
}

START_TEST(numbers_stand_at_the_right)
{
    CLEANUP(grid_freep) struct grid *grid = grid_of_jobs(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_print(grid, true, &out);

    ck_assert_str_eq(out.text, "  ID  NAME              USER   CPUS  WHY\n"
                               "   7  a-very-long-name  alice     1  waits for two CPUs on n1\n"
                               "1042  b                 bob     128\n");
}
END_TEST

START_TEST(the_widest_columns_are_cut_first)
{
    CLEANUP(grid_freep) struct grid *grid = grid_of_jobs(48);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_print(grid, true, &out);

    ck_assert_str_eq(out.text, "  ID  NAME            USER   CPUS  WHY\n"
                               "   7  a-very-long-n+  alice     1  waits for tw+\n"
                               "1042  b               bob     128\n");
}
END_TEST

START_TEST(light_columns_are_left_out_when_cutting_is_not_enough)
{
    CLEANUP(grid_freep) struct grid *grid = grid_of_jobs(26);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_print(grid, true, &out);

    ck_assert_str_eq(out.text, "  ID  NAME    CPUS  WHY\n"
                               "   7  a-ver+     1  waits+\n"
                               "1042  b        128\n");
}
END_TEST

static size_t
longest_line(const char *text)
{
    size_t longest = 0;

    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");

        longest = length > longest ? length : longest;
        text += length + 1;
    }
    return longest;
}

START_TEST(no_line_is_wider_than_the_narrowest_terminal)
{
    for (unsigned width = 1; width < 60; width++) {
        CLEANUP(grid_freep) struct grid *grid = grid_of_jobs(width);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        grid_print(grid, true, &out);

        ck_assert_uint_le(longest_line(out.text), width);
        ck_assert_uint_ge(longest_line(out.text), width < 4 ? width : 4);
    }
}
END_TEST

START_TEST(spare_columns_go_before_anything_is_cut)
{
    static const char *const row[] = {"alice", "waits for two CPUs"};
    CLEANUP(grid_freep) struct grid *grid = grid_new(false);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_add_styled(grid, &(struct grid_column){.name = "User", .is_spare = true});
    grid_add_styled(grid, &(struct grid_column){.name = "Why", .least = 4});
    grid_add_row(grid, row);
    grid_set_width(grid, 20);
    grid_print(grid, true, &out);

    ck_assert_str_eq(out.text, "WHY\nwaits for two CPUs\n");
}
END_TEST

START_TEST(columns_without_text_go_before_anything_is_cut)
{
    static const char *const row[] = {"waits for two", "", "CPUs"};
    static const char *const late[] = {"later", "gpu", "n1"};
    CLEANUP(grid_freep) struct grid *grid = grid_new(false);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_add_column(grid, "Why");
    grid_add_column(grid, "Partition");
    grid_add_column(grid, "What");
    grid_add_row(grid, row);
    grid_set_gap(grid, 1);
    grid_set_width(grid, 20);
    grid_print(grid, true, &out);
    grid_clear(grid);
    grid_add_row(grid, late);
    grid_print(grid, false, &out);

    ck_assert_str_eq(out.text, "WHY           WHAT\n"
                               "waits for two CPUs\n"
                               "later         n1\n");
}
END_TEST

START_TEST(columns_move_together_before_one_is_left_out)
{
    CLEANUP(grid_freep) struct grid *grid = grid_of_jobs(27);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_print(grid, true, &out);

    ck_assert_str_eq(out.text, "  ID NAME USER  CPUS WHY\n"
                               "   7 a-v+ alice    1 waits+\n"
                               "1042 b    bob    128\n");
}
END_TEST

START_TEST(all_text_is_cut_before_a_column_is_lost)
{
    static const char *const row[] = {"a-long-partition", "2026-01-31 08:00:00", "10-00:00:00",
                                      "4"};
    CLEANUP(grid_freep) struct grid *grid = grid_new(false);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_add_column(grid, "Name");
    grid_add_column(grid, "Start");
    grid_add_styled(grid, &(struct grid_column){.name = "Limit", .is_right = true});
    grid_add_styled(grid, &(struct grid_column){.name = "Nodes", .is_right = true});
    grid_add_row(grid, row);
    grid_set_width(grid, 40);
    grid_print(grid, true, &out);

    ck_assert_str_eq(out.text, "NAME        START            LIMIT NODES\n"
                               "a-long-par+ 2026-01-3+ 10-00:00:00     4\n");
}
END_TEST

START_TEST(a_character_of_two_columns_is_not_cut_in_the_middle)
{
    static const struct grid_column column = {.name = "A", .least = 1};
    static const char *const row[] = {"\xe6\xbc\xa2\xe5\xad\x97\xe5\xad\x97"};
    CLEANUP(grid_freep) struct grid *grid = grid_new(false);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_add_styled(grid, &column);
    grid_add_row(grid, row);
    grid_set_width(grid, 4);
    grid_print(grid, false, &out);

    ck_assert_str_eq(out.text, "\xe6\xbc\xa2+\n");
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
    static const char *const rows[][2] = {{"n10", "c"}, {"n2", "b"}, {"n1", "a"}};
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

SUITE("grid", columns_are_as_wide_as_their_widest_cell, headings_may_be_left_out,
      characters_are_counted_and_not_bytes, wide_and_combining_characters_are_counted_in_columns,
      numbers_stand_at_the_right, the_widest_columns_are_cut_first,
      light_columns_are_left_out_when_cutting_is_not_enough,
      no_line_is_wider_than_the_narrowest_terminal, spare_columns_go_before_anything_is_cut,
      columns_without_text_go_before_anything_is_cut, columns_move_together_before_one_is_left_out,
      all_text_is_cut_before_a_column_is_lost, a_character_of_two_columns_is_not_cut_in_the_middle,
      control_characters_do_not_reach_the_terminal, rows_are_sorted_by_the_numbers_in_their_names,
      rows_that_come_later_keep_the_columns)
