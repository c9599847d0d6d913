/* SPDX-License-Identifier: Apache-2.0 */
/* A leader that takes over answers for jobs and nodes as soon as it has them. There may
 * be as many events as jobs, nothing depends on them, and to read them first made all
 * users wait a second longer. So a thread reads them in slices from a session of its own,
 * and the loop takes each slice between requests. Until the last one, nobody is shown a
 * part of the events as if it was all: who asks for them is told to ask again.
 *
 * Rows that this leader has written meanwhile are left alone, and so is an object that
 * was made meanwhile under the name of one that is not read yet: the newer one stays.
 */
#include "controller/store/past_events.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "controller/store/engine/checksum.h"
#include "controller/store/engine/engine.h"
#include "controller/store/event_writer.h"
#include "controller/store/row_decoder.h"
#include "controller/store/write/serial_worker.h"
#include "lib/api/object/dictionary_objects.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/timer.h"

/* Decoded at once by the thread, and put into the indexes at once by the loop. */
#define SLICE_ROWS 500

/* A database that is away, or a table that is locked. */
#define AGAIN_MS   1000
#define TRIES_MOST 10

struct past_event {
    int64_t row;
    const struct object *object; /* NULL: it cannot be read */
};

struct past_events {
    struct past_events_settings settings;
    struct engine *engine; /* NULL when all is read */
    struct serial_worker *worker;
    struct serial_worker_task task;
    struct timer *again;
    struct engine_scan *scan;
    struct dictionary_objects *dictionaries; /* the thread's */
    struct row_decoder *decoder;
    struct past_event slice[SLICE_ROWS];
    size_t n;
    int result; /* 1: there is more to read */
    struct error err;
    unsigned tries, unreadable;
    atomic_bool is_stopped;
    bool is_read;
};

/* --- the thread ----------------------------------------------------------------------- */

static void
decode(struct past_events *p, const struct engine_row *row)
{
    struct past_event *made = &p->slice[p->n++];
    const struct kind *kind =
        row->is_lone_change ? NULL : p->settings.kind(row->kind, p->settings.context);

    *made = (struct past_event){.row = row->row};
    if (kind == NULL || checksum_verify(row, &p->err) < 0)
        return;
    if (row_decode(p->decoder, kind, row, &made->object, &p->err) < 0)
        made->object = NULL;
}

static int
read_slice(struct past_events *p)
{
    const struct engine_ops *ops = p->engine->ops;
    struct engine_row row;
    int r = p->scan != NULL ? 0 : ops->scan_open(p->engine, &p->scan, &p->err);

    if (r < 0)
        return r;
    while (p->n < SLICE_ROWS && (r = ops->scan_next(p->scan, &row, &p->err)) > 0) {
        if (atomic_load(&p->is_stopped))
            return error_set(&p->err, -ECANCELED, "stopping");
        if (row.row <= p->settings.last_row)
            decode(p, &row);
    }
    return r;
}

static void
work(struct serial_worker_task *task)
{
    struct past_events *p = container_of(task, struct past_events, task);

    p->n = 0;
    p->result = read_slice(p);
    if (p->result > 0)
        return;
    if (p->scan != NULL)
        p->engine->ops->scan_close(p->scan);
    p->scan = NULL;
}

/* --- the loop ------------------------------------------------------------------------- */

/* A damaged event is not worth a place aside, and one whose name is taken would be in the
 * way of the next start.
 */
static void
place(struct past_events *p, const struct past_event *past)
{
    if (past->object == NULL)
        p->unreadable++;
    if (past->object == NULL || !p->settings.place(past->row, past->object, p->settings.context))
        event_writer_drop(p->settings.events, past->row);
}

static void
place_slice(struct past_events *p)
{
    for (size_t i = 0; i < p->n; i++) {
        place(p, &p->slice[i]);
        object_unref(p->slice[i].object);
    }
}

static void
end_reading(struct past_events *p)
{
    p->is_read = true;
    if (p->result < 0 && p->result != -ECANCELED)
        log_warning("Not all events of before are shown: %s", p->err.text);
    if (p->unreadable > 0)
        log_warning("%u events of before cannot be read and are dropped", p->unreadable);
    p->engine->ops->close(p->engine);
    p->engine = NULL;
}

static void
read_again(void *arg)
{
    struct past_events *p = arg;

    serial_worker_submit(p->worker, &p->task);
}

static void
done(struct serial_worker_task *task)
{
    struct past_events *p = container_of(task, struct past_events, task);

    place_slice(p);
    if (atomic_load(&p->is_stopped) || p->result == 0)
        end_reading(p);
    else if (p->result > 0)
        read_again(p);
    else if (p->result == -EAGAIN && ++p->tries < TRIES_MOST)
        timer_start(p->again, AGAIN_MS);
    else
        end_reading(p);
}

bool
past_events_are_read(const struct past_events *p)
{
    return p == NULL || p->is_read;
}

void
past_events_stop(struct past_events *p)
{
    if (p == NULL || p->is_read)
        return;
    atomic_store(&p->is_stopped, true);
    timer_stop(p->again);
    p->engine->ops->stop(p->engine);
}

void
past_events_free(struct past_events *p)
{
    if (p == NULL)
        return;
    past_events_stop(p);
    serial_worker_free(p->worker);
    if (p->engine != NULL)
        p->engine->ops->close(p->engine);
    timer_free(p->again);
    row_decoder_free(p->decoder);
    dictionary_objects_free(p->dictionaries);
    free(p);
}

struct past_events *
past_events_new(const struct past_events_settings *settings, struct engine *engine)
{
    struct past_events *p = xnew(struct past_events);

    p->settings = *settings;
    p->engine = engine;
    p->worker = serial_worker_new(settings->loop, "kiln-past");
    p->task.work = work;
    p->task.done = done;
    p->again = timer_new(settings->loop, read_again, p);
    p->dictionaries = dictionary_objects_new();
    p->decoder = row_decoder_new(p->dictionaries);
    read_again(p);
    return p;
}
