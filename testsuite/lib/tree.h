/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - JSON in tests, without a backslash before every quote
 *
 * tree("{'a':[1]}") is the tree of {"a":[1]}; printed() goes back.
 */
#pragma once

#include <check.h>
#include <string.h>

#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static inline struct json *
tree(struct arena *arena, const char *text)
{
    char *copy = arena_strdup(arena, text);
    struct error err = {0};
    struct json *v;

    for (char *p = copy; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    v = json_parse(arena, copy, strlen(copy), NULL, &err);
    ck_assert_msg(v != NULL, "%s: %s", text, err.text);
    return v;
}

static inline const char *
printed(struct arena *arena, const struct json *value)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    char *text;

    json_print(value, &out);
    text = arena_strndup(arena, out.text, out.length);
    for (char *p = text; *p != '\0'; p++)
        if (*p == '"')
            *p = '\'';
    return text;
}

/* The tree, normalized and with the kind's defaults. */
static inline struct json *
object_tree_of(struct arena *arena, const struct kind *kind, const char *text)
{
    struct json *v = tree(arena, text);
    struct error err = {0};

    ck_assert_msg(record_normalize(kind->record, arena, v, NULL, &err) == 0, "%s: %s", text,
                  err.text);
    if (kind->set_defaults != NULL)
        kind->set_defaults(arena, v);
    return v;
}

/* The validation errors as "field reason, field reason"; "" for none. */
static inline const char *
complaints(struct arena *arena,
           void (*validate)(struct causes *causes, const struct json *object,
                            const struct json *old),
           const struct json *object, const struct json *old)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct causes c;

    causes_init(&c, arena);
    validate(&c, object, old);
    for (unsigned i = 0; i < c.count; i++)
        strbuf_printf(&out, "%s%s %s", i > 0 ? ", " : "", c.items[i].field,
                      cause_reason_name(c.items[i].reason));
    return arena_strndup(arena, out.text, out.length);
}
