/* SPDX-License-Identifier: Apache-2.0 */
/* kept_choices.h - the allocator's choices on the nodes that a cycle has asked
 *
 * The filter, the score and Reserve ask the same of a node. The first keeps the
 * answer, and the others take it from here as long as nothing was taken of that
 * occupancy or given back to it, within a journal either.
 *
 * Owns:       nothing.
 * Thread:     the scheduler's.
 * Invariant:  a choice that is found is the one that allocator_choose would
 *             make now. A cycle that did not begin here finds none.
 */
#pragma once

#include <stdint.h>

#include "lib/allocator/allocator.h"

#define KEPT_CHOICES 256u /* as many as the nodes of a batch */

struct cycle;
struct node_view;
struct occupancy;

struct kept_choice {
    const struct occupancy *occupancy;
    uint64_t version; /* of the occupancy */
    uintptr_t turn;
    struct allocator_choice choice;
};

/* All zero: empty. */
struct kept_choices {
    uintptr_t turn; /* rises with each cycle */
    struct kept_choice items[KEPT_CHOICES];
};

/* The cycle's pod is asked about from here on. */
void kept_choices_begin(struct kept_choices *k, struct cycle *c);

/* NULL: it is not known, or no longer. Borrowed until the next is kept. */
const struct allocator_choice *kept_choices_find(const struct kept_choices *k,
                                                 const struct cycle *c,
                                                 const struct node_view *node);
void kept_choices_keep(struct kept_choices *k,
                       const struct cycle *c,
                       const struct node_view *node,
                       const struct allocator_choice *choice);
