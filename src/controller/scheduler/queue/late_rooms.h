/* SPDX-License-Identifier: Apache-2.0 */
/* late_rooms.h - the nodes on which room has become free recently
 *
 * A pod that was activated for room on some nodes is worth a cycle only as long
 * as one of these nodes still has the room, or another event since then may
 * help the pod. The last events are remembered by their numbers, each with the
 * node on which it freed room.
 *
 * Called by:  the queue.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct late_rooms;

void late_rooms_free(struct late_rooms *l);
struct late_rooms *late_rooms_new(void) OWNED_BY(late_rooms_free);
DEFINE_CLEANUP(struct late_rooms, late_rooms_free)

/* Adds an event that freed room on the node; NULL: it may help on any node. */
void late_rooms_add(struct late_rooms *l, const char *node);

/* The number of the next event. No event has the number 0. */
uint64_t late_rooms_next(const struct late_rooms *l);

/* Returns the number of the first event from that number on whose node has room, or which is
 * no longer remembered; 0: there is none.
 */
uint64_t late_rooms_find(const struct late_rooms *l, uint64_t from,
                         bool (*has_room)(const char *node, void *context), void *context);

/* Whether an event with that number or a later one may help: it is no longer remembered, it
 * has no node, or its node has room.
 */
bool late_rooms_may_help(const struct late_rooms *l, uint64_t from,
                         bool (*has_room)(const char *node, void *context), void *context);
