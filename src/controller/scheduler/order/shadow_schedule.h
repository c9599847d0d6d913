/* SPDX-License-Identifier: Apache-2.0 */
/* shadow_schedule.h - how long the same jobs would wait if they were taken in
 * the order of submission
 *
 * A second schedule that nobody runs: EASY backfilling in submission order, by
 * limits, on the number of CPUs alone. Its longest wait is what the order's
 * guard compares with. A job runs in it as long as it ran in truth once that is
 * known; until then as long as is predicted, at least half as long again as it
 * has run so far, at most its limit. Predictions are scaled by what those of
 * the jobs that ended came to.
 *
 * A pass looks at SHADOW_DEPTH jobs behind the first that does not fit.
 *
 * Owns:       its jobs, until they have ended both here and in truth.
 * Called by:  start_order.c.
 * Thread:     the scheduler's.
 * Invariant:  what is free is the machine less what runs here; less than
 *             nothing while the machine has shrunk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct shadow_job;
struct shadow_schedule;

#define SHADOW_DEPTH 1000u

struct shadow_facts {
    int64_t mcpu;
    int64_t limit_s;
    double predicted_s;
    int64_t submit_s;
};

/* Life */
void shadow_schedule_free(struct shadow_schedule *s);
struct shadow_schedule *shadow_schedule_new(void)
    OWNED_BY(shadow_schedule_free);
DEFINE_CLEANUP(struct shadow_schedule, shadow_schedule_free)

/* Change, in the order of time. Nothing starts before the machine is set.
 * Submit: borrowed until one of the last two. Adopt: one that runs already.
 * Begin: it starts in truth. End: it has ended in truth, having run so long.
 * Withdraw: it ended without having begun.
 */
void shadow_schedule_set_machine(struct shadow_schedule *s, int64_t mcpu);
struct shadow_job *shadow_schedule_submit(struct shadow_schedule *s,
                                          const struct shadow_facts *facts);
struct shadow_job *shadow_schedule_adopt(struct shadow_schedule *s,
                                         const struct shadow_facts *facts,
                                         int64_t begin_s);
void shadow_schedule_begin(struct shadow_job *job, int64_t now_s);
void shadow_schedule_end(struct shadow_schedule *s,
                         struct shadow_job *job TAKES,
                         int64_t run_s,
                         int64_t now_s);
void shadow_schedule_withdraw(struct shadow_schedule *s,
                              struct shadow_job *job TAKES,
                              int64_t now_s);

/* Advance: all that ends by that second, and what starts in its place; jobs that
 * are submitted in a second start at its end. Settle: the first that waits has
 * waited until then.
 */
void shadow_schedule_advance(struct shadow_schedule *s, int64_t now_s);
void shadow_schedule_note_wait(struct shadow_schedule *s, int64_t wait_s);
void shadow_schedule_settle(struct shadow_schedule *s, int64_t now_s);

/* The longest wait so far, those noted and the one of the first that waits included. */
int64_t shadow_schedule_longest_s(const struct shadow_schedule *s);
