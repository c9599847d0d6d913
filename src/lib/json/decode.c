/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c - a normalized tree to the struct that its field table binds
 *
 * Two walks of the same form: one counts the bytes, one fills them, so that
 * an object held for long occupies exactly what it needs.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/json/field.h"
#include "lib/json/json.h"

/* Where the next struct or array, and the next text, go. */
struct filler {
    char *aligned;
    char *packed;
};

#define ALIGNMENT 8u

static size_t
padded(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static void *
take(struct filler *to, size_t size)
{
    void *p = to->aligned;

    to->aligned += padded(size);
    return p;
}

static const char *
take_text(struct filler *to, const char *text, size_t length)
{
    char *p = to->packed;

    memcpy(p, text, length);
    p[length] = '\0';
    to->packed += length + 1;
    return p;
}

static enum field_type
bound_type(const struct field *f)
{
    return (f->flags & FIELD_TREE) != 0 ? FIELD_ANY : f->type;
}

/* The field of a member that says something, if the struct has it. */
static const struct field *
bound_field(const struct record *record,
            const struct json_member *m,
            unsigned *guess)
{
    const struct field *f = field_find(record, m->name, *guess);

    if (f == NULL)
        return NULL;
    *guess = (unsigned)(f - record->fields) + 1;
    return f->offset != FIELD_UNBOUND && m->value->type != JSON_NULL ? f : NULL;
}

/* --- how much ------------------------------------------------------------- */

static void measure_object(const struct record *record,
                           const struct json *object,
                           struct record_space *space);

static void
measure_tree(const struct json *v, struct record_space *space)
{
    space->aligned += padded(sizeof(*v));
    switch (v->type) {
    case JSON_NUMBER:
    case JSON_STRING:
        space->packed += v->count + 1;
        break;
    case JSON_ARRAY:
        space->aligned += padded(v->count * sizeof(*v->items));
        for (uint32_t i = 0; i < v->count; i++)
            measure_tree(v->items[i], space);
        break;
    case JSON_OBJECT:
        space->aligned += padded(v->count * sizeof(*v->members));
        for (uint32_t i = 0; i < v->count; i++) {
            space->packed += strlen(v->members[i].name) + 1;
            measure_tree(v->members[i].value, space);
        }
        break;
    case JSON_NULL:
    case JSON_BOOL:
        break;
    }
}

static void
measure_value(const struct field *f,
              enum field_type type,
              const struct json *v,
              struct record_space *space)
{
    switch (type) {
    case FIELD_STRING:
    case FIELD_QUANTITY:
    case FIELD_INT_OR_STRING:
    case FIELD_BYTES:
        if (v->type == JSON_STRING || v->type == JSON_NUMBER)
            space->packed += v->count + 1;
        break;
    case FIELD_OBJECT:
        measure_object(f->of, v, space);
        break;
    case FIELD_LIST:
        if (v->type != JSON_ARRAY)
            break;
        space->aligned += padded(field_element_size(f) * v->count);
        for (uint32_t i = 0; i < v->count; i++)
            measure_value(f, f->element, v->items[i], space);
        break;
    case FIELD_MAP:
        if (v->type != JSON_OBJECT)
            break;
        space->aligned += padded(field_entry_size(f) * v->count);
        for (uint32_t i = 0; i < v->count; i++) {
            space->packed += strlen(v->members[i].name) + 1;
            measure_value(f, f->element, v->members[i].value, space);
        }
        break;
    case FIELD_ANY:
        measure_tree(v, space);
        break;
    case FIELD_BOOL:
    case FIELD_INT:
    case FIELD_INT64:
    case FIELD_NUMBER:
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        break;
    }
}

static void
measure_object(const struct record *record,
               const struct json *object,
               struct record_space *space)
{
    unsigned guess = 0;

    if (!json_is(object, JSON_OBJECT))
        return;
    for (uint32_t i = 0; i < object->count; i++) {
        const struct json_member *m = &object->members[i];
        const struct field *f = bound_field(record, m, &guess);

        if (f == NULL)
            continue;
        if (field_is_pointed(f))
            space->aligned += padded(field_pointed_size(f));
        measure_value(f, bound_type(f), m->value, space);
    }
}

struct record_space
record_measure(const struct record *record, const struct json *object)
{
    struct record_space space = {0};

    measure_object(record, object, &space);
    return space;
}

/* --- filling -------------------------------------------------------------- */

static void fill_object(const struct record *record,
                        const struct json *object,
                        struct filler *from,
                        void *to);

static struct json *
fill_tree(const struct json *v, struct filler *from)
{
    struct json *copy = take(from, sizeof(*copy));

    *copy = *v;
    copy->capacity = v->count;
    switch (v->type) {
    case JSON_NUMBER:
    case JSON_STRING:
        copy->text = take_text(from, v->text, v->count);
        break;
    case JSON_ARRAY:
        copy->items = take(from, v->count * sizeof(*v->items));
        for (uint32_t i = 0; i < v->count; i++)
            copy->items[i] = fill_tree(v->items[i], from);
        break;
    case JSON_OBJECT:
        copy->members = take(from, v->count * sizeof(*v->members));
        for (uint32_t i = 0; i < v->count; i++) {
            const char *name = v->members[i].name;

            copy->members[i].name = take_text(from, name, strlen(name));
            copy->members[i].value = fill_tree(v->members[i].value, from);
        }
        break;
    case JSON_NULL:
    case JSON_BOOL:
        break;
    }
    return copy;
}

static void fill_value(const struct field *f,
                       enum field_type type,
                       const struct json *v,
                       struct filler *from,
                       void *to);

static void
fill_list(const struct field *f,
          const struct json *v,
          struct filler *from,
          struct any_list *to)
{
    size_t size = field_element_size(f);
    char *item;

    if (v->type != JSON_ARRAY || v->count == 0)
        return;
    to->items = item = take(from, size * v->count);
    to->count = v->count;
    for (uint32_t i = 0; i < v->count; i++, item += size)
        fill_value(f, f->element, v->items[i], from, item);
}

static void
fill_map(const struct field *f,
         const struct json *v,
         struct filler *from,
         struct any_list *to)
{
    size_t size = field_entry_size(f);
    char *entry;

    if (v->type != JSON_OBJECT || v->count == 0)
        return;
    to->items = entry = take(from, size * v->count);
    to->count = v->count;
    for (uint32_t i = 0; i < v->count; i++, entry += size) {
        const char *key = v->members[i].name;

        *(const char **)(void *)entry = take_text(from, key, strlen(key));
        fill_value(f,
                   f->element,
                   v->members[i].value,
                   from,
                   entry + sizeof(char *));
    }
}

static void
fill_value(const struct field *f,
           enum field_type type,
           const struct json *v,
           struct filler *from,
           void *to)
{
    switch (type) {
    case FIELD_STRING:
    case FIELD_QUANTITY:
    case FIELD_INT_OR_STRING:
    case FIELD_BYTES:
        if (v->type == JSON_STRING || v->type == JSON_NUMBER)
            *(const char **)to = take_text(from, v->text, v->count);
        break;
    case FIELD_BOOL:
        *(bool *)to = json_is_true(v);
        break;
    case FIELD_INT:
    case FIELD_INT64:
        (void)json_to_int(v, to);
        break;
    case FIELD_NUMBER:
        if (v->type == JSON_NUMBER)
            *(double *)to = strtod(v->text, NULL);
        break;
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        if (v->type == JSON_STRING)
            (void)time_parse(v->text, to);
        break;
    case FIELD_OBJECT:
        fill_object(f->of, v, from, to);
        break;
    case FIELD_LIST:
        fill_list(f, v, from, to);
        break;
    case FIELD_MAP:
        fill_map(f, v, from, to);
        break;
    case FIELD_ANY:
        *(const struct json **)to = fill_tree(v, from);
        break;
    }
}

static void
fill_object(const struct record *record,
            const struct json *object,
            struct filler *from,
            void *to)
{
    unsigned guess = 0;

    if (!json_is(object, JSON_OBJECT))
        return;
    for (uint32_t i = 0; i < object->count; i++) {
        const struct json_member *m = &object->members[i];
        const struct field *f = bound_field(record, m, &guess);
        void *member;

        if (f == NULL)
            continue;
        member = (char *)to + f->offset;
        if (field_is_pointed(f)) {
            void *pointed = take(from, field_pointed_size(f));

            *(void **)member = pointed;
            member = pointed;
        }
        fill_value(f, bound_type(f), m->value, from, member);
    }
}

void
record_decode_into(const struct record *record,
                   const struct json *object,
                   struct record_space space,
                   void *block,
                   void *ret_struct)
{
    struct filler from = {block, (char *)block + space.aligned};

    memset(block, 0, space.aligned);
    fill_object(record, object, &from, ret_struct);
}

void
record_decode(const struct record *record,
              struct arena *arena,
              const struct json *object,
              void *ret_struct)
{
    struct record_space space = record_measure(record, object);
    void *block = arena_alloc(arena, space.aligned + space.packed);

    record_decode_into(record, object, space, block, ret_struct);
}
