/* SPDX-License-Identifier: Apache-2.0 */
/* start_order.h - the order in which waiting jobs are tried
 *
 * By what their users' earlier jobs say of them: short jobs that take little
 * first (run_prediction_key). A job that has waited too long is *guarded* and
 * goes before all that are not, in the order of submission, until it starts:
 * its wait and the time until enough CPUs come free exceed START_ORDER_SHARE of
 * the longest wait that the order of submission would have brought so far
 * (shadow_schedule.h), and ten minutes. Of a job that needs all of the machine it is
 * START_ORDER_WIDE less, in between by its width: once it goes first it waits
 * longest until there is room. So the longest wait stays near that of
 * EASY, whoever submits how many short jobs.
 *
 * Predictions order jobs, and nothing else: what is planned goes by limits.
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
struct start_order;

#define START_ORDER_SHARE 0.9
#define START_ORDER_WIDE  0.3
#define START_ORDER_MIN_S 600

/* A job without a limit is taken for one of this. */
#define START_ORDER_NO_LIMIT_S (INT64_C(7) * 24 * 3600)

struct order_facts {
    int64_t user;
    int64_t limit_s; /* 0: none */
    int64_t mcpu;    /* of all its pods */
    int64_t submit_s;
};

struct order_rank {
    bool is_guarded;
    double key; /* the lowest first */
};

/* Life */
void start_order_free(struct start_order *o);
struct start_order *start_order_new(void) OWNED_BY(start_order_free);
DEFINE_CLEANUP(struct start_order, start_order_free)

/* Change, in the order of time. Set machine: all its CPUs. Submit, adopt: a job
 * that waits; one that runs already. Begin: it runs. End: it has ended, or goes
 * without having begun, and is no more; so long of its run it stood still. Learn:
 * of a run that ended before, and had begun then; what it waited stands for what
 * it would have in the order of submission, which nobody remembers.
 */
void start_order_set_machine(struct start_order *o, int64_t mcpu);
struct order_job *start_order_submit(struct start_order *o,
                                     const struct order_facts *facts);
struct order_job *start_order_adopt(struct start_order *o,
                                    const struct order_facts *facts,
                                    int64_t begin_s);
void
start_order_begin(struct start_order *o, struct order_job *job, int64_t now_s);
void start_order_end(struct start_order *o,
                     struct order_job *job TAKES,
                     int64_t still_s,
                     int64_t now_s);
void start_order_learn(struct start_order *o,
                       const struct order_facts *facts,
                       int64_t begin_s,
                       int64_t run_s);

/* The job's rank now; a waiting job may become guarded by this. */
struct order_rank
start_order_rank(struct start_order *o, struct order_job *job, int64_t now_s);

/* How long it is thought to run, and whether it goes first. */
double start_order_predict_s(const struct start_order *o,
                             const struct order_job *job,
                             bool *ret_is_guarded);
