/* SPDX-License-Identifier: Apache-2.0 */
/* workers.h - a few threads for what blocks
 *
 * `work` runs on one of them, then `done` on the loop's thread, both with the
 * same argument. Work is begun in the order of submission.
 *
 * Thread:     submit from any; new and free by one.
 * Invariant:  of everything submitted, `work` and `done` run exactly once
 *             each, provided the loop still runs.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/loop/loop.h"

struct workers;

/* Life. Threads start with the first work. Free waits until all that was
 * submitted has been worked off; its `done`s have then been posted, so free
 * the workers before the loops, and loop_drain these in between.
 */
void workers_free(struct workers *w);
struct workers *workers_new(unsigned count) OWNED_BY(workers_free);
DEFINE_CLEANUP(struct workers, workers_free)

/* Change. `done` may be NULL, and `loop` then too. */
void workers_submit(struct workers *w,
                    struct loop *loop,
                    loop_fn work,
                    loop_fn done,
                    void *arg);
