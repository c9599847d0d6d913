/* SPDX-License-Identifier: Apache-2.0 */
/* run_history.h - how long a user's jobs ran, beside their limits, and so how
 * long the next one will
 *
 * A user's jobs resemble each other, those of one limit more so, those of one
 * limit and width most. Each of these levels keeps two means of what ended,
 * the newest counting most: of run time / limit, and of limit / run time, whose
 * inverse is a harmonic mean and so near the short runs. A prediction begins
 * with all users' means and goes through the levels, each weighing what it has
 * seen against what came before.
 *
 * Predictions order jobs; they plan nothing and end nothing.
 *
 * Owns:       its levels: RUN_HISTORY_LEVELS for each user, the ones used
 *             longest ago are forgotten.
 * Called by:  start_order.c.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct run_history;

#define RUN_HISTORY_LEVELS 256

/* Jobs that are predicted alike. */
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
DEFINE_CLEANUP(struct run_history, run_history_free)

/* Add: one that ended. Jobs that took no time, or have no limit, teach nothing.
 */
void run_history_add(struct run_history *h,
                     const struct run_kind *kind,
                     int64_t run_s);

/* Predict: the limit where nothing has ended yet. Key: what to order by, the
 * lowest first: half of it says what the job costs the others, half what its
 * own wait costs it.
 */
struct run_prediction run_history_predict(struct run_history *h,
                                          const struct run_kind *kind);
double run_prediction_key(const struct run_prediction *p);
