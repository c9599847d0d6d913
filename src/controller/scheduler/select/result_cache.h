/* SPDX-License-Identifier: Apache-2.0 */
/* result_cache.h - the results that are kept, one set for a signature, those
 * used last
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

/* Life. Bytes: of all together; 0: 64 MiB. */
void result_cache_free(struct result_cache *bs);
struct result_cache *result_cache_new(size_t bytes) OWNED_BY(result_cache_free);
DEFINE_CLEANUP(struct result_cache, result_cache_free)

/* The signature's, made when it is not there. */
struct node_results *result_cache_get(struct result_cache *bs,
                                      const struct profile *profile,
                                      uint32_t signature);

/* Whether a choice for that signature should go by kept results, when without
 * one it costs what looking at so many nodes does. One that is there, when
 * fewer nodes have changed; one that is not, or must be made anew because nodes
 * came or went, when all the times that it was asked for since would have saved
 * as much as it costs to make.
 */
bool result_cache_is_worth(struct result_cache *bs,
                           uint32_t signature,
                           const struct snapshot *s,
                           unsigned cost);

/* Drops those that were not used for longest, when they are too many of the
 * size of this one.
 */
void result_cache_trim(struct result_cache *bs,
                       const struct node_results *used);
