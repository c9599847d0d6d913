/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "controller/store/engine/sql.h"
#include "controller/store/store.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

/* Changes the database of a closed store directly. */
static void
tamper(const struct place *p, const char *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/kiln.db", p->directory);
    sqlite3 *db = NULL;
    struct error err = {0};

    ck_assert_int_eq(sql_open(path, &db, NULL), 0);
    ck_assert_msg(sql_exec(db, text, &err) == 0, "%s", err.text);
    sql_close(db);
}

static const struct {
    const char *does;
    const char *key;  /* key of the row that is set aside */
    const char *says; /* the reason */
} tampers[] = {
    {"UPDATE objects SET body = '{\"kind\":' WHERE name = 'x'", "pods/a/x", "checksum"},
    {"UPDATE objects SET body = '{\"kind\":', checksum = NULL"
     " WHERE name = 'x'",
     "pods/a/x", "row 1"},
    {"UPDATE objects SET body = '[]', checksum = NULL WHERE name = 'x'", "pods/a/x", "row 1"},
    {"UPDATE objects SET body = '', checksum = NULL WHERE name = 'x'", "pods/a/x", "row 1"},
    {"UPDATE objects SET revision = 77 WHERE name = 'x'", "pods/a/x", "checksum"},
    {"UPDATE objects SET revision = 77, checksum = NULL WHERE name = 'x'", "pods/a/x",
     "revision 77"},
    {"UPDATE objects SET body = replace(body, '\"n1\"', '\"n2\"')"
     " WHERE name = 'x'",
     "pods/a/x", "checksum"},
    {"UPDATE objects SET id = 5 WHERE name = 'x'", "pods/a/x", "checksum"},
    {"INSERT INTO objects SELECT id + 5, kind, namespace, name, revision,"
     " body, NULL FROM objects WHERE name = 'x'",
     "pods/a/x", "twice"},
    {"INSERT INTO deltas VALUES (9, 1, '{', NULL)", "pods/a/x", "revision 9"},
    {"INSERT INTO deltas VALUES (9, 1, '{\"spec\":7}', NULL)", "pods/a/x", "spec"},
    {"INSERT INTO deltas VALUES (9, 1, '{}', 7)", "pods/a/x", "checksum"},
    {"INSERT INTO deltas VALUES (9, 0, '{}', NULL)", "changes/9", "no object"},
    {"INSERT INTO deltas VALUES (9, 99, '{}', NULL)", "changes/9", "no object"},
    {"UPDATE objects SET kind = 'unicorns' WHERE name = 'x'", "unicorns/a/x", "unknown kind"},
};

START_TEST(a_row_that_no_store_writes_is_kept_aside_and_the_rest_is_there)
{
    for (size_t i = 0; i < ARRAY_SIZE(tampers); i++) {
        struct place p;
        const struct store_damaged *d;

        place_init(&p);
        place_put(&p, "x", "n1");
        place_put(&p, "y", "n1");
        place_settle(&p);
        store_close(p.store);
        tamper(&p, tampers[i].does);

        place_open(&p);

        ck_assert_ptr_nonnull(place_find(&p, "y"));
        ck_assert_uint_eq(store_count_damaged(p.store), 1);
        d = store_damaged(p.store, 0);
        ck_assert_str_eq(d->key, tampers[i].key);
        ck_assert_msg(strstr(d->why, tampers[i].says) != NULL, "%s: %s", tampers[i].does, d->why);
        place_put(&p, "z", "n1");
        place_settle(&p);
        place_reopen(&p);
        ck_assert_uint_eq(store_count_damaged(p.store), 1);
        ck_assert_ptr_nonnull(place_find(&p, "z"));
        place_fini(&p);
    }
}
END_TEST

#define UID "6a6f6273-0000-4000-8000-000000000001"

START_TEST(a_row_kept_aside_answers_for_its_key_and_uids_until_it_is_dropped)
{
    struct place p;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct store_damaged d;
    struct error err = {0};

    place_init(&p);
    place_put(&p, "x", "n1");
    place_settle(&p);
    store_close(p.store);
    tamper(&p, "UPDATE objects SET body = '{\"uid\":\"" UID "\"!'");
    place_open(&p);
    ck_assert_ptr_null(place_find(&p, "x"));
    ck_assert(store_is_damaged(p.store, &pod_kind, "a", "x"));
    ck_assert(!store_is_damaged(p.store, &pod_kind, "a", "y"));
    ck_assert(!store_is_damaged(p.store, &job_kind, "a", "x"));
    ck_assert(store_names_damaged(p.store, UID));
    ck_assert(!store_names_damaged(p.store, "6a6f6273"));
    d = *store_damaged(p.store, 0);
    store_close(p.store);

    ck_assert_msg(store_drop_damaged(&(struct store_location){p.directory, NULL}, &d, &text, &err)
                      == 0,
                  "%s", err.text);

    ck_assert_str_eq(text.text, "{\"uid\":\"" UID "\"!\n");
    place_open(&p);
    ck_assert_uint_eq(store_count_damaged(p.store), 0);
    ck_assert(!store_is_damaged(p.store, &pod_kind, "a", "x"));
    place_put(&p, "x", "n1");
    place_reopen(&p);
    ck_assert_ptr_nonnull(place_find(&p, "x"));
    place_fini(&p);
}
END_TEST

static void
put_lease(struct place *p)
{
    struct store_txn *txn = store_begin(p->store);

    store_txn_put(txn,
                  place_object(&lease_kind, store_txn_revision(txn), "a", "l",
                               ",\"spec\":{\"leaseDurationSeconds\":40}"),
                  NULL);
    store_commit(txn, NULL, NULL);
    place_settle(p);
}

START_TEST(a_lease_that_cannot_be_read_is_dropped_and_made_anew)
{
    struct place p;

    place_init(&p);
    put_lease(&p);
    store_close(p.store);
    tamper(&p, "UPDATE objects SET body = replace(body, '40', '41')");

    place_open(&p);

    ck_assert_uint_eq(store_count_damaged(p.store), 0);
    ck_assert_uint_eq(store_count(p.store, &lease_kind), 0);
    put_lease(&p);
    place_reopen(&p);
    ck_assert_uint_eq(store_count(p.store, &lease_kind), 1);
    place_fini(&p);
}
END_TEST

START_TEST(a_store_without_counters_is_refused)
{
    struct place p;
    struct error err = {0};

    place_init(&p);
    store_close(p.store);
    tamper(&p, "DELETE FROM counters");

    ck_assert_int_eq(place_try_open(&p, &err), -EUCLEAN);

    ck_assert_ptr_nonnull(strstr(err.text, "counters"));
    ck_assert_ptr_nonnull(strstr(err.text, "backup"));
    loop_free(p.loop);
    scratch_freep(&p.directory);
}
END_TEST

#define MANY 3000

START_TEST(many_objects_all_come_back)
{
    struct place p;
    struct store_txn *txn;

    place_init(&p);
    txn = store_begin(p.store);
    for (int i = 0; i < MANY; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        place_txn_put(txn, name, "n1");
    }
    store_commit(txn, NULL, NULL);

    place_reopen(&p);

    ck_assert_uint_eq(store_count(p.store, &pod_kind), MANY);
    for (int i = 0; i < MANY; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        ck_assert_int_eq(place_find(&p, name)->revision, i + 1);
    }
    place_fini(&p);
}
END_TEST

START_TEST(a_store_in_use_is_not_opened_again)
{
    struct place p;
    struct store *store;
    struct error err = {0};

    place_init(&p);
    store = p.store;

    ck_assert_int_eq(place_try_open(&p, &err), -EBUSY);

    ck_assert_ptr_nonnull(strstr(err.text, "in use by process"));
    ck_assert_ptr_eq(p.store, store);
    place_fini(&p);
}
END_TEST

SUITE("load", a_row_that_no_store_writes_is_kept_aside_and_the_rest_is_there,
      a_row_kept_aside_answers_for_its_key_and_uids_until_it_is_dropped,
      a_lease_that_cannot_be_read_is_dropped_and_made_anew, a_store_without_counters_is_refused,
      many_objects_all_come_back, a_store_in_use_is_not_opened_again)
