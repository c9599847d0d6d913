/* SPDX-License-Identifier: Apache-2.0 */
/* The forecast: when it is made, and what is reported of it.
 *
 * The scheduler's thread collects what is simulated; another thread runs the
 * simulation, if there is one.
 *
 * A forecast has two parts. In the first, pods run as long as is predicted from
 * the earlier jobs of their users (order/run_history.h): its times are what
 * people see. In the second, all pods use up their limits; it is made only if
 * the predictions differ from the limits.
 *
 * A time that was reported stays until the forecast differs from it by a minute,
 * or by a twentieth of the wait. The forecast promises nothing and reserves
 * nothing.
 */
#include "controller/scheduler/start_forecast.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/explain/wait_cause.h"
#include "controller/scheduler/forecast_input.h"
#include "controller/scheduler/framework/cluster_event.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/queue/queue.h"
#include "controller/scheduler/report/recorder.h"
#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/start_simulation.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/base/time_share.h"

/* How many pods one forecast is made for. */
#define FORECAST_MOST 2000u

/* How often a forecast is made at the most, that it takes at most one part in
 * this many of a processor's time, and how old it may become although nothing has
 * happened.
 */
#define FORECAST_EVERY_US INT64_C(2000000)
#define FORECAST_SHARE    20
#define FORECAST_OLD_US   INT64_C(60000000)

/* The scheduler's thread collects for this long in one tick. The simulation
 * ends after this much time: then the pods that have not started get no time.
 */
#define SLICE_US INT64_C(2000)
#define WORK_US  INT64_C(20000000)

/* A question waits for a forecast as long as this, if the last one was as quick,
 * and while such questions take less than a tenth of the thread.
 */
#define ANSWER_US        INT64_C(10000)
#define ANSWER_WINDOW_US INT64_C(100000)

/* Times that differ by less are reported as the same. */
#define SAME_US    INT64_C(60000000)
#define SAME_SHARE 20

/* A simulation on another thread. Only that thread uses the input until `done`
 * is called on the scheduler's thread.
 */
struct forecast_work {
    struct start_forecast *forecast; /* NULL: nobody wants the result any more */
    struct forecast_input *input;
    atomic_bool is_cancelled;
    int64_t ran_us;
};

struct start_forecast {
    struct forecast_parts parts;
    struct forecast_input *input; /* being collected; or NULL */
    struct forecast_work *work;   /* being simulated; or NULL */
    bool is_stale;                /* something happened since the last one began */
    uint64_t number;              /* of the last one; 0: none was made */
    int64_t began_us;             /* on the monotonic clock */
    int64_t spent_us, took_us;    /* the processor's time for this one, and the last */
    int64_t first_us;             /* the first start in it; INT64_MAX: none */
    struct time_share questions;
};

/* Its input is freed when the other thread has let go of it. */
static void
abandon(struct start_forecast *f)
{
    if (f->work != NULL) {
        f->work->forecast = NULL;
        atomic_store(&f->work->is_cancelled, true);
    }
    f->work = NULL;
    forecast_input_free(f->input);
    f->input = NULL;
}

void
start_forecast_free(struct start_forecast *f)
{
    if (f == NULL)
        return;
    abandon(f);
    free(f);
}

struct start_forecast *
start_forecast_new(const struct forecast_parts *parts)
{
    struct start_forecast *f = xnew(struct start_forecast);

    f->parts = *parts;
    f->is_stale = true;
    f->first_us = INT64_MAX;
    f->questions = (struct time_share){.most_us = ANSWER_US, .window_us = ANSWER_WINDOW_US};
    return f;
}

static int64_t
now_us(const struct start_forecast *f)
{
    return clock_monotonic_us(f->parts.settings->clock);
}

/* ---- Results ---- */

/* A pod that starts too late for its deadline gets no time: its Job ends
 * before.
 */
static int64_t
told_us(const struct queued_pod *queued)
{
    return pod_view_is_in_time(queued->pod, queued->forecast_us) ? queued->forecast_us : 0;
}

static void
report_start(struct start_forecast *f, const struct queued_pod *queued)
{
    const struct pod_cause *cause = recorder_cause(f->parts.recorder, queued->pod);

    if (cause != NULL && wait_cause_is_for_room(cause->code))
        recorder_set_start(f->parts.recorder, queued->pod, told_us(queued),
                           queued->is_start_assumed);
}

static bool
is_same_time(const struct start_forecast *f, int64_t old_us, int64_t new_us)
{
    int64_t real_us = clock_real_us(f->parts.settings->clock);
    int64_t most_us = (old_us - real_us) / SAME_SHARE;

    if (old_us <= real_us || new_us == 0)
        return old_us == new_us;
    return llabs(new_us - old_us) <= (most_us > SAME_US ? most_us : SAME_US);
}

static void
set_time(struct start_forecast *f, struct queued_pod *queued, const struct simulated_start *start,
         int64_t by_limits_us)
{
    if (start->at_us > 0 && start->at_us < f->first_us)
        f->first_us = start->at_us;
    queued->forecast = f->number;
    if (!is_same_time(f, queued->forecast_us, start->at_us))
        queued->forecast_us = start->at_us;
    if (!is_same_time(f, queued->by_limits_us, by_limits_us))
        queued->by_limits_us = by_limits_us;
    queued->is_start_assumed = start->is_assumed;
    report_start(f, queued);
}

/* The pods that still wait get their times. */
static void
finish(struct start_forecast *f, const struct forecast_input *in)
{
    f->number++;
    f->first_us = INT64_MAX;
    f->took_us = f->spent_us;
    for (size_t i = 0; i < forecast_input_count(in); i++) {
        struct pod_view *pod = forecast_input_pod(in, i);
        struct queued_pod *queued = queue_find_to_change(f->parts.queue, pod->namespace, pod->name);
        struct simulated_start start = forecast_input_start(in, FORECAST_BY_PREDICTION, i);

        if (queued != NULL && pod_view_is_same(queued->pod, pod))
            set_time(f, queued, &start, forecast_input_start(in, FORECAST_BY_LIMITS, i).at_us);
    }
}

/* ---- The work ---- */

static void
begin(struct start_forecast *f)
{
    f->input = forecast_input_new(&f->parts, FORECAST_MOST, NULL);
    f->began_us = now_us(f);
    f->is_stale = false;
    f->spent_us = 0;
}

/* Collects for that long; false: more is left. */
static bool
collect(struct start_forecast *f, struct forecast_input *in, int64_t most_us)
{
    int64_t until_us = now_us(f) + most_us;
    bool is_more = true;

    while (is_more && now_us(f) < until_us)
        is_more = forecast_input_collect(in);
    return !is_more;
}

/* On another thread. */
static void
run_work(void *arg)
{
    struct forecast_work *work = arg;
    int64_t began_us = time_share_thread_cpu_us();

    forecast_input_run(work->input, WORK_US, &work->is_cancelled);
    work->ran_us = time_share_thread_cpu_us() - began_us;
}

static void
work_done(void *arg)
{
    struct forecast_work *work = arg;

    if (work->forecast != NULL) {
        work->forecast->work = NULL;
        work->forecast->spent_us += work->ran_us;
        finish(work->forecast, work->input);
    }
    forecast_input_free(work->input);
    free(work);
}

static void
simulate(struct start_forecast *f)
{
    struct forecast_work *work = xnew(struct forecast_work);

    work->forecast = f;
    work->input = f->input;
    f->input = NULL;
    f->work = work;
    if (f->parts.settings->run_aside != NULL) {
        f->parts.settings->run_aside(run_work, work_done, work, f->parts.settings->aside_context);
        return;
    }
    run_work(work);
    work_done(work);
}

/* ---- When ---- */

static bool
has_waiting(const struct start_forecast *f)
{
    struct queue_counts counts = queue_count(f->parts.queue);

    return counts.active + counts.backoff + counts.unschedulable > 0;
}

/* Also when a pod did not start at its time: another one runs longer than was
 * predicted.
 */
static bool
is_due(const struct start_forecast *f)
{
    int64_t age_us = now_us(f) - f->began_us, every_us = f->took_us * FORECAST_SHARE;

    if (f->began_us == 0)
        return true;
    if (every_us < FORECAST_EVERY_US)
        every_us = FORECAST_EVERY_US;
    return age_us >= every_us
           && (f->is_stale || age_us >= FORECAST_OLD_US
               || f->first_us <= clock_real_us(f->parts.settings->clock));
}

void
start_forecast_tick(struct start_forecast *f)
{
    int64_t began_us;
    bool is_collected;

    if (f->parts.settings->without_forecast || f->parts.settings->is_simulation || f->work != NULL
        || !f->parts.is_timed)
        return;
    if (f->input == NULL && (!has_waiting(f) || !is_due(f)))
        return;
    if (f->input == NULL)
        begin(f);
    began_us = time_share_thread_cpu_us();
    is_collected = collect(f, f->input, SLICE_US);
    f->spent_us += time_share_thread_cpu_us() - began_us;
    if (is_collected)
        simulate(f);
}

void
start_forecast_changed(struct start_forecast *f)
{
    f->is_stale = true;
}

static const char *
note_of(const struct object *pod, const char *name)
{
    return string_map_find(&pod->meta->annotations, name);
}

static int64_t
number_of(const int64_t *number)
{
    return number != NULL ? *number : 0;
}

/* Whether it waits or runs otherwise than before; reports of its status do not
 * count.
 */
static bool
has_changed(const struct object *a, const struct object *b)
{
    const struct pod *x = pod_of(a), *y = pod_of(b);
    struct cluster_event events[EVENTS_OF_UPDATE];
    unsigned n;

    if (!text_equals_loosely(x->spec.node_name, y->spec.node_name)
        || pod_is_finished(x) != pod_is_finished(y) || pod_is_frozen(x) != pod_is_frozen(y)
        || x->status.start_at_us != y->status.start_at_us
        || x->meta.deleted_at_us != y->meta.deleted_at_us
        || number_of(x->spec.active_deadline_seconds) != number_of(y->spec.active_deadline_seconds)
        || number_of(x->spec.priority) != number_of(y->spec.priority)
        || !text_equals_loosely(note_of(a, ANNOTATION_YIELD), note_of(b, ANNOTATION_YIELD))
        || !text_equals_loosely(note_of(a, ANNOTATION_UPDATE), note_of(b, ANNOTATION_UPDATE))
        || !text_equals_loosely(note_of(a, ANNOTATION_HOLD), note_of(b, ANNOTATION_HOLD)))
        return true;
    n = events_of_pod_update(a, b, true, events);
    for (unsigned i = 0; i < n; i++)
        if (events[i].actions != ACTION_UPDATE_OTHER)
            return true;
    return false;
}

void
start_forecast_pod_changed(struct start_forecast *f, const struct object *old_object,
                           const struct object *new_object)
{
    f->is_stale |= old_object == NULL || new_object == NULL || has_changed(old_object, new_object);
}

/* ---- Questions ---- */

void
start_forecast_report(const struct queued_pod *queued, struct pod_cause *told)
{
    told->from_us = queued->forecast_us;
    told->is_assumed = queued->is_start_assumed;
}

/* Makes a forecast at once, unless that takes long. NULL: it takes too long. The
 * caller frees the result.
 */
static struct forecast_input *
make_at_once(struct start_forecast *f, struct pod_view *candidate)
{
    struct forecast_input *in;
    int64_t began_us, until_us;
    bool is_whole = false;

    f->questions.clock = f->parts.settings->clock;
    if (f->parts.settings->without_forecast || f->took_us >= ANSWER_US || !f->parts.is_timed
        || !time_share_is_open(&f->questions))
        return NULL;
    began_us = time_share_begin(&f->questions);
    until_us = now_us(f) + ANSWER_US;
    in = forecast_input_new(&f->parts, FORECAST_MOST, candidate);
    if (collect(f, in, ANSWER_US))
        is_whole = forecast_input_run(in, until_us - now_us(f), NULL);
    time_share_end(&f->questions, began_us);
    if (is_whole)
        return in;
    f->took_us = ANSWER_US;
    forecast_input_free(in);
    return NULL;
}

/* The pod has no time yet. */
static void
hurry(struct start_forecast *f)
{
    CLEANUP(forecast_input_freep) struct forecast_input *in = make_at_once(f, NULL);

    if (in != NULL)
        finish(f, in);
}

struct start_time
start_forecast_find(struct start_forecast *f, struct pod_view *pod, const struct queued_pod *queued)
{
    CLEANUP(forecast_input_freep) struct forecast_input *in = NULL;
    struct simulated_start start;
    size_t last;

    if (queued != NULL) {
        if (queued->forecast == 0)
            hurry(f);
        return (struct start_time){
            .from_us = queued->forecast_us,
            .by_limits_us = queued->by_limits_us,
            .is_assumed = queued->is_start_assumed,
        };
    }
    in = make_at_once(f, pod);
    if (in == NULL || forecast_input_is_full(in))
        return (struct start_time){0};
    last = forecast_input_count(in) - 1;
    start = forecast_input_start(in, FORECAST_BY_PREDICTION, last);
    return (struct start_time){
        .from_us = start.at_us,
        .by_limits_us = forecast_input_start(in, FORECAST_BY_LIMITS, last).at_us,
        .is_assumed = start.is_assumed,
    };
}
