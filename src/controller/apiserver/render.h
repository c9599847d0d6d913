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
#include <stdint.h>

#include "controller/apiserver/accept.h"

struct caller;
struct frame;
struct kind;
struct object;
struct reply;
struct store;

struct view {
    struct accept accept;
    const struct kind *kind; /* in whose words objects are shown, or NULL */
    const struct caller *caller;
    struct store *store; /* what the cells of Kiln's columns look up */
    int64_t now_us;
};

/* False: the form does not go with this reply, which is a 406 now. */
bool render_check(const struct view *view, struct reply *reply);
void
render_reply(struct frame *out, const struct view *view, struct reply *reply);

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
