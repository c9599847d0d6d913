/* SPDX-License-Identifier: Apache-2.0 */
/* Some clients of upstream send protobuf only, and every client reads JSON. So bodies are
 * decoded to the tree that the same object in JSON would give, by the numbers in the field
 * tables, and nothing after this knows the difference (decision 50). Unknown fields are
 * skipped, as protobuf requires.
 */
#include "lib/protobuf/protobuf.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/protobuf/leaf.h"
#include "lib/protobuf/messages.h"
#include "lib/protobuf/wire_reader.h"

static const char magic[4] = "k8s";

struct decoder {
    struct arena *arena;
    size_t n_values, most_values;
    struct error *err;
};

static int decode_message(struct decoder *d, const struct record *record, const char *message,
                          struct wire_reader bytes, struct json *into);

static int
refuse(struct decoder *d, const struct field *f, const char *why)
{
    return error_set(d->err, -EINVAL, "field '%s' %s", f->name, why);
}

static int
refuse_more(struct decoder *d)
{
    return error_set(d->err, -E2BIG, "more than %zu values", d->most_values);
}

static struct leaf
leaf_of(const struct decoder *d, const struct field *f)
{
    return (struct leaf){.arena = d->arena, .name = f->name, .err = d->err};
}

static int
read_text(const struct decoder *d, const char *what, const struct wire_field *w,
          const char **ret_text)
{
    struct leaf leaf = {.arena = d->arena, .name = what, .err = d->err};
    struct json *text;
    int r;

    if (w->type != WIRE_BYTES)
        return 0;
    r = leaf_of_bytes(&leaf, FIELD_STRING, w->bytes, &text);
    if (r == 0)
        *ret_text = json_text(text);
    return r;
}

static int
decode_object(struct decoder *d, const struct field *f, struct wire_reader bytes,
              struct json *earlier, struct json **ret)
{
    *ret = json_is(earlier, JSON_OBJECT) ? earlier : json_object(d->arena);
    if (f->of->message == NULL)
        return refuse(d, f, "cannot be read from protobuf");
    return decode_message(d, f->of, f->of->message, bytes, *ret);
}

/* `earlier` is an earlier value of the same field; as protobuf requires, a
 * message is merged into it.
 */
static int
decode_value(struct decoder *d, const struct field *f, enum field_type type,
             const struct wire_field *w, struct json *earlier, struct json **ret)
{
    struct leaf leaf = leaf_of(d, f);

    if (++d->n_values > d->most_values)
        return refuse_more(d);
    /* Embedded JSON: estimate the number of values from its size. */
    if (w->type == WIRE_BYTES && type == FIELD_ANY)
        d->n_values += wire_reader_left(&w->bytes) / 8;
    leaf.most_values = d->most_values;
    if (w->type == WIRE_BYTES && type == FIELD_OBJECT)
        return decode_object(d, f, w->bytes, earlier, ret);
    if (w->type == WIRE_BYTES)
        return leaf_of_bytes(&leaf, type, w->bytes, ret);
    if (w->type == WIRE_VARINT)
        return leaf_of_number(&leaf, type, w->varint, ret);
    return refuse(d, f, "has another wire type");
}

/* A list: one element, or several packed numbers. */
static int
decode_element(struct decoder *d, const struct field *f, const struct wire_field *w,
               struct json *list)
{
    struct leaf leaf = leaf_of(d, f);
    struct wire_reader packed = w->bytes;
    bool is_number =
        f->element == FIELD_BOOL || f->element == FIELD_INT || f->element == FIELD_INT64;
    struct json *value;
    int r;

    if (w->type != WIRE_BYTES || !is_number) {
        r = decode_value(d, f, f->element, w, NULL, &value);
        if (r == 0)
            json_append(d->arena, list, value);
        return r;
    }
    r = 0;
    while (r == 0 && wire_reader_left(&packed) > 0) {
        uint64_t varint;

        r = ++d->n_values <= d->most_values ? wire_reader_varint(&packed, &varint, d->err)
                                            : refuse_more(d);
        if (r == 0)
            r = leaf_of_number(&leaf, f->element, varint, &value);
        if (r == 0)
            json_append(d->arena, list, value);
    }
    return r;
}

/* A map: {1: key; 2: value}. The last value of a key counts. */
static int
decode_entry(struct decoder *d, const struct field *f, const struct wire_field *w,
             struct json *object)
{
    struct leaf leaf = leaf_of(d, f);
    struct wire_field fields[WIRE_SMALL];
    bool found[WIRE_SMALL];
    struct json *value;
    const char *key = "";
    int r;

    if (w->type != WIRE_BYTES)
        return refuse(d, f, "has another wire type");
    r = wire_reader_small(w->bytes, fields, found, d->err);
    if (r == 0)
        r = read_text(d, f->name, &fields[0], &key);
    if (r == 0 && found[1])
        r = decode_value(d, f, f->element, &fields[1], NULL, &value);
    else
        value = leaf_zero(&leaf, f->element);
    if (r < 0)
        return r;
    json_set(d->arena, object, key, value);
    return 0;
}

static struct json *
make(struct decoder *d, struct json *into, const struct field *f, enum json_type type)
{
    struct json *value = json_get(into, f->name);

    if (json_is(value, type))
        return value;
    value = type == JSON_ARRAY ? json_array(d->arena) : json_object(d->arena);
    json_set(d->arena, into, f->name, value);
    return value;
}

static int
decode_field(struct decoder *d, const struct field *f, const struct wire_field *w,
             struct json *into)
{
    struct json *value;
    int r;

    switch (f->type) {
    case FIELD_LIST:
        return decode_element(d, f, w, make(d, into, f, JSON_ARRAY));
    case FIELD_MAP:
        return decode_entry(d, f, w, make(d, into, f, JSON_OBJECT));
    default:
        r = decode_value(d, f, f->type, w, json_get(into, f->name), &value);
        if (r == 0)
            json_set(d->arena, into, f->name, value);
        return r;
    }
}

static const struct field *
find_field(const struct record *record, const struct message_field *named)
{
    for (unsigned i = 0; i < record->n_fields; i++)
        if (strlen(record->fields[i].name) == named->length
            && memcmp(record->fields[i].name, named->name, named->length) == 0)
            return &record->fields[i];
    return NULL;
}

static int
decode_known(struct decoder *d, const struct record *record, const struct message_field *named,
             const struct wire_field *w, struct json *into)
{
    const struct field *f;

    if (named->inlined != NULL) {
        if (w->type != WIRE_BYTES)
            return error_set(d->err, -EINVAL, "a part of '%s' is not a message", record->name);
        return decode_message(d, record, named->inlined, w->bytes, into);
    }
    f = find_field(record, named);
    return f != NULL ? decode_field(d, f, w, into) : 0;
}

static int
decode_message(struct decoder *d, const struct record *record, const char *message,
               struct wire_reader bytes, struct json *into)
{
    struct wire_field w;
    int r = 0, next;

    while (r == 0 && (next = wire_reader_next(&bytes, &w, d->err)) != 0) {
        struct message_field named;

        if (next < 0)
            r = next;
        else if (message_find_field(message, w.number, &named))
            r = decode_known(d, record, &named, &w, into);
    }
    return r;
}

struct json *
protobuf_decode(struct arena *arena, const struct record *record, const void *message,
                size_t length, size_t most_values, struct error *err)
{
    struct decoder d = {
        .arena = arena,
        .most_values = most_values,
        .err = err,
    };
    struct wire_reader bytes;
    struct json *object = json_object(arena);

    if (record->message == NULL) {
        error_set(err, -EINVAL, "a %s has no protobuf form", record->name);
        return NULL;
    }
    wire_reader_init(&bytes, message, length);
    if (decode_message(&d, record, record->message, bytes, object) < 0)
        return NULL;
    return object;
}

/* TypeMeta: {1: apiVersion; 2: kind} */
static int
read_type(const struct decoder *d, struct wire_reader bytes, struct protobuf_envelope *envelope)
{
    struct wire_field fields[WIRE_SMALL];
    bool found[WIRE_SMALL];
    int r = wire_reader_small(bytes, fields, found, d->err);

    if (r == 0)
        r = read_text(d, "apiVersion", &fields[0], &envelope->api_version);
    if (r == 0)
        r = read_text(d, "kind", &fields[1], &envelope->kind);
    return r;
}

/* Unknown: {1: TypeMeta; 2: the message} */
static int
read_unknown(const struct decoder *d, struct wire_reader bytes, struct protobuf_envelope *envelope)
{
    struct wire_field fields[WIRE_SMALL];
    bool found[WIRE_SMALL];
    int r = wire_reader_small(bytes, fields, found, d->err);

    if (r == 0 && fields[0].type == WIRE_BYTES)
        r = read_type(d, fields[0].bytes, envelope);
    if (r == 0 && fields[1].type == WIRE_BYTES) {
        envelope->message = fields[1].bytes.at;
        envelope->length = wire_reader_left(&fields[1].bytes);
    }
    return r;
}

int
protobuf_open(struct arena *arena, const void *body, size_t length,
              struct protobuf_envelope *ret_envelope, struct error *err)
{
    struct decoder d = {.arena = arena, .err = err};
    struct protobuf_envelope envelope = {
        .api_version = "",
        .kind = "",
        .message = "",
    };
    struct wire_reader bytes;
    int r;

    if (length == 0)
        return error_set(err, -EINVAL, "empty data");
    if (length < sizeof(magic) || memcmp(body, magic, sizeof(magic)) != 0)
        return error_set(err, -EINVAL,
                         "provided data does not appear to be a protobuf "
                         "message, expected prefix [107 56 115 0]");
    wire_reader_init(&bytes, (const char *)body + sizeof(magic), length - sizeof(magic));
    r = read_unknown(&d, bytes, &envelope);
    if (r == 0)
        *ret_envelope = envelope;
    return r;
}
