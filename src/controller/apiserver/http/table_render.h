/* SPDX-License-Identifier: Apache-2.0 */
/* table_render.h - objects as the rows of a Table, by their kind's columns
 *
 * The columns and cells are the kind's (lib/api/object/table.h): here they are
 * chosen for the client and written.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct frame;
struct kind;
struct object;
struct view;

/* The parts of a Table. A row is left open: its object follows. An empty row
 * is one of no object.
 */
void table_render_columns(struct frame *out,
                          const struct view *view,
                          const struct kind *kind,
                          bool are_wanted);
void table_render_row(struct frame *out,
                      const struct view *view,
                      const struct object *object);
void table_render_empty_row(struct frame *out,
                            const struct view *view,
                            const struct kind *kind);
