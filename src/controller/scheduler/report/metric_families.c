/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/metric_families.h"

#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/metric.h"

static const char *const queue_names[] = {"active", "backoff", "unschedulable", "gated",
                                          "in_group"};
static const char *const cache_names[] = {"nodes", "pods", "assumed_pods"};

#define MOST_BOUNDS 24

/* The bounds of a histogram: upstream's, by start, factor and count, and finer
 * bounds below them.
 */
struct bucket_bounds {
    double at[MOST_BOUNDS];
    size_t count;
};

static struct bucket_bounds
bounds_of(double start, double factor, size_t count)
{
    struct bucket_bounds b = {.count = count};

    metric_exponential_bounds(start, factor, b.at, count);
    return b;
}

static struct bucket_bounds
finer(const double *fine, size_t n_fine, struct bucket_bounds than)
{
    struct bucket_bounds b = {.count = n_fine + than.count};

    memcpy(b.at, fine, n_fine * sizeof(*fine));
    memcpy(b.at + n_fine, than.at, than.count * sizeof(*than.at));
    return b;
}

static void
make_histograms(struct metric_families *f, struct metric_registry *registry)
{
    static const double fine[] = {1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4};
    static const double soon[] = {1e-3, 2e-3, 5e-3};
    struct bucket_bounds seconds = finer(fine, ARRAY_SIZE(fine), bounds_of(0.001, 2, 15));
    struct bucket_bounds waits = finer(soon, ARRAY_SIZE(soon), bounds_of(0.01, 2, 20));
    struct bucket_bounds attempts = bounds_of(1, 2, 5);

    f->attempt_seconds = metric_histogram(registry, "scheduler_scheduling_attempt_duration_seconds",
                                          "Scheduling attempt latency in seconds (scheduling "
                                          "algorithm + binding)",
                                          "result,profile", seconds.at, seconds.count);
    f->algorithm_seconds = metric_series(metric_histogram(
        registry, "scheduler_scheduling_algorithm_duration_seconds",
        "Scheduling algorithm latency in seconds", NULL, seconds.at, seconds.count));
    f->pod_attempts = metric_series(metric_histogram(
        registry, "scheduler_pod_scheduling_attempts",
        "Number of attempts to successfully schedule a pod.", NULL, attempts.at, attempts.count));
    f->pod_seconds = metric_histogram(registry, "scheduler_pod_scheduling_sli_duration_seconds",
                                      "E2e latency for a pod being scheduled, from the "
                                      "time the pod enters the scheduling queue",
                                      "attempts", waits.at, waits.count);
}

static void
make_framework(struct metric_families *f, struct metric_registry *registry)
{
    static const double fine[] = {1e-5, 2e-5, 5e-5};
    struct bucket_bounds points = bounds_of(0.0001, 2, 12);
    struct bucket_bounds permits = bounds_of(0.001, 2, 15);
    struct bucket_bounds events = finer(fine, ARRAY_SIZE(fine), points);

    f->point_seconds =
        metric_histogram(registry, "scheduler_framework_extension_point_duration_seconds",
                         "Latency for running all plugins of a specific "
                         "extension point.",
                         "extension_point,status,profile", points.at, points.count);
    f->permit_seconds =
        metric_histogram(registry, "scheduler_permit_wait_duration_seconds",
                         "Duration of waiting on permit.", "result", permits.at, permits.count);
    f->event_seconds =
        metric_histogram(registry, "scheduler_event_handling_duration_seconds",
                         "Event handling latency in seconds.", "event", events.at, events.count);
    f->incoming = metric_counter(registry, "scheduler_queue_incoming_pods_total",
                                 "Number of pods added to scheduling queues by "
                                 "event and queue type.",
                                 "queue,event");
    f->rejections = metric_gauge(registry, "scheduler_unschedulable_pods",
                                 "The number of unschedulable pods broken down "
                                 "by plugin name. A pod will increment the "
                                 "gauge for all plugins that caused it to not "
                                 "schedule.",
                                 "plugin,profile");
}

static void
make_preemption(struct metric_families *f, struct metric_registry *registry)
{
    struct bucket_bounds victims = bounds_of(1, 2, 7);

    f->victims = metric_series(metric_histogram(registry, "scheduler_preemption_victims",
                                                "Number of selected preemption victims", NULL,
                                                victims.at, victims.count));
    f->preemptions =
        metric_series(metric_counter(registry, "scheduler_preemption_attempts_total",
                                     "Total preemption attempts in the cluster till now", NULL));
    f->binding =
        metric_series(metric_gauge(registry, "scheduler_goroutines",
                                   "Number of running goroutines split by the work they do "
                                   "such as binding.",
                                   "operation"),
                      "binding");
}

static void
make_plugins(struct metric_families *f, struct metric_registry *registry)
{
    struct bucket_bounds seconds = bounds_of(0.00001, 1.5, 20);
    struct bucket_bounds hints = bounds_of(0.00001, 2, 12);
    struct bucket_bounds evictions = bounds_of(0.01, 2, 20);

    f->plugin_seconds =
        metric_histogram(registry, "scheduler_plugin_execution_duration_seconds",
                         "Duration for running a plugin at a specific "
                         "extension point.",
                         "plugin,extension_point,status", seconds.at, seconds.count);
    f->evaluations = metric_counter(registry, "scheduler_plugin_evaluation_total",
                                    "Number of attempts to schedule pods by "
                                    "each plugin and the extension point.",
                                    "plugin,extension_point,profile");
    f->hint_seconds =
        metric_histogram(registry, "scheduler_queueing_hint_execution_duration_seconds",
                         "Latency for running a queueing hint function of a "
                         "plugin.",
                         "plugin,event,hint", hints.at, hints.count);
    f->in_flight = metric_gauge(registry, "scheduler_inflight_events",
                                "Number of events currently tracked in the "
                                "scheduling queue.",
                                "event");
    f->evictions = metric_counter(registry, "scheduler_preemption_goroutines_execution_total",
                                  "Number of preemption goroutines executed.", "result");
    f->eviction_seconds =
        metric_histogram(registry, "scheduler_preemption_goroutines_duration_seconds",
                         "Duration in seconds for running goroutines for the "
                         "preemption.",
                         "result", evictions.at, evictions.count);
}

static void
make_calls(struct metric_families *f, struct metric_registry *registry)
{
    struct bucket_bounds seconds = bounds_of(0.0001, 2, 12);

    f->calls = metric_counter(registry, "scheduler_async_api_call_execution_total",
                              "Total number of API calls executed by the async "
                              "dispatcher.",
                              "call_type,result");
    f->call_seconds =
        metric_histogram(registry, "scheduler_async_api_call_execution_duration_seconds",
                         "Duration in seconds for executing API call in the async dispatcher.",
                         "call_type,result", seconds.at, seconds.count);
    f->waiting_calls = metric_gauge(registry, "scheduler_pending_async_api_calls",
                                    "Number of API calls currently pending in the async "
                                    "queue.",
                                    "call_type");
}

static void
make_gauges(struct metric_families *f, struct metric_registry *registry)
{
    struct metric_family *pending, *cache;

    pending = metric_gauge(registry, "scheduler_pending_pods",
                           "Number of pending pods, by the queue type.", "queue");
    for (unsigned i = 0; i < ARRAY_SIZE(f->pending); i++)
        f->pending[i] = metric_series(pending, queue_names[i]);
    cache = metric_gauge(registry, "scheduler_scheduler_cache_size",
                         "Number of nodes, pods, and assumed (bound) pods in "
                         "the scheduler cache.",
                         "type");
    for (unsigned i = 0; i < ARRAY_SIZE(f->cache_size); i++)
        f->cache_size[i] = metric_series(cache, cache_names[i]);
}

void
metric_families_make(struct metric_families *f, struct metric_registry *registry)
{
    f->attempts = metric_counter(registry, "scheduler_schedule_attempts_total",
                                 "Number of attempts to schedule pods, by the result. "
                                 "'unschedulable' means a pod could not be scheduled, while "
                                 "'error' means an internal scheduler problem.",
                                 "result,profile");
    f->volume_errors = metric_counter(registry,
                                      "scheduler_volume_scheduling_stage_error_"
                                      "total",
                                      "Volume scheduling stage error count", "operation");
    make_histograms(f, registry);
    make_framework(f, registry);
    make_preemption(f, registry);
    make_calls(f, registry);
    make_plugins(f, registry);
    make_gauges(f, registry);
}
