/* SPDX-License-Identifier: Apache-2.0 */
/* start_forecast.h - when waiting pods start
 *
 * While pods wait, and after something has happened, the scheduler is simulated
 * for the first pods in the order, on another thread (start_simulation.h). The times that it finds are reported in the causes of
 * the pods (recorder.h) and by `why`. Nothing is decided by them.
 *
 * Owns:       the simulation that is prepared or running.
 * Called by:  setup.c (life), scheduler.c (tick), explain.c (times), wait_report.c
 *             (the time in a report), and event_handlers.c, which knows what happens.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct forecast_parts;
struct object;
struct pod_cause;
struct pod_view;
struct queued_pod;
struct start_forecast;

/* Life */
void start_forecast_free(struct start_forecast *f);
struct start_forecast *start_forecast_new(const struct forecast_parts *parts)
    OWNED_BY(start_forecast_free);

/* Something has happened after which pods may start at other times. */
void start_forecast_changed(struct start_forecast *f);

/* A pod was added, changed or removed, after which pods may start at other times. */
void start_forecast_pod_changed(struct start_forecast *f, const struct object *old_object,
                                const struct object *new_object);

/* Works on the forecast, if one is due. */
void start_forecast_tick(struct start_forecast *f);

/* Sets the time in the report of a pod that waits for room. */
void start_forecast_report(const struct queued_pod *queued, struct pod_cause *told);

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
struct start_time start_forecast_find(struct start_forecast *f, struct pod_view *pod,
                                      const struct queued_pod *queued);
