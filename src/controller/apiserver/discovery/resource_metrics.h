/* SPDX-License-Identifier: Apache-2.0 */
/* resource_metrics.h - the resource requests and limits of every pod, as
 * metrics
 *
 * GET /metrics/resources returns kube_pod_resource_request and
 * kube_pod_resource_limit, as kube-scheduler does. A worker makes the text,
 * because its size grows with the number of pods; one request at a time.
 *
 * Thread:  the loop's.
 * Source:  kube-scheduler, metrics/resources.
 */
#pragma once

#include <stdbool.h>

struct request;

/* Returns false when the path is another. */
bool resource_metrics_serve(struct request *q, const char *path);
