/* SPDX-License-Identifier: Apache-2.0 */
/* node_set.h - sets of nodes: one bit for each slot
 *
 * Owns:       its words.
 * Called by:  node_reservations.c and withheld_sets.c (make them), select/
 *             (reads them).
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/alloc.h"

/* All zero: the empty set. */
struct node_bits {
    uint64_t *words;
    uint32_t n_words;
};

/* Bits with a unique number: sets with equal numbers are equal. Sets with an id
 * below `since` are outdated and will not be used again.
 */
struct node_set {
    uint64_t id; /* 1, 2, ... */
    uint64_t since;
    struct node_bits bits;
};

static inline void
node_bits_fini(struct node_bits *bits)
{
    free(bits->words);
    *bits = (struct node_bits){0};
}

static inline bool
node_bits_has(const struct node_bits *bits, uint32_t slot)
{
    return slot / 64 < bits->n_words && (bits->words[slot / 64] >> slot % 64 & 1) != 0;
}

/* Grows to at least `n_words` words; new words are 0. */
static inline void
node_bits_reach(struct node_bits *bits, uint32_t n_words)
{
    if (bits->n_words >= n_words)
        return;
    bits->words = xrealloc_array(bits->words, n_words, sizeof(*bits->words));
    while (bits->n_words < n_words)
        bits->words[bits->n_words++] = 0;
}

static inline void
node_bits_set(struct node_bits *bits, uint32_t slot)
{
    node_bits_reach(bits, slot / 64 + 1);
    bits->words[slot / 64] |= UINT64_C(1) << slot % 64;
}

static inline void
node_bits_clear(struct node_bits *bits, uint32_t slot)
{
    if (slot / 64 < bits->n_words)
        bits->words[slot / 64] &= ~(UINT64_C(1) << slot % 64);
}

static inline void
node_bits_empty(struct node_bits *bits)
{
    for (uint32_t i = 0; i < bits->n_words; i++)
        bits->words[i] = 0;
}

/* Missing words count as 0. */
static inline bool
node_bits_are_equal(const struct node_bits *a, const struct node_bits *b)
{
    uint32_t most = a->n_words > b->n_words ? a->n_words : b->n_words;

    for (uint32_t i = 0; i < most; i++)
        if ((i < a->n_words ? a->words[i] : 0) != (i < b->n_words ? b->words[i] : 0))
            return false;
    return true;
}

static inline void
node_bits_add(struct node_bits *bits, const struct node_bits *other)
{
    node_bits_reach(bits, other->n_words);
    for (uint32_t i = 0; i < other->n_words; i++)
        bits->words[i] |= other->words[i];
}
