/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/lib/difference.h"

#include <string.h>

#include "lib/api/object/causes.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct json *
causes_tree(struct arena *arena, const struct causes *c)
{
    struct json *list = json_array(arena);

    for (unsigned i = 0; i < c->count; i++) {
        struct json *one = json_object(arena);

        json_set_string(arena, one, "field", c->items[i].field);
        json_set_string(arena, one, "reason", cause_reason_name(c->items[i].reason));
        json_set_string(arena, one, "message", c->items[i].message);
        json_append(arena, list, one);
    }
    return list;
}

static const char *
reason_of(const struct json *cause)
{
    const char *reason = json_get_text(cause, "reason");

    return reason != NULL ? reason : json_get_text(cause, "type");
}

static bool
holds(const struct json *list, const struct json *cause)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(json_get_text(json_at(list, i), "field"), json_get_text(cause, "field")) == 0
            && strcmp(reason_of(json_at(list, i)), reason_of(cause)) == 0)
            return true;
    return false;
}

static bool
same_causes(const struct json *a, const struct json *b)
{
    for (uint32_t i = 0; i < json_count(a); i++)
        if (!holds(b, json_at(a, i)))
            return false;
    for (uint32_t i = 0; i < json_count(b); i++)
        if (!holds(a, json_at(b, i)))
            return false;
    return true;
}

static void
add_causes(const struct json *list, struct strbuf *out)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        strbuf_printf(out, " (%s %s)", json_get_text(json_at(list, i), "field"),
                      reason_of(json_at(list, i)));
}

bool
find_other_causes(const struct json *is, const struct json *wanted, struct strbuf *words)
{
    if (same_causes(is, wanted))
        return false;
    add_causes(is, words);
    strbuf_add_text(words, " but wanted");
    add_causes(wanted, words);
    return true;
}

/* `path` is the place in the tree, and at the end the message. */
bool
find_difference(const struct json *is, const struct json *wanted, struct strbuf *path)
{
    size_t length = path->length;

    if (json_equals(is, wanted))
        return false;
    if (json_is(is, JSON_OBJECT) && json_is(wanted, JSON_OBJECT)) {
        for (uint32_t i = 0; i < is->count; i++) {
            strbuf_printf(path, ".%s", is->members[i].name);
            if (find_difference(is->members[i].value, json_get(wanted, is->members[i].name), path))
                return true;
            strbuf_truncate(path, length);
        }
        for (uint32_t i = 0; i < wanted->count; i++)
            if (json_get(is, wanted->members[i].name) == NULL) {
                strbuf_printf(path, ".%s is missing", wanted->members[i].name);
                return true;
            }
    }
    if (json_is(is, JSON_ARRAY) && json_is(wanted, JSON_ARRAY) && is->count == wanted->count)
        for (uint32_t i = 0; i < is->count; i++) {
            strbuf_printf(path, "[%u]", i);
            if (find_difference(is->items[i], wanted->items[i], path))
                return true;
            strbuf_truncate(path, length);
        }
    strbuf_add_text(path, " is ");
    json_print(is, path);
    strbuf_add_text(path, ", wanted ");
    if (wanted != NULL)
        json_print(wanted, path);
    else
        strbuf_add_text(path, "nothing");
    return true;
}
