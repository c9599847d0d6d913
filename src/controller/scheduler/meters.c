/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/meters.h"

#include "controller/scheduler/scheduler.h"
#include "lib/base/alloc.h"
#include "lib/base/metric.h"

struct meters {
    struct metric_family *attempts;
    struct metric_family *attempt_seconds;
    struct metric *algorithm_seconds;
    struct metric *pod_attempts;
    struct metric_family *pod_seconds;
    struct metric *pending[4];
    struct metric *cache_size[3];
};

static const char *const result_names[] = {
    [METER_SCHEDULED] = "scheduled",
    [METER_UNSCHEDULABLE] = "unschedulable",
    [METER_ERROR] = "error",
};

static const char *const queue_names[] = {"active",
                                          "backoff",
                                          "unschedulable",
                                          "gated"};
static const char *const cache_names[] = {"nodes", "pods", "assumed_pods"};

static void
make_histograms(struct meters *m, struct metric_registry *registry)
{
    double seconds[15], waits[20], attempts[5];

    metric_exponential_bounds(0.00001, 2, seconds, ARRAY_SIZE(seconds));
    metric_exponential_bounds(0.001, 2, waits, ARRAY_SIZE(waits));
    metric_exponential_bounds(1, 2, attempts, ARRAY_SIZE(attempts));
    m->attempt_seconds =
        metric_histogram(registry,
                         "scheduler_scheduling_attempt_duration_seconds",
                         "Scheduling attempt latency in seconds (scheduling "
                         "algorithm + binding)",
                         "result,profile",
                         seconds,
                         ARRAY_SIZE(seconds));
    m->algorithm_seconds = metric_series(
        metric_histogram(registry,
                         "scheduler_scheduling_algorithm_duration_seconds",
                         "Scheduling algorithm latency in seconds",
                         NULL,
                         seconds,
                         ARRAY_SIZE(seconds)));
    m->pod_attempts = metric_series(
        metric_histogram(registry,
                         "scheduler_pod_scheduling_attempts",
                         "Number of attempts to successfully schedule a pod.",
                         NULL,
                         attempts,
                         ARRAY_SIZE(attempts)));
    m->pod_seconds =
        metric_histogram(registry,
                         "scheduler_pod_scheduling_sli_duration_seconds",
                         "E2e latency for a pod being scheduled, from the "
                         "time the pod enters the scheduling queue",
                         "attempts",
                         waits,
                         ARRAY_SIZE(waits));
}

struct meters *
meters_new(struct metric_registry *registry)
{
    struct metric_family *pending, *cache;
    struct meters *m;

    if (registry == NULL)
        return NULL;
    m = xnew(struct meters);
    m->attempts = metric_counter(
        registry,
        "scheduler_schedule_attempts_total",
        "Number of attempts to schedule pods, by the result. "
        "'unschedulable' means a pod could not be scheduled, while "
        "'error' means an internal scheduler problem.",
        "result,profile");
    make_histograms(m, registry);
    pending = metric_gauge(registry,
                           "scheduler_pending_pods",
                           "Number of pending pods, by the queue type.",
                           "queue");
    for (unsigned i = 0; i < ARRAY_SIZE(m->pending); i++)
        m->pending[i] = metric_series(pending, queue_names[i]);
    cache = metric_gauge(registry,
                         "scheduler_scheduler_cache_size",
                         "Number of nodes, pods, and assumed (bound) pods in "
                         "the scheduler cache.",
                         "type");
    for (unsigned i = 0; i < ARRAY_SIZE(m->cache_size); i++)
        m->cache_size[i] = metric_series(cache, cache_names[i]);
    return m;
}

void
meters_free(struct meters *m)
{
    free(m);
}

void
meters_attempt(struct meters *m,
               const char *profile,
               enum meter_result result,
               int64_t took_us)
{
    if (m == NULL)
        return;
    metric_count(metric_series(m->attempts, result_names[result], profile), 1);
    metric_observe(
        metric_series(m->attempt_seconds, result_names[result], profile),
        (double)took_us / 1e6);
}

void
meters_algorithm(struct meters *m, int64_t took_us)
{
    if (m != NULL)
        metric_observe(m->algorithm_seconds, (double)took_us / 1e6);
}

void
meters_placed(struct meters *m, unsigned attempts, int64_t waited_us)
{
    CLEANUP_FREE char *label = NULL;

    if (m == NULL)
        return;
    label = attempts < 16 ? xasprintf("%u", attempts) : xstrdup("16+");
    metric_observe(m->pod_attempts, attempts);
    metric_observe(metric_series(m->pod_seconds, label),
                   (double)waited_us / 1e6);
}

void
meters_counts(struct meters *m, const struct scheduler_counts *c)
{
    if (m == NULL)
        return;
    metric_set(m->pending[0], (double)c->active);
    metric_set(m->pending[1], (double)c->backoff);
    metric_set(m->pending[2], (double)c->sleeping);
    metric_set(m->pending[3], (double)c->gated);
    metric_set(m->cache_size[0], (double)c->nodes);
    metric_set(m->cache_size[1], (double)c->pods);
    metric_set(m->cache_size[2], (double)c->assumed);
}
