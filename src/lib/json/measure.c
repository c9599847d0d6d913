/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - counts the bytes that a decoded struct needs beside another one
 *
 * The same walk as decode.c, without a block to fill. A list, map or struct
 * that is equal in the other struct, down to the last text, is not counted, and
 * the walk notes that it is shared; decode.c reads these notes in the same
 * order.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/json/field.h"
#include "lib/json/json.h"
#include "lib/json/seen_texts.h"

struct counter {
    struct record_space space;
    unsigned n_notes;
    struct seen_texts words;
};

/* The state of the counter where a list, map or struct began. */
struct measure_mark {
    size_t aligned;
    unsigned note;
};

/* Each function below returns whether `like` (which may be NULL) is equal. */
static bool measure_object(const struct record *record, const struct json *object, const void *like,
                           struct counter *c);

static struct measure_mark
begin(struct counter *c, size_t size)
{
    struct measure_mark m = {c->space.aligned, c->n_notes++};

    /* Clear the bit: a nested value of a value shared as a whole may have set
     * it.
     */
    if (m.note < RECORD_NOTES)
        c->space.shared[m.note / 64] &= ~(UINT64_C(1) << m.note % 64);
    c->space.aligned += record_padded(size);
    return m;
}

/* Restores the counter if the value is equal. An equal value has counted only
 * structs and arrays, no texts. A value whose note has no room is not shared.
 */
static bool
share_if_same(struct counter *c, struct measure_mark m, bool is_same)
{
    if (!is_same || m.note >= RECORD_NOTES)
        return false;
    c->space.aligned = m.aligned;
    c->space.shared[m.note / 64] |= UINT64_C(1) << m.note % 64;
    c->n_notes = m.note + 1;
    return true;
}

static bool
measure_text(struct counter *c, const struct field *f, const char *text, size_t length,
             const char *like)
{
    unsigned at;

    if (field_text_is(like, text, length))
        return true;
    if (seen_texts_known(f, text, length) != NULL)
        return false;
    if (seen_texts_may_hold(&c->words, length)) {
        at = seen_texts_find(&c->words, text, length);
        if (c->words.texts[at] != NULL)
            return false;
        seen_texts_remember(&c->words, at, text, length);
    }
    c->space.packed += length + 1;
    return false;
}

static void
measure_tree(const struct field *f, const struct json *v, struct counter *c)
{
    c->space.aligned += record_padded(sizeof(*v));
    switch (v->type) {
    case JSON_NUMBER:
    case JSON_STRING:
        (void)measure_text(c, f, v->text, v->count, NULL);
        break;
    case JSON_ARRAY:
        c->space.aligned += record_padded(v->count * sizeof(*v->items));
        for (uint32_t i = 0; i < v->count; i++)
            measure_tree(f, v->items[i], c);
        break;
    case JSON_OBJECT:
        c->space.aligned += record_padded(v->count * sizeof(*v->members));
        for (uint32_t i = 0; i < v->count; i++) {
            const char *name = v->members[i].name;

            (void)measure_text(c, f, name, strlen(name), NULL);
            measure_tree(f, v->members[i].value, c);
        }
        break;
    case JSON_NULL:
    case JSON_BOOL:
        break;
    }
}

static bool
measure_any(const struct field *f, const struct json *v, const struct json *like, struct counter *c)
{
    struct measure_mark m = begin(c, 0);

    if (like != NULL && json_equals(v, like) && share_if_same(c, m, true))
        return true;
    measure_tree(f, v, c);
    return false;
}

/* Scalars are stored in the struct itself. */
static bool
is_same_scalar(enum field_type type, const struct json *v, const void *like)
{
    int64_t n = 0;

    switch (type) {
    case FIELD_BOOL:
        return *(const bool *)like == json_is_true(v);
    case FIELD_INT:
    case FIELD_INT64:
        (void)json_to_int(v, &n);
        return *(const int64_t *)like == n;
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        if (v->type == JSON_STRING)
            (void)time_parse(v->text, &n);
        return *(const int64_t *)like == n;
    default:
        return false;
    }
}

static bool measure_value(const struct field *f, enum field_type type, const struct json *v,
                          const void *like, struct counter *c);

static bool
measure_list(const struct field *f, const struct json *v, const struct any_list *like,
             struct counter *c)
{
    size_t size = field_element_size(f);
    bool is_same = like != NULL && like->count == v->count;
    struct measure_mark m = begin(c, size * v->count);

    for (uint32_t i = 0; i < v->count; i++)
        if (!measure_value(f, f->element, v->items[i], field_item(like, size, i), c))
            is_same = false;
    return share_if_same(c, m, is_same);
}

static bool
measure_map(const struct field *f, const struct json *v, const struct any_list *like,
            struct counter *c)
{
    size_t size = field_entry_size(f);
    bool is_same = like != NULL && like->count == v->count;
    struct measure_mark m = begin(c, size * v->count);

    for (uint32_t i = 0; i < v->count; i++) {
        const char *key = v->members[i].name;
        const char *entry = field_item(like, size, i);

        if (!measure_text(c, f, key, strlen(key), field_entry_key(entry)))
            is_same = false;
        if (!measure_value(f, f->element, v->members[i].value, field_entry_value(entry), c))
            is_same = false;
    }
    return share_if_same(c, m, is_same);
}

static bool
measure_value(const struct field *f, enum field_type type, const struct json *v, const void *like,
              struct counter *c)
{
    switch (type) {
    case FIELD_STRING:
    case FIELD_QUANTITY:
    case FIELD_INT_OR_STRING:
    case FIELD_BYTES:
        if (v->type != JSON_STRING && v->type != JSON_NUMBER)
            return false;
        return measure_text(c, f, v->text, v->count,
                            like != NULL ? *(const char *const *)like : NULL);
    case FIELD_OBJECT:
        return measure_object(f->of, v, like, c);
    case FIELD_LIST:
        return field_is_filled(v, JSON_ARRAY) && measure_list(f, v, like, c);
    case FIELD_MAP:
        return field_is_filled(v, JSON_OBJECT) && measure_map(f, v, like, c);
    case FIELD_ANY:
        return measure_any(f, v, like != NULL ? *(const struct json *const *)like : NULL, c);
    case FIELD_BOOL:
    case FIELD_INT:
    case FIELD_INT64:
    case FIELD_NUMBER:
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        break;
    }
    return like != NULL && is_same_scalar(type, v, like);
}

static bool
measure_member(const struct field *f, const struct json *v, const void *like, struct counter *c)
{
    struct measure_mark m;

    if (!field_is_pointed(f))
        return measure_value(f, field_bound_type(f), v, like, c);
    m = begin(c, field_pointed_size(f));
    return share_if_same(c, m, measure_value(f, field_bound_type(f), v, field_pointed(like), c));
}

/* Whether the fields of `like` that were not seen are all empty. */
static bool
says_no_more(const struct record *record, const char *like, uint64_t seen)
{
    for (unsigned i = 0; i < record->n_fields; i++) {
        const struct field *f = &record->fields[i];

        if (f->offset != FIELD_UNBOUND && (seen >> i & 1) == 0
            && !field_is_zero(f, like + f->offset))
            return false;
    }
    return true;
}

static bool
measure_object(const struct record *record, const struct json *object, const void *like,
               struct counter *c)
{
    bool is_same = like != NULL;
    unsigned guess = 0;
    uint64_t seen = 0;

    if (!json_is(object, JSON_OBJECT))
        return false;
    for (uint32_t i = 0; i < object->count; i++) {
        const struct json_member *m = &object->members[i];
        const struct field *f = field_bound(record, m, &guess);

        if (f == NULL)
            continue;
        seen |= UINT64_C(1) << (f - record->fields);
        if (!measure_member(f, m->value, field_in(f, like), c))
            is_same = false;
    }
    return is_same && says_no_more(record, like, seen);
}

struct record_space
record_measure(const struct record *record, const struct json *object, const void *like)
{
    struct counter c;

    memset(&c, 0, sizeof(c));
    (void)measure_object(record, object, like, &c);
    return c.space;
}
