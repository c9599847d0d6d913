/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/setting.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/base/timespan.h"
#include "lib/json/json.h"
#include "lib/yaml/yaml.h"

#define MAX_FILE ((size_t)4 << 20)

static void *
place_of(const struct setting *s, void *target)
{
    return (char *)target + s->offset;
}

static int
set_bool(const struct setting *s,
         const char *text,
         void *target,
         struct error *err)
{
    if (text == NULL || strcmp(text, "true") == 0) {
        *(bool *)place_of(s, target) = true;
        return 0;
    }
    if (strcmp(text, "false") == 0) {
        *(bool *)place_of(s, target) = false;
        return 0;
    }
    return error_set(err, -EINVAL, "'%s' is not true or false", text);
}

static int
set_int(const struct setting *s,
        const char *text,
        void *target,
        struct error *err)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < s->min
        || number > s->max)
        return error_set(err,
                         -EINVAL,
                         "'%s' is not a number from %lld to %lld",
                         text,
                         (long long)s->min,
                         (long long)s->max);
    *(int64_t *)place_of(s, target) = number;
    return 0;
}

static int
set_timespan(const struct setting *s,
             const char *text,
             void *target,
             struct error *err)
{
    char least[TIMESPAN_TEXT_SIZE];
    char most[TIMESPAN_TEXT_SIZE];
    int64_t us;
    int r = timespan_parse(text, &us);

    if (r == 0 && us >= s->min && us <= s->max) {
        *(int64_t *)place_of(s, target) = us;
        return 0;
    }
    if (r == -EINVAL)
        return error_set(err,
                         -EINVAL,
                         "'%s' is not a time, such as 500ms, 10s or 1h30m",
                         text);
    timespan_format(s->min, least);
    timespan_format(s->max, most);
    return error_set(err,
                     -EINVAL,
                     "'%s' is not a time from %s to %s",
                     text,
                     least,
                     most);
}

static int
set_bytes(const struct setting *s,
          const char *text,
          void *target,
          struct error *err)
{
    char least[QUANTITY_TEXT_SIZE];
    char most[QUANTITY_TEXT_SIZE];
    struct quantity limit;
    struct quantity q;
    int r = quantity_parse(text, &q);

    if (r == 0 && quantity_value(&q) >= s->min
        && quantity_value(&q) <= s->max) {
        *(int64_t *)place_of(s, target) = quantity_value(&q);
        return 0;
    }
    if (r == -EINVAL)
        return error_set(err,
                         -EINVAL,
                         "'%s' is not a size in bytes, such as 4096 or 64Mi",
                         text);
    limit = quantity_of(s->min, QUANTITY_BINARY_SI);
    quantity_format(&limit, least);
    limit = quantity_of(s->max, QUANTITY_BINARY_SI);
    quantity_format(&limit, most);
    return error_set(err,
                     -EINVAL,
                     "'%s' is not a size from %s to %s",
                     text,
                     least,
                     most);
}

static int
set_choice(const struct setting *s,
           const char *text,
           void *target,
           struct error *err)
{
    CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;

    for (int i = 0; s->choices[i] != NULL; i++) {
        if (strcmp(s->choices[i], text) == 0) {
            *(int *)place_of(s, target) = i;
            return 0;
        }
        strbuf_printf(&all, "%s%s", i > 0 ? ", " : "", s->choices[i]);
    }
    return error_set(err, -EINVAL, "'%s' is not one of %s", text, all.text);
}

/* "a,b": a list on a command line. */
static int
add_texts(const struct setting *s,
          struct arena *arena,
          const char *text,
          void *target,
          struct error *err)
{
    struct setting_texts *texts = place_of(s, target);
    size_t count = texts->count;
    size_t most = count + 1;
    const char **items;

    for (const char *p = text; *p != '\0'; p++)
        most += *p == ',';
    items = arena_new_array(arena, const char *, most);
    if (count > 0)
        memcpy(items, texts->items, count * sizeof(*items));
    while (*text != '\0') {
        size_t length = strcspn(text, ",");

        if (length > 0)
            items[count++] = arena_strndup(arena, text, length);
        if (length > 0 && s->type == SETTING_PAIRS
            && strchr(items[count - 1], '=') == NULL)
            return error_set(err,
                             -EINVAL,
                             "'%s' is not of the form KEY=VALUE",
                             items[count - 1]);
        text += length + (text[length] == ',');
    }
    *texts = (struct setting_texts){items, count};
    return 0;
}

static bool
is_list(const struct setting *s)
{
    return s->type == SETTING_TEXTS || s->type == SETTING_PAIRS;
}

int
setting_add(const struct setting *s,
            struct arena *arena,
            const char *text,
            void *target,
            struct error *err)
{
    return is_list(s) ? add_texts(s, arena, text, target, err)
                      : setting_set(s, arena, text, target, err);
}

int
setting_set(const struct setting *s,
            struct arena *arena,
            const char *text,
            void *target,
            struct error *err)
{
    switch (s->type) {
    case SETTING_BOOL:
        return set_bool(s, text, target, err);
    case SETTING_INT:
        return set_int(s, text, target, err);
    case SETTING_TIMESPAN:
        return set_timespan(s, text, target, err);
    case SETTING_BYTES:
        return set_bytes(s, text, target, err);
    case SETTING_CHOICE:
        return set_choice(s, text, target, err);
    case SETTING_TEXT:
        *(const char **)place_of(s, target) =
            *text != '\0' ? arena_strdup(arena, text) : NULL;
        return 0;
    case SETTING_TEXTS:
    case SETTING_PAIRS:
        *(struct setting_texts *)place_of(s, target) =
            (struct setting_texts){NULL, 0};
        return add_texts(s, arena, text, target, err);
    case SETTING_TREE:
        break;
    }
    return error_set(err, -EINVAL, "can only be set in the file");
}

static void
clear(const struct setting *s, void *target)
{
    void *place = place_of(s, target);

    switch (s->type) {
    case SETTING_BOOL:
        *(bool *)place = false;
        break;
    case SETTING_INT:
    case SETTING_TIMESPAN:
    case SETTING_BYTES:
        *(int64_t *)place = 0;
        break;
    case SETTING_CHOICE:
        *(int *)place = 0;
        break;
    case SETTING_TEXT:
        *(const char **)place = NULL;
        break;
    case SETTING_TEXTS:
    case SETTING_PAIRS:
        *(struct setting_texts *)place = (struct setting_texts){NULL, 0};
        break;
    case SETTING_TREE:
        *(const struct json **)place = NULL;
        break;
    }
}

static void
reset_one(const struct setting *s, struct arena *arena, void *target)
{
    struct error err = {0};

    clear(s, target);
    if (s->initial == NULL)
        return;
    if (setting_set(s, arena, s->initial, target, &err) < 0) {
        fprintf(stderr, "default of setting '%s': %s\n", s->key, err.text);
        abort();
    }
}

void
setting_reset(const struct setting_table *table,
              struct arena *arena,
              void *target)
{
    for (size_t i = 0; i < table->n_settings; i++)
        reset_one(&table->settings[i], arena, target);
}

/* A configuration being read. */
struct reading {
    const struct setting_table *table;
    struct arena *arena;
    const char *name;
    struct yaml_reader *yaml;
    void *target;
    struct strbuf *mistakes;
    bool has_mistake;
};

static void PRINTF(4, 5) add_mistake(struct reading *r,
                                     const struct json *at,
                                     const char *key,
                                     const char *format,
                                     ...)
{
    unsigned line = yaml_reader_line(r->yaml, at);
    va_list args;

    r->has_mistake = true;
    strbuf_add_text(r->mistakes, r->name);
    if (line > 0)
        strbuf_printf(r->mistakes, ":%u", line);
    strbuf_printf(r->mistakes, ": %s: ", key);
    va_start(args, format);
    strbuf_vprintf(r->mistakes, format, args);
    va_end(args);
    strbuf_add_char(r->mistakes, '\n');
}

static void
read_list(struct reading *r, const struct setting *s, const struct json *value)
{
    const char **items;

    if (!json_is(value, JSON_ARRAY)) {
        add_mistake(r, value, s->key, "must be a list");
        return;
    }
    items = arena_new_array(r->arena, const char *, value->count);
    for (uint32_t i = 0; i < value->count; i++) {
        const char *text = json_text(value->items[i]);

        if (text == NULL) {
            add_mistake(r, value->items[i], s->key, "must be a list of texts");
            return;
        }
        items[i] = arena_strdup(r->arena, text);
    }
    *(struct setting_texts *)place_of(s, r->target) =
        (struct setting_texts){items, value->count};
}

/* A mapping of texts, kept as "key=value". */
static void
read_pairs(struct reading *r, const struct setting *s, const struct json *value)
{
    const char **items;

    if (!json_is(value, JSON_OBJECT)) {
        add_mistake(r, value, s->key, "must hold keys and values");
        return;
    }
    items = arena_new_array(r->arena, const char *, value->count);
    for (uint32_t i = 0; i < value->count; i++) {
        const struct json_member *m = &value->members[i];

        if (json_text(m->value) == NULL) {
            add_mistake(r, m->value, s->key, "'%s' must have a text", m->name);
            return;
        }
        items[i] =
            arena_printf(r->arena, "%s=%s", m->name, json_text(m->value));
    }
    *(struct setting_texts *)place_of(s, r->target) =
        (struct setting_texts){items, value->count};
}

static void
read_setting(struct reading *r,
             const struct setting *s,
             const struct json *value)
{
    struct error err = {0};
    const char *text = NULL;

    if (json_is(value, JSON_NULL)) {
        reset_one(s, r->arena, r->target);
        return;
    }
    if (s->type == SETTING_TREE) {
        *(const struct json **)place_of(s, r->target) = value;
        return;
    }
    if (is_list(s)) {
        if (s->type == SETTING_PAIRS)
            read_pairs(r, s, value);
        else
            read_list(r, s, value);
        return;
    }
    if (json_is(value, JSON_BOOL))
        text = value->boolean ? "true" : "false";
    else if (json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER))
        text = value->text;
    if (text == NULL)
        add_mistake(r, value, s->key, "must be a single value");
    else if (json_is(value, JSON_BOOL) != (s->type == SETTING_BOOL))
        add_mistake(r,
                    value,
                    s->key,
                    s->type == SETTING_BOOL
                        ? "must be true or false"
                        : "'%s' must stand in quotes, or is not meant",
                    text);
    else if (setting_set(s, r->arena, text, r->target, &err) < 0)
        add_mistake(r, value, s->key, "%s", err.text);
}

static const struct setting *
find_setting(const struct setting_table *table, const char *key)
{
    for (size_t i = 0; i < table->n_settings; i++)
        if (strcmp(table->settings[i].key, key) == 0)
            return &table->settings[i];
    return NULL;
}

static bool
is_group(const struct setting_table *table, const char *key)
{
    size_t length = strlen(key);

    for (size_t i = 0; i < table->n_settings; i++)
        if (strncmp(table->settings[i].key, key, length) == 0
            && table->settings[i].key[length] == '.')
            return true;
    return false;
}

/* Compares with the keys of the same group first, then with all. */
static void
refuse_unknown(struct reading *r, const struct json *value, const char *key)
{
    size_t n = r->table->n_settings;
    CLEANUP_FREE const char **keys = xnew_array(const char *, n);
    const char *near;

    for (size_t i = 0; i < n; i++)
        keys[i] = r->table->settings[i].key;
    near = spelling_nearest(key, keys, n);
    for (size_t i = 0; i < n && near == NULL; i++) {
        const char *last = strrchr(keys[i], '.');

        if (last != NULL && strcmp(last + 1, key) == 0)
            near = keys[i];
    }
    if (near != NULL)
        add_mistake(r, value, key, "unknown key (did you mean '%s'?)", near);
    else
        add_mistake(r, value, key, "unknown key");
}

static void
read_group(struct reading *r, const char *prefix, const struct json *object)
{
    for (uint32_t i = 0; i < object->count; i++) {
        const struct json *value = object->members[i].value;
        CLEANUP_FREE char *key =
            xasprintf("%s%s", prefix, object->members[i].name);
        const struct setting *s = find_setting(r->table, key);

        if (s != NULL) {
            read_setting(r, s, value);
        } else if (!is_group(r->table, key)) {
            refuse_unknown(r, value, key);
        } else if (json_is(value, JSON_OBJECT)) {
            CLEANUP_FREE char *deeper = xasprintf("%s.", key);

            read_group(r, deeper, value);
        } else if (!json_is(value, JSON_NULL)) {
            add_mistake(r, value, key, "must hold keys of its own");
        }
    }
}

int
setting_read(const struct setting_table *table,
             struct arena *arena,
             const char *name,
             const char *text,
             size_t length,
             void *target,
             struct strbuf *mistakes)
{
    CLEANUP(yaml_reader_freep)
    struct yaml_reader *yaml = yaml_reader_new(text, length);
    struct reading r = {
        .table = table,
        .arena = arena,
        .name = name,
        .yaml = yaml,
        .target = target,
        .mistakes = mistakes,
    };
    struct json *document = NULL;
    struct error err = {0};
    int status = yaml_reader_next(yaml, arena, &document, NULL, &err);

    if (status < 0) {
        strbuf_printf(mistakes, "%s: %s\n", name, err.text);
        return -EINVAL;
    }
    if (json_is(document, JSON_OBJECT))
        read_group(&r, "", document);
    else if (document != NULL && !json_is(document, JSON_NULL))
        add_mistake(&r, document, "file", "must hold keys and values");
    return r.has_mistake ? -EINVAL : 0;
}

int
setting_read_file(const struct setting_table *table,
                  struct arena *arena,
                  const char *path,
                  void *target,
                  struct strbuf *mistakes)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};
    int r = file_read(path, MAX_FILE, &text, &err);

    if (r < 0) {
        strbuf_printf(mistakes, "%s\n", err.text);
        return r;
    }
    return setting_read(table,
                        arena,
                        path,
                        text.text,
                        text.length,
                        target,
                        mistakes);
}

static struct json *
tree_of_pairs(struct arena *arena, const struct setting_texts *pairs)
{
    struct json *object = json_object(arena);

    for (size_t i = 0; i < pairs->count; i++) {
        const char *equals = strchr(pairs->items[i], '=');

        json_set_string(arena,
                        object,
                        arena_strndup(arena,
                                      pairs->items[i],
                                      (size_t)(equals - pairs->items[i])),
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
        return *(const char *const *)place != NULL
                   ? json_string(arena, *(const char *const *)place)
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

static void
print_help(struct strbuf *out, const char *text, unsigned indent)
{
    size_t column = 0;

    while (*text != '\0') {
        size_t length = strcspn(text, " ");

        if (column == 0 || indent + 2 + column + 1 + length > 79) {
            strbuf_printf(out,
                          "%s%*s#",
                          column > 0 ? "\n" : "",
                          (int)indent,
                          "");
            column = 0;
        }
        strbuf_printf(out, " %.*s", (int)length, text);
        column += 1 + length;
        text += length + (text[length] == ' ');
    }
    strbuf_add_char(out, '\n');
}

/* The value on the line of its key; a list in brackets. */
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

/* Opens the groups that this key is in and the one before it was not. Returns
 * how far the key's own line is indented.
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
            strbuf_printf(out,
                          "%*s%.*s:\n",
                          (int)indent,
                          "",
                          (int)(i - start),
                          key + start);
        indent += 2;
    }
    return indent;
}

void
setting_print(const struct setting_table *table,
              const void *target,
              struct strbuf *out)
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
        strbuf_printf(out,
                      "%*s%s%s:",
                      (int)indent,
                      "",
                      value == NULL ? "#" : "",
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
