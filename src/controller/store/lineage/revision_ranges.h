/* SPDX-License-Identifier: Apache-2.0 */
/* revision_ranges.h - ranges of revisions that a store does not know
 *
 * The ranges are sorted, and those that meet are one. There are at most
 * REVISION_RANGES_MOST: with more, the two with the smallest gap become one,
 * since a revision that counts as lost keeps a pod, and never ends one.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

#define REVISION_RANGES_MOST 64

/* Both ends excluded. */
struct revision_range {
    int64_t after;
    int64_t before;
};

struct revision_ranges {
    struct revision_range list[REVISION_RANGES_MOST + 1];
    size_t count;
};

/* Parse: of "AFTER BEFORE;" for each range, or NULL. */
void revision_ranges_parse(const char *text, struct revision_ranges *ret_ranges);
void revision_ranges_add(struct revision_ranges *ranges, int64_t after, int64_t before);

/* Covers: whether one range has all revisions above `after` up to `last`.
 */
char *revision_ranges_format(const struct revision_ranges *ranges) MUST_USE;
bool revision_ranges_covers(const struct revision_ranges *ranges, int64_t after, int64_t last);
