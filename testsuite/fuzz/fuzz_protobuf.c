/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_protobuf.c - any bytes as a protobuf body: an envelope, then an object
 * of the kind that it names, or refused; what was read becomes an object as in
 * the API
 */
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "lib/protobuf/protobuf.h"
#include "testsuite/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct protobuf_envelope envelope;
    const struct kind *kind;
    struct causes causes;
    struct json *tree;

    if (protobuf_open(arena, bytes, length, &envelope, NULL) < 0)
        return 0;
    kind = kind_find_by_name(envelope.api_version, envelope.kind);
    if (kind == NULL)
        kind = kinds[length % n_kinds];
    tree = protobuf_decode(arena, kind->record, envelope.message, envelope.length, SIZE_MAX, NULL);
    if (tree == NULL || record_normalize(kind->record, arena, tree, NULL, NULL) < 0)
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
