/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_use.h - how much a pod has used its GPUs so far, kept in its directory
 *
 * Sums of samples of all GPUs of the pod together. The file STATE/pods/UID/gpu
 * has them, so that they survive the agent; it names the pod, because
 * directories are reused.
 *
 * Thread: any; write and read block on the disk.
 */
#pragma once

#include <stdint.h>

struct gpu_use {
    int64_t samples;     /* 0: nothing is known */
    int64_t milli_sum;   /* of all samples: busy GPUs in thousandths */
    int64_t count;       /* the pod's GPUs */
    int64_t peak_bytes;  /* memory in use, at most */
    int64_t total_bytes; /* memory of the GPUs */
    int64_t at_us;       /* monotonic; the latest sample, not in the file */
};

struct gpu_use_sample {
    int64_t milli;
    int64_t count;
    int64_t bytes, total_bytes;
    int64_t at_us; /* monotonic, of the oldest reading in it */
};

#define GPU_USE_FILE "gpu"

/* A sample counts once. */
void gpu_use_add(struct gpu_use *use, const struct gpu_use_sample *sample);
int64_t gpu_use_mean_milli(const struct gpu_use *use);

/* Read leaves *ret_use empty if nothing is known. */
int gpu_use_write(const struct gpu_use *use, const char *state_dir, const char *pod_uid);
void gpu_use_read(const char *state_dir, const char *pod_uid, struct gpu_use *ret_use);
