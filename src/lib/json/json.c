/* SPDX-License-Identifier: Apache-2.0 */
/* An object with few members is searched in order: names mostly are the field table's own
 * pointers, and a comparison of two pointers beats a hash. Objects of many members have an
 * index with a secret key, because a client chooses the names and their number. Removing and
 * appending keep the order, for upstream's text has one.
 */
#include "lib/json/json.h"

#include <stdarg.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/decimal.h"
#include "lib/base/map.h"

/* An object with more members than this has an index: after the space for its
 * members, a hash table of positions plus one, with 0 for a free slot. The
 * table has at least twice as many slots as the object has space for members. A
 * peer that chooses the names cannot predict collisions, because the hash has a
 * secret key.
 */
#define MOST_UNINDEXED 64u

static struct json *
make(struct arena *arena, enum json_type type)
{
    struct json *v = arena_alloc(arena, sizeof(*v));

    v->type = type;
    return v;
}

struct json *
json_null(struct arena *arena)
{
    return make(arena, JSON_NULL);
}

struct json *
json_bool(struct arena *arena, bool value)
{
    struct json *v = make(arena, JSON_BOOL);

    v->boolean = value;
    return v;
}

struct json *
json_number(struct arena *arena, const char *text)
{
    struct json *v = make(arena, JSON_NUMBER);

    v->count = (uint32_t)strlen(text);
    v->text = arena_strndup(arena, text, v->count);
    return v;
}

struct json *
json_int(struct arena *arena, int64_t value)
{
    struct json *v = make(arena, JSON_NUMBER);
    char room[DECIMAL_SIZE];
    const char *digits = decimal_of(value, room);

    v->count = (uint32_t)(room + DECIMAL_SIZE - 1 - digits);
    v->text = arena_strndup(arena, digits, v->count);
    return v;
}

struct json *
json_string_n(struct arena *arena, const char *text, size_t n)
{
    struct json *v = make(arena, JSON_STRING);

    v->text = arena_strndup(arena, text, n);
    v->count = (uint32_t)n;
    return v;
}

struct json *
json_string(struct arena *arena, const char *text)
{
    return json_string_n(arena, text, strlen(text));
}

struct json *
json_stringf(struct arena *arena, const char *format, ...)
{
    struct json *v = make(arena, JSON_STRING);
    va_list args;

    va_start(args, format);
    v->text = arena_vprintf(arena, format, args);
    va_end(args);
    v->count = (uint32_t)strlen(v->text);
    return v;
}

struct json *
json_array(struct arena *arena)
{
    return make(arena, JSON_ARRAY);
}

struct json *
json_object(struct arena *arena)
{
    return make(arena, JSON_OBJECT);
}

/* --- the index of an object with many members ----------------------------- */

static uint32_t
count_slots(uint32_t capacity)
{
    uint32_t n = MOST_UNINDEXED * 2;

    while (n < capacity * 2)
        n *= 2;
    return n;
}

static uint32_t *
slots_of(const struct json *object)
{
    return (uint32_t *)(void *)(object->members + object->capacity);
}

/* The slot of the name, or the free slot where it would be. */
static uint32_t *
find_slot(const struct json *object, const char *name)
{
    uint32_t *slots = slots_of(object);
    uint32_t mask = count_slots(object->capacity) - 1;
    uint32_t at = (uint32_t)map_hash(name, strlen(name)) & mask;

    while (slots[at] != 0 && strcmp(object->members[slots[at] - 1].name, name) != 0)
        at = (at + 1) & mask;
    return &slots[at];
}

static void
index_member(struct json *object, uint32_t i)
{
    uint32_t *slot = find_slot(object, object->members[i].name);

    if (*slot == 0) /* of duplicate names the first is found */
        *slot = i + 1;
}

static void
index_all(struct json *object)
{
    memset(slots_of(object), 0, count_slots(object->capacity) * sizeof(uint32_t));
    for (uint32_t i = 0; i < object->count; i++)
        index_member(object, i);
}

static uint32_t
home_of(const struct json *object, uint32_t place, uint32_t mask)
{
    const char *name = object->members[place - 1].name;

    return (uint32_t)map_hash(name, strlen(name)) & mask;
}

/* Before member `i` is removed: slots that can only be reached past its slot
 * move up, and the positions of members after it decrease by one.
 */
static void
unindex_member(struct json *object, uint32_t i)
{
    uint32_t *slots = slots_of(object);
    uint32_t n = count_slots(object->capacity), mask = n - 1;
    uint32_t hole = (uint32_t)(find_slot(object, object->members[i].name) - slots);

    for (uint32_t at = (hole + 1) & mask; slots[at] != 0; at = (at + 1) & mask) {
        uint32_t home = home_of(object, slots[at], mask);

        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        slots[hole] = slots[at];
        hole = at;
    }
    slots[hole] = 0;
    for (uint32_t at = 0; at < n; at++)
        slots[at] -= slots[at] > i + 1;
}

/* Gives the object its own memory for that many members and copies its members
 * there.
 */
static void
set_capacity(struct arena *arena, struct json *object, uint32_t capacity)
{
    const struct json_member *old = object->members;
    size_t bytes = capacity * sizeof(*old);

    object->is_indexed = capacity > MOST_UNINDEXED;
    if (object->is_indexed)
        bytes += count_slots(capacity) * sizeof(uint32_t);
    object->members = arena_alloc(arena, bytes);
    object->capacity = capacity;
    if (object->count > 0)
        memcpy(object->members, old, object->count * sizeof(*old));
    if (object->is_indexed)
        index_all(object);
}

struct json *
json_object_of(struct arena *arena, const struct json_member *members, uint32_t count)
{
    struct json *v = make(arena, JSON_OBJECT);

    if (count == 0)
        return v;
    /* The cast is safe: set_capacity only reads `members` and then replaces it.
     */
    v->members = (struct json_member *)(uintptr_t)members;
    v->count = count;
    set_capacity(arena, v, count);
    return v;
}

struct json *
json_dup(struct arena *arena, const struct json *value)
{
    struct json *v = make(arena, value->type);

    switch (value->type) {
    case JSON_NULL:
    case JSON_BOOL:
        v->boolean = value->boolean;
        break;
    case JSON_NUMBER:
    case JSON_STRING:
        v->count = value->count;
        v->text = arena_strndup(arena, value->text, value->count);
        break;
    case JSON_ARRAY:
        v->count = v->capacity = value->count;
        v->items = arena_new_array(arena, struct json *, value->count);
        for (uint32_t i = 0; i < value->count; i++)
            v->items[i] = json_dup(arena, value->items[i]);
        break;
    case JSON_OBJECT:
        v->count = value->count;
        v->members = value->members;
        set_capacity(arena, v, value->count);
        for (uint32_t i = 0; i < value->count; i++) {
            v->members[i].name = arena_strdup(arena, value->members[i].name);
            v->members[i].value = json_dup(arena, value->members[i].value);
        }
        break;
    }
    return v;
}

struct json *
json_copy(struct arena *arena, const struct json *value)
{
    struct json *v = make(arena, value->type);

    *v = *value;
    v->capacity = value->count;
    if (v->type == JSON_ARRAY && v->count > 0)
        v->items = arena_memdup(arena, v->items, v->count * sizeof(*v->items));
    else if (v->type == JSON_OBJECT && v->count > 0)
        set_capacity(arena, v, v->count);
    else
        v->is_indexed = false;
    return v;
}

/* The next capacity when the current one is used up. */
static uint32_t
larger_capacity(const struct json *v)
{
    return v->capacity ? v->capacity * 2 : 4;
}

/* The linker merges equal texts, so the name in a field table usually is the
 * very pointer that is asked for. Most other names differ in their first two
 * letters.
 */
static bool
is_named(const struct json_member *m, const char *name)
{
    const char *its = m->name;

    if (its == name)
        return true;
    if (its[0] != name[0])
        return false;
    return its[0] == '\0' || (its[1] == name[1] && strcmp(its + 1, name + 1) == 0);
}

static struct json_member *
find_member(const struct json *object, const char *name)
{
    if (object == NULL || object->type != JSON_OBJECT)
        return NULL;
    if (object->is_indexed) {
        uint32_t place = *find_slot(object, name);

        return place != 0 ? &object->members[place - 1] : NULL;
    }
    for (uint32_t i = 0; i < object->count; i++)
        if (is_named(&object->members[i], name))
            return &object->members[i];
    return NULL;
}

void
json_set(struct arena *arena, struct json *object, const char *name, struct json *value)
{
    struct json_member *m = find_member(object, name);

    if (m != NULL)
        m->value = value;
    else
        json_add(arena, object, name, value);
}

void
json_add(struct arena *arena, struct json *object, const char *name, struct json *value)
{
    struct json_member *m;

    if (object->count == object->capacity)
        set_capacity(arena, object, larger_capacity(object));
    m = &object->members[object->count++];
    m->name = arena_strdup(arena, name);
    m->value = value;
    if (object->is_indexed)
        index_member(object, object->count - 1);
}

void
json_set_string(struct arena *arena, struct json *object, const char *name, const char *text)
{
    json_set(arena, object, name, json_string(arena, text));
}

void
json_set_int(struct arena *arena, struct json *object, const char *name, int64_t value)
{
    json_set(arena, object, name, json_int(arena, value));
}

void
json_set_bool(struct arena *arena, struct json *object, const char *name, bool value)
{
    json_set(arena, object, name, json_bool(arena, value));
}

bool
json_remove(struct json *object, const char *name)
{
    struct json_member *m = find_member(object, name);
    size_t after;

    if (m == NULL)
        return false;
    if (object->is_indexed)
        unindex_member(object, (uint32_t)(m - object->members));
    after = object->count - (size_t)(m - object->members) - 1;
    memmove(m, m + 1, after * sizeof(*m));
    object->count--;
    return true;
}

void
json_clear(struct json *value)
{
    value->count = 0;
    value->is_indexed = false;
    value->capacity = 0;
}

void
json_remove_marked(struct json *value, const bool *marks)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < json_count(value); i++) {
        if (marks[i])
            continue;
        if (value->type == JSON_ARRAY)
            value->items[n++] = value->items[i];
        else
            value->members[n++] = value->members[i];
    }
    if (json_count(value) > n)
        json_keep_first(value, n);
}

void
json_keep_first(struct json *value, uint32_t count)
{
    value->count = count;
    if (value->is_indexed)
        index_all(value);
}

void
json_append(struct arena *arena, struct json *array, struct json *value)
{
    json_insert(arena, array, array->count, value);
}

void
json_insert(struct arena *arena, struct json *array, uint32_t at, struct json *value)
{
    if (array->count == array->capacity) {
        uint32_t capacity = larger_capacity(array);
        struct json **items = arena_new_array(arena, struct json *, capacity);

        if (array->count > 0)
            memcpy(items, array->items, array->count * sizeof(*items));
        array->items = items;
        array->capacity = capacity;
    }
    memmove(array->items + at + 1, array->items + at, (array->count - at) * sizeof(*array->items));
    array->items[at] = value;
    array->count++;
}

void
json_remove_at(struct json *array, uint32_t at)
{
    memmove(array->items + at, array->items + at + 1,
            (array->count - at - 1) * sizeof(*array->items));
    array->count--;
}

struct json *
json_make_object(struct arena *arena, struct json *object, const char *name)
{
    struct json *child = json_get(object, name);

    if (!json_is(child, JSON_OBJECT)) {
        child = json_object(arena);
        json_set(arena, object, name, child);
    }
    return child;
}

struct json *
json_get(const struct json *object, const char *name)
{
    const struct json_member *m = find_member(object, name);

    return m != NULL ? m->value : NULL;
}

const char *
json_get_text(const struct json *object, const char *name)
{
    return json_text(json_get(object, name));
}

struct json *
json_at(const struct json *array, uint32_t index)
{
    if (array == NULL || array->type != JSON_ARRAY || index >= array->count)
        return NULL;
    return array->items[index];
}

const char *
json_text(const struct json *value)
{
    return json_is(value, JSON_STRING) ? value->text : NULL;
}

uint32_t
json_count(const struct json *value)
{
    return json_is(value, JSON_ARRAY) || json_is(value, JSON_OBJECT) ? value->count : 0;
}

bool
json_is(const struct json *value, enum json_type type)
{
    return value != NULL && value->type == type;
}

bool
json_is_true(const struct json *value)
{
    return json_is(value, JSON_BOOL) && value->boolean;
}

size_t
json_size(const struct json *value)
{
    size_t bytes = 2;

    switch (value->type) {
    case JSON_NULL:
    case JSON_BOOL:
        return 4;
    case JSON_NUMBER:
        return value->count;
    case JSON_STRING:
        return value->count + 2;
    case JSON_ARRAY:
        for (uint32_t i = 0; i < value->count; i++)
            bytes += json_size(value->items[i]) + 1;
        break;
    case JSON_OBJECT:
        for (uint32_t i = 0; i < value->count; i++)
            bytes += strlen(value->members[i].name) + 4 + json_size(value->members[i].value);
        break;
    }
    return bytes;
}

const char *
json_type_name(enum json_type type)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",     [JSON_BOOL] = "boolean", [JSON_NUMBER] = "number",
        [JSON_STRING] = "string", [JSON_ARRAY] = "array",  [JSON_OBJECT] = "object",
    };

    return names[type];
}
