/* SPDX-License-Identifier: Apache-2.0 */
/* id_ranges.h - sets of job ids as people write them: "5,6", "10-20,1042",
 * and elements of arrays: "1042_7", "1042_[3-9]"
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

#include "lib/api/value/job_elements.h"

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

    /* Of jobs that are not in `items`, by their ids, each of them once. */
    struct job_elements *elements;
    size_t n_elements, elements_capacity;
};

/* The most ids of one set, as one request may name. */
#define ID_RANGES_MOST 10000

/* The most arrays of which elements are named. */
#define ID_RANGES_ARRAYS_MOST 256

/* Adds the ids of a text to the set. -EINVAL: it is no such text, or the set
 * would have too many; with words, and the set is what it was.
 */
int id_ranges_add(struct id_ranges *ranges,
                  const char *text,
                  struct arena *arena,
                  struct error *err);

/* Whether a text is of digits, commas, dashes, underscores, brackets and
 * colons, as no name is: a name begins and ends with a letter, or is a number.
 */
bool id_ranges_looks_like(const char *text);

void id_ranges_format(const struct id_ranges *ranges, struct strbuf *out);
