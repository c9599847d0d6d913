/* SPDX-License-Identifier: Apache-2.0 */
/* kalloc_guard.h - a process beside kalloc that ends its job, however kalloc ends
 *
 * It has a session of its own, so that Ctrl-C and the end of a terminal do not reach it,
 * and learns by a pipe that kalloc is gone. While the job waits, it then cancels it; once the
 * job runs, it holds it, and tells it the end.
 *
 * Thread:  the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

struct kalloc_guard {
    pid_t pid; /* 0: it has ended */
    int control;
};

/* Start before anything is opened. */
int kalloc_guard_start(struct kalloc_guard *ret_guard, struct error *err);

/* The job that it has to cancel; then how to hold it, as for krun_hold_run. */
void kalloc_guard_set_job(struct kalloc_guard *g, int64_t id);
void kalloc_guard_hold(struct kalloc_guard *g, const char *place, const char *pod_uid);

/* Ends the job with that status, and waits a moment for the end. */
void kalloc_guard_release(struct kalloc_guard *g, int status);

/* Cancels the job, and waits a moment for the end. */
void kalloc_guard_cancel(struct kalloc_guard *g);

/* Ends the guard alone: the job goes on, or has ended. */
void kalloc_guard_leave(struct kalloc_guard *g);
