/* SPDX-License-Identifier: Apache-2.0 */
/* tournament.c - one node changes between two decisions, so one path is played
 * again, and not all of the tree
 *
 * Equal pods come in thousands, and a decision changes the total of the chosen
 * node alone. A node of the tree also counts the slots that share the best total: so the
 * random choice among equal nodes is uniform, as upstream's, and needs no list of
 * them.
 */
#include "controller/scheduler/select/tournament.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/random.h"

void
tournament_fini(struct tournament *t)
{
    free(t->nodes);
    *t = (struct tournament){0};
}

size_t
tournament_bytes(const struct tournament *t)
{
    return (size_t)t->n_leaves * 2 * sizeof(*t->nodes);
}

void
tournament_reset(struct tournament *t, uint32_t n_slots)
{
    uint32_t n_leaves = 1;

    while (n_leaves < n_slots)
        n_leaves *= 2;
    if (n_leaves != t->n_leaves) {
        t->n_leaves = n_leaves;
        t->nodes = xrealloc_array(t->nodes, (size_t)n_leaves * 2, sizeof(*t->nodes));
    }
    for (uint32_t i = 0; i < 2 * n_leaves; i++)
        t->nodes[i] = (struct tournament_node){TOURNAMENT_OUT, 0};
}

static struct tournament_node
play(struct tournament_node a, struct tournament_node b)
{
    if (a.best == b.best && a.best != TOURNAMENT_OUT)
        return (struct tournament_node){a.best, a.count + b.count};
    return a.best > b.best ? a : b;
}

void
tournament_play(struct tournament *t, uint32_t slot)
{
    for (uint32_t i = (t->n_leaves + slot) / 2; i >= 1; i /= 2)
        t->nodes[i] = play(t->nodes[2 * i], t->nodes[2 * i + 1]);
}

void
tournament_play_all(struct tournament *t)
{
    for (uint32_t i = t->n_leaves - 1; i >= 1; i--)
        t->nodes[i] = play(t->nodes[2 * i], t->nodes[2 * i + 1]);
}

uint32_t
tournament_pick(const struct tournament *t, struct random_source *random, int64_t *ret_total)
{
    uint64_t which = random_below(random, t->nodes[1].count);
    uint32_t i = 1;

    while (i < t->n_leaves) {
        struct tournament_node whole = t->nodes[i], left = t->nodes[2 * i];
        uint32_t in_left = left.best == whole.best ? left.count : 0;

        if (which < in_left) {
            i = 2 * i;
        } else {
            which -= in_left;
            i = 2 * i + 1;
        }
    }
    *ret_total = t->nodes[i].best;
    return i - t->n_leaves;
}
