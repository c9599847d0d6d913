/* SPDX-License-Identifier: Apache-2.0 */
/* singletons.h - the jobs of each user and name that have not ended, by number
 *
 * The index is empty until the first job asks for it (--dependency=singleton);
 * from then on it holds all jobs of the cluster.
 *
 * Owns:    copies of names, numbers and keys.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct object;
struct object_cache;
struct singletons;

/* Life. Wake is called for a job that may now be the oldest of its name. */
typedef void singletons_wake_fn(const char *key, void *context);
void singletons_free(struct singletons *singletons);
struct singletons *singletons_new(const struct object_cache *cache, singletons_wake_fn *wake,
                                  void *context) OWNED_BY(singletons_free);
DEFINE_CLEANUP(struct singletons, singletons_free)

/* A Job was added, changed, or deleted (new_job NULL). */
void singletons_see(struct singletons *singletons, const struct object *old_job,
                    const struct object *new_job);

/* Whether the job is the oldest of its user and name. */
bool singletons_is_first(struct singletons *singletons, const struct object *job);
