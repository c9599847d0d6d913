/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/engine_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "controller/store/engine/schema.h"
#include "controller/store/engine/sql.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"

#define PAGE_BYTES 4096

/* The size of the index of the log: 32 KiB for every 16 MiB of log. */
#define INDEX_BYTES (1 << 20)

struct engine_sqlite *
engine_sqlite_of(struct engine *engine)
{
    return container_of(engine, struct engine_sqlite, base);
}

static void
engine_sqlite_close(struct engine *engine)
{
    struct engine_sqlite *e = engine_sqlite_of(engine);

    (void)sqlite3_finalize(e->begin);
    (void)sqlite3_finalize(e->commit);
    (void)sqlite3_finalize(e->claim);
    for (int i = 0; i < ENGINE_VERBS; i++)
        (void)sqlite3_finalize(e->verbs[i]);
    (void)sqlite3_finalize(e->add_content);
    (void)sqlite3_finalize(e->drop_content);
    (void)sqlite3_finalize(e->read_content);
    sql_close(e->reader);
    sql_close(e->checkpointer);
    sql_close(e->db);
    /* Closed last, since closing any descriptor releases all locks that the
     * process has on the file.
     */
    if (e->index_fd >= 0)
        close(e->index_fd);
    free(e->path);
    free(e);
}

static size_t
engine_sqlite_backlog(struct engine *engine)
{
    return engine_sqlite_of(engine)->wal_pages * PAGE_BYTES;
}

static int
checkpoint(sqlite3 *db, struct error *err)
{
    int r = sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);

    return r == SQLITE_OK || r == SQLITE_BUSY ? 0 : sql_error(db, err);
}

static int
engine_sqlite_checkpoint(struct engine *engine, struct error *err)
{
    return checkpoint(engine_sqlite_of(engine)->checkpointer, err);
}

/* A log that is overwritten from its start needs no new disk space, but its
 * index may, since SQLite starts that anew each time. If there is no space for
 * the index, the commit is in the log already: whether it holds is unknown, and
 * the process would have to exit. So the space is allocated beforehand. On a
 * file system that cannot allocate, or is full now, no space is held.
 */
static void
hold_index(struct engine_sqlite *e)
{
    CLEANUP_FREE char *path = xasprintf("%s-shm", e->path);

    if (e->index_fd < 0)
        e->index_fd = open(path, O_RDWR | O_CLOEXEC);
    e->holds_index = e->index_fd >= 0 && fallocate(e->index_fd, 0, 0, INDEX_BYTES) == 0;
    if (!e->holds_index)
        log_debug("Cannot reserve space for '%s': %m.", path);
}

/* No batch is being written, so the checkpoint copies all pages, and the log is
 * overwritten from its start.
 */
static int
engine_sqlite_finish_checkpoint(struct engine *engine, struct error *err)
{
    struct engine_sqlite *e = engine_sqlite_of(engine);

    if (!e->holds_index)
        hold_index(e);
    return checkpoint(e->db, err);
}

static int
add_texts(sqlite3 *db, const char *query, int64_t id, struct strbuf *out, struct error *err)
{
    sqlite3_stmt *s = NULL;
    int step, r = sql_prepare(db, query, &s, err);

    if (r < 0)
        return r;
    (void)sqlite3_bind_int64(s, 1, id);
    while ((step = sqlite3_step(s)) == SQLITE_ROW) {
        strbuf_add(out, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
        strbuf_add_char(out, '\n');
    }
    if (step != SQLITE_DONE)
        r = sql_error(db, err);
    (void)sqlite3_finalize(s);
    return r;
}

static int
engine_sqlite_drop_row(struct engine *engine, const struct engine_lost_row *row, struct strbuf *out,
                       struct error *err)
{
    sqlite3 *db = engine_sqlite_of(engine)->db;
    int r = sql_exec(db, "BEGIN IMMEDIATE", err);

    if (r == 0 && row->is_lone_change)
        r = add_texts(db, "DELETE FROM deltas WHERE revision = ?1 RETURNING patch", row->revision,
                      out, err);
    if (r == 0 && !row->is_lone_change)
        r = add_texts(db, "DELETE FROM objects WHERE id = ?1 RETURNING body", row->row, out, err);
    if (r == 0 && !row->is_lone_change)
        r = add_texts(db, "DELETE FROM deltas WHERE object = ?1 RETURNING patch", row->row, out,
                      err);
    if (r == 0)
        return sql_exec(db, "COMMIT", err);
    (void)sql_exec(db, "ROLLBACK", NULL);
    return r;
}

static int
engine_sqlite_raise_epoch(struct engine *engine, int64_t epoch, struct error *err)
{
    struct engine_sqlite *e = engine_sqlite_of(engine);
    char text[96];
    int r;

    if (epoch <= e->epoch)
        return 0;
    (void)sqlite3_snprintf(sizeof(text), text, "UPDATE counters SET epoch = %lld",
                           (long long)epoch);
    r = sql_exec(e->db, text, err);
    if (r == 0)
        e->epoch = epoch;
    return r;
}

/* The state directory's lock keeps other processes away. */
static int
engine_sqlite_check(struct engine *engine, struct error *err)
{
    (void)engine;
    (void)err;
    return 0;
}

/* No write waits for long. */
static void
engine_sqlite_stop(struct engine *engine)
{
    (void)engine;
}

static int
engine_sqlite_copies(struct engine *engine)
{
    (void)engine;
    return 1;
}

static const struct engine_ops engine_sqlite_ops = {
    .apply = engine_sqlite_apply,
    .backlog = engine_sqlite_backlog,
    .checkpoint = engine_sqlite_checkpoint,
    .finish_checkpoint = engine_sqlite_finish_checkpoint,
    .scan_open = engine_sqlite_scan_open,
    .scan_next = engine_sqlite_scan_next,
    .scan_close = engine_sqlite_scan_close,
    .visit = engine_sqlite_visit,
    .read_blob = engine_sqlite_read_blob,
    .verify = engine_sqlite_verify,
    .raise_epoch = engine_sqlite_raise_epoch,
    .drop_row = engine_sqlite_drop_row,
    .check = engine_sqlite_check,
    .stop = engine_sqlite_stop,
    .copies = engine_sqlite_copies,
    .close = engine_sqlite_close,
};

/* Called after each commit with the number of pages in the log. */
static int
on_commit(void *context, sqlite3 *db, const char *name, int pages)
{
    struct engine_sqlite *e = context;

    (void)db;
    (void)name;
    e->wal_pages = (size_t)pages;
    return SQLITE_OK;
}

/* The hook also replaces SQLite's automatic checkpoints. The page cache is
 * small: rows are appended, everything that is read is in memory as objects,
 * and the kernel caches the file.
 */
static int
configure(struct engine_sqlite *e, struct error *err)
{
    int r = sql_exec(e->db,
                     "PRAGMA journal_mode = WAL;"
                     "PRAGMA cell_size_check = ON;"
                     "PRAGMA trusted_schema = OFF;"
                     "PRAGMA temp_store = MEMORY;"
                     "PRAGMA cache_size = -4096;",
                     err);

    if (r == 0)
        r = sql_exec(e->db,
                     e->is_relaxed ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = FULL", err);
    (void)sqlite3_wal_hook(e->db, on_commit, e);
    return r;
}

/* Quick_check reads every page and its cells; it only omits the comparison of
 * indexes with their tables.
 */
static int
check_integrity(sqlite3 *db, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    int r = sql_prepare(db, "PRAGMA quick_check(1)", &statement, err);
    const char *says = NULL;

    if (r < 0)
        return r;
    if (sqlite3_step(statement) == SQLITE_ROW)
        says = (const char *)sqlite3_column_text(statement, 0);
    else
        r = sql_error(db, err);
    if (says != NULL && strcmp(says, "ok") != 0)
        r = error_set(err, -EUCLEAN,
                      "'%s' is damaged (%s): restore it from a backup, or "
                      "save what can be read with `sqlite3 FILE .recover`",
                      sqlite3_db_filename(db, "main"), says);
    (void)sqlite3_finalize(statement);
    return r;
}

static int
read_counters(struct engine_sqlite *e, struct engine_counters *ret_counters, struct error *err)
{
    sqlite3_stmt *s = NULL;
    int r = sql_prepare(e->db, "SELECT epoch, revision, reserved, job_id FROM counters", &s, err);

    if (r < 0)
        return r;
    if (sqlite3_step(s) == SQLITE_ROW)
        *ret_counters = (struct engine_counters){
            .epoch = sqlite3_column_int64(s, 0),
            .revision = sqlite3_column_int64(s, 1),
            .reserved = sqlite3_column_int64(s, 2),
            .job_id = sqlite3_column_int64(s, 3),
        };
    else
        r = error_set(err, -EUCLEAN, "'%s' has lost its counters: restore it from a backup",
                      e->path);
    (void)sqlite3_finalize(s);
    return r;
}

/* From here on, a process that opened the file before can commit nothing more.
 */
static int
take_over(struct engine_sqlite *e, struct engine_counters *ret_counters, struct error *err)
{
    int r = sql_exec(e->db, "UPDATE counters SET epoch = epoch + 1", err);

    if (r == 0)
        r = read_counters(e, ret_counters, err);
    if (r == 0)
        e->epoch = ret_counters->epoch;
    return r;
}

static int
open_others(struct engine_sqlite *e, struct error *err)
{
    int r = sql_open(e->path, &e->checkpointer, err);

    if (r == 0)
        r = sql_open(e->path, &e->reader, err);
    if (r == 0)
        r = sql_exec(e->reader, "PRAGMA query_only = ON", err);
    if (r == 0)
        r = sql_prepare(e->reader, "SELECT content FROM blob_contents WHERE id = ?1",
                        &e->read_content, err);
    return r;
}

/* The name of a new file must be durable too; SQLite syncs those of its log. */
static int
sync_directory(const char *path, struct error *err)
{
    CLEANUP_FREE char *copy = xstrdup(path);
    CLEANUP_FD int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return error_set(err, -errno, "cannot sync the directory of '%s': %s", path,
                         strerror(errno));
    return 0;
}

/* A batch that found no space was left out, but later batches with deltas of
 * its rows were not.
 */
static int
drop_lone_deltas(struct engine_sqlite *e, struct error *err)
{
    return sql_exec(e->db,
                    "DELETE FROM deltas"
                    " WHERE object NOT IN (SELECT id FROM objects)",
                    err);
}

static int
bring_up(struct engine_sqlite *e, struct engine_counters *ret_counters, struct error *err)
{
    int r = sql_open(e->path, &e->db, err);

    if (r == 0)
        r = check_integrity(e->db, err);
    if (r == 0)
        r = configure(e, err);
    if (r == 0 && e->must_exist)
        r = schema_check(e->db, err);
    if (r == 0)
        r = schema_migrate(e->db, err);
    if (r == 0)
        r = take_over(e, ret_counters, err);
    if (r == 0)
        hold_index(e);
    if (r == 0)
        r = engine_sqlite_prepare(e, err);
    if (r == 0)
        r = open_others(e, err);
    if (r == 0 && e->is_relaxed)
        r = drop_lone_deltas(e, err);
    if (r == 0 && !e->is_relaxed)
        r = sync_directory(e->path, err);
    return r;
}

static int
open_file(const struct engine_sqlite_settings *settings, struct engine **ret_engine,
          struct engine_counters *ret_counters, struct error *err)
{
    struct engine_sqlite *e = xnew(struct engine_sqlite);
    int r;

    e->base.ops = &engine_sqlite_ops;
    e->index_fd = -1;
    e->is_relaxed = settings->is_relaxed;
    e->must_exist = settings->must_exist;
    e->path = xstrdup(settings->path);
    r = bring_up(e, ret_counters, err);
    if (r < 0) {
        engine_sqlite_close(&e->base);
        return r;
    }
    *ret_engine = &e->base;
    return 0;
}

/* A damaged best-effort database is no reason to refuse to start. */
static void
put_aside(const char *path, const struct error *why)
{
    static const char *const suffixes[] = {"-wal", "-shm"};
    CLEANUP_FREE char *aside = xasprintf("%s.damaged", path);

    log_warning("%s: kept as '%s', starting a new one", why->text, aside);
    (void)rename(path, aside);
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        CLEANUP_FREE char *companion = xasprintf("%s%s", path, suffixes[i]);

        (void)unlink(companion);
    }
}

int
engine_sqlite_open(const struct engine_sqlite_settings *settings, struct engine **ret_engine,
                   struct engine_counters *ret_counters, struct error *err)
{
    struct error why = {0};
    int r = open_file(settings, ret_engine, ret_counters, &why);

    if (r == -EUCLEAN && settings->is_relaxed) {
        put_aside(settings->path, &why);
        r = open_file(settings, ret_engine, ret_counters, &why);
    }
    return r < 0 ? error_set(err, r, "%s", why.text) : 0;
}
