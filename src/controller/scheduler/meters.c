/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/meters.h"

#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/scheduler.h"
#include "controller/scheduler/steps.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"
#include "lib/base/metric.h"

/* Resolved once: cycles are many. */
struct point_series {
    const char *profile;
    struct metric *series;
};

/* How many evaluations of a profile's plugins have been counted. */
struct told {
    struct list link;
    const struct profile *profile;
    uint64_t evaluations[POINTS][PROFILE_MAX_PLUGINS];
};

struct meters {
    struct metric_family *attempts;
    struct metric_family *attempt_seconds;
    struct metric *algorithm_seconds;
    struct metric *pod_attempts;
    struct metric_family *pod_seconds;
    struct metric_family *point_seconds;
    struct metric_family *permit_seconds;
    struct metric_family *incoming;
    struct metric_family *event_seconds;
    struct metric_family *rejections;
    struct metric *victims;
    struct metric *preemptions;
    struct metric *binding;
    struct metric_family *calls;
    struct metric_family *call_seconds;
    struct metric_family *waiting_calls;
    struct metric_family *plugin_seconds;
    struct metric_family *evaluations;
    struct metric_family *hint_seconds;
    struct metric_family *in_flight;
    struct metric_family *evictions;
    struct metric_family *eviction_seconds;
    struct list told; /* of evaluations */
    struct metric *pending[4];
    struct metric *cache_size[3];
    struct point_series steps[STEPS]; /* of the profile seen last */
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

static void
make_framework(struct meters *m, struct metric_registry *registry)
{
    double points[12], permits[15], events[12];

    metric_exponential_bounds(0.0001, 2, points, ARRAY_SIZE(points));
    metric_exponential_bounds(0.001, 2, permits, ARRAY_SIZE(permits));
    metric_exponential_bounds(0.00001, 4, events, ARRAY_SIZE(events));
    m->point_seconds =
        metric_histogram(registry,
                         "scheduler_framework_extension_point_duration_seconds",
                         "Latency for running all plugins of a specific "
                         "extension point.",
                         "extension_point,status,profile",
                         points,
                         ARRAY_SIZE(points));
    m->permit_seconds =
        metric_histogram(registry,
                         "scheduler_permit_wait_duration_seconds",
                         "Duration of waiting on permit.",
                         "result",
                         permits,
                         ARRAY_SIZE(permits));
    m->event_seconds =
        metric_histogram(registry,
                         "scheduler_event_handling_duration_seconds",
                         "Event handling latency in seconds.",
                         "event",
                         events,
                         ARRAY_SIZE(events));
    m->incoming = metric_counter(registry,
                                 "scheduler_queue_incoming_pods_total",
                                 "Number of pods added to scheduling queues by "
                                 "event and queue type.",
                                 "queue,event");
    m->rejections = metric_gauge(registry,
                                 "scheduler_unschedulable_pods",
                                 "The number of unschedulable pods broken down "
                                 "by plugin name. A pod will increment the "
                                 "gauge for all plugins that caused it to not "
                                 "schedule.",
                                 "plugin,profile");
}

static void
make_preemption(struct meters *m, struct metric_registry *registry)
{
    double victims[7];

    metric_exponential_bounds(1, 2, victims, ARRAY_SIZE(victims));
    m->victims =
        metric_series(metric_histogram(registry,
                                       "scheduler_preemption_victims",
                                       "Number of selected preemption victims",
                                       NULL,
                                       victims,
                                       ARRAY_SIZE(victims)));
    m->preemptions = metric_series(
        metric_counter(registry,
                       "scheduler_preemption_attempts_total",
                       "Total preemption attempts in the cluster till now",
                       NULL));
    m->binding = metric_series(
        metric_gauge(registry,
                     "scheduler_goroutines",
                     "Number of running goroutines split by the work they do "
                     "such as binding.",
                     "operation"),
        "binding");
}

static void
make_plugins(struct meters *m, struct metric_registry *registry)
{
    double seconds[20], hints[12], evictions[20];

    metric_exponential_bounds(0.00001, 1.5, seconds, ARRAY_SIZE(seconds));
    metric_exponential_bounds(0.00001, 2, hints, ARRAY_SIZE(hints));
    metric_exponential_bounds(0.01, 2, evictions, ARRAY_SIZE(evictions));
    m->plugin_seconds =
        metric_histogram(registry,
                         "scheduler_plugin_execution_duration_seconds",
                         "Duration for running a plugin at a specific "
                         "extension point.",
                         "plugin,extension_point,status",
                         seconds,
                         ARRAY_SIZE(seconds));
    m->evaluations = metric_counter(registry,
                                    "scheduler_plugin_evaluation_total",
                                    "Number of attempts to schedule pods by "
                                    "each plugin and the extension point.",
                                    "plugin,extension_point,profile");
    m->hint_seconds =
        metric_histogram(registry,
                         "scheduler_queueing_hint_execution_duration_seconds",
                         "Latency for running a queueing hint function of a "
                         "plugin.",
                         "plugin,event,hint",
                         hints,
                         ARRAY_SIZE(hints));
    m->in_flight = metric_gauge(registry,
                                "scheduler_inflight_events",
                                "Number of events currently tracked in the "
                                "scheduling queue.",
                                "event");
    m->evictions =
        metric_counter(registry,
                       "scheduler_preemption_goroutines_execution_total",
                       "Number of preemption goroutines executed.",
                       "result");
    m->eviction_seconds =
        metric_histogram(registry,
                         "scheduler_preemption_goroutines_duration_seconds",
                         "Duration in seconds for running goroutines for the "
                         "preemption.",
                         "result",
                         evictions,
                         ARRAY_SIZE(evictions));
}

static void
make_calls(struct meters *m, struct metric_registry *registry)
{
    double seconds[12];

    metric_exponential_bounds(0.0001, 2, seconds, ARRAY_SIZE(seconds));
    m->calls = metric_counter(registry,
                              "scheduler_async_api_call_execution_total",
                              "Total number of API calls executed by the async "
                              "dispatcher.",
                              "call_type,result");
    m->call_seconds = metric_histogram(
        registry,
        "scheduler_async_api_call_execution_duration_seconds",
        "Duration in seconds for executing API call in the async dispatcher.",
        "call_type,result",
        seconds,
        ARRAY_SIZE(seconds));
    m->waiting_calls =
        metric_gauge(registry,
                     "scheduler_pending_async_api_calls",
                     "Number of API calls currently pending in the async "
                     "queue.",
                     "call_type");
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
    make_framework(m, registry);
    make_preemption(m, registry);
    make_calls(m, registry);
    make_plugins(m, registry);
    list_init(&m->told);
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
    if (m == NULL)
        return;
    list_foreach_safe(link, &m->told)
        free(container_of(link, struct told, link));
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
meters_call(struct meters *m,
            const char *kind,
            bool has_succeeded,
            int64_t took_us)
{
    const char *result = has_succeeded ? "success" : "error";

    if (m == NULL)
        return;
    metric_count(metric_series(m->calls, kind, result), 1);
    metric_observe(metric_series(m->call_seconds, kind, result),
                   (double)took_us / 1e6);
}

void
meters_waiting_calls(struct meters *m, const char *kind, size_t count)
{
    if (m != NULL)
        metric_set(metric_series(m->waiting_calls, kind), (double)count);
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
    metric_set(m->binding, (double)c->binding);
}

void
meters_steps(struct meters *m, const char *profile, const struct steps *s)
{
    if (m == NULL)
        return;
    for (unsigned i = STEP_PREFILTER; i < STEPS; i++) {
        struct point_series *p = &m->steps[i];

        if ((s->done & (1u << i)) == 0)
            continue;
        if (s->verdicts[i] != VERDICT_OK) {
            meters_point(m,
                         profile,
                         step_name(i),
                         s->verdicts[i],
                         s->took_us[i]);
            continue;
        }
        if (p->profile != profile)
            *p = (struct point_series){
                profile,
                metric_series(m->point_seconds,
                              step_name(i),
                              verdict_name(VERDICT_OK),
                              profile),
            };
        metric_observe(p->series, (double)s->took_us[i] / 1e6);
    }
}

void
meters_point(struct meters *m,
             const char *profile,
             const char *point,
             enum verdict verdict,
             int64_t took_us)
{
    if (m != NULL)
        metric_observe(metric_series(m->point_seconds,
                                     point,
                                     verdict_name(verdict),
                                     profile),
                       (double)took_us / 1e6);
}

void
meters_permit_wait(struct meters *m, const char *result, int64_t waited_us)
{
    if (m != NULL)
        metric_observe(metric_series(m->permit_seconds, result),
                       (double)waited_us / 1e6);
}

void
meters_incoming(struct meters *m, const char *queue, const char *event)
{
    if (m != NULL)
        metric_count(metric_series(m->incoming, queue, event), 1);
}

void
meters_preemption(struct meters *m, unsigned victims)
{
    if (m == NULL)
        return;
    metric_count(m->preemptions, 1);
    if (victims > 0)
        metric_observe(m->victims, victims);
}

void
meters_event_handled(struct meters *m, const char *event, int64_t took_us)
{
    if (m != NULL)
        metric_observe(metric_series(m->event_seconds, event),
                       (double)took_us / 1e6);
}

static struct told *
told_of(struct meters *m, const struct profile *profile)
{
    struct told *told;

    list_foreach(link, &m->told)
    {
        told = container_of(link, struct told, link);
        if (told->profile == profile)
            return told;
    }
    told = xnew(struct told);
    told->profile = profile;
    list_add_last(&m->told, &told->link);
    return told;
}

/* Upstream counts these points alone. */
static void
count_evaluations(struct meters *m, const struct profile *profile)
{
    static const enum point points[] = {
        POINT_PREFILTER,
        POINT_FILTER,
        POINT_PRESCORE,
        POINT_SCORE,
    };
    struct told *told = told_of(m, profile);

    for (unsigned i = 0; i < ARRAY_SIZE(points); i++)
        for (unsigned p = 0; p < profile->n_entries; p++) {
            uint64_t now = profile->evaluations[points[i]][p];
            uint64_t *before = &told->evaluations[points[i]][p];

            if (now == *before)
                continue;
            metric_count(metric_series(m->evaluations,
                                       profile->entries[p].plugin->name,
                                       point_label(points[i]),
                                       profile->scheduler_name),
                         now - *before);
            *before = now;
        }
}

void
meters_profile(struct meters *m, const struct profile *profile)
{
    if (m == NULL)
        return;
    for (unsigned i = 0; i < profile->n_entries; i++)
        if (profile->has_rejected[i])
            metric_set(metric_series(m->rejections,
                                     profile->entries[i].plugin->name,
                                     profile->scheduler_name),
                       profile->rejected[i]);
    count_evaluations(m, profile);
}

void
meters_in_flight(struct meters *m, const char *event, size_t count)
{
    if (m != NULL)
        metric_set(metric_series(m->in_flight, event), (double)count);
}

void
meters_plugin(struct meters *m,
              const char *plugin,
              const char *point,
              enum verdict verdict,
              int64_t took_us)
{
    if (m != NULL)
        metric_observe(metric_series(m->plugin_seconds,
                                     plugin,
                                     point,
                                     verdict_name(verdict)),
                       (double)took_us / 1e6);
}

void
meters_hint(struct meters *m,
            const char *plugin,
            const char *event,
            bool is_helping,
            int64_t took_us)
{
    if (m != NULL)
        metric_observe(metric_series(m->hint_seconds,
                                     plugin,
                                     event,
                                     is_helping ? "Queue" : "QueueSkip"),
                       (double)took_us / 1e6);
}

void
meters_eviction(struct meters *m, bool has_succeeded, int64_t took_us)
{
    const char *result = has_succeeded ? "success" : "error";

    if (m == NULL)
        return;
    metric_count(metric_series(m->evictions, result), 1);
    metric_observe(metric_series(m->eviction_seconds, result),
                   (double)took_us / 1e6);
}
