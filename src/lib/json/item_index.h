/* SPDX-License-Identifier: Apache-2.0 */
/* item_index.h - where an item stands in a list, by its value or by a member
 * of it, in constant time
 *
 * The list is borrowed and may only grow at its end, each item by a call of
 * item_index_add. Items without the key are never found.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdint.h>

struct arena;
struct json;

struct item_index {
    const struct json *list; /* NULL or no array: without items */
    const char *key;         /* NULL: the item as a whole */
    uint32_t *slots;         /* the first item of those alike, plus one */
    uint32_t *next;          /* by item: the next one alike, plus one */
    uint64_t *hashes;        /* by item */
    uint32_t mask;
};

/* Growth: how many items may be added. */
void item_index_init(struct item_index *x,
                     struct arena *arena,
                     const struct json *list,
                     const char *key,
                     uint32_t growth);

/* The last item of the list, which is like none before it. */
void item_index_add(struct item_index *x);

/* The first that is like `item`; the one alike behind it. -1: none. */
int64_t item_index_find(const struct item_index *x, const struct json *item);
int64_t item_index_next(const struct item_index *x, int64_t at);
