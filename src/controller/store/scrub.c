/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/scrub.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/store/store_state.h"
#include "controller/store/write/batch.h"
#include "controller/store/write/serial_worker.h"
#include "controller/store/write/writer.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/timer.h"

#define TICK_MS     1000
#define SLICE_ROWS  200
#define SLICE_BYTES (4u << 20)
#define REST_TICKS  (6 * 3600) /* between two passes */

struct scrub {
    struct store *store;
    struct timer *timer;
    struct serial_worker_task task;
    struct engine_slice slice;
    bool is_under_way;
    int result;
    struct error err;
    char **keys; /* of the slice's rows with a wrong checksum */
    size_t n_keys;
    size_t capacity;
    size_t found; /* in this pass, and in the last one */
    size_t found_last;
    unsigned rest;
};

/* The quarantine never changes, so any thread may read it. */
static bool
is_known(const struct store *s, int64_t row)
{
    for (size_t i = 0; i < store_count_damaged(s); i++)
        if (store_damaged(s, i)->row == row)
            return true;
    return false;
}

static void
keep_wrong(const struct engine_row *row, void *context)
{
    struct scrub *scrub = context;
    bool has_namespace = row->namespace[0] != '\0';

    if (is_known(scrub->store, row->row))
        return;
    xgrow(scrub->keys, scrub->n_keys, scrub->capacity);
    scrub->keys[scrub->n_keys++] =
        xasprintf("%s/%s%s%s", row->kind, row->namespace, has_namespace ? "/" : "", row->name);
}

static void
scrub_work(struct serial_worker_task *task)
{
    struct scrub *scrub = container_of(task, struct scrub, task);
    struct engine *engine = scrub->store->engine;

    scrub->result = engine->ops->verify(engine, &scrub->slice, keep_wrong, scrub, &scrub->err);
}

static void
end_pass(struct scrub *scrub)
{
    scrub->slice.is_in_deltas = false;
    scrub->slice.after = INT64_MIN;
    scrub->found_last = scrub->found;
    scrub->found = 0;
    scrub->rest = REST_TICKS;
}

static const char *
disk_of(const struct scrub *scrub)
{
    return store_is_in_database(scrub->store) ? "the database server"
                                              : scrub->store->settings.location.directory;
}

static void
report_damage(struct scrub *scrub)
{
    for (size_t i = 0; i < scrub->n_keys; i++) {
        log_error("The stored row of '%s' has changed on disk: its checksum "
                  "differs. The object in memory is intact, but the next "
                  "start would keep it aside: save it now (kubectl get -o "
                  "yaml), and check the disk of '%s'",
                  scrub->keys[i], disk_of(scrub));
        free(scrub->keys[i]);
    }
    scrub->found += scrub->n_keys;
    scrub->n_keys = 0;
}

/* Ends the pass after a read error, since it would not get past that place. */
static void
scrub_done(struct serial_worker_task *task)
{
    struct scrub *scrub = container_of(task, struct scrub, task);

    scrub->is_under_way = false;
    report_damage(scrub);
    if (scrub->result < 0 && scrub->result != -EAGAIN) { /* else the database is away */
        log_error("Cannot check the rows in '%s', trying again later: %s", disk_of(scrub),
                  scrub->err.text);
        scrub->found++;
    }
    if (scrub->result <= 0)
        end_pass(scrub);
}

static bool
is_idle(const struct store *s)
{
    return !s->is_read_only && !s->has_failed && !s->is_draining && !writer_is_busy(s->writer)
           && batch_is_empty(s->gathering) && serial_worker_length(s->reader) == 0;
}

void
scrub_tick(void *context)
{
    struct scrub *scrub = context;

    if (scrub->rest > 0) {
        scrub->rest--;
        return;
    }
    if (scrub->is_under_way || !is_idle(scrub->store))
        return;
    scrub->is_under_way = true;
    serial_worker_submit(scrub->store->reader, &scrub->task);
}

size_t
scrub_count(const struct scrub *scrub)
{
    return scrub->found > scrub->found_last ? scrub->found : scrub->found_last;
}

void
scrub_stop(struct scrub *scrub)
{
    if (scrub != NULL)
        timer_stop(scrub->timer);
}

void
scrub_free(struct scrub *scrub)
{
    if (scrub == NULL)
        return;
    timer_free(scrub->timer);
    free(scrub->keys);
    free(scrub);
}

struct scrub *
scrub_new(struct store *s)
{
    struct scrub *scrub = xnew(struct scrub);

    scrub->store = s;
    scrub->task.work = scrub_work;
    scrub->task.done = scrub_done;
    scrub->slice = (struct engine_slice){
        .after = INT64_MIN,
        .rows = SLICE_ROWS,
        .bytes = SLICE_BYTES,
    };
    scrub->timer = timer_new(s->settings.loop, scrub_tick, scrub);
    timer_repeat(scrub->timer, TICK_MS);
    return scrub;
}
