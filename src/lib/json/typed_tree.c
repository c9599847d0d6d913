/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/typed_tree.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define DEPTH_MAX 256

/* The kinds of values that ownership tells apart. */
struct shape {
    enum {
        LEAF,
        STRUCT,
        MAP,
        SET,
        LIST, /* of structs that keys tell apart */
    } form;
    const struct record *of; /* STRUCT; the elements of LIST, perhaps of MAP */
    const char *keys;        /* LIST: "containerPort,protocol" */
};

static struct shape
shape_of_record(const struct record *record)
{
    if (record == NULL || record->is_atomic)
        return (struct shape){.form = LEAF};
    return (struct shape){.form = STRUCT, .of = record};
}

static struct shape
shape_of_field(const struct field *f)
{
    if (f == NULL || f->flags & FIELD_TREE)
        return (struct shape){.form = LEAF};
    if (f->type == FIELD_OBJECT)
        return shape_of_record(f->of);
    if (f->type == FIELD_MAP && f->merge == MERGE_BY_KEY)
        return (struct shape){.form = MAP, .of = f->of};
    if (f->type == FIELD_LIST && f->merge == MERGE_SET)
        return (struct shape){.form = SET};
    if (f->type == FIELD_LIST && f->merge == MERGE_BY_KEY && f->of != NULL)
        return (struct shape){
            .form = LIST,
            .of = f->of,
            .keys = f->merge_keys,
        };
    return (struct shape){.form = LEAF};
}

static const struct field *
find_field(const struct shape *shape, const char *name)
{
    return shape->form == STRUCT ? record_find(shape->of, name) : NULL;
}

static struct shape
shape_of_member(const struct shape *shape, const char *name)
{
    if (shape->form == MAP)
        return shape_of_record(shape->of);
    return shape_of_field(find_field(shape, name));
}

static struct shape
shape_of_element(const struct shape *shape)
{
    if (shape->form == LIST)
        return (struct shape){.form = STRUCT, .of = shape->of};
    return (struct shape){.form = LEAF};
}

static bool
is_list_shape(const struct shape *shape)
{
    return shape->form == SET || shape->form == LIST;
}

/* The value as far as it is what the shape wants; else as good as empty. */
static const struct json *
fitting(const struct shape *shape, const struct json *value)
{
    enum json_type wanted = is_list_shape(shape) ? JSON_ARRAY : JSON_OBJECT;

    return json_is(value, wanted) ? value : NULL;
}

/* --- elements of paths ---------------------------------------------------- */

static const char *
element_of_member(struct arena *arena, const char *name)
{
    return arena_printf(arena, "f:%s", name);
}

/* Its value, or what stands for it where it is absent. */
static void
print_key(struct strbuf *text,
          const struct record *of,
          const struct json *item,
          const char *key)
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

static const char *
element_of_item(struct arena *arena,
                const struct shape *shape,
                const struct json *item)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *keys = shape->keys;

    if (shape->form == SET) {
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

/* Those of a list, and where each stands. */
struct elements {
    const char **names; /* in the list's order */
    struct stand {
        const char *name;
        uint32_t at;
    } * sorted;
    uint32_t count;
};

static int
compare_stands(const void *a, const void *b)
{
    const struct stand *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static struct elements
elements_of(struct arena *arena,
            const struct shape *shape,
            const struct json *list)
{
    struct elements e = {.count = json_count(list)};

    e.names = arena_new_array(arena, const char *, e.count + 1);
    e.sorted = arena_new_array(arena, struct stand, e.count + 1);
    for (uint32_t i = 0; i < e.count; i++) {
        e.names[i] = element_of_item(arena, shape, list->items[i]);
        e.sorted[i] = (struct stand){e.names[i], i};
    }
    if (e.count > 1)
        qsort(e.sorted, e.count, sizeof(*e.sorted), compare_stands);
    return e;
}

/* The first that stands for the element, or -1. */
static int64_t
place_among(const struct elements *e, const char *element)
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

/* --- the places that a tree fills ----------------------------------------- */

static void
add_places(struct arena *arena,
           const struct shape *shape,
           const struct json *value,
           struct field_set *set)
{
    const struct json *fits = fitting(shape, value);

    if (shape->form == LEAF) {
        set->is_member = true;
        return;
    }
    for (uint32_t i = 0; i < json_count(fits); i++) {
        struct shape inner;
        struct field_set *child;
        const struct json *item;

        if (is_list_shape(shape)) {
            item = fits->items[i];
            inner = shape_of_element(shape);
            child =
                field_set_make(arena, set, element_of_item(arena, shape, item));
            child->is_member = true;
        } else {
            const char *name = fits->members[i].name;

            item = fits->members[i].value;
            inner = shape_of_member(shape, name);
            child = field_set_make(arena, set, element_of_member(arena, name));
            if (item->type == JSON_NULL
                || (item->type == JSON_OBJECT && item->count == 0)
                || find_field(shape, name) == NULL)
                child->is_member = true;
        }
        add_places(arena, &inner, item, child);
    }
}

/* Elements that lead nowhere: of empty lists. */
static struct field_set *
pruned(struct arena *arena, const struct field_set *set)
{
    return field_set_union(arena, set, NULL);
}

struct field_set *
typed_tree_places(struct arena *arena,
                  const struct record *record,
                  const struct json *tree)
{
    struct shape shape = {.form = STRUCT, .of = record};
    struct field_set *set = field_set_new(arena);

    add_places(arena, &shape, tree, set);
    return pruned(arena, set);
}

/* --- how two differ ------------------------------------------------------- */

struct comparison {
    struct arena *arena;
    struct typed_difference *difference;
    const char *path[DEPTH_MAX];
    unsigned depth;
};

static void compare(struct comparison *c,
                    const struct shape *shape,
                    const struct json *was,
                    const struct json *is);

static void
note(struct comparison *c, struct field_set *set)
{
    field_set_insert(c->arena, set, c->path, c->depth);
}

static void
note_leaf(struct comparison *c, const struct json *was, const struct json *is)
{
    if (was == NULL)
        note(c, c->difference->added);
    else if (is == NULL)
        note(c, c->difference->removed);
    else if (!json_equals(was, is))
        note(c, c->difference->modified);
}

static void
compare_child(struct comparison *c,
              const struct shape *shape,
              const char *element,
              const struct json *was,
              const struct json *is)
{
    if (c->depth == DEPTH_MAX)
        return;
    c->path[c->depth++] = element;
    compare(c, shape, was, is);
    c->depth--;
}

static void
compare_members(struct comparison *c,
                const struct shape *shape,
                const struct json *was,
                const struct json *is)
{
    for (uint32_t i = 0; i < json_count(was); i++) {
        const char *name = was->members[i].name;
        struct shape inner = shape_of_member(shape, name);

        compare_child(c,
                      &inner,
                      element_of_member(c->arena, name),
                      was->members[i].value,
                      json_get(is, name));
    }
    for (uint32_t i = 0; i < json_count(is); i++) {
        const char *name = is->members[i].name;
        struct shape inner = shape_of_member(shape, name);

        if (json_get(was, name) == NULL)
            compare_child(c,
                          &inner,
                          element_of_member(c->arena, name),
                          NULL,
                          is->members[i].value);
    }
}

static void
compare_items(struct comparison *c,
              const struct shape *shape,
              const struct json *was,
              const struct json *is)
{
    struct shape inner = shape_of_element(shape);
    struct elements before = elements_of(c->arena, shape, was);
    struct elements after = elements_of(c->arena, shape, is);

    for (uint32_t i = 0; i < before.count; i++) {
        int64_t at = place_among(&after, before.names[i]);

        compare_child(c,
                      &inner,
                      before.names[i],
                      was->items[i],
                      at >= 0 ? is->items[at] : NULL);
    }
    for (uint32_t i = 0; i < after.count; i++)
        if (place_among(&before, after.names[i]) < 0)
            compare_child(c, &inner, after.names[i], NULL, is->items[i]);
}

static void
compare(struct comparison *c,
        const struct shape *shape,
        const struct json *was,
        const struct json *is)
{
    const struct json *old_fits = fitting(shape, was);
    const struct json *fits = fitting(shape, is);

    if (shape->form == LEAF
        || (json_count(old_fits) == 0 && json_count(fits) == 0)) {
        note_leaf(c, was, is);
        return;
    }
    if (is_list_shape(shape))
        compare_items(c, shape, old_fits, fits);
    else
        compare_members(c, shape, old_fits, fits);
    if (was == NULL)
        note(c, c->difference->added);
    else if (is == NULL)
        note(c, c->difference->removed);
}

void
typed_tree_compare(struct arena *arena,
                   const struct record *record,
                   const struct json *was,
                   const struct json *is,
                   struct typed_difference *ret_difference)
{
    struct shape shape = {.form = STRUCT, .of = record};
    struct comparison c = {.arena = arena, .difference = ret_difference};

    ret_difference->removed = field_set_new(arena);
    ret_difference->modified = field_set_new(arena);
    ret_difference->added = field_set_new(arena);
    compare(&c, &shape, was, is);
}

/* --- one over the other --------------------------------------------------- */

static struct json *lay(struct arena *arena,
                        const struct shape *shape,
                        const struct json *below,
                        const struct json *above);

static struct json *
lay_members(struct arena *arena,
            const struct shape *shape,
            const struct json *below,
            const struct json *above)
{
    struct json *result = json_object(arena);

    for (uint32_t i = 0; i < json_count(below); i++) {
        const char *name = below->members[i].name;
        struct shape inner = shape_of_member(shape, name);

        json_set(
            arena,
            result,
            name,
            lay(arena, &inner, below->members[i].value, json_get(above, name)));
    }
    for (uint32_t i = 0; i < json_count(above); i++)
        if (json_get(below, above->members[i].name) == NULL)
            json_set(arena,
                     result,
                     above->members[i].name,
                     json_dup(arena, above->members[i].value));
    return result;
}

/* Two lists on their way to one, with the elements of their items. */
struct weave {
    struct arena *arena;
    const struct shape *shape;
    const struct json *below;
    const struct json *above;
    struct elements low;
    struct elements high;
    bool *is_done; /* of `above` */
    struct json *result;
};

/* Item `k` of `above`, over the one that it means. */
static void
take_above(struct weave *w, uint32_t k)
{
    struct shape inner = shape_of_element(w->shape);
    int64_t at = place_among(&w->low, w->high.names[k]);

    w->is_done[k] = true;
    json_append(w->arena,
                w->result,
                lay(w->arena,
                    &inner,
                    at >= 0 ? w->below->items[at] : NULL,
                    w->above->items[k]));
}

/* The next that both have, from `k` on; as many as there are when none is. */
static uint32_t
next_shared(const struct weave *w, uint32_t k)
{
    while (k < w->high.count && place_among(&w->low, w->high.names[k]) < 0)
        k++;
    return k;
}

/* Items that only `below` has keep their place between those that both have,
 * which come in the order of `above`.
 */
static struct json *
lay_items(struct arena *arena,
          const struct shape *shape,
          const struct json *below,
          const struct json *above)
{
    uint32_t n_below = json_count(below), n_above = json_count(above);
    struct weave w = {
        .arena = arena,
        .shape = shape,
        .below = below,
        .above = above,
        .low = elements_of(arena, shape, below),
        .high = elements_of(arena, shape, above),
        .is_done = arena_new_array(arena, bool, n_above + 1),
        .result = json_array(arena),
    };
    uint32_t shared = next_shared(&w, 0);

    for (uint32_t i = 0, k = 0; i < n_below || k < n_above;) {
        const char *element = i < n_below ? w.low.names[i] : NULL;
        int64_t at = element != NULL ? place_among(&w.high, element) : -1;

        if (element != NULL && at < 0) {
            json_append(arena, w.result, json_dup(arena, below->items[i++]));
            continue;
        }
        if (element != NULL && (w.is_done[at] || at != shared)) {
            i++; /* comes where `above` has it */
            continue;
        }
        if (k == n_above)
            break;
        if (k == shared) {
            shared = next_shared(&w, k + 1);
            i += at == k;
        }
        take_above(&w, k++);
    }
    return w.result;
}

static struct json *
lay(struct arena *arena,
    const struct shape *shape,
    const struct json *below,
    const struct json *above)
{
    const struct json *low = fitting(shape, below);
    const struct json *high = fitting(shape, above);

    if (above == NULL)
        return json_dup(arena, below);
    if (shape->form == LEAF || (json_count(low) == 0 && json_count(high) == 0))
        return json_dup(arena, above);
    if (is_list_shape(shape))
        return lay_items(arena, shape, low, high);
    return lay_members(arena, shape, low, high);
}

struct json *
typed_tree_merge(struct arena *arena,
                 const struct record *record,
                 const struct json *below,
                 const struct json *above)
{
    struct shape shape = {.form = STRUCT, .of = record};

    return lay(arena, &shape, below, above);
}

/* --- without some places -------------------------------------------------- */

static struct json *
cut(struct arena *arena,
    const struct shape *shape,
    const struct json *value,
    const struct field_set *places)
{
    struct json *result;

    if (shape->form == LEAF || fitting(shape, value) == NULL
        || value->count == 0)
        return json_dup(arena, value);
    result = is_list_shape(shape) ? json_array(arena) : json_object(arena);
    for (uint32_t i = 0; i < value->count; i++) {
        bool is_list = is_list_shape(shape);
        const char *name = is_list ? NULL : value->members[i].name;
        const struct json *part =
            is_list ? value->items[i] : value->members[i].value;
        struct shape inner =
            is_list ? shape_of_element(shape) : shape_of_member(shape, name);
        const struct field_set *below =
            field_set_find(places,
                           is_list ? element_of_item(arena, shape, part)
                                   : element_of_member(arena, name));

        if (below != NULL && below->is_member)
            continue;
        if (is_list)
            json_append(arena,
                        result,
                        below != NULL ? cut(arena, &inner, part, below)
                                      : json_dup(arena, part));
        else
            json_set(arena,
                     result,
                     name,
                     below != NULL ? cut(arena, &inner, part, below)
                                   : json_dup(arena, part));
    }
    return result->count > 0 ? result : json_null(arena);
}

struct json *
typed_tree_remove(struct arena *arena,
                  const struct record *record,
                  const struct json *tree,
                  const struct field_set *places)
{
    struct shape shape = {.form = STRUCT, .of = record};
    struct json *result = cut(arena, &shape, tree, places);

    return json_is(result, JSON_OBJECT) ? result : json_object(arena);
}

/* --- the way to the places ------------------------------------------------ */

static struct field_set *
complete(struct arena *arena,
         const struct shape *shape,
         const struct field_set *set)
{
    struct field_set *result = field_set_new(arena);

    result->element = set->element;
    result->is_member = set->is_member;
    for (unsigned i = 0; i < set->count; i++) {
        const struct field_set *child = set->children[i];
        bool is_name = child->element[0] == 'f';
        struct shape inner = is_name
                                 ? shape_of_member(shape, child->element + 2)
                                 : shape_of_element(shape);
        struct field_set *made = field_set_make(arena, result, child->element);

        *made = *complete(arena, &inner, child);
        if (child->count > 0 && is_name
            && find_field(shape, child->element + 2) != NULL)
            made->is_member = true;
    }
    return result;
}

struct field_set *
typed_tree_complete(struct arena *arena,
                    const struct record *record,
                    const struct field_set *set)
{
    struct shape shape = {.form = STRUCT, .of = record};

    return complete(arena, &shape, set);
}
