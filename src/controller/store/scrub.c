/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/scrub.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/store/engine/engine.h"
#include "controller/store/write/serial_worker.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/loop/timer.h"

#define TICK_MS     1000
#define SLICE_ROWS  200
#define SLICE_BYTES (4u << 20)
#define REST_TICKS  (6 * 3600) /* between two passes */

struct scrub {
    struct scrub_settings settings;
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

static void
keep_wrong(const struct engine_row *row, void *context)
{
    struct scrub *scrub = context;
    bool has_namespace = row->namespace[0] != '\0';

    if (scrub->settings.is_known(row->row, scrub->settings.context))
        return;
    xgrow(scrub->keys, scrub->n_keys, scrub->capacity);
    scrub->keys[scrub->n_keys++] =
        xasprintf("%s/%s%s%s", row->kind, row->namespace, has_namespace ? "/" : "", row->name);
}

static void
scrub_work(struct serial_worker_task *task)
{
    struct scrub *scrub = container_of(task, struct scrub, task);
    struct engine *engine = scrub->settings.engine;

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

static void
report_damage(struct scrub *scrub)
{
    for (size_t i = 0; i < scrub->n_keys; i++) {
        log_error("The stored row of '%s' has changed on disk: its checksum "
                  "differs. The object in memory is intact, but the next "
                  "start would keep it aside: save it now (kubectl get -o "
                  "yaml), and check the disk of '%s'",
                  scrub->keys[i], scrub->settings.disk);
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
        log_error("Cannot check the rows in '%s', trying again later: %s", scrub->settings.disk,
                  scrub->err.text);
        scrub->found++;
    }
    if (scrub->result <= 0)
        end_pass(scrub);
}

void
scrub_tick(void *context)
{
    struct scrub *scrub = context;

    if (scrub->rest > 0) {
        scrub->rest--;
        return;
    }
    if (scrub->is_under_way || !scrub->settings.is_idle(scrub->settings.context))
        return;
    scrub->is_under_way = true;
    serial_worker_submit(scrub->settings.reader, &scrub->task);
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
scrub_new(const struct scrub_settings *settings)
{
    struct scrub *scrub = xnew(struct scrub);

    scrub->settings = *settings;
    scrub->task.work = scrub_work;
    scrub->task.done = scrub_done;
    scrub->slice = (struct engine_slice){
        .after = INT64_MIN,
        .rows = SLICE_ROWS,
        .bytes = SLICE_BYTES,
    };
    scrub->timer = timer_new(settings->loop, scrub_tick, scrub);
    timer_repeat(scrub->timer, TICK_MS);
    return scrub;
}
