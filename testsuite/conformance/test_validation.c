/* SPDX-License-Identifier: Apache-2.0 */
/* test_validation.c - what is wrong with an object, and what it is when
 * nothing is, compared with a Kubernetes API server
 *
 * The vectors are the API server's answers over HTTP. No server of Kiln is
 * needed: the library's pure functions do the same in the same order
 * (normalize, default, prepare, validate), and what is the server's own work
 * is left out of the comparison. The functions behind it called alone:
 * cases/validation.c.
 */
#include <errno.h>

#include "lib/api/causes.h"
#include "lib/api/kind.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/vectors.h"

static struct json *
causes_tree(struct arena *arena, const struct causes *c)
{
    struct json *list = json_array(arena);

    for (unsigned i = 0; i < c->count; i++) {
        struct json *one = json_object(arena);

        json_set_string(arena, one, "field", c->items[i].field);
        json_set_string(arena,
                        one,
                        "reason",
                        cause_reason_name(c->items[i].reason));
        json_set_string(arena, one, "message", c->items[i].message);
        json_append(arena, list, one);
    }
    return list;
}

/* Placeholders of the recording, made what they stand for. */
static void
fill_placeholders(struct json *value)
{
    if (json_is(value, JSON_ARRAY))
        for (uint32_t i = 0; i < value->count; i++)
            fill_placeholders(value->items[i]);
    if (json_is(value, JSON_OBJECT))
        for (uint32_t i = 0; i < value->count; i++)
            fill_placeholders(value->members[i].value);
    if (!json_is(value, JSON_STRING))
        return;
    if (strcmp(value->text, "<time>") == 0) {
        value->text = "2024-01-01T00:00:00Z";
        value->count = (uint32_t)strlen(value->text);
    } else if (strncmp(value->text, "<uid-", 5) == 0) {
        char *text = (char *)(uintptr_t)value->text;

        text[0] = text[value->count - 1] = 'u';
    }
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
        if (strcmp(json_get_text(json_at(list, i), "field"),
                   json_get_text(cause, "field"))
                == 0
            && strcmp(reason_of(json_at(list, i)), reason_of(cause)) == 0)
            return true;
    return false;
}

/* As sets of field and reason. */
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
        strbuf_printf(out,
                      " (%s %s)",
                      json_get_text(json_at(list, i), "field"),
                      reason_of(json_at(list, i)));
}

static void
compare_causes(struct vectors *v,
               const char *theme,
               const char *name,
               const struct json *is,
               const struct json *wanted)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (same_causes(is, wanted)) {
        vectors_pass(v, theme);
        return;
    }
    add_causes(is, &text);
    strbuf_add_text(&text, " but wanted");
    add_causes(wanted, &text);
    vectors_fail(v, theme, "%s:%s", name, text.text);
}

/* The first place where two trees differ, for the reader. */
static bool
find_difference(const struct json *is,
                const struct json *wanted,
                struct strbuf *path)
{
    size_t length = path->length;

    if (json_equals(is, wanted))
        return false;
    if (json_is(is, JSON_OBJECT) && json_is(wanted, JSON_OBJECT)) {
        for (uint32_t i = 0; i < is->count; i++) {
            strbuf_printf(path, ".%s", is->members[i].name);
            if (find_difference(is->members[i].value,
                                json_get(wanted, is->members[i].name),
                                path))
                return true;
            strbuf_truncate(path, length);
        }
        for (uint32_t i = 0; i < wanted->count; i++)
            if (json_get(is, wanted->members[i].name) == NULL) {
                strbuf_printf(path, ".%s is missing", wanted->members[i].name);
                return true;
            }
    }
    if (json_is(is, JSON_ARRAY) && json_is(wanted, JSON_ARRAY)
        && is->count == wanted->count)
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

static void
compare_trees(struct vectors *v,
              const char *theme,
              const char *name,
              const struct json *is,
              const struct json *wanted)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;

    if (find_difference(is, wanted, &path))
        vectors_fail(v, theme, "%s: %s", name, path.text);
    else
        vectors_pass(v, theme);
}

/* What the server does before: a name, a uid, the namespace of the path. */
static void
fill_in_meta(struct arena *arena,
             const struct kind *kind,
             const struct json *line,
             struct json *object)
{
    struct json *meta = json_make_object(arena, object, "metadata");
    const char *path = json_get_text(line, "path");
    const struct json *result = json_get(line, "result");
    const char *name = json_path_text(result, "metadata.name");
    const char *uid = json_path_text(result, "metadata.uid");
    static const char namespaces[] = "/namespaces/";
    const char *at = strstr(path, namespaces);

    if ((kind->flags & KIND_NAMESPACED) != 0 && at != NULL
        && json_get(meta, "namespace") == NULL) {
        at += sizeof(namespaces) - 1;
        json_set(arena,
                 meta,
                 "namespace",
                 json_string_n(arena, at, strcspn(at, "/?")));
    }
    json_set_string(arena, meta, "uid", uid != NULL ? uid : "u");
    json_remove(meta, "resourceVersion");
    json_set_string(arena, meta, "creationTimestamp", "2024-01-01T00:00:00Z");
    json_remove(meta, "deletionTimestamp");
    if ((kind->flags & KIND_NAMESPACED) == 0)
        json_remove(meta, "namespace");
    if ((kind->flags & KIND_GENERATION) != 0)
        json_set_int(arena, meta, "generation", 1);
    if (name == NULL && json_get_text(meta, "generateName") != NULL
        && json_get(meta, "name") == NULL)
        name =
            arena_printf(arena, "%sabcde", json_get_text(meta, "generateName"));
    if (name != NULL)
        json_set_string(arena, meta, "name", name);
}

/* Takes out what the server and its admission put in. */
static void
drop_server_work(struct json *object, const char *verb)
{
    static const char *const in_meta[] = {
        "uid",
        "resourceVersion",
        "creationTimestamp",
    };
    struct json *meta = json_get(object, "metadata");
    struct json *spec = json_get(object, "spec");
    struct json *conditions = json_get_path(object, "status.conditions");

    for (size_t i = 0; i < ARRAY_SIZE(in_meta); i++)
        json_remove(meta, in_meta[i]);
    for (uint32_t i = 0; i < json_count(conditions); i++)
        json_remove(json_at(conditions, i), "lastTransitionTime");
    if (strcmp(verb, "update") == 0)
        json_remove(meta, "generation");
    if (strcmp(json_get_text(object, "kind"), "Pod") == 0) {
        json_remove(spec, "tolerations");
        json_remove(spec, "priority");
        json_remove(spec, "preemptionPolicy");
        json_remove(spec, "priorityClassName");
    }
    if (strcmp(json_get_text(object, "kind"), "Node") == 0)
        json_remove(spec, "taints");
}

static bool
is_server_work(const struct json *line)
{
    int64_t code = json_get_int(line, "code", 0);
    const char *message = json_get_text(line, "message");

    if (code == 403 || code == 409 || code == 500)
        return true;
    return code == 400 && message != NULL
           && (strstr(message, "namespace of the provided") != NULL
               || strstr(message, "name of the object") != NULL
               || strstr(message, "no kind") != NULL);
}

static void
check_answer(struct vectors *v, struct arena *arena, const struct json *line)
{
    const char *name = json_get_text(line, "id");
    const char *verb = json_get_text(line, "verb");
    struct json *object = json_dup(arena, json_get(line, "manifest"));
    struct json *old = json_get(line, "original");
    const struct kind *kind = kind_find_any_name(json_get_text(line, "kind"));
    int64_t code = json_get_int(line, "code", 0);
    struct record_notes notes = {0};
    struct error err = {0};
    struct causes c;
    char theme[64];
    int r;

    if (kind == NULL || is_server_work(line))
        return;
    fill_placeholders(object);
    fill_placeholders(old);
    fill_placeholders(json_get(line, "result"));
    snprintf(theme, sizeof(theme), "answer, %s %s", verb, kind->name);
    r = record_normalize(kind->record, arena, object, &notes, &err);
    if (r == 0 && old != NULL)
        r = record_normalize(kind->record, arena, old, NULL, &err);
    if (code == 400 || r < 0) {
        if (code == 400 && (r < 0 || notes.n_unknown > 0))
            vectors_pass(v, theme);
        else
            vectors_fail(v, theme, "%s: %s", name, err.text);
        return;
    }
    if (json_get(object, "kind") == NULL)
        json_set_string(arena, object, "kind", kind->name);
    json_set_string(arena, object, "apiVersion", kind->api_version);
    if (old == NULL) {
        fill_in_meta(arena, kind, line, object);
    } else if (strcmp(kind->name, "Lease") != 0) {
        struct json *meta = json_get(object, "metadata");

        if (json_get(meta, "resourceVersion") == NULL)
            json_set_string(arena, meta, "resourceVersion", "1");
    }
    if (kind->set_defaults != NULL)
        kind->set_defaults(arena, object);
    if (kind->prepare != NULL)
        kind->prepare(arena, object, old);
    causes_init(&c, arena);
    if (kind->validate != NULL)
        kind->validate(&c, object, old);
    compare_causes(v,
                   theme,
                   name,
                   causes_tree(arena, &c),
                   json_get(line, "causes"));
    if (code >= 300 || c.count > 0)
        return;
    if (record_normalize(kind->record, arena, object, NULL, &err) < 0) {
        vectors_fail(v, theme, "%s: %s", name, err.text);
        return;
    }
    snprintf(theme, sizeof(theme), "answer, result of %s %s", verb, kind->name);
    drop_server_work(object, verb);
    drop_server_work(json_get(line, "result"), verb);
    compare_trees(v, theme, name, object, json_get(line, "result"));
}

int
main(void)
{
    struct vectors v = {0};

    vectors_each(&v, "api/validation.jsonl.gz", check_answer);
    return vectors_end(&v);
}
