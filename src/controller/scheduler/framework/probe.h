/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - measures in some of the cycles how long a plugin takes at a point
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, framework/runtime (metricsRecorder), which also
 *         samples a tenth of the cycles.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/handle.h"
#include "controller/scheduler/framework/plugin.h"
#include "lib/base/clock.h"

struct probe {
    bool is_on; /* in this cycle */
    void (*took)(void *context, const char *plugin, enum point point, enum verdict verdict,
                 int64_t took_us);
    /* Called for every hint; or NULL. */
    void (*hint_took)(void *context, const char *plugin, const char *event, bool is_helping,
                      int64_t took_us);
    void *context;
};

/* The start time; negative: this cycle is not measured. */
static inline int64_t
probe_begin(const struct handle *handle)
{
    return handle->probe != NULL && handle->probe->is_on ? clock_monotonic_us(handle->clock) : -1;
}

static inline void
probe_end(const struct handle *handle, const char *plugin, enum point point, enum verdict verdict,
          int64_t began_us)
{
    if (began_us >= 0)
        handle->probe->took(handle->probe->context, plugin, point, verdict,
                            clock_monotonic_us(handle->clock) - began_us);
}
