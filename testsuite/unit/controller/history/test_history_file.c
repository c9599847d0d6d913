/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_file.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/history/history_schema.h"
#include "controller/store/engine/sql.h"
#include "lib/api/job/history_row.h"
#include "lib/api/value/task_list.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/history/history_place.h"

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
    ck_assert(json_is_true(json_get(json_at(ask(&p, &everything, NULL), 1), "lost")));
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
    ck_assert_ptr_nonnull(strstr(p.notice.text, "started a new history"));
    place_fini(&p);
}
END_TEST

START_TEST(a_file_of_a_later_version_is_refused_in_words)
{
    const struct history_origin origin = {
        .cluster = "us",
        .revision = 1000,
        .lost = "",
    };
    struct error err = {0};
    struct place p;
    sqlite3 *db = NULL;

    place_init(&p);
    history_file_close(p.file);
    p.file = NULL;
    ck_assert_int_eq(sql_open(p.path, &db, NULL), 0);
    ck_assert_int_eq(sql_exec(db, "PRAGMA user_version = 99", NULL), 0);
    sql_close(db);

    ck_assert_int_eq(history_file_open(p.path, &origin, &p.file, &p.notice, &err), -ENOTSUP);

    ck_assert_ptr_nonnull(strstr(err.text, "later release of Kiln"));
    place_fini(&p);
}
END_TEST

START_TEST(the_suspended_time_is_kept)
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

    ck_assert_int_eq(json_get_int(json_at(items, 0), "frozenMicroseconds", 0), 1500000);
    ck_assert_ptr_null(json_get(json_at(items, 1), "frozenMicroseconds"));
    place_fini(&p);
}
END_TEST

/* Node `index` of three of job 7. */
static struct history_row
member_of(struct place *p, int64_t index, int64_t member)
{
    static const int64_t cpu_time = INT64_C(1800000000);
    struct history_row row = row_of(p, 7);

    row.pod = arena_printf(p->arena, "job-7-%lld", (long long)index);
    row.pod_uid =
        arena_printf(p->arena, "11111111-0000-4000-8000-0000000007%02lld", (long long)index);
    row.index = arena_memdup(p->arena, &index, sizeof(index));
    row.node = arena_printf(p->arena, "n%lld", (long long)(8 + index));
    row.devices = "kiln.hpc/gpu=2";
    row.memory_bytes = 1000;
    row.cpu_time_us = &cpu_time;
    row.nodes = 3;
    row.member = member;
    if (index > 0) {
        static const int64_t killed = 143;

        row.state = "Cancelled";
        row.exit_code = &killed;
        row.signal = 15;
    }
    return row;
}

static const struct json *
report_all(struct place *p)
{
    struct history_question report = everything;

    report.by = HISTORY_BY_ALL;
    return json_at(ask(p, &report, NULL), 0);
}

START_TEST(an_attempt_of_several_nodes_is_one_row_with_their_sums)
{
    struct history_question nodes = everything, of_one = everything;
    struct place p;
    const struct json *items, *row;

    nodes.with_members = true;
    of_one.node = "n9";
    place_init(&p);
    for (int64_t i = 2; i >= 0; i--) {
        struct history_row member = member_of(&p, i, HISTORY_MEMBER_FIRST);

        ck_assert_uint_eq(json_count(ask(&p, &everything, NULL)), 0);
        ck_assert_int_eq(add(&p, &member, 110 - i), 1);
        ck_assert_int_eq(add(&p, &member, 110 - i), 0); /* twice */
        if (i == 1)
            ck_assert_int_eq(open_as(&p, "us", 1000, ""), 0); /* restarted */
    }
    items = ask(&p, &everything, NULL);
    row = json_at(items, 0);
    ck_assert_uint_eq(json_count(items), 1);
    ck_assert_str_eq(json_get_text(row, "node"), "n[8-10]");
    ck_assert_str_eq(json_get_text(row, "state"), "Completed");
    ck_assert_str_eq(json_get_text(row, "devices"), "kiln.hpc/gpu=6");
    ck_assert_int_eq(json_get_int(row, "exitCode", -1), 0);
    ck_assert_int_eq(json_get_int(row, "nodes", 0), 3);
    ck_assert_int_eq(json_get_int(row, "cpuMillis", 0), 6000);
    ck_assert_int_eq(json_get_int(row, "memoryBytes", 0), 3000);
    ck_assert_int_eq(json_get_int(row, "cpuTimeMicros", 0), INT64_C(5400000000));
    ck_assert_ptr_null(json_get(row, "index"));
    ck_assert_ptr_null(json_get(row, "podUid"));
    ck_assert_ptr_null(json_get(row, "member"));
    items = ask(&p, &nodes, NULL);
    ck_assert_uint_eq(json_count(items), 3);
    ck_assert_str_eq(json_get_text(json_at(items, 0), "node"), "n10");
    items = ask(&p, &of_one, NULL);
    ck_assert_uint_eq(json_count(items), 1);
    ck_assert_int_eq(json_get_int(json_at(items, 0), "index", 0), 1);
    place_fini(&p);
}
END_TEST

/* Each field that the table says is summed, also one that is added later. */
START_TEST(the_use_of_nodes_adds_up)
{
    static const int64_t seven = 7;
    unsigned summed = 0;
    const struct json *row;
    struct place p;

    place_init(&p);
    for (int64_t i = 0; i < 3; i++) {
        struct history_row member = member_of(&p, i, HISTORY_MEMBER_FIRST);

        for (unsigned n = 0; n < history_row_record.n_fields; n++) {
            const struct field *field = &history_row_record.fields[n];
            void *to = (char *)&member + field->offset;

            if (!field->column->is_summed || field->type == FIELD_BOOL)
                continue;
            if ((field->flags & FIELD_OPTIONAL) != 0)
                *(const int64_t **)to = &seven;
            else
                *(int64_t *)to = seven;
        }
        member.is_allocation = i == 2;
        ck_assert_int_eq(add(&p, &member, 110 + i), 1);
    }
    row = json_at(ask(&p, &everything, NULL), 0);
    for (unsigned n = 0; n < history_row_record.n_fields; n++) {
        const struct field *field = &history_row_record.fields[n];

        if (!field->column->is_summed || field->type == FIELD_BOOL)
            continue;
        ck_assert_msg(json_get_int(row, field->name, 0) == 21, "'%s' is not summed", field->name);
        summed++;
    }
    ck_assert_uint_ge(summed, 12);
    ck_assert(json_is_true(json_get(row, "allocation")));
    place_fini(&p);
}
END_TEST

START_TEST(an_attempt_of_several_nodes_is_one_end_in_reports)
{
    struct place p;
    const struct json *sum;

    place_init(&p);
    for (int64_t i = 0; i < 3; i++) {
        struct history_row member = member_of(&p, i, HISTORY_MEMBER_FIRST);

        add(&p, &member, 110 + i);
        sum = report_all(&p);
        ck_assert_int_eq(json_get_int(sum, "ended", 0), i == 2);
    }
    ck_assert_int_eq(json_get_int(sum, "completed", 0), 1);
    ck_assert_int_eq(json_get_int(sum, "stopped", 0), 0);
    ck_assert_double_eq_tol(atof(json_get(sum, "cpuSeconds")->text), 3 * 2 * (1800 + 7), 1);
    place_fini(&p);
}
END_TEST

START_TEST(a_node_that_fails_decides_how_the_attempt_ended)
{
    static const int64_t three = 3, five = 5, zero = 0;
    static const struct {
        int64_t member;
        const char *states[3];
        const int64_t *codes[3];
        const char *state;
        int64_t code;
    } cases[] = {
        {HISTORY_MEMBER_EACH,
         {"Completed", "Failed", "Failed"},
         {&zero, &three, &five},
         "Failed",
         5},
        {HISTORY_MEMBER_EACH,
         {"Cancelled", "Failed", "Cancelled"},
         {NULL, &three, NULL},
         "Failed",
         3},
        {HISTORY_MEMBER_EACH,
         {"Completed", "Completed", "Completed"},
         {&zero, &zero, &zero},
         "Completed",
         0},
        {HISTORY_MEMBER_FIRST,
         {"Cancelled", "NodeFailed", "Cancelled"},
         {NULL, NULL, NULL},
         "NodeFailed",
         -1},
        {HISTORY_MEMBER_FIRST,
         {"Completed", "NodeFailed", "Cancelled"},
         {&zero, NULL, NULL},
         "Completed",
         0},
    };

    for (size_t c = 0; c < 2 * ARRAY_SIZE(cases); c++) {
        struct place p;
        const struct json *row;

        place_init(&p);
        for (int64_t k = 0; k < 3; k++) {
            const int64_t i = c % 2 == 0 ? k : 2 - k;
            struct history_row member = member_of(&p, i, cases[c / 2].member);

            member.state = cases[c / 2].states[i];
            member.exit_code = cases[c / 2].codes[i];
            add(&p, &member, 110 + k);
        }
        row = json_at(ask(&p, &everything, NULL), 0);
        ck_assert_str_eq(json_get_text(row, "state"), cases[c / 2].state);
        ck_assert_int_eq(json_get_int(row, "exitCode", -1), cases[c / 2].code);
        place_fini(&p);
    }
}
END_TEST

START_TEST(a_file_of_before_arrays_gets_their_tasks)
{
    static const int64_t index = 3, task = 22;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct history_question of_task = everything;
    struct task_list tasks;
    struct place p;
    struct history_row row;
    const struct json *items;

    place_init(&p);
    row = row_of(&p, 7);
    row.index = &task;
    ck_assert_int_eq(add(&p, &row, 107), 1);
    place_make_old(&p, 1);

    ck_assert_int_eq(open_as(&p, "us", 1000, ""), 0);
    row = row_of(&p, 8);
    row.index = &index;
    row.task = &task;
    ck_assert_int_eq(add(&p, &row, 108), 1);
    ck_assert_int_eq(task_list_parse(arena, "20-30:2", &tasks, NULL), 0);
    of_task.tasks = &tasks;
    items = ask(&p, &of_task, NULL);

    ck_assert_uint_eq(json_count(items), 2);
    ck_assert_int_eq(json_get_int(json_at(items, 0), "index", -1), 22);
    ck_assert_ptr_null(json_get(json_at(items, 0), "task"));
    ck_assert_int_eq(json_get_int(json_at(items, 1), "index", -1), 3);
    ck_assert_int_eq(json_get_int(json_at(items, 1), "task", -1), 22);
    ck_assert_int_eq(task_list_parse(arena, "3-21", &tasks, NULL), 0);
    ck_assert_uint_eq(json_count(ask(&p, &of_task, NULL)), 0);
    place_fini(&p);
}
END_TEST

START_TEST(a_job_that_runs_over_midnight_counts_for_both_days)
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

    ck_assert_int_eq(history_file_drop(p.file, NOON / 1000000 + 5, 0, 100, NULL), 4);

    items = ask(&p, &everything, NULL);
    ck_assert_uint_eq(json_count(items), 6);
    ck_assert_int_eq(json_get_int(json_at(items, 0), "job", 0), 5);
    report.by = HISTORY_BY_ALL;
    ck_assert_int_eq(json_get_int(json_at(ask(&p, &report, NULL), 0), "ended", 0), 10);
    place_fini(&p);
}
END_TEST

START_TEST(a_clock_that_was_set_back_makes_no_usage_less)
{
    struct history_question report = everything;
    struct place p;
    struct history_row row;
    const struct json *sum, *items;

    place_init(&p);
    row = row_of(&p, 1);
    row.start_at_us = row.end_at_us + DAY_US;
    row.eligible_at_us = row.start_at_us + DAY_US;
    row.submit_at_us = row.eligible_at_us + DAY_US;
    ck_assert_int_eq(add(&p, &row, 101), 1);
    /* ended, by the clock, before the previous one began */
    row = row_of(&p, 2);
    ck_assert_int_eq(add(&p, &row, 102), 1);

    items = ask(&p, &everything, NULL);
    report.by = HISTORY_BY_ALL;
    sum = json_at(ask(&p, &report, NULL), 0);

    ck_assert_uint_eq(json_count(items), 2);
    ck_assert_int_eq(json_get_int(sum, "ended", 0), 2);
    ck_assert_str_eq(json_get(sum, "cpuSeconds")->text, "3604.0");
    ck_assert_str_eq(json_get(sum, "cpuUsedSeconds")->text, "1800.0");
    ck_assert_int_eq(json_get_int(sum, "waitSeconds", -1), 1800);
    place_fini(&p);
}
END_TEST

START_TEST(a_job_that_ran_for_a_leap_of_the_clock_counts_for_a_year_at_most)
{
    struct history_question report = everything;
    struct place p;
    struct history_row row;

    place_init(&p);
    row = row_of(&p, 1);
    row.start_at_us = 1; /* 1970: a node without a correct clock */
    ck_assert_int_eq(add(&p, &row, 101), 1);

    report.by = HISTORY_BY_DAY;

    ck_assert_uint_eq(json_count(ask(&p, &report, NULL)), 400);
    place_fini(&p);
}
END_TEST

START_TEST(a_file_that_is_too_large_loses_its_oldest_rows_and_no_more)
{
    struct history_question q = everything;
    const struct json *items;
    struct place p;
    int64_t most, gone = 0, n;
    uint32_t left;

    place_init(&p);
    ck_assert_int_eq(history_file_begin(p.file, NULL), 0);
    for (n = 1; n <= 4000; n++) {
        const struct history_row row = row_of(&p, n);

        ck_assert_int_eq(history_file_add(p.file, &row, NULL), 1);
    }
    ck_assert_int_eq(history_file_commit(p.file, 4100, NULL), 0);
    most = history_file_bytes(p.file) / 2;

    while ((n = history_file_drop(p.file, 0, most, 100, NULL)) > 0)
        gone += n;

    ck_assert_int_eq(n, 0);
    ck_assert_int_le(history_file_bytes(p.file), most);
    q.limit = 5000;
    items = ask(&p, &q, NULL);
    left = json_count(items);
    ck_assert_int_eq(left, 4000 - gone);
    ck_assert_int_gt(left, 1000);
    ck_assert_int_eq(json_get_int(json_at(items, 0), "job", 0), gone + 1);
    ck_assert_int_eq(json_get_int(json_at(items, left - 1), "job", 0), 4000);
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

        row.end_at_us = NOON + n / 4 * 1000000; /* several per second */
        add(&p, &row, 100 + n);
    }
    q.limit = 3;
    do {
        const struct json *items = ask(&p, &q, &next);

        for (uint32_t i = 0; i < json_count(items); i++)
            ck_assert_int_eq(json_get_int(json_at(items, i), "job", 0), expected++);
        if (next != NULL)
            ck_assert_int_eq(sscanf(next, "%" SCNd64 ".%" SCNd64, &q.after_end_s, &q.after_id), 2);
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

SUITE("history_file", a_row_comes_back_as_it_was,
      an_attempt_that_comes_twice_is_there_and_counted_once,
      a_batch_that_is_rolled_back_leaves_nothing, the_watermark_never_goes_back_and_stays,
      rows_of_a_lost_timeline_stay_and_say_so, an_older_store_put_in_place_by_hand_is_noticed_too,
      an_attempt_that_ends_again_is_lost_no_more, the_file_of_another_cluster_is_set_aside,
      a_file_that_is_no_database_is_set_aside, a_file_of_a_later_version_is_refused_in_words,
      an_attempt_of_several_nodes_is_one_row_with_their_sums,
      an_attempt_of_several_nodes_is_one_end_in_reports, the_use_of_nodes_adds_up,
      a_node_that_fails_decides_how_the_attempt_ended, the_suspended_time_is_kept,
      a_file_of_before_arrays_gets_their_tasks, a_job_that_runs_over_midnight_counts_for_both_days,
      the_oldest_rows_go_first_and_their_sums_stay, a_clock_that_was_set_back_makes_no_usage_less,
      a_job_that_ran_for_a_leap_of_the_clock_counts_for_a_year_at_most,
      a_file_that_is_too_large_loses_its_oldest_rows_and_no_more,
      pages_have_each_row_once_in_the_order_of_the_end,
      a_user_sees_own_rows_whole_and_the_accounts_in_part)
