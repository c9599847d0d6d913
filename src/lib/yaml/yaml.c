/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/yaml/yaml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/mapping.h"
#include "lib/yaml/scalar.h"

/* What aliases may copy in one document, so that nine lines cannot become
 * gigabytes.
 */
#define ALIAS_BYTES ((size_t)4 << 20)

struct place {
    const struct json *value;
    unsigned line;
};

struct yaml_reader {
    yaml_parser_t parser;
    const char *text;
    size_t length;
    bool has_begun;
    bool is_done;
    bool is_sorted;
    struct place *places;
    size_t n_places;
    size_t places_capacity;
};

/* One document being read. */
struct reading {
    struct yaml_reader *reader;
    struct arena *arena;
    struct json_notes *notes;
    struct error *err;
    struct map *anchors;
    struct strbuf path;
    struct strbuf number;
    size_t alias_bytes;
};

/* Stands for an anchored value that is not read to its end. */
static struct json unfinished;

struct yaml_reader *
yaml_reader_new(const char *text, size_t length)
{
    struct yaml_reader *reader = xnew(struct yaml_reader);

    reader->text = text;
    reader->length = length;
    if (!yaml_parser_initialize(&reader->parser))
        abort();
    yaml_parser_set_input_string(&reader->parser,
                                 (const unsigned char *)text,
                                 length);
    return reader;
}

void
yaml_reader_free(struct yaml_reader *reader)
{
    if (reader == NULL)
        return;
    yaml_parser_delete(&reader->parser);
    free(reader->places);
    free(reader);
}

static void
note_line(struct reading *r, const struct json *value, size_t line)
{
    struct yaml_reader *reader = r->reader;

    xgrow(reader->places, reader->n_places, reader->places_capacity);
    reader->places[reader->n_places++] =
        (struct place){value, (unsigned)line + 1};
    reader->is_sorted = false;
}

static int
compare_places(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

unsigned
yaml_reader_line(struct yaml_reader *reader, const struct json *value)
{
    struct place wanted = {value, 0};
    const struct place *found;

    if (reader->n_places == 0)
        return 0;
    if (!reader->is_sorted)
        qsort(reader->places,
              reader->n_places,
              sizeof(*reader->places),
              compare_places);
    reader->is_sorted = true;
    found = bsearch(&wanted,
                    reader->places,
                    reader->n_places,
                    sizeof(*reader->places),
                    compare_places);
    return found != NULL ? found->line : 0;
}

static int
refuse(struct reading *r, yaml_mark_t mark, const char *what)
{
    return error_set(r->err,
                     -EINVAL,
                     "line %zu, column %zu: %s",
                     mark.line + 1,
                     mark.column + 1,
                     what);
}

/* YAML forbids tabs in front, and its parsers say so in riddles. */
static bool
is_indented_with_tab(const struct yaml_reader *reader, size_t line)
{
    const char *p = reader->text;
    const char *end = reader->text + reader->length;

    for (; line > 0 && p != NULL && p < end; line--) {
        p = memchr(p, '\n', (size_t)(end - p));
        p += p != NULL;
    }
    while (p != NULL && p < end && *p == ' ')
        p++;
    return p != NULL && p < end && *p == '\t';
}

static int
refuse_as_parser(struct reading *r)
{
    const yaml_parser_t *p = &r->reader->parser;
    yaml_mark_t mark = p->problem_mark;

    if (p->error == YAML_MEMORY_ERROR)
        abort();
    if (p->error == YAML_READER_ERROR)
        return error_set(r->err,
                         -EINVAL,
                         "byte %zu: %s",
                         p->problem_offset,
                         p->problem);
    if (is_indented_with_tab(r->reader, mark.line))
        return refuse(r, mark, "indented with a tab, where YAML wants spaces");
    return refuse(r, mark, p->problem);
}

static int
next_event(struct reading *r, yaml_event_t *ret_event)
{
    if (!yaml_parser_parse(&r->reader->parser, ret_event))
        return refuse_as_parser(r);
    return 0;
}

/* How many bytes a copy takes, about, and how deep it is. */
static size_t
size_of(const struct json *v, unsigned *ret_depth)
{
    size_t bytes = sizeof(*v);
    unsigned deepest = 0;

    for (uint32_t i = 0; i < json_count(v); i++) {
        unsigned depth;

        if (v->type == JSON_OBJECT)
            bytes += sizeof(v->members[i]) + strlen(v->members[i].name);
        bytes +=
            size_of(v->type == JSON_OBJECT ? v->members[i].value : v->items[i],
                    &depth);
        if (depth > deepest)
            deepest = depth;
    }
    if (v->type == JSON_STRING || v->type == JSON_NUMBER)
        bytes += v->count;
    *ret_depth = deepest + 1;
    return bytes;
}

static int
read_alias(struct reading *r,
           const yaml_event_t *event,
           unsigned depth,
           struct json **ret_value)
{
    const char *name = (const char *)event->data.alias.anchor;
    const struct json *value = map_find(r->anchors, name);
    unsigned deeper;

    if (value == NULL)
        return refuse(r, event->start_mark, "an alias of no anchor");
    if (value == &unfinished)
        return refuse(r, event->start_mark, "an alias inside its own anchor");
    r->alias_bytes += size_of(value, &deeper);
    if (r->alias_bytes > ALIAS_BYTES)
        return refuse(r, event->start_mark, "aliases expand to too much");
    if (depth + deeper > JSON_MAX_DEPTH)
        return refuse(r, event->start_mark, "nested too deeply");
    *ret_value = json_dup(r->arena, value);
    return 0;
}

static bool
is_tag(const char *tag, const char *short_name)
{
    static const char prefix[] = "tag:yaml.org,2002:";

    return strncmp(tag, prefix, sizeof(prefix) - 1) == 0
           && strcmp(tag + sizeof(prefix) - 1, short_name) == 0;
}

static bool
fits_tag(const char *tag, enum scalar_type type)
{
    switch (type) {
    case SCALAR_NULL:
        return is_tag(tag, "null");
    case SCALAR_TRUE:
    case SCALAR_FALSE:
        return is_tag(tag, "bool");
    case SCALAR_INT:
        return is_tag(tag, "int") || is_tag(tag, "float");
    case SCALAR_FLOAT:
        return is_tag(tag, "float");
    default:
        return is_tag(tag, "timestamp");
    }
}

/* The type of a scalar; -EINVAL for a tag that is not ours or does not fit. */
static int
type_of(struct reading *r,
        const yaml_event_t *event,
        enum scalar_type *ret_type)
{
    const char *tag = (const char *)event->data.scalar.tag;
    const char *text = (const char *)event->data.scalar.value;

    *ret_type = SCALAR_STRING;
    if (tag == NULL && !event->data.scalar.plain_implicit)
        return 0;
    if (tag != NULL && (strcmp(tag, "!") == 0 || is_tag(tag, "str")))
        return 0;
    *ret_type = scalar_resolve(text, event->data.scalar.length, &r->number);
    if (*ret_type == SCALAR_NOT_JSON)
        return refuse(r, event->start_mark, "JSON has no such number");
    if (tag != NULL && !fits_tag(tag, *ret_type))
        return refuse(r, event->start_mark, "a tag that does not belong here");
    return 0;
}

static int
read_scalar(struct reading *r,
            const yaml_event_t *event,
            struct json **ret_value)
{
    enum scalar_type type;
    int status = type_of(r, event, &type);

    if (status < 0)
        return status;
    switch (type) {
    case SCALAR_NULL:
        *ret_value = json_null(r->arena);
        break;
    case SCALAR_TRUE:
    case SCALAR_FALSE:
        *ret_value = json_bool(r->arena, type == SCALAR_TRUE);
        break;
    case SCALAR_INT:
    case SCALAR_FLOAT:
        *ret_value = json_number(r->arena, r->number.text);
        break;
    default:
        *ret_value = json_string_n(r->arena,
                                   (const char *)event->data.scalar.value,
                                   event->data.scalar.length);
    }
    return 0;
}

/* A key of another type becomes its text. */
static int
read_key(struct reading *r, const yaml_event_t *event, const char **ret_key)
{
    struct json *value = NULL;
    int status;

    if (event->type == YAML_ALIAS_EVENT)
        status = read_alias(r, event, 0, &value);
    else if (event->type == YAML_SCALAR_EVENT)
        status = read_scalar(r, event, &value);
    else
        return refuse(r, event->start_mark, "a key must be a scalar");
    if (status < 0)
        return status;
    switch (value->type) {
    case JSON_BOOL:
        *ret_key = value->boolean ? "true" : "false";
        return 0;
    case JSON_NUMBER:
    case JSON_STRING:
        if (memchr(value->text, '\0', value->count) != NULL)
            break;
        *ret_key = value->text;
        return 0;
    default:
        break;
    }
    return refuse(r, event->start_mark, "this cannot be a key");
}

static int read_value(struct reading *r,
                      const yaml_event_t *event,
                      unsigned depth,
                      struct json **ret_value);

static int
read_next_value(struct reading *r, unsigned depth, struct json **ret_value)
{
    yaml_event_t event;
    int status = next_event(r, &event);

    if (status < 0)
        return status;
    status = read_value(r, &event, depth, ret_value);
    yaml_event_delete(&event);
    return status;
}

static int
read_sequence(struct reading *r, unsigned depth, struct json **ret_value)
{
    struct json *array = json_array(r->arena);
    size_t path = r->path.length;

    for (;;) {
        yaml_event_t event;
        struct json *item = NULL;
        int status = next_event(r, &event);
        bool is_end = status == 0 && event.type == YAML_SEQUENCE_END_EVENT;

        if (status < 0)
            return status;
        if (!is_end) {
            strbuf_printf(&r->path, "[%u]", array->count);
            status = read_value(r, &event, depth, &item);
            strbuf_truncate(&r->path, path);
        }
        if (status == 0 && !is_end)
            note_line(r, item, event.start_mark.line);
        yaml_event_delete(&event);
        if (status < 0)
            return status;
        if (is_end)
            break;
        json_append(r->arena, array, item);
    }
    *ret_value = array;
    return 0;
}

static void
note_duplicate(struct reading *r, const char *path)
{
    struct json_notes *notes = r->notes;
    char **longer = arena_new_array(r->arena, char *, notes->n_duplicates + 1);

    if (notes->n_duplicates > 0)
        memcpy(longer,
               notes->duplicates,
               notes->n_duplicates * sizeof(*longer));
    longer[notes->n_duplicates++] = arena_strdup(r->arena, path);
    notes->duplicates = longer;
}

static int
set_member(struct reading *r,
           struct mapping *m,
           yaml_mark_t mark,
           const char *name,
           struct json *value)
{
    struct json_member *earlier = mapping_find(m, name);
    CLEANUP_FREE char *words = NULL;

    if (earlier == NULL) {
        mapping_add(m, name, value);
        return 0;
    }
    if (r->notes == NULL) {
        words = xasprintf("key '%s' stands here twice", name);
        return refuse(r, mark, words);
    }
    note_duplicate(r, r->path.text);
    earlier->value = value;
    return 0;
}

static bool
is_merge_key(const yaml_event_t *event)
{
    return event->type == YAML_SCALAR_EVENT && event->data.scalar.tag == NULL
           && event->data.scalar.plain_implicit
           && strcmp((const char *)event->data.scalar.value, "<<") == 0;
}

/* The value of a << is a mapping or a list of mappings. */
static int
keep_for_merge(struct reading *r,
               struct mapping *m,
               yaml_mark_t mark,
               const struct json *value)
{
    bool is_fit = value->type == JSON_OBJECT || value->type == JSON_ARRAY;

    for (uint32_t i = 0; value->type == JSON_ARRAY && i < value->count; i++)
        is_fit = is_fit && value->items[i]->type == JSON_OBJECT;
    if (!is_fit)
        return refuse(r, mark, "'<<' wants mappings");
    if (value->type == JSON_OBJECT)
        mapping_merge(m, value);
    for (uint32_t i = 0; value->type == JSON_ARRAY && i < value->count; i++)
        mapping_merge(m, value->items[i]);
    return 0;
}

static int
read_member(struct reading *r,
            const yaml_event_t *key_event,
            unsigned depth,
            struct mapping *m)
{
    struct json *value = NULL;
    size_t path = r->path.length;
    const char *key = "<<";
    bool is_merge = is_merge_key(key_event);
    int status = 0;

    if (!is_merge)
        status = read_key(r, key_event, &key);
    if (status < 0)
        return status;
    strbuf_printf(&r->path, "%s%s", path > 0 ? "." : "", key);
    status = read_next_value(r, depth, &value);
    if (status == 0 && is_merge) {
        status = keep_for_merge(r, m, key_event->start_mark, value);
    } else if (status == 0) {
        note_line(r, value, key_event->start_mark.line);
        status = set_member(r, m, key_event->start_mark, key, value);
    }
    strbuf_truncate(&r->path, path);
    return status;
}

static int
read_mapping(struct reading *r, unsigned depth, struct json **ret_value)
{
    CLEANUP(mapping_fini) struct mapping m = {0};

    for (;;) {
        yaml_event_t event;
        int status = next_event(r, &event);
        bool is_end = status == 0 && event.type == YAML_MAPPING_END_EVENT;

        if (status < 0)
            return status;
        if (!is_end)
            status = read_member(r, &event, depth, &m);
        yaml_event_delete(&event);
        if (status < 0)
            return status;
        if (is_end)
            break;
    }
    *ret_value = mapping_finish(&m, r->arena);
    return 0;
}

static int
read_container(struct reading *r,
               const yaml_event_t *event,
               unsigned depth,
               struct json **ret_value)
{
    bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
    const char *tag = is_mapping ? (const char *)event->data.mapping_start.tag
                                 : (const char *)event->data.sequence_start.tag;

    if (depth >= JSON_MAX_DEPTH)
        return refuse(r, event->start_mark, "nested too deeply");
    if (tag != NULL && strcmp(tag, "!") != 0
        && !is_tag(tag, is_mapping ? "map" : "seq"))
        return refuse(r, event->start_mark, "a tag that does not belong here");
    return is_mapping ? read_mapping(r, depth + 1, ret_value)
                      : read_sequence(r, depth + 1, ret_value);
}

static const char *
anchor_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return (const char *)event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return (const char *)event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT:
        return (const char *)event->data.mapping_start.anchor;
    default:
        return NULL;
    }
}

static int
read_value(struct reading *r,
           const yaml_event_t *event,
           unsigned depth,
           struct json **ret_value)
{
    const char *anchor = anchor_of(event);
    int status;

    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(r, event, depth, ret_value);
    if (anchor != NULL)
        map_put(r->anchors, anchor, &unfinished);
    if (event->type == YAML_SCALAR_EVENT)
        status = read_scalar(r, event, ret_value);
    else
        status = read_container(r, event, depth, ret_value);
    if (status < 0)
        return status;
    if (anchor != NULL)
        map_put(r->anchors, anchor, *ret_value);
    return 0;
}

static int
read_document(struct reading *r, struct json **ret_document)
{
    yaml_event_t event;
    int status = next_event(r, &event);

    if (status < 0)
        return status;
    status = read_value(r, &event, 0, ret_document);
    if (status == 0)
        note_line(r, *ret_document, event.start_mark.line);
    yaml_event_delete(&event);
    return status;
}

/* Reads on to the start of a document: 1, or 0 at the end of the stream. */
static int
find_document(struct reading *r)
{
    for (;;) {
        yaml_event_t event;
        yaml_event_type_t type;
        int status = next_event(r, &event);

        if (status < 0)
            return status;
        type = event.type;
        yaml_event_delete(&event);
        if (type == YAML_DOCUMENT_START_EVENT)
            return 1;
        if (type == YAML_STREAM_END_EVENT)
            return 0;
    }
}

/* JSON is nearly YAML: its surrogate pairs and tabs are not. */
static bool
read_as_json(struct yaml_reader *reader,
             struct arena *arena,
             struct json **ret_document,
             struct json_notes *notes)
{
    struct json_notes own = {0};
    size_t at = 0;
    struct json *document;

    while (at < reader->length && strchr(" \t\r\n", reader->text[at]) != NULL)
        at++;
    if (at == reader->length
        || (reader->text[at] != '{' && reader->text[at] != '['))
        return false;
    document = json_parse(arena, reader->text, reader->length, &own, NULL);
    if (document == NULL || (own.n_duplicates > 0 && notes == NULL))
        return false;
    if (notes != NULL)
        *notes = own;
    *ret_document = document;
    return true;
}

int
yaml_reader_next(struct yaml_reader *reader,
                 struct arena *arena,
                 struct json **ret_document,
                 struct json_notes *notes,
                 struct error *err)
{
    struct reading r = {
        .reader = reader,
        .arena = arena,
        .notes = notes,
        .err = err,
        .path = STRBUF_INIT,
        .number = STRBUF_INIT,
    };
    int status;

    if (reader->is_done)
        return 0;
    if (!reader->has_begun
        && read_as_json(reader, arena, ret_document, notes)) {
        reader->is_done = true;
        return 1;
    }
    reader->has_begun = true;
    reader->n_places = 0;
    r.anchors = map_new();
    status = find_document(&r);
    if (status > 0)
        status = read_document(&r, ret_document) < 0 ? -EINVAL : 1;
    reader->is_done = status <= 0;
    map_free(r.anchors);
    strbuf_fini(&r.path);
    strbuf_fini(&r.number);
    return status;
}

int
yaml_parse(struct arena *arena,
           const char *text,
           size_t length,
           struct json **ret_document,
           struct error *err)
{
    CLEANUP(yaml_reader_freep)
    struct yaml_reader *reader = yaml_reader_new(text, length);
    struct json *document = json_null(arena);
    struct json *another;
    int status = yaml_reader_next(reader, arena, &document, NULL, err);

    if (status < 0)
        return status;
    if (status > 0)
        status = yaml_reader_next(reader, arena, &another, NULL, err);
    if (status < 0)
        return status;
    if (status > 0)
        return error_set(err, -EINVAL, "more than one document");
    *ret_document = document;
    return 0;
}
