/* SPDX-License-Identifier: Apache-2.0 */
/* usage_reporter.h - reports to the controller what this node and its pods use
 * at the moment
 *
 * Every interval: the node's figures, and those of each running pod, by its
 *                 cgroup, or by its processes where it has none. One small
 *                 request to nodes/NAME/usage, which the controller keeps in
 *                 memory only. A failed report is not sent again: the next one
 *                 replaces it.
 *
 * The use of NVIDIA's GPUs is measured on a thread of its own (gpu_meter.h), once
 * a pod has one.
 *
 * Thread: the loop's; the files are read on a worker.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct agent_context;
struct pods;
struct usage_reporter;

/* Life. Reports begin with usage_reporter_start, and end with usage_reporter_stop. A
 * measurement may still be under way then, on a worker or in a request: close the
 * client and free the agent's workers before usage_reporter_free.
 */
void usage_reporter_free(struct usage_reporter *usage_reporter);
struct usage_reporter *usage_reporter_new(const struct agent_context *agent,
                                          const struct pods *pods, const char *gpu_library,
                                          int64_t interval_ms) OWNED_BY(usage_reporter_free);
void usage_reporter_start(struct usage_reporter *usage_reporter);
void usage_reporter_stop(struct usage_reporter *usage_reporter);
