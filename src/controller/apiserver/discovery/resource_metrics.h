/* SPDX-License-Identifier: Apache-2.0 */
/* resource_metrics.h - what every pod asks for, as metrics
 *
 * GET /metrics/resources: kube_pod_resource_request and
 * kube_pod_resource_limit, as kube-scheduler serves them. The text is made by
 * a worker, because it grows with the pods; one at a time.
 *
 * Thread:  the loop's.
 * Source:  kube-scheduler, metrics/resources.
 */
#pragma once

#include <stdbool.h>

struct request;

/* False: the path is not that. */
bool resource_metrics_serve(struct request *q, const char *path);
