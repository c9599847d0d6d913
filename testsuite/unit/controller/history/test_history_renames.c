/* SPDX-License-Identifier: Apache-2.0 */
/* A user's name changes, but not the uid: both find the rows. */
#include "controller/history/history_reader.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sanitizer.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/history/history_place.h"

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

/* Writes rows of one user under three names, a third each. `bob` is another
 * user's name, too.
 */
static void
write_renamed(struct place *p, int64_t first, int64_t last, int64_t all)
{
    static const char *const names[] = {"alice", "alice.smith", "bob"};

    for (int64_t n = first; n <= last;) {
        const struct arena_mark mark = arena_mark(p->arena);

        ck_assert_int_eq(history_file_begin(p->file, NULL), 0);
        for (int64_t i = 0; i < 10000 && n <= last; i++, n++) {
            struct history_row row = row_of(p, n);

            row.user = names[(n - 1) * 3 / all];
            ck_assert_int_eq(history_file_add(p->file, &row, NULL), 1);
        }
        ck_assert_int_eq(history_file_commit(p->file, 1000 + n, NULL), 0);
        arena_rewind(p->arena, &mark);
    }
}

/* Reads a page of rows that consist of their numbers, which are consecutive.
 * True: there are more pages.
 */
static bool
read_numbers(struct history_reader *reader, struct history_question *q, int64_t *ret_last)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *at, *next;

    ck_assert_int_eq(history_reader_answer(reader, q, INT64_C(60000000), &text, NULL), 0);
    at = strstr(text.text, "\"items\":[") + strlen("\"items\":");
    while (*at++ != ']') {
        char *end;

        if (*at == ']')
            break;
        ck_assert_int_eq(strncmp(at, "{\"id\":", 6), 0);
        ck_assert_int_eq(strtoll(at + 6, &end, 10), *ret_last + 1);
        ck_assert_int_eq(*end, '}');
        ++*ret_last;
        at = end + 1;
    }
    next = strstr(at, "\"continue\":\"");
    return next != NULL
           && sscanf(next, "\"continue\":\"%" SCNd64 ".%" SCNd64, &q->after_end_s, &q->after_id)
                  == 2;
}

static int64_t
count_ended(struct place *p, const struct history_question *question)
{
    struct history_question q = *question;

    q.by = HISTORY_BY_ALL;
    return json_get_int(json_at(ask(p, &q, NULL), 0), "ended", 0);
}

/* The names change while the rows are read; with KILN_LONG there are a million
 * rows.
 */
START_TEST(a_user_renamed_over_many_rows_keeps_all_and_no_other_rows)
{
    const bool is_long = getenv("KILN_LONG") != NULL && !IS_SANITIZED;
    const int64_t rows = is_long ? 1000002 : 6000;
    struct history_question q = {
        .rights = {.uid = 1000, .user = "alice.smith"},
        .limit = is_long ? 5000 : 700,
        .members =
            UINT64_C(1) << (record_find(&history_row_record, "id") - history_row_record.fields),
        .has_uid = true,
        .uid = 1000,
    };
    struct history_reader *reader = NULL;
    struct history_row row;
    struct place p;
    int64_t last = 0;

    place_init(&p);
    write_renamed(&p, 1, rows / 4, rows);
    ck_assert_int_eq(history_reader_open(p.path, 0, &reader, NULL), 0);
    ck_assert(read_numbers(reader, &q, &last));
    write_renamed(&p, rows / 4 + 1, rows, rows);
    row = row_of(&p, rows + 1);
    row.user = "bob";
    row.uid = 2000;
    ck_assert_int_eq(add(&p, &row, rows + 2000), 1);
    while (read_numbers(reader, &q, &last))
        continue;
    ck_assert_int_eq(last, rows);
    history_reader_close(reader);

    q = (struct history_question){.rights = q.rights};
    ck_assert_int_eq(count_ended(&p, &q), rows / 3 * 2);
    q.rights = everything.rights;
    q.has_uid = true;
    q.uid = 1000;
    q.user = "alice.smith";
    ck_assert_int_eq(count_ended(&p, &q), rows / 3 * 2);
    q.uid = 2000;
    q.user = "bob";
    ck_assert_int_eq(count_ended(&p, &q), rows / 3 + 1);
    place_fini(&p);
}
END_TEST

SUITE("history_renames", a_user_who_was_renamed_has_both_names_rows_by_the_number,
      a_user_renamed_over_many_rows_keeps_all_and_no_other_rows)
