/* SPDX-License-Identifier: Apache-2.0 */
/* held_events.h - events of one watch that are not urgent wait, and go together
 *
 * They are kept as objects and rendered when they leave. A deletion takes the place of
 * a change of the same object that still waits. All leave in the order in which they
 * came, and before any event that is sent after them.
 *
 * Owns:    a reference to each object.
 * Thread:  the loop's.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/client/client.h"

struct held_events;
struct loop;
struct object;

typedef void held_events_fn(enum client_event_type type,
                            const struct object *object,
                            void *context);

/* Life. Send is called for each event that leaves, and not by free. */
void held_events_free(struct held_events *held);
struct held_events *held_events_new(struct loop *loop,
                                    held_events_fn *send,
                                    void *context) OWNED_BY(held_events_free);

/* Change. Add keeps a modification or a deletion, for 200 ms at the most. Release
 * sends what is held.
 */
void held_events_add(struct held_events *held,
                     enum client_event_type type,
                     const struct object *object);
void held_events_release(struct held_events *held);
