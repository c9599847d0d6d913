/* SPDX-License-Identifier: Apache-2.0 */
/* workers.h - a few threads for work that blocks
 *
 * `work` runs on one of the threads, then `done` on the loop's thread, both
 * with the same argument. Work starts in the order of submission.
 *
 * Thread:     submit from any; new and free by one.
 * Invariant:  for each submission, `work` and `done` run exactly once, provided
 *             the loop still runs.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/loop/loop.h"

struct workers;

/* Life. Threads start with the first work. Free waits until all submitted work
 * is done; the `done` functions have then been posted, so free the workers
 * before the loops, and call loop_drain in between.
 */
void workers_free(struct workers *w);
struct workers *workers_new(unsigned count) OWNED_BY(workers_free);
DEFINE_CLEANUP(struct workers, workers_free)

/* `done` may be NULL; then `loop` may be NULL too. */
void workers_submit(struct workers *w, struct loop *loop, loop_fn work, loop_fn done, void *arg);
