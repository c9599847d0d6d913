/* SPDX-License-Identifier: Apache-2.0 */
/* request_metrics.h - how many requests there were, how they ended and how long
 * they took, by upstream's names
 *
 *   apiserver_request_total{verb,resource,subresource,code}
 *   apiserver_request_duration_seconds{verb,resource,subresource}
 *
 * The values of labels come from the tables of routes and kinds, never from a
 * client's words.
 *
 * Thread:  the loop's.
 * Source:  kube-apiserver, "apiserver_request_total".
 */
#pragma once

#include <stdint.h>

struct metric_registry;
struct request;
struct request_metrics;

/* Life. The registry outlives them. */
void request_metrics_free(struct request_metrics *metrics);
struct request_metrics *request_metrics_new(struct metric_registry *registry);

/* The request has its reply, so long after it came; NULL metrics are none. */
void request_metrics_note(struct request_metrics *metrics,
                          const struct request *q,
                          int64_t took_us);
