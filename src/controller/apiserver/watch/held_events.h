/* SPDX-License-Identifier: Apache-2.0 */
/* held_events.h - delays those events of an agent's watch that are not urgent,
 * to send several together
 *
 * An agent does not act on changes of an ended pod before the pod is to be
 * deleted: the agent reported the end itself. Such changes, and the removal of
 * such a pod, are held for at most 200 ms. They are held as objects and
 * rendered when they are sent. A removal replaces a held modification of the
 * same object. All events are sent in the order in which they came.
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

typedef void held_events_fn(enum client_event_type type, const struct object *object,
                            void *context);

/* Life. `send` is called for each event that is sent; held_events_free sends
 * none.
 */
void held_events_free(struct held_events *held);
struct held_events *held_events_new(struct loop *loop, held_events_fn *send, void *context)
    OWNED_BY(held_events_free);

/* Take sends or holds one event of the watch; an urgent one is sent
 * before the call returns, after those that are held. Release sends all held
 * events.
 */
void held_events_take(struct held_events *held, enum client_event_type type,
                      const struct object *object);
void held_events_release(struct held_events *held);
