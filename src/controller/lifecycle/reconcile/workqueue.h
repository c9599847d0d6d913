/* SPDX-License-Identifier: Apache-2.0 */
/* workqueue.h - keys of objects to reconcile, each by one worker at a time
 *
 * A key that is added while it waits is there once; one that is added while
 * it is being worked on is worked on again afterwards. At most `parallel` keys
 * are under way. A key that failed comes back after a growing delay.
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

struct loop;
struct workqueue;

/* Begins the work on a key; workqueue_done says when it is over, from within
 * or later. The key is borrowed until then.
 */
typedef void workqueue_work_fn(const char *key, void *context);

/* Life. Freeing forgets all keys. */
void workqueue_free(struct workqueue *q);
struct workqueue *workqueue_new(struct loop *loop,
                                unsigned parallel,
                                workqueue_work_fn *work,
                                void *context) OWNED_BY(workqueue_free);
DEFINE_CLEANUP(struct workqueue, workqueue_free)

/* Change. Add_after: the earliest of several delays counts. Done with
 * `failed` brings the key back after 100 ms, doubling up to 60 s; at once where
 * it was added meanwhile.
 */
void workqueue_add(struct workqueue *q, const char *key);
void workqueue_add_after(struct workqueue *q, const char *key, int64_t ms);
enum workqueue_result { WORKQUEUE_OK, WORKQUEUE_FAILED };
void workqueue_done(struct workqueue *q,
                    const char *key,
                    enum workqueue_result result);

/* Look: keys waiting, delayed ones included, and under way. */
size_t workqueue_count(const struct workqueue *q);
