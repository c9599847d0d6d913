/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/schema.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "controller/store/engine/sql.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

/* The tables as earlier releases made them; never to be changed. */
static const char *const first_tables = "PRAGMA application_id = 0x4b696c6e;"
                                        "PRAGMA user_version = 1;"
                                        "CREATE TABLE counters ("
                                        " id INTEGER PRIMARY KEY CHECK (id = 1),"
                                        " epoch INTEGER NOT NULL,"
                                        " revision INTEGER NOT NULL,"
                                        " reserved INTEGER NOT NULL,"
                                        " job_id INTEGER NOT NULL);"
                                        "INSERT INTO counters VALUES (1, 0, 0, 0, 0);"
                                        "CREATE TABLE objects ("
                                        " id INTEGER PRIMARY KEY,"
                                        " kind TEXT NOT NULL,"
                                        " namespace TEXT NOT NULL,"
                                        " name TEXT NOT NULL,"
                                        " revision INTEGER NOT NULL,"
                                        " body TEXT NOT NULL);"
                                        "CREATE TABLE deltas ("
                                        " revision INTEGER PRIMARY KEY,"
                                        " object INTEGER NOT NULL,"
                                        " patch TEXT NOT NULL);";
static const char *const second_tables = "PRAGMA user_version = 2;"
                                         "CREATE TABLE blobs ("
                                         " id INTEGER PRIMARY KEY,"
                                         " digest TEXT NOT NULL,"
                                         " count INTEGER NOT NULL);"
                                         "CREATE TABLE blob_contents ("
                                         " id INTEGER PRIMARY KEY,"
                                         " content BLOB NOT NULL);"
                                         "CREATE TABLE secrets ("
                                         " name TEXT PRIMARY KEY NOT NULL,"
                                         " value TEXT NOT NULL);";

/* The path of the database in that directory. */
static char *
path_in(const char *directory)
{
    return xasprintf("%s/kiln.db", directory);
}

static int64_t
version_of(sqlite3 *db)
{
    int64_t version = -1;

    ck_assert_int_eq(sql_number(db, "PRAGMA user_version", &version, NULL), 0);
    return version;
}

START_TEST(a_new_file_gets_the_present_schema_and_keeps_it)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *path = path_in(directory);
    sqlite3 *db = NULL;
    int64_t n = 0;

    ck_assert_int_eq(sql_open(path, &db, NULL), 0);
    ck_assert_int_eq(schema_migrate(db, NULL), 0);
    ck_assert_int_eq(version_of(db), SCHEMA_VERSION);
    ck_assert_int_eq(schema_migrate(db, NULL), 0);
    ck_assert_int_eq(sql_number(db,
                                "SELECT count(*) FROM writer WHERE version = '" PACKAGE_VERSION "'",
                                &n, NULL),
                     0);
    ck_assert_int_eq(n, 1);
    sql_close(db);
}
END_TEST

START_TEST(a_store_of_the_first_version_is_brought_up_with_all_it_holds)
{
    struct place p;
    CLEANUP_FREE char *path = NULL;
    sqlite3 *db = NULL;
    struct store_txn *txn;

    place_init(&p);
    store_close(p.store);
    scratch_freep(&p.directory);
    p.directory = scratch_new();
    path = path_in(p.directory);
    ck_assert_int_eq(sql_open(path, &db, NULL), 0);
    ck_assert_int_eq(sql_exec(db, first_tables, NULL), 0);
    ck_assert_int_eq(sql_exec(db,
                              "INSERT INTO objects VALUES (7, 'pods', 'a', 'x', 7, "
                              "'{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
                              "\"name\":\"x\",\"namespace\":\"a\",\"resourceVersion\":"
                              "\"7\"},\"spec\":{\"nodeName\":\"n1\"}}');"
                              "UPDATE counters SET revision = 9, job_id = 41",
                              NULL),
                     0);
    sql_close(db);

    place_open(&p);

    ck_assert_int_eq(place_find(&p, "x")->revision, 7);
    ck_assert_int_eq(store_revision(p.store), 9);
    txn = store_begin(p.store);
    ck_assert_int_eq(store_txn_job_id(txn), 42);
    store_txn_put_secret(txn, "s", "v");
    store_commit(txn, NULL, NULL);
    place_reopen(&p);
    ck_assert_str_eq(store_find_secret(p.store, "s"), "v");
    place_fini(&p);
}
END_TEST

START_TEST(rows_of_the_second_version_have_no_checksum_until_they_are_written)
{
    struct place p;
    CLEANUP_FREE char *path = NULL;
    sqlite3 *db = NULL;

    place_init(&p);
    store_close(p.store);
    scratch_freep(&p.directory);
    p.directory = scratch_new();
    path = path_in(p.directory);
    ck_assert_int_eq(sql_open(path, &db, NULL), 0);
    ck_assert_int_eq(sql_exec(db, first_tables, NULL), 0);
    ck_assert_int_eq(sql_exec(db, second_tables, NULL), 0);
    ck_assert_int_eq(sql_exec(db,
                              "INSERT INTO objects VALUES (7, 'pods', 'a', 'x', 7, "
                              "'{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
                              "\"name\":\"x\",\"namespace\":\"a\",\"resourceVersion\":"
                              "\"7\"},\"spec\":{\"nodeName\":\"n1\"}}');"
                              "INSERT INTO deltas VALUES (8, 7, "
                              "'{\"spec\":{\"nodeName\":\"n2\"}}');"
                              "UPDATE counters SET revision = 9, job_id = 41",
                              NULL),
                     0);
    sql_close(db);

    place_open(&p);
    ck_assert_int_eq(place_find(&p, "x")->revision, 8);
    ck_assert_str_eq(pod_of(place_find(&p, "x"))->spec.node_name, "n2");
    place_put(&p, "x", "n3");
    place_reopen(&p);

    ck_assert_str_eq(pod_of(place_find(&p, "x"))->spec.node_name, "n3");
    ck_assert_uint_eq(store_count_damaged(p.store), 0);
    place_fini(&p);
}
END_TEST

static const struct refusal {
    const char *does;
    const char *says;
} refusals[] = {
    {"PRAGMA application_id = 0x4b696c6e; PRAGMA user_version = 99;",
     "written by a later release of Kiln (schema 99; this is version " PACKAGE_VERSION},
    {"PRAGMA application_id = 0x4b696c6e; PRAGMA user_version = 98;"
     "CREATE TABLE writer (id INTEGER PRIMARY KEY, version TEXT NOT NULL);"
     "INSERT INTO writer VALUES (1, '0.2.0+gfeedbeef')",
     "written by a later release of Kiln (version 0.2.0+gfeedbeef, schema 98"},
    {"CREATE TABLE recipes (name TEXT)", "not Kiln's"},
    {"PRAGMA user_version = 1", "not Kiln's"},
};

static void
refuse(const struct refusal *refusal)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *path = path_in(directory);
    struct error err = {0};
    sqlite3 *db = NULL;
    int64_t version, tables, tables_after;

    ck_assert_int_eq(sql_open(path, &db, NULL), 0);
    ck_assert_int_eq(sql_exec(db, refusal->does, NULL), 0);
    version = version_of(db);
    sql_number(db, "SELECT count(*) FROM sqlite_schema", &tables, NULL);

    ck_assert_int_eq(schema_migrate(db, &err), -ENOTSUP);

    ck_assert_ptr_nonnull(strstr(err.text, refusal->says));
    ck_assert_int_eq(version_of(db), version);
    sql_number(db, "SELECT count(*) FROM sqlite_schema", &tables_after, NULL);
    ck_assert_int_eq(tables_after, tables);
    sql_close(db);
}

START_TEST(a_database_of_another_is_refused_and_left_alone)
{
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
        refuse(&refusals[i]);
}
END_TEST

SUITE("schema", a_new_file_gets_the_present_schema_and_keeps_it,
      a_store_of_the_first_version_is_brought_up_with_all_it_holds,
      rows_of_the_second_version_have_no_checksum_until_they_are_written,
      a_database_of_another_is_refused_and_left_alone)
