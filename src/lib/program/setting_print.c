/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <string.h>

#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/base/timespan.h"
#include "lib/json/json.h"
#include "lib/program/setting.h"
#include "lib/yaml/yaml.h"

static struct json *
tree_of_pairs(struct arena *arena, const struct setting_texts *pairs)
{
    struct json *object = json_object(arena);

    for (size_t i = 0; i < pairs->count; i++) {
        const char *equals = strchr(pairs->items[i], '=');

        json_set_string(arena, object,
                        arena_strndup(arena, pairs->items[i], (size_t)(equals - pairs->items[i])),
                        equals + 1);
    }
    return object;
}

/* The value as a tree, or NULL when there is none. */
static struct json *
value_of(const struct setting *s, struct arena *arena, const void *target)
{
    const void *place = (const char *)target + s->offset;
    const struct setting_texts *texts = place;
    char text[QUANTITY_TEXT_SIZE];
    struct quantity q;
    struct json *list;

    switch (s->type) {
    case SETTING_BOOL:
        return json_bool(arena, *(const bool *)place);
    case SETTING_INT:
        return json_int(arena, *(const int64_t *)place);
    case SETTING_CHOICE:
        return json_string(arena, s->choices[*(const int *)place]);
    case SETTING_TIMESPAN:
        timespan_format(*(const int64_t *)place, text);
        return json_string(arena, text);
    case SETTING_BYTES:
        q = quantity_of(*(const int64_t *)place, QUANTITY_BINARY_SI);
        quantity_format(&q, text);
        return json_string(arena, text);
    case SETTING_TEXT:
        return *(const char *const *)place != NULL ? json_string(arena, *(const char *const *)place)
                                                   : NULL;
    case SETTING_TREE:
        return *(const struct json *const *)place != NULL
                   ? json_dup(arena, *(const struct json *const *)place)
                   : NULL;
    case SETTING_PAIRS:
        return tree_of_pairs(arena, texts);
    case SETTING_TEXTS:
        list = json_array(arena);
        for (size_t i = 0; i < texts->count; i++)
            json_append(arena, list, json_string(arena, texts->items[i]));
        return list;
    }
    return NULL;
}

bool
setting_is_same(const struct setting *s, const void *one, const void *other)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *a = value_of(s, arena, one);
    const struct json *b = value_of(s, arena, other);

    return a == NULL || b == NULL ? a == b : json_equals(a, b);
}

static void
print_help(struct strbuf *out, const char *text, unsigned indent)
{
    size_t column = 0;

    while (*text != '\0') {
        size_t length = strcspn(text, " ");

        if (column == 0 || indent + 2 + column + 1 + length > 79) {
            strbuf_printf(out, "%s%*s#", column > 0 ? "\n" : "", (int)indent, "");
            column = 0;
        }
        strbuf_printf(out, " %.*s", (int)length, text);
        column += 1 + length;
        text += length + (text[length] == ' ');
    }
    strbuf_add_char(out, '\n');
}

/* Prints the value on the line of its key; a list in brackets. */
static void
print_value(struct strbuf *out, const struct json *value)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (json_is(value, JSON_ARRAY) || json_is(value, JSON_OBJECT))
        json_print(value, &text);
    else
        yaml_print(value, &text);
    while (text.length > 0 && text.text[text.length - 1] == '\n')
        strbuf_truncate(&text, text.length - 1);
    strbuf_printf(out, "%s\n", text.text);
}

/* Prints the headings of groups that contain this key but not the previous one.
 * Returns the indentation of the key's own line.
 */
static unsigned
print_groups(struct strbuf *out, const char *before, const char *key)
{
    size_t common = 0;
    unsigned indent = 0;
    size_t i;

    for (i = 0; before[i] != '\0' && before[i] == key[i]; i++)
        if (key[i] == '.')
            common = i + 1;
    for (i = 0; key[i] != '\0'; i++) {
        size_t start = i;

        while (key[i] != '.' && key[i] != '\0')
            i++;
        if (key[i] == '\0')
            break;
        if (i >= common)
            strbuf_printf(out, "%*s%.*s:\n", (int)indent, "", (int)(i - start), key + start);
        indent += 2;
    }
    return indent;
}

void
setting_print(const struct setting_table *table, const void *target, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *before = "";

    for (size_t i = 0; i < table->n_settings; i++) {
        const struct setting *s = &table->settings[i];
        const struct json *value = value_of(s, arena, target);
        const char *last = strrchr(s->key, '.');
        unsigned indent;

        if (i > 0)
            strbuf_add_char(out, '\n');
        indent = print_groups(out, before, s->key);
        print_help(out, s->help, indent);
        strbuf_printf(out, "%*s%s%s:", (int)indent, "", value == NULL ? "#" : "",
                      last != NULL ? last + 1 : s->key);
        if (value != NULL) {
            strbuf_add_char(out, ' ');
            print_value(out, value);
        } else {
            strbuf_add_char(out, '\n');
        }
        before = s->key;
    }
}
