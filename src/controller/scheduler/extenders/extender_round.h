/* SPDX-License-Identifier: Apache-2.0 */
/* extender_round.h - one pod that extenders are asked about, question by
 * question
 *
 * Called by:  extender_rounds.c, which owns the queue of rounds. Nobody else.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "controller/scheduler/extenders/extender_rounds.h"
#include "controller/scheduler/framework/proposal.h"
#include "lib/base/list.h"

struct extender_result;

enum round_stage {
    STAGE_FILTER,
    STAGE_PRIORITIZE,
    STAGE_PREEMPT,
};

struct extender_round {
    struct list link; /* in the owner's in_line, under_way or answered */
    struct extender_rounds *owner;
    struct assignment *a;
    enum round_stage stage;
    unsigned turn;                  /* index of the extender, where they are asked one by one */
    struct extender_result **asked; /* the nodes that are still left */
    unsigned n_asked;
    struct proposals proposals;
    struct list questions;
    int64_t deadline_us; /* when waiting in line ends */
};

struct extender_question {
    struct list link;
    struct extender_round *of;
    const struct extender *to;
    struct extender_call *call;
};

struct extender_rounds {
    struct extender_rounds_settings settings;
    struct list in_line, under_way, answered;
    unsigned n_parked, n_under_way;
    int64_t told_us;     /* when a failure was last logged */
    int64_t patience_us; /* the longest timeout of any extender */
};

void extender_round_free(struct extender_round *c);

/* Asks the next extender that filters, and after the last one all that prioritize. */
void extender_round_filter(struct extender_round *c);

/* Asks the next extender that takes part in preemption. */
void extender_round_preempt(struct extender_round *c);

/* Starts waiting rounds while fewer than the limit run (extender_rounds.c). */
void extender_rounds_begin_next(struct extender_rounds *rounds);
