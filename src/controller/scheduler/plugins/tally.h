/* SPDX-License-Identifier: Apache-2.0 */
/* tally.h - numbers by the value of a node label: how many pods in this zone
 *
 * Counts by (label name, label value). A pair that is back at 0 is as if it
 * had never been counted, for tallies that say so.
 *
 * Thread: the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct string_map;
struct tally;

void tally_free(struct tally *t);
struct tally *tally_new(void) OWNED_BY(tally_free);
struct tally *tally_dup(const struct tally *t) OWNED_BY(tally_free);
DEFINE_CLEANUP(struct tally, tally_free)

/* Adds to the pair of the node's own value of the label; nothing when it has
 * none.
 */
void tally_add(struct tally *t,
               const struct string_map *labels,
               const char *label,
               int64_t by);

/* To a pair by name. */
void tally_add_pair(struct tally *t,
                    const char *label,
                    const char *value,
                    int64_t by);

/* Look: 0 for a pair that is not there. */
int64_t tally_of(const struct tally *t, const char *label, const char *value);
bool tally_is_empty(const struct tally *t); /* of pairs that are not 0 */
