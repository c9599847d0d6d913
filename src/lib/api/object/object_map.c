/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/object_map.h"

#include <stdint.h>
#include <string.h>

#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/base/text.h"

struct object_slot {
    const struct object *object; /* NULL: never used; or the tombstone */
    uint32_t hash;
};

struct object_map {
    struct object_slot *places;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    size_t filled; /* objects and tombstones */
};

static const struct object tombstone;

struct object_map *
object_map_new(void)
{
    return xnew(struct object_map);
}

void
object_map_free(struct object_map *m)
{
    if (m == NULL)
        return;
    free(m->places);
    free(m);
}

static uint32_t
hash_of(const char *namespace, const char *name)
{
    uint64_t hash = map_hash(name, strlen(name));

    if (namespace[0] != '\0')
        hash ^= 31 * map_hash(namespace, strlen(namespace));
    return (uint32_t)(hash ^ hash >> 32);
}

static bool
is_live(const struct object_slot *s)
{
    return s->object != NULL && s->object != &tombstone;
}

static bool
is_at(const struct object_slot *s, const char *namespace, const char *name)
{
    const struct meta *meta = s->object->meta;

    return strcmp(text_or_empty(meta->name), name) == 0
           && strcmp(text_or_empty(meta->namespace), namespace) == 0;
}

static struct object_slot *
find_place(const struct object_map *m, const char *namespace, const char *name, uint32_t hash)
{
    size_t mask = m->capacity - 1;

    if (m->capacity == 0)
        return NULL;
    for (size_t i = hash & mask; m->places[i].object != NULL; i = (i + 1) & mask) {
        struct object_slot *s = &m->places[i];

        if (is_live(s) && s->hash == hash && is_at(s, namespace, name))
            return s;
    }
    return NULL;
}

static void
set(struct object_slot *places, size_t capacity, struct object_slot what)
{
    size_t i = what.hash & (capacity - 1);

    while (places[i].object != NULL)
        i = (i + 1) & (capacity - 1);
    places[i] = what;
}

/* The new table is at most half full and has no tombstones. */
static void
make_room(struct object_map *m)
{
    struct object_slot *places;
    size_t capacity = 2;

    if ((m->filled + 1) * 4 <= m->capacity * 3)
        return;
    while (capacity < (m->count + 1) * 2)
        capacity *= 2;
    places = xnew_array(struct object_slot, capacity);
    for (size_t i = 0; i < m->capacity; i++)
        if (is_live(&m->places[i]))
            set(places, capacity, m->places[i]);
    free(m->places);
    m->places = places;
    m->capacity = capacity;
    m->filled = m->count;
}

const struct object *
object_map_put(struct object_map *m, const struct object *object)
{
    const char *namespace = text_or_empty(object->meta->namespace);
    const char *name = text_or_empty(object->meta->name);
    uint32_t hash = hash_of(namespace, name);
    struct object_slot *s = find_place(m, namespace, name, hash);
    const struct object *old_object;

    if (s != NULL) {
        old_object = s->object;
        s->object = object;
        return old_object;
    }
    make_room(m);
    set(m->places, m->capacity, (struct object_slot){object, hash});
    m->count++;
    m->filled++;
    return NULL;
}

const struct object *
object_map_remove(struct object_map *m, const char *namespace, const char *name)
{
    const char *in = text_or_empty(namespace);
    struct object_slot *s = find_place(m, in, name, hash_of(in, name));
    const struct object *object;

    if (s == NULL)
        return NULL;
    object = s->object;
    s->object = &tombstone;
    m->count--;
    return object;
}

const struct object *
object_map_find(const struct object_map *m, const char *namespace, const char *name)
{
    const char *in = text_or_empty(namespace);
    const struct object_slot *s = find_place(m, in, name, hash_of(in, name));

    return s != NULL ? s->object : NULL;
}

size_t
object_map_count(const struct object_map *m)
{
    return m->count;
}

bool
object_map_next(const struct object_map *m, size_t *at, const struct object **ret_object)
{
    while (*at < m->capacity) {
        const struct object_slot *s = &m->places[(*at)++];

        if (!is_live(s))
            continue;
        *ret_object = s->object;
        return true;
    }
    return false;
}
