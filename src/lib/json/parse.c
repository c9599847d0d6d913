/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - parses JSON text to a tree with yajl's event parser
 *
 * Only texts that the fast parser (ascii_parser.h) does not support are parsed
 * here. yajl checks the grammar and the UTF-8; this file builds the tree, and
 * handles depth and duplicate members. Open containers keep their values on one
 * stack, which are copied to the arena at their exact size when they close.
 */
#include "lib/json/json.h"

#include <errno.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/ascii_parser.h"

/* From this many members on, a map finds duplicates instead of a linear search.
 */
#define MANY_MEMBERS 16u

struct open_container {
    struct json *value;
    const char *name; /* of the member being read; NULL inside an array */
    size_t first;     /* index of its first value on the stack */
    struct map *names;
};

struct parser {
    struct arena *arena;
    struct json *root;
    struct json_member *stack;
    size_t n_stack, cap_stack;
    struct open_container open[JSON_MAX_DEPTH];
    unsigned depth;
    struct json_notes *notes;
    unsigned cap_duplicates;
    size_t n_values, most_values;
    bool too_deep;
    bool too_many;
    bool nul_in_name;
};

static char *
path_of(const struct parser *p, const char *name)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;

    for (unsigned i = 0; i + 1 < p->depth; i++) {
        const struct open_container *c = &p->open[i];

        if (c->value->type == JSON_ARRAY)
            strbuf_printf(&path, "[%zu]", p->open[i + 1].first - c->first);
        else
            strbuf_printf(&path, "%s%s", path.length ? "." : "", c->name);
    }
    strbuf_printf(&path, "%s%s", path.length ? "." : "", name);
    if (path.length > JSON_NOTE_SIZE)
        strbuf_truncate(&path, JSON_NOTE_SIZE);
    return arena_strndup(p->arena, path.text, path.length);
}

static void
note_duplicate(struct parser *p, const char *name)
{
    struct json_notes *notes = p->notes;
    char **longer;

    if (notes == NULL || notes->n_duplicates == JSON_MAX_NOTES)
        return;
    if (notes->n_duplicates == p->cap_duplicates) {
        p->cap_duplicates = p->cap_duplicates ? p->cap_duplicates * 2 : 4;
        longer = arena_new_array(p->arena, char *, p->cap_duplicates);
        if (notes->n_duplicates > 0)
            memcpy(longer, notes->duplicates, notes->n_duplicates * sizeof(*longer));
        notes->duplicates = longer;
    }
    notes->duplicates[notes->n_duplicates++] = path_of(p, name);
}

/* The earlier member of the innermost object with that name, or NULL. */
static struct json_member *
find_earlier(struct parser *p, struct open_container *c)
{
    size_t n = p->n_stack - c->first;
    void *place;

    if (n < MANY_MEMBERS) {
        for (size_t i = c->first; i < p->n_stack; i++)
            if (strcmp(p->stack[i].name, c->name) == 0)
                return &p->stack[i];
        return NULL;
    }
    if (c->names == NULL) {
        c->names = map_new();
        for (size_t i = c->first; i < p->n_stack; i++)
            map_put(c->names, p->stack[i].name, (void *)(uintptr_t)(i + 1));
    }
    place = map_find(c->names, c->name);
    if (place != NULL)
        return &p->stack[(uintptr_t)place - 1];
    map_put(c->names, c->name, (void *)(uintptr_t)(p->n_stack + 1));
    return NULL;
}

/* Upstream decodes the second of two objects into the first. */
static struct json *
combine(struct parser *p, struct json *earlier, struct json *later)
{
    if (earlier->type != JSON_OBJECT || later->type != JSON_OBJECT)
        return later;
    for (uint32_t i = 0; i < later->count; i++)
        json_set(p->arena, earlier, later->members[i].name, later->members[i].value);
    return earlier;
}

/* A callback of yajl: 0 stops the parser. */
static int
add_value(struct parser *p, struct json *value)
{
    struct open_container *c;
    struct json_member *earlier;

    p->too_many = ++p->n_values > p->most_values;
    if (p->too_many)
        return 0;
    if (p->depth == 0) {
        p->root = value;
        return 1;
    }
    c = &p->open[p->depth - 1];
    if (c->name != NULL) {
        earlier = find_earlier(p, c);
        if (earlier != NULL) {
            note_duplicate(p, c->name);
            earlier->value = combine(p, earlier->value, value);
            return 1;
        }
    }
    xgrow(p->stack, p->n_stack, p->cap_stack);
    p->stack[p->n_stack++] = (struct json_member){c->name, value};
    return 1;
}

static int
on_null(void *context)
{
    struct parser *p = context;

    return add_value(p, json_null(p->arena));
}

static int
on_bool(void *context, int value)
{
    struct parser *p = context;

    return add_value(p, json_bool(p->arena, value != 0));
}

static int
on_number(void *context, const char *text, size_t length)
{
    struct parser *p = context;
    struct json *v = json_string_n(p->arena, text, length);

    v->type = JSON_NUMBER;
    return add_value(p, v);
}

static int
on_string(void *context, const unsigned char *text, size_t length)
{
    struct parser *p = context;

    return add_value(p, json_string_n(p->arena, (const char *)text, length));
}

static int
open_container(struct parser *p, struct json *value)
{
    if (p->depth == JSON_MAX_DEPTH) {
        p->too_deep = true;
        return 0;
    }
    p->open[p->depth] = (struct open_container){
        .value = value,
        .first = p->n_stack,
    };
    p->depth++;
    return 1;
}

static int
on_start_object(void *context)
{
    struct parser *p = context;

    return open_container(p, json_object(p->arena));
}

static int
on_start_array(void *context)
{
    struct parser *p = context;

    return open_container(p, json_array(p->arena));
}

static int
on_name(void *context, const unsigned char *text, size_t length)
{
    struct parser *p = context;

    p->nul_in_name = memchr(text, '\0', length) != NULL;
    if (p->nul_in_name)
        return 0;
    p->open[p->depth - 1].name = arena_strndup(p->arena, (const char *)text, length);
    return 1;
}

static int
close_container(void *context)
{
    struct parser *p = context;
    struct open_container *c = &p->open[--p->depth];
    const struct json_member *values = p->n_stack > c->first ? p->stack + c->first : NULL;
    struct json *v = c->value;

    if (v->type == JSON_OBJECT) {
        *v = *json_object_of(p->arena, values, (uint32_t)(p->n_stack - c->first));
    } else if (values != NULL) {
        v->count = v->capacity = (uint32_t)(p->n_stack - c->first);
        v->items = arena_new_array(p->arena, struct json *, v->count);
        for (uint32_t i = 0; i < v->count; i++)
            v->items[i] = values[i].value;
    }
    p->n_stack = c->first;
    map_free(c->names);
    return add_value(p, v);
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_bool,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_start_object,
    .yajl_map_key = on_name,
    .yajl_end_map = close_container,
    .yajl_start_array = on_start_array,
    .yajl_end_array = close_container,
};

static int
explain(struct parser *p, yajl_handle handle, yajl_status status, const char *text, size_t length,
        struct error *err)
{
    size_t at = yajl_get_bytes_consumed(handle);
    unsigned char *said;
    size_t n;

    if (p->too_deep)
        return error_set(err, -EINVAL, "nested deeper than %d levels at byte %zu", JSON_MAX_DEPTH,
                         at);
    if (p->too_many)
        return error_set(err, -E2BIG, "more than %zu values", p->most_values);
    if (p->nul_in_name)
        return error_set(err, -EINVAL, "a member's name contains a NUL (\\u0000) at byte %zu", at);
    if (length == 0)
        return error_set(err, -EINVAL, "empty: expected a JSON value");
    said = yajl_get_error(handle, 0, (const unsigned char *)text, length);
    n = strcspn((char *)said, "\n");
    if (status == yajl_status_ok || p->root == NULL)
        error_set(err, -EINVAL, "not valid JSON at byte %zu: %.*s", at, (int)n, (const char *)said);
    else
        error_set(err, -EINVAL, "not valid JSON: unexpected data after the value at byte %zu", at);
    yajl_free_error(handle, said);
    return -EINVAL;
}

struct json *
json_parse_by_events(struct arena *arena, const char *text, size_t length, size_t most,
                     struct json_notes *notes, struct error *err)
{
    struct parser p;
    yajl_handle handle;
    yajl_status status;
    struct json *root;

    memset(&p, 0, offsetof(struct parser, open));
    p.depth = 0;
    p.notes = notes;
    p.cap_duplicates = 0;
    p.n_values = 0;
    p.most_values = most;
    p.too_deep = false;
    p.too_many = false;
    p.nul_in_name = false;
    p.arena = arena;

    handle = yajl_alloc(&callbacks, NULL, &p);
    status = yajl_parse(handle, (const unsigned char *)text, length);
    if (status == yajl_status_ok)
        status = yajl_complete_parse(handle);
    if (status != yajl_status_ok || p.root == NULL)
        explain(&p, handle, status, text, length, err);
    root = status == yajl_status_ok ? p.root : NULL;
    for (unsigned i = 0; i < p.depth; i++)
        map_free(p.open[i].names);
    free(p.stack);
    yajl_free(handle);
    return root;
}

struct json *
json_parse_bounded(struct arena *arena, const char *text, size_t length, size_t most,
                   struct json_notes *notes, struct error *err)
{
    struct json *root;

    if (length > UINT32_MAX / 2) {
        error_set(err, -EINVAL, "%zu bytes are too much JSON", length);
        return NULL;
    }
    if (notes != NULL)
        *notes = (struct json_notes){0};
    root = json_parse_ascii(arena, text, length, most);
    return root != NULL ? root : json_parse_by_events(arena, text, length, most, notes, err);
}

struct json *
json_parse(struct arena *arena, const char *text, size_t length, struct json_notes *notes,
           struct error *err)
{
    return json_parse_bounded(arena, text, length, SIZE_MAX, notes, err);
}
