/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/tree_shape.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static struct tree_shape
shape_of_record(const struct record *record)
{
    if (record == NULL || record->is_atomic)
        return (struct tree_shape){.form = SHAPE_LEAF};
    return (struct tree_shape){.form = SHAPE_STRUCT, .of = record};
}

static struct tree_shape
shape_of_field(const struct field *f)
{
    if (f == NULL || f->flags & FIELD_TREE)
        return (struct tree_shape){.form = SHAPE_LEAF};
    if (f->type == FIELD_OBJECT)
        return shape_of_record(f->of);
    if (f->type == FIELD_MAP && f->merge == MERGE_BY_KEY)
        return (struct tree_shape){.form = SHAPE_MAP, .of = f->of};
    if (f->type == FIELD_LIST && f->merge == MERGE_SET)
        return (struct tree_shape){.form = SHAPE_SET};
    if (f->type == FIELD_LIST && f->merge == MERGE_BY_KEY && f->of != NULL)
        return (struct tree_shape){
            .form = SHAPE_LIST,
            .of = f->of,
            .keys = f->merge_keys,
        };
    return (struct tree_shape){.form = SHAPE_LEAF};
}

const struct field *
tree_shape_field(const struct tree_shape *shape, const char *name)
{
    return shape->form == SHAPE_STRUCT ? record_find(shape->of, name) : NULL;
}

struct tree_shape
tree_shape_of_member(const struct tree_shape *shape, const char *name)
{
    if (shape->form == SHAPE_MAP)
        return shape_of_record(shape->of);
    return shape_of_field(tree_shape_field(shape, name));
}

struct tree_shape
tree_shape_of_element(const struct tree_shape *shape)
{
    if (shape->form == SHAPE_LIST)
        return (struct tree_shape){.form = SHAPE_STRUCT, .of = shape->of};
    return (struct tree_shape){.form = SHAPE_LEAF};
}

bool
tree_shape_is_list(const struct tree_shape *shape)
{
    return shape->form == SHAPE_SET || shape->form == SHAPE_LIST;
}

const struct json *
tree_shape_fit(const struct tree_shape *shape, const struct json *value)
{
    enum json_type wanted = tree_shape_is_list(shape) ? JSON_ARRAY : JSON_OBJECT;

    return json_is(value, wanted) ? value : NULL;
}

/* --- elements of paths ---------------------------------------------------- */

const char *
tree_element_of_member(struct arena *arena, const char *name)
{
    return arena_printf(arena, "f:%s", name);
}

/* The value of the key, or the value that its absence means. */
static void
print_key(struct strbuf *text, const struct record *of, const struct json *item, const char *key)
{
    const struct json *value = json_get(item, key);
    const struct field *f = record_find(of, key);
    const char *absent = f != NULL ? f->absent_key : NULL;

    json_print_string(key, strlen(key), text);
    strbuf_add_char(text, ':');
    if (value != NULL && value->type != JSON_NULL)
        json_print(value, text);
    else if (absent != NULL)
        json_print_string(absent, strlen(absent), text);
    else
        strbuf_add_text(text, "null");
}

const char *
tree_element_of_item(struct arena *arena, const struct tree_shape *shape, const struct json *item)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *keys = shape->keys;

    if (shape->form == SHAPE_SET) {
        strbuf_add_text(&text, "v:");
        json_print(item, &text);
        return arena_strndup(arena, text.text, text.length);
    }
    strbuf_add_text(&text, "k:{");
    while (*keys != '\0') {
        size_t n = strcspn(keys, ",");

        if (keys != shape->keys)
            strbuf_add_char(&text, ',');
        print_key(&text, shape->of, item, arena_strndup(arena, keys, n));
        keys += n + (keys[n] == ',');
    }
    strbuf_add_char(&text, '}');
    return arena_strndup(arena, text.text, text.length);
}

static int
compare_stands(const void *a, const void *b)
{
    const struct stand *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

struct tree_elements
tree_elements_of(struct arena *arena, const struct tree_shape *shape, const struct json *list)
{
    struct tree_elements e = {.count = json_count(list)};

    e.names = arena_new_array(arena, const char *, e.count + 1);
    e.sorted = arena_new_array(arena, struct stand, e.count + 1);
    for (uint32_t i = 0; i < e.count; i++) {
        e.names[i] = tree_element_of_item(arena, shape, list->items[i]);
        e.sorted[i] = (struct stand){e.names[i], i};
    }
    if (e.count > 1)
        qsort(e.sorted, e.count, sizeof(*e.sorted), compare_stands);
    return e;
}

int64_t
tree_elements_find(const struct tree_elements *e, const char *element)
{
    uint32_t low = 0, high = e->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (strcmp(e->sorted[middle].name, element) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < e->count && strcmp(e->sorted[low].name, element) == 0)
        return e->sorted[low].at;
    return -1;
}
