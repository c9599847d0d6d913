/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/undo.h"

#include <stdlib.h>
#include <string.h>

#include "controller/store/core.h"
#include "controller/store/expiry.h"
#include "controller/store/history.h"
#include "controller/store/shelf.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

static void
undo_fini(struct undo *undo)
{
    free(undo->deltas);
    free(undo->name);
    free(undo->secret);
}

void
undo_log_fini(struct undo_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        undo_fini(&log->items[i]);
    free(log->items);
    memset(log, 0, sizeof(*log));
}

struct undo *
undo_log_add(struct undo_log *log)
{
    xgrow(log->items, log->count, log->capacity);
    log->items[log->count] = (struct undo){0};
    return &log->items[log->count++];
}

void
undo_log_pour(struct undo_log *log, struct undo_log *from)
{
    if (log->count == 0) {
        undo_log_fini(log);
        *log = *from;
        memset(from, 0, sizeof(*from));
        return;
    }
    for (size_t i = 0; i < from->count; i++)
        *undo_log_add(log) = from->items[i];
    from->count = 0;
    undo_log_fini(from);
}

/* The removal of what has expired is tried again. */
static void
expire_again(struct store *s, struct shelf *shelf, struct entry *entry)
{
    struct section *section = store_section(s, shelf_kind(shelf));

    if (section->expiry != NULL && entry->aging == NULL
        && entry->heads[STORE_PUBLISHED] != NULL)
        expiry_touch(section->expiry, entry);
}

static void
undo_object(struct store *s, struct undo *undo)
{
    struct entry *entry = undo->entry;
    const struct change *c =
        history_get(s->history, history_end(s->history) - 1);
    const struct object *old = c->old_object;

    store_set_head(s,
                   entry,
                   shelf_kind(undo->shelf),
                   STORE_PENDING,
                   old != NULL ? object_ref(old) : NULL);
    history_pop(s->history);
    free(entry->deltas);
    entry->row = undo->row;
    entry->deltas = undo->deltas;
    entry->n_deltas = undo->n_deltas;
    entry->delta_bytes = undo->delta_bytes;
    undo->deltas = NULL;
    expire_again(s, undo->shelf, entry);
    history_let_go(s->history, undo->shelf, entry);
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
        free(undo->secret != NULL
                 ? map_put(s->secrets, undo->name, undo->secret)
                 : map_remove(s->secrets, undo->name));
        undo->secret = NULL;
        break;
    }
}

void
undo_log_take_back(struct undo_log *log, struct store *s)
{
    while (log->count > 0) {
        take_back(s, &log->items[--log->count]);
        undo_fini(&log->items[log->count]);
    }
    undo_log_fini(log);
}
