/* SPDX-License-Identifier: Apache-2.0 */
/* A restored store has forgotten ends that history knows, and gives their revisions to other changes.
 * Those rows are true, since the jobs did run, so they are marked and not deleted, and a watermark
 * beyond the store's revision is taken back, or ends of the new timeline would be missed.
 */
#include "controller/history/history_timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/history/history_file.h"
#include "controller/store/engine/sql.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

static int
run_with(sqlite3 *db, const char *text, const char *word, int64_t a, int64_t b, struct error *err)
{
    sqlite3_stmt *s = NULL;
    int r = sql_prepare(db, text, &s, err);

    if (r < 0)
        return r;
    (void)sqlite3_bind_text(s, 1, word, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(s, 2, a);
    (void)sqlite3_bind_int64(s, 3, b);
    r = sql_run(s, err);
    (void)sqlite3_finalize(s);
    return r;
}

/* Marks rows with revisions between the two, both excluded. */
static int
mark(sqlite3 *db, int64_t after, int64_t before, struct error *err)
{
    return run_with(db,
                    "UPDATE attempts SET lost = 1 WHERE ?1 IS NOT NULL"
                    " AND revision > ?2 AND revision < ?3",
                    "", after, before, err);
}

/* Marks rows that were lost by restores which the store has recorded. */
static int
mark_known(sqlite3 *db, const char *lost, const char *known, struct error *err)
{
    const size_t n = strlen(known);
    const char *at = strncmp(lost, known, n) == 0 ? lost + n : lost;
    long long after, before;
    int r = 0;

    for (; r == 0 && sscanf(at, "%lld %lld;", &after, &before) == 2;
         at += strcspn(at, ";"), at += *at == ';')
        r = mark(db, after, before, err);
    return r;
}

/* The revision up to which the store's timeline and the file's are the same. */
static int
find_common(sqlite3 *db, const struct history_origin *origin, int64_t *ret_revision,
            struct error *err)
{
    sqlite3_stmt *s = NULL;
    int r;

    *ret_revision = origin->revision;
    if (origin->epoch == 0)
        return 0;
    r = sql_prepare(db, "SELECT min(revision) FROM epochs WHERE epoch >= ?1", &s, err);
    if (r < 0)
        return r;
    (void)sqlite3_bind_int64(s, 1, origin->epoch);
    if (sqlite3_step(s) != SQLITE_ROW)
        r = sql_error(db, err);
    else if (sqlite3_column_type(s, 0) != SQLITE_NULL
             && sqlite3_column_int64(s, 0) < origin->revision)
        *ret_revision = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    return r;
}

static int
note_epoch(sqlite3 *db, const struct history_origin *origin, struct error *err)
{
    int r;

    if (origin->epoch == 0)
        return 0;
    r = run_with(db,
                 "DELETE FROM epochs WHERE ?1 IS NOT NULL AND epoch >= ?2"
                 " AND ?3 = 0",
                 "", origin->epoch, 0, err);
    if (r == 0)
        r = run_with(db, "INSERT INTO epochs SELECT ?2, ?3 WHERE ?1 IS NOT NULL", "", origin->epoch,
                     origin->opened_at, err);
    return r;
}

struct mark {
    char *cluster, *lost;
    int64_t revision;
};

static int
meet(sqlite3 *db, const struct history_origin *origin, struct mark *m, struct error *err)
{
    int64_t common = 0;
    int r = mark_known(db, origin->lost, m->lost, err);

    if (r == 0)
        r = find_common(db, origin, &common, err);
    if (r == 0 && m->revision > common) {
        log_warning("History is ahead of the store (revision %lld, of which "
                    "the store has %lld): the rows in between are kept, and "
                    "marked as lost by the store",
                    (long long)m->revision, (long long)common);
        r = mark(db, common, m->revision + 1, err);
        m->revision = common;
    }
    if (r == 0)
        r = note_epoch(db, origin, err);
    if (r == 0)
        r = run_with(db,
                     "UPDATE watermark SET cluster = ?1, revision = ?2"
                     " WHERE ?3 = 0",
                     origin->cluster, m->revision, 0, err);
    if (r == 0)
        r = run_with(db, "UPDATE watermark SET lost = ?1 WHERE ?2 = ?3", origin->lost, 0, 0, err);
    return r;
}

static int
read_mark(sqlite3 *db, struct mark *m, struct error *err)
{
    sqlite3_stmt *s = NULL;
    int r = sql_prepare(db, "SELECT cluster, revision, lost FROM watermark", &s, err);

    if (r < 0)
        return r;
    if (sqlite3_step(s) == SQLITE_ROW) {
        m->cluster = xstrdup((const char *)sqlite3_column_text(s, 0));
        m->revision = sqlite3_column_int64(s, 1);
        m->lost = xstrdup((const char *)sqlite3_column_text(s, 2));
    } else
        r = error_set(err, -EUCLEAN, "'%s' has no watermark", sqlite3_db_filename(db, "main"));
    (void)sqlite3_finalize(s);
    return r;
}

int
history_timeline_meet(sqlite3 *db, const struct history_origin *origin, int64_t *ret_watermark,
                      struct error *err)
{
    struct mark m = {0};
    int r = read_mark(db, &m, err);

    if (r == 0 && m.cluster[0] != '\0' && strcmp(m.cluster, origin->cluster) != 0)
        r = 1;
    if (r == 0)
        r = sql_exec(db, "BEGIN IMMEDIATE", err);
    if (r == 0) {
        r = meet(db, origin, &m, err);
        if (r == 0)
            r = sql_exec(db, "COMMIT", err);
        if (r < 0 && !sqlite3_get_autocommit(db))
            (void)sql_exec(db, "ROLLBACK", NULL);
    }
    *ret_watermark = m.revision;
    free(m.cluster);
    free(m.lost);
    return r;
}
