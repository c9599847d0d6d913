/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - copies a decoded struct, with all that it points to, into a block of
 * its own
 *
 * One walk serves both steps, so that the measured and the copied size agree:
 * the first step moves nothing and only reads the original.
 */
#include <string.h>

#include "lib/json/field.h"
#include "lib/json/json.h"
#include "lib/json/seen_texts.h"

struct copying {
    struct record_space space; /* bytes used so far */
    char *aligned;             /* NULL: only measure */
    char *packed;
    struct record_kept kept;
    struct seen_texts words;
};

/* Whether the copy may point to it, so that it is not copied. */
static bool
is_kept(const struct copying *c, const void *p)
{
    const uintptr_t first = (uintptr_t)c->kept.bytes;

    return p == NULL || ((uintptr_t)p >= first && (uintptr_t)p - first < c->kept.size);
}

static void *
move(struct copying *c, const void *from, size_t size)
{
    char *to = c->aligned;

    c->space.aligned += record_padded(size);
    if (to == NULL)
        return (void *)(uintptr_t)from; /* only measured */
    c->aligned += record_padded(size);
    if (size > 0)
        memcpy(to, from, size);
    return to;
}

/* Copies a text under the same rules as decode.c, so each text is held once. */
static const char *
move_text(struct copying *c, const struct field *f, const char *text, size_t length)
{
    const char *known = seen_texts_known(f, text, length);
    const char *to = text;
    bool remembers;
    unsigned at = 0;

    if (known != NULL)
        return known;
    remembers = seen_texts_may_hold(&c->words, length);
    if (remembers) {
        at = seen_texts_find(&c->words, text, length);
        if (c->words.texts[at] != NULL)
            return c->words.texts[at];
    }
    c->space.packed += length + 1;
    if (c->packed != NULL) {
        to = memcpy(c->packed, text, length + 1);
        c->packed += length + 1;
    }
    if (remembers)
        seen_texts_remember(&c->words, at, to, length);
    return to;
}

static void
copy_text(struct copying *c, const struct field *f, const char **at)
{
    const char *to;

    if (is_kept(c, *at))
        return;
    to = move_text(c, f, *at, strlen(*at));
    if (c->aligned != NULL)
        *at = to;
}

static struct json *
move_tree(struct copying *c, const struct field *f, const struct json *from)
{
    struct json *to = move(c, from, sizeof(*from));
    const char *text;

    switch (from->type) {
    case JSON_NUMBER:
    case JSON_STRING:
        text = move_text(c, f, from->text, from->count);
        if (c->aligned != NULL)
            to->text = text;
        break;
    case JSON_ARRAY: {
        struct json **items = move(c, from->items, from->count * sizeof(*items));

        for (uint32_t i = 0; i < from->count; i++) {
            struct json *item = move_tree(c, f, from->items[i]);

            if (c->aligned != NULL)
                items[i] = item;
        }
        if (c->aligned != NULL)
            to->items = items;
        break;
    }
    case JSON_OBJECT: {
        struct json_member *members = move(c, from->members, from->count * sizeof(*members));

        for (uint32_t i = 0; i < from->count; i++) {
            const char *name = from->members[i].name;
            struct json *value = move_tree(c, f, from->members[i].value);

            name = move_text(c, f, name, strlen(name));
            if (c->aligned != NULL)
                members[i] = (struct json_member){name, value};
        }
        if (c->aligned != NULL)
            to->members = members;
        break;
    }
    case JSON_NULL:
    case JSON_BOOL:
        break;
    }
    return to;
}

static void copy_record(struct copying *c, const struct record *record, char *at);

static void copy_value(struct copying *c, const struct field *f, enum field_type type, char *at);

static void
copy_items(struct copying *c, const struct field *f, struct any_list *list, size_t size,
           bool is_map)
{
    char *item;

    if (list->count == 0 || is_kept(c, list->items))
        return;
    item = move(c, list->items, size * list->count);
    if (c->aligned != NULL)
        list->items = item;
    for (unsigned i = 0; i < list->count; i++, item += size) {
        if (is_map)
            copy_text(c, f, (const char **)(void *)item);
        copy_value(c, f, f->element, is_map ? item + sizeof(char *) : item);
    }
}

static void
copy_value(struct copying *c, const struct field *f, enum field_type type, char *at)
{
    const struct json **tree;
    struct json *moved;

    switch (type) {
    case FIELD_STRING:
    case FIELD_QUANTITY:
    case FIELD_INT_OR_STRING:
    case FIELD_BYTES:
        copy_text(c, f, (const char **)(void *)at);
        break;
    case FIELD_OBJECT:
        copy_record(c, f->of, at);
        break;
    case FIELD_LIST:
        copy_items(c, f, (void *)at, field_element_size(f), false);
        break;
    case FIELD_MAP:
        copy_items(c, f, (void *)at, field_entry_size(f), true);
        break;
    case FIELD_ANY:
        tree = (const struct json **)(void *)at;
        if (is_kept(c, *tree))
            break;
        moved = move_tree(c, f, *tree);
        if (c->aligned != NULL)
            *tree = moved;
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
copy_pointed(struct copying *c, const struct field *f, void **at)
{
    void *value;

    if (is_kept(c, *at))
        return;
    value = move(c, *at, field_pointed_size(f));
    if (c->aligned != NULL)
        *at = value;
    copy_value(c, f, field_bound_type(f), value);
}

static void
copy_record(struct copying *c, const struct record *record, char *at)
{
    for (unsigned i = 0; i < record->n_fields; i++) {
        const struct field *f = &record->fields[i];

        if (f->offset == FIELD_UNBOUND)
            continue;
        if (field_is_pointed(f))
            copy_pointed(c, f, (void **)(void *)(at + f->offset));
        else
            copy_value(c, f, field_bound_type(f), at + f->offset);
    }
}

struct record_space
record_measure_copy(const struct record *record, const void *from, struct record_kept kept)
{
    struct copying c = {.kept = kept};

    copy_record(&c, record, (char *)(uintptr_t)from);
    return c.space;
}

void
record_copy_into(const struct record *record, struct record_kept kept, void *aligned, void *packed,
                 void *copy)
{
    struct copying c = {.aligned = aligned, .packed = packed, .kept = kept};

    copy_record(&c, record, copy);
}
