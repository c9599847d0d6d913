/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_meter.h - how busy NVIDIA's GPUs are, by their management library (NVML)
 *
 * The library is loaded when the program runs; without it there are no readings.
 * A thread of its own calls it, because a call can block for long while a GPU or
 * its driver is in trouble. Reading the last results never waits: a GPU whose
 * result is older than three intervals is unknown.
 *
 * Thread: any; new and free by one.
 * Source: NVML API reference guide.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct gpu_meter;

struct gpu_reading {
    unsigned busy_percent; /* of the time of NVML's last sample */
    uint64_t memory_bytes; /* in use */
    uint64_t memory_total_bytes;
    int64_t at_us; /* monotonic */
};

/* Life. The thread starts with new, and looks for the library again from time to
 * time, because the driver may be installed later. Free does not wait for a call
 * that blocks; the thread then ends by itself. NULL: no thread can be started.
 */
void gpu_meter_free(struct gpu_meter *meter);
struct gpu_meter *gpu_meter_new(const char *library, int64_t interval_ms) MUST_USE;
DEFINE_CLEANUP(struct gpu_meter, gpu_meter_free)

/* The GPU "/dev/nvidiaMINOR". */
bool gpu_meter_read(struct gpu_meter *meter, unsigned minor, struct gpu_reading *ret_reading);
