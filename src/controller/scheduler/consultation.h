/* SPDX-License-Identifier: Apache-2.0 */
/* consultation.h - one pod that extenders are asked about, from question to
 * question
 *
 * Called by:  consultations.c, which has the line they stand in. Nobody else.
 */
#pragma once

#include <stdint.h>

#include "controller/scheduler/consultations.h"
#include "controller/scheduler/framework/proposal.h"
#include "lib/base/list.h"

struct opinion;

enum stage {
    STAGE_FILTER,
    STAGE_PRIORITIZE,
    STAGE_PREEMPT,
};

struct consultation {
    struct list link; /* in line, under way or answered */
    struct consultations *owner;
    struct assignment *a;
    enum stage stage;
    unsigned turn;          /* which extender's, where one is asked at a time */
    struct opinion **asked; /* about the nodes that are left */
    unsigned n_asked;
    struct proposals proposals;
    struct list questions;
    int64_t deadline_us; /* of waiting in line */
};

struct question {
    struct list link;
    struct consultation *of;
    const struct extender *to;
    struct courier_trip *trip;
};

struct consultations {
    struct consultations_settings settings;
    struct list in_line, under_way, answered;
    unsigned n_parked, n_under_way;
    int64_t told_us;     /* of a failure, in the log */
    int64_t patience_us; /* the longest any extender may take */
};

void consultation_free(struct consultation *c);

/* Asks the next that filters, and at the end those that prioritize; the next
 * that has a say in preemption.
 */
void consultation_filter(struct consultation *c);
void consultation_preempt(struct consultation *c);

/* Those in line, while there is room (consultations.c). */
void consultations_begin_next(struct consultations *cs);
