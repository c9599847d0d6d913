/* SPDX-License-Identifier: Apache-2.0 */
/* quota_waiters.h - Jobs whose pods a quota has refused, woken when the quota
 * has room
 *
 * The Jobs wait by namespace, in the order of submission. When a quota's `used`
 * falls, a bounded number of the first ones is woken, however many wait. Each
 * that gets a pod wakes one more, so the room is taken by as many Jobs as it is
 * enough for. A Job that is refused again waits for the next room in its old
 * place. When the quota's limits change or the quota is deleted, all are woken.
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

/* Called for a Job that is to be synced again. */
typedef void quota_waiters_wake_fn(const char *key, void *context);

/* Life. */
void quota_waiters_free(struct quota_waiters *w);
struct quota_waiters *quota_waiters_new(quota_waiters_wake_fn *wake, void *context)
    OWNED_BY(quota_waiters_free);

/* Change. Refuse: only messages of a quota count, and a Job that waits already
 * stays in its place. Remove: the Job has a pod, or needs none any more.
 */
void quota_waiters_refuse(struct quota_waiters *w, const struct object *job, const char *words);
void quota_waiters_remove(struct quota_waiters *w, const char *key);

/* A ResourceQuota was added (old NULL), changed or deleted (new NULL). */
void quota_waiters_see_quota(struct quota_waiters *w, const struct object *old_quota,
                             const struct object *new_quota);
