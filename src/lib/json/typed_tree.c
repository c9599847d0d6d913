/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/typed_tree.h"

#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/json/tree_shape.h"

#define DEPTH_MAX 256

/* --- the fields of a tree ------------------------------------------------- */

static void
add_places(struct arena *arena, const struct tree_shape *shape, const struct json *value,
           struct field_set *set)
{
    const struct json *fits = tree_shape_fit(shape, value);

    if (shape->form == SHAPE_LEAF) {
        set->is_member = true;
        return;
    }
    for (uint32_t i = 0; i < json_count(fits); i++) {
        struct tree_shape inner;
        struct field_set *child;
        const struct json *item;

        if (tree_shape_is_list(shape)) {
            item = fits->items[i];
            inner = tree_shape_of_element(shape);
            child = field_set_make(arena, set, tree_element_of_item(arena, shape, item));
            child->is_member = true;
        } else {
            const char *name = fits->members[i].name;

            item = fits->members[i].value;
            inner = tree_shape_of_member(shape, name);
            child = field_set_make(arena, set, tree_element_of_member(arena, name));
            if (item->type == JSON_NULL || (item->type == JSON_OBJECT && item->count == 0)
                || tree_shape_field(shape, name) == NULL)
                child->is_member = true;
        }
        add_places(arena, &inner, item, child);
    }
}

/* Removes elements without members below them: those of empty lists. */
static struct field_set *
pruned(struct arena *arena, const struct field_set *set)
{
    return field_set_union(arena, set, NULL);
}

struct field_set *
typed_tree_places(struct arena *arena, const struct record *record, const struct json *tree)
{
    struct tree_shape shape = {.form = SHAPE_STRUCT, .of = record};
    struct field_set *set = field_set_new(arena);

    add_places(arena, &shape, tree, set);
    return pruned(arena, set);
}

/* --- differences ---------------------------------------------------------- */

struct tree_comparison {
    struct arena *arena;
    struct typed_difference *difference;
    const char *path[DEPTH_MAX];
    unsigned depth;
};

static void compare(struct tree_comparison *c, const struct tree_shape *shape,
                    const struct json *was, const struct json *is);

static void
note(struct tree_comparison *c, struct field_set *set)
{
    field_set_insert(c->arena, set, c->path, c->depth);
}

static void
note_leaf(struct tree_comparison *c, const struct json *was, const struct json *is)
{
    if (was == NULL)
        note(c, c->difference->added);
    else if (is == NULL)
        note(c, c->difference->removed);
    else if (!json_equals(was, is))
        note(c, c->difference->modified);
}

static void
compare_child(struct tree_comparison *c, const struct tree_shape *shape, const char *element,
              const struct json *was, const struct json *is)
{
    if (c->depth == DEPTH_MAX)
        return;
    c->path[c->depth++] = element;
    compare(c, shape, was, is);
    c->depth--;
}

static void
compare_members(struct tree_comparison *c, const struct tree_shape *shape, const struct json *was,
                const struct json *is)
{
    for (uint32_t i = 0; i < json_count(was); i++) {
        const char *name = was->members[i].name;
        struct tree_shape inner = tree_shape_of_member(shape, name);

        compare_child(c, &inner, tree_element_of_member(c->arena, name), was->members[i].value,
                      json_get(is, name));
    }
    for (uint32_t i = 0; i < json_count(is); i++) {
        const char *name = is->members[i].name;
        struct tree_shape inner = tree_shape_of_member(shape, name);

        if (json_get(was, name) == NULL)
            compare_child(c, &inner, tree_element_of_member(c->arena, name), NULL,
                          is->members[i].value);
    }
}

static void
compare_items(struct tree_comparison *c, const struct tree_shape *shape, const struct json *was,
              const struct json *is)
{
    struct tree_shape inner = tree_shape_of_element(shape);
    struct tree_elements before = tree_elements_of(c->arena, shape, was);
    struct tree_elements after = tree_elements_of(c->arena, shape, is);

    for (uint32_t i = 0; i < before.count; i++) {
        int64_t at = tree_elements_find(&after, before.names[i]);

        compare_child(c, &inner, before.names[i], was->items[i], at >= 0 ? is->items[at] : NULL);
    }
    for (uint32_t i = 0; i < after.count; i++)
        if (tree_elements_find(&before, after.names[i]) < 0)
            compare_child(c, &inner, after.names[i], NULL, is->items[i]);
}

static void
compare(struct tree_comparison *c, const struct tree_shape *shape, const struct json *was,
        const struct json *is)
{
    const struct json *old_fits = tree_shape_fit(shape, was);
    const struct json *fits = tree_shape_fit(shape, is);

    if (shape->form == SHAPE_LEAF || (json_count(old_fits) == 0 && json_count(fits) == 0)) {
        note_leaf(c, was, is);
        return;
    }
    if (tree_shape_is_list(shape))
        compare_items(c, shape, old_fits, fits);
    else
        compare_members(c, shape, old_fits, fits);
    if (was == NULL)
        note(c, c->difference->added);
    else if (is == NULL)
        note(c, c->difference->removed);
}

void
typed_tree_compare(struct arena *arena, const struct record *record, const struct json *was,
                   const struct json *is, struct typed_difference *ret_difference)
{
    struct tree_shape shape = {.form = SHAPE_STRUCT, .of = record};
    struct tree_comparison c = {.arena = arena, .difference = ret_difference};

    ret_difference->removed = field_set_new(arena);
    ret_difference->modified = field_set_new(arena);
    ret_difference->added = field_set_new(arena);
    compare(&c, &shape, was, is);
}

/* --- merging -------------------------------------------------------------- */

static struct json *lay(struct arena *arena, const struct tree_shape *shape,
                        const struct json *below, const struct json *above);

static struct json *
lay_members(struct arena *arena, const struct tree_shape *shape, const struct json *below,
            const struct json *above)
{
    struct json *result = json_object(arena);

    for (uint32_t i = 0; i < json_count(below); i++) {
        const char *name = below->members[i].name;
        struct tree_shape inner = tree_shape_of_member(shape, name);

        json_set(arena, result, name,
                 lay(arena, &inner, below->members[i].value, json_get(above, name)));
    }
    for (uint32_t i = 0; i < json_count(above); i++)
        if (json_get(below, above->members[i].name) == NULL)
            json_set(arena, result, above->members[i].name,
                     json_dup(arena, above->members[i].value));
    return result;
}

/* Two lists being merged, with the path elements of their items. */
struct list_merge {
    struct arena *arena;
    const struct tree_shape *shape;
    const struct json *below;
    const struct json *above;
    struct tree_elements low;
    struct tree_elements high;
    bool *is_done; /* by item of `above` */
    struct json *result;
};

/* Appends item `k` of `above`, merged over the item of `below` that it matches.
 */
static void
take_above(struct list_merge *m, uint32_t k)
{
    struct tree_shape inner = tree_shape_of_element(m->shape);
    int64_t at = tree_elements_find(&m->low, m->high.names[k]);

    m->is_done[k] = true;
    json_append(m->arena, m->result,
                lay(m->arena, &inner, at >= 0 ? m->below->items[at] : NULL, m->above->items[k]));
}

/* The next item from `k` on that both lists have; the count when there is none.
 */
static uint32_t
next_shared(const struct list_merge *m, uint32_t k)
{
    while (k < m->high.count && tree_elements_find(&m->low, m->high.names[k]) < 0)
        k++;
    return k;
}

/* Items that only `below` has keep their position between the items that both
 * lists have, which are in the order of `above`.
 */
static struct json *
lay_items(struct arena *arena, const struct tree_shape *shape, const struct json *below,
          const struct json *above)
{
    uint32_t n_below = json_count(below), n_above = json_count(above);
    struct list_merge m = {
        .arena = arena,
        .shape = shape,
        .below = below,
        .above = above,
        .low = tree_elements_of(arena, shape, below),
        .high = tree_elements_of(arena, shape, above),
        .is_done = arena_new_array(arena, bool, n_above + 1),
        .result = json_array(arena),
    };
    uint32_t shared = next_shared(&m, 0);

    for (uint32_t i = 0, k = 0; i < n_below || k < n_above;) {
        const char *element = i < n_below ? m.low.names[i] : NULL;
        int64_t at = element != NULL ? tree_elements_find(&m.high, element) : -1;

        if (element != NULL && at < 0) {
            json_append(arena, m.result, json_dup(arena, below->items[i++]));
            continue;
        }
        if (element != NULL && (m.is_done[at] || at != shared)) {
            i++; /* it is taken at its position in `above` */
            continue;
        }
        if (k == n_above)
            break;
        if (k == shared) {
            shared = next_shared(&m, k + 1);
            i += at == k;
        }
        take_above(&m, k++);
    }
    return m.result;
}

static struct json *
lay(struct arena *arena, const struct tree_shape *shape, const struct json *below,
    const struct json *above)
{
    const struct json *low = tree_shape_fit(shape, below);
    const struct json *high = tree_shape_fit(shape, above);

    if (above == NULL)
        return json_dup(arena, below);
    if (shape->form == SHAPE_LEAF || (json_count(low) == 0 && json_count(high) == 0))
        return json_dup(arena, above);
    if (tree_shape_is_list(shape))
        return lay_items(arena, shape, low, high);
    return lay_members(arena, shape, low, high);
}

struct json *
typed_tree_merge(struct arena *arena, const struct record *record, const struct json *below,
                 const struct json *above)
{
    struct tree_shape shape = {.form = SHAPE_STRUCT, .of = record};

    return lay(arena, &shape, below, above);
}

/* --- removing fields ------------------------------------------------------ */

static struct json *
cut(struct arena *arena, const struct tree_shape *shape, const struct json *value,
    const struct field_set *places)
{
    struct json *result;

    if (shape->form == SHAPE_LEAF || tree_shape_fit(shape, value) == NULL || value->count == 0)
        return json_dup(arena, value);
    result = tree_shape_is_list(shape) ? json_array(arena) : json_object(arena);
    for (uint32_t i = 0; i < value->count; i++) {
        bool is_list = tree_shape_is_list(shape);
        const char *name = is_list ? NULL : value->members[i].name;
        const struct json *part = is_list ? value->items[i] : value->members[i].value;
        struct tree_shape inner =
            is_list ? tree_shape_of_element(shape) : tree_shape_of_member(shape, name);
        const struct field_set *below =
            field_set_find(places, is_list ? tree_element_of_item(arena, shape, part)
                                           : tree_element_of_member(arena, name));

        if (below != NULL && below->is_member)
            continue;
        if (is_list)
            json_append(arena, result,
                        below != NULL ? cut(arena, &inner, part, below) : json_dup(arena, part));
        else
            json_set(arena, result, name,
                     below != NULL ? cut(arena, &inner, part, below) : json_dup(arena, part));
    }
    return result->count > 0 ? result : json_null(arena);
}

struct json *
typed_tree_remove(struct arena *arena, const struct record *record, const struct json *tree,
                  const struct field_set *places)
{
    struct tree_shape shape = {.form = SHAPE_STRUCT, .of = record};
    struct json *result = cut(arena, &shape, tree, places);

    return json_is(result, JSON_OBJECT) ? result : json_object(arena);
}

/* --- adding the structs on the path --------------------------------------- */

static struct field_set *
complete(struct arena *arena, const struct tree_shape *shape, const struct field_set *set)
{
    struct field_set *result = field_set_new(arena);

    result->element = set->element;
    result->is_member = set->is_member;
    for (unsigned i = 0; i < set->count; i++) {
        const struct field_set *child = set->children[i];
        bool is_name = child->element[0] == 'f';
        struct tree_shape inner = is_name ? tree_shape_of_member(shape, child->element + 2)
                                          : tree_shape_of_element(shape);
        struct field_set *made = field_set_make(arena, result, child->element);

        *made = *complete(arena, &inner, child);
        if (child->count > 0 && is_name && tree_shape_field(shape, child->element + 2) != NULL)
            made->is_member = true;
    }
    return result;
}

struct field_set *
typed_tree_complete(struct arena *arena, const struct record *record, const struct field_set *set)
{
    struct tree_shape shape = {.form = SHAPE_STRUCT, .of = record};

    return complete(arena, &shape, set);
}
