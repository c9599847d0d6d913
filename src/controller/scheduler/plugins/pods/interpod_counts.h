/* SPDX-License-Identifier: Apache-2.0 */
/* interpod_counts.h - numbers of pods by the value of a node label, such as a
 * zone
 *
 * Counts by pairs of label name and label value. A pair that is back at 0
 * counts as absent.
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

void interpod_counts_free(struct interpod_counts *c);
struct interpod_counts *interpod_counts_new(void) OWNED_BY(interpod_counts_free);
struct interpod_counts *interpod_counts_dup(const struct interpod_counts *c)
    OWNED_BY(interpod_counts_free);
DEFINE_CLEANUP(struct interpod_counts, interpod_counts_free)

/* Adds to the pair of the label and its value in `labels`; does nothing when
 * `labels` lacks it.
 */
void interpod_counts_add(struct interpod_counts *c, const struct string_map *labels,
                         const char *label, int64_t by);

/* Adds to a pair. */
void interpod_counts_add_pair(struct interpod_counts *c, const char *label, const char *value,
                              int64_t by);

/* 0 for an absent pair. */
int64_t interpod_counts_get(const struct interpod_counts *c, const char *label, const char *value);
bool interpod_counts_is_empty(const struct interpod_counts *c); /* no pair differs from 0 */
