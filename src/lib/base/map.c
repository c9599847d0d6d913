/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/map.h"

#include <string.h>
#include <sys/random.h>

#include "lib/base/alloc.h"

struct slot {
    char *key; /* NULL: never used; tombstone: removed */
    void *value;
    uint64_t hash;
};

struct map {
    struct slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    size_t filled; /* count and tombstones */
};

static char tombstone[1];
static uint64_t seed;

static void __attribute__((constructor)) choose_seed(void)
{
    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
        seed = (uint64_t)(uintptr_t)&seed;
}

uint64_t
map_hash(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    uint64_t h = 0xcbf29ce484222325u ^ seed;

    for (size_t i = 0; i < length; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return h;
}

struct map *
map_new(void)
{
    return xnew(struct map);
}

static bool
is_live(const struct slot *s)
{
    return s->key != NULL && s->key != tombstone;
}

void
map_clear(struct map *m)
{
    for (size_t i = 0; i < m->capacity; i++)
        if (is_live(&m->slots[i]))
            free(m->slots[i].key);
    free(m->slots);
    *m = (struct map){0};
}

void
map_free(struct map *m)
{
    if (m == NULL)
        return;
    map_clear(m);
    free(m);
}

/* The slot that holds the key, or NULL. */
static struct slot *
find_slot(const struct map *m, const char *key, uint64_t hash)
{
    size_t mask = m->capacity - 1;

    if (m->capacity == 0)
        return NULL;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct slot *s = &m->slots[i];

        if (s->key == NULL)
            return NULL;
        if (s->key != tombstone && s->hash == hash && strcmp(s->key, key) == 0)
            return s;
    }
}

static void
place(struct slot *slots, size_t capacity, struct slot what)
{
    size_t i = what.hash & (capacity - 1);

    while (slots[i].key != NULL)
        i = (i + 1) & (capacity - 1);
    slots[i] = what;
}

static void
resize(struct map *m, size_t capacity)
{
    struct slot *slots = xnew_array(struct slot, capacity);

    for (size_t i = 0; i < m->capacity; i++)
        if (is_live(&m->slots[i]))
            place(slots, capacity, m->slots[i]);
    free(m->slots);
    m->slots = slots;
    m->capacity = capacity;
    m->filled = m->count;
}

/* At most half full after a resize, which also sweeps the tombstones. */
static size_t
capacity_for(size_t count)
{
    size_t capacity = 16;

    while (capacity < count * 2)
        capacity *= 2;
    return capacity;
}

void *
map_put(struct map *m, const char *key, void *value)
{
    size_t length = strlen(key);
    uint64_t hash = map_hash(key, length);
    struct slot *s = find_slot(m, key, hash);
    void *old;

    if (s != NULL) {
        old = s->value;
        s->value = value;
        return old;
    }
    if ((m->filled + 1) * 4 > m->capacity * 3)
        resize(m, capacity_for(m->count + 1));
    place(m->slots,
          m->capacity,
          (struct slot){xmemdup(key, length + 1), value, hash});
    m->count++;
    m->filled++;
    return NULL;
}

void *
map_remove(struct map *m, const char *key)
{
    struct slot *s = find_slot(m, key, map_hash(key, strlen(key)));
    void *old;

    if (s == NULL)
        return NULL;
    old = s->value;
    free(s->key);
    s->key = tombstone;
    s->value = NULL;
    m->count--;
    return old;
}

void *
map_find(const struct map *m, const char *key)
{
    const struct slot *s = find_slot(m, key, map_hash(key, strlen(key)));

    return s != NULL ? s->value : NULL;
}

size_t
map_count(const struct map *m)
{
    return m->count;
}

bool
map_next(const struct map *m,
         size_t *at,
         const char **ret_key,
         void **ret_value)
{
    while (*at < m->capacity) {
        const struct slot *s = &m->slots[(*at)++];

        if (!is_live(s))
            continue;
        if (ret_key != NULL)
            *ret_key = s->key;
        *ret_value = s->value;
        return true;
    }
    return false;
}
