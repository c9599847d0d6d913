/* SPDX-License-Identifier: Apache-2.0 */
/* From committed to published: a batch of transactions is handed to the writer
 * while no other is being written, and is published when it is durable. Changes
 * that arrive meanwhile form the next batch.
 */
#include <errno.h>

#include "controller/store/directory/disk_reserve.h"
#include "controller/store/event_writer.h"
#include "controller/store/expiry.h"
#include "controller/store/memory/change_log.h"
#include "controller/store/memory/object_index.h"
#include "controller/store/memory/watchers.h"
#include "controller/store/past_events.h"
#include "controller/store/store_metrics.h"
#include "controller/store/store_state.h"
#include "controller/store/write/batch.h"
#include "controller/store/write/undo_log.h"
#include "controller/store/write/writer.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/timer.h"

/* --- a full disk ------------------------------------------------------------------------ */

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

static void
note_space(struct store *s)
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
static void
refuse(struct store *s, struct batch *batch, const struct error *err)
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

static void
notify_refused(struct store *s)
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

/* --- publishing ------------------------------------------------------------------------ */

static void
publish_head(struct store *s, const struct change *c)
{
    const struct kind *kind = object_index_kind(c->objects);
    const struct object *now = c->is_removal ? NULL : c->new_object;
    struct section *section = contents_section(&s->contents, kind);

    if (c->entry->heads[STORE_PUBLISHED] != NULL)
        section->count--;
    if (now != NULL)
        section->count++;
    if (section->expiry != NULL && now != NULL)
        expiry_touch(section->expiry, c->entry, now);
    else if (section->expiry != NULL)
        expiry_forget(section->expiry, c->entry);
    contents_set_head(&s->contents, c->entry, kind, STORE_PUBLISHED,
                      now != NULL ? object_ref(now) : NULL);
}

void
store_trim(void *store)
{
    struct store *s = store;
    int64_t now = clock_monotonic_us(s->settings.clock);

    change_log_trim(s->change_log, s->settings.log_bytes, now - s->settings.log_age_s * 1000000);
}

/* First sets the published heads of all objects, then notifies the watchers. */
static void
publish(struct store *s, struct batch *batch, uint64_t end)
{
    uint64_t first = change_log_published(s->change_log);

    while (change_log_published(s->change_log) < end)
        publish_head(s, change_log_publish(s->change_log));
    for (uint64_t n = first; n < end; n++)
        watchers_notify(s->watchers, change_log_get(s->change_log, n));
    event_writer_gather(s->events, batch_take_events(batch));
    batch_run_waiters(batch, 0);
    batch_free(batch);
    store_trim(s);
    event_writer_submit(s->events);
}

/* Revisions that no durable change has are safe as long as they are reserved,
 * so the renewal of a lease needs no write.
 */
static bool
needs_disk(const struct store *s)
{
    size_t n_ops;

    (void)batch_ops(s->gathering, &n_ops);
    return n_ops > 0
           || s->committed.revision + REVISIONS_RESERVED / 4 > writer_durable(s->writer)->reserved;
}

static void
note_under_way(struct store *s, struct batch *batch)
{
    s->under_way = batch;
    s->under_way_end = s->committed_end;
    s->under_way_since_us = clock_monotonic_us(s->settings.clock);
}

static void
submit(struct store *s, struct batch *batch)
{
    struct engine_counters after = s->committed;
    int64_t reserved = writer_durable(s->writer)->reserved;

    after.reserved = reserved;
    if (after.revision + REVISIONS_RESERVED / 2 > reserved)
        after.reserved = after.revision + REVISIONS_RESERVED;
    note_under_way(s, batch);
    writer_submit(s->writer, batch, &after);
}

static struct batch *
take_gathered(struct store *s)
{
    struct batch *batch = s->gathering;

    s->gathering = batch_new();
    return batch;
}

/* Writes the last state of objects that change too often to be written each time.
 * That is the pending one, and not what is published: the batch has those changes, too.
 */
static void
add_volatile(struct batch *batch, const struct section *section)
{
    for (struct entry *e = object_index_first(section->objects); e; e = e->next[0]) {
        const struct object *object = e->heads[STORE_PENDING];

        if (object != NULL)
            batch_add(batch,
                      &(struct engine_op){
                          .verb = ENGINE_UPDATE,
                          .row = e->row,
                          .revision = object->revision,
                          .bytes = batch_text(batch, object),
                          .length = object->length,
                      },
                      object);
    }
}

/* An orderly stop leaves no gap in the revisions, so that watches can resume
 * where they were. The gathered changes are in this batch, too.
 */
static void
submit_last(struct store *s)
{
    struct engine_counters after = s->committed;
    struct batch *batch = take_gathered(s);

    for (unsigned i = 0; i < n_kinds; i++)
        if (kind_is(kinds[i], KIND_VOLATILE))
            add_volatile(batch, &s->contents.sections[i]);
    after.reserved = after.revision;
    s->wants_last = false;
    s->is_draining = true;
    note_under_way(s, batch);
    writer_submit_last(s->writer, batch, &after);
}

void
store_submit_batch(void *store)
{
    struct store *s = store;

    s->is_flushing = false;
    notify_refused(s);
    if (s->has_failed || s->is_draining || writer_is_busy(s->writer)
        || batch_is_empty(s->gathering))
        return;
    if (needs_disk(s))
        submit(s, take_gathered(s));
    else
        publish(s, take_gathered(s), s->committed_end);
}

/* The flush is delayed to the end of this turn of the loop, so that further
 * changes of the turn join the batch.
 */
void
store_flush_soon(struct store *s)
{
    if (s->is_flushing || writer_is_busy(s->writer))
        return;
    s->is_flushing = true;
    timer_start(s->flush, 0);
}

static void
end_last(struct store *s, int outcome)
{
    store_done_fn *finished = s->finished;

    s->finished = NULL;
    if (finished != NULL)
        finished(outcome, s->finished_context);
}

static void
fail(struct store *s, const struct error *err)
{
    s->has_failed = true;
    if (!s->is_draining) {
        s->settings.failed(err, s->settings.context);
        return;
    } /* all acknowledged changes are durable */
    log_warning("Stopping leaves a gap in the revisions: %s", err->text);
    end_last(s, err->code);
}

/* A process that another one has replaced must end although nobody writes. */
void
store_check_engine(void *store)
{
    struct store *s = store;
    struct error why = {0};
    int r = s->has_failed || s->is_draining ? 0 : s->engine->ops->check(s->engine, &why);

    if (r == -ESTALE)
        fail(s, &why);
    if (r == -EAGAIN && !s->waits_for_database)
        log_warning("%s", why.text);
    s->waits_for_database = r == -EAGAIN;
}

/* The next batch is submitted before this one is published, so that the disk
 * works meanwhile.
 */
void
store_on_committed(struct batch *batch, enum engine_outcome outcome, const struct error *err,
                   void *store)
{
    struct store *s = store;
    uint64_t end = s->under_way_end;

    s->under_way = NULL;
    if (outcome == ENGINE_REFUSED) {
        refuse(s, batch, err);
        if (s->is_draining)
            fail(s, err);
        return;
    }
    if (outcome != ENGINE_COMMITTED) {
        s->lost = batch;
        fail(s, err);
        return;
    }
    note_space(s);
    store_metrics_commit(s->metrics, end - change_log_published(s->change_log),
                         clock_monotonic_us(s->settings.clock) - s->under_way_since_us);
    if (s->wants_last && event_writer_has_finished(s->events))
        submit_last(s);
    else if (!s->is_draining && needs_disk(s) && !batch_is_empty(s->gathering))
        submit(s, take_gathered(s));
    publish(s, batch, end);
    if (s->is_draining && !writer_is_busy(s->writer))
        end_last(s, 0);
    else if (!batch_is_empty(s->gathering))
        store_flush_soon(s);
}

void
store_try_last(void *store)
{
    struct store *s = store;

    if (s->wants_last && event_writer_has_finished(s->events) && !s->has_failed
        && !writer_is_busy(s->writer))
        submit_last(s);
}

int
store_copies(const struct store *s)
{
    return s->engine->ops->copies(s->engine);
}

bool
store_is_in_database(const struct store *s)
{
    return s->settings.location.database != NULL;
}

bool
store_waits(const struct store *s)
{
    return s->engine->ops->check(s->engine, NULL) < 0;
}

void
store_when_durable(struct store *s, store_done_fn *done, void *context)
{
    bool all_is_published = s->committed_end == change_log_published(s->change_log);

    if (!batch_is_empty(s->gathering))
        batch_wait(s->gathering, done, context);
    else if (s->under_way != NULL)
        batch_wait(s->under_way, done, context);
    else if (all_is_published && !s->has_failed)
        done(0, context);
    else
        batch_wait(s->gathering, done, context);
}

static void
stop_engines(struct store *s)
{
    past_events_stop(s->past_events);
    s->engine->ops->stop(s->engine);
    event_writer_stop(s->events);
}

/* The events of now come first: who leads next reads them when it begins. False if there
 * is no last batch any more.
 */
static bool
begin_last(struct store *s)
{
    if (s->has_failed || s->is_draining)
        return false;
    if (!s->wants_last)
        event_writer_finish(s->events);
    s->wants_last = true;
    store_try_last(s);
    return true;
}

void
store_finish(struct store *s, store_done_fn *done, void *context)
{
    stop_engines(s);
    s->finished = done;
    s->finished_context = context;
    if (!begin_last(s))
        end_last(s, 0);
}

static void
drain_batches(struct store *s)
{
    (void)begin_last(s);
    while (!s->has_failed && (s->wants_last || writer_is_busy(s->writer))) {
        writer_drain(s->writer);
        event_writer_drain(s->events);
    }
    event_writer_drain_all(s->events);
}

/* The outcome will never be known; the waiters are called so that they can free
 * their contexts.
 */
static void
give_up_waiters(struct store *s)
{
    if (s->lost != NULL)
        batch_run_waiters(s->lost, -EIO);
    batch_run_waiters(s->gathering, -EIO);
    batch_run_waiters(s->refused, -ENOSPC);
}

void
store_drain(struct store *s)
{
    stop_engines(s);
    drain_batches(s);
    give_up_waiters(s);
}
