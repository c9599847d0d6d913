/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/item_map.h"

#include <stdint.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct item_slot {
    void *item; /* NULL: never used; or the tombstone */
    uint32_t hash;
};

struct item_map {
    item_map_key_fn *key_of;
    struct item_slot *places;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    size_t filled; /* items and tombstones */
};

static char tombstone[1];

struct item_map *
item_map_new(item_map_key_fn *key_of)
{
    struct item_map *m = xnew(struct item_map);

    m->key_of = key_of;
    return m;
}

void
item_map_free(struct item_map *m)
{
    if (m == NULL)
        return;
    free(m->places);
    free(m);
}

static uint32_t
hash_of(const char *key)
{
    uint64_t hash = map_hash(key, strlen(key));

    return (uint32_t)(hash ^ hash >> 32);
}

static bool
is_live(const struct item_slot *s)
{
    return s->item != NULL && s->item != tombstone;
}

static struct item_slot *
find_place(const struct item_map *m, const char *key, uint32_t hash)
{
    const size_t mask = m->capacity - 1;

    if (m->capacity == 0)
        return NULL;
    for (size_t i = hash & mask; m->places[i].item != NULL; i = (i + 1) & mask) {
        struct item_slot *s = &m->places[i];

        if (is_live(s) && s->hash == hash && strcmp(m->key_of(s->item), key) == 0)
            return s;
    }
    return NULL;
}

static void
set(struct item_slot *places, size_t capacity, struct item_slot what)
{
    size_t i = what.hash & (capacity - 1);

    while (places[i].item != NULL)
        i = (i + 1) & (capacity - 1);
    places[i] = what;
}

/* The new table is at most half full and has no tombstones. */
static void
make_room(struct item_map *m)
{
    struct item_slot *places;
    size_t capacity = 8;

    if ((m->filled + 1) * 4 <= m->capacity * 3)
        return;
    while (capacity < (m->count + 1) * 2)
        capacity *= 2;
    places = xnew_array(struct item_slot, capacity);
    for (size_t i = 0; i < m->capacity; i++)
        if (is_live(&m->places[i]))
            set(places, capacity, m->places[i]);
    free(m->places);
    m->places = places;
    m->capacity = capacity;
    m->filled = m->count;
}

void *
item_map_put(struct item_map *m, void *item)
{
    const char *key = m->key_of(item);
    const uint32_t hash = hash_of(key);
    struct item_slot *s = find_place(m, key, hash);
    void *before;

    if (s != NULL) {
        before = s->item;
        s->item = item;
        return before;
    }
    make_room(m);
    set(m->places, m->capacity, (struct item_slot){item, hash});
    m->count++;
    m->filled++;
    return NULL;
}

void *
item_map_remove(struct item_map *m, const char *key)
{
    struct item_slot *s = find_place(m, key, hash_of(key));
    void *item;

    if (s == NULL)
        return NULL;
    item = s->item;
    s->item = tombstone;
    m->count--;
    return item;
}

void *
item_map_find(const struct item_map *m, const char *key)
{
    const struct item_slot *s = find_place(m, key, hash_of(key));

    return s != NULL ? s->item : NULL;
}

size_t
item_map_count(const struct item_map *m)
{
    return m->count;
}

bool
item_map_next(const struct item_map *m, size_t *at, void **ret_item)
{
    while (*at < m->capacity) {
        const struct item_slot *s = &m->places[(*at)++];

        if (!is_live(s))
            continue;
        *ret_item = s->item;
        return true;
    }
    return false;
}
