/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/yaml/yaml.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/scalar.h"

static int
append(void *out, unsigned char *bytes, size_t length)
{
    strbuf_add(out, bytes, length);
    return 1;
}

/* Only an allocation can fail here; libyaml frees the event. */
static void
emit(yaml_emitter_t *emitter, yaml_event_t *event, int is_made)
{
    if (is_made && yaml_emitter_emit(emitter, event))
        return;
    fprintf(stderr, "printing YAML: %s\n",
            emitter->problem != NULL ? emitter->problem : "out of memory");
    abort();
}

static void
emit_scalar(yaml_emitter_t *emitter, const char *text, size_t length, yaml_scalar_style_t style)
{
    yaml_event_t event;

    emit(emitter, &event,
         yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)length, 1,
                                      1, style));
}

static void
emit_string(yaml_emitter_t *emitter, const char *text, size_t length)
{
    yaml_scalar_style_t style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;

    if (memchr(text, '\n', length) != NULL)
        style = YAML_LITERAL_SCALAR_STYLE;
    else if (scalar_is_plain_string(text, length))
        style = YAML_PLAIN_SCALAR_STYLE;
    emit_scalar(emitter, text, length, style);
}

/* A letter; bytes of other alphabets count as letters. */
static bool
is_letter(char c)
{
    return isalpha((unsigned char)c) || (unsigned char)c >= 0x80;
}

static int64_t
number_at(const char *text, size_t from, size_t *ret_end, int64_t start)
{
    size_t end = from;

    for (; isdigit((unsigned char)text[end]) && start < INT64_MAX / 10 - 1; end++)
        start = start * 10 + (text[end] - '0');
    *ret_end = end;
    return start;
}

/* Whether a zero at `i` follows another digit and so is part of its number. */
static bool
is_inside_number(const char *text, size_t i)
{
    while (i > 0 && isdigit((unsigned char)text[i - 1]))
        if (text[--i] != '0')
            return true;
    return false;
}

/* The order of go-yaml's keys: "a2" before "a10", letters after other
 * characters.
 */
static int
compare_keys(const char *a, const char *b)
{
    size_t i = 0;
    size_t end_a, end_b;
    int64_t number_a, number_b, start;

    while (a[i] != '\0' && a[i] == b[i])
        i++;
    if (a[i] == '\0' || b[i] == '\0')
        return (a[i] != '\0') - (b[i] != '\0');
    if (is_letter(a[i]) && is_letter(b[i]))
        return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
    if (is_letter(a[i]) || is_letter(b[i]))
        return is_letter(b[i]) ? -1 : 1;
    start = (a[i] == '0' || b[i] == '0') && is_inside_number(a, i);
    number_a = number_at(a, i, &end_a, start);
    number_b = number_at(b, i, &end_b, start);
    if (number_a != number_b)
        return number_a < number_b ? -1 : 1;
    if (end_a != end_b)
        return end_a < end_b ? -1 : 1;
    return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
}

static int
compare_members(const void *a, const void *b)
{
    const struct json_member *x = a;
    const struct json_member *y = b;

    return compare_keys(x->name, y->name);
}

static void emit_value(yaml_emitter_t *emitter, const struct json *value);

static void
emit_object(yaml_emitter_t *emitter, const struct json *object)
{
    CLEANUP_FREE struct json_member *sorted =
        xmemdup(object->members, object->count * sizeof(*object->members));
    yaml_event_t event;

    qsort(sorted, object->count, sizeof(*sorted), compare_members);
    emit(emitter, &event,
         yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
    for (uint32_t i = 0; i < object->count; i++) {
        emit_string(emitter, sorted[i].name, strlen(sorted[i].name));
        emit_value(emitter, sorted[i].value);
    }
    emit(emitter, &event, yaml_mapping_end_event_initialize(&event));
}

static void
emit_array(yaml_emitter_t *emitter, const struct json *array)
{
    yaml_event_t event;

    emit(emitter, &event,
         yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));
    for (uint32_t i = 0; i < array->count; i++)
        emit_value(emitter, array->items[i]);
    emit(emitter, &event, yaml_sequence_end_event_initialize(&event));
}

static void
emit_value(yaml_emitter_t *emitter, const struct json *value)
{
    const char *word = "null";

    switch (value->type) {
    case JSON_STRING:
        emit_string(emitter, value->text, value->count);
        return;
    case JSON_ARRAY:
        emit_array(emitter, value);
        return;
    case JSON_OBJECT:
        emit_object(emitter, value);
        return;
    case JSON_NUMBER:
        word = value->text;
        break;
    case JSON_BOOL:
        word = value->boolean ? "true" : "false";
        break;
    case JSON_NULL:
        break;
    }
    emit_scalar(emitter, word, strlen(word), YAML_PLAIN_SCALAR_STYLE);
}

void
yaml_print(const struct json *value, struct strbuf *out)
{
    yaml_emitter_t emitter;
    yaml_event_t event;

    if (!yaml_emitter_initialize(&emitter))
        abort();
    yaml_emitter_set_output(&emitter, append, out);
    yaml_emitter_set_unicode(&emitter, 1);
    emit(&emitter, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
    emit(&emitter, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1));
    emit_value(&emitter, value);
    emit(&emitter, &event, yaml_document_end_event_initialize(&event, 1));
    emitter.open_ended = 0; /* no "..." after a text that ends in newlines */
    emit(&emitter, &event, yaml_stream_end_event_initialize(&event));
    yaml_emitter_flush(&emitter);
    yaml_emitter_delete(&emitter);
}
