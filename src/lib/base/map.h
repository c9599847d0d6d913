/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - from a string to a pointer, in constant time
 *
 * Open addressing, keys copied, values borrowed: free them yourself before
 * map_free. Order of iteration is not defined. Keys are hashed with a seed of
 * the process, so that a peer cannot choose colliding ones.
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

/* Change. Put returns the value that stood there, or NULL; so does remove.
 * A NULL value is not allowed. Clear forgets everything, keys included.
 */
void *map_put(struct map *m, const char *key, void *value);
void *map_remove(struct map *m, const char *key);
void map_clear(struct map *m);

/* Look. Iterate with an index that starts at 0, while map_next is true; the
 * entry under the iterator may be removed, nothing else may change. `ret_key`
 * may be NULL.
 */
void *map_find(const struct map *m, const char *key);
size_t map_count(const struct map *m);
bool map_next(const struct map *m,
              size_t *at,
              const char **ret_key,
              void **ret_value);

/* The hash itself, SipHash-1-3 under the key of the process. */
uint64_t map_hash(const void *bytes, size_t length);
