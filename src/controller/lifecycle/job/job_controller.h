/* SPDX-License-Identifier: Apache-2.0 */
/* job_controller.h - the loop that makes the pods of Jobs and counts how they
 * end
 *
 * Each Job is looked at when it or one of its pods changes: job_plan says what
 * it needs, and this does it through the API. Changes of mere counts are put
 * off for a moment, so that a short job costs one write of its status.
 *
 * Owns:    the creates that are on their way (so that none is sent twice).
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct clock;
struct job_controller;
struct loop;
struct object_cache;

void job_controller_free(struct job_controller *control);
struct job_controller *job_controller_new(struct loop *loop,
                                          struct client *client,
                                          struct object_cache *cache,
                                          struct clock *clock)
    OWNED_BY(job_controller_free);
DEFINE_CLEANUP(struct job_controller, job_controller_free)

/* Whether jobs wait on whose dependencies can never be met; else they end. */
void job_controller_hold_never_satisfied(struct job_controller *control,
                                         bool holds);

/* How often a job that was interrupted starts anew before it is held; 0: any
 * number of times.
 */
void job_controller_limit_requeues(struct job_controller *control,
                                   int64_t maximum);
