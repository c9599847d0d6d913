/* SPDX-License-Identifier: Apache-2.0 */
/* request_metrics.h - the number, results and durations of requests, under
 * upstream's names
 *
 *   apiserver_request_total{verb,resource,subresource,code}
 *   apiserver_request_duration_seconds{verb,resource,subresource}
 *
 * The values of labels are from the tables of routes and kinds, never from a
 * client's text.
 *
 * Thread:  the loop's.
 * Source:  kube-apiserver, "apiserver_request_total".
 */
#pragma once

#include <stdint.h>

struct metric_registry;
struct request;
struct request_metrics;

/* Life. The registry must outlive the metrics. */
void request_metrics_free(struct request_metrics *metrics);
struct request_metrics *request_metrics_new(struct metric_registry *registry);

/* Counts a request whose reply is made, `took_us` after its arrival. Does
 * nothing when `metrics` is NULL.
 */
void request_metrics_note(struct request_metrics *metrics, const struct request *q,
                          int64_t took_us);
