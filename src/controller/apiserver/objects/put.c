/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever is put is checked against its kind's table, also what the server itself has made:
 * an object that is stored and cannot be read again would be found at the next start, and by
 * then nobody can refuse it.
 */
#include "controller/apiserver/objects/put.h"

#include <errno.h>

#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/decimal.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/merge.h"
#include "lib/json/record.h"

void
put_set_defaults(struct arena *arena, const struct put *put)
{
    const struct kind *kind = put->kind;

    if (kind->set_defaults != NULL && !(put->keeps_spec && kind->flags & KIND_SPEC_DEFAULTS))
        kind->set_defaults(arena, put->tree);
}

/* The tree as it is stored. NULL when it does not fit the kind that it is
 * stored as.
 */
static struct json *
stored_tree(struct arena *arena, const struct put *put, struct error *err)
{
    const struct kind *kind = put->kind;
    struct json *tree;

    if (kind->stored_as == NULL)
        return put->tree;
    tree = kind->to_stored(arena, put->tree);
    return record_normalize(kind->stored_as->record, arena, tree, NULL, err) == 0 ? tree : NULL;
}

static void
set_revision(struct arena *arena, struct store_txn *txn, struct json *tree)
{
    char room[DECIMAL_SIZE];

    json_set_string(arena, json_make_object(arena, tree, "metadata"), "resourceVersion",
                    decimal_of(store_txn_revision(txn), room));
}

static const struct object *
make_object(struct arena *arena, struct store_txn *txn, const struct put *put, struct error *err)
{
    struct json *stored;

    set_revision(arena, txn, put->tree);
    /* Fields that admission and preparation added need their defaults and their
     * order, too.
     */
    put_set_defaults(arena, put);
    if (!put->is_normal
        && record_normalize_change(put->kind->record, arena, put->tree, put->old_tree, NULL, err)
               < 0)
        return NULL;
    stored = stored_tree(arena, put, err);
    return stored != NULL
               ? object_new_packed(kind_stored(put->kind), stored, store_txn_patterns(txn))
               : NULL;
}

const struct object *
put_object(struct arena *arena, struct store_txn *txn, const struct put *put, struct error *err)
{
    const struct object *object = make_object(arena, txn, put, err);
    CLEANUP_STRBUF struct strbuf delta = STRBUF_INIT;

    if (object == NULL)
        return NULL;
    if (put->old_tree != NULL && put->kind->stored_as == NULL) {
        const struct json *diff = json_merge_diff(arena, put->old_tree, put->tree);

        if (diff != NULL)
            json_print(diff, &delta);
    }
    store_txn_put(txn, object, delta.length > 0 ? delta.text : NULL);
    return object;
}

const struct object *
put_patch(struct arena *arena, struct store_txn *txn, const struct object *object,
          struct json *patch)
{
    CLEANUP_STRBUF struct strbuf delta = STRBUF_INIT;
    const struct object *patched;

    set_revision(arena, txn, patch);
    patched = object_patched(object, patch, arena, store_txn_patterns(txn));
    if (patched == NULL)
        return NULL;
    json_print(patch, &delta);
    store_txn_put(txn, patched, delta.text);
    return patched;
}

const struct object *
put_status(struct arena *arena, struct store_txn *txn, const struct object *object,
           struct json *status, const struct json *old_status)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *delta = json_object(arena);
    const struct object *changed =
        object_with_status(object, status, store_txn_revision(txn), arena, store_txn_patterns(txn));

    if (changed == NULL)
        return NULL;
    set_revision(arena, txn, delta);
    json_set(arena, delta, "status", json_merge_diff(arena, old_status, status));
    json_print(delta, &text);
    store_txn_put(txn, changed, text.text);
    return changed;
}

int
put_removal(struct arena *arena, struct store_txn *txn, const struct put *put, struct error *err)
{
    const struct object *object = make_object(arena, txn, put, err);

    if (object == NULL)
        return -EINVAL;
    store_txn_remove(txn, object);
    return 0;
}
