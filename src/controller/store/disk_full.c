/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/disk_full.h"

#include <errno.h>

#include "controller/store/directory/disk_reserve.h"
#include "controller/store/memory/change_log.h"
#include "controller/store/store_state.h"
#include "controller/store/write/batch.h"
#include "controller/store/write/undo_log.h"
#include "controller/store/write/writer.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/timer.h"

#define LOOK_MS 2000

static void
try_reserve(void *store)
{
    struct store *s = store;

    if (!disk_reserve_hold(s->reserve))
        return;
    timer_stop(s->try_reserve);
    s->is_read_only = false;
    writer_spare(s->writer, false);
    if (store_is_in_database(s)) /* a batch finds out */
        return;
    log_info("There is space in '%s' again: all requests are accepted again",
             s->settings.location.directory);
}

/* Nobody can see how much space a database has, so changes are tried anew every
 * few seconds.
 */
static void
note_database(struct store *s, const char *why)
{
    if (!s->is_database_full)
        log_error("Changes are refused until the database has space: %s", why);
    s->is_database_full = true;
}

void
store_note_space(struct store *s)
{
    if (s->is_database_full)
        log_info("The database has space again: all requests are accepted again");
    s->is_database_full = false;
}

void
store_become_read_only(struct store *s, const char *why)
{
    bool released = disk_reserve_release(s->reserve);

    s->is_read_only = true;
    writer_spare(s->writer, true);
    if (!store_is_in_database(s))
        log_error("Only reads and deletes are accepted until there is space in "
                  "'%s' (%lld KiB free%s): %s",
                  s->settings.location.directory,
                  (long long)disk_reserve_available(s->reserve) / 1024,
                  released ? ", with the reserve" : "", why);
    else
        note_database(s, why);
    if (s->try_reserve == NULL)
        s->try_reserve = timer_new(s->settings.loop, try_reserve, s);
    timer_repeat(s->try_reserve, LOOK_MS);
}

/* The gathered changes build on the refused ones, so they are undone as well.
 * Revisions and ids do not go back: they may have been sent to clients.
 */
void
store_refuse(struct store *s, struct batch *batch, const struct error *err)
{
    struct batch *gathered = s->gathering;

    s->gathering = batch_new();
    store_undo(s, batch_undo(gathered));
    store_undo(s, batch_undo(batch));
    s->committed = s->pending;
    s->committed_end = change_log_end(s->change_log);
    s->n_refused++;
    if (!s->is_read_only)
        store_become_read_only(s, err->text);
    batch_run_waiters(batch, -ENOSPC);
    batch_run_waiters(gathered, -ENOSPC);
    batch_free(batch);
    batch_free(gathered);
    if (!batch_is_empty(s->gathering))
        store_flush_soon(s);
}

void
store_refuse_later(struct store *s, store_done_fn *done, void *context)
{
    s->n_refused++;
    batch_wait(s->refused, done, context);
    if (s->is_flushing)
        return;
    s->is_flushing = true;
    timer_start(s->flush, 0);
}

void
store_notify_refused(struct store *s)
{
    struct batch *refused = s->refused;

    if (batch_is_empty(refused))
        return;
    s->refused = batch_new();
    batch_run_waiters(refused, -ENOSPC);
    batch_free(refused);
}

bool
store_is_read_only(const struct store *s)
{
    return s->is_read_only;
}
