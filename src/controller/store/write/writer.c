/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/write/writer.h"

#include "controller/store/write/batch.h"
#include "controller/store/write/serial_worker.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

/* When the log is copied back. The size is small enough that start-up after a
 * crash is quick and that the same blocks are written again and again, which
 * wears a disk less than new ones.
 */
#define BACKLOG_BYTES       (16u << 20)
#define BACKLOG_BYTES_SPARE (256u << 10) /* while the disk is full */

/* The batch that is being written. The writer's thread reads it and fills in
 * the result.
 */
struct commit {
    struct serial_worker_task task;
    struct batch *batch;
    struct engine_batch order;
    enum engine_outcome outcome;
    struct error err;
    size_t backlog;
};

struct wal_copy {
    struct serial_worker_task task;
    bool is_under_way;
    int result;
    struct error err;
    size_t backlog; /* left after the copy */
    size_t threshold;
};

struct writer {
    struct engine *engine;
    struct serial_worker *worker;
    struct serial_worker *checkpointer;
    size_t backlog; /* size at which the log is copied back */
    struct engine_counters durable;
    struct commit commit;
    struct wal_copy copying;
    bool is_busy;
    bool has_failed;
    bool spares;
    writer_done_fn *done;
    void *context;
};

static void
copy_back_work(struct serial_worker_task *task)
{
    struct wal_copy *c = container_of(task, struct wal_copy, task);
    struct writer *w = container_of(c, struct writer, copying);

    c->result = w->engine->ops->checkpoint(w->engine, &c->err);
}

static void
settle_work(struct serial_worker_task *task)
{
    struct wal_copy *c = container_of(task, struct wal_copy, task);
    struct writer *w = container_of(c, struct writer, copying);

    c->result = w->engine->ops->finish_checkpoint(w->engine, &c->err);
    c->backlog = w->engine->ops->backlog(w->engine);
}

/* If the copy failed or a reader held it up, it is tried again when the log has
 * grown by as much again.
 */
static void
settle_done(struct serial_worker_task *task)
{
    struct wal_copy *c = container_of(task, struct wal_copy, task);
    struct writer *w = container_of(c, struct writer, copying);

    c->is_under_way = false;
    c->threshold = w->spares ? BACKLOG_BYTES_SPARE : c->backlog + w->backlog;
    if (c->result < 0)
        log_warning("Checkpointing the database log failed, trying again "
                    "later: %s",
                    c->err.text);
}

static void
copy_back_done(struct serial_worker_task *task)
{
    struct wal_copy *c = container_of(task, struct wal_copy, task);
    struct writer *w = container_of(c, struct writer, copying);

    if (c->result < 0) {
        c->backlog = c->threshold;
        settle_done(task);
        return;
    }
    c->task.work = settle_work;
    c->task.done = settle_done;
    serial_worker_submit(w->worker, &c->task);
}

static void
checkpoint(struct writer *w)
{
    struct wal_copy *c = &w->copying;

    c->is_under_way = true;
    c->task.work = copy_back_work;
    c->task.done = copy_back_done;
    serial_worker_submit(w->checkpointer != NULL ? w->checkpointer : w->worker, &c->task);
}

static void
commit_work(struct serial_worker_task *task)
{
    struct commit *c = container_of(task, struct commit, task);
    struct writer *w = container_of(c, struct writer, commit);

    c->outcome = w->engine->ops->apply(w->engine, &c->order, &c->err);
    c->backlog = w->engine->ops->backlog(w->engine);
}

static void
commit_done(struct serial_worker_task *task)
{
    struct commit *c = container_of(task, struct commit, task);
    struct writer *w = container_of(c, struct writer, commit);
    struct batch *batch = c->batch;

    c->batch = NULL;
    w->is_busy = false;
    if (c->outcome != ENGINE_COMMITTED) {
        w->has_failed = c->outcome != ENGINE_REFUSED;
        w->done(batch, c->outcome, &c->err, w->context);
        return;
    }
    w->durable = c->order.after;
    if (c->backlog >= w->copying.threshold && !w->copying.is_under_way)
        checkpoint(w);
    w->done(batch, c->outcome, NULL, w->context);
}

struct writer *
writer_new(const struct writer_settings *settings)
{
    struct writer *w = xnew(struct writer);

    w->engine = settings->engine;
    w->durable = settings->counters;
    w->checkpointer = settings->checkpointer;
    w->done = settings->done;
    w->context = settings->context;
    w->worker = serial_worker_new(settings->loop, settings->thread_name);
    w->backlog = settings->backlog > 0 ? settings->backlog : BACKLOG_BYTES;
    w->copying.threshold = w->backlog;
    w->commit.task.work = commit_work;
    w->commit.task.done = commit_done;
    return w;
}

/* A copy moves from one worker to the other. */
void
writer_drain(struct writer *w)
{
    do {
        serial_worker_drain(w->worker);
        if (w->checkpointer != NULL)
            serial_worker_drain(w->checkpointer);
    } while (serial_worker_length(w->worker) > 0);
}

void
writer_free(struct writer *w)
{
    if (w == NULL)
        return;
    writer_drain(w);
    serial_worker_free(w->worker);
    w->engine->ops->close(w->engine);
    free(w);
}

static void
submit(struct writer *w, struct batch *batch, const struct engine_counters *after, bool is_last)
{
    struct commit *c = &w->commit;

    w->is_busy = true;
    if (w->has_failed) { /* no callback will ever run again */
        batch_free(batch);
        return;
    }
    c->batch = batch;
    c->order.expected_revision = w->durable.revision;
    c->order.after = *after;
    c->order.is_last = is_last;
    c->order.ops = batch_ops(batch, &c->order.n_ops);
    serial_worker_submit(w->worker, &c->task);
}

void
writer_submit(struct writer *w, struct batch *batch, const struct engine_counters *after)
{
    submit(w, batch, after, false);
}

void
writer_submit_last(struct writer *w, struct batch *batch, const struct engine_counters *after)
{
    submit(w, batch, after, true);
}

void
writer_spare(struct writer *w, bool spares)
{
    w->spares = spares;
    w->copying.threshold = spares ? BACKLOG_BYTES_SPARE : w->backlog;
    if (spares && !w->copying.is_under_way && !w->has_failed)
        checkpoint(w);
}

bool
writer_is_busy(const struct writer *w)
{
    return w->is_busy;
}

const struct engine_counters *
writer_durable(const struct writer *w)
{
    return &w->durable;
}
