/* SPDX-License-Identifier: Apache-2.0 */
/* job_counts.h - how many jobs are in each state, and the oldest that waits
 *
 * It follows the store's pending head, one change at a time, and its load at
 * the start; nothing is ever scanned.
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

/* Change: one object became another, came (no `before`) or went. */
void job_counts_moved(struct job_counts *counts,
                      const struct object *before,
                      const struct object *after);

/* Look. The oldest is that of the lowest id, or NULL; it is found in some steps
 * from where the search ended the last time.
 */
int64_t job_counts_get(const struct job_counts *counts, enum job_state state);
const struct object *job_counts_find_oldest(struct job_counts *counts,
                                            const struct store *store);
