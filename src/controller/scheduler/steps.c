/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/steps.h"

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

static const char *const names[STEPS] = {
    [STEP_SNAPSHOT] = "Snapshot",
    [STEP_PREFILTER] = "PreFilter",
    [STEP_FILTER] = "Filter",
    [STEP_POSTFILTER] = "PostFilter",
    [STEP_PRESCORE] = "PreScore",
    [STEP_SCORE] = "Score",
    [STEP_RESERVE] = "Reserve",
    [STEP_PERMIT] = "Permit",
};

void
steps_begin(struct steps *s, struct clock *clock)
{
    int64_t now_us = clock_monotonic_us(clock);

    *s = (struct steps){
        .clock = clock,
        .began_us = now_us,
        .last_us = now_us,
    };
}

void
steps_mark(struct steps *s, enum step step)
{
    int64_t now_us = clock_monotonic_us(s->clock);

    s->took_us[step] += now_us - s->last_us;
    s->last_us = now_us;
    s->done |= (uint16_t)(1u << step);
}

void
steps_say(struct steps *s, enum step step, enum verdict verdict)
{
    s->verdicts[step] = (uint8_t)verdict;
}

int64_t
steps_total_us(const struct steps *s)
{
    return s->last_us - s->began_us;
}

const char *
step_name(enum step step)
{
    return names[step];
}

void
steps_format(const struct steps *s, struct strbuf *out)
{
    const char *comma = "";

    for (unsigned i = 0; i < STEPS; i++) {
        if ((s->done & (1u << i)) == 0)
            continue;
        strbuf_printf(out,
                      "%s%s %lld ms",
                      comma,
                      names[i],
                      (long long)(s->took_us[i] / 1000));
        comma = ", ";
    }
}
