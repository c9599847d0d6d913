/* SPDX-License-Identifier: Apache-2.0 */
/* withheld_sets.h - the nodes that Reservations withhold from now until some
 * time, as one set for each time at which the set changes
 *
 * Windows are sorted by their begin, so the windows that begin before a pod
 * would end are the first N of them, and there are at most as many sets as
 * windows. A set is made when it is first needed, from the largest existing set
 * that is part of it.
 *
 * Owns:       the sets. The node bits of a window are borrowed until forget.
 * Called by:  node_reservations.c.
 * Thread:     the scheduler's.
 * Invariant:  a set never changes; no two sets have the same id.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/sets/node_set.h"
#include "lib/base/macro.h"

struct withheld_sets;

/* Life. New: no windows are known. `last_id` is the last id that a set got; it
 * is borrowed and shared by all owners that share one range of ids.
 */
void withheld_sets_free(struct withheld_sets *s);
struct withheld_sets *withheld_sets_new(uint64_t *last_id) OWNED_BY(withheld_sets_free);
DEFINE_CLEANUP(struct withheld_sets, withheld_sets_free)

/* The windows are outdated. */
void withheld_sets_forget(struct withheld_sets *s);

/* Starts a list of the windows that end after `from_us`. */
void withheld_sets_begin(struct withheld_sets *s, int64_t from_us);

/* Adds a window to the list. */
void withheld_sets_add(struct withheld_sets *s, int64_t from_us, int64_t until_us,
                       const struct node_bits *nodes);

/* The list is complete. */
void withheld_sets_end(struct withheld_sets *s);

/* Whether the windows are also right for a pod that starts at `from_us`. */
bool withheld_sets_hold(const struct withheld_sets *s, int64_t from_us);

/* Returns the nodes of all windows that begin before `until_us`, borrowed until the next
 * change; NULL: none.
 */
const struct node_set *withheld_sets_find(struct withheld_sets *s, int64_t until_us);
