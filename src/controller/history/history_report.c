/* SPDX-License-Identifier: Apache-2.0 */
/* history_report.c - sums of days, grouped as the question asks */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "controller/history/history_question.h"
#include "controller/history/history_reader.h"
#include "controller/history/history_reader_state.h"
#include "controller/history/history_sums.h"
#include "controller/store/engine/sql.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define DAY_S         86400
#define STEPS_BETWEEN 10000 /* SQLite VM steps between looks at the clock */
#define MOST_GROUPS   20000
#define LAST_DAY      2932896 /* in the year 9999 */

#define COLUMNS                                             \
    "ended, completed, failed, stopped, cpu_s, cpu_used_s," \
    " cpu_measured_s, memory_gib_s, device_s, started, wait_s, wait_most_s"

#define SUMS                                                             \
    "sum(ended), sum(completed), sum(failed), sum(stopped), sum(cpu_s)," \
    " sum(cpu_used_s), sum(cpu_measured_s), sum(memory_gib_s),"          \
    " sum(device_s), sum(started), sum(wait_s), max(wait_most_s)"

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

/* The columns to group by: words, except days and months. */
static const struct grouping {
    const char *columns;
    const char *names[2];
    bool is_time;
} groupings[] = {
    [HISTORY_BY_ALL] = {"1", {NULL, NULL}, true},
    [HISTORY_BY_ACCOUNT] = {"account", {"account", NULL}, false},
    [HISTORY_BY_USER] = {"user", {"user", NULL}, false},
    [HISTORY_BY_PARTITION] = {"partition", {"partition", NULL}, false},
    [HISTORY_BY_DAY] = {"span", {"day", NULL}, true},
    [HISTORY_BY_MONTH] = {"span", {"month", NULL}, true},
    [HISTORY_BY_ACCOUNT_USER] = {"account, user", {"account", "user"}, false},
};

static void
add_word(struct history_reader *r, struct strbuf *sql, const char *column, const char *word)
{
    if (word != NULL)
        strbuf_printf(sql, " AND %s = %" PRId64, column, history_reader_find_word(r, word));
}

/* Sums have user names, not uids. Those of a uid are its present name, and all
 * of its names that no other uid has had.
 */
static void
add_names(struct history_reader *r, struct strbuf *sql, const char *user, int64_t uid)
{
    strbuf_printf(sql,
                  "(user = %" PRId64 " OR user IN (SELECT u.user FROM users AS u WHERE u.uid = "
                  "%" PRId64 " AND NOT EXISTS (SELECT 1 FROM users AS o"
                  " WHERE o.user = u.user AND o.uid <> u.uid)))",
                  history_reader_find_word(r, user), uid);
}

static void
add_rights(struct history_reader *r, struct strbuf *sql, const struct history_rights *rights)
{
    if (rights->is_all)
        return;
    strbuf_add_text(sql, " AND (");
    add_names(r, sql, rights->user, rights->uid);
    strbuf_add_text(sql, " OR account IN (-1");
    for (size_t i = 0; i < rights->n_accounts; i++)
        strbuf_printf(sql, ",%" PRId64, history_reader_find_word(r, rights->accounts[i]));
    strbuf_add_text(sql, "))");
}

/* The conditions on each part of the sums, except its time. */
static void
add_bounds(struct history_reader *r, const struct history_question *q, struct strbuf *sql)
{
    add_word(r, sql, "account", q->account);
    if (q->user != NULL && q->has_uid) {
        strbuf_add_text(sql, " AND ");
        add_names(r, sql, q->user, q->uid);
    } else
        add_word(r, sql, "user", q->user);
    add_word(r, sql, "partition", q->partition);
    add_rights(r, sql, &q->rights);
}

/* Sums of days or of whole months, from `first` to before `last`. */
struct days {
    const char *table, *column;
    int64_t first, last;
    int64_t month; /* the month of the days */
};

static void
add_part(struct strbuf *sql, const struct days *part, const struct history_question *q,
         const char *bounds)
{
    char span[24];

    if (part->first >= part->last)
        return;
    (void)snprintf(span, sizeof(span), "%" PRId64, part->month);
    strbuf_printf(sql,
                  "%sSELECT %s AS span, account, user, partition, " COLUMNS
                  " FROM %s WHERE %s >= %" PRId64 " AND %s < %" PRId64 "%s",
                  sql->length > 0 ? " UNION ALL " : "",
                  q->by == HISTORY_BY_MONTH && part->month > 0 ? span : part->column, part->table,
                  part->column, part->first, part->column, part->last, bounds);
}

/* Whole months are read from the monthly sums; the days before and after them,
 * and all days if the question is by day, from the daily sums.
 */
static void
write_parts(const struct history_question *q, const char *bounds, struct strbuf *sql)
{
    const int64_t first = q->since_s / DAY_S;
    const int64_t last = q->until_s > 0 ? (q->until_s + DAY_S - 1) / DAY_S : LAST_DAY;
    const int64_t month_of_first = history_month_of_day(first);
    const int64_t month_of_last = history_month_of_day(last);
    int64_t begin = month_of_first;

    if (history_first_day_of_month(begin) < first)
        begin += begin % 100 == 12 ? 89 : 1;
    if (q->by == HISTORY_BY_DAY) {
        add_part(sql, &(struct days){"daily", "day", first, last, 0}, q, bounds);
        return;
    }
    if (begin > month_of_last) { /* all days are in one month */
        add_part(sql, &(struct days){"daily", "day", first, last, month_of_first}, q, bounds);
        return;
    }
    add_part(
        sql,
        &(struct days){"daily", "day", first, history_first_day_of_month(begin), month_of_first}, q,
        bounds);
    add_part(sql, &(struct days){"monthly", "month", begin, month_of_last, 0}, q, bounds);
    add_part(sql,
             &(struct days){"daily", "day", history_first_day_of_month(month_of_last), last,
                            month_of_last},
             q, bounds);
}

static void
write_report(struct history_reader *r, const struct history_question *q, struct strbuf *sql)
{
    CLEANUP_STRBUF struct strbuf bounds = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf parts = STRBUF_INIT;
    const struct grouping *g = &groupings[q->by];

    add_bounds(r, q, &bounds);
    write_parts(q, bounds.text, &parts);
    if (parts.length == 0) /* an empty span of time */
        strbuf_add_text(&parts, "SELECT *, 0 AS span FROM daily WHERE 0");
    strbuf_printf(sql,
                  "SELECT %s, " SUMS " FROM (%s) GROUP BY %s ORDER BY %s"
                  " LIMIT %d",
                  g->columns, parts.text, g->columns, g->is_time ? "1" : "sum(cpu_s) DESC",
                  MOST_GROUPS);
}

/* For example "2026-01" or "2026-01-31". */
static const char *
write_span(enum history_sum by, int64_t span, struct arena *arena)
{
    char text[TIME_TEXT_SIZE];

    if (by == HISTORY_BY_MONTH)
        return arena_printf(arena, "%04" PRId64 "-%02" PRId64, span / 100, span % 100);
    time_format(span * DAY_S * INT64_C(1000000), false, text);
    return arena_strndup(arena, text, strlen("2026-01-31"));
}

static void
print_group(struct history_reader *r, sqlite3_stmt *s, enum history_sum by, struct arena *arena,
            struct strbuf *out)
{
    const struct grouping *g = &groupings[by];
    struct json *row = json_object(arena);
    int at = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(g->names) && g->names[i] != NULL; i++) {
        const int64_t value = sqlite3_column_int64(s, at);
        const char *word =
            g->is_time ? write_span(by, value, arena) : history_reader_word(r, value);

        json_set_string(arena, row, g->names[i], word != NULL ? word : "");
        at++;
    }
    if (at == 0)
        at = 1;
    for (size_t i = 0; i < ARRAY_SIZE(sums); i++, at++) {
        if (sums[i].is_real)
            json_set(arena, row, sums[i].name,
                     json_number(arena, arena_printf(arena, "%.1f", sqlite3_column_double(s, at))));
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
history_reader_report(struct history_reader *r, const struct history_question *q, int64_t most_us,
                      struct strbuf *out, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct arena_mark mark = arena_mark(arena);
    CLEANUP_STRBUF struct strbuf sql = STRBUF_INIT;
    sqlite3_stmt *s = NULL;
    int step = SQLITE_DONE, result;
    bool has_rows = false;

    r->ends_us = clock_monotonic_us(&clock_system) + most_us;
    write_report(r, q, &sql);
    strbuf_add_text(out, "{\"apiVersion\":\"kiln.hpc/v1\",\"kind\":\"HistoryReport\","
                         "\"items\":[");
    result = sql_prepare(r->db, sql.text, &s, err);
    sqlite3_progress_handler(r->db, STEPS_BETWEEN, has_ended, r);
    while (result == 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
        /* An aggregate of no rows is one row of NULLs. */
        if (sqlite3_column_type(s, sqlite3_column_count(s) - 1) == SQLITE_NULL)
            continue;
        if (has_rows)
            strbuf_add_char(out, ',');
        has_rows = true;
        print_group(r, s, q->by, arena, out);
        arena_rewind(arena, &mark);
    }
    sqlite3_progress_handler(r->db, 0, NULL, NULL);
    if (result == 0 && step == SQLITE_INTERRUPT)
        result = error_set(err, -ETIMEDOUT,
                           "the report takes too long; ask for fewer days "
                           "(--since, --until)");
    else if (result == 0 && step != SQLITE_DONE)
        result = sql_error(r->db, err);
    (void)sqlite3_finalize(s);
    strbuf_add_text(out, "]}");
    return result;
}
