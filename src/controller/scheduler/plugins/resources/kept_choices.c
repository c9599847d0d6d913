/* SPDX-License-Identifier: Apache-2.0 */
/* kept_choices.c - a choice may be forgotten at any time, but never be wrong
 *
 * A slot of the table is shared by many nodes, and the later one wins: a lost
 * choice costs one more question to the allocator, and a map would cost each
 * cycle more. Nothing is cleared between cycles; the number of the turn tells
 * which choices are of this one.
 */
#include "controller/scheduler/plugins/resources/kept_choices.h"

#include <stddef.h>

#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/node_view.h"
#include "lib/allocator/occupancy.h"

void
kept_choices_begin(struct kept_choices *k, struct cycle *c)
{
    k->turn++;
    cycle_put(c, k, (void *)k->turn, NULL, NULL);
}

static uintptr_t
turn_of(const struct kept_choices *k, const struct cycle *c)
{
    return (uintptr_t)cycle_get(c, k);
}

const struct allocator_choice *
kept_choices_find(const struct kept_choices *k, const struct cycle *c, const struct node_view *node)
{
    const struct kept_choice *kept = &k->items[node->slot % KEPT_CHOICES];
    const struct occupancy *o = node->ledger.occupancy;

    return kept->turn != 0 && kept->turn == turn_of(k, c) && kept->occupancy == o
                   && kept->version == o->version
               ? &kept->choice
               : NULL;
}

void
kept_choices_keep(struct kept_choices *k, const struct cycle *c, const struct node_view *node,
                  const struct allocator_choice *choice)
{
    const struct occupancy *o = node->ledger.occupancy;

    k->items[node->slot % KEPT_CHOICES] = (struct kept_choice){
        .occupancy = o,
        .version = o->version,
        .turn = turn_of(k, c),
        .choice = *choice,
    };
}
