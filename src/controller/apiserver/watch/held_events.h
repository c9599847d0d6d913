/* SPDX-License-Identifier: Apache-2.0 */
/* held_events.h - delays the events of a watch that are not urgent, to send
 * several together
 *
 * They are held as objects and rendered when they are sent. A deletion replaces
 * a held modification of the same object. All are sent in the order in which
 * they were added, and before any later event.
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

/* Life. `send` is called for each event that is sent; held_events_free sends
 * none.
 */
void held_events_free(struct held_events *held);
struct held_events *held_events_new(struct loop *loop,
                                    held_events_fn *send,
                                    void *context) OWNED_BY(held_events_free);

/* Change. Add holds a modification or a deletion for at most 200 ms. Release
 * sends all held events.
 */
void held_events_add(struct held_events *held,
                     enum client_event_type type,
                     const struct object *object);
void held_events_release(struct held_events *held);
