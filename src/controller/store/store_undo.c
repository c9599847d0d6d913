/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "controller/store/expiry.h"
#include "controller/store/memory/change_log.h"
#include "controller/store/memory/object_index.h"
#include "controller/store/store_state.h"
#include "controller/store/write/undo_log.h"
#include "lib/api/object/object.h"
#include "lib/base/map.h"

/* The removal of an expired object was undone, so it expires again. */
static void
expire_again(struct store *s, struct object_index *objects, struct entry *entry)
{
    struct section *section = store_section(s, object_index_kind(objects));

    if (section->expiry != NULL && entry->aging == NULL && entry->heads[STORE_PUBLISHED] != NULL)
        expiry_touch(section->expiry, entry, entry->heads[STORE_PUBLISHED]);
}

static void
undo_object(struct store *s, struct undo *undo)
{
    struct entry *entry = undo->entry;
    const struct change *c = change_log_get(s->change_log, change_log_end(s->change_log) - 1);
    const struct object *old = c->old_object;

    store_set_head(s, entry, object_index_kind(undo->objects), STORE_PENDING,
                   old != NULL ? object_ref(old) : NULL);
    change_log_pop(s->change_log);
    free(entry->deltas);
    entry->row = undo->row;
    entry->deltas = undo->deltas;
    entry->n_deltas = undo->n_deltas;
    entry->delta_bytes = undo->delta_bytes;
    undo->deltas = NULL;
    expire_again(s, undo->objects, entry);
    change_log_release_entry(s->change_log, undo->objects, entry);
}

static void
take_back(struct store *s, struct undo *undo)
{
    switch (undo->what) {
    case UNDO_OBJECT:
        undo_object(s, undo);
        break;
    case UNDO_BLOB:
        blob_counts_set(s->blobs, undo->name, undo->blob);
        break;
    case UNDO_SECRET:
        free(undo->secret != NULL ? map_put(s->secrets, undo->name, undo->secret)
                                  : map_remove(s->secrets, undo->name));
        undo->secret = NULL;
        break;
    }
}

void
store_undo(struct store *s, struct undo_log *log)
{
    while (log->count > 0) {
        take_back(s, &log->items[--log->count]);
        undo_free_one(&log->items[log->count]);
    }
    undo_log_fini(log);
}
