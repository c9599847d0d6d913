/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - the event loop of one thread, with a mailbox for other threads
 *
 * A program may have several loops, each run by the thread that made it.
 * Timers, descriptors, signals and children belong to a loop and call back on
 * its thread; no callback may block it.
 *
 * Called by:  everything that waits.
 * Thread:     its own, except loop_post and loop_stop, which any may call.
 * Invariant:  each posted call runs once, in the order of posting.
 * See:        timer.h, fdwatch.h, sigwatch.h, child.h, workers.h.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct loop;
typedef void (*loop_fn)(void *arg);

/* Life. Free everything that belongs to the loop before the loop. Posted calls
 * that have not run by then never run: loop_drain runs them. Loop_new ignores
 * SIGPIPE for the process (child_spawn restores the default for children).
 */
void loop_free(struct loop *loop);
struct loop *loop_new(void) OWNED_BY(loop_free);
DEFINE_CLEANUP(struct loop, loop_free)

/* Run runs until loop_stop. A stop is posted too: calls posted before it still
 * run, and a stop that comes before loop_run makes loop_run return. Drain runs
 * the calls that are posted or deferred now, and those that they post, and
 * returns.
 */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
void loop_drain(struct loop *loop);

/* Has `fn` called on the loop's thread, from any thread; wakes the loop. */
void loop_post(struct loop *loop, loop_fn fn, void *arg);

/* Has `fn` called after the present callback has returned, on the loop's own thread; this is
 * cheaper.
 */
void loop_defer(struct loop *loop, loop_fn fn, void *arg);

/* CLOCK_MONOTONIC in milliseconds. */
int64_t loop_now_ms(void);
