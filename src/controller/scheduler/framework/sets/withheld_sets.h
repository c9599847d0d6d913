/* SPDX-License-Identifier: Apache-2.0 */
/* withheld_sets.h - the nodes that Reservations withhold from now until then, as
 * one set for each time that makes a difference
 *
 * Windows are kept by when they begin, so those that begin before a pod would end
 * are the first so many of them, and there are no more sets than windows. A set is
 * made when it is first asked for, out of the largest one within it.
 *
 * Owns:       the sets; the nodes of a window are borrowed until they are forgotten.
 * Called by:  node_reservations.c.
 * Thread:     the scheduler's.
 * Invariant:  a set never changes; two sets never have one id.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/sets/node_set.h"
#include "lib/base/macro.h"

struct withheld_sets;

/* Life. Nothing is known at first. Last id: that sets were given, of all who share
 * it; borrowed.
 */
void withheld_sets_free(struct withheld_sets *s);
struct withheld_sets *withheld_sets_new(uint64_t *last_id)
    OWNED_BY(withheld_sets_free);
DEFINE_CLEANUP(struct withheld_sets, withheld_sets_free)

/* Change. Forget: something has changed. Begin: the windows are those that end
 * after that time. Add: one of them. End: these were all.
 */
void withheld_sets_forget(struct withheld_sets *s);
void withheld_sets_begin(struct withheld_sets *s, int64_t from_us);
void withheld_sets_add(struct withheld_sets *s,
                       int64_t from_us,
                       int64_t until_us,
                       const struct node_bits *nodes);
void withheld_sets_end(struct withheld_sets *s);

/* Look. Holds: the windows are those of that time, too. Find: the nodes of the
 * windows that begin before; NULL: there are none. Borrowed until the next change.
 */
bool withheld_sets_hold(const struct withheld_sets *s, int64_t from_us);
const struct node_set *withheld_sets_find(struct withheld_sets *s,
                                          int64_t until_us);
