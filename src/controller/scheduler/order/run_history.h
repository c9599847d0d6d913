/* SPDX-License-Identifier: Apache-2.0 */
/* run_history.h - how long a user's jobs ran compared to their limits, and a
 * prediction of how long the next job will run
 *
 * The jobs of one user resemble each other, those with the same limit more so,
 * and those with the same limit and width most. For each of these levels two
 * means of the ended jobs are kept, in which newer jobs count more: of run time
 * / limit, and of limit / run time, whose inverse is a harmonic mean and so
 * near the short runs. A prediction begins with the means of all users and goes
 * through the levels; each is weighted by the runs that it has seen.
 *
 * Predictions order jobs. No plan and no end of a job depends on them.
 *
 * A frozen history contains predictions of another one, for a simulation: it
 * learns nothing, and predicts the limit where it has none.
 *
 * Owns:       its levels: RUN_HISTORY_LEVELS for each user; the least recently
 *             used ones are dropped. Of a frozen one: its predictions.
 * Called by:  start_order.c.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct run_history;

#define RUN_HISTORY_LEVELS 256

/* Jobs that have the same prediction. */
struct run_kind {
    int64_t user;
    int64_t limit_s;
    unsigned width; /* cores */
};

struct run_prediction {
    double run_s;   /* the mean; from 1 to the limit */
    double short_s; /* the harmonic mean; from 10 to the mean */
};

/* Life */
void run_history_free(struct run_history *h);
struct run_history *run_history_new(void) OWNED_BY(run_history_free);
struct run_history *run_history_new_frozen(void) OWNED_BY(run_history_free);
DEFINE_CLEANUP(struct run_history, run_history_free)

/* Adds a job that has ended. Jobs without run time or without limit are
 * ignored.
 */
void run_history_add(struct run_history *h, const struct run_kind *kind, int64_t run_s);

/* Adds to a frozen history what the other one predicts. */
void run_history_freeze(struct run_history *frozen, struct run_history *from,
                        const struct run_kind *kind);

/* Predicts the run; the limit if no job has ended yet. */
struct run_prediction run_history_predict(struct run_history *h, const struct run_kind *kind);

/* Returns what jobs are ordered by, the lowest first. Half of it says what the job costs
 * other jobs, the other half what waiting costs the job itself.
 */
double run_prediction_key(const struct run_prediction *p);
