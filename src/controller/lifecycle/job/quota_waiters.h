/* SPDX-License-Identifier: Apache-2.0 */
/* quota_waiters.h - Jobs whose pods a quota has refused, woken when it has room
 * for them
 *
 * A Job waits in the line of the quota that refused it (quota_line.h), with the
 * amounts that the refusal named. It makes no call while it waits. When the
 * quota has room, the first Jobs in order that fit into it are woken, each for
 * what it needs; a Job of several pods gets all the room of the resources that
 * it needs, until it has enough or is refused again. A Job that is refused again
 * waits in its old place. Smaller Jobs may pass one that does not fit.
 *
 * Owns:       the places; no object.
 * Called by:  job_controller.c.
 * Thread:     the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct json;
struct loop;
struct object;
struct quota_waiters;

/* Called for a Job that is to be synced again. */
typedef void quota_waiters_wake_fn(const char *key, void *context);

/* The priority that the Job's pods get. */
typedef int64_t quota_waiters_priority_fn(const struct object *job, void *context);

/* Life. */
void quota_waiters_free(struct quota_waiters *w);
struct quota_waiters *quota_waiters_new(struct loop *loop, quota_waiters_wake_fn *wake,
                                        quota_waiters_priority_fn *priority, void *context)
    OWNED_BY(quota_waiters_free);

/* The API refused a pod of the Job, or the update of one, with these words. Returns false if
 * these are not a quota's, or do not say how much is lacking of what: then the Job does not
 * wait here. *ret_is_new: the Job did not wait for this quota before.
 */
bool quota_waiters_refuse(struct quota_waiters *w, const struct object *job, const char *words,
                          bool is_update, bool *ret_is_new);

/* The Job needs no pod now. */
void quota_waiters_remove(struct quota_waiters *w, const char *key);

/* Adds a Job that waited when the controller started, by the cause in its status. */
void quota_waiters_recall(struct quota_waiters *w, const struct object *job);

/* The Job has changed: it may have another place now. If it asks for other
 * pods than before, it is tried at once.
 */
void quota_waiters_see_job(struct quota_waiters *w, const struct object *job, bool asks_anew);

/* A ResourceQuota was added (old NULL), changed or deleted (new NULL). All its
 * Jobs are tried when it limits other amounts or pods than before.
 */
void quota_waiters_see_quota(struct quota_waiters *w, const struct object *old_quota,
                             const struct object *new_quota);

/* Whether it is not the Job's turn to create pods, or, for an update, to update them. */
bool quota_waiters_holds_back(const struct quota_waiters *w, const char *key, bool is_update);

/* Returns which quota the Job waits for, its place in the line and how many wait: {name,
 * place, waiting}; NULL: it waits for none.
 */
struct json *quota_waiters_explain(const struct quota_waiters *w, const struct object *job,
                                   struct arena *arena);
