/* SPDX-License-Identifier: Apache-2.0 */
/* No list or map of any kind may cost more than in proportion to its size: each
 * one of every field table is grown, alone in an object that is otherwise
 * small.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/base/sanitizer.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/growth.h"
#include "testsuite/lib/suite.h"

/* With a sanitizer every path is tested, but its cost is not checked. */
#define ITEMS     (IS_SANITIZED ? 40 : 2000)
#define DEPTH_MAX 12

/* The path from the root to a list or map. */
struct path {
    const struct path *up;
    const struct field *field;
};

struct tour {
    const struct kind *kind;
    struct map *seen; /* records whose fields were grown */
    struct strbuf steep;
    unsigned n;
};

static struct json *
simple_value(struct arena *arena, enum field_type type, const struct record *of)
{
    switch (type) {
    case FIELD_STRING:
        return json_string(arena, "x");
    case FIELD_INT:
    case FIELD_INT64:
    case FIELD_NUMBER:
    case FIELD_INT_OR_STRING:
    case FIELD_QUANTITY:
        return json_int(arena, 1);
    case FIELD_OBJECT:
        break;
    default:
        return NULL;
    }
    return of != NULL ? json_object(arena) : NULL;
}

/* An object with only texts and numbers. */
static struct json *
simple_object(struct arena *arena, const struct record *record)
{
    struct json *object = json_object(arena);

    for (unsigned i = 0; i < record->n_fields; i++) {
        const struct field *f = &record->fields[i];
        struct json *value = f->type != FIELD_OBJECT ? simple_value(arena, f->type, NULL) : NULL;

        if (value != NULL)
            json_set(arena, object, f->name, value);
    }
    return object;
}

static struct json *
element_of(struct arena *arena, const struct field *f)
{
    return f->element == FIELD_OBJECT ? simple_object(arena, f->of)
                                      : simple_value(arena, f->element, NULL);
}

/* The list or map at the path, with `item` in it, and all objects around it. */
static struct json *
wrap(struct arena *arena, const struct path *path, struct json *item)
{
    const struct field *f = path->field;
    struct json *value = item, *around;

    if (f->type == FIELD_LIST) {
        value = json_array(arena);
        json_append(arena, value, item);
    } else if (f->type == FIELD_MAP) {
        value = json_object(arena);
        json_set(arena, value, "x", item);
    }
    if (path->up == NULL) {
        around = json_object(arena);
    } else {
        around = path->up->field->of != NULL ? simple_object(arena, path->up->field->of)
                                             : json_object(arena);
    }
    json_set(arena, around, f->name, value);
    return path->up != NULL ? wrap(arena, path->up, around) : around;
}

static void
add_name(const struct path *path, struct strbuf *out)
{
    if (path->up != NULL)
        add_name(path->up, out);
    strbuf_printf(out, ".%s", path->field->name);
}

static void
grow(struct tour *t, const struct path *path)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *item = element_of(arena, path->field);
    struct json *tree, *meta;
    unsigned which = 0;

    if (item == NULL)
        return;
    tree = wrap(arena, path, item);
    meta = json_make_object(arena, tree, "metadata");
    json_set_string(arena, tree, "apiVersion", t->kind->api_version);
    json_set_string(arena, tree, "kind", t->kind->name);
    json_set_string(arena, meta, "name", "x");
    json_set_string(arena, meta, "uid", "x");
    json_set_string(arena, meta, "resourceVersion", "1");
    /* Lists and maps are counted with the objects that contain them. */
    for (const struct path *p = path; p != NULL; p = p->up)
        which += p == path ? 1 : p->field->type == FIELD_OBJECT ? 1 : 2;
    t->n++;
    for (int differs = 0; differs < 2; differs++) {
        if (!growth_is_steep(t->kind, tree, which, ITEMS, differs))
            continue;
        strbuf_printf(&t->steep, " %s", t->kind->name);
        add_name(path, &t->steep);
        strbuf_printf(&t->steep, "%s", differs ? "" : " (all alike)");
    }
}

static void
visit(struct tour *t, const struct record *record, const struct path *up, unsigned depth)
{
    if (depth > DEPTH_MAX || map_put(t->seen, record->name, t) != NULL)
        return;
    for (unsigned i = 0; i < record->n_fields; i++) {
        struct path path = {.up = up, .field = &record->fields[i]};

        if (path.field->type == FIELD_LIST || path.field->type == FIELD_MAP)
            grow(t, &path);
        if (path.field->of != NULL)
            visit(t, path.field->of, &path, depth + 1);
    }
}

START_TEST(a_list_of_twice_the_length_costs_about_twice)
{
    struct tour t = {.seen = map_new(), .steep = STRBUF_INIT};

    for (unsigned i = 0; i < n_kinds; i++) {
        t.kind = kinds[i];
        visit(&t, t.kind->record, NULL, 0);
    }

    ck_assert_uint_gt(t.n, 100);
    ck_assert_msg(t.steep.length == 0, "steep:%s", t.steep.text);

    map_free(t.seen);
    strbuf_fini(&t.steep);
}
END_TEST

SUITE("cost", a_list_of_twice_the_length_costs_about_twice)
