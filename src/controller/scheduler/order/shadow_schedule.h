/* SPDX-License-Identifier: Apache-2.0 */
/* shadow_schedule.h - how long the same jobs would wait if they were started in
 * the order of submission
 *
 * A second schedule, which is only simulated: EASY backfilling in submission
 * order, by limits, on the number of CPUs alone. The guard of the order
 * compares with its longest wait. When the real run time of a job is known, the
 * job runs that long here. Until then it runs as long as predicted, but at
 * least 1.5 times as long as it has run so far, and at most its limit.
 * Predictions are scaled by the ratio of the real run times of the ended jobs
 * to their predictions.
 *
 * A pass checks SHADOW_DEPTH jobs behind the first that does not fit.
 *
 * Owns:       its jobs, until they have ended both here and in reality.
 * Called by:  start_order.c.
 * Thread:     the scheduler's.
 * Invariant:  the free CPUs are the machine's less those of the jobs that run
 *             here; they are negative after the machine has shrunk below that.
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
struct shadow_schedule *shadow_schedule_new(void) OWNED_BY(shadow_schedule_free);
DEFINE_CLEANUP(struct shadow_schedule, shadow_schedule_free)

/* The past that a schedule knows, for another one that continues it without
 * its jobs: the longest wait, and how far predictions were from the real run
 * times.
 */
struct shadow_past {
    double ran, predicted; /* CPU seconds of all that really ended */
    int64_t longest_s;
};
struct shadow_past shadow_schedule_past(const struct shadow_schedule *s);
void shadow_schedule_continue(struct shadow_schedule *s, const struct shadow_past *past);

/* Changes, in the order of time. No job starts before the machine is set. */
void shadow_schedule_set_machine(struct shadow_schedule *s, int64_t mcpu);

/* Adds a job, which is borrowed until its end or withdrawal. */
struct shadow_job *shadow_schedule_submit(struct shadow_schedule *s,
                                          const struct shadow_facts *facts);

/* Adds a job that runs already. */
struct shadow_job *shadow_schedule_adopt(struct shadow_schedule *s,
                                         const struct shadow_facts *facts, int64_t begin_s);

/* The job starts in reality. */
void shadow_schedule_begin(struct shadow_job *job, int64_t now_s);

/* The job has ended in reality, after that run time. */
void shadow_schedule_end(struct shadow_schedule *s, struct shadow_job *job TAKES, int64_t run_s,
                         int64_t now_s);

/* The job ended without having begun. */
void shadow_schedule_withdraw(struct shadow_schedule *s, struct shadow_job *job TAKES,
                              int64_t now_s);

/* Handles all ends up to that second, and the starts that they make possible; jobs that are
 * submitted in a second start at its end.
 */
void shadow_schedule_advance(struct shadow_schedule *s, int64_t now_s);

/* Counts a wait that is known otherwise. */
void shadow_schedule_note_wait(struct shadow_schedule *s, int64_t wait_s);

/* Also counts how long the first waiting job has waited until then. */
void shadow_schedule_settle(struct shadow_schedule *s, int64_t now_s);

/* The longest wait so far, including noted waits and that of the first waiting
 * job.
 */
int64_t shadow_schedule_longest_s(const struct shadow_schedule *s);
