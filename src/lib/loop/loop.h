/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - one thread's event loop, and the mailbox that reaches it
 *
 * A program may have several, each run by the thread that made it. Timers,
 * descriptors, signals and children hang on a loop and call back on its
 * thread; none of them blocks it.
 *
 * Called by:  everything that waits.
 * Thread:     its own, but for loop_post and loop_stop, which any may call.
 * Invariant:  what is posted runs once, in the order of posting.
 * See:        timer.h, fdwatch.h, sigwatch.h, child.h, workers.h.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct loop;
typedef void (*loop_fn)(void *arg);

/* Life. Everything hung on the loop is freed before it. Posts that have not
 * run by then never will: loop_drain runs them. Loop_new ignores SIGPIPE for
 * the process (child_spawn gives children the default back).
 */
void loop_free(struct loop *loop);
struct loop *loop_new(void) OWNED_BY(loop_free);
DEFINE_CLEANUP(struct loop, loop_free)

/* Run until loop_stop. Stop is itself posted: what was posted before it still
 * runs, and a stop that comes before loop_run makes that return. Drain runs
 * what is posted or deferred now, and what that posts in turn, and returns.
 */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
void loop_drain(struct loop *loop);

/* Post: from any thread, to this one; wakes it. Defer: on the loop's own
 * thread, after the callback under way has returned; cheaper.
 */
void loop_post(struct loop *loop, loop_fn fn, void *arg);
void loop_defer(struct loop *loop, loop_fn fn, void *arg);

/* CLOCK_MONOTONIC in milliseconds. */
int64_t loop_now_ms(void);
