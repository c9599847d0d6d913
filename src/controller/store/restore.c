/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/restore.h"

#include <errno.h>
#include <inttypes.h>

#include "controller/store/engine.h"
#include "lib/api/kind.h"
#include "lib/api/meta.h"
#include "lib/api/object.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/json/merge.h"

static int
apply_deltas(struct arena *arena,
             const struct engine_row *row,
             struct json **tree,
             struct error *err)
{
    for (size_t i = 0; i < row->n_deltas; i++) {
        const struct engine_delta *delta = &row->deltas[i];
        const struct json *patch =
            json_parse(arena, delta->patch, delta->length, NULL, err);

        if (patch == NULL)
            return error_wrap(err,
                              -EUCLEAN,
                              "the change of revision %" PRId64,
                              delta->revision);
        *tree = json_merge(arena, *tree, patch);
    }
    return 0;
}

static void
set_revision(struct arena *arena, struct json *tree, int64_t revision)
{
    json_set(arena,
             json_make_object(arena, tree, "metadata"),
             "resourceVersion",
             json_stringf(arena, "%" PRId64, revision));
}

static int
merge(const struct kind *kind,
      const struct engine_row *row,
      struct patterns *patterns,
      const struct object **ret_object,
      struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(8 * row->length);
    struct json *tree = json_parse(arena, row->body, row->length, NULL, err);
    int r;

    if (tree == NULL)
        return -EUCLEAN;
    r = apply_deltas(arena, row, &tree, err);
    if (r < 0)
        return r;
    set_revision(arena, tree, row->deltas[row->n_deltas - 1].revision);
    r = record_normalize(kind->record, arena, tree, NULL, err);
    if (r < 0)
        return r;
    *ret_object = object_new_beside(kind, tree, patterns);
    return 0;
}

int
restore_object(const struct kind *kind,
               const struct engine_row *row,
               struct patterns *patterns,
               const struct object **ret_object,
               struct error *err)
{
    int64_t revision = row->n_deltas > 0
                           ? row->deltas[row->n_deltas - 1].revision
                           : row->revision;
    CLEANUP(object_unrefp) const struct object *object = NULL;
    int r = row->n_deltas > 0 ? merge(kind, row, patterns, &object, err)
                              : object_restore(kind,
                                               row->body,
                                               row->length,
                                               patterns,
                                               &object,
                                               err);

    if (r < 0)
        return error_wrap(err, -EUCLEAN, "row %" PRId64, row->row);
    if (object->revision != revision || object->meta->name == NULL)
        return error_set(err,
                         -EUCLEAN,
                         "row %" PRId64 " holds another object than revision "
                         "%" PRId64 " of it",
                         row->row,
                         revision);
    *ret_object = object;
    object = NULL;
    return 0;
}
