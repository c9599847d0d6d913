/* SPDX-License-Identifier: Apache-2.0 */
/* render.h - replies and events in the form that the client asked for
 *
 * Whole objects are slices of their own text; what somebody may not read
 * whole is redacted first.
 *
 * Thread: the loop's.
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

/* False: the form does not go with this reply, which is a 406 now. */
bool render_check(const struct view *view, struct reply *reply);
void
render_reply(struct frame *out, const struct view *view, struct reply *reply);

/* A list in JSON, so many of its objects at a time: how many have been written
 * is kept in *at, 0 at first. False: that was all.
 */
bool render_list_some(struct frame *out,
                      const struct view *view,
                      const struct reply *reply,
                      size_t *at,
                      size_t most);

/* One line of a watch. Columns: a Table's come with the first event alone. */
void render_event(struct frame *out,
                  const struct view *view,
                  const char *type,
                  const struct object *object,
                  bool with_columns);

/* A bookmark; `is_initial_end`: what was there has all been told. */
void render_bookmark(struct frame *out,
                     const struct view *view,
                     const struct kind *kind,
                     int64_t revision,
                     bool is_initial_end);
