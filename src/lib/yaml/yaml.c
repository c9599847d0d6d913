/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/yaml/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "lib/yaml/document.h"
#include "lib/yaml/line_table.h"

struct yaml_reader {
    yaml_parser_t parser;
    const char *text;
    size_t length;
    bool has_begun;
    bool is_done;
    size_t most_values;
    struct line_table lines;
};

struct yaml_reader *
yaml_reader_new(const char *text, size_t length)
{
    struct yaml_reader *reader = xnew(struct yaml_reader);

    reader->text = text;
    reader->length = length;
    reader->most_values = SIZE_MAX;
    if (!yaml_parser_initialize(&reader->parser))
        abort();
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)text, length);
    return reader;
}

void
yaml_reader_bound(struct yaml_reader *reader, size_t most_values)
{
    reader->most_values = most_values;
}

void
yaml_reader_free(struct yaml_reader *reader)
{
    if (reader == NULL)
        return;
    yaml_parser_delete(&reader->parser);
    line_table_fini(&reader->lines);
    free(reader);
}

unsigned
yaml_reader_line(struct yaml_reader *reader, const struct json *value)
{
    return line_table_find(&reader->lines, value);
}

/* A number beyond the range of double, which YAML reads as a string. */
static bool
has_vast_number(const struct json *v)
{
    if (v->type == JSON_NUMBER)
        return isinf(strtod(v->text, NULL));
    for (uint32_t i = 0; v->type == JSON_ARRAY && i < v->count; i++)
        if (has_vast_number(json_at(v, i)))
            return true;
    for (uint32_t i = 0; v->type == JSON_OBJECT && i < v->count; i++)
        if (has_vast_number(v->members[i].value))
            return true;
    return false;
}

/* JSON is almost a subset of YAML, except for its surrogate pairs and tabs. */
static bool
read_as_json(struct yaml_reader *reader, struct arena *arena, struct json **ret_document,
             struct json_notes *notes)
{
    struct json_notes own = {0};
    size_t at = 0;
    struct json *document;

    while (at < reader->length && strchr(" \t\r\n", reader->text[at]) != NULL)
        at++;
    if (at == reader->length || (reader->text[at] != '{' && reader->text[at] != '['))
        return false;
    document =
        json_parse_bounded(arena, reader->text, reader->length, reader->most_values, &own, NULL);
    if (document == NULL || has_vast_number(document) || (own.n_duplicates > 0 && notes == NULL))
        return false;
    if (notes != NULL)
        *notes = own;
    *ret_document = document;
    return true;
}

int
yaml_reader_next(struct yaml_reader *reader, struct arena *arena, struct json **ret_document,
                 struct json_notes *notes, struct error *err)
{
    struct yaml_document d = {
        .parser = &reader->parser,
        .text = reader->text,
        .length = reader->length,
        .arena = arena,
        .notes = notes,
        .lines = &reader->lines,
        .most_values = reader->most_values,
        .err = err,
        .path = STRBUF_INIT,
        .number = STRBUF_INIT,
    };
    int status;

    if (reader->is_done)
        return 0;
    if (!reader->has_begun && read_as_json(reader, arena, ret_document, notes)) {
        reader->is_done = true;
        return 1;
    }
    reader->has_begun = true;
    line_table_clear(&reader->lines);
    d.anchors = map_new();
    status = document_find(&d);
    if (status > 0)
        status = document_read(&d, ret_document) < 0 ? -EINVAL : 1;
    reader->is_done = status <= 0;
    map_free(d.anchors);
    strbuf_fini(&d.path);
    strbuf_fini(&d.number);
    return status;
}

int
yaml_parse(struct arena *arena, const char *text, size_t length, struct json **ret_document,
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
