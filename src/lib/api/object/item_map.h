/* SPDX-License-Identifier: Apache-2.0 */
/* item_map.h - from a string to an item that holds that string itself
 *
 * As map.h, for what there are hundreds of thousands of: no key is copied, and
 * a place has sixteen bytes. The key of an item must stay as it is while the
 * item is here, though it may stand elsewhere by then.
 *
 * Thread:  one at a time; several may read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct item_map;

typedef const char *item_map_key_fn(const void *item);

/* Life. Free lets go of no item. */
void item_map_free(struct item_map *m);
struct item_map *item_map_new(item_map_key_fn *key_of) OWNED_BY(item_map_free);
DEFINE_CLEANUP(struct item_map, item_map_free)

/* Change. Put returns the item that had that key, or NULL; so does remove. */
void *item_map_put(struct item_map *m, void *item);
void *item_map_remove(struct item_map *m, const char *key);

/* Look. Next begins at 0, and goes on while true; the item that it gave may be
 * removed, nothing else may change.
 */
void *item_map_find(const struct item_map *m, const char *key);
size_t item_map_count(const struct item_map *m);
bool item_map_next(const struct item_map *m, size_t *at, void **ret_item);
