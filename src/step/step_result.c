/* SPDX-License-Identifier: Apache-2.0 */
/* step_result.c - what the agent is told about the tasks
 *
 * Nobody may be there to read it: the agent is restarted, krun is killed. So each fact is written
 * when it is known, into memory that is the agent's file, and nothing has to be sent at the end.
 */
#include "step/step_result.h"

#include <sys/resource.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_figures.h"
#include "lib/step/step_frames.h"
#include "step/step_link.h"

#define CLOCK_DRIFT    10000 /* one part in so many between two machines */
#define CLOCK_SLACK_MS 10

struct step_result {
    struct step_figures *figures;
    int64_t accepted_ms; /* monotonic; before krun was told */
};

struct step_result *
step_result_new(struct step_figures *figures)
{
    struct step_result *r = xnew(struct step_result);

    r->figures = figures;
    r->figures->version = STEP_FIGURES_VERSION;
    return r;
}

void
step_result_accept(struct step_result *r, int64_t now_ms)
{
    r->accepted_ms = now_ms;
}

void
step_result_begin(struct step_result *r, unsigned n_tasks)
{
    r->figures->tasks = n_tasks;
    r->figures->flags |= STEP_FIGURES_BEGAN;
}

void
step_result_end(struct step_result *r)
{
    r->figures->flags |= STEP_FIGURES_OVER;
}

void
step_result_cancel(struct step_result *r)
{
    r->figures->flags |= STEP_FIGURES_CANCELLED;
}

const struct step_figures *
step_result_figures(const struct step_result *r)
{
    return r->figures;
}

/* Of a step on several nodes krun adds them, and tells the step manager. */
void
step_result_send(const struct step_result *r, struct step_link *link)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    step_figures_format(r->figures, &text);
    step_frame_add(step_link_out(link), &(struct step_frame){
                                            .type = STEP_FRAME_END,
                                            .task = STEP_ALL_TASKS,
                                            .payload = text.text,
                                            .length = text.length,
                                        });
}

/* Krun ends the tasks at the time limit, which it counts from when all nodes have
 * accepted the step. The tasks begin later: on a busy node by any time, and on several
 * nodes when krun has told them to. The clock of another machine goes a little faster
 * or slower.
 */
void
step_result_note_signal(struct step_result *r, int64_t time_limit_s, int64_t now_ms)
{
    const int64_t limit_ms = time_limit_s * 1000;

    if (limit_ms > 0
        && now_ms - r->accepted_ms >= limit_ms - limit_ms / CLOCK_DRIFT - CLOCK_SLACK_MS)
        r->figures->flags |= STEP_FIGURES_TIMED_OUT;
}

void
step_result_add_exit(struct step_result *r, const struct step_exit *end)
{
    struct step_figures *o = r->figures;
    const uint32_t code = end->signal != 0 ? 128 + end->signal : end->exit_code;

    if (code <= o->exit_code)
        return;
    o->exit_code = code;
    o->signal = end->signal;
}

static uint64_t
microseconds(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

void
step_result_add_usage(struct step_result *r, const struct rusage *usage)
{
    struct step_figures *o = r->figures;
    const uint64_t peak = (uint64_t)usage->ru_maxrss * 1024;

    o->cpu_user_us += microseconds(&usage->ru_utime);
    o->cpu_system_us += microseconds(&usage->ru_stime);
    step_result_add_peak(r, peak);
}

void
step_result_add_peak(struct step_result *r, uint64_t bytes)
{
    if (bytes > r->figures->peak_memory_bytes)
        r->figures->peak_memory_bytes = bytes;
}
