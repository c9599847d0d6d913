/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/report/scheduler_metrics.h"

#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/metric.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

/* Metrics of kube-scheduler 1.32, by name, type and labels. */
static const char *const names[] = {
    "scheduler_event_handling_duration_seconds histogram",
    "scheduler_framework_extension_point_duration_seconds histogram",
    "scheduler_goroutines gauge",
    "scheduler_inflight_events gauge",
    "scheduler_pending_pods gauge",
    "scheduler_permit_wait_duration_seconds histogram",
    "scheduler_plugin_execution_duration_seconds histogram",
    "scheduler_pod_scheduling_attempts histogram",
    "scheduler_pod_scheduling_sli_duration_seconds histogram",
    "scheduler_preemption_attempts_total counter",
    "scheduler_preemption_goroutines_duration_seconds histogram",
    "scheduler_preemption_goroutines_execution_total counter",
    "scheduler_preemption_victims histogram",
    "scheduler_queue_incoming_pods_total counter",
    "scheduler_queueing_hint_execution_duration_seconds histogram",
    "scheduler_schedule_attempts_total counter",
    "scheduler_scheduler_cache_size gauge",
    "scheduler_scheduling_algorithm_duration_seconds histogram",
    "scheduler_scheduling_attempt_duration_seconds histogram",
    "scheduler_volume_scheduling_stage_error_total counter",
};

static void
tell_everything(struct scheduler_metrics *m)
{
    scheduler_metrics_attempt(m, "p", ATTEMPT_SCHEDULED, 30);
    scheduler_metrics_algorithm(m, 20);
    scheduler_metrics_placed(m, 1, 1500000);
    scheduler_metrics_placed(m, 20, 1500000);
    scheduler_metrics_point(m, "p", "Bind", VERDICT_OK, 100);
    scheduler_metrics_permit_wait(m, "allowed", 5000);
    scheduler_metrics_incoming(m, "active", "PodAdd");
    scheduler_metrics_preemption(m, 3);
    scheduler_metrics_event_handled(m, "NodeAdd", 40);
    scheduler_metrics_in_flight(m, "NodeAdd", 2);
    scheduler_metrics_plugin(m, "NodeName", "Filter", VERDICT_REJECT, 10);
    scheduler_metrics_hint(m, "NodeName", "NodeAdd", true, 10);
    scheduler_metrics_eviction(m, true, 2000000);
    scheduler_metrics_volume_failed(m, "bind");
}

static const char *const lines[] = {
    "scheduler_schedule_attempts_total{result=\"scheduled\",profile=\"p\"} 1",
    "scheduler_pod_scheduling_sli_duration_seconds_count{attempts=\"16+\"} 1",
    "scheduler_framework_extension_point_duration_seconds_count{"
    "extension_point=\"Bind\",status=\"Success\",profile=\"p\"} 1",
    "scheduler_permit_wait_duration_seconds_count{result=\"allowed\"} 1",
    "scheduler_queue_incoming_pods_total{queue=\"active\",event=\"PodAdd\"} 1",
    "scheduler_preemption_victims_sum 3",
    "scheduler_inflight_events{event=\"NodeAdd\"} 2",
    "scheduler_plugin_execution_duration_seconds_count{plugin=\"NodeName\","
    "extension_point=\"Filter\",status=\"Unschedulable\"} 1",
    "scheduler_queueing_hint_execution_duration_seconds_count{plugin="
    "\"NodeName\",event=\"NodeAdd\",hint=\"Queue\"} 1",
    "scheduler_preemption_goroutines_execution_total{result=\"success\"} 1",
    "scheduler_volume_scheduling_stage_error_total{operation=\"bind\"} 1",

    /* Upstream's first and last bucket bounds. */
    "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"0.001\"} 1",
    "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"16.384\"} 1",
    "scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts=\"1\",le="
    "\"0.01\"} 0",
    "scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts=\"1\",le="
    "\"5242.88\"} 1",
    "scheduler_event_handling_duration_seconds_bucket{event=\"NodeAdd\",le="
    "\"0.2048\"} 1",
    "scheduler_permit_wait_duration_seconds_bucket{result=\"allowed\",le="
    "\"16.384\"} 1",
    "scheduler_preemption_victims_bucket{le=\"64\"} 1",
    "scheduler_pod_scheduling_attempts_bucket{le=\"16\"} 1",
};

START_TEST(upstreams_metrics_are_there_with_their_labels_and_bounds)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *registry = metric_registry_new();
    CLEANUP(scheduler_metrics_freep)
    struct scheduler_metrics *m = scheduler_metrics_new(registry);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    tell_everything(m);
    metric_format(registry, &text);

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;

        strbuf_printf(&line, "# TYPE %s\n", names[i]);
        ck_assert_msg(strstr(text.text, line.text) != NULL, "%s", names[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        CLEANUP_STRBUF struct strbuf line = STRBUF_INIT;

        strbuf_printf(&line, "%s\n", lines[i]);
        ck_assert_msg(strstr(text.text, line.text) != NULL, "%s\n%s", lines[i], text.text);
    }
}
END_TEST

START_TEST(without_a_registry_nothing_is_kept)
{
    struct scheduler_metrics *m = scheduler_metrics_new(NULL);

    tell_everything(m);

    ck_assert_ptr_null(m);
}
END_TEST

START_TEST(another_scheduler_goes_on_counting)
{
    CLEANUP(metric_registry_freep)
    struct metric_registry *registry = metric_registry_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < 2; i++) {
        CLEANUP(scheduler_metrics_freep)
        struct scheduler_metrics *m = scheduler_metrics_new(registry);

        scheduler_metrics_attempt(m, "p", ATTEMPT_ERROR, 30);
    }
    metric_format(registry, &text);

    ck_assert_ptr_nonnull(strstr(text.text, "scheduler_schedule_attempts_total{result="
                                            "\"error\",profile=\"p\"} 2\n"));
}
END_TEST

SUITE("metrics", upstreams_metrics_are_there_with_their_labels_and_bounds,
      without_a_registry_nothing_is_kept, another_scheduler_goes_on_counting)
