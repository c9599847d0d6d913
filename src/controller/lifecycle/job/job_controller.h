/* SPDX-License-Identifier: Apache-2.0 */
/* job_controller.h - the loop that creates the pods of Jobs and counts their
 * ends
 *
 * A Job is synced when it or one of its pods changes: job_plan computes what
 * the Job needs, and this loop carries it out through the API. Status changes
 * that are only counts are delayed for a moment, so that a short job costs one
 * status write.
 *
 * Owns:    the pending creates (so that none is sent twice).
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct client;
struct clock;
struct job_controller;
struct json;
struct loop;
struct object;
struct object_cache;

void job_controller_free(struct job_controller *control);
struct job_controller *job_controller_new(struct loop *loop, struct client *client,
                                          struct object_cache *cache, struct clock *clock)
    OWNED_BY(job_controller_free);
DEFINE_CLEANUP(struct job_controller, job_controller_free)

/* Whether jobs whose dependencies can never be met wait on; otherwise they end.
 */
void job_controller_hold_never_satisfied(struct job_controller *control, bool holds);

/* Which quota the Job waits for: {name, place, waiting}; NULL: none. */
struct json *job_controller_explain_quota(struct job_controller *control, const struct object *job,
                                          struct arena *arena);

/* How often an interrupted job starts again before it is held; 0: any number of
 * times.
 */
void job_controller_limit_requeues(struct job_controller *control, int64_t maximum);
