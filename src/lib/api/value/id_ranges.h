/* SPDX-License-Identifier: Apache-2.0 */
/* id_ranges.h - sets of job ids as people write them: "5,6", "10-20,1042",
 * and elements of arrays: "1042_7", "1042_[3-9]"
 *
 * A set is sorted, and its ranges neither overlap nor touch. Its size is
 * bounded, so that a million ids given by mistake are refused before any work
 * on them.
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

    /* Elements of jobs that are not in `items`; sorted by job id, one entry per
     * job.
     */
    struct job_elements *elements;
    size_t n_elements, elements_capacity;
};

/* The maximum number of ids in one set, and so in one request. */
#define ID_RANGES_MOST 10000

/* The maximum number of arrays whose elements a set may name. */
#define ID_RANGES_ARRAYS_MOST 256

/* Adds the ids of a text to the set. -EINVAL: the text is malformed or the set
 * would become too large; `err` says why, and the set is unchanged.
 */
int id_ranges_add(struct id_ranges *ranges, const char *text, struct arena *arena,
                  struct error *err);

/* Whether a text consists of digits, commas, dashes, underscores, brackets and
 * colons, which no name does: a name that is not just a number begins and ends
 * with a letter.
 */
bool id_ranges_looks_like(const char *text);

void id_ranges_format(const struct id_ranges *ranges, struct strbuf *out);
