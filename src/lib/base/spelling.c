/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/spelling.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/macro.h"

#define MAX_WORD 64
#define FAR      1000u

static bool
is_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned
least(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;

    return m < c ? m : c;
}

/* Keeps three rows of the table of distances between prefixes of the words. */
static unsigned
distance_of(const char *a, const char *b)
{
    unsigned rows[3][MAX_WORD + 1];
    unsigned *before = rows[0];
    unsigned *above = rows[1];
    unsigned *row = rows[2];
    size_t length_a = strlen(a);
    size_t length_b = strlen(b);

    if (length_a > MAX_WORD || length_b > MAX_WORD)
        return FAR;
    for (size_t j = 0; j <= length_b; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= length_a; i++) {
        unsigned *oldest = before;

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= length_b; j++) {
            row[j] =
                least(above[j] + 1, row[j - 1] + 1, above[j - 1] + !is_same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) && is_same(a[i - 2], b[j - 1])
                && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        before = above;
        above = row;
        row = oldest;
    }
    return above[length_b];
}

const char *
spelling_nearest(const char *word, const char *const *words, size_t count)
{
    const char *nearest = NULL;
    unsigned best = FAR;

    for (size_t i = 0; i < count; i++) {
        unsigned allowed = (unsigned)strlen(words[i]) / 3;
        unsigned distance = distance_of(word, words[i]);

        if (distance <= (allowed > 0 ? allowed : 1) && distance < best) {
            best = distance;
            nearest = words[i];
        }
    }
    return nearest;
}
