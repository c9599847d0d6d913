/* SPDX-License-Identifier: Apache-2.0 */
/* kept_choices.h - the allocator's choices for the nodes of one cycle
 *
 * Filter, Score and Reserve need the same choice for a node. The first of them
 * keeps it here for the others, as long as the node's occupancy does not
 * change; a change that a journal rolls back counts, too.
 *
 * Owns:       nothing.
 * Thread:     the scheduler's.
 * Invariant:  a choice that is found equals the one that allocator_choose would
 *             make now. A cycle that did not begin here finds none.
 * See:        doc/decisions.md, 344.
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

/* Zeroed: empty. */
struct kept_choices {
    uintptr_t turn; /* incremented by each cycle */
    struct kept_choice items[KEPT_CHOICES];
};

/* Begin starts to keep choices for the cycle's pod. Find returns NULL if no
 * current choice is kept; its result is borrowed until the next keep.
 */
void kept_choices_begin(struct kept_choices *k, struct cycle *c);
const struct allocator_choice *kept_choices_find(const struct kept_choices *k,
                                                 const struct cycle *c,
                                                 const struct node_view *node);
void kept_choices_keep(struct kept_choices *k, const struct cycle *c, const struct node_view *node,
                       const struct allocator_choice *choice);
