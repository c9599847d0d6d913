/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - where the time of one cycle went
 *
 * A stopwatch with laps: each mark ends the step that began at the one before.
 * What a slow cycle says in the log, and what the metrics of the extension
 * points are made of.
 *
 * Thread: the scheduler's.
 * Source: k8s.io/utils/trace, as kube-scheduler uses it.
 */
#pragma once

#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"

struct clock;
struct strbuf;

enum step {
    STEP_SNAPSHOT,
    STEP_PREFILTER,
    STEP_FILTER,
    STEP_POSTFILTER,
    STEP_PRESCORE,
    STEP_SCORE,
    STEP_RESERVE,
    STEP_PERMIT,
};
#define STEPS 8

struct steps {
    struct clock *clock;
    int64_t began_us;
    int64_t last_us;
    int64_t took_us[STEPS];
    uint16_t done;           /* by bit: those that were marked */
    uint8_t verdicts[STEPS]; /* VERDICT_OK unless said */
};

void steps_begin(struct steps *s, struct clock *clock);

/* That step ends here. One that ends twice took both times. */
void steps_mark(struct steps *s, enum step step);

/* How it ended, where that was not well: the status of its metric. */
void steps_say(struct steps *s, enum step step, enum verdict verdict);

int64_t steps_total_us(const struct steps *s);

/* As a metric names it: "PreFilter". The snapshot is none of upstream's
 * extension points: "Snapshot".
 */
const char *step_name(enum step step);

/* "Snapshot 1 ms, PreFilter 0 ms, Filter 163 ms". */
void steps_format(const struct steps *s, struct strbuf *out);
