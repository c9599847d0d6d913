/* SPDX-License-Identifier: Apache-2.0 */
/* workqueue.h - keys of objects to reconcile, each by one worker at a time
 *
 * A key that is added several times while it waits is queued once; a key that
 * is added while a worker has it is worked on again afterwards. At most
 * `parallel` keys are worked on at a time. A key that failed is retried after a
 * growing delay.
 *
 * Called by:  the lifecycle loops.
 * Thread:     the loop's.
 * Invariant:  between the call of `work` for a key and workqueue_done for it,
 *             `work` is not called for that key.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct clock;
struct loop;
struct workqueue;

/* Begins the work on a key; workqueue_done ends it, from within this call or
 * later. The key is borrowed until then.
 */
typedef void workqueue_work_fn(const char *key, void *context);

/* Life. Free drops all keys. */
void workqueue_free(struct workqueue *q);
struct workqueue *workqueue_new(struct loop *loop, unsigned parallel, workqueue_work_fn *work,
                                void *context) OWNED_BY(workqueue_free);
DEFINE_CLEANUP(struct workqueue, workqueue_free)

/* If a key is added with several delays, the shortest one counts. A key
 * that is done with WORKQUEUE_FAILED is retried after 100 ms, a delay that
 * doubles up to 60 s with each failure; a key that was added meanwhile is
 * retried at once.
 */
void workqueue_add(struct workqueue *q, const char *key);
void workqueue_add_after(struct workqueue *q, const char *key, int64_t ms);
enum workqueue_result { WORKQUEUE_OK, WORKQUEUE_FAILED };
void workqueue_done(struct workqueue *q, const char *key, enum workqueue_result result);

/* The keys wait for times of the real clock. Their delays run on the monotonic
 * clock, so whenever the real clock was set (noticed within a second), all
 * delayed keys are worked on at once, and can be added with a new delay.
 */
void workqueue_follow_clock(struct workqueue *q, struct clock *clock);

/* The number of keys that are waiting, delayed or being worked on. */
size_t workqueue_count(const struct workqueue *q);
