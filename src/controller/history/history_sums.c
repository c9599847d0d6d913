/* SPDX-License-Identifier: Apache-2.0 */
/* A report over years would read each of millions of rows. So the amounts of each day and month
 * are added up when a row is written, by account, user and partition, in the transaction of the
 * row, and a report reads those. They stay when retention drops the rows. The price is that a
 * row must be counted exactly once (history_applied.h), and that a row cannot be corrected.
 *
 * Most rows of a batch share a few days, accounts, users and partitions, so one write of a sum
 * covers many rows.
 */
#include "controller/history/history_sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/history/history_connection.h"
#include "controller/history/history_question.h"
#include "controller/store/engine/sql.h"
#include "lib/api/job/history_row.h"
#include "lib/api/job/job_state.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define DAY_S         86400
#define STEPS_BETWEEN 10000 /* SQLite VM steps between looks at the clock */
#define MOST_GROUPS   20000
#define LAST_DAY      2932896 /* in the year 9999 */
#define SECOND_US     INT64_C(1000000)
#define DAY_US        (86400 * SECOND_US)
#define GIB           (1024.0 * 1024 * 1024)
#define DAYS_MOST     400 /* on which an attempt counts */

/* The part of an attempt in the sums of a day. The amounts that it held count for each day on
 * which it ran; its end and its wait for the day on which it ended. Days are in UTC.
 */
struct day_usage {
    int64_t day; /* since 1970 */
    int64_t ended, completed, failed, stopped;
    double cpu_s, cpu_used_s;
    double cpu_measured_s; /* the part of cpu_s whose use was measured */
    double memory_gib_s;
    double device_s;
    int64_t started, wait_s, wait_most_s;
};

/* All that is known of a sum, once: its column in both tables, its name in a report, how it is
 * added. Statements and answers have them in this order.
 */
enum sum_kind { SUM_WHOLE, SUM_REAL, SUM_MOST };
#define SUM(member, name, kind)                                       \
    {                                                                 \
#member, name, offsetof(struct day_usage, member), SUM_##kind \
    }
static const struct sum_column {
    const char *column, *name;
    size_t offset;
    enum sum_kind kind;
} columns[] = {
    SUM(ended, "ended", WHOLE),
    SUM(completed, "completed", WHOLE),
    SUM(failed, "failed", WHOLE),
    SUM(stopped, "stopped", WHOLE),
    SUM(cpu_s, "cpuSeconds", REAL),
    SUM(cpu_used_s, "cpuUsedSeconds", REAL),
    SUM(cpu_measured_s, "cpuMeasuredSeconds", REAL),
    SUM(memory_gib_s, "memoryGiBSeconds", REAL),
    SUM(device_s, "deviceSeconds", REAL),
    SUM(started, "started", WHOLE),
    SUM(wait_s, "waitSeconds", WHOLE),
    SUM(wait_most_s, "waitMostSeconds", MOST),
};

struct sum {
    int64_t account, user, partition;
    struct day_usage usage;
};

struct history_sums {
    sqlite3_stmt *by_day, *by_month;
    struct map *places; /* "DAY ACCOUNT USER PARTITION" to 1 + the index in
                         * items */
    struct sum *items;
    size_t count, capacity;
};

/* ---- Months ---- */

static int64_t
month_of_day(int64_t day)
{
    const time_t when = (time_t)(day * DAY_S);
    struct tm tm = {0};

    (void)gmtime_r(&when, &tm);
    return (tm.tm_year + INT64_C(1900)) * 100 + tm.tm_mon + 1;
}

static int64_t
first_day_of_month(int64_t month)
{
    struct tm tm = {
        .tm_year = (int)(month / 100 - 1900),
        .tm_mon = (int)(month % 100 - 1),
        .tm_mday = 1,
    };

    return timegm(&tm) / DAY_S;
}

/* ---- The usage of an attempt ---- */

static int64_t
day_of(int64_t us)
{
    return us / DAY_US;
}

/* The number of days on which the attempt counts. */
static unsigned
count_days(const struct history_row *row)
{
    int64_t days;

    if (row->start_at_us == 0 || row->start_at_us > row->end_at_us)
        return 1;
    days = day_of(row->end_at_us) - day_of(row->start_at_us) + 1;
    return days < DAYS_MOST ? (unsigned)days : DAYS_MOST;
}

/* Counts "a/b=2,c/d=1" as 3. */
static int64_t
count_devices(const char *devices)
{
    int64_t n = 0;

    for (const char *at = devices; at != NULL && (at = strchr(at, '=')); at++)
        n += strtoll(at + 1, NULL, 10);
    return n;
}

static void
add_end(const struct history_row *row, struct day_usage *u)
{
    const enum job_state state = job_state_of_name(row->state);

    u->ended = 1;
    switch (job_state_words(state)->class) {
    case JOB_STATE_GOOD_END:
        u->completed = 1;
        break;
    case JOB_STATE_BAD_END:
        u->failed = 1;
        break;
    default:
        u->stopped = 1;
        break;
    }
    if (row->start_at_us == 0)
        return;
    u->started = 1;
    if (row->start_at_us > row->eligible_at_us && row->eligible_at_us > 0)
        u->wait_s = u->wait_most_s = (row->start_at_us - row->eligible_at_us) / SECOND_US;
}

/* The usage on the n-th of the days. */
static void
find_usage(const struct history_row *row, unsigned n, struct day_usage *u)
{
    const unsigned days = count_days(row);
    const int64_t last = day_of(row->end_at_us);
    int64_t from, until;
    double seconds, part;

    *u = (struct day_usage){.day = last - (days - 1) + n};
    /* An attempt of several nodes is one end, of which each node has used a part. */
    if (n + 1 == days && row->member == 0)
        add_end(row, u);
    if (row->nodes > 0 && row->member == 0)
        return;
    if (row->start_at_us == 0 || row->start_at_us >= row->end_at_us)
        return;
    from = u->day * DAY_US;
    until = from + DAY_US;
    if (n == 0 || row->start_at_us > from)
        from = row->start_at_us;
    if (row->end_at_us < until)
        until = row->end_at_us;
    seconds = (double)(until - from) / SECOND_US;
    part = (double)(until - from) / (double)(row->end_at_us - row->start_at_us);
    u->cpu_s = seconds * (double)row->cpu_milli / 1000;
    u->memory_gib_s = seconds * (double)row->memory_bytes / GIB;
    u->device_s = seconds * (double)count_devices(row->devices);
    if (row->cpu_time_us != NULL) {
        u->cpu_used_s = part * (double)*row->cpu_time_us / SECOND_US;
        u->cpu_measured_s = u->cpu_s;
    }
}

/* ---- Life ---- */

enum { AT_TIME = 1, AT_ACCOUNT, AT_USER, AT_PARTITION, AT_SUMS };

/* Adds to the sums of a day or month, or makes its row. */
static int
prepare(sqlite3 *db, const char *table, const char *time, sqlite3_stmt **ret_s, struct error *err)
{
    CLEANUP_STRBUF struct strbuf sql = STRBUF_INIT;

    strbuf_printf(&sql, "INSERT INTO %s (%s, account, user, partition", table, time);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        strbuf_printf(&sql, ", %s", columns[i].column);
    strbuf_add_text(&sql, ") VALUES (?1, ?2, ?3, ?4");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        strbuf_printf(&sql, ", ?%zu", AT_SUMS + i);
    strbuf_add_text(&sql, ") ON CONFLICT DO UPDATE SET ");
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        const struct sum_column *c = &columns[i];

        strbuf_printf(&sql, c->kind == SUM_MOST ? "%s%s = max(%s, ?%zu)" : "%s%s = %s + ?%zu",
                      i > 0 ? ", " : "", c->column, c->column, AT_SUMS + i);
    }
    return sql_prepare(db, sql.text, ret_s, err);
}

void
history_sums_free(struct history_sums *sums)
{
    if (sums == NULL)
        return;
    (void)sqlite3_finalize(sums->by_day);
    (void)sqlite3_finalize(sums->by_month);
    map_free(sums->places);
    free(sums->items);
    free(sums);
}

int
history_sums_new(sqlite3 *db, struct history_sums **ret_sums, struct error *err)
{
    struct history_sums *sums = xnew(struct history_sums);
    int r = prepare(db, "daily", "day", &sums->by_day, err);

    sums->places = map_new();
    if (r == 0)
        r = prepare(db, "monthly", "month", &sums->by_month, err);
    if (r < 0) {
        history_sums_free(sums);
        return r;
    }
    *ret_sums = sums;
    return 0;
}

/* ---- Gathering ---- */

static struct sum *
find_sum(struct history_sums *sums, const struct sum *like)
{
    char key[96];
    uintptr_t at;

    (void)snprintf(key, sizeof(key), "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                   like->usage.day, like->account, like->user, like->partition);
    at = (uintptr_t)map_find(sums->places, key);
    if (at > 0)
        return &sums->items[at - 1];
    if (sums->count == sums->capacity) {
        sums->capacity = sums->capacity > 0 ? sums->capacity * 2 : 64;
        sums->items = xrealloc_array(sums->items, sums->capacity, sizeof(*sums->items));
    }
    sums->items[sums->count] = *like;
    sums->items[sums->count].usage = (struct day_usage){
        .day = like->usage.day,
    };
    (void)map_put(sums->places, key, (void *)(uintptr_t)++sums->count);
    return &sums->items[sums->count - 1];
}

static void
add_usage(struct day_usage *to, const struct day_usage *from)
{
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        void *a = (char *)to + columns[i].offset;
        const void *b = (const char *)from + columns[i].offset;

        if (columns[i].kind == SUM_REAL)
            *(double *)a += *(const double *)b;
        else if (columns[i].kind == SUM_WHOLE)
            *(int64_t *)a += *(const int64_t *)b;
        else if (*(const int64_t *)b > *(int64_t *)a)
            *(int64_t *)a = *(const int64_t *)b;
    }
}

void
history_sums_add(struct history_sums *sums, const struct history_row *row, int64_t account,
                 int64_t user, int64_t partition)
{
    const unsigned days = count_days(row);

    for (unsigned i = 0; i < days; i++) {
        struct sum one = {account, user, partition, {0}};

        find_usage(row, i, &one.usage);
        add_usage(&find_sum(sums, &one)->usage, &one.usage);
    }
}

/* ---- Writing ---- */

static int
write_sum(sqlite3_stmt *s, int64_t when, const struct sum *sum, struct error *e)
{
    (void)sqlite3_bind_int64(s, AT_TIME, when);
    (void)sqlite3_bind_int64(s, AT_ACCOUNT, sum->account);
    (void)sqlite3_bind_int64(s, AT_USER, sum->user);
    (void)sqlite3_bind_int64(s, AT_PARTITION, sum->partition);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        const void *value = (const char *)&sum->usage + columns[i].offset;

        if (columns[i].kind == SUM_REAL)
            (void)sqlite3_bind_double(s, AT_SUMS + (int)i, *(const double *)value);
        else
            (void)sqlite3_bind_int64(s, AT_SUMS + (int)i, *(const int64_t *)value);
    }
    return sql_run(s, e);
}

int
history_sums_write(struct history_sums *sums, struct error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < sums->count; i++) {
        const struct sum *sum = &sums->items[i];

        r = write_sum(sums->by_day, sum->usage.day, sum, err);
        if (r == 0)
            r = write_sum(sums->by_month, month_of_day(sum->usage.day), sum, err);
    }
    history_sums_discard(sums);
    return r;
}

void
history_sums_discard(struct history_sums *sums)
{
    map_clear(sums->places);
    sums->count = 0;
}

/* ---- Reports ---- */

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
add_word(struct history_connection *c, struct strbuf *sql, const char *column, const char *word)
{
    if (word != NULL)
        strbuf_printf(sql, " AND %s = %" PRId64, column, history_connection_find_word(c, word));
}

/* Sums have user names, not uids. Those of a uid are its present name, and all
 * of its names that no other uid has had.
 */
static void
add_names(struct history_connection *c, struct strbuf *sql, const char *user, int64_t uid)
{
    strbuf_printf(sql,
                  "(user = %" PRId64 " OR user IN (SELECT u.user FROM users AS u WHERE u.uid = "
                  "%" PRId64 " AND NOT EXISTS (SELECT 1 FROM users AS o"
                  " WHERE o.user = u.user AND o.uid <> u.uid)))",
                  history_connection_find_word(c, user), uid);
}

static void
add_rights(struct history_connection *c, struct strbuf *sql, const struct history_rights *rights)
{
    if (rights->is_all)
        return;
    strbuf_add_text(sql, " AND (");
    add_names(c, sql, rights->user, rights->uid);
    strbuf_add_text(sql, " OR account IN (-1");
    for (size_t i = 0; i < rights->n_accounts; i++)
        strbuf_printf(sql, ",%" PRId64, history_connection_find_word(c, rights->accounts[i]));
    strbuf_add_text(sql, "))");
}

/* The conditions on each part of the sums, except its time. */
static void
add_bounds(struct history_connection *c, const struct history_question *q, struct strbuf *sql)
{
    add_word(c, sql, "account", q->account);
    if (q->user != NULL && q->has_uid) {
        strbuf_add_text(sql, " AND ");
        add_names(c, sql, q->user, q->uid);
    } else
        add_word(c, sql, "user", q->user);
    add_word(c, sql, "partition", q->partition);
    add_rights(c, sql, &q->rights);
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
    strbuf_printf(sql, "%sSELECT %s AS span, account, user, partition",
                  sql->length > 0 ? " UNION ALL " : "",
                  q->by == HISTORY_BY_MONTH && part->month > 0 ? span : part->column);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        strbuf_printf(sql, ", %s", columns[i].column);
    strbuf_printf(sql, " FROM %s WHERE %s >= %" PRId64 " AND %s < %" PRId64 "%s", part->table,
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
    const int64_t month_of_first = month_of_day(first);
    const int64_t month_of_last = month_of_day(last);
    int64_t begin = month_of_first;

    if (first_day_of_month(begin) < first)
        begin += begin % 100 == 12 ? 89 : 1;
    if (q->by == HISTORY_BY_DAY) {
        add_part(sql, &(struct days){"daily", "day", first, last, 0}, q, bounds);
        return;
    }
    if (begin > month_of_last) { /* all days are in one month */
        add_part(sql, &(struct days){"daily", "day", first, last, month_of_first}, q, bounds);
        return;
    }
    add_part(sql, &(struct days){"daily", "day", first, first_day_of_month(begin), month_of_first},
             q, bounds);
    add_part(sql, &(struct days){"monthly", "month", begin, month_of_last, 0}, q, bounds);
    add_part(sql,
             &(struct days){"daily", "day", first_day_of_month(month_of_last), last, month_of_last},
             q, bounds);
}

static void
write_report(struct history_connection *c, const struct history_question *q, struct strbuf *sql)
{
    CLEANUP_STRBUF struct strbuf bounds = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf parts = STRBUF_INIT;
    const struct grouping *g = &groupings[q->by];

    add_bounds(c, q, &bounds);
    write_parts(q, bounds.text, &parts);
    if (parts.length == 0) /* an empty span of time */
        strbuf_add_text(&parts, "SELECT *, 0 AS span FROM daily WHERE 0");
    strbuf_printf(sql, "SELECT %s", g->columns);
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        strbuf_printf(sql, columns[i].kind == SUM_MOST ? ", max(%s)" : ", sum(%s)",
                      columns[i].column);
    strbuf_printf(sql, " FROM (%s) GROUP BY %s ORDER BY %s LIMIT %d", parts.text, g->columns,
                  g->is_time ? "1" : "sum(cpu_s) DESC", MOST_GROUPS);
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
print_group(struct history_connection *c, sqlite3_stmt *s, enum history_sum by, struct arena *arena,
            struct strbuf *out)
{
    const struct grouping *g = &groupings[by];
    struct json *row = json_object(arena);
    int at = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(g->names) && g->names[i] != NULL; i++) {
        const int64_t value = sqlite3_column_int64(s, at);
        const char *word =
            g->is_time ? write_span(by, value, arena) : history_connection_word(c, value);

        json_set_string(arena, row, g->names[i], word != NULL ? word : "");
        at++;
    }
    if (at == 0)
        at = 1;
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++, at++) {
        if (columns[i].kind == SUM_REAL)
            json_set(arena, row, columns[i].name,
                     json_number(arena, arena_printf(arena, "%.1f", sqlite3_column_double(s, at))));
        else
            json_set_int(arena, row, columns[i].name, sqlite3_column_int64(s, at));
    }
    json_print(row, out);
}

static int
has_ended(void *context)
{
    const struct history_connection *c = context;

    return clock_monotonic_us(&clock_system) >= history_connection_ends_us(c);
}

int
history_sums_print(struct history_connection *c, const struct history_question *q,
                   struct strbuf *out, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct arena_mark mark = arena_mark(arena);
    CLEANUP_STRBUF struct strbuf sql = STRBUF_INIT;
    sqlite3_stmt *s = NULL;
    int step = SQLITE_DONE, result;
    bool has_rows = false;

    write_report(c, q, &sql);
    strbuf_add_text(out, "{\"apiVersion\":\"kiln.hpc/v1\",\"kind\":\"HistoryReport\","
                         "\"items\":[");
    result = sql_prepare(history_connection_db(c), sql.text, &s, err);
    sqlite3_progress_handler(history_connection_db(c), STEPS_BETWEEN, has_ended, c);
    while (result == 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
        /* An aggregate of no rows is one row of NULLs. */
        if (sqlite3_column_type(s, sqlite3_column_count(s) - 1) == SQLITE_NULL)
            continue;
        if (has_rows)
            strbuf_add_char(out, ',');
        has_rows = true;
        print_group(c, s, q->by, arena, out);
        arena_rewind(arena, &mark);
    }
    sqlite3_progress_handler(history_connection_db(c), 0, NULL, NULL);
    if (result == 0 && step == SQLITE_INTERRUPT)
        result = error_set(err, -ETIMEDOUT,
                           "the report takes too long; ask for fewer days "
                           "(--since, --until)");
    else if (result == 0 && step != SQLITE_DONE)
        result = sql_error(history_connection_db(c), err);
    (void)sqlite3_finalize(s);
    strbuf_add_text(out, "]}");
    return result;
}
