/* SPDX-License-Identifier: Apache-2.0 */
/* bitset.h - a set of small numbers of fixed size, for PUs and NUMA nodes
 *
 * Plain data: BITSET_WORDS words, by value, so that it copies, hashes and
 * compares without allocation. Holds the numbers 0 to BITSET_BITS - 1, which
 * covers nodes of 1,024 PUs and, in `struct bitset`, 64 NUMA nodes too.
 *
 * Thread:  any; a set is guarded by its owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITSET_BITS  1024u
#define BITSET_WORDS (BITSET_BITS / 64u)

struct bitset {
    uint64_t words[BITSET_WORDS];
};

static inline void
bitset_add(struct bitset *s, unsigned bit)
{
    s->words[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline void
bitset_remove(struct bitset *s, unsigned bit)
{
    s->words[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

void bitset_or(struct bitset *s, const struct bitset *other);
void bitset_and(struct bitset *s, const struct bitset *other);
void bitset_and_not(struct bitset *s, const struct bitset *other);

/* Next: the smallest member that is at least `from`, or BITSET_BITS. */
static inline bool
bitset_has(const struct bitset *s, unsigned bit)
{
    return bit < BITSET_BITS && (s->words[bit / 64] >> (bit % 64) & 1) != 0;
}

unsigned bitset_count(const struct bitset *s);
unsigned bitset_count_and(const struct bitset *a, const struct bitset *b);
bool bitset_is_empty(const struct bitset *s);
bool bitset_equals(const struct bitset *a, const struct bitset *b);
bool bitset_intersects(const struct bitset *a, const struct bitset *b);
bool bitset_contains(const struct bitset *s, const struct bitset *all_of);
unsigned bitset_next(const struct bitset *s, unsigned from);

#define bitset_foreach(bit, s) \
    for (unsigned bit = bitset_next((s), 0); bit < BITSET_BITS; bit = bitset_next((s), bit + 1))
