/* SPDX-License-Identifier: Apache-2.0 */
/* test_validation.c - validation errors of objects, and the resulting objects
 * when there are none, compared with a Kubernetes API server
 *
 * The vectors are the API server's answers over HTTP. The test needs no server
 * of Kiln: the library's pure functions do the same in the same order
 * (normalize, default, prepare, validate), and the server's own work is
 * excluded from the comparison. cases/validation.c tests the functions behind
 * it alone.
 */
#include <errno.h>

#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/difference.h"
#include "testsuite/lib/vectors.h"

/* Replaces placeholders of the recording by values. */
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

static void
compare_causes(struct vectors *v, const char *theme, const char *name, const struct json *is,
               const struct json *wanted)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (find_other_causes(is, wanted, &text))
        vectors_fail(v, theme, "%s:%s", name, text.text);
    else
        vectors_pass(v, theme);
}

static void
compare_trees(struct vectors *v, const char *theme, const char *name, const struct json *is,
              const struct json *wanted)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;

    if (find_difference(is, wanted, &path))
        vectors_fail(v, theme, "%s: %s", name, path.text);
    else
        vectors_pass(v, theme);
}

/* Does what the server does first: sets a name, a uid, the namespace of the
 * path.
 */
static void
fill_in_meta(struct arena *arena, const struct kind *kind, const struct json *line,
             struct json *object)
{
    struct json *meta = json_make_object(arena, object, "metadata");
    const char *path = json_get_text(line, "path");
    const struct json *result = json_get(line, "result");
    const char *name = json_path_text(result, "metadata.name");
    const char *uid = json_path_text(result, "metadata.uid");
    static const char namespaces[] = "/namespaces/";
    const char *at = strstr(path, namespaces);

    if ((kind->flags & KIND_NAMESPACED) != 0 && at != NULL && json_get(meta, "namespace") == NULL) {
        at += sizeof(namespaces) - 1;
        json_set(arena, meta, "namespace", json_string_n(arena, at, strcspn(at, "/?")));
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
        name = arena_printf(arena, "%sabcde", json_get_text(meta, "generateName"));
    if (name != NULL)
        json_set_string(arena, meta, "name", name);
}

/* Removes values that the server and its admission have set. */
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
    compare_causes(v, theme, name, causes_tree(arena, &c), json_get(line, "causes"));
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
