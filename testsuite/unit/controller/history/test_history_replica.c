/* SPDX-License-Identifier: Apache-2.0 */
/* The shared log is an array here. */
#include "controller/history/history_replica.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/engine/record_log.h"
#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/history/history_place.h"

#define RECORDS_MOST 8

struct record_log {
    struct {
        int64_t id;
        char *key, *text;
    } records[RECORDS_MOST];
    size_t n;
    int64_t last;
};

static struct record_log shared;

static void
truncate_log(size_t n)
{
    while (shared.n > n) {
        shared.n--;
        free(shared.records[shared.n].key);
        free(shared.records[shared.n].text);
    }
}

struct record_log *
record_log_new(const char *url)
{
    (void)url;
    return &shared;
}

void
record_log_free(struct record_log *log)
{
    (void)log;
}

static int64_t
find_key(const char *key)
{
    for (size_t i = 0; i < shared.n; i++)
        if (strcmp(shared.records[i].key, key) == 0)
            return shared.records[i].id;
    return 0;
}

int
record_log_append(struct record_log *log, const struct log_record *records, size_t n,
                  log_number_fn *tell, void *context, struct error *err)
{
    int r = 0;

    (void)err;
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (find_key(records[i].key) == 0) {
            ck_assert_uint_lt(log->n, RECORDS_MOST);
            log->records[log->n].id = ++log->last;
            log->records[log->n].key = xstrdup(records[i].key);
            log->records[log->n++].text = xstrdup(records[i].text);
        }
        r = tell(find_key(records[i].key), records[i].key, context);
    }
    return r;
}

int
record_log_last(struct record_log *log, int64_t *ret_last, struct error *err)
{
    (void)err;
    *ret_last = log->last;
    return 0;
}

int
record_log_read(struct record_log *log, int64_t after, log_record_fn *read, void *context,
                struct error *err)
{
    int r = 0;

    (void)err;
    for (size_t i = 0; r == 0 && i < log->n; i++)
        if (log->records[i].id > after)
            r = read(log->records[i].id, log->records[i].key, log->records[i].text,
                     strlen(log->records[i].text), context);
    return r;
}

int
record_log_drop(struct record_log *log, int64_t before_s, struct error *err)
{
    (void)log;
    (void)before_s;
    (void)err;
    return 0;
}

struct pair {
    struct place here, there; /* two controllers */
    struct history_replica *replica;
};

static void
pair_init(struct pair *p)
{
    place_init(&p->here);
    place_init(&p->there);
    p->replica = history_replica_new("postgresql://");
}

static void
pair_fini(struct pair *p)
{
    history_replica_free(p->replica);
    place_fini(&p->here);
    place_fini(&p->there);
    truncate_log(0);
    shared.last = 0;
}

static void
begin_write(struct pair *p, struct place *at, int64_t n)
{
    const struct history_row row = row_of(at, n);

    ck_assert_int_eq(history_file_begin(at->file, NULL), 0);
    ck_assert_int_eq(history_file_add(at->file, &row, NULL), 1);
    history_replica_keep(p->replica, &row, NULL, row.pod_uid);
    ck_assert_int_eq(history_replica_append(p->replica, at->file, NULL), 0);
}

/* The attempt ends under that controller. */
static void
write_row(struct pair *p, struct place *at, int64_t n)
{
    begin_write(p, at, n);
    ck_assert_int_eq(history_file_commit(at->file, 100 + n, NULL), 0);
}

static void
catch_up(struct pair *p, struct place *at)
{
    ck_assert_int_eq(history_replica_catch_up(p->replica, at->file, NULL), 0);
}

/* What `history.maxBytes` does to a file that is far too large. */
static void
remove_rows(struct place *at)
{
    ck_assert_int_ge(history_file_drop(at->file, 0, 1, 100, NULL), 0);
    ck_assert_uint_eq(json_count(ask(at, &everything, NULL)), 0);
}

static unsigned
rows(struct place *at)
{
    return (unsigned)json_count(ask(at, &everything, NULL));
}

static int64_t
counted(struct place *at)
{
    struct history_question report = everything;

    report.by = HISTORY_BY_ALL;
    return json_get_int(json_at(ask(at, &report, NULL), 0), "ended", 0);
}

START_TEST(a_row_of_ours_that_was_removed_is_not_added_again)
{
    struct pair p;

    pair_init(&p);
    write_row(&p, &p.here, 1);
    remove_rows(&p.here);
    write_row(&p, &p.here, 2);
    catch_up(&p, &p.here);

    ck_assert_uint_eq(rows(&p.here), 1);
    ck_assert_int_eq(counted(&p.here), 2);
    pair_fini(&p);
}
END_TEST

START_TEST(a_row_of_another_that_was_removed_is_not_added_again)
{
    struct pair p;

    pair_init(&p);
    write_row(&p, &p.there, 1);
    catch_up(&p, &p.here);
    ck_assert_int_eq(counted(&p.here), 1);
    remove_rows(&p.here);
    catch_up(&p, &p.here);
    catch_up(&p, &p.here);

    ck_assert_uint_eq(rows(&p.here), 0);
    ck_assert_int_eq(counted(&p.here), 1);
    pair_fini(&p);
}
END_TEST

START_TEST(a_record_that_comes_late_with_a_lower_number_is_applied_once)
{
    struct pair p;

    pair_init(&p);
    shared.last = 1;
    write_row(&p, &p.there, 2);
    catch_up(&p, &p.here);
    shared.last = 0;
    write_row(&p, &p.there, 1);
    shared.last = 2;
    catch_up(&p, &p.here);
    ck_assert_int_eq(counted(&p.here), 2);
    remove_rows(&p.here);
    catch_up(&p, &p.here);

    ck_assert_int_eq(counted(&p.here), 2);
    pair_fini(&p);
}
END_TEST

START_TEST(a_record_that_was_appended_before_the_file_failed_is_known)
{
    struct pair p;

    pair_init(&p);
    begin_write(&p, &p.here, 1);
    history_file_rollback(p.here.file);
    write_row(&p, &p.here, 1);
    ck_assert_uint_eq(shared.n, 1);
    remove_rows(&p.here);
    catch_up(&p, &p.here);

    ck_assert_int_eq(counted(&p.here), 1);
    pair_fini(&p);
}
END_TEST

START_TEST(a_file_that_was_put_back_reads_what_it_lacks)
{
    CLEANUP_FREE char *copy = NULL, *vacuum = NULL;
    struct pair p;
    sqlite3 *db = NULL;

    pair_init(&p);
    write_row(&p, &p.here, 1);
    remove_rows(&p.here);
    copy = xasprintf("%s/copy.db", p.here.directory);
    vacuum = xasprintf("VACUUM INTO '%s'", copy);
    ck_assert_int_eq(sql_open(p.here.path, &db, NULL), 0);
    ck_assert_int_eq(sql_exec(db, vacuum, NULL), 0);
    sql_close(db);
    write_row(&p, &p.here, 2);
    history_file_close(p.here.file);
    p.here.file = NULL;
    ck_assert_int_eq(rename(copy, p.here.path), 0);
    ck_assert_int_eq(open_as(&p.here, "us", 1000, ""), 0);
    catch_up(&p, &p.here);

    ck_assert_uint_eq(rows(&p.here), 1);
    ck_assert_int_eq(counted(&p.here), 2);
    pair_fini(&p);
}
END_TEST

START_TEST(a_database_that_was_put_back_gives_numbers_again)
{
    struct pair p;

    pair_init(&p);
    for (int n = 1; n <= 3; n++)
        write_row(&p, &p.here, n);
    remove_rows(&p.here);
    truncate_log(1);
    shared.last = 1;
    catch_up(&p, &p.here);
    ck_assert_int_eq(counted(&p.here), 3);
    write_row(&p, &p.there, 4);
    ck_assert_int_eq(shared.records[1].id, 2);
    catch_up(&p, &p.here);
    catch_up(&p, &p.here);

    ck_assert_uint_eq(rows(&p.here), 1);
    ck_assert_int_eq(counted(&p.here), 4);
    pair_fini(&p);
}
END_TEST

/* Others have led since it was put back. */
START_TEST(a_number_that_another_record_has_now_is_not_known)
{
    struct pair p;

    pair_init(&p);
    write_row(&p, &p.here, 1);
    write_row(&p, &p.here, 2);
    truncate_log(1);
    shared.last = 1;
    write_row(&p, &p.there, 3);
    write_row(&p, &p.there, 4);
    remove_rows(&p.here);
    catch_up(&p, &p.here);

    ck_assert_uint_eq(rows(&p.here), 2);
    ck_assert_int_eq(counted(&p.here), 4);
    pair_fini(&p);
}
END_TEST

/* The numbers before are forgotten by then. */
START_TEST(a_database_that_was_put_back_far_is_not_read_from_further_back)
{
    struct pair p;

    pair_init(&p);
    write_row(&p, &p.here, 1);
    shared.last = 1500;
    write_row(&p, &p.here, 2);
    remove_rows(&p.here);
    truncate_log(1);
    shared.last = 400;
    catch_up(&p, &p.here);
    catch_up(&p, &p.here);
    ck_assert_int_eq(counted(&p.here), 2);
    write_row(&p, &p.there, 3);
    catch_up(&p, &p.here);

    ck_assert_uint_eq(rows(&p.here), 1);
    ck_assert_int_eq(counted(&p.here), 3);
    pair_fini(&p);
}
END_TEST

START_TEST(a_file_of_the_version_before_learns_which_records_it_has)
{
    struct pair p;

    pair_init(&p);
    write_row(&p, &p.here, 1);
    place_make_old(&p.here, 12);
    ck_assert_int_eq(open_as(&p.here, "us", 1000, ""), 0);
    catch_up(&p, &p.here);
    ck_assert_int_eq(counted(&p.here), 1);
    remove_rows(&p.here);
    catch_up(&p, &p.here);

    ck_assert_int_eq(counted(&p.here), 1);
    pair_fini(&p);
}
END_TEST

SUITE("history_replica", a_row_of_ours_that_was_removed_is_not_added_again,
      a_row_of_another_that_was_removed_is_not_added_again,
      a_record_that_comes_late_with_a_lower_number_is_applied_once,
      a_record_that_was_appended_before_the_file_failed_is_known,
      a_file_that_was_put_back_reads_what_it_lacks,
      a_database_that_was_put_back_gives_numbers_again,
      a_number_that_another_record_has_now_is_not_known,
      a_database_that_was_put_back_far_is_not_read_from_further_back,
      a_file_of_the_version_before_learns_which_records_it_has)
