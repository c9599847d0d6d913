/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c - decodes a normalized tree into the struct that its field table
 * binds
 *
 * Two walks of the same form: measure.c counts the bytes and this one fills
 * them, so that an object held for long occupies exactly the memory it needs.
 * Equal texts are stored once (a uid in three places). Texts that the table
 * contains (its `values` and `common`), or that the other struct has in the
 * same place, are not stored at all.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/json/field.h"
#include "lib/json/json.h"
#include "lib/json/seen_texts.h"

/* Where the next struct or array, and the next text, will be written. */
struct filler {
    char *aligned;
    char *packed;
    const struct record_space *space;
    unsigned n_notes; /* notes of the space read so far */
    struct seen_texts words;
};

static void *
take(struct filler *to, size_t size)
{
    void *p = to->aligned;

    to->aligned += record_padded(size);
    return p;
}

/* Whether the next list, map or struct is shared with the other struct. */
static bool
next_is_shared(struct filler *from)
{
    unsigned note = from->n_notes++;

    return note < RECORD_NOTES && (from->space->shared[note / 64] >> note % 64 & 1) != 0;
}

static const char *
take_text(struct filler *to, const struct field *f, const char *text, size_t length,
          const char *like)
{
    bool remembers;
    unsigned at = 0;
    char *p;

    if (field_text_is(like, text, length))
        return like;
    like = seen_texts_known(f, text, length);
    if (like != NULL)
        return like;
    remembers = seen_texts_may_hold(&to->words, length);
    if (remembers) {
        at = seen_texts_find(&to->words, text, length);
        if (to->words.texts[at] != NULL)
            return to->words.texts[at];
    }
    p = to->packed;
    memcpy(p, text, length);
    p[length] = '\0';
    to->packed += length + 1;
    if (remembers)
        seen_texts_remember(&to->words, at, p, length);
    return p;
}

static void fill_object(const struct record *record, const struct json *object, const void *like,
                        struct filler *from, void *to);

static struct json *
fill_tree(const struct field *f, const struct json *v, struct filler *from)
{
    struct json *copy = take(from, sizeof(*copy));

    *copy = *v;
    copy->capacity = v->count;
    copy->is_indexed = false;
    switch (v->type) {
    case JSON_NUMBER:
    case JSON_STRING:
        copy->text = take_text(from, f, v->text, v->count, NULL);
        break;
    case JSON_ARRAY:
        copy->items = take(from, v->count * sizeof(*v->items));
        for (uint32_t i = 0; i < v->count; i++)
            copy->items[i] = fill_tree(f, v->items[i], from);
        break;
    case JSON_OBJECT:
        copy->members = take(from, v->count * sizeof(*v->members));
        for (uint32_t i = 0; i < v->count; i++) {
            const char *name = v->members[i].name;

            copy->members[i].name = take_text(from, f, name, strlen(name), NULL);
            copy->members[i].value = fill_tree(f, v->members[i].value, from);
        }
        break;
    case JSON_NULL:
    case JSON_BOOL:
        break;
    }
    return copy;
}

static void fill_value(const struct field *f, enum field_type type, const struct json *v,
                       const void *like, struct filler *from, void *to);

static void
fill_list(const struct field *f, const struct json *v, const struct any_list *like,
          struct filler *from, struct any_list *to)
{
    size_t size = field_element_size(f);
    char *item;

    to->count = v->count;
    if (next_is_shared(from)) {
        to->items = like->items;
        return;
    }
    to->items = item = take(from, size * v->count);
    for (uint32_t i = 0; i < v->count; i++, item += size)
        fill_value(f, f->element, v->items[i], field_item(like, size, i), from, item);
}

static void
fill_map(const struct field *f, const struct json *v, const struct any_list *like,
         struct filler *from, struct any_list *to)
{
    size_t size = field_entry_size(f);
    char *entry;

    to->count = v->count;
    if (next_is_shared(from)) {
        to->items = like->items;
        return;
    }
    to->items = entry = take(from, size * v->count);
    for (uint32_t i = 0; i < v->count; i++, entry += size) {
        const char *key = v->members[i].name;
        const char *other = field_item(like, size, i);

        *(const char **)(void *)entry =
            take_text(from, f, key, strlen(key), field_entry_key(other));
        fill_value(f, f->element, v->members[i].value, field_entry_value(other), from,
                   entry + sizeof(char *));
    }
}

static void
fill_value(const struct field *f, enum field_type type, const struct json *v, const void *like,
           struct filler *from, void *to)
{
    switch (type) {
    case FIELD_STRING:
    case FIELD_QUANTITY:
    case FIELD_INT_OR_STRING:
    case FIELD_BYTES:
        if (v->type == JSON_STRING || v->type == JSON_NUMBER)
            *(const char **)to = take_text(from, f, v->text, v->count,
                                           like != NULL ? *(const char *const *)like : NULL);
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
        fill_object(f->of, v, like, from, to);
        break;
    case FIELD_LIST:
        if (field_is_filled(v, JSON_ARRAY))
            fill_list(f, v, like, from, to);
        break;
    case FIELD_MAP:
        if (field_is_filled(v, JSON_OBJECT))
            fill_map(f, v, like, from, to);
        break;
    case FIELD_ANY:
        *(const struct json **)to =
            next_is_shared(from) ? *(const struct json *const *)like : fill_tree(f, v, from);
        break;
    }
}

static void
fill_member(const struct field *f, const struct json *v, const void *like, struct filler *from,
            void *to)
{
    if (field_is_pointed(f)) {
        like = field_pointed(like);
        if (next_is_shared(from)) {
            *(const void **)to = like;
            return;
        }
        *(void **)to = take(from, field_pointed_size(f));
        to = *(void **)to;
    }
    fill_value(f, field_bound_type(f), v, like, from, to);
}

static void
fill_object(const struct record *record, const struct json *object, const void *like,
            struct filler *from, void *to)
{
    unsigned guess = 0;

    if (!json_is(object, JSON_OBJECT))
        return;
    for (uint32_t i = 0; i < object->count; i++) {
        const struct json_member *m = &object->members[i];
        const struct field *f = field_bound(record, m, &guess);

        if (f != NULL)
            fill_member(f, m->value, field_in(f, like), from, (char *)to + f->offset);
    }
}

void
record_decode_into(const struct record *record, const struct json *object, const void *like,
                   const struct record_space *space, void *block, void *ret_struct)
{
    struct filler from;

    from.aligned = block;
    from.packed = (char *)block + space->aligned;
    from.space = space;
    from.n_notes = 0;
    memset(&from.words, 0, sizeof(from.words));
    memset(block, 0, space->aligned);
    fill_object(record, object, like, &from, ret_struct);
}

void
record_decode(const struct record *record, struct arena *arena, const struct json *object,
              void *ret_struct)
{
    struct record_space space = record_measure(record, object, NULL);
    void *block = arena_alloc(arena, space.aligned + space.packed);

    record_decode_into(record, object, NULL, &space, block, ret_struct);
}
