/* SPDX-License-Identifier: Apache-2.0 */
/* metering.h - tells the controller what this node and its pods take just now
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

struct ground;
struct metering;
struct pods;

/* Life. Reports from metering_start on; the ground's workers are drained
 * before it is freed.
 */
void metering_free(struct metering *metering);
struct metering *metering_new(const struct ground *ground,
                              const struct pods *pods,
                              int64_t interval_ms) OWNED_BY(metering_free);
void metering_start(struct metering *metering);
