/* SPDX-License-Identifier: Apache-2.0 */
/* release_list.h - when running jobs give their cores back, by their limits
 *
 * Owns:       its entries, which are values.
 * Called by:  shadow_schedule.c and start_order.c.
 * Thread:     the scheduler's.
 * Invariant:  sorted by time; a search costs the logarithm of the entries, and
 *             the first one after a change their number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELEASE_NEVER INT64_MAX

struct release {
    int64_t at_s;
    int64_t mcpu;
};

struct release_list {
    struct release *items;
    int64_t *sums; /* of these and all before */
    size_t count, capacity, n_sums;
    bool has_sums;
};

void release_list_fini(struct release_list *l);

/* Change. Remove: one that was added with the same numbers. */
void release_list_add(struct release_list *l, int64_t at_s, int64_t mcpu);
void release_list_remove(struct release_list *l, int64_t at_s, int64_t mcpu);

/* When so much has been given back: INT64_MIN for nothing, RELEASE_NEVER when
 * all of it is not enough. `ret_mcpu`: what has been given back then, all that
 * comes in that second included; may be NULL.
 */
int64_t
release_list_find(struct release_list *l, int64_t mcpu, int64_t *ret_mcpu);
