/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c - a normalized tree to the struct that its field table binds
 *
 * Two walks of the same form: one counts the bytes, one fills them, so that
 * an object held for long occupies exactly what it needs. Texts that are the
 * same stand there once (a uid in three places), and those that the table
 * knows (its `values` and `common`) not at all.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/json/field.h"
#include "lib/json/json.h"

/* The texts met so far. The same in both walks, so that they agree; what no
 * longer fits is not remembered.
 */
#define WORDS     256u
#define WORDS_MAX 192u
#define WORD_MAX  64u /* longer ones hardly come twice */

struct words {
    const char *texts[WORDS];
    uint8_t lengths[WORDS];
    unsigned count;
};

/* Where the next struct or array, and the next text, go. */
struct filler {
    char *aligned;
    char *packed;
    struct words words;
};

struct counter {
    struct record_space space;
    struct words words;
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

static uint32_t
hash_of(const char *text, size_t length)
{
    uint64_t first = 0, last = 0;
    size_t n = length < 8 ? length : 8;

    memcpy(&first, text, n);
    memcpy(&last, text + length - n, n);
    first = (first ^ (last << 17 | last >> 47) ^ length)
            * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(first >> 40);
}

/* The place of that text, or the free one where it would stand. */
static unsigned
find_word(const struct words *w, const char *text, size_t length)
{
    unsigned i = hash_of(text, length) % WORDS;

    while (
        w->texts[i] != NULL
        && (w->lengths[i] != length || memcmp(w->texts[i], text, length) != 0))
        i = (i + 1) % WORDS;
    return i;
}

static bool
may_remember(const struct words *w, size_t length)
{
    return length <= WORD_MAX && w->count < WORDS_MAX;
}

static void
remember(struct words *w, unsigned at, const char *text, size_t length)
{
    w->texts[at] = text;
    w->lengths[at] = (uint8_t)length;
    w->count++;
}

static const char *
find_known(const char *const *list, const char *text, size_t length)
{
    for (; list != NULL && *list != NULL; list++)
        if (strncmp(*list, text, length) == 0 && (*list)[length] == '\0')
            return *list;
    return NULL;
}

/* A text that the program holds for good, or NULL. */
static const char *
known_text(const struct field *f, const char *text, size_t length)
{
    const char *known = find_known(f->values, text, length);

    return known != NULL ? known : find_known(f->common, text, length);
}

static const char *
take_text(struct filler *to,
          const struct field *f,
          const char *text,
          size_t length)
{
    const char *known = known_text(f, text, length);
    bool remembers = may_remember(&to->words, length);
    unsigned at = 0;
    char *p;

    if (known != NULL)
        return known;
    if (remembers) {
        at = find_word(&to->words, text, length);
        if (to->words.texts[at] != NULL)
            return to->words.texts[at];
    }
    p = to->packed;
    memcpy(p, text, length);
    p[length] = '\0';
    to->packed += length + 1;
    if (remembers)
        remember(&to->words, at, p, length);
    return p;
}

static void
count_text(struct counter *c,
           const struct field *f,
           const char *text,
           size_t length)
{
    unsigned at;

    if (known_text(f, text, length) != NULL)
        return;
    if (may_remember(&c->words, length)) {
        at = find_word(&c->words, text, length);
        if (c->words.texts[at] != NULL)
            return;
        remember(&c->words, at, text, length);
    }
    c->space.packed += length + 1;
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
                           struct counter *c);

static void
measure_tree(const struct field *f, const struct json *v, struct counter *c)
{
    c->space.aligned += padded(sizeof(*v));
    switch (v->type) {
    case JSON_NUMBER:
    case JSON_STRING:
        count_text(c, f, v->text, v->count);
        break;
    case JSON_ARRAY:
        c->space.aligned += padded(v->count * sizeof(*v->items));
        for (uint32_t i = 0; i < v->count; i++)
            measure_tree(f, v->items[i], c);
        break;
    case JSON_OBJECT:
        c->space.aligned += padded(v->count * sizeof(*v->members));
        for (uint32_t i = 0; i < v->count; i++) {
            count_text(c, f, v->members[i].name, strlen(v->members[i].name));
            measure_tree(f, v->members[i].value, c);
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
              struct counter *c)
{
    switch (type) {
    case FIELD_STRING:
    case FIELD_QUANTITY:
    case FIELD_INT_OR_STRING:
    case FIELD_BYTES:
        if (v->type == JSON_STRING || v->type == JSON_NUMBER)
            count_text(c, f, v->text, v->count);
        break;
    case FIELD_OBJECT:
        measure_object(f->of, v, c);
        break;
    case FIELD_LIST:
        if (v->type != JSON_ARRAY)
            break;
        c->space.aligned += padded(field_element_size(f) * v->count);
        for (uint32_t i = 0; i < v->count; i++)
            measure_value(f, f->element, v->items[i], c);
        break;
    case FIELD_MAP:
        if (v->type != JSON_OBJECT)
            break;
        c->space.aligned += padded(field_entry_size(f) * v->count);
        for (uint32_t i = 0; i < v->count; i++) {
            count_text(c, f, v->members[i].name, strlen(v->members[i].name));
            measure_value(f, f->element, v->members[i].value, c);
        }
        break;
    case FIELD_ANY:
        measure_tree(f, v, c);
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
               struct counter *c)
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
            c->space.aligned += padded(field_pointed_size(f));
        measure_value(f, bound_type(f), m->value, c);
    }
}

struct record_space
record_measure(const struct record *record, const struct json *object)
{
    struct counter c;

    memset(&c, 0, sizeof(c));
    measure_object(record, object, &c);
    return c.space;
}

/* --- filling -------------------------------------------------------------- */

static void fill_object(const struct record *record,
                        const struct json *object,
                        struct filler *from,
                        void *to);

static struct json *
fill_tree(const struct field *f, const struct json *v, struct filler *from)
{
    struct json *copy = take(from, sizeof(*copy));

    *copy = *v;
    copy->capacity = v->count;
    switch (v->type) {
    case JSON_NUMBER:
    case JSON_STRING:
        copy->text = take_text(from, f, v->text, v->count);
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

            copy->members[i].name = take_text(from, f, name, strlen(name));
            copy->members[i].value = fill_tree(f, v->members[i].value, from);
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

        *(const char **)(void *)entry = take_text(from, f, key, strlen(key));
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
            *(const char **)to = take_text(from, f, v->text, v->count);
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
        *(const struct json **)to = fill_tree(f, v, from);
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
    struct filler from;

    from.aligned = block;
    from.packed = (char *)block + space.aligned;
    memset(&from.words, 0, sizeof(from.words));
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
