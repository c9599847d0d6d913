/* SPDX-License-Identifier: Apache-2.0 */
/* Keys come from users, and a user who can choose keys that collide can make each look-up a
 * search. So keys are hashed with SipHash and a seed of the process, with the fewest rounds
 * that are considered safe for this. The order of iteration follows from the seed, hence
 * nothing may depend on it.
 */
#include "lib/base/map.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

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
static uint64_t seed[2];

static void __attribute__((constructor)) choose_seed(void)
{
    if (getrandom(seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
        seed[0] = (uint64_t)(uintptr_t)&seed ^ (uint64_t)time(NULL);
}

static inline uint64_t
rotated(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void
sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotated(v[1], 13) ^ v[0];
    v[3] = rotated(v[3], 16) ^ v[2];
    v[0] = rotated(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotated(v[1], 17) ^ v[2];
    v[3] = rotated(v[3], 21) ^ v[0];
    v[2] = rotated(v[2], 32);
}

static inline void
absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

/* SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
 * 2012, with one round per word and three at the end).
 */
uint64_t
map_hash(const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    uint64_t v[4] = {
        seed[0] ^ 0x736f6d6570736575u,
        seed[1] ^ 0x646f72616e646f6du,
        seed[0] ^ 0x6c7967656e657261u,
        seed[1] ^ 0x7465646279746573u,
    };
    uint64_t word;
    size_t left;

    for (left = length; left >= 8; left -= 8, p += 8) {
        memcpy(&word, p, 8);
        absorb(v, word);
    }
    word = 0;
    memcpy(&word, p, left);
    absorb(v, word | (uint64_t)length << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
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

/* After a resize the map is at most half full and has no tombstones. */
static size_t
capacity_for(size_t count)
{
    size_t capacity = 4;

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
    place(m->slots, m->capacity, (struct slot){xmemdup(key, length + 1), value, hash});
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
map_next(const struct map *m, size_t *at, const char **ret_key, void **ret_value)
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
