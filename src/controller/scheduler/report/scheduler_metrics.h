/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_metrics.h - the scheduler's metrics, under kube-scheduler's names
 *
 * Thread: the scheduler's; Prometheus reads them from any.
 * Source: kube-scheduler, metrics/metrics.go.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct scheduler_metrics;
struct metric_registry;
struct profile;
struct scheduler_counts;
struct cycle_trace;

enum attempt_result {
    ATTEMPT_SCHEDULED,
    ATTEMPT_UNSCHEDULABLE,
    ATTEMPT_ERROR,
};

/* New returns NULL if the registry is NULL. All calls accept m NULL. */
void scheduler_metrics_free(struct scheduler_metrics *m);
struct scheduler_metrics *scheduler_metrics_new(struct metric_registry *registry);
DEFINE_CLEANUP(struct scheduler_metrics, scheduler_metrics_free)

/* An attempt has ended; for a placed pod, when its binding has. */
void scheduler_metrics_attempt(struct scheduler_metrics *m, const char *profile,
                               enum attempt_result result, int64_t took_us);
void scheduler_metrics_algorithm(struct scheduler_metrics *m, int64_t took_us);

/* Counts the extension points that a cycle went through. */
void scheduler_metrics_cycle(struct scheduler_metrics *m, const char *profile,
                             const struct cycle_trace *t);

/* Counts an extension point of the binding cycle ("PreBind"). */
void scheduler_metrics_point(struct scheduler_metrics *m, const char *profile, const char *point,
                             enum verdict verdict, int64_t took_us);

/* How long a pod waited for Permit; result: "allowed", "rejected" or "timeout".
 */
void scheduler_metrics_permit_wait(struct scheduler_metrics *m, const char *result,
                                   int64_t waited_us);

/* An event ("NodeAdd") has moved a pod to a queue ("active"). */
void scheduler_metrics_incoming(struct scheduler_metrics *m, const char *queue, const char *event);

/* Preemption was tried, with that number of victims. */
void scheduler_metrics_preemption(struct scheduler_metrics *m, unsigned victims);

/* A change in the cluster was handled. */
void scheduler_metrics_event_handled(struct scheduler_metrics *m, const char *event,
                                     int64_t took_us);

/* A call of that kind ("pod_binding") to the API has ended. */
void scheduler_metrics_call(struct scheduler_metrics *m, const char *kind, bool has_succeeded,
                            int64_t took_us);

/* Sets how many calls of that kind wait. */
void scheduler_metrics_waiting_calls(struct scheduler_metrics *m, const char *kind, size_t count);

void scheduler_metrics_placed(struct scheduler_metrics *m, unsigned attempts, int64_t waited_us);
void scheduler_metrics_counts(struct scheduler_metrics *m, const struct scheduler_counts *counts);

/* How many waiting pods each plugin of the profile has rejected, and how often
 * each plugin was called.
 */
void scheduler_metrics_profile(struct scheduler_metrics *m, const struct profile *profile);

/* Sets how many events are kept for pods in flight. */
void scheduler_metrics_in_flight(struct scheduler_metrics *m, const char *event, size_t count);

/* Counts how long a plugin took at an extension point. */
void scheduler_metrics_plugin(struct scheduler_metrics *m, const char *plugin, const char *point,
                              enum verdict verdict, int64_t took_us);

/* Counts how long a hint took for an event. */
void scheduler_metrics_hint(struct scheduler_metrics *m, const char *plugin, const char *event,
                            bool is_helping, int64_t took_us);

/* A victim was evicted, or could not be. */
void scheduler_metrics_eviction(struct scheduler_metrics *m, bool has_succeeded, int64_t took_us);

/* The volumes of a pod could not be reserved ("assume") or bound ("bind"). */
void scheduler_metrics_volume_failed(struct scheduler_metrics *m, const char *stage);
