/* SPDX-License-Identifier: Apache-2.0 */
/* job_counts.h - how many jobs are in each state, and the oldest waiting job
 *
 * The counts are kept from the load of the store at the start, and with each
 * change of its pending head; nothing is ever scanned.
 *
 * Called by:  controller.c (as the store's `moved`), summary_status.c.
 * Thread:     the loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/api/job/job_state.h"
#include "lib/base/macro.h"

struct job_counts;
struct object;
struct store;

/* Life */
void job_counts_free(struct job_counts *counts);
struct job_counts *job_counts_new(void) OWNED_BY(job_counts_free);
DEFINE_CLEANUP(struct job_counts, job_counts_free)

/* An object changed, was created (no `before`) or was removed (no
 * `after`).
 */
void job_counts_moved(struct job_counts *counts, const struct object *before,
                      const struct object *after);

/* The oldest waiting job is that with the lowest id. The search starts
 * where the last one ended and is bounded; NULL: none was found.
 */
int64_t job_counts_get(const struct job_counts *counts, enum job_state state);
const struct object *job_counts_find_oldest(struct job_counts *counts, const struct store *store);
