/* SPDX-License-Identifier: Apache-2.0 */
/* usage_reporter.h - tells the controller what this node and its pods take just
 * now
 *
 * Every interval: the machine's figures, and those of each pod that runs, by
 * its cgroup, or by its processes where there is none. One small request to
 * nodes/NAME/usage, which the controller keeps in memory alone. A report that
 * fails is not sent again: the next one tells more.
 *
 * Thread: the loop's; what reads files is done on a worker.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct agent_context;
struct pods;
struct usage_reporter;

/* Life. Reports from usage_reporter_start on; the agent's workers are drained
 * before it is freed.
 */
void usage_reporter_free(struct usage_reporter *usage_reporter);
struct usage_reporter *usage_reporter_new(const struct agent_context *agent,
                                          const struct pods *pods,
                                          int64_t interval_ms)
    OWNED_BY(usage_reporter_free);
void usage_reporter_start(struct usage_reporter *usage_reporter);
