/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_loop.h - runs a scheduler on an event loop
 *
 * Runs cycles while there are pods to try, a few at a time so that the loop
 * stays responsive, and ticks as time passes. Scheduling begins with
 * scheduler_loop_start, when the cluster is known, and not before.
 *
 * Thread: the loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct clock;
struct loop;
struct scheduler_loop;
struct scheduler;

void scheduler_loop_free(struct scheduler_loop *l);
struct scheduler_loop *scheduler_loop_new(struct loop *loop, struct clock *clock)
    OWNED_BY(scheduler_loop_free);
DEFINE_CLEANUP(struct scheduler_loop, scheduler_loop_free)

/* Begins scheduling, when the controller is the leader and the cluster is known. */
void scheduler_loop_start(struct scheduler_loop *l, struct scheduler *scheduler);

/* Runs no more cycles and drops the pointer to the scheduler. */
void scheduler_loop_stop(struct scheduler_loop *l);

/* There is work (scheduler_settings.ready, with the scheduler loop as context). Before the
 * start this does nothing.
 */
void scheduler_loop_ready(void *context);
