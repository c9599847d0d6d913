/* SPDX-License-Identifier: Apache-2.0 */
/* result_cache.h - the most recently used node results, one for each signature
 *
 * Owns:    the kept results.
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct node_results;
struct result_cache;
struct profile;
struct snapshot;

/* Life. `bytes`: memory limit for all results together; 0: 64 MiB. */
void result_cache_free(struct result_cache *c);
struct result_cache *result_cache_new(size_t bytes) OWNED_BY(result_cache_free);
DEFINE_CLEANUP(struct result_cache, result_cache_free)

/* The results of that signature; new and empty ones when there are none. */
struct node_results *result_cache_get(struct result_cache *c, const struct profile *profile,
                                      uint32_t signature);

/* Whether a search for that signature should use kept results, when a search
 * without them costs as much as evaluating `cost` nodes. True for existing
 * results if fewer nodes than that have changed. If they do not exist, or must
 * be made again because nodes were added or removed, true once all requests
 * since then would have saved as much as making them costs.
 */
bool result_cache_is_worth(struct result_cache *c, uint32_t signature, const struct snapshot *s,
                           unsigned cost);

/* Drops the results used longest ago while all together, each taken to be as
 * large as `used`, exceed the limit.
 */
void result_cache_trim(struct result_cache *c, const struct node_results *used);
