/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h - rows of text under headings, aligned, fit for a terminal
 *
 * Widths are counted in columns of the terminal, not in bytes or characters.
 * Control characters, which come with job names and messages, are shown as '?'.
 * A grid that is wider than the terminal has first columns without any text left
 * out, then what may be cut cut ('+' stands for the rest), then columns left out
 * that others matter more than, and at last its lines cut.
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
    unsigned least;  /* the width that it may be cut to; 0: never cut */
    unsigned weight; /* 0: never left out; else the lightest goes first */
    bool is_spare;   /* says little: left out before anything is cut */
};

/* Life. A column named Status, State, Phase, Type or Ready may be coloured. */
void grid_free(struct grid *grid);
struct grid *grid_new(bool has_colours) OWNED_BY(grid_free);
DEFINE_CLEANUP(struct grid, grid_free)

/* Change. Columns come before rows; a row is as many cells as there are
 * columns, copied, NULL for "". Clear forgets the rows and keeps the columns
 * and how wide they have been. Sort: by the first columns, numbers in them by
 * value, so that n2 comes before n10.
 */
void grid_add_column(struct grid *grid, const char *name);
void grid_add_styled(struct grid *grid, const struct grid_column *column);
void grid_add_row(struct grid *grid, const char *const *cells);
void grid_clear(struct grid *grid);
void grid_sort(struct grid *grid, size_t n_columns);

/* Look */
size_t grid_columns(const struct grid *grid);
size_t grid_rows(const struct grid *grid);

/* Text: headings in capitals, spaces between columns (three, unless set),
 * nothing behind the last. Width: of the terminal, 0 for as wide as need be,
 * which is so unless it is set.
 */
void grid_set_gap(struct grid *grid, unsigned gap);
void grid_set_width(struct grid *grid, unsigned width);
void grid_print(struct grid *grid, bool with_headings, struct strbuf *out);
