/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_parts.h"

#include <check.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "controller/history/history_index.h"
#include "lib/api/job/job_state.h"
#include "lib/base/alloc.h"
#include "lib/base/sanitizer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/history/history_place.h"

#define ROWS    12000
#define HELPERS 3
#define LONG_US INT64_C(60000000)

/* Three users in two accounts; some thousands end in one second, some fail, and
 * one row in a hundred has another name.
 */
static struct history_row
mixed_row(struct place *p, int64_t n)
{
    static const char *const users[] = {"alice", "bob", "carol"};
    struct history_row row = row_of(p, n);

    row.uid = 1000 + n % 3;
    row.user = users[n % 3];
    row.account = n % 3 == 2 ? "phys" : "chem";
    row.name = n % 100 == 0 ? "rare" : "sweep";
    row.state = n % 7 == 0 ? "Failed" : "Completed";
    if (n > 5000 && n <= 8000)
        row.end_at_us = NOON + INT64_C(5000) * 1000000;
    return row;
}

/* Alice's rows are every second one of the first, all up to 628, and the last
 * ten of 3,010.
 */
static struct history_row
uneven_row(struct place *p, int64_t n)
{
    struct history_row row = row_of(p, n);
    bool is_alices = n <= 256 ? n % 2 == 0 : n <= 628 || n > 3000;

    row.uid = is_alices ? 1001 : 1002;
    row.user = is_alices ? "alice" : "bob";
    row.account = "chem";
    row.state = "Failed";
    row.partition = is_alices ? "gpu" : "cpu";
    return row;
}

static void
fill_with(struct place *p, int64_t rows, struct history_row (*make)(struct place *p, int64_t n))
{
    atomic_bool stops = false;

    place_init(p);
    ck_assert_int_eq(history_file_begin(p->file, NULL), 0);
    for (int64_t n = 1; n <= rows; n++) {
        const struct history_row row = make(p, n);

        ck_assert_int_eq(history_file_add(p->file, &row, NULL), 1);
    }
    ck_assert_int_eq(history_file_commit(p->file, 100 + rows, NULL), 0);
    ck_assert_int_eq(history_index_build(p->path, &stops, NULL), 0);
}

static void
fill(struct place *p)
{
    fill_with(p, ROWS, mixed_row);
}

static struct history_reader *
open_reader(const struct place *p, unsigned helpers)
{
    struct history_reader *reader = NULL;

    ck_assert_int_eq(history_reader_open(p->path, helpers, &reader, NULL), 0);
    return reader;
}

/* True: the query has further pages. */
static bool
read_page(struct history_reader *reader, struct history_question *q, int64_t most_us,
          struct strbuf *out)
{
    const char *next;

    strbuf_truncate(out, 0);
    ck_assert_int_eq(history_reader_answer(reader, q, most_us, out, NULL), 0);
    next = strstr(out->text, "\"continue\":\"");
    return next != NULL
           && sscanf(next, "\"continue\":\"%" SCNd64 ".%" SCNd64, &q->after_end_s, &q->after_id)
                  == 2;
}

/* Counts the items of a page. A sanitizer's strstr measures the whole text at
 * each call, so a loop of these calls over a page would take quadratic time.
 */
static int64_t
count_rows(const struct strbuf *page)
{
    static const char member[] = "\"attempt\":";
    const char *at = page->text, *const end = at + page->length;
    int64_t rows = 0;

    while ((at = memchr(at, '"', (size_t)(end - at))) != NULL) {
        if ((size_t)(end - at) >= sizeof(member) - 1 && memcmp(at, member, sizeof(member) - 1) == 0)
            rows++;
        at++;
    }
    return rows;
}

/* Compares all pages; returns the number of rows. */
static int64_t
compare_readers(struct history_reader *alone, struct history_reader *several,
                const struct history_question *question)
{
    CLEANUP_STRBUF struct strbuf expected = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct history_question q = *question, same = *question;
    int64_t rows = 0;
    bool has_more = true;

    while (has_more) {
        has_more = read_page(alone, &q, LONG_US, &expected);
        ck_assert_int_eq(read_page(several, &same, LONG_US, &text), has_more);
        ck_assert_uint_eq(text.length, expected.length);
        ck_assert_mem_eq(text.text, expected.text, expected.length);
        rows += count_rows(&text);
    }
    return rows;
}

static int64_t
compare(struct place *p, const struct history_question *question)
{
    struct history_reader *alone = open_reader(p, 0);
    struct history_reader *several = open_reader(p, HELPERS);
    const int64_t rows = compare_readers(alone, several, question);

    history_reader_close(alone);
    history_reader_close(several);
    return rows;
}

START_TEST(pages_are_the_same_bytes_however_many_read_them)
{
    /* Pages of some parts, of many; of fewer rows than one part, of all rows.
     * With a sanitizer only the first two.
     */
    static const int64_t limits[] = {1000, 5000, 300, 20000};
    const size_t n_limits = IS_SANITIZED ? 2 : ARRAY_SIZE(limits);
    static const char *const chem[] = {"chem"}, *const both[] = {"chem", "phys"};
    struct history_question q;
    struct place p;

    fill(&p);
    for (size_t i = 0; i < n_limits; i++) {
        q = everything;
        q.limit = limits[i];
        ck_assert_int_eq(compare(&p, &q), ROWS);

        q.has_uid = true, q.uid = 1001;
        ck_assert_int_eq(compare(&p, &q), ROWS / 3);

        q.has_uid = false, q.states = JOB_STATE_BIT(JOB_STATE_FAILED);
        ck_assert_int_eq(compare(&p, &q), ROWS / 7);

        q.states = 0, q.since_s = NOON / 1000000 + 100;
        q.until_s = NOON / 1000000 + 9000;
        ck_assert_int_eq(compare(&p, &q), 8900);

        q = everything, q.limit = limits[i];
        q.rights = (struct history_rights){.uid = 1002, .user = "carol"};
        ck_assert_int_eq(compare(&p, &q), ROWS / 3);

        q.rights.accounts = chem, q.rights.n_accounts = 1;
        ck_assert_int_eq(compare(&p, &q), ROWS);

        q.rights.uid = 1000;
        ck_assert_int_eq(compare(&p, &q), ROWS / 3 * 2);

        q.rights.accounts = both, q.rights.n_accounts = 2;
        q.rights.uid = 7;
        ck_assert_int_eq(compare(&p, &q), ROWS);
    }
    place_fini(&p);
}
END_TEST

/* Few matches in many rows: parts, and whole rounds of parts, without any. */
START_TEST(rare_rows_are_found_by_all_parts)
{
    struct history_question q = everything;
    struct place p;

    fill(&p);
    q.node = "n1", q.name = "rare";
    q.limit = 5000;
    ck_assert_int_eq(compare(&p, &q), ROWS / 100);
    q.limit = 7;
    ck_assert_int_eq(compare(&p, &q), ROWS / 100);
    q.name = "nothing";
    ck_assert_int_eq(compare(&p, &q), 0);
    q.name = NULL, q.node = "n2";
    ck_assert_int_eq(compare(&p, &q), 0);
    place_fini(&p);
}
END_TEST

START_TEST(without_time_each_page_goes_on_nevertheless)
{
    struct history_question q = everything;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct history_reader *reader;
    unsigned pages = 1;
    struct place p;

    fill(&p);
    reader = open_reader(&p, HELPERS);
    q.limit = 5000;
    while (read_page(reader, &q, 0, &text))
        ck_assert_uint_lt(++pages, ROWS);
    ck_assert_uint_gt(pages, ROWS / 5000 + 1);
    history_reader_close(reader);
    place_fini(&p);
}
END_TEST

START_TEST(a_reader_may_be_closed_in_the_middle_of_an_answer)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct place p;

    fill(&p);
    for (unsigned helpers = 0; helpers <= HELPERS; helpers++) {
        struct history_reader *reader = open_reader(&p, HELPERS);
        struct history_question q = everything;

        q.limit = 5000;
        history_reader_use_helpers(reader, helpers);
        ck_assert(read_page(reader, &q, LONG_US, &text));
        history_reader_close(reader);
    }
    place_fini(&p);
}
END_TEST

/* ---- Helpers without a CPU ---- */

/* A helper blocks in SQLite, once, at that step of its own. */
static struct {
    atomic_int step;
    atomic_uint standing;
    sem_t may_go_on;
} halt;

static bool
is_helper(void)
{
    char name[16] = "";

    ck_assert_int_eq(pthread_getname_np(pthread_self(), name, sizeof(name)), 0);
    return strcmp(name, "history-part") == 0;
}

static int
stand_still(void *context)
{
    static _Thread_local int steps;

    (void)context;
    if (steps == 0)
        steps = is_helper() ? 1 : INT_MAX;
    if (steps > atomic_load(&halt.step) || steps++ < atomic_load(&halt.step))
        return 0;
    atomic_fetch_add(&halt.standing, 1);
    while (sem_wait(&halt.may_go_on) < 0)
        continue;
    return 0;
}

/* For sqlite3_auto_extension, which calls it for each connection. */
static int
watch_steps(sqlite3 *db, char **ret_words, const void *api)
{
    (void)ret_words;
    (void)api;
    sqlite3_progress_handler(db, 1, stand_still, NULL);
    return SQLITE_OK;
}

/* The query's texts are freed with its answer, even if a helper is late. */
static void
ask_as_bob(struct history_reader *alone, struct history_reader *several)
{
    CLEANUP_FREE char *account = xstrdup("phys"), *name = xstrdup("sweep");
    CLEANUP_FREE char *node = xstrdup("n1"), *user = xstrdup("bob");
    const char *const accounts[] = {account};
    struct history_question q = everything;

    q.limit = 5000;
    q.name = name, q.node = node;
    q.rights = (struct history_rights){
        .uid = 1001,
        .user = user,
        .accounts = accounts,
        .n_accounts = 1,
    };
    ck_assert_int_eq(compare_readers(alone, several, &q), ROWS / 3 * 2 - ROWS / 100 / 3 * 2);
}

START_TEST(no_answer_waits_for_a_helper_that_stands_still)
{
    /* While it reads the query's texts, at its first rows, in the middle. */
    static const int at[] = {1, 3, 40, 700};
    struct history_reader *alone;
    struct place p;

    fill(&p);
    alone = open_reader(&p, 0);
    ck_assert_int_eq(sem_init(&halt.may_go_on, 0, 0), 0);
    ck_assert_int_eq(sqlite3_auto_extension((void (*)(void))watch_steps), 0);
    for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
        struct history_reader *several;

        atomic_store(&halt.step, at[i]);
        atomic_store(&halt.standing, 0);
        several = open_reader(&p, HELPERS);
        while (atomic_load(&halt.standing) < HELPERS)
            ask_as_bob(alone, several);
        ask_as_bob(alone, several);
        for (unsigned n = 0; n < HELPERS; n++)
            (void)sem_post(&halt.may_go_on);
        ask_as_bob(alone, several);
        history_reader_close(several);
    }
    sqlite3_reset_auto_extension();
    history_reader_close(alone);
    place_fini(&p);
}
END_TEST

/* ---- Concurrent writes ---- */

struct writer {
    struct place *place;
    atomic_bool stops;
};

/* Adds new rows between the existing ones, and removes the oldest: 1,000 in
 * all.
 */
static void *
write_and_drop(void *arg)
{
    struct writer *w = arg;
    struct place *p = w->place;

    for (int64_t n = ROWS + 1; !atomic_load(&w->stops); n++) {
        struct history_row row = mixed_row(p, n);

        row.end_at_us = NOON + (n * 37 % ROWS) * 1000000;
        ck_assert_int_eq(add(p, &row, 100 + n), 1);
        if (n - ROWS <= 100)
            ck_assert_int_ge(
                history_file_drop(p->file, NOON / 1000000 + (n - ROWS) * 10, 0, 10, NULL), 0);
    }
    return NULL;
}

/* The jobs of a page, which are numbered like the rows. */
static void
see_rows(const char *text, bool *seen, int64_t *end_id)
{
    struct arena *arena = arena_new(0);
    const struct json *items = json_get(json_parse(arena, text, strlen(text), NULL, NULL), "items");

    for (uint32_t i = 0; i < json_count(items); i++) {
        const int64_t job = json_get_int(json_at(items, i), "job", 0);

        if (job > ROWS)
            continue;
        ck_assert(!seen[job]);
        ck_assert_int_gt(job, *end_id);
        seen[job] = true;
        *end_id = job;
    }
    arena_free(arena);
}

START_TEST(rows_that_come_and_go_meanwhile_disturb_no_other)
{
    struct writer w = {0};
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct history_reader *reader;
    pthread_t thread;
    struct place p;

    fill(&p);
    w.place = &p;
    reader = open_reader(&p, HELPERS);
    ck_assert_int_eq(pthread_create(&thread, NULL, write_and_drop, &w), 0);
    for (unsigned time = 0; time < 3; time++) {
        CLEANUP_FREE bool *seen = xnew_array(bool, ROWS + 1);
        struct history_question q = everything;
        int64_t last = 0;
        bool has_more = true;

        q.limit = 5000;
        while (has_more) {
            has_more = read_page(reader, &q, LONG_US, &text);
            see_rows(text.text, seen, &last);
        }
        for (int64_t n = 2001; n <= ROWS; n++)
            ck_assert_msg(seen[n], "row %lld is missing", (long long)n);
    }
    atomic_store(&w.stops, true);
    pthread_join(thread, NULL);
    history_reader_close(reader);
    place_fini(&p);
}
END_TEST

/* A row that exists when the query begins is in its answer, although the
 * threads have read before.
 */
START_TEST(the_next_question_sees_what_was_written_before_it)
{
    struct history_question q = everything;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct history_reader *reader;
    struct place p;

    fill(&p);
    reader = open_reader(&p, HELPERS);
    q.limit = 20000;
    q.members = 1;
    for (int64_t n = 1; n <= 50; n++) {
        struct history_row row = mixed_row(&p, ROWS + n);
        CLEANUP_FREE char *item = NULL;

        row.end_at_us = NOON + n * 200 * 1000000;
        ck_assert_int_eq(add(&p, &row, 100 + ROWS + n), 1);
        ck_assert(!read_page(reader, &q, LONG_US, &text));
        item = xasprintf("{\"id\":%lld}", (long long)(ROWS + n));
        ck_assert_ptr_nonnull(strstr(text.text, item));
    }
    history_reader_close(reader);
    place_fini(&p);
}
END_TEST

/* The rows after the last one on the page belong to others, and a page must not
 * reveal where they are.
 */
START_TEST(a_full_page_ends_with_its_last_row_however_many_read_it)
{
    static const int64_t limits[] = {300, 500, 505};
    struct history_question q;
    struct place p;

    fill_with(&p, 3010, uneven_row);
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        q = everything, q.limit = limits[i], q.partition = "gpu";
        q.states = JOB_STATE_BIT(JOB_STATE_FAILED);
        ck_assert_int_eq(compare(&p, &q), 510);

        q = everything, q.limit = limits[i], q.account = "chem";
        q.rights = (struct history_rights){.uid = 1001, .user = "alice"};
        ck_assert_int_eq(compare(&p, &q), 510);
    }
    place_fini(&p);
}
END_TEST

SUITE("history_parts", pages_are_the_same_bytes_however_many_read_them,
      rare_rows_are_found_by_all_parts, a_full_page_ends_with_its_last_row_however_many_read_it,
      without_time_each_page_goes_on_nevertheless,
      a_reader_may_be_closed_in_the_middle_of_an_answer,
      no_answer_waits_for_a_helper_that_stands_still,
      rows_that_come_and_go_meanwhile_disturb_no_other,
      the_next_question_sees_what_was_written_before_it)
