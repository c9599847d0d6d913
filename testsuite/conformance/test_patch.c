/* SPDX-License-Identifier: Apache-2.0 */
/* test_patch.c - merge, strategic and JSON patches as upstream applies them
 *
 * Each recorded patch is applied to its original, and the result is normalized,
 * defaulted and validated; one of these steps must fail for each patch that
 * upstream refused.
 */
#include <inttypes.h>

#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/base/strbuf.h"
#include "lib/json/json_patch.h"
#include "lib/json/merge.h"
#include "lib/json/record.h"
#include "lib/json/strategic.h"
#include "testsuite/lib/vectors.h"

#define SOME_TIME "2024-01-01T00:00:00Z"

/* Upstream compares the order of a patch's list with the requested order, and
 * refuses a difference; in Kiln the requested order wins.
 */
static bool
is_about_order(const struct json *error)
{
    const char *message = json_get_text(error, "message");

    return message != NULL && strncmp(message, "The order in patch", 18) == 0;
}

/* 256: upstream's merge appends to a list that shares its memory with the list
 * that it is compared with. 28: Kiln still refuses additional affinity for a
 * gated pod.
 */
static bool
is_known(int64_t id)
{
    return id == 28 || id == 256;
}

/* Replaces placeholders, because those of times are no valid times and those of
 * uids no valid labels.
 */
static void
set_times(struct json *value)
{
    if (json_is(value, JSON_STRING) && strcmp(value->text, "<time>") == 0) {
        value->text = SOME_TIME;
        value->count = strlen(SOME_TIME);
    } else if (json_is(value, JSON_STRING) && value->text[0] == '<') {
        value->text = "some-uid";
        value->count = strlen("some-uid");
    }
    for (uint32_t i = 0; json_is(value, JSON_ARRAY) && i < value->count; i++)
        set_times(value->items[i]);
    for (uint32_t i = 0; json_is(value, JSON_OBJECT) && i < value->count; i++)
        set_times(value->members[i].value);
}

/* Parts that the subresource cannot change keep their original values. */
static void
keep_parts(struct arena *arena, const struct kind *kind, const char *subresource, struct json *tree,
           const struct json *original)
{
    bool is_status = strcmp(subresource, "status") == 0;

    for (unsigned i = 0; i < kind->record->n_fields; i++) {
        const char *name = kind->record->fields[i].name;
        struct json *was = json_get(original, name);

        if (strcmp(name, "metadata") == 0 || (strcmp(name, "status") == 0) == is_status)
            continue;
        if (!is_status && strcmp(name, "status") != 0)
            continue;
        if (was != NULL)
            json_set(arena, tree, name, json_dup(arena, was));
        else
            json_remove(tree, name);
    }
}

static int
apply(struct arena *arena, const struct kind *kind, const struct json *line, struct json **tree,
      struct error *err)
{
    const char *type = json_get_text(line, "patchType");
    struct json *patch = json_get(line, "patch");

    if (strcmp(type, "json") == 0)
        return json_is(patch, JSON_ARRAY) ? json_patch_apply(arena, tree, patch, err)
                                          : error_set(err, -22, "not a list");
    if (strcmp(type, "merge") == 0) {
        json_merge_prune(patch);
        *tree = json_merge(arena, *tree, patch);
        return 0;
    }
    return strategic_merge(arena, kind->record, *tree, patch, err);
}

static int
carry_out(struct arena *arena, const struct kind *kind, const struct json *line,
          const struct json *original, struct json **tree, struct error *err)
{
    const char *subresource = json_get_text(line, "subresource");
    struct causes causes;
    int r = apply(arena, kind, line, tree, err);

    if (r < 0)
        return r;
    if (json_path_text(*tree, "metadata.name") == NULL)
        return error_set(err, -22, "no name");
    r = record_normalize(kind->record, arena, *tree, NULL, err);
    if (r < 0)
        return r;
    if (kind->set_defaults != NULL)
        kind->set_defaults(arena, *tree);
    keep_parts(arena, kind, subresource, *tree, original);
    record_normalize(kind->record, arena, *tree, NULL, err);
    causes_init(&causes, arena);
    if (strcmp(subresource, "status") == 0) {
        if (kind->validate_status != NULL)
            kind->validate_status(&causes, *tree, original);
    } else if (kind->validate != NULL)
        kind->validate(&causes, *tree, original);
    return causes.count > 0
               ? error_set(err, -22, "%s: %s", causes.items[0].field, causes.items[0].message)
               : 0;
}

static void
check(struct vectors *v, struct arena *arena, const struct json *line)
{
    const char *name = json_get_text(line, "name");
    const char *type = json_get_text(line, "patchType");
    int64_t id = json_get_int(line, "id", 0);
    bool is_fine = json_get_int(line, "code", 0) == 200;
    const struct kind *kind =
        kind_find_by_name(json_get_text(line, "apiVersion"), json_get_text(line, "kind"));
    struct json *original = json_get(line, "original");
    struct json *expected = json_get(line, "result");
    struct json *tree;
    struct error err = {0};
    int r;

    if (kind == NULL || is_known(id) || is_about_order(json_get(line, "error")))
        return;
    set_times(original);
    set_times(expected);
    record_normalize(kind->record, arena, original, NULL, NULL);
    tree = json_dup(arena, original);
    r = carry_out(arena, kind, line, original, &tree, &err);
    if (!is_fine) {
        if (r < 0)
            vectors_pass(v, type);
        else
            vectors_fail(v, type, "%" PRId64 " %s is accepted", id, name);
        return;
    }
    if (r < 0) {
        vectors_fail(v, type, "%" PRId64 " %s is refused: %s", id, name, err.text);
        return;
    }
    if (kind->flags & KIND_GENERATION) { /* the server counts it */
        json_remove(json_get(expected, "metadata"), "generation");
        json_remove(json_get(tree, "metadata"), "generation");
    }
    if (json_equals(tree, expected))
        vectors_pass(v, type);
    else {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        const struct json *diff = json_merge_diff(arena, expected, tree);

        if (diff != NULL)
            json_print(diff, &text);
        vectors_fail(v, type, "%" PRId64 " %s differs: %.600s", id, name, text.text);
    }
}

int
main(void)
{
    struct vectors v = {0};

    vectors_each(&v, "api/patch.jsonl.gz", check);
    return vectors_end(&v);
}
