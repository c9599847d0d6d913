/* SPDX-License-Identifier: Apache-2.0 */
/* id_ranges.h - sets of job ids as people write them: "5,6", "10-20,1042"
 *
 * A set is sorted, and no two of its ranges meet. It is bounded, so that a
 * million ids by mistake are refused before anybody works on them.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct strbuf;

struct id_range {
    int64_t first, last;
};

struct id_ranges {
    struct id_range *items; /* in the arena */
    size_t count;
    size_t capacity;
    int64_t total; /* ids */
};

/* The most ids of one set, as one request may name. */
#define ID_RANGES_MOST 10000

/* Adds the ids of a text to the set. -EINVAL: it is no such text, or the set
 * would have too many; with words, and the set is what it was.
 */
int id_ranges_add(struct id_ranges *ranges,
                  const char *text,
                  struct arena *arena,
                  struct error *err);

/* Whether a text is of digits, commas and dashes, as no name is: a name begins
 * and ends with a letter, or is a number.
 */
bool id_ranges_looks_like(const char *text);

void id_ranges_format(const struct id_ranges *ranges, struct strbuf *out);
