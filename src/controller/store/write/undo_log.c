/* SPDX-License-Identifier: Apache-2.0 */
/* undo_log.c - nearly every batch has one transaction, whose log is moved as a
 * whole and not copied
 */
#include "controller/store/write/undo_log.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

void
undo_free_one(struct undo *undo)
{
    free(undo->deltas);
    free(undo->name);
    free(undo->secret);
}

void
undo_log_fini(struct undo_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        undo_free_one(&log->items[i]);
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
undo_log_append(struct undo_log *log, struct undo_log *from)
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
