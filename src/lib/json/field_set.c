/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/field_set.h"

#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SELF "."

struct field_set *
field_set_new(struct arena *arena)
{
    struct field_set *set = arena_alloc(arena, sizeof(*set));

    memset(set, 0, sizeof(*set));
    return set;
}

/* The index of the element, or where it should be inserted. */
static unsigned
place_of(const struct field_set *set, const char *element, bool *ret_found)
{
    unsigned low = 0, high = set->count;

    *ret_found = false;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        int order = strcmp(set->children[middle]->element, element);

        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void
put(struct arena *arena, struct field_set *set, unsigned at, struct field_set *child)
{
    if (set->count == set->capacity) {
        unsigned capacity = set->capacity ? set->capacity * 2 : 4;
        struct field_set **longer = arena_new_array(arena, struct field_set *, capacity);

        if (set->count > 0)
            memcpy(longer, set->children, set->count * sizeof(*longer));
        set->children = longer;
        set->capacity = capacity;
    }
    memmove(&set->children[at + 1], &set->children[at],
            (set->count - at) * sizeof(struct field_set *));
    set->children[at] = child;
    set->count++;
}

struct field_set *
field_set_make(struct arena *arena, struct field_set *set, const char *element)
{
    bool found;
    unsigned at = place_of(set, element, &found);
    struct field_set *child;

    if (found)
        return set->children[at];
    child = field_set_new(arena);
    child->element = arena_strdup(arena, element);
    put(arena, set, at, child);
    return child;
}

void
field_set_insert(struct arena *arena, struct field_set *set, const char *const *path, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        set = field_set_make(arena, set, path[i]);
    set->is_member = true;
}

const struct field_set *
field_set_find(const struct field_set *set, const char *element)
{
    bool found;
    unsigned at;

    if (set == NULL)
        return NULL;
    at = place_of(set, element, &found);
    return found ? set->children[at] : NULL;
}

bool
field_set_is_empty(const struct field_set *set)
{
    return set == NULL || (!set->is_member && set->count == 0);
}

/* --- combining ------------------------------------------------------------ */

enum set_operation {
    UNION,
    INTERSECTION,
    DIFFERENCE,
    WITHOUT,
};

static struct field_set *combine(struct arena *arena, enum set_operation operation,
                                 const struct field_set *a, const struct field_set *b);

static void
add_child(struct arena *arena, struct field_set *set, const char *element, struct field_set *child)
{
    if (field_set_is_empty(child))
        return;
    child->element = element;
    put(arena, set, set->count, child);
}

static bool
is_in(enum set_operation operation, bool in_a, bool in_b)
{
    switch (operation) {
    case UNION:
        return in_a || in_b;
    case INTERSECTION:
        return in_a && in_b;
    default:
        return in_a && !in_b;
    }
}

/* Both lists are sorted, and so is the result. */
static void
combine_children(struct arena *arena, enum set_operation operation, const struct field_set *a,
                 const struct field_set *b, struct field_set *result)
{
    unsigned n_a = a != NULL ? a->count : 0;
    unsigned n_b = b != NULL ? b->count : 0;

    for (unsigned i = 0, k = 0; i < n_a || k < n_b;) {
        const struct field_set *x = i < n_a ? a->children[i] : NULL;
        const struct field_set *y = k < n_b ? b->children[k] : NULL;
        int order = x == NULL ? 1 : y == NULL ? -1 : strcmp(x->element, y->element);

        i += order <= 0;
        k += order >= 0;
        add_child(arena, result, order <= 0 ? x->element : y->element,
                  combine(arena, operation, order <= 0 ? x : NULL, order >= 0 ? y : NULL));
    }
}

static struct field_set *
combine(struct arena *arena, enum set_operation operation, const struct field_set *a,
        const struct field_set *b)
{
    struct field_set *result = field_set_new(arena);
    bool in_a = a != NULL && a->is_member;
    bool in_b = b != NULL && b->is_member;

    if (operation == WITHOUT && in_b)
        return result;
    result->is_member = is_in(operation, in_a, in_b);
    combine_children(arena, operation, a, b, result);
    return result;
}

struct field_set *
field_set_union(struct arena *arena, const struct field_set *a, const struct field_set *b)
{
    return combine(arena, UNION, a, b);
}

struct field_set *
field_set_intersection(struct arena *arena, const struct field_set *a, const struct field_set *b)
{
    return combine(arena, INTERSECTION, a, b);
}

struct field_set *
field_set_difference(struct arena *arena, const struct field_set *a, const struct field_set *b)
{
    return combine(arena, DIFFERENCE, a, b);
}

struct field_set *
field_set_without(struct arena *arena, const struct field_set *a, const struct field_set *b)
{
    return combine(arena, WITHOUT, a, b);
}

/* --- FieldsV1 ------------------------------------------------------------- */

static int
decode(struct arena *arena, const struct json *fields, struct field_set *set, struct error *err)
{
    if (!json_is(fields, JSON_OBJECT))
        return error_set(err, -EINVAL, "fieldsV1: not an object");
    for (uint32_t i = 0; i < fields->count; i++) {
        const char *name = fields->members[i].name;
        struct field_set *child;
        int r;

        if (strcmp(name, SELF) == 0) {
            set->is_member = true;
            continue;
        }
        if (name[0] == '\0' || strchr("fkvi", name[0]) == NULL || name[1] != ':')
            return error_set(err, -EINVAL, "fieldsV1: '%s' is not a path element", name);
        child = field_set_make(arena, set, name);
        r = decode(arena, fields->members[i].value, child, err);
        if (r < 0)
            return r;
        if (child->count == 0)
            child->is_member = true;
    }
    return 0;
}

int
field_set_decode(struct arena *arena, const struct json *fields, struct field_set **ret_set,
                 struct error *err)
{
    struct field_set *set = field_set_new(arena);
    int r = decode(arena, fields, set, err);

    if (r < 0)
        return r;
    *ret_set = set;
    return 0;
}

struct json *
field_set_encode(struct arena *arena, const struct field_set *set)
{
    struct json *fields = json_object(arena);

    if (set->is_member && set->count > 0)
        json_set(arena, fields, SELF, json_object(arena));
    for (unsigned i = 0; i < set->count; i++)
        json_set(arena, fields, set->children[i]->element,
                 field_set_encode(arena, set->children[i]));
    return fields;
}

/* --- for people ----------------------------------------------------------- */

/* `k:{"name":"a","port":1}` as `[name="a",port=1]`. */
static void
add_keys(struct strbuf *path, const char *text)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *keys = json_parse(arena, text, strlen(text), NULL, NULL);

    strbuf_add_char(path, '[');
    for (uint32_t i = 0; i < json_count(keys); i++) {
        if (i > 0)
            strbuf_add_char(path, ',');
        strbuf_add_text(path, keys->members[i].name);
        strbuf_add_char(path, '=');
        json_print(keys->members[i].value, path);
    }
    strbuf_add_char(path, ']');
}

static void
add_element(struct strbuf *path, const char *element)
{
    const char *rest = element + 2;

    switch (element[0]) {
    case 'f':
        strbuf_printf(path, ".%s", rest);
        return;
    case 'k':
        add_keys(path, rest);
        return;
    case 'v':
        strbuf_printf(path, "[=%s]", rest);
        return;
    default:
        strbuf_printf(path, "[%s]", rest);
    }
}

static void
visit_below(const struct field_set *set, struct strbuf *path, field_set_visit_fn *visit,
            void *context)
{
    if (set->is_member)
        visit(path->text, context);
    for (unsigned i = 0; i < set->count; i++) {
        size_t length = path->length;

        add_element(path, set->children[i]->element);
        visit_below(set->children[i], path, visit, context);
        strbuf_truncate(path, length);
    }
}

void
field_set_visit(const struct field_set *set, field_set_visit_fn *visit, void *context)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;

    strbuf_add_text(&path, "");
    visit_below(set, &path, visit, context);
}
