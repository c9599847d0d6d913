/* SPDX-License-Identifier: Apache-2.0 */
/* cycle_trace.h - how the time of one cycle was spent
 *
 * A stopwatch with laps: each mark ends the step that began at the last mark.
 * The log of a slow cycle and the metrics of the extension points use it.
 *
 * Thread: the scheduler's.
 * Source: k8s.io/utils/trace, as kube-scheduler uses it.
 */
#pragma once

#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"

struct clock;
struct strbuf;

enum cycle_step {
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

struct cycle_trace {
    struct clock *clock;
    int64_t began_us;
    int64_t last_us;
    int64_t took_us[STEPS];
    uint16_t done;           /* one bit for each marked step */
    uint8_t verdicts[STEPS]; /* VERDICT_OK unless set */
};

void cycle_trace_begin(struct cycle_trace *t, struct clock *clock);

/* The step ends here. A step that is marked twice has the sum of both times. */
void cycle_trace_mark(struct cycle_trace *t, enum cycle_step step);

/* The result of a step that did not end well: the status of its metric. */
void cycle_trace_set_verdict(struct cycle_trace *t, enum cycle_step step, enum verdict verdict);

int64_t cycle_trace_total_us(const struct cycle_trace *t);

/* The name of the step in metrics, such as "PreFilter". "Snapshot" is not one
 * of upstream's extension points.
 */
const char *cycle_step_name(enum cycle_step step);

/* Example: "Snapshot 1 ms, PreFilter 0 ms, Filter 163 ms". */
void cycle_trace_format(const struct cycle_trace *t, struct strbuf *out);
