/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/item_index.h"

#include "lib/base/arena.h"
#include "lib/json/json.h"

static const struct json *
value_of(const struct item_index *x, const struct json *item)
{
    return x->key != NULL ? json_get(item, x->key) : item;
}

/* The slot of the items equal to `value`, or the free slot where it would be.
 */
static uint32_t *
find_slot(const struct item_index *x, const struct json *value, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & x->mask;

    for (; x->slots[at] != 0; at = (at + 1) & x->mask) {
        uint32_t i = x->slots[at] - 1;

        if (x->hashes[i] == hash && json_equals(value_of(x, x->list->items[i]), value))
            break;
    }
    return &x->slots[at];
}

/* Adds an item in front of the items equal to it. */
static void
put(struct item_index *x, uint32_t i)
{
    const struct json *value = value_of(x, x->list->items[i]);
    uint32_t *slot;

    if (value == NULL)
        return;
    x->hashes[i] = json_hash(value);
    slot = find_slot(x, value, x->hashes[i]);
    x->next[i] = *slot;
    *slot = i + 1;
}

void
item_index_init(struct item_index *x, struct arena *arena, const struct json *list, const char *key,
                uint32_t growth)
{
    uint32_t count = json_is(list, JSON_ARRAY) ? list->count : 0;
    uint32_t most = count + growth, slots = 8;

    while (slots < most * 2)
        slots *= 2;
    x->list = list;
    x->key = key;
    x->mask = slots - 1;
    x->slots = arena_new_array(arena, uint32_t, slots);
    x->next = arena_new_array(arena, uint32_t, most + 1);
    x->hashes = arena_new_array(arena, uint64_t, most + 1);
    for (uint32_t i = count; i-- > 0;)
        put(x, i);
}

void
item_index_add(struct item_index *x)
{
    put(x, x->list->count - 1);
}

int64_t
item_index_find(const struct item_index *x, const struct json *item)
{
    const struct json *value = value_of(x, item);

    return value != NULL ? (int64_t)*find_slot(x, value, json_hash(value)) - 1 : -1;
}

int64_t
item_index_next(const struct item_index *x, int64_t at)
{
    return (int64_t)x->next[at] - 1;
}
