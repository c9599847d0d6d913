/* SPDX-License-Identifier: Apache-2.0 */
/* history_report.c - sums of the days, by what is asked for */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "controller/history/history_question.h"
#include "controller/history/history_reader.h"
#include "controller/history/history_reader_state.h"
#include "controller/store/engine/sql.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define DAY_S         86400
#define STEPS_BETWEEN 10000 /* of SQLite's machine, looks at the clock */
#define MOST_GROUPS   20000

#define SUMS                                                             \
    "sum(ended), sum(completed), sum(failed), sum(stopped), sum(cpu_s)," \
    " sum(cpu_used_s), sum(cpu_measured_s), sum(memory_gib_s),"          \
    " sum(device_s), sum(started), sum(wait_s), max(wait_most_s)"

/* Of each day first, in the order of the table: a date is made for each day and
 * not for each row.
 */
#define DAY_SUMS                                                             \
    "sum(ended) AS ended, sum(completed) AS completed,"                      \
    " sum(failed) AS failed, sum(stopped) AS stopped, sum(cpu_s) AS cpu_s,"  \
    " sum(cpu_used_s) AS cpu_used_s, sum(cpu_measured_s) AS cpu_measured_s," \
    " sum(memory_gib_s) AS memory_gib_s, sum(device_s) AS device_s,"         \
    " sum(started) AS started, sum(wait_s) AS wait_s,"                       \
    " max(wait_most_s) AS wait_most_s"

static const struct sum_column {
    const char *name;
    bool is_real;
} sums[] = {
    {"ended", false},
    {"completed", false},
    {"failed", false},
    {"stopped", false},
    {"cpuSeconds", true},
    {"cpuUsedSeconds", true},
    {"cpuMeasuredSeconds", true},
    {"memoryGiBSeconds", true},
    {"deviceSeconds", true},
    {"started", false},
    {"waitSeconds", false},
    {"waitMostSeconds", false},
};

/* The columns that a sum is by: at the most two, which are words but for days
 * and months.
 */
static const struct grouping {
    const char *columns;
    const char *names[2];
    bool is_time;
} groupings[] = {
    [HISTORY_BY_ALL] = {"1", {NULL, NULL}, true},
    [HISTORY_BY_ACCOUNT] = {"account", {"account", NULL}, false},
    [HISTORY_BY_USER] = {"user", {"user", NULL}, false},
    [HISTORY_BY_PARTITION] = {"partition", {"partition", NULL}, false},
    [HISTORY_BY_DAY] = {"date(day * 86400, 'unixepoch')", {"day", NULL}, true},
    [HISTORY_BY_MONTH] = {"strftime('%Y-%m', day * 86400, 'unixepoch')",
                          {"month", NULL},
                          true},
    [HISTORY_BY_ACCOUNT_USER] = {"account, user", {"account", "user"}, false},
};

static void
add_word(struct history_reader *r,
         struct strbuf *sql,
         const char *column,
         const char *word)
{
    if (word != NULL)
        strbuf_printf(sql,
                      " AND %s = %" PRId64,
                      column,
                      history_reader_find_word(r, word));
}

/* Sums know names, not numbers: those of a number are the present name's, and
 * those of the names that nobody else ever had.
 */
static void
add_names(struct history_reader *r,
          struct strbuf *sql,
          const char *user,
          int64_t uid)
{
    strbuf_printf(sql,
                  "(user = %" PRId64
                  " OR user IN (SELECT u.user FROM users AS u WHERE u.uid = "
                  "%" PRId64 " AND NOT EXISTS (SELECT 1 FROM users AS o"
                  " WHERE o.user = u.user AND o.uid <> u.uid)))",
                  history_reader_find_word(r, user),
                  uid);
}

static void
add_rights(struct history_reader *r,
           struct strbuf *sql,
           const struct history_rights *rights)
{
    if (rights->is_all)
        return;
    strbuf_add_text(sql, " AND (");
    add_names(r, sql, rights->user, rights->uid);
    strbuf_add_text(sql, " OR account IN (-1");
    for (size_t i = 0; i < rights->n_accounts; i++)
        strbuf_printf(sql,
                      ",%" PRId64,
                      history_reader_find_word(r, rights->accounts[i]));
    strbuf_add_text(sql, "))");
}

static void
write_report(struct history_reader *r,
             const struct history_question *q,
             struct strbuf *sql)
{
    strbuf_printf(sql,
                  "SELECT %s, " SUMS " FROM %s WHERE day >= %" PRId64,
                  groupings[q->by].columns,
                  groupings[q->by].is_time ? "(SELECT day, " DAY_SUMS
                                             " FROM daily"
                                           : "daily",
                  q->since_s / DAY_S);
    if (q->until_s > 0)
        strbuf_printf(sql,
                      " AND day < %" PRId64,
                      (q->until_s + DAY_S - 1) / DAY_S);
    add_word(r, sql, "account", q->account);
    if (q->user != NULL && q->has_uid) {
        strbuf_add_text(sql, " AND ");
        add_names(r, sql, q->user, q->uid);
    } else
        add_word(r, sql, "user", q->user);
    add_word(r, sql, "partition", q->partition);
    add_rights(r, sql, &q->rights);
    if (groupings[q->by].is_time)
        strbuf_add_text(sql, " GROUP BY day)");
    strbuf_printf(sql,
                  " GROUP BY %s ORDER BY %s LIMIT %d",
                  groupings[q->by].columns,
                  groupings[q->by].is_time ? "1" : "sum(cpu_s) DESC",
                  MOST_GROUPS);
}

static void
print_group(struct history_reader *r,
            sqlite3_stmt *s,
            const struct grouping *g,
            struct arena *arena,
            struct strbuf *out)
{
    struct json *row = json_object(arena);
    int at = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(g->names) && g->names[i] != NULL; i++) {
        const char *word =
            g->is_time
                ? (const char *)sqlite3_column_text(s, at)
                : history_reader_word(r, sqlite3_column_int64(s, at), arena);

        json_set_string(arena, row, g->names[i], word != NULL ? word : "");
        at++;
    }
    if (at == 0)
        at = 1;
    for (size_t i = 0; i < ARRAY_SIZE(sums); i++, at++) {
        if (sums[i].is_real)
            json_set(
                arena,
                row,
                sums[i].name,
                json_number(
                    arena,
                    arena_printf(arena, "%.1f", sqlite3_column_double(s, at))));
        else
            json_set_int(arena, row, sums[i].name, sqlite3_column_int64(s, at));
    }
    json_print(row, out);
}

static int
has_ended(void *context)
{
    const struct history_reader *r = context;

    return clock_monotonic_us(&clock_system) >= r->ends_us;
}

int
history_reader_report(struct history_reader *r,
                      const struct history_question *q,
                      int64_t most_us,
                      struct strbuf *out,
                      struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct arena_mark mark = arena_mark(arena);
    CLEANUP_STRBUF struct strbuf sql = STRBUF_INIT;
    sqlite3_stmt *s = NULL;
    int step = SQLITE_DONE, result;
    bool has_rows = false;

    r->ends_us = clock_monotonic_us(&clock_system) + most_us;
    write_report(r, q, &sql);
    strbuf_add_text(
        out,
        "{\"apiVersion\":\"kiln.hpc/v1\",\"kind\":\"HistoryReport\","
        "\"items\":[");
    result = sql_prepare(r->db, sql.text, &s, err);
    sqlite3_progress_handler(r->db, STEPS_BETWEEN, has_ended, r);
    while (result == 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
        /* A sum of nothing is one row of nothing. */
        if (sqlite3_column_type(s, sqlite3_column_count(s) - 1) == SQLITE_NULL)
            continue;
        if (has_rows)
            strbuf_add_char(out, ',');
        has_rows = true;
        print_group(r, s, &groupings[q->by], arena, out);
        arena_rewind(arena, &mark);
    }
    sqlite3_progress_handler(r->db, 0, NULL, NULL);
    if (result == 0 && step == SQLITE_INTERRUPT)
        result = error_set(err,
                           -ETIMEDOUT,
                           "the report takes too long: ask for fewer days "
                           "(--since, --until)");
    else if (result == 0 && step != SQLITE_DONE)
        result = sql_error(r->db, err);
    (void)sqlite3_finalize(s);
    strbuf_add_text(out, "]}");
    return result;
}
