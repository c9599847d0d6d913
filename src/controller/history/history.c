/* SPDX-License-Identifier: Apache-2.0 */
/* History may fall behind at any time: the disk is slow or full, an index is being made, the
 * thread has not opened the file. Whatever waited for it would then stand still, so nothing
 * does, and the queue of ends is bounded. An end that finds it full is not remembered: all that
 * is needed to find it again is the revision from which on the store's objects must be read, the
 * watermark, which moves only with what is on the disk.
 */
#include "controller/history/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/history/history_outbox.h"
#include "controller/history/history_questions.h"
#include "controller/history/history_writer.h"
#include "controller/store/directory/backup.h"
#include "controller/store/store.h"
#include "lib/api/cluster/step_record.h"
#include "lib/api/job/history_row.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_array.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/metric.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/loop/timer.h"

#define FILE_NAME    "history.db"
#define GATHER_MS    100  /* in which the rows of a batch gather */
#define RETRY_MS     5000 /* after a failure */
#define OPEN_MS      50   /* until the cluster has its uid */
#define DROP_MS      60000
#define QUEUE_MOST   20000       /* ends that wait with their objects, if nothing else is set */
#define SLICE        2000        /* objects visited in one turn of the loop */
#define BATCHES_MOST (64u << 20) /* bytes of steps that wait */

/* A pass over the store's objects for ends after a revision: at the start,
 * after ends that found the queue full, and for a new file.
 */
struct rescan {
    bool is_wanted, is_under_way;
    bool is_of_jobs; /* the second half: Jobs */
    int64_t from;    /* only ends after this revision */
    char after[OBJECT_KEY_SIZE];
    unsigned visited;
};

struct history {
    struct history_settings s;
    struct history_writer *writer;
    struct history_questions *questions;
    struct history_outbox *outbox;
    struct store_watch *pods, *jobs;
    struct history_queue queue;
    struct history_batch *batches; /* of steps, in no order */
    size_t batch_bytes;
    struct map *unwritten; /* keys of rows that are not on the disk */
    struct rescan rescan;
    struct timer *flush, *rescan_timer, *drop;
    bool is_open, is_stopping;
    int64_t watermark;
    int64_t bytes;
    uint64_t written;
    struct error trouble;
    char *notice;
    struct metric *rows_total, *failures_total;
};

/* ---- Ends ---- */

/* A Job that ended without a pod has a row of its own; so have the tasks of an
 * array that had none, and a Job that ended while it waited after a requeue.
 */
static bool
is_lone_end(const struct object *job)
{
    const struct job *j = job_of(job);
    const char *manager = j->spec.managed_by;

    return job_is_finished(j)
           && (j->status.attempts == 0 || job_has_unstarted_tasks(j) || history_row_waited_again(j))
           && (manager == NULL || strcmp(manager, MANAGED_BY_KILN) == 0);
}

/* Whether the object is a pod that has ended, or a Job whose end has a row of its own. */
static bool
is_end(const struct object *object)
{
    return object->kind == &pod_kind ? pod_is_finished(pod_of(object)) : is_lone_end(object);
}

static bool
is_full(const struct history *h)
{
    return h->queue.count >= h->s.queue_most;
}

static void
want_rescan(struct history *h, int64_t from)
{
    if (!h->rescan.is_wanted || from < h->rescan.from)
        h->rescan.from = from;
    h->rescan.is_wanted = true;
    h->rescan.is_under_way = false;
    h->rescan.is_of_jobs = false;
    h->rescan.after[0] = '\0';
}

static void
flush_soon(struct history *h)
{
    if (h->is_open && !timer_is_running(h->flush) && !history_writer_is_busy(h->writer))
        timer_start(h->flush, h->trouble.code != 0 ? RETRY_MS : GATHER_MS);
}

static void
add_end(struct history *h, const struct object *object)
{
    const bool is_pod = object->kind == &pod_kind;
    const char *deleted_by = NULL;
    struct history_end end;

    (void)map_put(h->unwritten, object->meta->uid, h);
    if (is_full(h)) {
        want_rescan(h, object->revision - 1);
        return;
    }
    end = (struct history_end){
        .pod = is_pod ? object : NULL,
        .job = is_pod ? history_outbox_find_job(h->outbox, STORE_PUBLISHED, object) : object,
        .at_us = clock_real_us(h->s.clock),
    };
    if (is_pod && end.job == NULL)
        deleted_by = history_outbox_find_deleter(h->outbox, object);
    history_queue_add(&h->queue, &end, NULL, deleted_by, object->meta->uid);
    flush_soon(h);
}

/* Queues a row that is kept in the store. If the queue is full, it stays there
 * until the next rescan.
 */
static void
add_secret(struct history *h, const char *uid, const char *text)
{
    const struct history_end end = {.at_us = clock_real_us(h->s.clock)};

    (void)map_put(h->unwritten, uid, h);
    if (is_full(h)) {
        want_rescan(h, store_revision(h->s.store));
        return;
    }
    history_queue_add(&h->queue, &end, text, NULL, uid);
    flush_soon(h);
}

static void
on_change(const struct store_change *change, void *context)
{
    struct history *h = context;
    const struct object *before = change->old_object;
    const struct object *after = change->new_object;
    const char *text;

    if (after != NULL && is_end(after) && (before == NULL || !is_end(before)))
        add_end(h, after);
    if (after != NULL || before == NULL || is_end(before))
        return;
    text = history_outbox_find(h->outbox, before->meta->uid);
    if (text != NULL)
        add_secret(h, before->meta->uid, text);
}

/* ---- Rescans ---- */

static bool
visit(const struct object *object, void *context)
{
    struct history *h = context;

    object_key(object, h->rescan.after);
    if (object->revision > h->rescan.from && is_end(object))
        add_end(h, object);
    return ++h->rescan.visited < SLICE && !is_full(h);
}

static void
visit_row(const char *uid, const char *text, void *context)
{
    add_secret(context, uid, text);
}

/* Runs in slices; when the queue is full, it continues once that is written. */
static void
rescan_slice(void *arg)
{
    struct history *h = arg;
    struct rescan *scan = &h->rescan;

    if (!scan->is_wanted || is_full(h) || h->is_stopping)
        return;
    if (!scan->is_under_way) {
        scan->is_under_way = true;
        history_outbox_visit(h->outbox, visit_row, h);
        if (!scan->is_under_way) { /* the secrets filled the queue */
            timer_start(h->rescan_timer, GATHER_MS);
            return;
        }
    }
    scan->visited = 0;
    (void)store_list(h->s.store, scan->is_of_jobs ? &job_kind : &pod_kind, NULL,
                     scan->after[0] != '\0' ? scan->after : NULL, 0, visit, h);
    if (!scan->is_under_way)
        return;
    if (scan->visited < SLICE && !is_full(h)) {
        scan->after[0] = '\0';
        if (scan->is_of_jobs) {
            scan->is_wanted = false;
            scan->is_under_way = false;
            flush_soon(h);
            return;
        }
        scan->is_of_jobs = true;
    }
    timer_start(h->rescan_timer, is_full(h) ? GATHER_MS : 0);
}

/* ---- Orders ---- */

static struct history_order *
make_order(int what)
{
    struct history_order *order = xnew(struct history_order);

    order->what = what;
    strbuf_init(&order->notice);
    return order;
}

/* The watermark moves only when no rescan is due. */
static void
flush(void *arg)
{
    struct history *h = arg;
    struct history_order *order;

    if (!h->is_open || history_writer_is_busy(h->writer)
        || (h->queue.count == 0 && h->batches == NULL))
        return;
    order = make_order(HISTORY_WRITE);
    order->queue = h->queue;
    order->batches = h->batches;
    h->batches = NULL;
    h->batch_bytes = 0;
    order->revision = h->rescan.is_wanted ? h->watermark : store_revision(h->s.store);
    h->queue = (struct history_queue){0};
    history_writer_submit(h->writer, order);
}

static void
take_notice(struct history *h, struct history_order *order)
{
    if (order->notice.length == 0)
        return;
    log_error("History: %s", order->notice.text);
    free(h->notice);
    h->notice = xstrdup(order->notice.text);
}

static void
log_trouble(struct history *h, const struct error *err)
{
    if (h->trouble.code == 0)
        log_error("cannot write history, trying again every %d s; everything "
                  "else continues, and rows wait: %s",
                  RETRY_MS / 1000, err->text);
    h->trouble = *err;
    if (h->trouble.code == 0)
        h->trouble.code = -EIO;
    if (h->failures_total != NULL)
        metric_count(h->failures_total, 1);
}

/* Ends gather meanwhile; those that find the queue full are read from the store
 * later.
 */
static void
make_indexes(struct history *h)
{
    if (!h->is_stopping)
        history_writer_submit(h->writer, make_order(HISTORY_INDEX));
}

static void
made_indexes(struct history *h, const struct history_order *order)
{
    if (order->result < 0 && order->result != -ECANCELED)
        log_warning("History lacks an index, so some queries are slow; "
                    "creating it is tried again at the next start: %s",
                    order->err.text);
    if (h->queue.count > 0 || h->batches != NULL)
        flush_soon(h);
}

static void
opened(struct history *h, struct history_order *order)
{
    if (order->result < 0) {
        log_trouble(h, &order->err);
        timer_start(h->flush, RETRY_MS);
        return;
    }
    h->trouble = (struct error){0};
    h->is_open = true;
    h->watermark = order->watermark;
    want_rescan(h, h->watermark);
    timer_start(h->rescan_timer, 0);
    history_questions_open(h->questions);
    timer_start(h->drop, 1000);
    make_indexes(h);
    flush_soon(h);
}

/* Puts the ends of a failed write back before those that came meanwhile; their
 * order does not matter.
 */
static void
put_back(struct history *h, struct history_queue *queue)
{
    for (size_t i = 0; i < h->queue.count; i++) {
        const struct history_end *e = &h->queue.items[i];

        history_queue_add(queue, e, e->text, e->deleted_by, e->key);
    }
    history_queue_fini(&h->queue);
    h->queue = *queue;
    *queue = (struct history_queue){0};
}

/* An agent repeats those that are not on the disk. */
static void
answer_batches(const struct history_order *order)
{
    for (const struct history_batch *b = order->batches; b != NULL; b = b->next) {
        const int result = order->result < 0 ? order->result : b->result;

        b->done(result < 0 ? result : 0, result < 0 ? &order->err : NULL, b->context);
    }
}

static void
remove_written(struct history *h, const struct history_queue *written)
{
    CLEANUP_FREE const char **uids = xnew_array(const char *, written->count + 1);

    for (size_t i = 0; i < written->count; i++)
        uids[i] = written->items[i].key;
    history_outbox_remove(h->outbox, uids, written->count);
}

static void
wrote(struct history *h, struct history_order *order)
{
    answer_batches(order);
    if (order->result < 0) {
        log_trouble(h, &order->err);
        put_back(h, &order->queue);
        flush_soon(h);
        return;
    }
    if (h->trouble.code != 0)
        log_info("History is written again");
    h->trouble = (struct error){0};
    h->written += order->rows;
    h->watermark = order->watermark;
    if (h->rows_total != NULL)
        metric_count(h->rows_total, order->rows);
    for (size_t i = 0; i < order->queue.count; i++)
        (void)map_remove(h->unwritten, order->queue.items[i].key);
    remove_written(h, &order->queue);
    if (order->is_new) {
        want_rescan(h, 0);
        history_questions_open(h->questions);
        make_indexes(h);
    }
    if (h->queue.count > 0 || h->batches != NULL)
        flush_soon(h);
    if (h->rescan.is_wanted)
        timer_start(h->rescan_timer, 0);
}

static void
dropped(struct history *h, const struct history_order *order)
{
    if (order->dropped > 0)
        log_debug("History: removed %lld old rows", (long long)order->dropped);
    if (order->result < 0)
        log_trouble(h, &order->err);
    if (!h->is_stopping)
        timer_start(h->drop, order->dropped > 0 ? GATHER_MS : DROP_MS);
    if (h->queue.count > 0 || h->batches != NULL)
        flush_soon(h);
}

static void
order_done(struct history_order *order, void *context)
{
    struct history *h = context;

    take_notice(h, order);
    if (order->bytes > 0)
        h->bytes = order->bytes;
    if (order->what == HISTORY_OPEN)
        opened(h, order);
    else if (order->what == HISTORY_WRITE)
        wrote(h, order);
    else if (order->what == HISTORY_INDEX)
        made_indexes(h, order);
    else
        dropped(h, order);
    history_order_free(order);
}

static void
drop_old(void *arg)
{
    struct history *h = arg;
    struct history_order *order;

    if (history_writer_is_busy(h->writer)) {
        timer_start(h->drop, GATHER_MS);
        return;
    }
    order = make_order(HISTORY_DROP);
    if (h->s.max_age_s > 0)
        order->before_s = clock_real_us(h->s.clock) / 1000000 - h->s.max_age_s;
    order->max_bytes = h->s.max_bytes;
    history_writer_submit(h->writer, order);
}

/* A new cluster has its uid once its first namespaces are on the disk. */
static void
open_file(struct history *h)
{
    const struct object *system =
        store_find(h->s.store, STORE_PUBLISHED, &namespace_kind, NULL, "kube-system");
    const char *lost = store_find_secret(h->s.store, STORE_LOST_REVISIONS);
    struct history_order *order;

    if (system == NULL) {
        timer_start(h->flush, OPEN_MS);
        return;
    }
    order = make_order(HISTORY_OPEN);
    order->cluster = xstrdup(system->meta->uid);
    order->lost = xstrdup(lost != NULL ? lost : "");
    order->store_revision = store_revision(h->s.store);
    order->epoch = store_epoch(h->s.store);
    order->opened_at = store_opened_at(h->s.store);
    history_writer_submit(h->writer, order);
}

static void
on_flush(void *arg)
{
    struct history *h = arg;

    if (h->is_open)
        flush(h);
    else if (!history_writer_is_busy(h->writer))
        open_file(h);
}

/* ---- Life ---- */

static double
read_waiting(void *context)
{
    const struct history *h = context;

    return (double)map_count(h->unwritten);
}

static double
read_bytes(void *context)
{
    const struct history *h = context;

    return (double)h->bytes;
}

static void
add_metrics(struct history *h, struct metric_registry *registry)
{
    if (registry == NULL)
        return;
    h->rows_total = metric_series(
        metric_counter(registry, "kiln_history_rows_total", "Rows written to history.", NULL));
    h->failures_total =
        metric_series(metric_counter(registry, "kiln_history_failures_total",
                                     "Failed writes of history, which are tried again.", NULL));
    metric_read(metric_series(metric_gauge(registry, "kiln_history_waiting",
                                           "Rows of history that are not on disk yet.", NULL)),
                read_waiting, h);
    metric_read(metric_series(metric_gauge(registry, "kiln_history_bytes",
                                           "Size of the history file.", NULL)),
                read_bytes, h);
}

struct history *
history_new(const struct history_settings *settings)
{
    struct history *h = xnew(struct history);
    CLEANUP_FREE char *path = xasprintf("%s/" FILE_NAME, settings->directory);
    const int64_t revision = store_revision(settings->store);

    h->s = *settings;
    if (h->s.queue_most == 0)
        h->s.queue_most = QUEUE_MOST;
    h->unwritten = map_new();
    h->outbox = history_outbox_new(settings->store, settings->clock);
    h->flush = timer_new(settings->loop, on_flush, h);
    h->rescan_timer = timer_new(settings->loop, rescan_slice, h);
    h->drop = timer_new(settings->loop, drop_old, h);
    h->writer = history_writer_new(settings->loop, path, settings->database, order_done, h);
    h->questions = history_questions_new(settings->loop, path);
    add_metrics(h, settings->metrics);
    (void)store_watch(settings->store, &pod_kind, revision, -1, NULL, on_change, h, &h->pods);
    (void)store_watch(settings->store, &job_kind, revision, -1, NULL, on_change, h, &h->jobs);
    timer_start(h->flush, 0);
    return h;
}

/* Writes the queued rows; those that cannot be written are still in the store.
 */
void
history_stop(struct history *h)
{
    if (h == NULL)
        return;
    h->is_stopping = true;
    store_unwatch(h->pods);
    store_unwatch(h->jobs);
    history_writer_stop_indexing(h->writer);
    history_writer_drain(h->writer);
    flush(h);
    history_writer_drain(h->writer);
    timer_stop(h->flush);
    timer_stop(h->rescan_timer);
    timer_stop(h->drop);
    history_questions_stop(h->questions);
}

void
history_free(struct history *h)
{
    if (h == NULL)
        return;
    history_questions_free(h->questions);
    history_writer_free(h->writer);
    history_outbox_free(h->outbox);
    history_queue_fini(&h->queue);
    timer_free(h->flush);
    timer_free(h->rescan_timer);
    timer_free(h->drop);
    map_free(h->unwritten);
    free(h->notice);
    free(h);
}

/* ---- Removals ---- */

static bool
is_unwritten(const struct history *h, const struct object *object)
{
    return !h->is_open || object->revision > store_revision(h->s.store)
           || map_find(h->unwritten, object->meta->uid) != NULL;
}

void
history_note_removal(struct history *h, struct store_txn *txn, const struct object *object)
{
    if (h == NULL)
        return;
    if (object->kind == &job_kind) {
        if (is_end(object) && is_unwritten(h, object))
            history_outbox_keep(h->outbox, txn, object);
    } else if (object->kind == &pod_kind) {
        const struct object *job = history_outbox_find_job(h->outbox, STORE_PENDING, object);

        if (is_end(object) ? is_unwritten(h, object)
                           : history_row_is_due(pod_of(object), job != NULL ? job_of(job) : NULL))
            history_outbox_keep(h->outbox, txn, object);
    }
    if (object->kind == &job_kind || object->kind == &pod_kind)
        history_outbox_forget_deleter(h->outbox, txn, object);
}

void
history_note_deleter(struct history *h, struct store_txn *txn, const struct object *job,
                     const char *user)
{
    if (h != NULL)
        history_outbox_note_deleter(h->outbox, txn, job, user);
}

/* ---- Steps ---- */

int
history_keep_steps(struct history *h, const struct step_batch *batch, history_kept_fn *done,
                   void *context, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct history_batch *b;

    if (!h->is_open || h->is_stopping)
        return error_set(err, -EBUSY, "history is not open; try again in a moment");
    if (h->batch_bytes > BATCHES_MOST)
        return error_set(err, -EAGAIN, "too many records of steps wait for the disk");
    json_print(record_encode(&step_batch_record, arena, batch), &text);
    b = xnew(struct history_batch);
    b->done = done;
    b->context = context;
    h->batch_bytes += text.length;
    b->text = strbuf_take(&text);
    b->next = h->batches;
    h->batches = b;
    flush_soon(h);
    return 0;
}

bool
history_waits_for(const struct history *h, const char *pod_uid)
{
    return map_find(h->unwritten, pod_uid) != NULL;
}

/* ---- Look ---- */

int
history_ask(struct history *h, const struct history_question *question, history_answer_fn *done,
            void *context, struct error *err)
{
    if (!h->is_open && h->trouble.code != 0)
        return error_set(err, -EIO, "history cannot be opened: %s", h->trouble.text);
    if (!h->is_open)
        return error_set(err, -EBUSY,
                         "history is still being opened; ask again in a "
                         "moment");
    return history_questions_ask(h->questions, question, done, context, err);
}

void
history_status(const struct history *h, struct history_status *ret_status)
{
    *ret_status = (struct history_status){
        .is_open = h->is_open,
        .waiting = map_count(h->unwritten),
        .written = h->written,
        .lost = history_outbox_lost(h->outbox),
        .bytes = h->bytes,
        .trouble = h->trouble.code != 0 ? h->trouble.text : NULL,
        .notice = h->notice,
    };
}
