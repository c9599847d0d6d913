/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_apply.c - any bytes as an object with arbitrary managedFields, and a
 * configuration of it: applied as the API does, or refused; with force there
 * are no conflicts
 *
 * A line with the kind's name, a line with the object, and the rest is the
 * configuration.
 */
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/objects/managed_fields.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/fuzz/fuzz.h"

#define NOW_US 1700000000000000

static const struct field_manager applier = {"fuzz", "", true};
static const struct field_manager writer = {"other", "", false};

static struct json *
parse(struct arena *arena, const char *from, size_t length)
{
    struct json *v = json_parse(arena, from, length, NULL, NULL);

    return json_is(v, JSON_OBJECT) ? v : NULL;
}

static struct json *
apply(struct arena *arena, const struct kind *kind, const struct json *live,
      const struct json *configuration, bool force)
{
    struct manager_conflicts conflicts;
    struct json *tree =
        managed_fields_apply(arena, kind, live, configuration, &applier, force, NOW_US, &conflicts);

    if (tree == NULL && (force || conflicts.count == 0))
        abort();
    return tree;
}

static bool
is_right(struct arena *arena, const struct kind *kind, const struct json *configuration)
{
    struct record_notes notes = {0};

    return configuration != NULL
           && record_normalize(kind->record, arena, json_dup(arena, configuration), &notes, NULL)
                  == 0
           && notes.n_unknown == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *at = (const char *)bytes, *end = at + length;
    const char *first = memchr(at, '\n', length), *second;
    const struct kind *kind;
    struct json *live, *configuration, *tree;

    if (first == NULL || (second = memchr(first + 1, '\n', (size_t)(end - first - 1))) == NULL)
        return 0;
    kind = kind_find_any_name(arena_strndup(arena, at, (size_t)(first - at)));
    if (kind == NULL)
        return 0;
    live = parse(arena, first + 1, (size_t)(second - first - 1));
    configuration = parse(arena, second + 1, (size_t)(end - second - 1));
    if (!is_right(arena, kind, configuration)
        || (live != NULL && record_normalize(kind->record, arena, live, NULL, NULL) < 0))
        return 0;
    tree = apply(arena, kind, live, configuration, false);
    if (tree == NULL)
        tree = apply(arena, kind, live, configuration, true);
    if (record_normalize(kind->record, arena, tree, NULL, NULL) < 0)
        return 0;
    (void)apply(arena, kind, tree, configuration, true);
    managed_fields_note(arena, kind, live, tree, &writer, true, NOW_US);
    return 0;
}
