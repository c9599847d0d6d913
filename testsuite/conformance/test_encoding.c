/* SPDX-License-Identifier: Apache-2.0 */
/* test_encoding.c - objects that a Kubernetes API server wrote remain unchanged
 *
 * The field tables know every member of each object in its recorded answers,
 * and normalizing changes nothing: the same members are omitted, and the same
 * empty ones are written.
 */
#include "lib/api/object/kind.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/vectors.h"

/* The recording has placeholders for times. */
static void
fill_placeholders(struct json *value)
{
    if (json_is(value, JSON_ARRAY))
        for (uint32_t i = 0; i < value->count; i++)
            fill_placeholders(value->items[i]);
    if (json_is(value, JSON_OBJECT))
        for (uint32_t i = 0; i < value->count; i++)
            fill_placeholders(value->members[i].value);
    if (json_is(value, JSON_STRING) && strcmp(value->text, "<time>") == 0) {
        value->text = "2024-01-01T00:00:00Z";
        value->count = (uint32_t)strlen(value->text);
    }
}

/* Micro times were recorded like other times. */
static bool
has_micro_times(const struct json *object)
{
    const char *kind = json_get_text(object, "kind");

    return strcmp(kind, "Lease") == 0
           || (strcmp(kind, "Event") == 0 && json_is(json_get(object, "eventTime"), JSON_STRING));
}

static void
check_object(struct vectors *v, struct arena *arena, const struct kind *kind,
             const struct json *object, int64_t line)
{
    CLEANUP_STRBUF struct strbuf is = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf was = STRBUF_INIT;
    struct json *copy = json_dup(arena, object);
    struct record_notes notes = {0};
    struct error err = {0};

    if (record_normalize(kind->record, arena, copy, &notes, &err) < 0) {
        if (!has_micro_times(object))
            vectors_fail(v, kind->name, "line %d: %s", (int)line, err.text);
        return;
    }
    if (notes.n_unknown == 0 && json_equals(copy, object)) {
        vectors_pass(v, kind->name);
        return;
    }
    json_print(copy, &is);
    json_print(object, &was);
    vectors_fail(v, kind->name, "line %d: %s\n#   not %s %s", (int)line, is.text, was.text,
                 notes.n_unknown > 0 ? notes.unknown[0] : "");
}

/* Objects may be anywhere in an answer: alone, in lists, in events. */
static void
find_objects(struct vectors *v, struct arena *arena, const struct json *value, int64_t line)
{
    const char *api_version = json_get_text(value, "apiVersion");
    const char *name = json_get_text(value, "kind");
    const struct kind *kind = NULL;

    if (api_version != NULL && name != NULL)
        kind = kind_find_by_name(api_version, name);
    if (kind != NULL && json_get(value, "metadata") != NULL) {
        check_object(v, arena, kind, value, line);
        return;
    }
    for (uint32_t i = 0; i < json_count(value); i++)
        find_objects(v, arena,
                     value->type == JSON_ARRAY ? value->items[i] : value->members[i].value, line);
}

static void
check_line(struct vectors *v, struct arena *arena, const struct json *line)
{
    struct json *response = json_get(line, "response");

    fill_placeholders(response);
    find_objects(v, arena, response, json_get_int(line, "n", 0));
}

int
main(void)
{
    struct vectors v = {0};

    vectors_each(&v, "api/exchanges.jsonl.gz", check_line);
    return vectors_end(&v);
}
