/* SPDX-License-Identifier: Apache-2.0 */
/* step_result.c - what the agent is told about the tasks (step_figures.h) */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "step/step_state.h"

#define PAGE           4096
#define CLOCK_DRIFT    10000 /* one part in so many between two machines */
#define CLOCK_SLACK_MS 10

/* Without a file, the numbers are for nobody. */
void
step_result_open(struct step *s)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, STEP_FIGURES_FD, 0);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    s->figures = page != MAP_FAILED ? page : xnew(struct step_figures);
    if (null < 0 || dup2(null, STEP_FIGURES_FD) < 0)
        close(STEP_FIGURES_FD);
    if (null > STEP_FIGURES_FD)
        close(null);
    s->figures->version = STEP_FIGURES_VERSION;
}

static int64_t
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void
step_result_accept(struct step *s)
{
    s->accepted_ms = now_ms();
}

void
step_result_begin(struct step *s)
{
    s->figures->tasks = s->n_tasks;
    s->figures->flags |= STEP_FIGURES_BEGAN;
}

void
step_result_end(struct step *s)
{
    s->figures->flags |= STEP_FIGURES_OVER;
}

/* Of a step on several nodes krun adds them, and tells the step manager. */
void
step_result_send(struct step *s)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    step_figures_format(s->figures, &text);
    step_frame_add(&s->link.out, &(struct step_frame){
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
step_result_note_signal(struct step *s)
{
    const int64_t limit_ms = s->request.time_limit_s * 1000;

    if (limit_ms > 0 && s->n_running > 0
        && now_ms() - s->accepted_ms >= limit_ms - limit_ms / CLOCK_DRIFT - CLOCK_SLACK_MS)
        s->figures->flags |= STEP_FIGURES_TIMED_OUT;
}

void
step_result_add_exit(struct step *s, const struct step_exit *end)
{
    struct step_figures *o = s->figures;
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
step_result_add_usage(struct step *s, const struct rusage *usage)
{
    struct step_figures *o = s->figures;
    const uint64_t peak = (uint64_t)usage->ru_maxrss * 1024;

    o->cpu_user_us += microseconds(&usage->ru_utime);
    o->cpu_system_us += microseconds(&usage->ru_stime);
    if (peak > o->peak_memory_bytes)
        o->peak_memory_bytes = peak;
}
