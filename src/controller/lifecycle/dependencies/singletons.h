/* SPDX-License-Identifier: Apache-2.0 */
/* singletons.h - the jobs of each user and name that have not ended, by number
 *
 * Nothing is kept before the first job of the cluster that asks for it
 * (--dependency=singleton); from then on all jobs are.
 *
 * Owns:    copies of names, numbers and keys.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct job;
struct object;
struct object_cache;
struct singletons;

/* Life. Wake: that job may be the oldest of its name now. */
typedef void singletons_wake_fn(const char *key, void *context);
void singletons_free(struct singletons *singletons);
struct singletons *singletons_new(const struct object_cache *cache,
                                  singletons_wake_fn *wake,
                                  void *context) OWNED_BY(singletons_free);
DEFINE_CLEANUP(struct singletons, singletons_free)

/* Change: a Job as it is now; NULL: it is gone. */
void singletons_see(struct singletons *singletons,
                    const struct object *old_job,
                    const struct object *new_job);

/* Look: whether no older job of its user and name is left. */
bool singletons_is_first(struct singletons *singletons,
                         const struct object *job);
