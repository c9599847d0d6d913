/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/setting.h"
#include "lib/yaml/yaml.h"

#define MAX_FILE ((size_t)4 << 20)

/* A configuration being read. */
struct setting_reader {
    const struct setting_table *table;
    struct arena *arena;
    const char *name;
    struct yaml_reader *yaml;
    void *target;
    struct strbuf *mistakes;
    bool has_mistake;
};

static void PRINTF(4, 5) add_mistake(struct setting_reader *r, const struct json *at,
                                     const char *key, const char *format, ...)
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
read_list(struct setting_reader *r, const struct setting *s, const struct json *value)
{
    struct error err = {0};
    const char **items;

    if (!json_is(value, JSON_ARRAY)) {
        add_mistake(r, value, s->key, "must be a list");
        return;
    }
    items = arena_new_array(r->arena, const char *, value->count);
    for (uint32_t i = 0; i < value->count; i++) {
        const char *text = json_text(value->items[i]);

        if (text == NULL) {
            add_mistake(r, value->items[i], s->key, "must be a list of strings");
            return;
        }
        items[i] = arena_strdup(r->arena, text);
        if (setting_check(s, items[i], &err) < 0)
            add_mistake(r, value->items[i], s->key, "%s", err.text);
    }
    *(struct setting_texts *)setting_place(s, r->target) =
        (struct setting_texts){items, value->count};
}

/* Stores a mapping of texts as a list of "key=value". */
static void
read_pairs(struct setting_reader *r, const struct setting *s, const struct json *value)
{
    struct error err = {0};
    const char **items;

    if (!json_is(value, JSON_OBJECT)) {
        add_mistake(r, value, s->key, "must contain keys and values");
        return;
    }
    items = arena_new_array(r->arena, const char *, value->count);
    for (uint32_t i = 0; i < value->count; i++) {
        const struct json_member *m = &value->members[i];

        if (json_text(m->value) == NULL) {
            add_mistake(r, m->value, s->key, "'%s' must have a string", m->name);
            return;
        }
        items[i] = arena_printf(r->arena, "%s=%s", m->name, json_text(m->value));
        if (setting_check(s, items[i], &err) < 0)
            add_mistake(r, m->value, s->key, "%s", err.text);
    }
    *(struct setting_texts *)setting_place(s, r->target) =
        (struct setting_texts){items, value->count};
}

static void
read_setting(struct setting_reader *r, const struct setting *s, const struct json *value)
{
    struct error err = {0};
    const char *text = NULL;

    if (json_is(value, JSON_NULL)) {
        setting_reset_one(s, r->arena, r->target);
        return;
    }
    if (s->type == SETTING_TREE) {
        *(const struct json **)setting_place(s, r->target) = value;
        return;
    }
    if (setting_is_list(s)) {
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
        add_mistake(r, value, s->key,
                    s->type == SETTING_BOOL ? "must be true or false"
                                            : "'%s' must be a string; put it in quotes",
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

/* Searches the keys of the same group first for one that was meant, then all
 * keys.
 */
static void
refuse_unknown(struct setting_reader *r, const struct json *value, const char *key)
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
read_group(struct setting_reader *r, const char *prefix, const struct json *object)
{
    for (uint32_t i = 0; i < object->count; i++) {
        const struct json *value = object->members[i].value;
        CLEANUP_FREE char *key = xasprintf("%s%s", prefix, object->members[i].name);
        const struct setting *s = find_setting(r->table, key);

        if (s != NULL) {
            read_setting(r, s, value);
        } else if (!is_group(r->table, key)) {
            refuse_unknown(r, value, key);
        } else if (json_is(value, JSON_OBJECT)) {
            CLEANUP_FREE char *deeper = xasprintf("%s.", key);

            read_group(r, deeper, value);
        } else if (!json_is(value, JSON_NULL)) {
            add_mistake(r, value, key, "must have keys of its own");
        }
    }
}

static int
read_text(const struct setting_table *table, struct arena *arena, const char *name,
          const char *text, size_t length, void *target, struct strbuf *mistakes)
{
    CLEANUP(yaml_reader_freep)
    struct yaml_reader *yaml = yaml_reader_new(text, length);
    struct setting_reader r = {
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
        add_mistake(&r, document, "file", "must contain keys and values");
    return r.has_mistake ? -EINVAL : 0;
}

int
setting_read_file(const struct setting_table *table, struct arena *arena, const char *path,
                  void *target, struct strbuf *mistakes)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct error err = {0};
    int r = file_read(path, MAX_FILE, &text, &err);

    if (r < 0) {
        strbuf_printf(mistakes, "%s\n", err.text);
        return r;
    }
    return read_text(table, arena, path, text.text, text.length, target, mistakes);
}
