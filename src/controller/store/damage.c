/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the quarantined rows, and deletes one of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/directory/statedir.h"
#include "controller/store/engine/schema.h"
#include "controller/store/engine/sql.h"
#include "controller/store/quarantine.h"
#include "controller/store/scrub.h"
#include "controller/store/store_state.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

size_t
store_count_damaged(const struct store *s)
{
    return quarantine_count(s->quarantine);
}

size_t
store_count_damaged_since(const struct store *s)
{
    return scrub_count(s->scrub);
}

const struct store_damaged *
store_damaged(const struct store *s, size_t i)
{
    return quarantine_get(s->quarantine, i);
}

bool
store_is_damaged(const struct store *s, const struct kind *kind, const char *namespace,
                 const char *name)
{
    CLEANUP_FREE char *key = NULL;

    if (quarantine_count(s->quarantine) == 0 || name == NULL)
        return false;
    key = namespace != NULL && namespace[0] != '\0'
              ? xasprintf("%s/%s/%s", store_section(s, kind)->name, namespace, name)
              : xasprintf("%s/%s", store_section(s, kind)->name, name);
    return quarantine_has(s->quarantine, key);
}

bool
store_names_damaged(const struct store *s, const char *uid)
{
    return uid != NULL && quarantine_names(s->quarantine, uid);
}

static int
drop(sqlite3 *db, const struct store_damaged *d, struct error *err)
{
    char text[160];

    if (d->is_lone_change)
        (void)sqlite3_snprintf(sizeof(text), text, "DELETE FROM deltas WHERE revision = %lld",
                               (long long)d->last_revision);
    else
        (void)sqlite3_snprintf(sizeof(text), text,
                               "BEGIN; DELETE FROM deltas WHERE object = %lld;"
                               " DELETE FROM objects WHERE id = %lld; COMMIT",
                               (long long)d->row, (long long)d->row);
    return sql_exec(db, text, err);
}

static void
add_rows(sqlite3 *db, const char *query, int64_t id, struct strbuf *out)
{
    sqlite3_stmt *s = NULL;

    if (sql_prepare(db, query, &s, NULL) < 0)
        return;
    (void)sqlite3_bind_int64(s, 1, id);
    while (sqlite3_step(s) == SQLITE_ROW) {
        strbuf_add(out, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
        strbuf_add_char(out, '\n');
    }
    (void)sqlite3_finalize(s);
}

static void
add_text(sqlite3 *db, const struct store_damaged *d, struct strbuf *out)
{
    if (d->is_lone_change) {
        add_rows(db, "SELECT patch FROM deltas WHERE revision = ?1", d->last_revision, out);
        return;
    }
    add_rows(db, "SELECT body FROM objects WHERE id = ?1", d->row, out);
    add_rows(db, "SELECT patch FROM deltas WHERE object = ?1 ORDER BY revision", d->row, out);
}

int
store_drop_damaged(const char *directory, const struct store_damaged *d, struct strbuf *out,
                   struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/kiln.db", directory);
    struct statedir *lock = NULL;
    sqlite3 *db = NULL;
    int r = statedir_open(directory, &lock, err);

    if (r == 0)
        r = sql_open(path, &db, err);
    if (r == 0)
        r = schema_check(db, err);
    if (r == 0) {
        add_text(db, d, out);
        r = drop(db, d, err);
    }
    sql_close(db);
    statedir_close(lock);
    return r;
}
