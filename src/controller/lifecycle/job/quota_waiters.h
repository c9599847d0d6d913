/* SPDX-License-Identifier: Apache-2.0 */
/* quota_waiters.h - Jobs whose pods a quota has refused, woken when room comes
 *
 * By namespace, in the order of submission. Room that comes (a quota's `used`
 * falls) wakes the first of them, a bounded number however many wait; each that
 * is given a pod then makes way for one more, so that much room is taken by as
 * many as it is enough for. One that is refused again waits for the next room,
 * in its old place. A quota that is changed itself, or goes, wakes all.
 *
 * Owns:       the keys; no object.
 * Called by:  job_controller.c.
 * Thread:     the lifecycle loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct object;
struct quota_waiters;

/* The Job of that key is to be looked at again. */
typedef void quota_waiters_wake_fn(const char *key, void *context);

/* Life */
void quota_waiters_free(struct quota_waiters *w);
struct quota_waiters *quota_waiters_new(quota_waiters_wake_fn *wake,
                                        void *context)
    OWNED_BY(quota_waiters_free);

/* Change. Refuse: only words that are of a quota count, and one that waits stays
 * in its place. Remove: it has a pod, or needs none any more.
 */
void quota_waiters_refuse(struct quota_waiters *w,
                          const struct object *job,
                          const char *words);
void quota_waiters_remove(struct quota_waiters *w, const char *key);

/* A ResourceQuota is another than it was; NULL: it was, or is, not there. */
void quota_waiters_see_quota(struct quota_waiters *w,
                             const struct object *old_quota,
                             const struct object *new_quota);
