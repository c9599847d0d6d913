/* SPDX-License-Identifier: Apache-2.0 */
/* job_update_patch.h - the patch that gives a job another time limit, size,
 * partition, name, priority, begin or comment
 *
 *   {"timeLimitSeconds": 7200, "tasks": 4, "cpusPerTask": 2,
 *    "memoryBytes": 4294967296, "memoryPerCPUBytes": 1073741824, "gpus": 2,
 *    "gpuType": "a100", "partition": "gpu", "name": "next", "priority": -10,
 *    "priorityClassName": "low", "beginTime": "2026-12-24T18:00:00Z",
 *    "comment": "for the paper", "throttle": 5}
 *
 * Fields that are left out stay; a time limit of 0 is none, and an empty comment
 * none; a throttle, of an array, of -1 none. Fields that may not change are refused in words (update_refusal.h),
 * before the patch is tried, whose admission judges again.
 *
 * Thread:  the loop's.
 */
#pragma once

struct error;
struct job_change_call;
struct json;

/* -EINVAL: it is no such update, or an empty one. */
int job_update_patch_check(const struct json *update, struct error *err);

/* A job_change. */
struct json *job_update_patch_make(struct job_change_call *call);
