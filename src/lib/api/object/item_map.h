/* SPDX-License-Identifier: Apache-2.0 */
/* item_map.h - a map from a string to an item that contains that string
 *
 * Like map.h, for hundreds of thousands of items: keys are not copied, and a
 * slot has sixteen bytes. The key of an item must not change while the item is
 * in the map, but it may move to another address.
 *
 * Thread:  one at a time; several may read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct item_map;

typedef const char *item_map_key_fn(const void *item);

/* Life. Free releases no item. */
void item_map_free(struct item_map *m);
struct item_map *item_map_new(item_map_key_fn *key_of) OWNED_BY(item_map_free);
DEFINE_CLEANUP(struct item_map, item_map_free)

/* Put and remove return the item that had the key before, or NULL. */
void *item_map_put(struct item_map *m, void *item);
void *item_map_remove(struct item_map *m, const char *key);

/* For next, `at` begins at 0; it returns false after the last item. The
 * item that next returned may be removed; nothing else may change meanwhile.
 */
void *item_map_find(const struct item_map *m, const char *key);
size_t item_map_count(const struct item_map *m);
bool item_map_next(const struct item_map *m, size_t *at, void **ret_item);
