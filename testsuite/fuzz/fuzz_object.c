/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_object.c - any bytes as an object of the given kind: read, defaulted and
 * validated as the API does, or refused; a valid object becomes a row of a
 * Table
 */
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/http/render.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/view.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/fuzz/fuzz.h"

static const struct principal reader = {.type = PRINCIPAL_ADMINISTRATOR};

static void
show(const struct kind *kind, const struct object *object, bool is_kiln)
{
    CLEANUP(frame_unrefp) struct frame *frame = frame_new();
    struct view view = {
        .accept = {.form = ACCEPT_TABLE, .is_kiln = is_kiln},
        .kind = kind,
        .principal = &reader,
        .now_us = 1700000000000000,
    };

    render_event(frame, &view, "ADDED", object, true);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct kind *kind;
    struct causes causes;
    const struct object *object;
    struct json *tree;

    tree = json_parse(arena, (const char *)bytes, length, NULL, NULL);
    kind = json_get_text(tree, "kind") != NULL ? kind_find_any_name(json_get_text(tree, "kind"))
                                               : NULL;
    if (kind == NULL || record_normalize(kind->record, arena, tree, NULL, NULL) < 0)
        return 0;
    if (kind->set_defaults != NULL)
        kind->set_defaults(arena, tree);
    if (kind->prepare != NULL)
        kind->prepare(arena, tree, NULL);
    causes_init(&causes, arena);
    if (kind->validate != NULL)
        kind->validate(&causes, tree, NULL);
    object = object_new(kind, tree);
    if (causes.count == 0) {
        show(kind, object, false);
        show(kind, object, true);
    }
    object_unref(object);
    return 0;
}
