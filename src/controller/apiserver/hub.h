/* SPDX-License-Identifier: Apache-2.0 */
/* hub.h - what all watchers of one change share: its last state, its frames
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
struct hub;
struct metric_registry;
struct object;
struct store_change;
struct view;

/* Life. The registry, which may be NULL, outlives it. */
void hub_free(struct hub *hub);
struct hub *hub_new(struct metric_registry *metrics, struct clock *clock)
    OWNED_BY(hub_free);

/* Borrowed until the next change: what the object was, with the revision of
 * the change that took it away.
 */
const struct object *hub_last_state(struct hub *hub,
                                    const struct store_change *change);

/* Borrowed: the line of a watch, made once, and now, for all with such a
 * view.
 */
struct frame *hub_frame(struct hub *hub,
                        const struct view *view,
                        const char *type,
                        const struct object *object,
                        bool with_columns);
