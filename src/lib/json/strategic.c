/* SPDX-License-Identifier: Apache-2.0 */
/* The rules are what upstream's code does, which is more than its documentation says: it edits
 * lists in place, and the order of the result follows from that. So positions are tracked as
 * if elements moved, and a patch that contradicts itself is refused in upstream's words
 * (decision 69).
 */
#include "lib/json/strategic.h"

#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/item_index.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define DELETE_PREFIX "$deleteFromPrimitiveList/"
#define ORDER_PREFIX  "$setElementOrder/"

struct strategic {
    struct arena *arena;
    struct error *err;
};

static int merge_object(struct strategic *s, const struct record *record, struct json *target,
                        const struct json *patch);

static bool
is_directive(const char *name)
{
    return name[0] == '$'
           && (strcmp(name, "$patch") == 0 || strcmp(name, "$retainKeys") == 0
               || strncmp(name, DELETE_PREFIX, strlen(DELETE_PREFIX)) == 0
               || strncmp(name, ORDER_PREFIX, strlen(ORDER_PREFIX)) == 0);
}

static bool
says(const struct json *patch, const char *directive)
{
    const char *text = json_get_text(patch, "$patch");

    return text != NULL && strcmp(text, directive) == 0;
}

/* A deep copy without directives and nulls. An element with the directive to
 * delete it is left out of a list that merges; in an atomic list it is an
 * ordinary element.
 */
static struct json *
copy_without(struct strategic *s, const struct json *value, bool is_atomic)
{
    struct json *copy;

    if (json_is(value, JSON_OBJECT)) {
        copy = json_object(s->arena);
        for (uint32_t i = 0; i < value->count; i++) {
            const struct json_member *m = &value->members[i];

            if (!is_directive(m->name) && m->value->type != JSON_NULL)
                json_set(s->arena, copy, m->name, copy_without(s, m->value, is_atomic));
        }
        return copy;
    }
    if (json_is(value, JSON_ARRAY)) {
        copy = json_array(s->arena);
        for (uint32_t i = 0; i < value->count; i++)
            if (is_atomic || !says(value->items[i], "delete"))
                json_append(s->arena, copy, copy_without(s, value->items[i], is_atomic));
        return copy;
    }
    return json_dup(s->arena, value);
}

static struct json *
plain_copy(struct strategic *s, const struct json *value)
{
    return copy_without(s, value, false);
}

static const char *
key_of(const struct field *field)
{
    return field->patch_key != NULL ? field->patch_key : field->merge_keys;
}

static bool
is_same(const struct json *a, const struct json *b, const char *key)
{
    if (key == NULL)
        return json_equals(a, b);
    a = json_get(a, key);
    b = json_get(b, key);
    return a != NULL && b != NULL && json_equals(a, b);
}

/* The positions of elements before the merge, as upstream sees them when the
 * patch gives an order: upstream's merge edits in place, so elements behind a
 * removed one move up, and added elements take the positions that became free
 * at the end.
 */
struct places {
    struct json *seen; /* as many as the list had */
    uint32_t count;    /* number in use */
    bool is_edited;
};

static void
places_remove(struct places *p, const bool *marks)
{
    uint32_t n = 0;

    for (uint32_t i = 0; p->is_edited && i < p->count; i++)
        if (!marks[i])
            p->seen->items[n++] = p->seen->items[i];
    if (p->is_edited)
        p->count = n;
}

static void
places_add(struct places *p, struct json *item)
{
    if (p->is_edited && p->count < p->seen->count)
        p->seen->items[p->count++] = item;
}

/* Sorts the list: the elements named in `order` in that order, and the others
 * at their earlier positions among them. Two elements may have the same key:
 * ports with one number.
 */
static void
sort_list(struct strategic *s, struct json *list, const struct json *before,
          const struct json *order, const char *key)
{
    struct json *named = json_array(s->arena);
    struct json *others = json_array(s->arena);
    bool *is_named = arena_new_array(s->arena, bool, list->count + 1);
    struct item_index places, stood;
    uint32_t i = 0, k = 0;

    item_index_init(&places, s->arena, list, key, 0);
    item_index_init(&stood, s->arena, before, key, 0);
    for (uint32_t n = 0; n < json_count(order); n++) {
        int64_t at = item_index_find(&places, order->items[n]);

        for (; at >= 0 && !is_named[at]; at = item_index_next(&places, at)) {
            json_append(s->arena, named, list->items[at]);
            is_named[at] = true;
        }
    }
    for (uint32_t n = 0; n < list->count; n++)
        if (!is_named[n])
            json_append(s->arena, others, list->items[n]);
    for (uint32_t n = 0; n < list->count; n++) {
        bool takes_other = i < others->count;

        if (takes_other && k < named->count) {
            int64_t other_at = item_index_find(&stood, others->items[i]);
            int64_t named_at = item_index_find(&stood, named->items[k]);

            takes_other = other_at >= 0 && named_at >= 0 && other_at < named_at;
        }
        list->items[n] = takes_other ? others->items[i++] : named->items[k++];
    }
}

static int
no_key(struct strategic *s, const char *name, const char *key)
{
    return error_set(s->err, -EINVAL,
                     "an element of '%s' does not contain declared merge "
                     "key: %s",
                     name, key);
}

static int
check_key(struct strategic *s, const struct field *field, const struct json *item)
{
    const char *key = key_of(field);

    return json_is(item, JSON_OBJECT) && json_get(item, key) != NULL ? 0
                                                                     : no_key(s, field->name, key);
}

/* The list without its directive, if a directive says that it replaces the
 * whole list.
 */
static const struct json *
find_replacement(struct strategic *s, const struct json *patch)
{
    struct json *rest;
    bool found = false;

    for (uint32_t i = 0; i < patch->count; i++)
        found |= says(patch->items[i], "replace");
    if (!found)
        return NULL;
    rest = json_array(s->arena);
    for (uint32_t i = 0; i < patch->count; i++)
        if (!says(patch->items[i], "replace"))
            json_append(s->arena, rest, plain_copy(s, patch->items[i]));
    return rest;
}

/* The items that the patch lists must be in the order that it specifies. */
static int
check_order(struct strategic *s, const struct json *patch, const struct json *order,
            const char *key)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < json_count(patch); i++) {
        const struct json *item = patch->items[i];

        if (key != NULL && json_get(item, "$patch") != NULL)
            continue;
        while (at < json_count(order) && !is_same(order->items[at], item, key))
            at++;
        if (at++ == json_count(order))
            return error_set(s->err, -EINVAL,
                             "the order in the patch list does not match its "
                             "$setElementOrder list");
    }
    return 0;
}

/* Removes all elements with a directive to delete them, in one pass. */
static int
delete_elements(struct strategic *s, const struct field *field, struct json *list,
                const struct json *patch, struct places *places)
{
    bool *marks = arena_new_array(s->arena, bool, json_count(list) + 1);
    struct item_index stands;
    bool is_any = false;

    item_index_init(&stands, s->arena, list, key_of(field), 0);
    for (uint32_t i = 0; i < json_count(patch); i++) {
        const struct json *item = patch->items[i];
        int64_t at;
        int r;

        if (!says(item, "delete"))
            continue;
        r = check_key(s, field, item);
        if (r < 0)
            return r;
        at = item_index_find(&stands, item);
        for (; at >= 0 && !marks[at]; at = item_index_next(&stands, at))
            is_any = marks[at] = true;
    }
    if (is_any) {
        places_remove(places, marks);
        json_remove_marked(list, marks);
    }
    return 0;
}

/* Deletions are applied first, wherever they are in the patch. */
static int
merge_elements(struct strategic *s, const struct field *field, struct json *list,
               const struct json *patch, struct places *places)
{
    struct item_index stands;
    int r = delete_elements(s, field, list, patch, places);

    item_index_init(&stands, s->arena, list, key_of(field), json_count(patch));
    for (uint32_t i = 0; r == 0 && i < json_count(patch); i++) {
        const struct json *item = patch->items[i];
        int64_t at;

        if (says(item, "delete"))
            continue;
        r = check_key(s, field, item);
        if (r < 0)
            break;
        at = item_index_find(&stands, item);
        if (at >= 0) {
            r = merge_object(s, field->of, list->items[at], item);
            continue;
        }
        json_append(s->arena, list, plain_copy(s, item));
        item_index_add(&stands);
        places_add(places, list->items[list->count - 1]);
    }
    return r;
}

/* Appends the values of the patch that the list does not have. */
static void
add_values(struct strategic *s, struct json *list, const struct json *patch)
{
    struct item_index stands;

    item_index_init(&stands, s->arena, list, NULL, json_count(patch));
    for (uint32_t i = 0; i < json_count(patch); i++) {
        if (item_index_find(&stands, patch->items[i]) >= 0)
            continue;
        json_append(s->arena, list, json_dup(s->arena, patch->items[i]));
        item_index_add(&stands);
    }
}

static int
merge_list(struct strategic *s, const struct field *field, struct json *target,
           const struct json *patch, const struct json *order)
{
    struct json *list = json_get(target, field->name);
    bool by_key = field->patch == MERGE_BY_KEY && field->of != NULL;
    const char *key = by_key ? key_of(field) : NULL;
    struct places places;
    int r;

    if (order != NULL) {
        r = check_order(s, patch, order, key);
        if (r < 0)
            return r;
    }
    if (patch != NULL && field->patch == MERGE_ATOMIC && list != NULL) {
        json_set(s->arena, target, field->name, json_dup(s->arena, patch));
        return 0;
    }
    if (patch != NULL && (field->patch == MERGE_ATOMIC || list == NULL)) {
        json_set(s->arena, target, field->name,
                 copy_without(s, patch, field->patch == MERGE_ATOMIC));
        list = json_get(target, field->name);
        patch = NULL;
    } else if (patch != NULL && find_replacement(s, patch) != NULL) {
        json_set(s->arena, target, field->name, json_dup(s->arena, find_replacement(s, patch)));
        return 0;
    }
    places.seen = json_dup(s->arena, json_is(list, JSON_ARRAY) ? list : json_array(s->arena));
    places.count = places.seen->count;
    places.is_edited = order != NULL;
    if (by_key && json_count(patch) > 0) {
        r = merge_elements(s, field, list, patch, &places);
        if (r < 0)
            return r;
    }
    if (!by_key && json_count(patch) > 0)
        add_values(s, list, patch);
    if (json_is(list, JSON_ARRAY) && field->patch != MERGE_ATOMIC
        && (order != NULL || patch != NULL))
        sort_list(s, list, places.seen, order != NULL ? order : patch, key);
    return 0;
}

static void
delete_values(struct strategic *s, struct json *list, const struct json *values)
{
    bool *marks = arena_new_array(s->arena, bool, json_count(list) + 1);
    struct item_index unwanted;

    item_index_init(&unwanted, s->arena, values, NULL, 0);
    for (uint32_t i = 0; json_is(list, JSON_ARRAY) && i < list->count; i++)
        marks[i] = item_index_find(&unwanted, list->items[i]) >= 0;
    if (json_is(list, JSON_ARRAY))
        json_remove_marked(list, marks);
}

static bool
holds(const struct item_index *names, const char *name)
{
    struct json text = {
        .type = JSON_STRING,
        .count = (uint32_t)strlen(name),
        .text = name,
    };

    return item_index_find(names, &text) >= 0;
}

static void
retain_keys(struct strategic *s, struct json *target, const struct item_index *retained)
{
    bool *marks = arena_new_array(s->arena, bool, target->count + 1);

    for (uint32_t i = 0; i < target->count; i++)
        marks[i] = !holds(retained, target->members[i].name);
    json_remove_marked(target, marks);
}

/* The patch may only set members that it retains. */
static int
check_retained(struct strategic *s, const struct json *patch, const struct item_index *retained)
{
    for (uint32_t i = 0; i < patch->count; i++) {
        const struct json_member *m = &patch->members[i];

        if (!is_directive(m->name) && m->value->type != JSON_NULL && !holds(retained, m->name))
            return error_set(s->err, -EINVAL, "invalid patch format of retainKeys");
    }
    return 0;
}

static int
merge_member(struct strategic *s, const struct field *field, struct json *target, const char *name,
             const struct json *value, const struct json *order)
{
    struct json *is = json_get(target, name);
    bool is_map = field == NULL || field->type != FIELD_OBJECT;

    if (value->type == JSON_NULL) {
        json_remove(target, name);
        return 0;
    }
    if (field != NULL && field->type == FIELD_LIST && value->type == JSON_ARRAY)
        return merge_list(s, field, target, value, order);
    if (value->type == JSON_OBJECT && json_is(is, JSON_OBJECT)
        && (field == NULL || field->patch != MERGE_REPLACE))
        return merge_object(s, is_map ? NULL : field->of, is, value);
    json_set(s->arena, target, name, plain_copy(s, value));
    return 0;
}

/* The member of the patch named prefix + name. */
static const struct json *
find_directive(struct strategic *s, const struct json *patch, const char *prefix, const char *name)
{
    return json_get(patch, arena_concat(s->arena, prefix, name));
}

/* Applies orders and deletions of lists that the patch itself does not contain.
 */
static int
apply_directive(struct strategic *s, const struct record *record, struct json *target,
                const struct json *patch, const struct json_member *m)
{
    const char *name;

    if (strncmp(m->name, DELETE_PREFIX, strlen(DELETE_PREFIX)) == 0) {
        name = m->name + strlen(DELETE_PREFIX);
        delete_values(s, json_get(target, name), m->value);
        return 0;
    }
    if (strncmp(m->name, ORDER_PREFIX, strlen(ORDER_PREFIX)) == 0) {
        const struct field *field;

        name = m->name + strlen(ORDER_PREFIX);
        field = record != NULL ? record_find(record, name) : NULL;
        if (field != NULL && json_get(patch, name) == NULL)
            return merge_list(s, field, target, NULL, m->value);
    }
    return 0;
}

static int
merge_object(struct strategic *s, const struct record *record, struct json *target,
             const struct json *patch)
{
    const struct json *retained = json_get(patch, "$retainKeys");
    const char *directive = json_get_text(patch, "$patch");
    bool has_directives = false;
    int r;

    if (directive != NULL && !says(patch, "replace") && !says(patch, "delete"))
        return error_set(s->err, -EINVAL, "unknown patch type: %s", directive);
    if (directive != NULL) {
        json_clear(target);
        if (says(patch, "delete"))
            return 0;
    }
    if (retained != NULL) {
        struct item_index names;

        item_index_init(&names, s->arena, retained, NULL, 0);
        r = check_retained(s, patch, &names);
        if (r < 0)
            return r;
        retain_keys(s, target, &names);
    }
    for (uint32_t i = 0; i < patch->count; i++) {
        const struct json_member *m = &patch->members[i];

        if (!is_directive(m->name))
            continue;
        has_directives = true;
        r = apply_directive(s, record, target, patch, m);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < patch->count; i++) {
        const struct json_member *m = &patch->members[i];

        if (is_directive(m->name))
            continue;
        r = merge_member(s, record != NULL ? record_find(record, m->name) : NULL, target, m->name,
                         m->value,
                         has_directives ? find_directive(s, patch, ORDER_PREFIX, m->name) : NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

int
strategic_merge(struct arena *arena, const struct record *record, struct json *target,
                const struct json *patch, struct error *err)
{
    struct strategic s = {.arena = arena, .err = err};

    return merge_object(&s, record, target, patch);
}
