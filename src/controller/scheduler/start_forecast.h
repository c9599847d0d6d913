/* SPDX-License-Identifier: Apache-2.0 */
/* start_forecast.h - when waiting pods start, behind the pods before them
 *
 * A new forecast is made every few seconds while a pod waits, for the first
 * pods in the order. Only its start times are reported: in a pod's cause
 * (recorder.h) and by `why`.
 *
 * Called by:  setup.c (life), scheduler.c (tick), explain.c (time),
 *             wait_report.c (earliest start), and event_handlers.c, which knows
 *             of nodes and partitions.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct pod_cause;
struct pod_view;
struct queued_pod;
struct scheduler;
struct start_forecast;

/* Life */
void start_forecast_free(struct start_forecast *f);
struct start_forecast *start_forecast_new(void) OWNED_BY(start_forecast_free);

/* Change. Nodes changed: nodes or partitions have changed. Tick: makes a new
 * forecast when it is due, and reports it for its pods.
 */
void scheduler_forecast_nodes_changed(struct scheduler *s);
void scheduler_tick_forecast(struct scheduler *s);

/* A cycle has found when the pod could start if no pod were before it (from_us;
 * 0: not known). If the last forecast says a later time, `told` gets that. If
 * the pod is behind the end of the forecast, its time is marked as assumed.
 */
void scheduler_forecast_note_earliest(struct scheduler *s, struct queued_pod *queued,
                                      struct pod_cause *told);

/* When the pod or its group starts, on the real clock; 0: not known. A pod that
 * is not in the queue (NULL) counts as the last one. For a pod that came after
 * the last forecast a new one is made, if there is time.
 */
int64_t scheduler_forecast_us(struct scheduler *s, const struct pod_view *pod,
                              const struct queued_pod *queued);
