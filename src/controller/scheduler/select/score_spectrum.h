/* SPDX-License-Identifier: Apache-2.0 */
/* score_spectrum.h - how many feasible nodes have each raw score of a plugin;
 * gives the largest score
 *
 * Called by:  node_results.c.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The maximum number of different scores. */
#define SPECTRUM_MAX 64u

/* All zero: no node. */
struct spectrum {
    int64_t values[SPECTRUM_MAX];
    uint32_t counts[SPECTRUM_MAX];
    unsigned count;
    int64_t most; /* set by the caller: the largest that the totals used */
};

/* Add: false when there are too many different scores. */
bool score_spectrum_add(struct spectrum *s, int64_t value);
void score_spectrum_remove(struct spectrum *s, int64_t value);

/* Whether all nodes have the same score. */
bool score_spectrum_is_single(const struct spectrum *s, int64_t *ret_value);

/* Returns the largest score, at least 0. */
int64_t score_spectrum_most(const struct spectrum *s);
