/* SPDX-License-Identifier: Apache-2.0 */
/* fence.h - ends a job whose node is cut off from the controller for too long
 *
 * The agent notes when the controller last acknowledged its lease. The shepherd
 * of a pod with execution.fenceAfterSeconds reads that note and ends the job
 * when the note is too old, even if the agent is gone. The controller waits
 * longer than that, and may then run the job elsewhere.
 *
 * Times are of CLOCK_BOOTTIME, which includes the time that a machine is
 * suspended.
 *
 * Thread: any; the note is a file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

/* For the agent: the controller has acknowledged a renewal that was sent at
 * that time.
 */
int fence_note(const char *path, int64_t heard_us, struct error *err);

/* For the shepherd. Without a note, the time counts from `began_us`. */
struct fence {
    const char *path;
    int64_t after_us; /* 0: never */
    int64_t began_us;
};

/* 0: the fence is due; otherwise when to ask again, in ms; -1: never. */
int fence_wait_ms(const struct fence *fence);
