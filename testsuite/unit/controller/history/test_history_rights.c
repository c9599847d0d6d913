/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that a user may not read have no visible effect: two files, one with
 * rows of others and one without, give the same bytes for every query of that
 * user.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "controller/history/history_index.h"
#include "lib/api/job/job_state.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/history/history_place.h"

#define VISIBLE 40
#define HIDDEN  60
#define PAGES   1000

static void
add_all(struct place *p, int64_t first, int64_t count, bool is_hidden)
{
    ck_assert_int_eq(history_file_begin(p->file, NULL), 0);
    for (int64_t n = first; n < first + count; n++) {
        struct history_row row = row_of(p, n);

        row.end_at_us = NOON + (n * 7 % 50) * 3600 * INT64_C(1000000);
        row.start_at_us = row.end_at_us - 1000000;
        row.name = n % 2 == 0 ? "merger" : "sweep";
        row.partition = n % 3 == 0 ? "gpu" : "batch";
        if (is_hidden) {
            row.user = n % 2 == 0 ? "mallory" : "trent";
            row.uid = n % 2 == 0 ? 3000 : 3001;
            row.account = n % 3 == 0 ? "secret" : "lab";
            row.name = n % 4 == 0 ? "merger-plans" : row.name;
            row.node = n % 5 == 0 ? "n-secret" : row.node;
            row.partition = n % 7 == 0 ? "hidden" : row.partition;
            row.state = n % 6 == 0 ? "OutOfMemory" : row.state;
        } else if (n % 4 == 0) { /* a colleague's row, in the second account */
            row.user = "bob", row.uid = 2000, row.account = "phys";
        } else if (n % 4 == 1)
            row.account = "phys";
        else if (n % 4 == 2) /* her own row, in an account that she has left */
            row.account = "left";
        ck_assert_int_eq(history_file_add(p->file, &row, NULL), 1);
    }
    ck_assert_int_eq(history_file_commit(p->file, 900, NULL), 0);
}

static void
fill(struct place *p, bool has_hidden)
{
    atomic_bool stops = false;

    place_init(p);
    add_all(p, 1, VISIBLE, false);
    if (has_hidden)
        add_all(p, 1 + VISIBLE, HIDDEN, true);
    ck_assert_int_eq(history_index_build(p->path, &stops, NULL), 0);
}

static void
answer(struct history_reader *reader, const struct history_question *q, struct strbuf *out)
{
    const int r = history_reader_answer(reader, q, INT64_C(60000000), out, NULL);

    ck_assert_int_eq(r, 0);
}

/* Compares all pages of both files. */
static void
compare(struct history_reader *without, struct history_reader *with,
        const struct history_question *question)
{
    struct history_question q = *question;
    bool has_more = true;

    for (unsigned page = 0; has_more; page++) {
        CLEANUP_STRBUF struct strbuf expected = STRBUF_INIT;
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        const char *next;

        answer(without, &q, &expected);
        answer(with, &q, &text);
        ck_assert_msg(strcmp(text.text, expected.text) == 0, "...%s instead of ...%s",
                      text.text + (text.length > 60 ? text.length - 60 : 0),
                      expected.text + (expected.length > 60 ? expected.length - 60 : 0));
        ck_assert_uint_lt(page, PAGES);
        next = strstr(text.text, "\"continue\":\"");
        has_more = next != NULL;
        if (has_more)
            ck_assert_int_eq(
                sscanf(next, "\"continue\":\"%" SCNd64 ".%" SCNd64, &q.after_end_s, &q.after_id),
                2);
    }
}

static const char *const accounts[] = {"chem", "phys"};
static const struct history_question of_member = {
    .rights = {.uid = 1000,
               .user = "alice",
               .accounts = accounts,
               .n_accounts = ARRAY_SIZE(accounts)},
};

/* ---- Rows ---- */

static void
set_user(struct history_question *q, unsigned i)
{
    static const char *const users[] = {"alice", "bob", "mallory", "nobody"};

    if (i > 0)
        q->user = users[i - 1];
}

static void
set_account(struct history_question *q, unsigned i)
{
    static const char *const of[] = {"chem", "left", "secret", "none"};

    if (i > 0)
        q->account = of[i - 1];
}

static void
set_name(struct history_question *q, unsigned i)
{
    static const char *const patterns[] = {"merger", "merger*", "*plans", "no"};

    if (i > 0)
        q->name = patterns[i - 1];
}

static void
set_place(struct history_question *q, unsigned i)
{
    if (i == 1)
        q->node = "n1";
    if (i == 2)
        q->node = "n-secret";
    if (i == 3)
        q->partition = "gpu";
    if (i == 4)
        q->partition = "hidden";
}

static void
set_other(struct history_question *q, unsigned i)
{
    if (i == 1)
        q->states = JOB_STATE_BIT(JOB_STATE_COMPLETED);
    if (i == 2)
        q->states = JOB_STATE_BIT(JOB_STATE_OUT_OF_MEMORY);
    if (i == 3)
        q->job_id = VISIBLE + 2; /* another user's job */
    if (i == 4)
        q->has_uid = true, q->uid = 3000;
}

START_TEST(a_page_is_the_same_whether_there_are_rows_of_others_or_not)
{
    static const int64_t limits[] = {1, 3, 10, 1000};
    struct history_reader *without = NULL, *with = NULL;
    struct place few, all;

    fill(&few, false);
    fill(&all, true);
    ck_assert_int_eq(history_reader_open(few.path, 0, &without, NULL), 0);
    ck_assert_int_eq(history_reader_open(all.path, 0, &with, NULL), 0);
    for (unsigned i = 0; i < 5 * 5 * 5 * 5 * 5; i++) {
        struct history_question q = of_member;

        set_user(&q, i % 5);
        set_account(&q, i / 5 % 5);
        set_name(&q, i / 25 % 5);
        set_place(&q, i / 125 % 5);
        set_other(&q, i / 625);
        q.limit = limits[i % ARRAY_SIZE(limits)];
        compare(without, with, &q);
    }
    history_reader_close(without);
    history_reader_close(with);
    place_fini(&few);
    place_fini(&all);
}
END_TEST

/* ---- Sums ---- */

START_TEST(sums_are_the_same_whether_there_are_rows_of_others_or_not)
{
    struct history_reader *without = NULL, *with = NULL;
    struct place few, all;

    fill(&few, false);
    fill(&all, true);
    ck_assert_int_eq(history_reader_open(few.path, 0, &without, NULL), 0);
    ck_assert_int_eq(history_reader_open(all.path, 0, &with, NULL), 0);
    for (enum history_sum by = HISTORY_BY_ALL; by <= HISTORY_BY_ACCOUNT_USER; by++)
        for (unsigned i = 0; i < 5 * 5 * 5; i++) {
            struct history_question q = of_member;

            q.by = by;
            set_user(&q, i % 5);
            set_account(&q, i / 5 % 5);
            if (i / 25 >= 3)
                set_place(&q, i / 25);
            compare(without, with, &q);
        }
    history_reader_close(without);
    history_reader_close(with);
    place_fini(&few);
    place_fini(&all);
}
END_TEST

/* ---- Readable rows ---- */

static int64_t
count(struct place *p, const struct history_question *q)
{
    return json_count(ask(p, q, NULL));
}

START_TEST(members_read_their_accounts_and_who_left_reads_ones_own)
{
    static const char *const chem[] = {"chem"};
    struct history_question q = of_member;
    struct place p;

    fill(&p, true);
    q.limit = 1000;
    ck_assert_int_eq(count(&p, &q), VISIBLE);
    q.rights.n_accounts = 0; /* she left both accounts: her own rows remain */
    ck_assert_int_eq(count(&p, &q), VISIBLE / 4 * 3);
    q.rights =
        (struct history_rights){.uid = 2000, .user = "bob", .accounts = chem, .n_accounts = 1};
    ck_assert_int_eq(count(&p, &q), VISIBLE / 4 * 2);
    q.account = "phys"; /* not his account: only his own rows */
    ck_assert_int_eq(count(&p, &q), VISIBLE / 4);
    q.rights = (struct history_rights){.is_all = true};
    q.account = NULL;
    ck_assert_int_eq(count(&p, &q), VISIBLE + HIDDEN);
    place_fini(&p);
}
END_TEST

START_TEST(private_members_are_in_ones_own_rows_only)
{
    struct history_question q = of_member;
    const struct json *items;
    struct place p;

    fill(&p, true);
    q.limit = 1000;
    items = ask(&p, &q, NULL);
    ck_assert_uint_eq(json_count(items), VISIBLE);
    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *row = json_at(items, i);
        const bool is_own = json_get_int(row, "uid", 0) == 1000;

        ck_assert_int_eq(json_get(row, "message") != NULL, is_own);
        ck_assert_int_eq(json_get(row, "script") != NULL, is_own);
    }
    place_fini(&p);
}
END_TEST

SUITE("history_rights", a_page_is_the_same_whether_there_are_rows_of_others_or_not,
      sums_are_the_same_whether_there_are_rows_of_others_or_not,
      members_read_their_accounts_and_who_left_reads_ones_own,
      private_members_are_in_ones_own_rows_only)
