/* SPDX-License-Identifier: Apache-2.0 */
/* job_update_patch.h - the patch that gives a job another time limit, size,
 * partition, name, priority, begin time or comment
 *
 *   {"timeLimitSeconds": 7200, "tasks": 4, "cpusPerTask": 2,
 *    "memoryBytes": 4294967296, "memoryPerCPUBytes": 1073741824, "gpus": 2,
 *    "gpuType": "a100", "partition": "gpu", "name": "next", "priority": -10,
 *    "priorityClassName": "low", "beginTime": "2026-12-24T18:00:00Z",
 *    "comment": "for the paper", "throttle": 5}
 *
 * Fields that are left out do not change. A time limit of 0, an empty comment
 * and an array's throttle of -1 remove the value. A change that is not allowed
 * is refused with a message (update_refusal.h) before the patch is tried;
 * admission checks the patch again.
 *
 * Thread:  the loop's.
 */
#pragma once

struct error;
struct job_change_call;
struct json;

/* Returns -EINVAL for an invalid or an empty update. */
int job_update_patch_check(const struct json *update, struct error *err);

/* The `make` function of a job_change. */
struct json *job_update_patch_make(struct job_change_call *call);
