/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/scheduler_metrics.h"

#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/report/cycle_trace.h"
#include "controller/scheduler/report/metric_families.h"
#include "controller/scheduler/report/scheduler_counts.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"
#include "lib/base/metric.h"

/* Looked up once, because there are many cycles. */
struct point_series {
    const char *profile;
    struct metric *series;
};

/* The evaluations of a profile's plugins that the metrics contain already. */
struct counted_evaluations {
    struct list link;
    const struct profile *profile;
    uint64_t evaluations[POINTS][PROFILE_MAX_PLUGINS];
};

struct scheduler_metrics {
    struct metric_families f;
    struct list counted;              /* of struct counted_evaluations */
    struct point_series steps[STEPS]; /* of the last profile */
};

static const char *const result_names[] = {
    [ATTEMPT_SCHEDULED] = "scheduled",
    [ATTEMPT_UNSCHEDULABLE] = "unschedulable",
    [ATTEMPT_ERROR] = "error",
};

struct scheduler_metrics *
scheduler_metrics_new(struct metric_registry *registry)
{
    struct scheduler_metrics *m;

    if (registry == NULL)
        return NULL;
    m = xnew(struct scheduler_metrics);
    metric_families_make(&m->f, registry);
    list_init(&m->counted);
    return m;
}

void
scheduler_metrics_free(struct scheduler_metrics *m)
{
    if (m == NULL)
        return;
    list_foreach_safe(link, &m->counted) free(container_of(link, struct counted_evaluations, link));
    free(m);
}

void
scheduler_metrics_attempt(struct scheduler_metrics *m, const char *profile,
                          enum attempt_result result, int64_t took_us)
{
    if (m == NULL)
        return;
    metric_count(metric_series(m->f.attempts, result_names[result], profile), 1);
    metric_observe(metric_series(m->f.attempt_seconds, result_names[result], profile),
                   (double)took_us / 1e6);
}

void
scheduler_metrics_algorithm(struct scheduler_metrics *m, int64_t took_us)
{
    if (m != NULL)
        metric_observe(m->f.algorithm_seconds, (double)took_us / 1e6);
}

void
scheduler_metrics_call(struct scheduler_metrics *m, const char *kind, bool has_succeeded,
                       int64_t took_us)
{
    const char *result = has_succeeded ? "success" : "error";

    if (m == NULL)
        return;
    metric_count(metric_series(m->f.calls, kind, result), 1);
    metric_observe(metric_series(m->f.call_seconds, kind, result), (double)took_us / 1e6);
}

void
scheduler_metrics_waiting_calls(struct scheduler_metrics *m, const char *kind, size_t count)
{
    if (m != NULL)
        metric_set(metric_series(m->f.waiting_calls, kind), (double)count);
}

void
scheduler_metrics_placed(struct scheduler_metrics *m, unsigned attempts, int64_t waited_us)
{
    CLEANUP_FREE char *label = NULL;

    if (m == NULL)
        return;
    label = attempts < 16 ? xasprintf("%u", attempts) : xstrdup("16+");
    metric_observe(m->f.pod_attempts, attempts);
    metric_observe(metric_series(m->f.pod_seconds, label), (double)waited_us / 1e6);
}

void
scheduler_metrics_counts(struct scheduler_metrics *m, const struct scheduler_counts *c)
{
    if (m == NULL)
        return;
    metric_set(m->f.pending[0], (double)c->active);
    metric_set(m->f.pending[1], (double)c->backoff);
    metric_set(m->f.pending[2], (double)c->unschedulable_pods);
    metric_set(m->f.pending[3], (double)c->gated);
    metric_set(m->f.pending[4], (double)c->in_group);
    metric_set(m->f.cache_size[0], (double)c->nodes);
    metric_set(m->f.cache_size[1], (double)c->pods);
    metric_set(m->f.cache_size[2], (double)c->assumed);
    metric_set(m->f.binding, (double)c->binding);
}

void
scheduler_metrics_cycle(struct scheduler_metrics *m, const char *profile,
                        const struct cycle_trace *t)
{
    if (m == NULL)
        return;
    for (unsigned i = STEP_PREFILTER; i < STEPS; i++) {
        struct point_series *p = &m->steps[i];

        if ((t->done & (1u << i)) == 0)
            continue;
        if (t->verdicts[i] != VERDICT_OK) {
            scheduler_metrics_point(m, profile, cycle_step_name(i), t->verdicts[i], t->took_us[i]);
            continue;
        }
        if (p->profile != profile)
            *p = (struct point_series){
                profile,
                metric_series(m->f.point_seconds, cycle_step_name(i), verdict_name(VERDICT_OK),
                              profile),
            };
        metric_observe(p->series, (double)t->took_us[i] / 1e6);
    }
}

void
scheduler_metrics_point(struct scheduler_metrics *m, const char *profile, const char *point,
                        enum verdict verdict, int64_t took_us)
{
    if (m != NULL)
        metric_observe(metric_series(m->f.point_seconds, point, verdict_name(verdict), profile),
                       (double)took_us / 1e6);
}

void
scheduler_metrics_permit_wait(struct scheduler_metrics *m, const char *result, int64_t waited_us)
{
    if (m != NULL)
        metric_observe(metric_series(m->f.permit_seconds, result), (double)waited_us / 1e6);
}

void
scheduler_metrics_incoming(struct scheduler_metrics *m, const char *queue, const char *event)
{
    if (m != NULL)
        metric_count(metric_series(m->f.incoming, queue, event), 1);
}

void
scheduler_metrics_preemption(struct scheduler_metrics *m, unsigned victims)
{
    if (m == NULL)
        return;
    metric_count(m->f.preemptions, 1);
    if (victims > 0)
        metric_observe(m->f.victims, victims);
}

void
scheduler_metrics_event_handled(struct scheduler_metrics *m, const char *event, int64_t took_us)
{
    if (m != NULL)
        metric_observe(metric_series(m->f.event_seconds, event), (double)took_us / 1e6);
}

static struct counted_evaluations *
counted_of(struct scheduler_metrics *m, const struct profile *profile)
{
    struct counted_evaluations *counted;

    list_foreach(link, &m->counted)
    {
        counted = container_of(link, struct counted_evaluations, link);
        if (counted->profile == profile)
            return counted;
    }
    counted = xnew(struct counted_evaluations);
    counted->profile = profile;
    list_add_last(&m->counted, &counted->link);
    return counted;
}

/* Upstream counts evaluations at these points only. */
static void
count_evaluations(struct scheduler_metrics *m, const struct profile *profile)
{
    static const enum point points[] = {
        POINT_PREFILTER,
        POINT_FILTER,
        POINT_PRESCORE,
        POINT_SCORE,
    };
    struct counted_evaluations *counted = counted_of(m, profile);

    for (unsigned i = 0; i < ARRAY_SIZE(points); i++)
        for (unsigned p = 0; p < profile->n_entries; p++) {
            uint64_t now = profile->evaluations[points[i]][p];
            uint64_t *before = &counted->evaluations[points[i]][p];

            if (now == *before)
                continue;
            metric_count(metric_series(m->f.evaluations, profile->entries[p].plugin->name,
                                       point_label(points[i]), profile->scheduler_name),
                         now - *before);
            *before = now;
        }
}

void
scheduler_metrics_profile(struct scheduler_metrics *m, const struct profile *profile)
{
    if (m == NULL)
        return;
    for (unsigned i = 0; i < profile->n_entries; i++)
        if (profile->has_rejected[i])
            metric_set(metric_series(m->f.rejections, profile->entries[i].plugin->name,
                                     profile->scheduler_name),
                       profile->rejected[i]);
    count_evaluations(m, profile);
}

void
scheduler_metrics_in_flight(struct scheduler_metrics *m, const char *event, size_t count)
{
    if (m != NULL)
        metric_set(metric_series(m->f.in_flight, event), (double)count);
}

void
scheduler_metrics_plugin(struct scheduler_metrics *m, const char *plugin, const char *point,
                         enum verdict verdict, int64_t took_us)
{
    if (m != NULL)
        metric_observe(metric_series(m->f.plugin_seconds, plugin, point, verdict_name(verdict)),
                       (double)took_us / 1e6);
}

void
scheduler_metrics_hint(struct scheduler_metrics *m, const char *plugin, const char *event,
                       bool is_helping, int64_t took_us)
{
    if (m != NULL)
        metric_observe(
            metric_series(m->f.hint_seconds, plugin, event, is_helping ? "Queue" : "QueueSkip"),
            (double)took_us / 1e6);
}

void
scheduler_metrics_eviction(struct scheduler_metrics *m, bool has_succeeded, int64_t took_us)
{
    const char *result = has_succeeded ? "success" : "error";

    if (m == NULL)
        return;
    metric_count(metric_series(m->f.evictions, result), 1);
    metric_observe(metric_series(m->f.eviction_seconds, result), (double)took_us / 1e6);
}

void
scheduler_metrics_volume_failed(struct scheduler_metrics *m, const char *stage)
{
    if (m != NULL)
        metric_count(metric_series(m->f.volume_errors, stage), 1);
}
