/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/merge.h"

#include "lib/base/arena.h"
#include "lib/json/json.h"

/* Removes the members that are null in the patch, in one pass. */
static void
remove_nulls(struct arena *arena, struct json *target, const struct json *patch)
{
    bool *marks = arena_new_array(arena, bool, target->count + 1);

    for (uint32_t i = 0; i < target->count; i++) {
        const struct json *value = json_get(patch, target->members[i].name);

        marks[i] = json_is(value, JSON_NULL);
    }
    json_remove_marked(target, marks);
}

struct json *
json_merge(struct arena *arena, struct json *target, const struct json *patch)
{
    unsigned nulls = 0;

    if (patch->type != JSON_OBJECT)
        return json_dup(arena, patch);
    if (!json_is(target, JSON_OBJECT))
        target = json_object(arena);
    for (uint32_t i = 0; i < patch->count; i++) {
        const struct json_member *m = &patch->members[i];

        if (m->value->type == JSON_NULL)
            nulls++;
        else
            json_set(arena, target, m->name,
                     json_merge(arena, json_get(target, m->name), m->value));
    }
    if (nulls > 0)
        remove_nulls(arena, target, patch);
    return target;
}

static void
diff_members(struct arena *arena, const struct json *from, const struct json *to,
             struct json *patch)
{
    for (uint32_t i = 0; i < to->count; i++) {
        const struct json_member *m = &to->members[i];
        struct json *old = json_get(from, m->name);
        struct json *part;

        if (m->value->type == JSON_NULL)
            continue;
        part = json_merge_diff(arena, old, m->value);
        if (part != NULL)
            json_set(arena, patch, m->name, part);
    }
    for (uint32_t i = 0; i < from->count; i++) {
        const char *name = from->members[i].name;
        const struct json *now = json_get(to, name);

        if (now == NULL || now->type == JSON_NULL)
            json_set(arena, patch, name, json_null(arena));
    }
}

struct json *
json_merge_diff(struct arena *arena, const struct json *from, const struct json *to)
{
    struct json *patch;

    if (json_equals(from, to))
        return NULL;
    if (!json_is(from, JSON_OBJECT) || !json_is(to, JSON_OBJECT))
        return json_dup(arena, to);
    patch = json_object(arena);
    diff_members(arena, from, to, patch);
    return patch->count > 0 ? patch : NULL;
}

static void
prune(struct json *value, bool is_in_list)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < json_count(value); i++) {
        if (value->type == JSON_ARRAY) {
            prune(value->items[i], true);
            continue;
        }
        if (is_in_list && value->members[i].value->type == JSON_NULL)
            continue;
        prune(value->members[i].value, is_in_list);
        value->members[kept++] = value->members[i];
    }
    if (json_is(value, JSON_OBJECT) && kept < value->count)
        json_keep_first(value, kept);
}

void
json_merge_prune(struct json *patch)
{
    prune(patch, false);
}
