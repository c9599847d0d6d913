/* SPDX-License-Identifier: Apache-2.0 */
/* Events tell people what happened; no decision depends on them. So a burst of events, a
 * full disk or a table that somebody has locked must cost jobs nothing: events are never in
 * a batch with other changes, too many of them stay in memory only, and after a failure the
 * store goes on without writing them. Only at its end the store would like to have them on
 * the disk, because the next leader reads them there; it waits half a second for that.
 */
#include "controller/store/event_writer.h"

#include <stdlib.h>

#include "controller/store/engine/engine.h"
#include "controller/store/write/batch.h"
#include "controller/store/write/writer.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/timer.h"

#define OPS_WAITING 20000

/* How long the last batch, and so the next leader, waits for the events of now. */
#define FINISH_MS 500

struct event_writer {
    struct event_writer_settings settings;
    struct writer *writer;
    struct batch *gathering;
    struct timer *patience;
    unsigned left; /* batches before the last one of the store */
    bool has_dropped;
    bool is_off; /* the database of the events has failed */
};

void
event_writer_gather(struct event_writer *w, struct batch *batch)
{
    size_t waiting, more;

    if (batch == NULL)
        return;
    (void)batch_ops(w->gathering, &waiting);
    (void)batch_ops(batch, &more);
    if (w->is_off) {
        batch_free(batch);
        return;
    }
    if (waiting + more > OPS_WAITING) {
        if (!w->has_dropped)
            log_warning("Events come faster than they can be written, "
                        "keeping some in memory only");
        w->has_dropped = true;
        batch_free(batch);
        return;
    }
    batch_append(w->gathering, batch);
}

void
event_writer_drop(struct event_writer *w, int64_t row)
{
    if (w->is_off)
        return;
    batch_add(w->gathering,
              &(struct engine_op){
                  .verb = ENGINE_DELETE,
                  .row = row,
              },
              NULL);
}

void
event_writer_submit(struct event_writer *w)
{
    struct engine_counters after = *writer_durable(w->writer);
    struct batch *batch = w->gathering;

    if (writer_is_busy(w->writer) || batch_is_empty(batch))
        return;
    after.revision = *w->settings.revision;
    w->gathering = batch_new();
    writer_submit(w->writer, batch, &after);
}

static void
note_outcome(struct event_writer *w, enum engine_outcome outcome, const struct error *err)
{
    if (outcome == ENGINE_REFUSED) {
        if (!w->has_dropped)
            log_warning("Some events are kept in memory only: %s", err->text);
        w->has_dropped = true;
    } else if (outcome != ENGINE_COMMITTED) {
        log_warning("Events are kept in memory only from now on: %s", err->text);
        w->is_off = true;
        batch_free(w->gathering);
        w->gathering = batch_new();
    }
}

static void
written(struct batch *batch, enum engine_outcome outcome, const struct error *err, void *context)
{
    struct event_writer *w = context;

    batch_free(batch);
    note_outcome(w, outcome, err);
    if (w->is_off)
        w->left = 0;
    else
        event_writer_submit(w);
    if (w->left > 0)
        w->left--;
    w->settings.finished(w->settings.context);
}

/* Somebody may have locked their table, and jobs are not to wait for that. */
static void
give_up(void *context)
{
    struct event_writer *w = context;

    if (w->left > 0)
        log_warning("The last events are not written: their table does not answer in time");
    w->left = 0;
    w->settings.finished(w->settings.context);
}

void
event_writer_finish(struct event_writer *w)
{
    w->left = (writer_is_busy(w->writer) ? 1U : 0U) + (batch_is_empty(w->gathering) ? 0U : 1U);
    timer_start(w->patience, FINISH_MS);
    event_writer_submit(w);
}

bool
event_writer_has_finished(const struct event_writer *w)
{
    return w->left == 0;
}

bool
event_writer_is_busy(const struct event_writer *w)
{
    return writer_is_busy(w->writer);
}

void
event_writer_stop(struct event_writer *w)
{
    const struct engine_ops *ops = w->settings.engine->ops;

    if (ops->stop != NULL)
        ops->stop(w->settings.engine);
}

void
event_writer_drain(struct event_writer *w)
{
    writer_drain(w->writer);
}

void
event_writer_drain_all(struct event_writer *w)
{
    while (writer_is_busy(w->writer) || !batch_is_empty(w->gathering)) {
        event_writer_submit(w);
        writer_drain(w->writer);
    }
}

void
event_writer_free(struct event_writer *w)
{
    if (w == NULL)
        return;
    writer_free(w->writer);
    timer_free(w->patience);
    batch_free(w->gathering);
    free(w);
}

struct event_writer *
event_writer_new(const struct event_writer_settings *settings)
{
    struct event_writer *w = xnew(struct event_writer);

    w->settings = *settings;
    w->settings.counters = NULL; /* the caller's */
    w->gathering = batch_new();
    w->patience = timer_new(settings->loop, give_up, w);
    w->writer = writer_new(&(struct writer_settings){
        .loop = settings->loop,
        .engine = settings->engine,
        .counters = *settings->counters,
        .thread_name = "kiln-events",
        .backlog = settings->backlog,
        .done = written,
        .context = w,
    });
    return w;
}
