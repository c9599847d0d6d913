/* SPDX-License-Identifier: Apache-2.0 */
/* table_render.h - objects as the rows of a Table, with the columns of their
 * kind
 *
 * The kind has the columns and cells (lib/api/object/table.h); this file
 * chooses them for the client and writes them.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct frame;
struct kind;
struct object;
struct view;

/* The parts of a Table. A row is not closed: its object follows. An empty row
 * has no object.
 */
void table_render_columns(struct frame *out, const struct view *view, const struct kind *kind,
                          bool are_wanted);
void table_render_row(struct frame *out, const struct view *view, const struct object *object);
void table_render_empty_row(struct frame *out, const struct view *view, const struct kind *kind);
