/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/cycle_trace.h"

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

static const char *const names[STEPS] = {
    [STEP_SNAPSHOT] = "Snapshot",     [STEP_PREFILTER] = "PreFilter", [STEP_FILTER] = "Filter",
    [STEP_POSTFILTER] = "PostFilter", [STEP_PRESCORE] = "PreScore",   [STEP_SCORE] = "Score",
    [STEP_RESERVE] = "Reserve",       [STEP_PERMIT] = "Permit",
};

void
cycle_trace_begin(struct cycle_trace *t, struct clock *clock)
{
    int64_t now_us = clock_monotonic_us(clock);

    *t = (struct cycle_trace){
        .clock = clock,
        .began_us = now_us,
        .last_us = now_us,
    };
}

void
cycle_trace_mark(struct cycle_trace *t, enum cycle_step step)
{
    int64_t now_us = clock_monotonic_us(t->clock);

    t->took_us[step] += now_us - t->last_us;
    t->last_us = now_us;
    t->done |= (uint16_t)(1u << step);
}

void
cycle_trace_set_verdict(struct cycle_trace *t, enum cycle_step step, enum verdict verdict)
{
    t->verdicts[step] = (uint8_t)verdict;
}

int64_t
cycle_trace_total_us(const struct cycle_trace *t)
{
    return t->last_us - t->began_us;
}

const char *
cycle_step_name(enum cycle_step step)
{
    return names[step];
}

void
cycle_trace_format(const struct cycle_trace *t, struct strbuf *out)
{
    const char *comma = "";

    for (unsigned i = 0; i < STEPS; i++) {
        if ((t->done & (1u << i)) == 0)
            continue;
        strbuf_printf(out, "%s%s %lld ms", comma, names[i], (long long)(t->took_us[i] / 1000));
        comma = ", ";
    }
}
