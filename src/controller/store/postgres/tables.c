/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/postgres/tables.h"

#include <errno.h>

#include "controller/store/engine/schema_version.h"
#include "controller/store/postgres/postgres.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/version/version.h"

/* Texts are bytea, for PostgreSQL's text has no NUL and one encoding, and what is
 * stored must come back as it was, valid or not. Bodies are not compressed: that
 * would cost the commit more than it saves. Rows are updated in place where the
 * page has room.
 */
static const char create[] = "CREATE SCHEMA kiln;"
                             "CREATE TABLE kiln.version ("
                             " id int8 PRIMARY KEY CHECK (id = 1),"
                             " version int8 NOT NULL,"
                             " writer text NOT NULL);"
                             "INSERT INTO kiln.version VALUES (1, 0, '');"
                             "CREATE TABLE kiln.leader ("
                             " id int8 PRIMARY KEY CHECK (id = 1),"
                             " holder text NOT NULL,"
                             " place text NOT NULL,"
                             " beat int8 NOT NULL) WITH (fillfactor = 10);"
                             "INSERT INTO kiln.leader VALUES (1, '', '', 0);"
                             "CREATE TABLE kiln.counters ("
                             " id int8 PRIMARY KEY CHECK (id = 1),"
                             " holder text NOT NULL,"
                             " epoch int8 NOT NULL,"
                             " batches int8 NOT NULL,"
                             " revision int8 NOT NULL,"
                             " reserved int8 NOT NULL,"
                             " job_id int8 NOT NULL) WITH (fillfactor = 10);"
                             "INSERT INTO kiln.counters VALUES (1, '', 0, 0, 0, 0, 0);"
                             "CREATE TABLE kiln.objects ("
                             " id int8 PRIMARY KEY,"
                             " revision int8 NOT NULL,"
                             " checksum int8,"
                             " kind bytea NOT NULL,"
                             " namespace bytea NOT NULL,"
                             " name bytea NOT NULL,"
                             " body bytea NOT NULL) WITH (fillfactor = 80);"
                             "ALTER TABLE kiln.objects ALTER body SET STORAGE EXTERNAL;"
                             "CREATE TABLE kiln.deltas ("
                             " revision int8 PRIMARY KEY,"
                             " object int8 NOT NULL,"
                             " checksum int8,"
                             " patch bytea NOT NULL);"
                             "ALTER TABLE kiln.deltas ALTER patch SET STORAGE EXTERNAL;"
                             "CREATE TABLE kiln.blobs ("
                             " id int8 PRIMARY KEY,"
                             " digest bytea NOT NULL,"
                             " count int8 NOT NULL) WITH (fillfactor = 80);"
                             "CREATE TABLE kiln.blob_contents ("
                             " id int8 PRIMARY KEY,"
                             " content bytea NOT NULL);"
                             "CREATE TABLE kiln.history ("
                             " id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
                             " key bytea NOT NULL UNIQUE,"
                             " at int8 NOT NULL,"
                             " record bytea NOT NULL);"
                             "CREATE INDEX history_at ON kiln.history (at);"
                             "CREATE TABLE kiln.secrets ("
                             " name bytea PRIMARY KEY,"
                             " value bytea NOT NULL)";

static int
find_tables(struct postgres *p, bool *ret_found, struct error *err)
{
    PGresult *result = NULL;
    int r = postgres_query(p, "SELECT count(*)::int8 FROM pg_namespace WHERE nspname = 'kiln'",
                           NULL, &result, err);

    if (r == 0)
        *ret_found = postgres_int64(result, 0, 0) > 0;
    PQclear(result);
    return r;
}

/* No batch of a cluster was committed, and no controller leads. */
static int
drop_unused(struct postgres *p, bool *ret_was_there, struct error *err)
{
    PGresult *result = NULL;
    int r = postgres_query(p,
                           "SELECT count(*)::int8 FROM kiln.counters AS c, kiln.leader AS l"
                           " WHERE c.revision = 0 AND c.job_id = 0 AND l.holder = ''",
                           NULL, &result, err);
    bool is_unused = r == 0 && postgres_int64(result, 0, 0) > 0;

    PQclear(result);
    if (!is_unused)
        return r;
    *ret_was_there = false;
    return postgres_exec(p, "DROP SCHEMA kiln CASCADE", err);
}

/* The statements of one command are one transaction. */
int
tables_create(struct postgres *p, bool anew, bool *ret_was_there, struct error *err)
{
    int r = find_tables(p, ret_was_there, err);

    if (r == 0 && *ret_was_there && anew)
        r = drop_unused(p, ret_was_there, err);
    if (r == 0 && !*ret_was_there)
        r = postgres_exec(p, create, err);
    return r < 0 ? r : *ret_was_there ? tables_check(p, err) : tables_upgrade(p, err);
}

int
tables_check(struct postgres *p, struct error *err)
{
    PGresult *result = NULL;
    bool found = false;
    int64_t version;
    int r = find_tables(p, &found, err);

    if (r == 0 && !found)
        return error_set(err, -ENOENT,
                         "database '%s' contains no cluster: for a new cluster, run "
                         "kiln-controller --init once; for an existing one, check the name of "
                         "the database, or restore a backup with --restore FILE",
                         p->where);
    if (r == 0)
        r = postgres_query(p, "SELECT version, writer FROM kiln.version", NULL, &result, err);
    if (r < 0)
        return r;
    version = PQntuples(result) > 0 ? postgres_int64(result, 0, 0) : 0;
    if (version > SCHEMA_VERSION)
        r = error_set(err, -ENOTSUP,
                      "database '%s' was written by a later release of Kiln (version %s, schema "
                      "%lld; this is version %s, which supports %d): start that release, or "
                      "restore the backup made before the upgrade",
                      p->where, postgres_text(result, 0, 1, NULL), (long long)version,
                      version_text(), SCHEMA_VERSION);
    PQclear(result);
    return r;
}

int
tables_upgrade(struct postgres *p, struct error *err)
{
    struct postgres_values v = {0};
    PGresult *result = NULL;
    int r;

    postgres_add_int64(&v, SCHEMA_VERSION);
    postgres_add_text(&v, version_text());
    r = postgres_query(p,
                       "UPDATE kiln.version SET version = $1::int8, writer = $2::text"
                       " WHERE version <= $1::int8 RETURNING 1::int8",
                       &v, &result, err);
    postgres_values_fini(&v);
    if (r == 0 && PQntuples(result) == 0) /* a later release has led meanwhile */
        r = tables_check(p, err);
    PQclear(result);
    return r;
}

int
tables_add(struct postgres *p, const char *name, const char *columns, struct error *err)
{
    CLEANUP_FREE char *ask = xasprintf("SELECT (to_regclass('%s') IS NULL)::int::int8", name);
    CLEANUP_FREE char *make = xasprintf("CREATE TABLE %s %s", name, columns);
    PGresult *result = NULL;
    int r = postgres_query(p, ask, NULL, &result, err);
    bool is_missing = r == 0 && postgres_int64(result, 0, 0) != 0;

    PQclear(result);
    return is_missing ? postgres_exec(p, make, err) : r;
}
