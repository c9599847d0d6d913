/* SPDX-License-Identifier: Apache-2.0 */
/* start_forecast.h - when waiting pods start
 *
 * While pods wait, and after something has happened, the scheduler is simulated
 * for the first pods in the order, on another thread (start_simulation.h). The times that it finds are reported in the causes of
 * the pods (recorder.h) and by `why`. Nothing is decided by them.
 *
 * Called by:  setup.c (life), scheduler.c (tick), explain.c (times),
 *             wait_report.c (the time in a report), and event_handlers.c and
 *             node_reservation_events.c, which know what happens.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct object;
struct pod_cause;
struct pod_view;
struct queued_pod;
struct scheduler;
struct start_forecast;

/* Life */
void start_forecast_free(struct start_forecast *f);
struct start_forecast *start_forecast_new(void) OWNED_BY(start_forecast_free);

/* Change. Changed: something happened after which pods may start at other
 * times. Pod changed: a pod came, changed or went, which may be such a change.
 * Tick: works on the forecast, if one is due.
 */
void scheduler_forecast_changed(struct scheduler *s);
void scheduler_forecast_pod_changed(struct scheduler *s, const struct object *old_object,
                                    const struct object *new_object);
void scheduler_tick_forecast(struct scheduler *s);

/* Sets the time in the report of a pod that waits for room. */
void scheduler_forecast_report(struct scheduler *s, const struct queued_pod *queued,
                               struct pod_cause *told);

/* When the pod starts, on the real clock. 0: that is not known, because it is
 * behind the first pods, because no end of a pod lets it start, or because there
 * was not enough time. A pod that is not in the queue (queued NULL) would come
 * now. For a pod that has no time yet, a forecast is made, if that is quick.
 */
struct start_time {
    int64_t from_us;
    int64_t by_limits_us; /* if all pods run as long as they may; 0: not known */
    bool is_assumed;      /* pods without a limit are assumed to end before */
};
struct start_time scheduler_forecast(struct scheduler *s, struct pod_view *pod,
                                     const struct queued_pod *queued);
