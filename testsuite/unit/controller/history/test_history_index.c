/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_index.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "controller/store/engine/sql.h"
#include "lib/api/job/job_state.h"
#include "lib/base/error.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/history/history_place.h"

#define ROWS 30

static atomic_bool never;

/* Every third row failed, every fifth ran in another partition; several ended
 * in one second.
 */
static void
fill(struct place *p)
{
    place_init(p);
    for (int64_t n = 1; n <= ROWS; n++) {
        struct history_row row = row_of(p, n);

        row.state = n % 3 == 0 ? "Failed" : "Completed";
        row.partition = n % 5 == 0 ? "debug" : "batch";
        row.end_at_us = NOON + n / 4 * 1000000;
        ck_assert_int_eq(add(p, &row, 100 + n), 1);
    }
}

static bool
has_index(struct place *p, const char *name)
{
    sqlite3 *db = NULL;
    bool is_there;

    ck_assert_int_eq(sql_open(p->path, &db, NULL), 0);
    is_there = history_index_is_there(db, name);
    sql_close(db);
    return is_there;
}

/* The sum of the jobs' numbers; with `makes` the index is made after the first
 * page.
 */
static int64_t
sum_pages(struct place *p, const struct history_question *question, bool makes)
{
    struct history_question q = *question;
    const char *next = NULL;
    int64_t sum = 0, last = 0;

    q.limit = 2;
    do {
        const struct json *items = ask(p, &q, &next);

        for (uint32_t i = 0; i < json_count(items); i++) {
            const int64_t job = json_get_int(json_at(items, i), "job", 0);

            ck_assert_int_gt(job, last);
            sum += last = job;
        }
        if (next != NULL)
            ck_assert_int_eq(sscanf(next, "%" SCNd64 ".%" SCNd64, &q.after_end_s, &q.after_id), 2);
        if (makes)
            ck_assert_int_eq(history_index_build(p->path, &never, NULL), 0);
    } while (next != NULL);
    return sum;
}

START_TEST(an_answer_is_the_same_before_while_and_after_an_index_is_made)
{
    struct history_question state = everything, partition = everything;
    struct place p;

    state.states = JOB_STATE_BIT(JOB_STATE_FAILED);
    partition.partition = "debug";
    fill(&p);
    ck_assert_int_eq(sum_pages(&p, &state, false), 165);
    ck_assert_int_eq(sum_pages(&p, &partition, false), 105);
    ck_assert(!has_index(&p, HISTORY_INDEX_STATE));

    ck_assert_int_eq(sum_pages(&p, &state, true), 165);

    ck_assert(has_index(&p, HISTORY_INDEX_STATE));
    ck_assert(has_index(&p, HISTORY_INDEX_PARTITION));
    ck_assert_int_eq(sum_pages(&p, &state, false), 165);
    ck_assert_int_eq(sum_pages(&p, &partition, false), 105);
    partition.states = state.states;
    ck_assert_int_eq(sum_pages(&p, &partition, false), 45);
    place_fini(&p);
}
END_TEST

START_TEST(the_writer_goes_on_with_an_index_that_was_made_beside_it)
{
    struct history_question q = everything;
    struct history_row row;
    struct place p;

    q.states = JOB_STATE_BIT(JOB_STATE_FAILED);
    fill(&p);
    ck_assert_int_eq(history_index_build(p.path, &never, NULL), 0);

    row = row_of(&p, 33);
    row.state = "Failed";
    ck_assert_int_eq(add(&p, &row, 140), 1);
    ck_assert_int_eq(history_file_drop(p.file, NOON / 1000000 + 1, 0, 9, NULL), 3);

    ck_assert_int_eq(sum_pages(&p, &q, false), 165 - 3 + 33);
    ck_assert_int_eq(open_as(&p, "us", 1000, ""), 0);
    place_fini(&p);
}
END_TEST

START_TEST(making_stops_when_it_has_to_and_leaves_nothing_half_done)
{
    atomic_bool stops = true;
    struct error err = {0};
    struct place p;

    fill(&p);

    ck_assert_int_eq(history_index_build(p.path, &stops, &err), -ECANCELED);

    ck_assert(!has_index(&p, HISTORY_INDEX_STATE));
    ck_assert_int_eq(history_index_build(p.path, &never, NULL), 0);
    ck_assert(has_index(&p, HISTORY_INDEX_STATE));
    place_fini(&p);
}
END_TEST

/* Checks the first page and the following ones, before and after the index is
 * made.
 */
static void
check_both(struct place *p, const struct history_question *q, int64_t sum)
{
    ck_assert_int_eq(sum_pages(p, q, false), sum);
    ck_assert_int_eq(history_index_build(p->path, &never, NULL), 0);
    ck_assert_int_eq(sum_pages(p, q, false), sum);
}

START_TEST(the_states_of_a_user_or_an_account_come_merged_in_the_order_of_the_end)
{
    struct history_question q = everything;
    struct place p;

    fill(&p);
    q.has_uid = true;
    q.uid = 1000;
    check_both(&p, &q, 465);
    ck_assert(!has_index(&p, HISTORY_INDEX_UID));
    ck_assert(!has_index(&p, HISTORY_INDEX_ACCOUNT));
    q.states = JOB_STATE_BIT(JOB_STATE_FAILED);
    ck_assert_int_eq(sum_pages(&p, &q, false), 165);
    q.states |= JOB_STATE_BIT(JOB_STATE_COMPLETED);
    ck_assert_int_eq(sum_pages(&p, &q, false), 465);
    q = everything;
    q.account = "chem";
    ck_assert_int_eq(sum_pages(&p, &q, false), 465);
    q.states = JOB_STATE_BIT(JOB_STATE_TIMED_OUT);
    ck_assert_int_eq(sum_pages(&p, &q, false), 0);
    place_fini(&p);
}
END_TEST

START_TEST(a_name_that_two_uids_had_is_found_by_both)
{
    struct history_question q = everything;
    struct history_row row;
    struct place p;

    fill(&p);
    row = row_of(&p, 31);
    row.uid = 2000;
    add(&p, &row, 131);
    row = row_of(&p, 32);
    row.uid = 2000;
    row.user = "bob";
    add(&p, &row, 132);

    q.user = "alice";
    check_both(&p, &q, 465 + 31);
    q.user = "nobody";
    ck_assert_int_eq(sum_pages(&p, &q, false), 0);
    place_fini(&p);
}
END_TEST

START_TEST(a_row_that_is_ones_own_and_of_ones_account_comes_once)
{
    static const char *const accounts[] = {"chem", "none"};
    struct history_question q = {
        .rights = {.uid = 1000, .user = "alice", .accounts = accounts, .n_accounts = 2},
    };
    struct history_row row;
    struct place p;

    fill(&p);
    row = row_of(&p, 31);
    row.account = "physics";
    add(&p, &row, 131);
    row = row_of(&p, 32);
    row.uid = 2000;
    add(&p, &row, 132);
    row = row_of(&p, 33);
    row.uid = 2000;
    row.account = "physics";
    add(&p, &row, 133);

    check_both(&p, &q, 465 + 31 + 32);
    place_fini(&p);
}
END_TEST

START_TEST(names_are_found_by_patterns_however_many_there_are)
{
    static const struct {
        const char *pattern;
        int64_t sum;
    } patterns[] = {
        {"sweep", 465}, {"*", 465 + 31 + 32 + 33}, {"swee?", 465}, {"swe?", 32}, {"swe*", 465 + 32},
        {"job-*", 33},  {"*nothing*", 0},          {"zz", 0},
    };
    struct history_question q = everything;
    struct history_row row;
    struct place p;

    fill(&p);
    row = row_of(&p, 31);
    row.name = "other";
    add(&p, &row, 131);
    row = row_of(&p, 32);
    row.name = "swep";
    add(&p, &row, 132);
    row = row_of(&p, 33);
    row.name = row.object; /* no name was given */
    add(&p, &row, 133);

    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
        q.name = patterns[i].pattern;
        check_both(&p, &q, patterns[i].sum);
    }
    place_fini(&p);
}
END_TEST

/* There are more names than are merged: then all rows are scanned. */
START_TEST(a_pattern_of_very_many_names_finds_all_of_them)
{
    struct history_question q = everything;
    struct place p;

    fill(&p);
    ck_assert_int_eq(history_index_build(p.path, &never, NULL), 0);
    for (int64_t n = 31; n <= 130; n++) {
        struct history_row row = row_of(&p, n);

        row.name = arena_printf(p.arena, "run-%" PRId64, n);
        add(&p, &row, 100 + n);
    }
    q.name = "run-*";

    ck_assert_int_eq(sum_pages(&p, &q, false), 8050);
    place_fini(&p);
}
END_TEST

/* Even without any time for the query, each page makes progress. */
START_TEST(a_search_that_has_no_time_ends_all_the_same)
{
    struct history_question q = everything;
    struct history_reader *reader = NULL;
    unsigned pages = 0, rows = 0;
    bool has_more = true;
    struct place p;

    fill(&p);
    ck_assert_int_eq(history_index_build(p.path, &never, NULL), 0);
    ck_assert_int_eq(history_file_begin(p.file, NULL), 0);
    for (int64_t n = 31; n <= 1030; n++) {
        struct history_row row = row_of(&p, n);

        row.name = arena_printf(p.arena, "run-%" PRId64, n);
        ck_assert_int_eq(history_file_add(p.file, &row, NULL), 1);
    }
    ck_assert_int_eq(history_file_commit(p.file, 2000, NULL), 0);
    ck_assert_int_eq(history_reader_open(p.path, 0, &reader, NULL), 0);
    q.name = "*n-*";
    q.limit = 5000;
    while (has_more) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        const char *next;

        ck_assert_int_eq(history_reader_answer(reader, &q, 0, &text, NULL), 0);
        for (const char *at = text.text; (at = strstr(at, "\"pod\":")) != NULL; at++)
            rows++;
        next = strstr(text.text, "\"continue\":\"");
        has_more =
            next != NULL
            && sscanf(next, "\"continue\":\"%" SCNd64 ".%" SCNd64, &q.after_end_s, &q.after_id)
                   == 2;
        ck_assert_uint_lt(pages++, 30);
    }
    ck_assert_uint_eq(rows, 1000);
    history_reader_close(reader);
    place_fini(&p);
}
END_TEST

SUITE("history_index", the_states_of_a_user_or_an_account_come_merged_in_the_order_of_the_end,
      a_name_that_two_uids_had_is_found_by_both,
      a_row_that_is_ones_own_and_of_ones_account_comes_once,
      names_are_found_by_patterns_however_many_there_are,
      a_pattern_of_very_many_names_finds_all_of_them, a_search_that_has_no_time_ends_all_the_same,
      an_answer_is_the_same_before_while_and_after_an_index_is_made,
      the_writer_goes_on_with_an_index_that_was_made_beside_it,
      making_stops_when_it_has_to_and_leaves_nothing_half_done)
