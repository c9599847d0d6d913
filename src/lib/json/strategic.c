/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/strategic.h"

#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define DELETE_PREFIX "$deleteFromPrimitiveList/"
#define ORDER_PREFIX  "$setElementOrder/"

struct strategic {
    struct arena *arena;
    struct error *err;
};

static int merge_object(struct strategic *s,
                        const struct record *record,
                        struct json *target,
                        const struct json *patch);

static bool
is_directive(const char *name)
{
    return strcmp(name, "$patch") == 0 || strcmp(name, "$retainKeys") == 0
           || strncmp(name, DELETE_PREFIX, strlen(DELETE_PREFIX)) == 0
           || strncmp(name, ORDER_PREFIX, strlen(ORDER_PREFIX)) == 0;
}

static bool
says(const struct json *patch, const char *directive)
{
    const char *text = json_get_text(patch, "$patch");

    return text != NULL && strcmp(text, directive) == 0;
}

/* A copy without directives and without nulls, all the way down. What says
 * that it is to be deleted is not there in a list that merges; in an atomic one
 * it is an element like any other.
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
                json_set(s->arena,
                         copy,
                         m->name,
                         copy_without(s, m->value, is_atomic));
        }
        return copy;
    }
    if (json_is(value, JSON_ARRAY)) {
        copy = json_array(s->arena);
        for (uint32_t i = 0; i < value->count; i++)
            if (is_atomic || !says(value->items[i], "delete"))
                json_append(s->arena,
                            copy,
                            copy_without(s, value->items[i], is_atomic));
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

/* -1: it is not there. */
static int64_t
find(const struct json *list, const struct json *item, const char *key)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        if (is_same(list->items[i], item, key))
            return i;
    return -1;
}

/* Where elements stood before the merge, as upstream sees it when an order is
 * asked for: its merge edits in place, so what it removed leaves its place to
 * those behind, and what it added takes the places at the end that are free.
 */
struct places {
    struct json *seen; /* as many as there were */
    uint32_t count;    /* in use */
    bool is_edited;
};

static void
places_remove(struct places *p, uint32_t at)
{
    if (!p->is_edited || at >= p->count)
        return;
    for (uint32_t i = at; i + 1 < p->count; i++)
        p->seen->items[i] = p->seen->items[i + 1];
    p->count--;
}

static void
places_add(struct places *p, struct json *item)
{
    if (p->is_edited && p->count < p->seen->count)
        p->seen->items[p->count++] = item;
}

/* Puts the list in order: the elements that `order` names as it names them,
 * the others where they stood among them. Two may have the same key: ports of
 * one number.
 */
static void
sort_list(struct strategic *s,
          struct json *list,
          const struct json *before,
          const struct json *order,
          const char *key)
{
    struct json *named = json_array(s->arena);
    struct json *others = json_array(s->arena);
    uint32_t i = 0, k = 0;

    for (uint32_t n = 0; n < json_count(order); n++) {
        if (find(named, order->items[n], key) >= 0)
            continue;
        for (uint32_t m = 0; m < list->count; m++)
            if (is_same(list->items[m], order->items[n], key))
                json_append(s->arena, named, list->items[m]);
    }
    for (uint32_t n = 0; n < list->count; n++)
        if (find(named, list->items[n], key) < 0)
            json_append(s->arena, others, list->items[n]);
    for (uint32_t n = 0; n < list->count; n++) {
        bool takes_other = i < others->count;

        if (takes_other && k < named->count) {
            int64_t other_at = find(before, others->items[i], key);
            int64_t named_at = find(before, named->items[k], key);

            takes_other = other_at >= 0 && named_at >= 0 && other_at < named_at;
        }
        list->items[n] = takes_other ? others->items[i++] : named->items[k++];
    }
}

static int
no_key(struct strategic *s, const char *name, const char *key)
{
    return error_set(s->err,
                     -EINVAL,
                     "an element of '%s' does not contain declared merge "
                     "key: %s",
                     name,
                     key);
}

static int
merge_element(struct strategic *s,
              const struct field *field,
              struct json *list,
              const struct json *item,
              struct places *places)
{
    const char *key = key_of(field);
    int64_t at;

    if (!json_is(item, JSON_OBJECT) || json_get(item, key) == NULL)
        return no_key(s, field->name, key);
    at = find(list, item, key);
    if (says(item, "delete")) {
        while (at >= 0) {
            json_remove_at(list, (uint32_t)at);
            places_remove(places, (uint32_t)at);
            at = find(list, item, key);
        }
        return 0;
    }
    if (at < 0) {
        json_append(s->arena, list, plain_copy(s, item));
        places_add(places, list->items[list->count - 1]);
        return 0;
    }
    return merge_object(s, field->of, list->items[at], item);
}

/* The list without its directive, when one says that it replaces all. */
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

/* What the patch lists stands in the order that it asks for. */
static int
check_order(struct strategic *s,
            const struct json *patch,
            const struct json *order,
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
            return error_set(s->err,
                             -EINVAL,
                             "the order in the patch list does not match its "
                             "$setElementOrder list");
    }
    return 0;
}

/* Deletions come first, whatever their place. */
static int
merge_elements(struct strategic *s,
               const struct field *field,
               struct json *list,
               const struct json *patch,
               struct places *places)
{
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < json_count(patch); i++) {
            const struct json *item = patch->items[i];
            int r;

            if (says(item, "delete") != (round == 0))
                continue;
            r = merge_element(s, field, list, item, places);
            if (r < 0)
                return r;
        }
    return 0;
}

static int
merge_list(struct strategic *s,
           const struct field *field,
           struct json *target,
           const struct json *patch,
           const struct json *order)
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
        json_set(s->arena,
                 target,
                 field->name,
                 copy_without(s, patch, field->patch == MERGE_ATOMIC));
        list = json_get(target, field->name);
        patch = NULL;
    } else if (patch != NULL && find_replacement(s, patch) != NULL) {
        json_set(s->arena,
                 target,
                 field->name,
                 json_dup(s->arena, find_replacement(s, patch)));
        return 0;
    }
    places.seen =
        json_dup(s->arena,
                 json_is(list, JSON_ARRAY) ? list : json_array(s->arena));
    places.count = places.seen->count;
    places.is_edited = order != NULL;
    if (by_key) {
        r = merge_elements(s, field, list, patch, &places);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < json_count(patch) && !by_key; i++)
        if (find(list, patch->items[i], NULL) < 0)
            json_append(s->arena, list, json_dup(s->arena, patch->items[i]));
    if (json_is(list, JSON_ARRAY) && field->patch != MERGE_ATOMIC
        && (order != NULL || patch != NULL))
        sort_list(s, list, places.seen, order != NULL ? order : patch, key);
    return 0;
}

static void
delete_values(struct json *list, const struct json *values)
{
    for (uint32_t i = json_count(list); i-- > 0;)
        if (find(values, list->items[i], NULL) >= 0)
            json_remove_at(list, i);
}

static void
retain_keys(struct json *target, const struct json *keys)
{
    for (uint32_t i = target->count; i-- > 0;) {
        bool kept = false;

        for (uint32_t k = 0; k < json_count(keys); k++) {
            const char *key = json_text(keys->items[k]);

            kept |= key != NULL && strcmp(key, target->members[i].name) == 0;
        }
        if (!kept)
            json_remove(target, target->members[i].name);
    }
}

/* The patch may only set what it retains. */
static int
check_retained(struct strategic *s,
               const struct json *patch,
               const struct json *keys)
{
    for (uint32_t i = 0; i < patch->count; i++) {
        const struct json_member *m = &patch->members[i];
        bool found = is_directive(m->name) || m->value->type == JSON_NULL;

        for (uint32_t k = 0; k < json_count(keys) && !found; k++) {
            const char *key = json_text(keys->items[k]);

            found = key != NULL && strcmp(key, m->name) == 0;
        }
        if (!found)
            return error_set(s->err,
                             -EINVAL,
                             "invalid patch format of retainKeys");
    }
    return 0;
}

static int
merge_member(struct strategic *s,
             const struct field *field,
             struct json *target,
             const char *name,
             const struct json *value,
             const struct json *order)
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

/* The member of the patch whose name is the prefix and the field's. */
static const struct json *
find_directive(struct strategic *s,
               const struct json *patch,
               const char *prefix,
               const char *name)
{
    return json_get(patch, arena_printf(s->arena, "%s%s", prefix, name));
}

/* Orders and deletions of lists that the patch does not list themselves. */
static int
apply_directive(struct strategic *s,
                const struct record *record,
                struct json *target,
                const struct json *patch,
                const struct json_member *m)
{
    const char *name;

    if (strncmp(m->name, DELETE_PREFIX, strlen(DELETE_PREFIX)) == 0) {
        name = m->name + strlen(DELETE_PREFIX);
        delete_values(json_get(target, name), m->value);
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
merge_object(struct strategic *s,
             const struct record *record,
             struct json *target,
             const struct json *patch)
{
    const struct json *retained = json_get(patch, "$retainKeys");
    const char *directive = json_get_text(patch, "$patch");
    int r;

    if (directive != NULL && !says(patch, "replace") && !says(patch, "delete"))
        return error_set(s->err, -EINVAL, "unknown patch type: %s", directive);
    if (directive != NULL) {
        while (target->count > 0)
            json_remove(target, target->members[0].name);
        if (says(patch, "delete"))
            return 0;
    }
    if (retained != NULL) {
        r = check_retained(s, patch, retained);
        if (r < 0)
            return r;
        retain_keys(target, retained);
    }
    for (uint32_t i = 0; i < patch->count; i++) {
        const struct json_member *m = &patch->members[i];

        if (!is_directive(m->name))
            continue;
        r = apply_directive(s, record, target, patch, m);
        if (r < 0)
            return r;
    }
    for (uint32_t i = 0; i < patch->count; i++) {
        const struct json_member *m = &patch->members[i];

        if (is_directive(m->name))
            continue;
        r = merge_member(s,
                         record != NULL ? record_find(record, m->name) : NULL,
                         target,
                         m->name,
                         m->value,
                         find_directive(s, patch, ORDER_PREFIX, m->name));
        if (r < 0)
            return r;
    }
    return 0;
}

int
strategic_merge(struct arena *arena,
                const struct record *record,
                struct json *target,
                const struct json *patch,
                struct error *err)
{
    struct strategic s = {.arena = arena, .err = err};

    return merge_object(&s, record, target, patch);
}
