/* SPDX-License-Identifier: Apache-2.0 */
/* late_rooms.h - where room has come free of late
 *
 * A pod that was woken for the room on some nodes is worth a cycle as long as one
 * of them has it, or something else has happened since that may help it. The
 * last events are remembered, by their numbers, each with the node whose room it
 * has freed.
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

/* Node NULL: what has happened may help anywhere. */
void late_rooms_add(struct late_rooms *l, const char *node);

/* The number of the next event; 0 is no event's. */
uint64_t late_rooms_next(const struct late_rooms *l);

/* Whether one event from that number on may help: it is forgotten, was of no
 * node, or of one that has room. Find: the first of those that was of a node that
 * has room, or is forgotten; 0: there is none.
 */
uint64_t late_rooms_find(const struct late_rooms *l,
                         uint64_t from,
                         bool (*has_room)(const char *node, void *context),
                         void *context);
bool late_rooms_may_help(const struct late_rooms *l,
                         uint64_t from,
                         bool (*has_room)(const char *node, void *context),
                         void *context);
