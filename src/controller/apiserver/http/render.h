/* SPDX-License-Identifier: Apache-2.0 */
/* render.h - replies and events in the form that the client asked for
 *
 * Whole objects are slices of their own text. Objects that the principal may
 * not read whole are redacted first.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame;
struct kind;
struct object;
struct reply;
struct view;

/* Returns false when the reply cannot have this form; it is a 406 then. */
bool render_check(const struct view *view, struct reply *reply);
void render_reply(struct frame *out, const struct view *view, struct reply *reply);

/* Writes at most `most` further objects of a list, in any form. *at counts the
 * objects written so far, and is 0 at first. Returns false when the list is
 * complete.
 */
bool render_list_some(struct frame *out, const struct view *view, const struct reply *reply,
                      size_t *at, size_t most);

/* Writes one line of a watch. Only the first event of a Table has the columns.
 */
void render_event(struct frame *out, const struct view *view, const char *type,
                  const struct object *object, bool with_columns);

/* Writes a bookmark. `is_initial_end`: it ends the initial events. */
void render_bookmark(struct frame *out, const struct view *view, const struct kind *kind,
                     int64_t revision, bool is_initial_end);
