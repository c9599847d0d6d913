/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/field.h"
#include "lib/json/json.h"

const char *
string_map_find(const struct string_map *map, const char *key)
{
    for (unsigned i = 0; i < map->count; i++)
        if (strcmp(map->items[i].key, key) == 0)
            return map->items[i].value;
    return NULL;
}

/* Names in normalized trees are the table's own pointers; most other names
 * differ in the first letter.
 */
static bool
is_named(const struct field *f, const char *name)
{
    return f->name == name || (f->name[0] == name[0] && strcmp(f->name, name) == 0);
}

const struct field *
field_find(const struct record *record, const char *name, unsigned guess)
{
    for (unsigned i = guess; i < record->n_fields; i++)
        if (is_named(&record->fields[i], name))
            return &record->fields[i];
    for (unsigned i = 0; i < guess && i < record->n_fields; i++)
        if (is_named(&record->fields[i], name))
            return &record->fields[i];
    return NULL;
}

const struct field *
record_find(const struct record *record, const char *name)
{
    return field_find(record, name, 0);
}

/* The size of one value of that type inside a list or map. */
size_t
field_element_size(const struct field *f)
{
    switch (f->element) {
    case FIELD_BOOL:
        return sizeof(bool);
    case FIELD_INT:
    case FIELD_INT64:
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return sizeof(int64_t);
    case FIELD_NUMBER:
        return sizeof(double);
    case FIELD_OBJECT:
        return f->of->size;
    case FIELD_LIST:
    case FIELD_MAP:
    case FIELD_ANY:
    case FIELD_STRING:
    case FIELD_QUANTITY:
    case FIELD_INT_OR_STRING:
    case FIELD_BYTES:
        break;
    }
    return sizeof(void *);
}

/* The size of a map's entry: the key, then the value. */
size_t
field_entry_size(const struct field *f)
{
    size_t size = sizeof(char *) + field_element_size(f);

    return (size + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
}

/* Optional scalars and structs are stored behind a pointer. */
size_t
field_pointed_size(const struct field *f)
{
    switch (f->type) {
    case FIELD_BOOL:
        return sizeof(bool);
    case FIELD_INT:
    case FIELD_INT64:
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return sizeof(int64_t);
    case FIELD_NUMBER:
        return sizeof(double);
    case FIELD_OBJECT:
        return f->of->size;
    default:
        return 0;
    }
}

bool
field_is_pointed(const struct field *f)
{
    return (f->flags & FIELD_OPTIONAL) != 0 && field_pointed_size(f) > 0;
}

enum field_type
field_bound_type(const struct field *f)
{
    return (f->flags & FIELD_TREE) != 0 ? FIELD_ANY : f->type;
}

const struct field *
field_bound(const struct record *record, const struct json_member *m, unsigned *guess)
{
    const struct field *f = field_find(record, m->name, *guess);

    if (f == NULL)
        return NULL;
    *guess = (unsigned)(f - record->fields) + 1;
    return f->offset != FIELD_UNBOUND && m->value->type != JSON_NULL ? f : NULL;
}

static bool
all_zero(const struct record *record, const char *member)
{
    for (unsigned i = 0; i < record->n_fields; i++) {
        const struct field *f = &record->fields[i];

        if (f->offset != FIELD_UNBOUND && !field_is_zero(f, member + f->offset))
            return false;
    }
    return true;
}

bool
field_is_zero(const struct field *f, const void *member)
{
    if (field_is_pointed(f))
        return *(const void *const *)member == NULL;
    switch (field_bound_type(f)) {
    case FIELD_BOOL:
        return !*(const bool *)member;
    case FIELD_INT:
    case FIELD_INT64:
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return *(const int64_t *)member == 0;
    case FIELD_NUMBER:
        return fpclassify(*(const double *)member) == FP_ZERO;
    case FIELD_LIST:
    case FIELD_MAP:
        return ((const struct any_list *)member)->count == 0;
    case FIELD_OBJECT:
        return all_zero(f->of, member);
    case FIELD_ANY:
    case FIELD_STRING:
    case FIELD_QUANTITY:
    case FIELD_INT_OR_STRING:
    case FIELD_BYTES:
        break;
    }
    return *(const void *const *)member == NULL;
}

static struct json *encode_value(const struct field *f, enum field_type type, struct arena *arena,
                                 const void *from);

static struct json *
encode_list(const struct field *f, struct arena *arena, const struct any_list *from)
{
    struct json *v = json_array(arena);
    size_t size = field_element_size(f);

    for (unsigned i = 0; i < from->count; i++) {
        struct json *item =
            encode_value(f, f->element, arena, (const char *)from->items + i * size);

        json_append(arena, v, item != NULL ? item : json_null(arena));
    }
    return v;
}

static struct json *
encode_map(const struct field *f, struct arena *arena, const struct any_list *from)
{
    struct json *v = json_object(arena);
    const char *entry = from->items;

    for (unsigned i = 0; i < from->count; i++, entry += field_entry_size(f)) {
        struct json *item = encode_value(f, f->element, arena, entry + sizeof(char *));

        json_set(arena, v, *(const char *const *)(const void *)entry,
                 item != NULL ? item : json_null(arena));
    }
    return v;
}

static struct json *
encode_time(struct arena *arena, int64_t us, bool micro)
{
    char text[TIME_TEXT_SIZE];

    time_format(us, micro, text);
    return json_string(arena, text);
}

static struct json *
encode_int_or_string(struct arena *arena, const char *text)
{
    char *end;

    (void)strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' ? json_number(arena, text) : json_string(arena, text);
}

/* NULL for a missing string. */
static struct json *
encode_value(const struct field *f, enum field_type type, struct arena *arena, const void *from)
{
    const char *text;

    switch (type) {
    case FIELD_STRING:
    case FIELD_QUANTITY:
    case FIELD_BYTES:
        text = *(const char *const *)from;
        return text != NULL ? json_string(arena, text) : NULL;
    case FIELD_INT_OR_STRING:
        text = *(const char *const *)from;
        return text != NULL ? encode_int_or_string(arena, text) : NULL;
    case FIELD_BOOL:
        return json_bool(arena, *(const bool *)from);
    case FIELD_INT:
    case FIELD_INT64:
        return json_int(arena, *(const int64_t *)from);
    case FIELD_NUMBER: {
        char *number = arena_printf(arena, "%.17g", *(const double *)from);

        return json_number(arena, number);
    }
    case FIELD_TIME:
        return encode_time(arena, *(const int64_t *)from, false);
    case FIELD_MICRO_TIME:
        return encode_time(arena, *(const int64_t *)from, true);
    case FIELD_OBJECT:
        return record_encode(f->of, arena, from);
    case FIELD_LIST:
        return encode_list(f, arena, from);
    case FIELD_MAP:
        return encode_map(f, arena, from);
    case FIELD_ANY: {
        const struct json *any = *(const struct json *const *)from;

        return any != NULL ? json_dup(arena, any) : NULL;
    }
    }
    return NULL;
}

/* False, zero, "", [] and {} are omitted, except behind a pointer. */
static bool
is_zero(const struct json *v)
{
    switch (v->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !v->boolean;
    case JSON_NUMBER:
        return strcmp(v->text, "0") == 0;
    case JSON_STRING:
    case JSON_ARRAY:
    case JSON_OBJECT:
        return v->count == 0;
    }
    return false;
}

static bool
is_zero_time(const struct field *f, const void *from)
{
    return (f->type == FIELD_TIME || f->type == FIELD_MICRO_TIME) && *(const int64_t *)from == 0;
}

struct json *
record_encode(const struct record *record, struct arena *arena, const void *source)
{
    struct json *object = json_object(arena);

    for (unsigned i = 0; i < record->n_fields; i++) {
        const struct field *f = &record->fields[i];
        const void *from;
        struct json *v;
        bool always = (f->flags & FIELD_ALWAYS) != 0;

        if (f->offset == FIELD_UNBOUND)
            continue;
        from = (const char *)source + f->offset;
        if (field_is_pointed(f)) {
            from = *(const void *const *)from;
            always = true;
            if (from == NULL)
                continue;
        } else if (is_zero_time(f, from)) {
            continue;
        }
        v = encode_value(f, (f->flags & FIELD_TREE) != 0 ? FIELD_ANY : f->type, arena, from);
        if (v != NULL && (always || !is_zero(v)))
            json_set(arena, object, f->name, v);
    }
    return object;
}
