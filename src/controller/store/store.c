/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "controller/store/directory/disk_reserve.h"
#include "controller/store/directory/initialize.h"
#include "controller/store/directory/statedir.h"
#include "controller/store/event_writer.h"
#include "controller/store/follow.h"
#include "controller/store/lineage/run_chain.h"
#include "controller/store/load.h"
#include "controller/store/memory/change_log.h"
#include "controller/store/memory/watchers.h"
#include "controller/store/past_events.h"
#include "controller/store/quarantine.h"
#include "controller/store/scrub.h"
#include "controller/store/store_metrics.h"
#include "controller/store/store_state.h"
#include "controller/store/transient.h"
#include "controller/store/write/batch.h"
#include "controller/store/write/serial_worker.h"
#include "controller/store/write/writer.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"
#include "lib/loop/timer.h"

#define LOG_BYTES   (64u << 20)
#define LOG_AGE_S   300
#define EVENT_AGE_S 3600
#define EVENT_LIMIT 50000

#define FOLLOW_PAUSE_US 2000000

#define CHECK_MS 1000

#define BACKLOG_MOST  (16u << 20)
#define BACKLOG_LEAST (512u << 10)

static void
make_expiries(struct store *s)
{
    for (unsigned i = 0; i < n_kinds; i++)
        if (kind_is(kinds[i], KIND_TRANSIENT))
            s->contents.sections[i].expiry = transient_new_expiry(&s->transient);
}

static struct store *
make_empty(const struct store_settings *settings)
{
    struct store *s = xnew(struct store);
    const struct engine_waits *waits = settings->waits;

    s->settings = *settings;
    s->address = xstrdup(waits != NULL && waits->self != NULL ? waits->self->address : "");
    if (s->settings.log_bytes == 0)
        s->settings.log_bytes = LOG_BYTES;
    if (s->settings.log_age_s == 0)
        s->settings.log_age_s = LOG_AGE_S;
    if (s->settings.event_age_s == 0)
        s->settings.event_age_s = EVENT_AGE_S;
    if (s->settings.event_limit == 0)
        s->settings.event_limit = EVENT_LIMIT;
    if (s->settings.follow_pause_us == 0)
        s->settings.follow_pause_us = FOLLOW_PAUSE_US;
    contents_init(&s->contents);
    s->contents.moved = settings->moved;
    s->contents.moved_context = settings->moved_context;
    s->transient = (struct transient){s, &s->settings, &s->contents, &s->has_failed};
    make_expiries(s);
    s->watchers = watchers_new();
    s->gathering = batch_new();
    s->refused = batch_new();
    return s;
}

/* A checkpoint may need as much space in the file as the pages take in the log,
 * so the reserve must cover the log.
 */
static size_t
backlog(const struct store *s)
{
    size_t reserve = (size_t)disk_reserve_bytes(s->reserve);

    if (reserve == 0 || reserve / 2 > BACKLOG_MOST)
        return BACKLOG_MOST;
    return reserve / 2 > BACKLOG_LEAST ? reserve / 2 : BACKLOG_LEAST;
}

struct following {
    struct store *store;
    struct engine_counters counters;
    struct error *err;
    int result;
};

static void
follow(void *arg)
{
    struct following *f = arg;

    struct store *s = f->store;
    const struct follow_settings settings = {
        .location = &s->settings.location,
        .must_exist = s->settings.must_exist,
        .waits = s->settings.waits,
        .pause_us = s->settings.follow_pause_us,
        .contents = &s->contents,
    };

    f->result = follow_open(&settings, &s->engine, &f->counters, &s->was_warm, f->err);
}

/* Nothing else uses the store yet, so another thread may, and this one's loop goes on. */
static int
open_engine(struct store *s, struct engine_counters *ret_counters, struct error *err)
{
    const struct engine_waits *waits = s->settings.waits;
    struct following f = {.store = s, .err = err};

    if (store_is_in_database(s) && waits != NULL && waits->aside != NULL)
        waits->aside(follow, &f, waits->context);
    else
        follow(&f);
    *ret_counters = f.counters;
    return f.result;
}

static int
open_main(struct store *s, struct error *err)
{
    struct engine_counters counters;
    int r = open_engine(s, &counters, err);

    if (s->engine == NULL)
        return r;
    if (r == 0)
        r = opening_begin(&s->opening, s->engine, s->contents.secrets, &counters, err);
    if (r < 0) {
        s->engine->ops->close(s->engine);
        return s->settings.location.database != NULL
                   ? r
                   : error_wrap(err, r, "state directory '%s'", s->settings.location.directory);
    }
    s->pending = s->committed = counters;
    s->checkpointer = serial_worker_new(s->settings.loop, "kiln-checkpoint");
    s->writer = writer_new(&(struct writer_settings){
        .loop = s->settings.loop,
        .engine = s->engine,
        .counters = counters,
        .thread_name = "kiln-writer",
        .checkpointer = s->checkpointer,
        .backlog = backlog(s),
        .done = store_on_committed,
        .context = s,
    });
    return 0;
}

static int
load_events(struct store *s, struct engine **ret_engine, struct engine_counters *ret_counters,
            struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/events.db", s->settings.location.directory);
    const struct engine_sqlite_settings settings = {.path = path, .is_relaxed = true};
    int r = engine_sqlite_open(&settings, ret_engine, ret_counters, err);

    return r == 0 ? load_all(&s->contents, *ret_engine, ret_counters, NULL, err) : r;
}

static struct engine *
shared_events(const struct store *s)
{
    return engine_postgres_events_new(s->settings.location.database, s->opening.epoch,
                                      s->settings.event_age_s);
}

static int
open_events(struct store *s, struct error *err)
{
    struct engine_counters counters = s->committed;
    struct engine *engine = store_is_in_database(s) ? shared_events(s) : NULL;
    int r = engine == NULL ? load_events(s, &engine, &counters, err) : 0;

    if (r < 0) {
        if (engine != NULL)
            engine->ops->close(engine);
        return r;
    }
    s->events = event_writer_new(&(struct event_writer_settings){
        .loop = s->settings.loop,
        .engine = engine,
        .counters = &counters,
        .revision = &s->committed.revision,
        .backlog = backlog(s),
        .finished = store_try_last,
        .context = s,
    });
    return 0;
}

static bool
is_idle(void *store)
{
    const struct store *s = store;

    return !s->is_read_only && !s->has_failed && !s->is_draining && !writer_is_busy(s->writer)
           && batch_is_empty(s->gathering) && serial_worker_length(s->reader) == 0;
}

/* The quarantine never changes, so any thread may read it. */
static bool
is_known_damage(int64_t row, void *store)
{
    for (size_t i = 0; i < store_count_damaged(store); i++)
        if (store_damaged(store, i)->row == row)
            return true;
    return false;
}

static struct scrub *
make_scrub(struct store *s)
{
    return scrub_new(&(struct scrub_settings){
        .loop = s->settings.loop,
        .reader = s->reader,
        .engine = s->engine,
        .disk = store_is_in_database(s) ? "the database server" : s->settings.location.directory,
        .is_idle = is_idle,
        .is_known = is_known_damage,
        .context = s,
    });
}

static void
start(struct store *s)
{
    s->opened_us = clock_real_us(s->settings.clock);
    s->change_log = change_log_new(s->committed.revision);
    s->committed_end = change_log_end(s->change_log);
    s->metrics = store_metrics_new(&(struct store_metrics_parts){
        .registry = s->settings.metrics,
        .store = s,
        .contents = &s->contents,
        .change_log = s->change_log,
        .reserve = s->reserve,
        .n_refused = &s->n_refused,
    });
    s->reader = serial_worker_new(s->settings.loop, "kiln-reader");
    s->flush = timer_new(s->settings.loop, store_submit_batch, s);
    s->trim = timer_new(s->settings.loop, store_trim, s);
    timer_repeat(s->trim, s->settings.log_age_s * 1000 / 10 + 1);
    s->scrub = make_scrub(s);
    s->checks = timer_new(s->settings.loop, store_check_engine, s);
    timer_repeat(s->checks, CHECK_MS);
    if (store_is_in_database(s))
        s->past_events =
            transient_read_past(&s->transient, shared_events(s), s->opening.begun_at, s->events);
    if (!disk_reserve_hold(s->reserve))
        store_become_read_only(s, "there is not enough space for a reserve");
}

/* A store that failed to open has no threads yet, and nothing pending. */
static void
free_all(struct store *s)
{
    past_events_free(s->past_events);
    store_metrics_free(s->metrics);
    free(s->address);
    timer_free(s->flush);
    timer_free(s->trim);
    timer_free(s->checks);
    timer_free(s->try_reserve);
    scrub_stop(s->scrub);
    serial_worker_free(s->reader);
    scrub_free(s->scrub);
    writer_free(s->writer);
    serial_worker_free(s->checkpointer);
    event_writer_free(s->events);
    batch_free(s->gathering);
    batch_free(s->refused);
    batch_free(s->lost);
    watchers_free(s->watchers);
    change_log_free(s->change_log);
    contents_fini(&s->contents);
    run_chain_fini(&s->opening.runs);
    disk_reserve_close(s->reserve);
    statedir_close(s->directory);
    free(s);
}

static void
say_opened(const struct store *s, int64_t took_us)
{
    size_t objects = 0;

    for (unsigned i = 0; i < n_kinds; i++)
        objects += s->contents.sections[i].count;
    log_info("Opened state directory '%s' in %lld ms: %zu objects, revision "
             "%lld",
             s->settings.location.directory, (long long)(took_us / 1000), objects,
             (long long)s->committed.revision);
    if (quarantine_count(s->contents.quarantine) > 0)
        log_error("%zu of the objects in '%s' cannot be read and are kept "
                  "aside: they are not visible, dependent objects are not "
                  "removed, and their names are not reused. See --check-store "
                  "in kiln-controller(8)",
                  quarantine_count(s->contents.quarantine), s->settings.location.directory);
}

/* A full disk of the state directory does not stop a database. */
static int64_t
reserve_bytes(const struct store_settings *settings)
{
    return settings->location.database == NULL ? settings->reserve_bytes : 0;
}

static int
try_open(const struct store_settings *settings, struct store **ret_store, struct error *err)
{
    struct error why = {0};
    struct store *s = make_empty(settings);
    int r = 0;

    if (settings->must_exist)
        r = store_check_present(&settings->location, &why);
    if (r == 0)
        r = statedir_open(settings->location.directory, &s->directory, &why);
    s->reserve = disk_reserve_open(settings->location.directory, reserve_bytes(settings));
    if (r == 0)
        r = open_main(s, &why);
    if (r == 0)
        r = open_events(s, &why);
    if (r == -ENOSPC && disk_reserve_release(s->reserve))
        r = -EAGAIN;
    if (r < 0) {
        free_all(s);
        return error_set(err, r, "%s", why.text);
    }
    *ret_store = s;
    return 0;
}

/* If the disk is full, the second try uses the space of the reserve. */
int
store_open(const struct store_settings *settings, struct store **ret_store, struct error *err)
{
    int64_t began_us = clock_monotonic_us(settings->clock);
    struct store *s = NULL;
    int r = try_open(settings, &s, err);

    if (r == -EAGAIN)
        r = try_open(settings, &s, err);
    if (r < 0)
        return r;
    s->settings.waits = NULL;
    start(s);
    say_opened(s, clock_monotonic_us(settings->clock) - began_us);
    *ret_store = s;
    return 0;
}

void
store_close(struct store *s)
{
    if (s == NULL)
        return;
    store_drain(s);
    free_all(s);
}

/* The only controller of a store in a state directory. */
static void
visit_this(const struct store *s, engine_controller_fn *visit, void *context)
{
    char host[256] = "";

    (void)gethostname(host, sizeof(host) - 1);
    visit(
        &(struct engine_controller){
            .name = host,
            .directory = s->settings.location.directory,
            .address = s->address,
            .release = version_text(),
            .place = "",
            .leads = true,
            .since_s = s->opened_us / 1000000,
            .revision = store_revision(s),
        },
        context);
}

void
store_visit_controllers(const struct store *s, engine_controller_fn *visit, void *context)
{
    if (s->engine->ops->visit_controllers != NULL)
        s->engine->ops->visit_controllers(s->engine, visit, context);
    else
        visit_this(s, visit, context);
}

void
store_name_successor(struct store *s, const char *place)
{
    s->engine->ops->name_successor(s->engine, place);
}
