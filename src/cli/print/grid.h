/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h - a table: rows of text under headings, aligned, fitted to a terminal
 *
 * Widths are counted in columns of the terminal, not in bytes or characters.
 * Control characters, which occur in job names and messages, are printed as
 * '?'. If a grid is wider than the terminal, columns that are empty or spare
 * are left out first, then columns are cut as far as they may be ('+' replaces
 * the rest) and move closer together, then columns of the least weight are left
 * out, then all columns of text are cut, and at last its lines are cut.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct grid;
struct strbuf;

struct grid_column {
    const char *name;
    bool is_right;   /* numbers */
    unsigned least;  /* the least width to which it may be cut; 0: never cut */
    unsigned weight; /* 0: never left out; otherwise the least weight is
                      * first */
    bool is_spare;   /* of little use: left out before anything is cut */
};

/* Life. A column named Status, State, Phase, Type or Ready may be coloured. */
void grid_free(struct grid *grid);
struct grid *grid_new(bool has_colours) OWNED_BY(grid_free);
DEFINE_CLEANUP(struct grid, grid_free)

/* Add columns before rows. A row has as many cells as there are
 * columns; cells are copied, NULL is "". Clear removes the rows and keeps the
 * columns with their greatest widths. Sort: by the first columns; numbers in
 * them are compared by value, so that n2 comes before n10.
 */
void grid_add_column(struct grid *grid, const char *name);
void grid_add_styled(struct grid *grid, const struct grid_column *column);
void grid_add_row(struct grid *grid, const char *const *cells);
void grid_clear(struct grid *grid);
void grid_sort(struct grid *grid, size_t n_columns);

size_t grid_columns(const struct grid *grid);
size_t grid_rows(const struct grid *grid);

/* Sets the number of spaces between columns; three is the default. */
void grid_set_gap(struct grid *grid, unsigned gap);

/* Sets the width of the terminal; 0, the default, is unlimited. */
void grid_set_width(struct grid *grid, unsigned width);

/* Prints headings in upper case and rows, without trailing spaces. */
void grid_print(struct grid *grid, bool with_headings, struct strbuf *out);
