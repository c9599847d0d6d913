/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of YAML is go-yaml's, since manifests are written for kubectl. Aliases may copy
 * a bounded number of bytes: a few lines of them can stand for gigabytes. Lines are kept
 * beside the tree, for a mistake in a configuration without its line is of little use.
 */
#include "lib/yaml/document.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "lib/yaml/line_table.h"
#include "lib/yaml/mapping.h"
#include "lib/yaml/scalar.h"

/* The bytes that aliases may copy in one document, so that a few lines cannot
 * expand to gigabytes.
 */
#define ALIAS_BYTES ((size_t)4 << 20)

/* The value of an anchor whose value has not been read completely. */
static struct json unfinished;

static void
note_line(struct yaml_document *d, const struct json *value, yaml_mark_t mark)
{
    line_table_add(d->lines, value, (unsigned)mark.line + 1);
}

static int
refuse(struct yaml_document *d, yaml_mark_t mark, const char *what)
{
    return error_set(d->err, -EINVAL, "line %zu, column %zu: %s", mark.line + 1, mark.column + 1,
                     what);
}

/* YAML forbids tabs in indentation, but libyaml's error does not say so. */
static bool
is_indented_with_tab(const struct yaml_document *d, size_t line)
{
    const char *p = d->text;
    const char *end = d->text + d->length;

    for (; line > 0 && p != NULL && p < end; line--) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (p != NULL)
            p++;
    }
    while (p != NULL && p < end && *p == ' ')
        p++;
    return p != NULL && p < end && *p == '\t';
}

static int
refuse_as_parser(struct yaml_document *d)
{
    const yaml_parser_t *p = d->parser;
    yaml_mark_t mark = p->problem_mark;

    if (p->error == YAML_MEMORY_ERROR)
        abort();
    if (p->error == YAML_READER_ERROR)
        return error_set(d->err, -EINVAL, "byte %zu: %s", p->problem_offset, p->problem);
    if (is_indented_with_tab(d, mark.line))
        return refuse(d, mark, "indented with a tab, but YAML requires spaces");
    return refuse(d, mark, p->problem);
}

static int
next_event(struct yaml_document *d, yaml_event_t *ret_event)
{
    if (!yaml_parser_parse(d->parser, ret_event))
        return refuse_as_parser(d);
    return 0;
}

/* The approximate bytes that a copy takes, and its depth. Counts its values. */
static size_t
size_of(struct yaml_document *d, const struct json *v, unsigned *ret_depth)
{
    size_t bytes = sizeof(*v);
    unsigned deepest = 0;

    d->n_values++;
    for (uint32_t i = 0; i < json_count(v); i++) {
        unsigned depth;

        if (v->type == JSON_OBJECT)
            bytes += sizeof(v->members[i]) + strlen(v->members[i].name);
        bytes += size_of(d, v->type == JSON_OBJECT ? v->members[i].value : v->items[i], &depth);
        if (depth > deepest)
            deepest = depth;
    }
    if (v->type == JSON_STRING || v->type == JSON_NUMBER)
        bytes += v->count;
    *ret_depth = deepest + 1;
    return bytes;
}

static int
refuse_more(struct yaml_document *d)
{
    return error_set(d->err, -E2BIG, "more than %zu values", d->most_values);
}

static int
read_alias(struct yaml_document *d, const yaml_event_t *event, unsigned depth,
           struct json **ret_value)
{
    const char *name = (const char *)event->data.alias.anchor;
    const struct json *value = map_find(d->anchors, name);
    unsigned deeper;

    if (value == NULL)
        return refuse(d, event->start_mark, "an alias without an anchor");
    if (value == &unfinished)
        return refuse(d, event->start_mark, "an alias inside its own anchor");
    d->alias_bytes += size_of(d, value, &deeper);
    if (d->alias_bytes > ALIAS_BYTES)
        return refuse(d, event->start_mark, "aliases expand to too much data");
    if (d->n_values > d->most_values)
        return refuse_more(d);
    if (depth + deeper > JSON_MAX_DEPTH)
        return refuse(d, event->start_mark, "nested too deeply");
    *ret_value = json_dup(d->arena, value);
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

/* The type of a scalar; -EINVAL for an unsupported tag or one that does not
 * match.
 */
static int
type_of(struct yaml_document *d, const yaml_event_t *event, enum scalar_type *ret_type)
{
    const char *tag = (const char *)event->data.scalar.tag;
    const char *text = (const char *)event->data.scalar.value;

    *ret_type = SCALAR_STRING;
    if (tag == NULL && !event->data.scalar.plain_implicit)
        return 0;
    if (tag != NULL && (strcmp(tag, "!") == 0 || is_tag(tag, "str")))
        return 0;
    *ret_type = scalar_resolve(text, event->data.scalar.length, &d->number);
    if (*ret_type == SCALAR_NOT_JSON)
        return refuse(d, event->start_mark, "this number is not valid in JSON");
    if (tag != NULL && !fits_tag(tag, *ret_type))
        return refuse(d, event->start_mark, "this tag does not match its value");
    return 0;
}

static int
read_scalar(struct yaml_document *d, const yaml_event_t *event, struct json **ret_value)
{
    enum scalar_type type;
    int status = type_of(d, event, &type);

    if (status < 0)
        return status;
    switch (type) {
    case SCALAR_NULL:
        *ret_value = json_null(d->arena);
        break;
    case SCALAR_TRUE:
    case SCALAR_FALSE:
        *ret_value = json_bool(d->arena, type == SCALAR_TRUE);
        break;
    case SCALAR_INT:
    case SCALAR_FLOAT:
        *ret_value = json_number(d->arena, d->number.text);
        break;
    default:
        *ret_value = json_string_n(d->arena, (const char *)event->data.scalar.value,
                                   event->data.scalar.length);
    }
    return 0;
}

/* A key of another scalar type becomes its text. */
static int
read_key(struct yaml_document *d, const yaml_event_t *event, const char **ret_key)
{
    struct json *value = NULL;
    int status;

    if (event->type == YAML_ALIAS_EVENT)
        status = read_alias(d, event, 0, &value);
    else if (event->type == YAML_SCALAR_EVENT)
        status = read_scalar(d, event, &value);
    else
        return refuse(d, event->start_mark, "a key must be a scalar");
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
    return refuse(d, event->start_mark, "this cannot be a key");
}

static int read_value(struct yaml_document *d, const yaml_event_t *event, unsigned depth,
                      struct json **ret_value);

static int
read_next_value(struct yaml_document *d, unsigned depth, struct json **ret_value)
{
    yaml_event_t event;
    int status = next_event(d, &event);

    if (status < 0)
        return status;
    status = read_value(d, &event, depth, ret_value);
    yaml_event_delete(&event);
    return status;
}

static int
read_sequence(struct yaml_document *d, unsigned depth, struct json **ret_value)
{
    struct json *array = json_array(d->arena);
    size_t path = d->path.length;

    for (;;) {
        yaml_event_t event;
        struct json *item = NULL;
        int status = next_event(d, &event);
        bool is_end = status == 0 && event.type == YAML_SEQUENCE_END_EVENT;

        if (status < 0)
            return status;
        if (!is_end) {
            strbuf_printf(&d->path, "[%u]", array->count);
            status = read_value(d, &event, depth, &item);
            strbuf_truncate(&d->path, path);
        }
        if (status == 0 && !is_end)
            note_line(d, item, event.start_mark);
        yaml_event_delete(&event);
        if (status < 0)
            return status;
        if (is_end)
            break;
        json_append(d->arena, array, item);
    }
    *ret_value = array;
    return 0;
}

static void
note_duplicate(struct yaml_document *d, const char *path)
{
    struct json_notes *notes = d->notes;
    size_t length = strlen(path);
    char **longer;

    if (notes->n_duplicates == JSON_MAX_NOTES)
        return;
    longer = arena_new_array(d->arena, char *, notes->n_duplicates + 1);
    if (notes->n_duplicates > 0)
        memcpy(longer, notes->duplicates, notes->n_duplicates * sizeof(*longer));
    longer[notes->n_duplicates++] =
        arena_strndup(d->arena, path, length < JSON_NOTE_SIZE ? length : JSON_NOTE_SIZE);
    notes->duplicates = longer;
}

static int
set_member(struct yaml_document *d, struct mapping *m, yaml_mark_t mark, const char *name,
           struct json *value)
{
    struct json_member *earlier = mapping_find(m, name);
    CLEANUP_FREE char *words = NULL;

    if (earlier == NULL) {
        mapping_add(m, name, value);
        return 0;
    }
    if (d->notes == NULL) {
        words = xasprintf("the key '%s' is given twice", name);
        return refuse(d, mark, words);
    }
    note_duplicate(d, d->path.text);
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

/* The value of a merge key (<<) must be a mapping or a list of mappings. */
static int
keep_for_merge(struct yaml_document *d, struct mapping *m, yaml_mark_t mark,
               const struct json *value)
{
    bool is_fit = value->type == JSON_OBJECT || value->type == JSON_ARRAY;

    for (uint32_t i = 0; value->type == JSON_ARRAY && i < value->count; i++)
        is_fit = is_fit && value->items[i]->type == JSON_OBJECT;
    if (!is_fit)
        return refuse(d, mark, "'<<' requires mappings");
    if (value->type == JSON_OBJECT)
        mapping_merge(m, value);
    for (uint32_t i = 0; value->type == JSON_ARRAY && i < value->count; i++)
        mapping_merge(m, value->items[i]);
    return 0;
}

static int
read_member(struct yaml_document *d, const yaml_event_t *key_event, unsigned depth,
            struct mapping *m)
{
    struct json *value = NULL;
    size_t path = d->path.length;
    const char *key = "<<";
    bool is_merge = is_merge_key(key_event);
    int status = 0;

    if (!is_merge)
        status = read_key(d, key_event, &key);
    if (status < 0)
        return status;
    strbuf_printf(&d->path, "%s%s", path > 0 ? "." : "", key);
    status = read_next_value(d, depth, &value);
    if (status == 0 && is_merge) {
        status = keep_for_merge(d, m, key_event->start_mark, value);
    } else if (status == 0) {
        note_line(d, value, key_event->start_mark);
        status = set_member(d, m, key_event->start_mark, key, value);
    }
    strbuf_truncate(&d->path, path);
    return status;
}

static int
read_mapping(struct yaml_document *d, unsigned depth, struct json **ret_value)
{
    CLEANUP(mapping_fini) struct mapping m = {0};

    for (;;) {
        yaml_event_t event;
        int status = next_event(d, &event);
        bool is_end = status == 0 && event.type == YAML_MAPPING_END_EVENT;

        if (status < 0)
            return status;
        if (!is_end)
            status = read_member(d, &event, depth, &m);
        yaml_event_delete(&event);
        if (status < 0)
            return status;
        if (is_end)
            break;
    }
    *ret_value = mapping_finish(&m, d->arena);
    return 0;
}

static int
read_container(struct yaml_document *d, const yaml_event_t *event, unsigned depth,
               struct json **ret_value)
{
    bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
    const char *tag = is_mapping ? (const char *)event->data.mapping_start.tag
                                 : (const char *)event->data.sequence_start.tag;

    if (depth >= JSON_MAX_DEPTH)
        return refuse(d, event->start_mark, "nested too deeply");
    if (tag != NULL && strcmp(tag, "!") != 0 && !is_tag(tag, is_mapping ? "map" : "seq"))
        return refuse(d, event->start_mark, "this tag does not match its value");
    return is_mapping ? read_mapping(d, depth + 1, ret_value)
                      : read_sequence(d, depth + 1, ret_value);
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
read_value(struct yaml_document *d, const yaml_event_t *event, unsigned depth,
           struct json **ret_value)
{
    const char *anchor = anchor_of(event);
    int status;

    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(d, event, depth, ret_value);
    if (++d->n_values > d->most_values)
        return refuse_more(d);
    if (anchor != NULL)
        map_put(d->anchors, anchor, &unfinished);
    if (event->type == YAML_SCALAR_EVENT)
        status = read_scalar(d, event, ret_value);
    else
        status = read_container(d, event, depth, ret_value);
    if (status < 0)
        return status;
    if (anchor != NULL)
        map_put(d->anchors, anchor, *ret_value);
    return 0;
}

int
document_read(struct yaml_document *d, struct json **ret_document)
{
    yaml_event_t event;
    int status = next_event(d, &event);

    if (status < 0)
        return status;
    status = read_value(d, &event, 0, ret_document);
    if (status == 0)
        note_line(d, *ret_document, event.start_mark);
    yaml_event_delete(&event);
    return status;
}

int
document_find(struct yaml_document *d)
{
    for (;;) {
        yaml_event_t event;
        yaml_event_type_t type;
        int status = next_event(d, &event);

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
