/* SPDX-License-Identifier: Apache-2.0 */
/* extender_round.h - one pod that extenders are asked about, from question to
 * question
 *
 * Called by:  extender_rounds.c, which has the line they stand in. Nobody else.
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
    struct list link; /* in line, under way or answered */
    struct extender_rounds *owner;
    struct assignment *a;
    enum round_stage stage;
    unsigned turn; /* which extender's, where one is asked at a time */
    struct extender_result **asked; /* about the nodes that are left */
    unsigned n_asked;
    struct proposals proposals;
    struct list questions;
    int64_t deadline_us; /* of waiting in line */
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
    int64_t told_us;     /* of a failure, in the log */
    int64_t patience_us; /* the longest any extender may take */
};

void extender_round_free(struct extender_round *c);

/* Asks the next that filters, and at the end those that prioritize; the next
 * that has a say in preemption.
 */
void extender_round_filter(struct extender_round *c);
void extender_round_preempt(struct extender_round *c);

/* Those in line, while there is room (extender_rounds.c). */
void extender_rounds_begin_next(struct extender_rounds *cs);
