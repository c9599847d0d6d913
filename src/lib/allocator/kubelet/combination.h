/* SPDX-License-Identifier: Apache-2.0 */
/* combination.h - all subsets of one size, in lexicographic order
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct combination {
    unsigned of, size;
    uint8_t at[64]; /* ascending */
};

/* False: there is no combination, or no further one. `of` is at most 64. */
static inline bool
combination_first(struct combination *c, unsigned of, unsigned size)
{
    c->of = of;
    c->size = size;
    for (unsigned i = 0; i < size && i < 64; i++)
        c->at[i] = (uint8_t)i;
    return size > 0 && size <= of;
}

static inline bool
combination_next(struct combination *c)
{
    unsigned i = c->size;

    while (i > 0 && c->at[i - 1] == c->of - c->size + i - 1)
        i--;
    if (i == 0)
        return false;
    c->at[i - 1]++;
    for (; i < c->size; i++)
        c->at[i] = (uint8_t)(c->at[i - 1] + 1);
    return true;
}
