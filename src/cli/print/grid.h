/* SPDX-License-Identifier: Apache-2.0 */
/* grid.h - rows of text under headings, aligned
 *
 * Widths are counted in characters, not bytes. Control characters, which come
 * with job names and messages, are shown as '?'.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct grid;
struct strbuf;

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
void grid_add_row(struct grid *grid, const char *const *cells);
void grid_clear(struct grid *grid);
void grid_sort(struct grid *grid, size_t n_columns);

/* Look */
size_t grid_columns(const struct grid *grid);
size_t grid_rows(const struct grid *grid);

/* Text: headings in capitals, three spaces between columns, nothing behind
 * the last.
 */
void grid_print(struct grid *grid, bool with_headings, struct strbuf *out);
