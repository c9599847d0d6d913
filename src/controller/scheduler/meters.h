/* SPDX-License-Identifier: Apache-2.0 */
/* meters.h - the scheduler's metrics, under kube-scheduler's names
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

struct meters;
struct metric_registry;
struct profile;
struct scheduler_counts;
struct steps;

enum meter_result {
    METER_SCHEDULED,
    METER_UNSCHEDULABLE,
    METER_ERROR,
};

/* NULL from a NULL registry, and every call takes that. */
void meters_free(struct meters *m);
struct meters *meters_new(struct metric_registry *registry);
DEFINE_CLEANUP(struct meters, meters_free)

/* An attempt has ended: a placed pod's with its binding. */
void meters_attempt(struct meters *m,
                    const char *profile,
                    enum meter_result result,
                    int64_t took_us);
void meters_algorithm(struct meters *m, int64_t took_us);

/* The extension points a cycle went through; and one of those that run in the
 * background ("PreBind").
 */
void meters_steps(struct meters *m, const char *profile, const struct steps *s);
void meters_point(struct meters *m,
                  const char *profile,
                  const char *point,
                  enum verdict verdict,
                  int64_t took_us);

/* How long a pod waited to be permitted: "allowed", "rejected" or "timeout". */
void
meters_permit_wait(struct meters *m, const char *result, int64_t waited_us);

/* A pod came to a queue ("active") by an event ("NodeAdd"). */
void meters_incoming(struct meters *m, const char *queue, const char *event);

/* Room was made, or not, by ending so many pods. */
void meters_preemption(struct meters *m, unsigned victims);

/* Something that happened in the cluster was taken note of. */
void meters_event_handled(struct meters *m, const char *event, int64_t took_us);

/* A call of the API has ended; so many wait, of that kind ("pod_binding"). */
void meters_call(struct meters *m,
                 const char *kind,
                 bool has_succeeded,
                 int64_t took_us);
void meters_waiting_calls(struct meters *m, const char *kind, size_t count);

void meters_placed(struct meters *m, unsigned attempts, int64_t waited_us);
void meters_counts(struct meters *m, const struct scheduler_counts *counts);

/* How many waiting pods each plugin of the profile has rejected, and how often
 * it was asked.
 */
void meters_profile(struct meters *m, const struct profile *profile);

/* So many events are kept for pods in flight. A plugin took so long at a point,
 * a hint for an event. A victim was ended, or could not be.
 */
void meters_in_flight(struct meters *m, const char *event, size_t count);
void meters_plugin(struct meters *m,
                   const char *plugin,
                   const char *point,
                   enum verdict verdict,
                   int64_t took_us);
void meters_hint(struct meters *m,
                 const char *plugin,
                 const char *event,
                 bool is_helping,
                 int64_t took_us);
void meters_eviction(struct meters *m, bool has_succeeded, int64_t took_us);

/* A pod's volumes could not be kept for it ("assume") or given to it ("bind").
 */
void meters_volume_failed(struct meters *m, const char *stage);
