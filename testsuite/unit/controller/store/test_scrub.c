/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/scrub.h"

#include <check.h>
#include <string.h>

#include "controller/store/engine/sql.h"
#include "controller/store/store_state.h"
#include "controller/store/write/serial_worker.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

#define REST (6 * 3600)

/* Changes the database of an open store directly. */
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

static void
tick(struct place *p, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        scrub_tick(p->store->scrub);
        serial_worker_drain(p->store->reader);
    }
}

static void
begin(struct place *p, unsigned objects)
{
    place_init(p);
    for (unsigned i = 0; i < objects; i++) {
        char name[16];

        snprintf(name, sizeof(name), "x%u", i);
        place_put(p, name, "n1");
    }
    place_settle(p);
}

START_TEST(rows_that_change_on_the_disk_are_found_and_what_is_in_memory_stays)
{
    struct place p;

    begin(&p, 450);
    tamper(&p, "UPDATE objects SET body = '[]' WHERE name IN ('x0', 'x449')");
    tamper(&p, "INSERT INTO deltas SELECT 99999, id, '{}', 7 FROM objects"
               " WHERE name = 'x3'");
    ck_assert_uint_eq(store_count_damaged_since(p.store), 0);

    tick(&p, 1); /* two hundred rows */
    ck_assert_uint_eq(store_count_damaged_since(p.store), 1);
    tick(&p, 2);
    ck_assert_uint_eq(store_count_damaged_since(p.store), 2);
    tick(&p, 2);
    ck_assert_uint_eq(store_count_damaged_since(p.store), 3);

    ck_assert_str_eq(pod_of(place_find(&p, "x0"))->spec.node_name, "n1");
    ck_assert_uint_eq(store_count_damaged(p.store), 0);
    place_fini(&p);
}
END_TEST

START_TEST(a_row_without_a_checksum_is_not_wrong)
{
    struct place p;

    begin(&p, 2);
    tamper(&p, "UPDATE objects SET checksum = NULL");
    tick(&p, 4);
    ck_assert_uint_eq(store_count_damaged_since(p.store), 0);
    place_fini(&p);
}
END_TEST

START_TEST(a_pass_that_is_over_begins_again_hours_later_and_counts_anew)
{
    struct place p;

    begin(&p, 2);
    tick(&p, 2);
    tamper(&p, "UPDATE objects SET revision = revision + 7000");
    tick(&p, REST);
    ck_assert_uint_eq(store_count_damaged_since(p.store), 0);
    tick(&p, 2);
    ck_assert_uint_eq(store_count_damaged_since(p.store), 2);
    tamper(&p, "UPDATE objects SET revision = revision - 7000");
    tick(&p, REST + 1);
    ck_assert_uint_eq(store_count_damaged_since(p.store), 2);
    tick(&p, 1);
    ck_assert_uint_eq(store_count_damaged_since(p.store), 0);
    place_fini(&p);
}
END_TEST

START_TEST(nothing_is_read_while_a_batch_waits_or_the_disk_is_full)
{
    struct place p;

    begin(&p, 2);
    tamper(&p, "UPDATE objects SET body = '[]'");
    place_put(&p, "y", "n1");
    tick(&p, 1);
    ck_assert_uint_eq(store_count_damaged_since(p.store), 0);
    place_settle(&p);
    p.store->is_read_only = true;
    tick(&p, 1);
    ck_assert_uint_eq(store_count_damaged_since(p.store), 0);
    p.store->is_read_only = false;
    tick(&p, 1);
    ck_assert_uint_eq(store_count_damaged_since(p.store), 2);
    place_fini(&p);
}
END_TEST

START_TEST(a_row_kept_aside_at_the_start_is_not_reported_again)
{
    struct place p;

    begin(&p, 2);
    tamper(&p, "UPDATE objects SET body = '[]' WHERE name = 'x0'");
    place_reopen(&p);
    ck_assert_uint_eq(store_count_damaged(p.store), 1);
    tick(&p, 2);
    ck_assert_uint_eq(store_count_damaged_since(p.store), 0);
    place_fini(&p);
}
END_TEST

SUITE("scrub", rows_that_change_on_the_disk_are_found_and_what_is_in_memory_stays,
      a_row_without_a_checksum_is_not_wrong,
      a_pass_that_is_over_begins_again_hours_later_and_counts_anew,
      nothing_is_read_while_a_batch_waits_or_the_disk_is_full,
      a_row_kept_aside_at_the_start_is_not_reported_again)
