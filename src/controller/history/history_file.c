/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/history/history_applied.h"
#include "controller/history/history_attempts.h"
#include "controller/history/history_fields.h"
#include "controller/history/history_schema.h"
#include "controller/history/history_steps.h"
#include "controller/history/history_sums.h"
#include "controller/history/history_timeline.h"
#include "controller/store/engine/sql.h"
#include "lib/api/job/history_row.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/record.h"

#define WORDS_CACHED 100000
#define CHECK_BYTES  (INT64_C(64) << 20) /* a larger file is not checked */

struct history_file {
    char *path;
    sqlite3 *db;
    sqlite3_stmt *insert, *confirm, *add_word, *find_word, *add_user;
    sqlite3_stmt *mark, *drop;
    struct map *words; /* word to its number, as a pointer */
    struct map *users; /* "USER UID" pairs that are in the file */
    struct history_sums *sums;
    struct history_steps *steps;
    struct history_attempts *attempts;
    struct history_applied *applied;
    int64_t watermark;
};

static void
close_db(struct history_file *f)
{
    sqlite3_stmt **const all[] = {&f->insert,   &f->confirm, &f->add_word, &f->find_word,
                                  &f->add_user, &f->mark,    &f->drop};

    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        (void)sqlite3_finalize(*all[i]);
        *all[i] = NULL;
    }
    history_sums_free(f->sums);
    f->sums = NULL;
    history_steps_free(f->steps);
    f->steps = NULL;
    history_attempts_free(f->attempts);
    f->attempts = NULL;
    history_applied_free(f->applied);
    f->applied = NULL;
    sql_close(f->db);
    f->db = NULL;
}

void
history_file_close(struct history_file *f)
{
    if (f == NULL)
        return;
    close_db(f);
    map_free(f->words);
    map_free(f->users);
    free(f->path);
    free(f);
}

static int
prepare(struct history_file *f, struct error *err)
{
    CLEANUP_STRBUF struct strbuf insert = STRBUF_INIT;
    const struct {
        sqlite3_stmt **statement;
        const char *text;
    } all[] = {
        {&f->confirm, "UPDATE attempts SET lost = 0, revision = ?2"
                      " WHERE key = ?1 AND lost = 1"},
        {&f->add_word, "INSERT INTO words (word) VALUES (?1)"},
        {&f->find_word, "SELECT id FROM words WHERE word = ?1"},
        {&f->add_user, "INSERT INTO users (user, uid) VALUES (?1, ?2)"
                       " ON CONFLICT DO NOTHING"},
        {&f->mark, "UPDATE watermark SET revision = max(revision, ?1) WHERE id = 1"},
        {&f->drop, "DELETE FROM attempts WHERE id IN (SELECT id FROM attempts"
                   " WHERE end_at < ?1 ORDER BY end_at LIMIT ?2)"},
    };
    int r;

    history_fields_insert(&insert);
    r = sql_prepare(f->db, insert.text, &f->insert, err);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(all); i++)
        r = sql_prepare(f->db, all[i].text, all[i].statement, err);
    return r;
}

/* ---- Open ---- */

static int
check_pages(struct history_file *f, struct error *err)
{
    sqlite3_stmt *s = NULL;
    int r = 0;

    if (history_file_bytes(f) > CHECK_BYTES)
        return 0;
    r = sql_prepare(f->db, "PRAGMA quick_check(1)", &s, err);
    if (r < 0)
        return r;
    if (sqlite3_step(s) != SQLITE_ROW)
        r = sql_error(f->db, err);
    else if (strcmp((const char *)sqlite3_column_text(s, 0), "ok") != 0)
        r = error_set(err, -EUCLEAN, "'%s' is damaged (%s)", f->path,
                      (const char *)sqlite3_column_text(s, 0));
    (void)sqlite3_finalize(s);
    return r;
}

static int
bring_up(struct history_file *f, const struct history_origin *origin, struct error *err)
{
    int r = sql_open(f->path, &f->db, err);

    if (r == 0)
        r = sql_exec(f->db,
                     "PRAGMA journal_mode = WAL;"
                     "PRAGMA synchronous = FULL;"
                     "PRAGMA cell_size_check = ON;"
                     "PRAGMA trusted_schema = OFF;"
                     "PRAGMA temp_store = MEMORY;"
                     "PRAGMA cache_size = -16384;",
                     err);
    if (r == 0)
        r = check_pages(f, err);
    if (r == 0)
        r = history_schema_migrate(f->db, err);
    if (r == 0)
        r = prepare(f, err);
    if (r == 0)
        r = history_sums_new(f->db, &f->sums, err);
    if (r == 0)
        r = history_steps_new(f->db, &f->steps, err);
    if (r == 0)
        r = history_attempts_new(f->db, &f->attempts, err);
    if (r == 0)
        r = history_applied_new(f->db, &f->applied, err);
    return r == 0 ? history_timeline_meet(f->db, origin, &f->watermark, err) : r;
}

void
history_file_set_aside(const char *path, const char *suffix, const char *why, struct strbuf *notice)
{
    static const char *const companions[] = {"-wal", "-shm"};
    CLEANUP_FREE char *aside = xasprintf("%s.%s", path, suffix);

    for (unsigned i = 1; access(aside, F_OK) == 0; i++) {
        free(aside);
        aside = xasprintf("%s.%s.%u", path, suffix, i);
    }
    for (size_t i = 0; i < ARRAY_SIZE(companions); i++) {
        CLEANUP_FREE char *from = xasprintf("%s%s", path, companions[i]);
        CLEANUP_FREE char *to = xasprintf("%s%s", aside, companions[i]);

        (void)rename(from, to);
    }
    (void)rename(path, aside);
    strbuf_printf(notice,
                  "%s: kept as '%s', and started a new history with what the "
                  "store still has",
                  why, aside);
}

int
history_file_open(const char *path, const struct history_origin *origin,
                  struct history_file **ret_file, struct strbuf *notice, struct error *err)
{
    struct history_file *f = xnew(struct history_file);
    struct error why = {0};
    int r;

    f->path = xstrdup(path);
    f->words = map_new();
    f->users = map_new();
    r = bring_up(f, origin, &why);
    if (r == 1 || r == -EUCLEAN) {
        close_db(f);
        if (r == 1)
            error_set(&why, -EUCLEAN, "'%s' belongs to another cluster", path);
        history_file_set_aside(path, r == 1 ? "other-cluster" : "damaged", why.text, notice);
        f->watermark = 0;
        r = bring_up(f, origin, &why);
    }
    if (r < 0) {
        history_file_close(f);
        return error_set(err, r, "%s", why.text);
    }
    *ret_file = f;
    return 0;
}

int64_t
history_file_watermark(const struct history_file *f)
{
    return f->watermark;
}

int64_t
history_file_bytes(const struct history_file *f)
{
    int64_t pages = 0, free_pages = 0, size = 0;

    if (sql_number(f->db, "PRAGMA page_count", &pages, NULL) < 0
        || sql_number(f->db, "PRAGMA freelist_count", &free_pages, NULL) < 0
        || sql_number(f->db, "PRAGMA page_size", &size, NULL) < 0)
        return 0;
    return (pages - free_pages) * size;
}

/* ---- Rows ---- */

/* The number of a word, which never changes; 0 for no word. */
static int
find_word(struct history_file *f, const char *word, int64_t *ret_id, struct error *err)
{
    void *known;
    int r = 0;

    *ret_id = 0;
    if (word == NULL || word[0] == '\0')
        return 0;
    known = map_find(f->words, word);
    if (known != NULL) {
        *ret_id = (int64_t)(intptr_t)known;
        return 0;
    }
    (void)sqlite3_bind_text(f->find_word, 1, word, -1, SQLITE_STATIC);
    if (sqlite3_step(f->find_word) == SQLITE_ROW)
        *ret_id = sqlite3_column_int64(f->find_word, 0);
    (void)sqlite3_reset(f->find_word);
    if (*ret_id == 0) {
        (void)sqlite3_bind_text(f->add_word, 1, word, -1, SQLITE_STATIC);
        r = sql_run(f->add_word, err);
        if (r == 0)
            *ret_id = sqlite3_last_insert_rowid(f->db);
    }
    if (map_count(f->words) >= WORDS_CACHED)
        map_clear(f->words);
    if (r == 0)
        (void)map_put(f->words, word, (void *)(intptr_t)*ret_id);
    return r;
}

/* The numbers of the row's words, by place. */
static int
find_words(struct history_file *f, const struct history_row *row, int64_t ids[RECORD_MAX_FIELDS],
           struct error *err)
{
    int r = 0;

    for (unsigned i = 0; r == 0 && i < history_row_record.n_fields; i++)
        r = find_word(f, history_fields_word(row, i), &ids[i], err);
    return r;
}

/* The attempt ended in a timeline that the store has lost, and has ended again
 * in the present one: the row is not lost any more.
 */
static int
confirm(struct history_file *f, const struct history_row *row, struct error *err)
{
    history_fields_bind_uid(f->confirm, 1, row->pod_uid != NULL ? row->pod_uid : row->job_uid);
    (void)sqlite3_bind_int64(f->confirm, 2, row->revision);
    return sql_run(f->confirm, err);
}

/* Records that the uid has had that name. */
static int
add_user(struct history_file *f, int64_t user, int64_t uid, struct error *err)
{
    char key[64];
    int r;

    (void)snprintf(key, sizeof(key), "%" PRId64 " %" PRId64, user, uid);
    if (map_find(f->users, key) != NULL)
        return 0;
    (void)sqlite3_bind_int64(f->add_user, 1, user);
    (void)sqlite3_bind_int64(f->add_user, 2, uid);
    r = sql_run(f->add_user, err);
    if (map_count(f->users) >= WORDS_CACHED)
        map_clear(f->users);
    if (r == 0)
        (void)map_put(f->users, key, f);
    return r;
}

int
history_file_begin(struct history_file *f, struct error *err)
{
    return sql_exec(f->db, "BEGIN IMMEDIATE", err);
}

static int
add_row(struct history_file *f, const struct history_row *row, struct error *err)
{
    int64_t ids[RECORD_MAX_FIELDS];
    int r = find_words(f, row, ids, err);

    if (r < 0)
        return r;
    history_fields_bind(f->insert, row, ids);
    r = sql_run(f->insert, err);
    if (r < 0)
        return r;
    if (sqlite3_changes(f->db) == 0)
        return confirm(f, row, err);
    r = add_user(f, ids[HISTORY_AT_USER], row->uid, err);
    if (r < 0)
        return r;
    history_sums_add(f->sums, row, ids[HISTORY_AT_ACCOUNT], ids[HISTORY_AT_USER],
                     ids[HISTORY_AT_PARTITION]);
    return 1;
}

/* When all pods of an attempt of several nodes have a row, the attempt gets its own, in the same
 * transaction.
 */
static int
add_to_attempt(struct history_file *f, const struct history_row *row, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct history_row whole;
    int r = history_attempts_add(f->attempts, arena, row, &whole, err);

    return r == 1 ? add_row(f, &whole, err) : r;
}

/* Its pods have ended again in the present timeline. */
static int
confirm_attempt(struct history_file *f, const struct history_row *row, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct history_row whole = *row;

    whole.pod_uid = history_attempts_key(arena, row);
    return confirm(f, &whole, err);
}

int
history_file_add(struct history_file *f, const struct history_row *row, struct error *err)
{
    int r = add_row(f, row, err);

    if (r == 0 && row->member > 0 && row->job_uid != NULL)
        return confirm_attempt(f, row, err);
    if (r == 1 && row->member > 0 && row->job_uid != NULL) {
        r = add_to_attempt(f, row, err);
        r = r < 0 ? r : 1;
    }
    return r;
}

int
history_file_add_steps(struct history_file *f, const struct step_batch *batch, struct error *err)
{
    return history_steps_add(f->steps, batch, err);
}

int
history_file_commit(struct history_file *f, int64_t revision, struct error *err)
{
    int r;

    r = history_sums_write(f->sums, err);
    if (r < 0)
        return r;
    (void)sqlite3_bind_int64(f->mark, 1, revision);
    r = sql_run(f->mark, err);
    if (r == 0)
        r = sql_exec(f->db, "COMMIT", err);
    if (r == 0 && revision > f->watermark)
        f->watermark = revision;
    return r;
}

struct history_applied *
history_file_applied(struct history_file *f)
{
    return f->applied;
}

/* Numbers of words and users that the transaction added are not valid any more.
 */
void
history_file_rollback(struct history_file *f)
{
    if (!sqlite3_get_autocommit(f->db))
        (void)sql_exec(f->db, "ROLLBACK", NULL);
    map_clear(f->words);
    map_clear(f->users);
    history_sums_discard(f->sums);
}

/* ---- Retention ---- */

int64_t
history_file_drop(struct history_file *f, int64_t before_s, int64_t max_bytes, int64_t most,
                  struct error *err)
{
    int64_t steps;
    int r;

    if (max_bytes > 0 && history_file_bytes(f) > max_bytes)
        before_s = INT64_MAX;
    /* A user can make many steps, which must not take the place of anybody's attempts. */
    steps = history_steps_drop(f->steps, before_s, HISTORY_STEPS_MOST, most, err);
    if (steps != 0 || before_s == 0)
        return steps;
    (void)sqlite3_bind_int64(f->drop, 1, before_s);
    (void)sqlite3_bind_int64(f->drop, 2, most);
    r = sql_run(f->drop, err);
    return r < 0 ? r : sqlite3_changes(f->db);
}
