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
object_map_free(struct object_map *r)
{
    if (r == NULL)
        return;
    free(r->places);
    free(r);
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
is_live(const struct object_slot *p)
{
    return p->object != NULL && p->object != &tombstone;
}

static bool
is_at(const struct object_slot *p, const char *namespace, const char *name)
{
    const struct meta *meta = p->object->meta;

    return strcmp(text_or_empty(meta->name), name) == 0
           && strcmp(text_or_empty(meta->namespace), namespace) == 0;
}

static struct object_slot *
find_place(const struct object_map *r, const char *namespace, const char *name, uint32_t hash)
{
    size_t mask = r->capacity - 1;

    if (r->capacity == 0)
        return NULL;
    for (size_t i = hash & mask; r->places[i].object != NULL; i = (i + 1) & mask) {
        struct object_slot *p = &r->places[i];

        if (is_live(p) && p->hash == hash && is_at(p, namespace, name))
            return p;
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
make_room(struct object_map *r)
{
    struct object_slot *places;
    size_t capacity = 2;

    if ((r->filled + 1) * 4 <= r->capacity * 3)
        return;
    while (capacity < (r->count + 1) * 2)
        capacity *= 2;
    places = xnew_array(struct object_slot, capacity);
    for (size_t i = 0; i < r->capacity; i++)
        if (is_live(&r->places[i]))
            set(places, capacity, r->places[i]);
    free(r->places);
    r->places = places;
    r->capacity = capacity;
    r->filled = r->count;
}

const struct object *
object_map_put(struct object_map *r, const struct object *object)
{
    const char *namespace = text_or_empty(object->meta->namespace);
    const char *name = text_or_empty(object->meta->name);
    uint32_t hash = hash_of(namespace, name);
    struct object_slot *p = find_place(r, namespace, name, hash);
    const struct object *old_object;

    if (p != NULL) {
        old_object = p->object;
        p->object = object;
        return old_object;
    }
    make_room(r);
    set(r->places, r->capacity, (struct object_slot){object, hash});
    r->count++;
    r->filled++;
    return NULL;
}

const struct object *
object_map_remove(struct object_map *r, const char *namespace, const char *name)
{
    const char *in = text_or_empty(namespace);
    struct object_slot *p = find_place(r, in, name, hash_of(in, name));
    const struct object *object;

    if (p == NULL)
        return NULL;
    object = p->object;
    p->object = &tombstone;
    r->count--;
    return object;
}

const struct object *
object_map_find(const struct object_map *r, const char *namespace, const char *name)
{
    const char *in = text_or_empty(namespace);
    const struct object_slot *p = find_place(r, in, name, hash_of(in, name));

    return p != NULL ? p->object : NULL;
}

size_t
object_map_count(const struct object_map *r)
{
    return r->count;
}

bool
object_map_next(const struct object_map *r, size_t *at, const struct object **ret_object)
{
    while (*at < r->capacity) {
        const struct object_slot *p = &r->places[(*at)++];

        if (!is_live(p))
            continue;
        *ret_object = p->object;
        return true;
    }
    return false;
}
