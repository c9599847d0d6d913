/* SPDX-License-Identifier: Apache-2.0 */
/* shared_change.h - what all watchers of one change share: the object's last
 * state, and rendered frames
 *
 * All watchers of a change get it in one turn of the loop. The first one that
 * needs a state or a frame makes it for all.
 *
 * Owns:    the state and the frames of the present change, until the next one.
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

/* Life. The registry, which may be NULL, must outlive this. */
void shared_change_free(struct shared_change *shared_change);
struct shared_change *shared_change_new(struct metric_registry *metrics, struct clock *clock)
    OWNED_BY(shared_change_free);

/* The deleted object's last state, with the revision of its deletion. Borrowed
 * until the next change.
 */
const struct object *shared_change_last_state(struct shared_change *shared_change,
                                              const struct store_change *change);

/* The line of a watch, made once for all watchers with the same view. Borrowed.
 */
struct frame *shared_change_frame(struct shared_change *shared_change, const struct view *view,
                                  const char *type, const struct object *object, bool with_columns);
