/* SPDX-License-Identifier: Apache-2.0 */
/* metric_families.h - the metrics of the scheduler: their names, labels, bounds
 *
 * All of upstream's bounds are there, so that its dashboards and alarms find
 * them. A cycle here often ends before the first of them, so there are lower
 * ones, too.
 *
 * Called by:  scheduler_metrics.c.
 * Thread:     the scheduler's.
 * Source:     kube-scheduler 1.32, metrics/metrics.go.
 */
#pragma once

struct metric;
struct metric_family;
struct metric_registry;

struct metric_families {
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
    struct metric_family *volume_errors;
    struct metric *pending[5];
    struct metric *cache_size[3];
};

void metric_families_make(struct metric_families *f, struct metric_registry *registry);
