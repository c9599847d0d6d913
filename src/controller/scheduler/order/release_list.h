/* SPDX-License-Identifier: Apache-2.0 */
/* release_list.h - when running jobs release their cores, by their limits
 *
 * Owns:       its entries, which are values.
 * Called by:  shadow_schedule.c and start_order.c.
 * Thread:     the scheduler's.
 * Invariant:  the entries are sorted by time. A search is logarithmic in their
 *             number; the first one after a change is linear.
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
    int64_t *sums; /* of each item and all before it */
    size_t count, capacity, n_sums;
    bool has_sums;
};

void release_list_fini(struct release_list *l);

/* Remove: an entry that was added with the same numbers. */
void release_list_add(struct release_list *l, int64_t at_s, int64_t mcpu);
void release_list_remove(struct release_list *l, int64_t at_s, int64_t mcpu);

/* When this much has been released: INT64_MIN if it is nothing, RELEASE_NEVER
 * if all entries are not enough. `ret_mcpu`: how much has been released by
 * then, including all of that second; may be NULL.
 */
int64_t release_list_find(struct release_list *l, int64_t mcpu, int64_t *ret_mcpu);
