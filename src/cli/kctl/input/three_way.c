/* SPDX-License-Identifier: Apache-2.0 */
/* kctl apply must undo what the last file set and this one does not, without touching what
 * others have set. The object alone cannot tell the two apart, so the last file is kept in an
 * annotation, as kubectl keeps it, and both can be used in turn.
 */
#include "cli/kctl/input/three_way.h"

#include <string.h>

#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* The file without the annotation, which it contains if kctl get wrote it. */
static struct json *
bare(struct arena *arena, const struct json *file)
{
    struct json *copy = json_dup(arena, file);

    json_remove(json_get_path(copy, "metadata.annotations"), THREE_WAY_ANNOTATION);
    return copy;
}

struct json *
three_way_annotated(struct arena *arena, const struct json *file)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *copy = bare(arena, file);
    struct json *at;

    json_print(copy, &text);
    strbuf_add_char(&text, '\n'); /* as kubectl does */
    at = json_make_object(arena, copy, "metadata");
    at = json_make_object(arena, at, "annotations");
    json_set_string(arena, at, THREE_WAY_ANNOTATION, text.text);
    return copy;
}

/* The patch that adds to `current` everything in `wanted`. */
static struct json *
additions(struct arena *arena, const struct json *current, const struct json *wanted)
{
    struct json *patch = json_object(arena);

    for (uint32_t i = 0; i < wanted->count; i++) {
        const struct json_member *m = &wanted->members[i];
        const struct json *there = json_get(current, m->name);

        if (there != NULL && json_equals(there, m->value))
            continue;
        if (json_is(there, JSON_OBJECT) && json_is(m->value, JSON_OBJECT)) {
            struct json *inner = additions(arena, there, m->value);

            if (json_count(inner) > 0)
                json_set(arena, patch, m->name, inner);
        } else if (there != NULL || !json_is(m->value, JSON_NULL)) {
            json_set(arena, patch, m->name, m->value);
        }
    }
    return patch;
}

/* Sets null for members that `current` and the previous file have, but the new
 * file does not.
 */
static void
add_removals(struct arena *arena, struct json *patch, const struct json *current,
             const struct json *before, const struct json *wanted)
{
    for (uint32_t i = 0; i < before->count; i++) {
        const struct json_member *m = &before->members[i];
        const struct json *there = json_get(current, m->name);
        const struct json *now = json_get(wanted, m->name);

        if (there == NULL)
            continue;
        if (now == NULL)
            json_set(arena, patch, m->name, json_null(arena));
        else if (json_is(there, JSON_OBJECT) && json_is(now, JSON_OBJECT)
                 && json_is(m->value, JSON_OBJECT)) {
            struct json *inner = json_get(patch, m->name);
            const bool is_new = inner == NULL;

            if (is_new)
                inner = json_object(arena);
            add_removals(arena, inner, there, m->value, now);
            if (is_new && json_count(inner) > 0)
                json_set(arena, patch, m->name, inner);
        }
    }
}

struct json *
three_way_patch(struct arena *arena, const struct json *current, const struct json *file)
{
    const struct json *annotations = json_get_path(current, "metadata.annotations");
    const char *text = json_get_text(annotations, THREE_WAY_ANNOTATION);
    struct json *wanted = three_way_annotated(arena, file);
    struct json *patch = additions(arena, current, wanted);
    const struct json *before = NULL;

    if (text != NULL)
        before = json_parse(arena, text, strlen(text), NULL, NULL);
    if (json_is(before, JSON_OBJECT))
        add_removals(arena, patch, current, before, bare(arena, file));
    return json_count(patch) > 0 ? patch : NULL;
}
