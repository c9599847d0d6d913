/* SPDX-License-Identifier: Apache-2.0 */
/* interpod_counts.h - numbers by the value of a node label: how many pods in
 * this zone
 *
 * Counts by (label name, label value). A pair that is back at 0 is as if it
 * had never been counted, for counts that say so.
 *
 * Thread: the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct string_map;
struct interpod_counts;

void interpod_counts_free(struct interpod_counts *t);
struct interpod_counts *interpod_counts_new(void)
    OWNED_BY(interpod_counts_free);
struct interpod_counts *interpod_counts_dup(const struct interpod_counts *t)
    OWNED_BY(interpod_counts_free);
DEFINE_CLEANUP(struct interpod_counts, interpod_counts_free)

/* Adds to the pair of the node's own value of the label; nothing when it has
 * none.
 */
void interpod_counts_add(struct interpod_counts *t,
                         const struct string_map *labels,
                         const char *label,
                         int64_t by);

/* To a pair by name. */
void interpod_counts_add_pair(struct interpod_counts *t,
                              const char *label,
                              const char *value,
                              int64_t by);

/* Look: 0 for a pair that is not there. */
int64_t interpod_counts_get(const struct interpod_counts *t,
                            const char *label,
                            const char *value);
bool interpod_counts_is_empty(
    const struct interpod_counts *t); /* of pairs that are not 0 */
