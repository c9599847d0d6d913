/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite syncs each commit, which takes milliseconds on a good disk and seconds on a bad one. One
 * thread writes what has gathered meanwhile in one transaction, so a slow disk makes batches
 * larger, not the loop slower. Each order is whole before the next one: the loop knows at any time
 * what is on the disk.
 */
#include "controller/history/history_writer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/history/history_file.h"
#include "controller/history/history_index.h"
#include "controller/history/history_replica.h"
#include "controller/store/write/serial_worker.h"
#include "lib/api/cluster/step_record.h"
#include "lib/api/job/history_row.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/log.h"

#define DROP_AT_ONCE 2000

struct history_writer {
    struct serial_worker_task task;
    struct serial_worker *worker;
    struct history_order *order; /* pending, or NULL */
    history_done_fn *done;
    void *context;
    atomic_bool stops_indexing;

    /* Used only by the writer's thread. */
    char *path;
    struct history_file *file;
    struct history_replica *replica;
    char *cluster, *lost;
};

void
history_queue_fini(struct history_queue *q)
{
    for (size_t i = 0; i < q->count; i++) {
        object_unref(q->items[i].pod);
        object_unref(q->items[i].job);
        free(q->items[i].text);
        free(q->items[i].deleted_by);
    }
    free(q->items);
    *q = (struct history_queue){0};
}

void
history_queue_add(struct history_queue *q, const struct history_end *like, const char *text,
                  const char *deleted_by, const char *key)
{
    struct history_end *end;

    if (q->count == q->capacity) {
        q->capacity = q->capacity > 0 ? q->capacity * 2 : 64;
        q->items = xrealloc_array(q->items, q->capacity, sizeof(q->items[0]));
    }
    end = &q->items[q->count++];
    *end = (struct history_end){
        .pod = like->pod != NULL ? object_ref(like->pod) : NULL,
        .job = like->job != NULL ? object_ref(like->job) : NULL,
        .text = text != NULL ? xstrdup(text) : NULL,
        .deleted_by = deleted_by != NULL ? xstrdup(deleted_by) : NULL,
        .at_us = like->at_us,
    };
    (void)snprintf(end->key, sizeof(end->key), "%s", key);
}

void
history_order_free(struct history_order *order)
{
    if (order == NULL)
        return;
    free(order->cluster);
    free(order->lost);
    history_queue_fini(&order->queue);
    while (order->batches != NULL) {
        struct history_batch *b = order->batches;

        order->batches = b->next;
        free(b->text);
        free(b);
    }
    strbuf_fini(&order->notice);
    free(order);
}

/* ---- The thread ---- */

static int
open_file(struct history_writer *w, struct history_order *order, int64_t store_revision)
{
    const struct history_origin origin = {
        .cluster = w->cluster,
        .revision = store_revision,
        .lost = w->lost,
        .epoch = order->epoch, /* only in an order to open */
        .opened_at = order->opened_at,
    };

    int r = history_file_open(w->path, &origin, &w->file, &order->notice, &order->err);

    if (r == 0)
        r = history_replica_catch_up(w->replica, w->file, &order->err);
    if (r < 0) {
        history_file_close(w->file);
        w->file = NULL;
    }
    return r;
}

static bool
read_row(const struct history_end *end, struct arena *arena, struct history_row *row)
{
    if (end->text != NULL)
        return history_replica_read_row(arena, end->text, strlen(end->text), row);
    if (end->pod != NULL)
        history_row_of_pod(row, arena, end->pod, end->job, end->deleted_by, end->at_us);
    else
        history_row_of_job(row, arena, end->job, end->at_us);
    return true;
}

/* A row that cannot be written because of a bug must not keep the others from
 * being written.
 */
static int
add_all(struct history_writer *w, struct history_order *order)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct arena_mark mark = arena_mark(arena);
    int r = 0;

    for (size_t i = 0; r >= 0 && i < order->queue.count; i++) {
        struct history_row row;

        arena_rewind(arena, &mark);
        if (!read_row(&order->queue.items[i], arena, &row)) {
            log_error("A row of history cannot be read, leaving it out (%s)",
                      order->queue.items[i].key);
            continue;
        }
        r = history_file_add(w->file, &row, &order->err);
        if (r > 0)
            history_replica_keep(w->replica, &row, order->queue.items[i].text,
                                 order->queue.items[i].key);
        if (r == -EPROTO) {
            log_error("A row of history cannot be written, leaving it out "
                      "(%s): %s",
                      order->queue.items[i].key, order->err.text);
            r = 0;
        }
        if (r > 0)
            order->rows++;
    }
    return r < 0 ? r : 0;
}

/* Whether other controllers need it: the figures of steps that go on come again. */
static bool
is_shared(const struct step_batch *batch)
{
    for (uint32_t i = 0; i < batch->steps.count; i++)
        if (batch->steps.items[i].end_at_us > 0
            || batch->steps.items[i].observed_at_us <= batch->steps.items[i].start_at_us)
            return true;
    return batch->omitted > 0;
}

static int
add_batches(struct history_writer *w, struct history_order *order)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct arena_mark mark = arena_mark(arena);

    for (struct history_batch *b = order->batches; b != NULL; b = b->next) {
        struct step_batch batch;

        arena_rewind(arena, &mark);
        b->result = history_replica_read_steps(arena, b->text, strlen(b->text), &batch)
                        ? history_file_add_steps(w->file, &batch, &order->err)
                        : -EINVAL;
        if (b->result > 0 && is_shared(&batch))
            history_replica_keep_steps(w->replica, &batch, b->text);
        if (b->result < 0 && b->result != -ENOENT && b->result != -EINVAL && b->result != -EPROTO)
            return b->result;
    }
    return 0;
}

static int
write_queue(struct history_writer *w, struct history_order *order)
{
    int r = history_file_begin(w->file, &order->err);

    if (r == 0)
        r = add_all(w, order);
    if (r == 0)
        r = add_batches(w, order);
    if (r == 0)
        r = history_replica_append(w->replica, w->file, &order->err);
    if (r == 0)
        r = history_file_commit(w->file, order->revision, &order->err);
    if (r < 0) {
        history_file_rollback(w->file);
        history_replica_discard(w->replica);
        order->rows = 0;
    }
    return r;
}

/* Begins a new file, and writes at least the queued rows. */
static int
begin_anew(struct history_writer *w, struct history_order *order)
{
    int r;

    history_file_close(w->file);
    w->file = NULL;
    history_file_set_aside(w->path, "damaged", order->err.text, &order->notice);
    r = open_file(w, order, INT64_MAX);
    order->is_new = r == 0;
    order->revision = 0;
    return r == 0 ? write_queue(w, order) : r;
}

static int
drop_old(struct history_writer *w, struct history_order *order)
{
    int r = history_replica_drop(w->replica, order->before_s, &order->err);

    if (r < 0)
        log_warning("Old rows of the shared history are kept for now: %s", order->err.text);
    order->dropped =
        history_file_drop(w->file, order->before_s, order->max_bytes, DROP_AT_ONCE, &order->err);
    return order->dropped < 0 ? (int)order->dropped : 0;
}

static void
work(struct serial_worker_task *task)
{
    struct history_writer *w = container_of(task, struct history_writer, task);
    struct history_order *order = w->order;

    if (order->what == HISTORY_OPEN) {
        free(w->cluster);
        free(w->lost);
        w->cluster = xstrdup(order->cluster);
        w->lost = xstrdup(order->lost);
        order->result = open_file(w, order, order->store_revision);
    } else if (w->file == NULL && (order->result = open_file(w, order, INT64_MAX)) < 0) {
        log_debug("cannot open history yet: %s", order->err.text);
    } else if (order->what == HISTORY_WRITE) {
        order->result = write_queue(w, order);
        if (order->result == -EUCLEAN)
            order->result = begin_anew(w, order);
    } else if (order->what == HISTORY_INDEX)
        order->result = history_index_build(w->path, &w->stops_indexing, &order->err);
    else
        order->result = drop_old(w, order);
    if (w->file != NULL) {
        order->watermark = history_file_watermark(w->file);
        order->bytes = history_file_bytes(w->file);
    }
}

/* ---- The loop ---- */

static void
done(struct serial_worker_task *task)
{
    struct history_writer *w = container_of(task, struct history_writer, task);
    struct history_order *order = w->order;

    w->order = NULL;
    w->done(order, w->context);
}

struct history_writer *
history_writer_new(struct loop *loop, const char *path, const char *database,
                   history_done_fn *done_fn, void *context)
{
    struct history_writer *w = xnew(struct history_writer);

    w->path = xstrdup(path);
    w->replica = history_replica_new(database);
    w->worker = serial_worker_new(loop, "history");
    w->done = done_fn;
    w->context = context;
    w->task.work = work;
    w->task.done = done;
    return w;
}

void
history_writer_free(struct history_writer *w)
{
    if (w == NULL)
        return;
    serial_worker_free(w->worker);
    history_file_close(w->file);
    history_replica_free(w->replica);
    free(w->cluster);
    free(w->lost);
    free(w->path);
    free(w);
}

void
history_writer_submit(struct history_writer *w, struct history_order *order)
{
    w->order = order;
    serial_worker_submit(w->worker, &w->task);
}

void
history_writer_drain(struct history_writer *w)
{
    serial_worker_drain(w->worker);
}

void
history_writer_stop_indexing(struct history_writer *w)
{
    atomic_store(&w->stops_indexing, true);
}

bool
history_writer_is_busy(const struct history_writer *w)
{
    return w->order != NULL;
}
