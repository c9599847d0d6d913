/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "controller/store/sql.h"
#include "controller/store/store.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

/* Changes the database of a closed store behind its back. */
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
    const char *says;
    int result;
} tampers[] = {
    {"UPDATE objects SET body = '{\"kind\":'", "row ", -EUCLEAN},
    {"UPDATE objects SET body = '[]'", "row ", -EUCLEAN},
    {"UPDATE objects SET body = ''", "row ", -EUCLEAN},
    {"UPDATE objects SET revision = 77", "revision 77", -EUCLEAN},
    {"INSERT INTO objects SELECT id + 5, kind, namespace, name, revision, body"
     " FROM objects WHERE name = 'x'",
     "'x' twice",
     -EUCLEAN},
    {"INSERT INTO deltas VALUES (9, 1, '{')", "revision 9", -EUCLEAN},
    {"INSERT INTO deltas VALUES (9, 1, '{\"spec\":7}')", "spec", -EUCLEAN},
    {"INSERT INTO deltas VALUES (9, 0, '{}')", "no object", -EUCLEAN},
    {"UPDATE objects SET kind = 'unicorns'", "'unicorns'", -ENOTSUP},
    {"DELETE FROM counters", "counters", -EUCLEAN},
};

START_TEST(what_no_store_would_write_is_refused_and_named)
{
    for (size_t i = 0; i < ARRAY_SIZE(tampers); i++) {
        struct place p;
        struct error err = {0};

        place_init(&p);
        place_put(&p, "x", "n1");
        place_put(&p, "y", "n1");
        place_settle(&p);
        store_close(p.store);
        tamper(&p, tampers[i].does);

        ck_assert_msg(place_try_open(&p, &err) == tampers[i].result,
                      "%s: %s",
                      tampers[i].does,
                      err.text);

        ck_assert_msg(strstr(err.text, tampers[i].says) != NULL,
                      "%s: %s",
                      tampers[i].does,
                      err.text);
        ck_assert(tampers[i].result != -EUCLEAN
                  || strstr(err.text, "backup") != NULL);
        loop_free(p.loop);
        scratch_freep(&p.directory);
    }
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

SUITE("load",
      what_no_store_would_write_is_refused_and_named,
      many_objects_all_come_back,
      a_store_in_use_is_not_opened_again)
