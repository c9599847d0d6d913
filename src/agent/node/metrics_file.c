/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/metrics_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/pods.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/metric.h"
#include "lib/base/strbuf.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"
#include "lib/program/process_metrics.h"

#define EVERY_MS 15000

struct metrics_file {
    const struct agent_context *agent;
    const struct pods *pods;
    char *path;
    struct metric_registry *registry;
    struct metric *running;
    struct metric *over;
    struct metric *heard;
    struct timer *timer;
    bool is_stopped;
    int result; /* of the last write, set by the worker */
    struct error error;
    bool is_said;
};

static void
write_work(void *arg)
{
    struct metrics_file *f = arg;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    f->error = (struct error){0};
    metric_format(f->registry, &text);
    f->result = file_write_atomic(f->path, 0644, text.text, text.length, &f->error);
}

static void
write_done(void *arg)
{
    struct metrics_file *f = arg;

    if (f->result < 0 && !f->is_said)
        log_warning("metricsFile: %s, trying again", f->error.text);
    f->is_said = f->result < 0;
    if (!f->is_stopped)
        timer_start(f->timer, EVERY_MS);
}

static void
begin(void *arg)
{
    struct metrics_file *f = arg;

    metric_set(f->running, (double)pods_count_running(f->pods));
    workers_submit(f->agent->workers, f->agent->loop, write_work, write_done, f);
}

struct metrics_file *
metrics_file_new(const struct agent_context *agent, const struct pods *pods, const char *path)
{
    struct metrics_file *f = xnew(struct metrics_file);

    f->agent = agent;
    f->pods = pods;
    f->path = xstrdup(path);
    f->registry = metric_registry_new();
    process_metrics_add(f->registry, agent->state_dir);
    f->running = metric_series(metric_gauge(f->registry, "kiln_agent_pods",
                                            "Pods of this node that hold cores "
                                            "or other resources.",
                                            NULL));
    f->over = metric_series(metric_counter(f->registry, "kiln_agent_pods_over_total",
                                           "Pods that have ended on this "
                                           "node, since the agent started.",
                                           NULL));
    f->heard = metric_series(metric_gauge(f->registry, "kiln_agent_heard_timestamp_seconds",
                                          "When the controller last "
                                          "acknowledged a heartbeat, in "
                                          "seconds since 1970; 0: never.",
                                          NULL));
    f->timer = timer_new(agent->loop, begin, f);
    timer_start(f->timer, 0);
    return f;
}

void
metrics_file_stop(struct metrics_file *f)
{
    if (f == NULL)
        return;
    f->is_stopped = true;
    timer_stop(f->timer);
}

void
metrics_file_free(struct metrics_file *f)
{
    if (f == NULL)
        return;
    (void)unlink(f->path);
    timer_free(f->timer);
    metric_registry_free(f->registry);
    free(f->path);
    free(f);
}

void
metrics_file_note_over(struct metrics_file *f)
{
    if (f != NULL)
        metric_count(f->over, 1);
}

void
metrics_file_note_heard(struct metrics_file *f)
{
    if (f != NULL)
        metric_set(f->heard, (double)clock_real_us(f->agent->clock) / 1e6);
}
