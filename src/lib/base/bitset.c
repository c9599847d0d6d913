/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/bitset.h"

#include <string.h>

void
bitset_or(struct bitset *s, const struct bitset *other)
{
    for (unsigned i = 0; i < BITSET_WORDS; i++)
        s->words[i] |= other->words[i];
}

void
bitset_and(struct bitset *s, const struct bitset *other)
{
    for (unsigned i = 0; i < BITSET_WORDS; i++)
        s->words[i] &= other->words[i];
}

void
bitset_and_not(struct bitset *s, const struct bitset *other)
{
    for (unsigned i = 0; i < BITSET_WORDS; i++)
        s->words[i] &= ~other->words[i];
}

/* Most words are empty, and the baseline x86-64 has no popcount instruction. */
static unsigned
count_word(uint64_t word)
{
    return word == 0 ? 0 : (unsigned)__builtin_popcountll(word);
}

unsigned
bitset_count(const struct bitset *s)
{
    unsigned n = 0;

    for (unsigned i = 0; i < BITSET_WORDS; i++)
        n += count_word(s->words[i]);
    return n;
}

unsigned
bitset_count_and(const struct bitset *a, const struct bitset *b)
{
    unsigned n = 0;

    for (unsigned i = 0; i < BITSET_WORDS; i++)
        n += count_word(a->words[i] & b->words[i]);
    return n;
}

bool
bitset_is_empty(const struct bitset *s)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < BITSET_WORDS; i++)
        any |= s->words[i];
    return any == 0;
}

bool
bitset_equals(const struct bitset *a, const struct bitset *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

bool
bitset_intersects(const struct bitset *a, const struct bitset *b)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < BITSET_WORDS; i++)
        any |= a->words[i] & b->words[i];
    return any != 0;
}

bool
bitset_contains(const struct bitset *s, const struct bitset *all_of)
{
    uint64_t missing = 0;

    for (unsigned i = 0; i < BITSET_WORDS; i++)
        missing |= all_of->words[i] & ~s->words[i];
    return missing == 0;
}

unsigned
bitset_next(const struct bitset *s, unsigned from)
{
    unsigned i = from / 64;
    uint64_t word;

    if (from >= BITSET_BITS)
        return BITSET_BITS;
    word = s->words[i] & ~UINT64_C(0) << (from % 64);
    while (word == 0) {
        if (++i == BITSET_WORDS)
            return BITSET_BITS;
        word = s->words[i];
    }
    return i * 64 + (unsigned)__builtin_ctzll(word);
}
