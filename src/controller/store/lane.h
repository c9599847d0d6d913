/* SPDX-License-Identifier: Apache-2.0 */
/* lane.h - one thread that works off tasks in order and answers on the loop
 *
 * Unlike lib/loop's workers a lane can end with its owner: whatever was
 * submitted is worked off and answered before lane_free returns, and nothing
 * comes after it.
 *
 * Thread:     the loop's, but for `work`.
 * Invariant:  `work`, then `done`, run once for each task, in order.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct lane;
struct loop;

/* Embedded in what the task is about; not to be touched until it is done,
 * when it may be freed or submitted again. `done` may be NULL.
 */
struct lane_task {
    struct lane_task *next;
    void (*work)(struct lane_task *task);
    void (*done)(struct lane_task *task);
};

/* Life. The name is seen in top(1), 15 bytes. */
void lane_free(struct lane *lane);
struct lane *lane_new(struct loop *loop, const char *name) OWNED_BY(lane_free);

/* Change. Drain waits until nothing is under way, answering meanwhile. */
void lane_drain(struct lane *lane);
void lane_submit(struct lane *lane, struct lane_task *task);

/* Look: submitted and not done yet. */
size_t lane_length(const struct lane *lane);
