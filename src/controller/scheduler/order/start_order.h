/* SPDX-License-Identifier: Apache-2.0 */
/* start_order.h - the order in which waiting jobs are tried
 *
 * Jobs are sorted by the run times that the earlier jobs of their users
 * predict: short ones first (run_prediction_key). A job that has waited too
 * long is *guarded*: until it starts, it goes before all jobs that are not
 * guarded, in the order of submission. A job has waited too long when its wait
 * and the time until enough CPUs are free together exceed ten minutes and
 * START_ORDER_SHARE of the longest wait that the order of submission would have
 * caused so far (shadow_schedule.h). For a job that needs the whole machine
 * this share is START_ORDER_WIDE less, for other jobs less in proportion to
 * their width, because a wide job waits longest for room once it goes first. So
 * the longest wait stays near that of EASY, however many short jobs any user
 * submits.
 *
 * Predictions only order jobs; plans use limits.
 *
 * Owns:       its jobs, from submission or adoption to their end.
 * Called by:  pod_ranks.c.
 * Thread:     the scheduler's.
 * See:        doc/decisions.md, 185.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct order_job;
struct order_memory;
struct start_order;

#define START_ORDER_SHARE 0.9
#define START_ORDER_WIDE  0.3
#define START_ORDER_MIN_S 600

/* A job without a limit counts as one with this limit. */
#define START_ORDER_NO_LIMIT_S (INT64_C(7) * 24 * 3600)

struct order_facts {
    int64_t user;
    int64_t limit_s; /* 0: none */
    int64_t mcpu;    /* of all its pods together */
    int64_t submit_s;
};

struct order_rank {
    bool is_guarded;
    double key; /* the lowest first */
};

/* Life */
void start_order_free(struct start_order *o);
struct start_order *start_order_new(void) OWNED_BY(start_order_free);

/* For a simulation of an order's future: without jobs, but with what the order
 * remembers (order_memory). Borrows that, and does not change it.
 */
struct start_order *start_order_new_after(const struct order_memory *memory)
    OWNED_BY(start_order_free);
DEFINE_CLEANUP(struct start_order, start_order_free)

/* Changes, in the order of time. */

/* Sets the number of all CPUs of the machine. */
void start_order_set_machine(struct start_order *o, int64_t mcpu);

/* Adds a job that waits. */
struct order_job *start_order_submit(struct start_order *o, const struct order_facts *facts);

/* Adds a job that runs already. */
struct order_job *start_order_adopt(struct start_order *o, const struct order_facts *facts,
                                    int64_t begin_s);

/* The job runs. */
void start_order_begin(struct start_order *o, struct order_job *job, int64_t now_s);

/* The job has ended, or goes without having begun, and is freed. It was frozen for `still_s`
 * of its run.
 */
void start_order_end(struct start_order *o, struct order_job *job TAKES, int64_t still_s,
                     int64_t now_s);

/* Learns a run that ended before the scheduler started, and when it had begun; its real wait
 * stands for the wait in the order of submission, which is not known.
 */
void start_order_learn(struct start_order *o, const struct order_facts *facts, int64_t begin_s,
                       int64_t run_s);

/* The job's rank now; this may make a waiting job guarded. */
struct order_rank start_order_rank(struct start_order *o, struct order_job *job, int64_t now_s);

/* How long the job is predicted to run, and whether it goes first. */
double start_order_predict_s(const struct start_order *o, const struct order_job *job,
                             bool *ret_is_guarded);

/* The memory: all that the order has learned, for a simulation that may run on another thread:
 * the longest wait so far, and the predictions for the jobs that are added. Add
 * returns how long such a job is predicted to run; the order need not have it.
 */
void order_memory_free(struct order_memory *m);
struct order_memory *order_memory_new(const struct start_order *o) OWNED_BY(order_memory_free);
double order_memory_add(struct order_memory *m, struct start_order *o,
                        const struct order_facts *facts);
const struct order_facts *start_order_facts(const struct order_job *job);
