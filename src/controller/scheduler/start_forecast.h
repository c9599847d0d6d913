/* SPDX-License-Identifier: Apache-2.0 */
/* start_forecast.h - when those who wait start, with those that are before them
 *
 * It is made anew every few seconds while a pod waits, for the first of the
 * order. Only the times of it are told: in a pod's cause (recorder.h), and by
 * `why`.
 *
 * Called by:  setup.c (life), scheduler.c (tick), explain.c (time), and those
 *             who know of nodes and partitions (event_handlers.c).
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

/* Change. Nodes changed: they, or partitions, are others now. Tick: it is made
 * anew when it is time, and its pods are told.
 */
void scheduler_forecast_nodes_changed(struct scheduler *s);
void scheduler_tick_forecast(struct scheduler *s);

/* A cycle found when the pod could start if nobody were before it (from_us; 0:
 * nobody knows): what is told is what the last forecast says, if that is later.
 * Behind all that one knows, the time is as good as one that is assumed.
 */
void scheduler_forecast_note_earliest(struct scheduler *s,
                                      struct queued_pod *queued,
                                      struct pod_cause *told);

/* When the pod starts, or its group, on the real clock; 0: nobody knows. One that
 * is not in the queue (NULL) is taken to come as the last. It is made anew for
 * a pod that came since, if there is time.
 */
int64_t scheduler_forecast_us(struct scheduler *s,
                              const struct pod_view *pod,
                              const struct queued_pod *queued);
