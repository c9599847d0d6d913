/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_file.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "controller/history/history_question.h"
#include "controller/history/history_reader.h"
#include "controller/history/history_schema.h"
#include "controller/store/engine/sql.h"
#include "lib/api/job/history_row.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#define DAY_US INT64_C(86400000000)
#define NOON   (20000 * DAY_US + DAY_US / 2)

struct place {
    char *directory, *path;
    struct history_file *file;
    struct strbuf notice;
    struct arena *arena;
};

static int
open_as(struct place *p,
        const char *cluster,
        int64_t revision,
        const char *lost)
{
    const struct history_origin origin = {cluster, revision, lost};

    history_file_close(p->file);
    p->file = NULL;
    return history_file_open(p->path, &origin, &p->file, &p->notice, NULL);
}

static void
place_init(struct place *p)
{
    *p = (struct place){.directory = scratch_new(), .arena = arena_new(0)};
    p->path = xasprintf("%s/history.db", p->directory);
    strbuf_init(&p->notice);
    ck_assert_int_eq(open_as(p, "us", 1000, ""), 0);
}

static void
place_fini(struct place *p)
{
    history_file_close(p->file);
    strbuf_fini(&p->notice);
    free(p->path);
    arena_free(p->arena);
    scratch_freep(&p->directory);
}

/* Half an hour on two CPUs, of which it used one. */
static struct history_row
row_of(struct place *p, int64_t n)
{
    static const int64_t half_hour = INT64_C(1800000000);
    static const int64_t zero;

    return (struct history_row){
        .user = "alice",
        .uid = 1000,
        .account = "chem",
        .job_id = n,
        .job_uid = arena_printf(p->arena,
                                "00000000-0000-4000-8000-%012lld",
                                (long long)n),
        .object = arena_printf(p->arena, "job-%lld", (long long)n),
        .name = "sweep",
        .pod = arena_printf(p->arena, "job-%lld-0", (long long)n),
        .pod_uid = arena_printf(p->arena,
                                "11111111-0000-4000-8000-%012lld",
                                (long long)n),
        .attempt = 1,
        .submit_at_us = NOON - 2 * half_hour,
        .eligible_at_us = NOON - 2 * half_hour,
        .start_at_us = NOON - half_hour,
        .end_at_us = NOON + n * 1000000,
        .node = "n1",
        .cpu_milli = 2000,
        .cpu_time_us = &half_hour,
        .exit_code = &zero,
        .state = "Completed",
        .script = "sha256:"
                  "f59357c9c1fd7e42f3b17df33455f24a9a435c768894b51ccd977a9c18f0"
                  "c38b",
        .message = "words",
        .revision = 100 + n,
    };
}

static int
add(struct place *p, const struct history_row *row, int64_t revision)
{
    int r;

    ck_assert_int_eq(history_file_begin(p->file, NULL), 0);
    r = history_file_add(p->file, row, NULL);
    ck_assert_int_eq(history_file_commit(p->file, revision, NULL), 0);
    return r;
}

/* The answer's items. */
static struct json *
ask(struct place *p, const struct history_question *q, const char **ret_next)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct history_reader *reader = NULL;
    struct json *tree;

    ck_assert_int_eq(history_reader_open(p->path, &reader, NULL), 0);
    if (q->by == HISTORY_BY_NOTHING)
        ck_assert_int_eq(history_reader_list(reader, q, 10000000, &text, NULL),
                         0);
    else
        ck_assert_int_eq(
            history_reader_report(reader, q, 10000000, &text, NULL),
            0);
    history_reader_close(reader);
    tree = json_parse(p->arena, text.text, text.length, NULL, NULL);
    ck_assert_ptr_nonnull(tree);
    if (ret_next != NULL)
        *ret_next = json_path_text(tree, "metadata.continue");
    return json_get(tree, "items");
}

static const struct history_question everything = {
    .rights = {.is_all = true},
    .limit = 100,
};

START_TEST(a_row_comes_back_as_it_was)
{
    struct place p;
    struct history_row row;
    const struct json *item;

    place_init(&p);
    row = row_of(&p, 7);
    ck_assert_int_eq(add(&p, &row, 107), 1);

    item = json_at(ask(&p, &everything, NULL), 0);

    ck_assert_int_eq(json_get_int(item, "job", 0), 7);
    ck_assert_str_eq(json_get_text(item, "jobUid"), row.job_uid);
    ck_assert_str_eq(json_get_text(item, "podUid"), row.pod_uid);
    ck_assert_str_eq(json_get_text(item, "pod"), "job-7-0");
    ck_assert_str_eq(json_get_text(item, "name"), "sweep");
    ck_assert_str_eq(json_get_text(item, "script"), row.script);
    ck_assert_int_eq(json_get_int(item, "exitCode", -1), 0);
    ck_assert_ptr_null(json_get(item, "peakMemoryBytes"));
    place_fini(&p);
}
END_TEST

START_TEST(an_attempt_that_comes_twice_is_there_and_counted_once)
{
    struct history_question report = everything;
    struct place p;
    struct history_row row;
    const struct json *sum;

    place_init(&p);
    row = row_of(&p, 1);
    ck_assert_int_eq(add(&p, &row, 101), 1);
    ck_assert_int_eq(add(&p, &row, 102), 0);

    report.by = HISTORY_BY_ALL;
    sum = json_at(ask(&p, &report, NULL), 0);

    ck_assert_uint_eq(json_count(ask(&p, &everything, NULL)), 1);
    ck_assert_int_eq(json_get_int(sum, "ended", 0), 1);
    place_fini(&p);
}
END_TEST

START_TEST(a_batch_that_is_rolled_back_leaves_nothing)
{
    struct place p;
    struct history_row row;

    place_init(&p);
    row = row_of(&p, 1);
    ck_assert_int_eq(history_file_begin(p.file, NULL), 0);
    ck_assert_int_eq(history_file_add(p.file, &row, NULL), 1);
    history_file_rollback(p.file);

    ck_assert_uint_eq(json_count(ask(&p, &everything, NULL)), 0);
    ck_assert_int_eq(history_file_watermark(p.file), 0);
    ck_assert_int_eq(add(&p, &row, 101), 1);
    place_fini(&p);
}
END_TEST

START_TEST(the_watermark_never_goes_back_and_stays)
{
    struct place p;
    struct history_row row;

    place_init(&p);
    row = row_of(&p, 1);
    add(&p, &row, 150);
    add(&p, &row, 120);
    ck_assert_int_eq(history_file_watermark(p.file), 150);

    ck_assert_int_eq(open_as(&p, "us", 1000, ""), 0);

    ck_assert_int_eq(history_file_watermark(p.file), 150);
    place_fini(&p);
}
END_TEST

START_TEST(rows_of_a_lost_timeline_stay_and_say_so)
{
    struct place p;
    struct history_row before, after;
    const struct json *items;

    place_init(&p);
    before = row_of(&p, 1);
    after = row_of(&p, 50);
    add(&p, &before, 101);
    add(&p, &after, 150);

    ck_assert_int_eq(open_as(&p, "us", 5000, "120 5000;"), 0);

    items = ask(&p, &everything, NULL);
    ck_assert_uint_eq(json_count(items), 2);
    ck_assert(!json_is_true(json_get(json_at(items, 0), "lost")));
    ck_assert(json_is_true(json_get(json_at(items, 1), "lost")));
    place_fini(&p);
}
END_TEST

START_TEST(an_older_store_put_in_place_by_hand_is_noticed_too)
{
    struct place p;
    struct history_row before, after;

    place_init(&p);
    before = row_of(&p, 1);
    after = row_of(&p, 50);
    add(&p, &before, 101);
    add(&p, &after, 150);

    ck_assert_int_eq(open_as(&p, "us", 120, ""), 0);

    ck_assert_int_eq(history_file_watermark(p.file), 120);
    ck_assert(
        json_is_true(json_get(json_at(ask(&p, &everything, NULL), 1), "lost")));
    place_fini(&p);
}
END_TEST

START_TEST(an_attempt_that_ends_again_is_lost_no_more)
{
    struct place p;
    struct history_row row;
    const struct json *items;

    place_init(&p);
    row = row_of(&p, 50);
    add(&p, &row, 150);
    ck_assert_int_eq(open_as(&p, "us", 5000, "120 5000;"), 0);

    row.revision = 5001;
    ck_assert_int_eq(add(&p, &row, 5001), 0);
    ck_assert_int_eq(open_as(&p, "us", 5001, "120 5000;"), 0);

    items = ask(&p, &everything, NULL);
    ck_assert_uint_eq(json_count(items), 1);
    ck_assert(!json_is_true(json_get(json_at(items, 0), "lost")));
    place_fini(&p);
}
END_TEST

START_TEST(the_file_of_another_cluster_is_set_aside)
{
    CLEANUP_FREE char *aside = NULL;
    struct place p;
    struct history_row row;

    place_init(&p);
    aside = xasprintf("%s.other-cluster", p.path);
    row = row_of(&p, 1);
    add(&p, &row, 101);

    ck_assert_int_eq(open_as(&p, "them", 1000, ""), 0);

    ck_assert_ptr_nonnull(strstr(p.notice.text, "another cluster"));
    ck_assert_int_eq(access(aside, F_OK), 0);
    ck_assert_uint_eq(json_count(ask(&p, &everything, NULL)), 0);
    place_fini(&p);
}
END_TEST

START_TEST(a_file_that_is_no_database_is_set_aside)
{
    CLEANUP_FREE char *aside = NULL;
    struct place p;
    FILE *file;

    place_init(&p);
    aside = xasprintf("%s.damaged", p.path);
    history_file_close(p.file);
    p.file = NULL;
    file = fopen(p.path, "w");
    for (int i = 0; i < 5000; i++)
        fputs("nonsense", file);
    fclose(file);

    ck_assert_int_eq(open_as(&p, "us", 1000, ""), 0);

    ck_assert_int_eq(access(aside, F_OK), 0);
    ck_assert_ptr_nonnull(strstr(p.notice.text, "begun"));
    place_fini(&p);
}
END_TEST

START_TEST(a_file_of_a_later_version_is_refused_in_words)
{
    const struct history_origin origin = {"us", 1000, ""};
    struct error err = {0};
    struct place p;
    sqlite3 *db = NULL;

    place_init(&p);
    history_file_close(p.file);
    p.file = NULL;
    ck_assert_int_eq(sql_open(p.path, &db, NULL), 0);
    ck_assert_int_eq(sql_exec(db, "PRAGMA user_version = 99", NULL), 0);
    sql_close(db);

    ck_assert_int_eq(
        history_file_open(p.path, &origin, &p.file, &p.notice, &err),
        -ENOTSUP);

    ck_assert_ptr_nonnull(strstr(err.text, "later Kiln"));
    place_fini(&p);
}
END_TEST

START_TEST(how_long_it_stood_still_is_kept)
{
    struct place p;
    struct history_row row;
    const struct json *items;

    place_init(&p);
    row = row_of(&p, 7);
    row.frozen_us = 1500000;
    ck_assert_int_eq(add(&p, &row, 107), 1);
    row = row_of(&p, 8);
    ck_assert_int_eq(add(&p, &row, 108), 1);

    items = ask(&p, &everything, NULL);

    ck_assert_int_eq(json_get_int(json_at(items, 0), "frozenMicroseconds", 0),
                     1500000);
    ck_assert_ptr_null(json_get(json_at(items, 1), "frozenMicroseconds"));
    place_fini(&p);
}
END_TEST

START_TEST(a_file_of_before_arrays_gets_their_tasks)
{
    static const int64_t index = 3, task = 22;
    struct history_question of_task = everything;
    struct place p;
    struct history_row row;
    const struct json *items;
    sqlite3 *db = NULL;

    place_init(&p);
    row = row_of(&p, 7);
    row.index = &task;
    ck_assert_int_eq(add(&p, &row, 107), 1);
    history_file_close(p.file);
    p.file = NULL;
    ck_assert_int_eq(sql_open(p.path, &db, NULL), 0);
    ck_assert_int_eq(sql_exec(db,
                              "ALTER TABLE attempts DROP COLUMN task;"
                              "ALTER TABLE attempts DROP COLUMN frozen_us",
                              NULL),
                     0);
    ck_assert_int_eq(sql_exec(db, "PRAGMA user_version = 1", NULL), 0);
    sql_close(db);

    ck_assert_int_eq(open_as(&p, "us", 1000, ""), 0);
    row = row_of(&p, 8);
    row.index = &index;
    row.task = &task;
    ck_assert_int_eq(add(&p, &row, 108), 1);
    of_task.has_task = true;
    of_task.task = 22;
    items = ask(&p, &of_task, NULL);

    ck_assert_uint_eq(json_count(items), 2);
    ck_assert_int_eq(json_get_int(json_at(items, 0), "index", -1), 22);
    ck_assert_ptr_null(json_get(json_at(items, 0), "task"));
    ck_assert_int_eq(json_get_int(json_at(items, 1), "index", -1), 3);
    ck_assert_int_eq(json_get_int(json_at(items, 1), "task", -1), 22);
    of_task.task = 3;
    ck_assert_uint_eq(json_count(ask(&p, &of_task, NULL)), 0);
    place_fini(&p);
}
END_TEST

START_TEST(what_runs_over_midnight_counts_for_both_days)
{
    struct history_question report = everything;
    struct place p;
    struct history_row row;
    const struct json *days;

    place_init(&p);
    row = row_of(&p, 1);
    row.start_at_us = 20000 * DAY_US - 3600 * INT64_C(1000000);
    row.end_at_us = 20000 * DAY_US + 7200 * INT64_C(1000000);
    add(&p, &row, 101);

    report.by = HISTORY_BY_DAY;
    days = ask(&p, &report, NULL);

    ck_assert_uint_eq(json_count(days), 2);
    ck_assert_str_eq(json_get(json_at(days, 0), "cpuSeconds")->text, "7200.0");
    ck_assert_str_eq(json_get(json_at(days, 1), "cpuSeconds")->text, "14400.0");
    ck_assert_int_eq(json_get_int(json_at(days, 0), "ended", -1), 0);
    ck_assert_int_eq(json_get_int(json_at(days, 1), "ended", -1), 1);
    place_fini(&p);
}
END_TEST

START_TEST(the_oldest_rows_go_first_and_their_sums_stay)
{
    struct history_question report = everything;
    struct place p;
    const struct json *items;

    place_init(&p);
    for (int64_t n = 1; n <= 10; n++) {
        const struct history_row row = row_of(&p, n);

        add(&p, &row, 100 + n);
    }

    ck_assert_int_eq(
        history_file_drop(p.file, NOON / 1000000 + 5, 0, 100, NULL),
        4);

    items = ask(&p, &everything, NULL);
    ck_assert_uint_eq(json_count(items), 6);
    ck_assert_int_eq(json_get_int(json_at(items, 0), "job", 0), 5);
    report.by = HISTORY_BY_ALL;
    ck_assert_int_eq(
        json_get_int(json_at(ask(&p, &report, NULL), 0), "ended", 0),
        10);
    place_fini(&p);
}
END_TEST

START_TEST(pages_have_each_row_once_in_the_order_of_the_end)
{
    struct history_question q = everything;
    const char *next = NULL;
    struct place p;
    int64_t expected = 1;

    place_init(&p);
    for (int64_t n = 1; n <= 10; n++) {
        struct history_row row = row_of(&p, n);

        row.end_at_us = NOON + n / 4 * 1000000; /* several in a second */
        add(&p, &row, 100 + n);
    }
    q.limit = 3;
    do {
        const struct json *items = ask(&p, &q, &next);

        for (uint32_t i = 0; i < json_count(items); i++)
            ck_assert_int_eq(json_get_int(json_at(items, i), "job", 0),
                             expected++);
        if (next != NULL)
            ck_assert_int_eq(sscanf(next,
                                    "%" SCNd64 ".%" SCNd64,
                                    &q.after_end_s,
                                    &q.after_id),
                             2);
    } while (next != NULL);

    ck_assert_int_eq(expected, 11);
    place_fini(&p);
}
END_TEST

START_TEST(a_user_sees_own_rows_whole_and_the_accounts_in_part)
{
    static const char *const accounts[] = {"chem"};
    struct history_question q = {
        .rights = {.uid = 1001, .user = "bob", .accounts = accounts},
        .limit = 100,
    };
    struct place p;
    struct history_row row;
    const struct json *items;

    place_init(&p);
    row = row_of(&p, 1);
    add(&p, &row, 101);

    ck_assert_uint_eq(json_count(ask(&p, &q, NULL)), 0);
    q.rights.n_accounts = 1;
    items = ask(&p, &q, NULL);
    ck_assert_uint_eq(json_count(items), 1);
    ck_assert_ptr_null(json_get(json_at(items, 0), "message"));
    ck_assert_ptr_null(json_get(json_at(items, 0), "script"));
    q.rights.uid = 1000;
    items = ask(&p, &q, NULL);
    ck_assert_ptr_nonnull(json_get(json_at(items, 0), "message"));
    place_fini(&p);
}
END_TEST

START_TEST(a_user_who_was_renamed_has_both_names_rows_by_the_number)
{
    struct history_question q = everything;
    struct place p;
    struct history_row row;

    place_init(&p);
    row = row_of(&p, 1);
    add(&p, &row, 101);
    row = row_of(&p, 2);
    row.user = "alice.smith";
    add(&p, &row, 102);

    q.has_uid = true;
    q.uid = 1000;
    ck_assert_uint_eq(json_count(ask(&p, &q, NULL)), 2);
    q.has_uid = false;
    q.user = "alice.smith";
    ck_assert_uint_eq(json_count(ask(&p, &q, NULL)), 1);
    place_fini(&p);
}
END_TEST

SUITE("history_file",
      a_row_comes_back_as_it_was,
      an_attempt_that_comes_twice_is_there_and_counted_once,
      a_batch_that_is_rolled_back_leaves_nothing,
      the_watermark_never_goes_back_and_stays,
      rows_of_a_lost_timeline_stay_and_say_so,
      an_older_store_put_in_place_by_hand_is_noticed_too,
      an_attempt_that_ends_again_is_lost_no_more,
      the_file_of_another_cluster_is_set_aside,
      a_file_that_is_no_database_is_set_aside,
      a_file_of_a_later_version_is_refused_in_words,
      how_long_it_stood_still_is_kept,
      a_file_of_before_arrays_gets_their_tasks,
      what_runs_over_midnight_counts_for_both_days,
      the_oldest_rows_go_first_and_their_sums_stay,
      pages_have_each_row_once_in_the_order_of_the_end,
      a_user_sees_own_rows_whole_and_the_accounts_in_part,
      a_user_who_was_renamed_has_both_names_rows_by_the_number)
