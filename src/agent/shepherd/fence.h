/* SPDX-License-Identifier: Apache-2.0 */
/* fence.h - a job that ends itself when its node is cut off for too long
 *
 * The agent notes when the controller last acknowledged its lease; the
 * shepherd of a pod that asked for it (execution.fenceAfterSeconds) looks at
 * that note, and ends the job when it is too old: also when the agent is gone.
 * The controller waits longer than that, and may then run the job elsewhere.
 *
 * Times are of CLOCK_BOOTTIME, which goes on while a machine sleeps.
 *
 * Thread: any; the note is a file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

/* The agent's part: a renewal that was sent then has been acknowledged. */
int fence_note(const char *path, int64_t heard_us, struct error *err);

/* The shepherd's part. A note that is not there counts as one of the begin. */
struct fence {
    const char *path;
    int64_t after_us; /* 0: never */
    int64_t began_us;
};

/* 0: it is due; otherwise when to ask again, in ms; -1: never. */
int fence_wait_ms(const struct fence *fence);
