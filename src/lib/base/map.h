/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - a hash map from strings to pointers
 *
 * Open addressing. Keys are copied; values are borrowed, so the caller frees
 * them before map_free. The order of iteration is undefined. Keys are hashed
 * with a random seed of the process, so that a peer cannot choose keys that
 * collide.
 *
 * Thread:  one at a time; several may read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct map;

/* Life */
void map_free(struct map *m);
struct map *map_new(void) OWNED_BY(map_free);
DEFINE_CLEANUP(struct map, map_free)

/* Put and remove return the previous value of the key, or NULL. A NULL
 * value is not allowed. Clear removes all keys and values.
 */
void *map_put(struct map *m, const char *key, void *value);
void *map_remove(struct map *m, const char *key);
void map_clear(struct map *m);

/* Iterate with an index that starts at 0, while map_next is true. During
 * the iteration only the current entry may be removed. `ret_key` may be NULL.
 */
void *map_find(const struct map *m, const char *key);
size_t map_count(const struct map *m);
bool map_next(const struct map *m, size_t *at, const char **ret_key, void **ret_value);

/* The hash of the keys: SipHash-1-3 with the seed of the process. */
uint64_t map_hash(const void *bytes, size_t length);
