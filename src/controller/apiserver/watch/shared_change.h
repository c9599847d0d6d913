/* SPDX-License-Identifier: Apache-2.0 */
/* shared_change.h - what all watchers of one change share: its last state, its
 * frames
 *
 * A change goes to its watchers one after the other, in one turn of the loop;
 * the first that needs something made makes it for all.
 *
 * Owns:    what was made for the change at hand, until the next one.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct clock;
struct frame;
struct shared_change;
struct metric_registry;
struct object;
struct store_change;
struct view;

/* Life. The registry, which may be NULL, outlives it. */
void shared_change_free(struct shared_change *shared_change);
struct shared_change *shared_change_new(struct metric_registry *metrics,
                                        struct clock *clock)
    OWNED_BY(shared_change_free);

/* Borrowed until the next change: what the object was, with the revision of
 * the change that took it away.
 */
const struct object *
shared_change_last_state(struct shared_change *shared_change,
                         const struct store_change *change);

/* Borrowed: the line of a watch, made once, and now, for all with such a
 * view.
 */
struct frame *shared_change_frame(struct shared_change *shared_change,
                                  const struct view *view,
                                  const char *type,
                                  const struct object *object,
                                  bool with_columns);
