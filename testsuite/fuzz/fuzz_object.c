/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_object.c - any bytes as an object of each kind: read, given defaults
 * and validated as the API does, or refused
 *
 * The first byte chooses the kind.
 */
#include "lib/api/causes.h"
#include "lib/api/kind.h"
#include "lib/api/object.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct kind *kind;
    struct record_notes notes;
    struct causes causes;
    struct json *tree;

    if (length == 0)
        return 0;
    kind = kinds[bytes[0] % n_kinds];
    tree = json_parse(arena, (const char *)bytes + 1, length - 1, NULL, NULL);
    if (tree == NULL
        || record_normalize(kind->record, arena, tree, &notes, NULL) < 0)
        return 0;
    if (kind->set_defaults != NULL)
        kind->set_defaults(arena, tree);
    if (kind->prepare != NULL)
        kind->prepare(arena, tree, NULL);
    causes_init(&causes, arena);
    if (kind->validate != NULL)
        kind->validate(&causes, tree, NULL);
    object_unref(object_new(kind, tree));
    return 0;
}
