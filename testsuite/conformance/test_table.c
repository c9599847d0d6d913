/* SPDX-License-Identifier: Apache-2.0 */
/* test_table.c - the cells of Tables as upstream's printers fill them
 *
 * The recorded lists contain the whole objects beside their cells. Columns are
 * compared by name, type, format and priority; their descriptions are Kiln's.
 */
#include <ctype.h>
#include <inttypes.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/http/table_render.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/view.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/strbuf.h"
#include "lib/json/record.h"
#include "testsuite/lib/vectors.h"

static const struct principal reader = {.type = PRINCIPAL_ADMINISTRATOR};

static void
compare_columns(struct vectors *v, struct arena *arena, const char *theme,
                const struct json *expected, const struct json *actual)
{
    static const char *const members[] = {"name", "type", "format", "priority"};

    (void)arena;
    if (json_count(expected) != json_count(actual)) {
        vectors_fail(v, theme, "%u columns, expected %u", json_count(actual), json_count(expected));
        return;
    }
    for (uint32_t i = 0; i < json_count(expected); i++)
        for (unsigned k = 0; k < ARRAY_SIZE(members); k++)
            if (!json_equals(json_get(json_at(expected, i), members[k]),
                             json_get(json_at(actual, i), members[k]))) {
                vectors_fail(v, theme, "column %s has another %s",
                             json_get_text(json_at(expected, i), "name"), members[k]);
                return;
            }
    vectors_pass(v, theme);
}

/* The recording was within a second of "now": 45s and 46s are equal. */
static bool
is_near(const struct json *a, const struct json *b)
{
    char *end_a, *end_b;
    long x, y;

    if (!json_is(a, JSON_STRING) || !json_is(b, JSON_STRING) || !isdigit((unsigned char)a->text[0]))
        return false;
    x = strtol(a->text, &end_a, 10);
    y = strtol(b->text, &end_b, 10);
    return strcmp(end_a, "s") == 0 && strcmp(end_b, "s") == 0 && labs(x - y) <= 1;
}

static bool
are_same_cells(const struct json *expected, const struct json *actual)
{
    if (json_count(expected) != json_count(actual))
        return false;
    for (uint32_t i = 0; i < json_count(expected); i++)
        if (!json_equals(json_at(expected, i), json_at(actual, i))
            && !is_near(json_at(expected, i), json_at(actual, i)))
            return false;
    return true;
}

static void
print(const struct json *value, struct strbuf *out)
{
    if (value != NULL)
        json_print(value, out);
}

static void
compare_row(struct vectors *v, struct arena *arena, const char *theme, const struct view *view,
            const struct kind *kind, const struct json *row)
{
    CLEANUP(frame_unrefp) struct frame *frame = frame_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf was = STRBUF_INIT;
    const struct object *object;
    const struct json *made;

    print(json_get(row, "object"), &text);
    if (object_parse(kind, text.text, text.length, &object, NULL) < 0) {
        vectors_fail(v, theme, "unreadable: %.200s", text.text);
        return;
    }
    table_render_row(frame, view, object);
    frame_add(frame, "}");
    object_unref(object);
    strbuf_truncate(&text, 0);
    frame_copy(frame, &text);
    made = json_parse(arena, text.text, text.length, NULL, NULL);
    print(json_get(row, "cells"), &was);
    if (!are_same_cells(json_get(row, "cells"), json_get(made, "cells")))
        vectors_fail(v, theme, "%.500s, expected %.500s", text.text, was.text);
    else if (!json_equals(json_get(made, "conditions"), json_get(row, "conditions"))
             && json_get(row, "conditions") != NULL)
        vectors_fail(v, theme, "other conditions: %.500s", text.text);
    else
        vectors_pass(v, theme);
}

static const struct kind *
find_kind(const char *resource)
{
    const char *dot = strchr(resource, '.');
    size_t length = dot != NULL ? (size_t)(dot - resource) : strlen(resource);

    for (unsigned i = 0; i < n_kinds; i++)
        if (strncmp(kinds[i]->plural, resource, length) == 0 && kinds[i]->plural[length] == '\0'
            && (dot == NULL || strcmp(kinds[i]->group, dot + 1) == 0))
            return kinds[i];
    return NULL;
}

static void
check(struct vectors *v, struct arena *arena, const struct json *line)
{
    const char *resource = json_get_text(line, "resource");
    const char *path = json_get_text(line, "path");
    const struct kind *kind = find_kind(resource);
    const struct json *body = json_get(line, "body");
    struct view view = {.principal = &reader};
    CLEANUP(frame_unrefp) struct frame *frame = frame_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct json *columns;

    /* Rows are made of stored objects, and this kind is stored as another one.
     */
    if (kind == NULL || kind_stored(kind) != kind || !json_is(body, JSON_OBJECT)
        || strstr(path, "includeObject=Object") == NULL
        || json_get(body, "columnDefinitions") == NULL)
        return;
    time_parse(json_get_text(line, "now"), &view.now_us);
    frame_add(frame, "{");
    table_render_columns(frame, &view, kind, true);
    frame_add(frame, "}");
    frame_copy(frame, &text);
    columns = json_get(json_parse(arena, text.text, text.length, NULL, NULL), "columnDefinitions");
    compare_columns(v, arena, resource, json_get(body, "columnDefinitions"), columns);
    for (uint32_t i = 0; i < json_count(json_get(body, "rows")); i++)
        compare_row(v, arena, resource, &view, kind, json_at(json_get(body, "rows"), i));
}

int
main(void)
{
    struct vectors v = {0};

    vectors_each(&v, "api/tables.jsonl.gz", check);
    return vectors_end(&v);
}
