/* SPDX-License-Identifier: Apache-2.0 */
/* item_index.h - finds an item in a list, by its value or by a member of it, in
 * constant time
 *
 * The list is borrowed and may only grow at its end, with one call of
 * item_index_add for each item. Items without the key are never found.
 *
 * Thread:  one at a time.
 */
#pragma once

#include <stdint.h>

struct arena;
struct json;

struct item_index {
    const struct json *list; /* NULL or no array: the index is empty */
    const char *key;         /* NULL: compare whole items */
    uint32_t *slots;         /* the first of equal items, plus one */
    uint32_t *next;          /* by item: the next equal one, plus one */
    uint64_t *hashes;        /* by item */
    uint32_t mask;
};

/* `growth` is the number of items that may be added. */
void item_index_init(struct item_index *x, struct arena *arena, const struct json *list,
                     const char *key, uint32_t growth);

/* Adds the last item of the list, which must differ from all before it. */
void item_index_add(struct item_index *x);

/* The first item equal to `item`; the next one equal to that at `at`. -1: none.
 */
int64_t item_index_find(const struct item_index *x, const struct json *item);
int64_t item_index_next(const struct item_index *x, int64_t at);
