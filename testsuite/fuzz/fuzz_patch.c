/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_patch.c - any bytes as an object and a patch of it: applied as the API
 * does, and validated against the former object, or refused; where possible
 * also applied to the object's text, and its status to the object, with the
 * same result
 *
 * A line with the kind's name, a line with the type of the patch ("merge",
 * "strategic", "json"), a line with the object, and the rest is the patch.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/causes.h"
#include "lib/api/object/dictionary_objects.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/json_patch.h"
#include "lib/json/merge.h"
#include "lib/json/record.h"
#include "lib/json/strategic.h"
#include "lib/json/text_patch.h"
#include "testsuite/fuzz/fuzz.h"

/* Copies the line at *at without its end; *at moves behind it. */
static const char *
next_line(struct arena *arena, const char **at, const char *end)
{
    const char *from = *at;
    const char *stop = memchr(from, '\n', (size_t)(end - from));

    *at = stop != NULL ? stop + 1 : end;
    return arena_strndup(arena, from, (size_t)((stop != NULL ? stop : end) - from));
}

static struct json *
apply(struct arena *arena, const struct record *record, const char *how, struct json *object,
      struct json *patch)
{
    if (strcmp(how, "json") == 0)
        return json_is(patch, JSON_ARRAY) && json_patch_apply(arena, &object, patch, NULL) == 0
                   ? object
                   : NULL;
    if (!json_is(patch, JSON_OBJECT))
        return NULL;
    if (strcmp(how, "strategic") == 0)
        return strategic_merge(arena, record, object, patch, NULL) == 0 ? object : NULL;
    return json_merge(arena, object, patch);
}

/* `object` is normalized. */
static void
compare_text_patch(struct arena *arena, const struct record *record, const struct json *object,
                   const struct json *patch)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT, out = STRBUF_INIT, merged = STRBUF_INIT;
    struct json *set = json_dup(arena, patch), *tree;

    if (!json_is(set, JSON_OBJECT) || record_normalize(record, arena, set, NULL, NULL) < 0)
        return;
    json_print(object, &text);
    if (!text_patch(record, text.text, set, &out))
        return;
    tree = json_merge(arena, json_dup(arena, object), set);
    if (record_normalize(record, arena, tree, NULL, NULL) < 0)
        abort();
    json_print(tree, &merged);
    if (strcmp(out.text, merged.text) != 0)
        abort();
}

static void
compare_objects(struct arena *arena, const struct object *is, const struct object *wanted)
{
    CLEANUP_STRBUF struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    const struct record *record = is->kind->record;

    if (strcmp(object_text(is, arena), object_text(wanted, arena)) != 0)
        abort();
    json_print(record_encode(record, arena, is->view), &a);
    json_print(record_encode(record, arena, wanted->view), &b);
    if (strcmp(a.text, b.text) != 0)
        abort();
}

/* `object` is normalized. Its status is replaced while a similar object shares
 * its dictionaries; then both are freed before the comparison.
 */
static void
compare_status(struct arena *arena, const struct kind *kind, const struct json *object,
               const struct json *patch)
{
    struct json *set = json_dup(arena, patch), *tree = json_dup(arena, object);
    struct json *status;
    struct dictionary_objects *dictionaries;
    const struct object *first, *second, *changed;

    if (!json_is(set, JSON_OBJECT) || !json_is(json_get(object, "status"), JSON_OBJECT)
        || record_normalize(kind->record, arena, set, NULL, NULL) < 0
        || !json_is(json_get(set, "status"), JSON_OBJECT))
        return;
    status = json_get(set, "status");
    json_set(arena, tree, "status", status);
    json_set_string(arena, json_make_object(arena, tree, "metadata"), "resourceVersion", "7");
    if (record_normalize(kind->record, arena, tree, NULL, NULL) < 0)
        abort();
    dictionaries = dictionary_objects_new();
    first = object_new_packed(kind, object, dictionaries);
    second = object_new_packed(kind, object, dictionaries);
    changed = object_with_status(second, status, 7, arena, dictionaries);
    object_unref(first);
    object_unref(second);
    dictionary_objects_free(dictionaries);
    if (changed != NULL) {
        second = object_new(kind, tree);
        compare_objects(arena, changed, second);
        object_unref(second);
    }
    object_unref(changed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *at = (const char *)bytes, *end = at + length;
    const struct kind *kind = kind_find_any_name(next_line(arena, &at, end));
    const char *how = next_line(arena, &at, end);
    const char *original = next_line(arena, &at, end);
    struct json *object, *was, *patch, *result;
    struct causes causes;

    if (kind == NULL)
        return 0;
    object = json_parse(arena, original, strlen(original), NULL, NULL);
    patch = json_parse(arena, at, (size_t)(end - at), NULL, NULL);
    if (!json_is(object, JSON_OBJECT) || patch == NULL
        || record_normalize(kind->record, arena, object, NULL, NULL) < 0)
        return 0;
    compare_text_patch(arena, kind->record, object, patch);
    if (kind->stored_as == NULL)
        compare_status(arena, kind, object, patch);
    if (kind->set_defaults != NULL)
        kind->set_defaults(arena, object);
    was = json_dup(arena, object);
    result = apply(arena, kind->record, how, object, patch);
    if (!json_is(result, JSON_OBJECT)
        || record_normalize(kind->record, arena, result, NULL, NULL) < 0)
        return 0;
    if (kind->set_defaults != NULL)
        kind->set_defaults(arena, result);
    if (kind->prepare != NULL)
        kind->prepare(arena, result, was);
    causes_init(&causes, arena);
    if (kind->validate != NULL)
        kind->validate(&causes, result, was);
    json_print(result, &text);
    return 0;
}
