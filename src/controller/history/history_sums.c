/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_sums.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "controller/history/rows/daily_usage.h"
#include "controller/store/engine/sql.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

#define DAY_S 86400

struct sum {
    int64_t account, user, partition;
    struct daily_usage usage;
    int64_t wait_most_s;
};

struct history_sums {
    sqlite3_stmt *by_day, *by_month;
    struct map *places; /* "DAY ACCOUNT USER PARTITION" to 1 + the index in
                         * items */
    struct sum *items;
    size_t count, capacity;
};

#define UPSERT(table)                                                   \
    "INSERT INTO " table " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9," \
    " ?10, ?11, ?12, ?13, ?14, ?15, ?16)"                               \
    " ON CONFLICT DO UPDATE SET ended = ended + ?5,"                    \
    " completed = completed + ?6, failed = failed + ?7,"                \
    " stopped = stopped + ?8, cpu_s = cpu_s + ?9,"                      \
    " cpu_used_s = cpu_used_s + ?10,"                                   \
    " cpu_measured_s = cpu_measured_s + ?11,"                           \
    " memory_gib_s = memory_gib_s + ?12, device_s = device_s + ?13,"    \
    " started = started + ?14, wait_s = wait_s + ?15,"                  \
    " wait_most_s = max(wait_most_s, ?16)"

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
    int r = sql_prepare(db, UPSERT("daily"), &sums->by_day, err);

    sums->places = map_new();
    if (r == 0)
        r = sql_prepare(db, UPSERT("monthly"), &sums->by_month, err);
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
    sums->items[sums->count].usage = (struct daily_usage){
        .day = like->usage.day,
    };
    (void)map_put(sums->places, key, (void *)(uintptr_t)++sums->count);
    return &sums->items[sums->count - 1];
}

static void
add_usage(struct daily_usage *to, const struct daily_usage *u)
{
    to->ended += u->ended;
    to->completed += u->completed;
    to->failed += u->failed;
    to->stopped += u->stopped;
    to->cpu_s += u->cpu_s;
    to->cpu_used_s += u->cpu_used_s;
    to->cpu_measured_s += u->cpu_measured_s;
    to->memory_gib_s += u->memory_gib_s;
    to->device_s += u->device_s;
    to->started += u->started;
    to->wait_s += u->wait_s;
}

void
history_sums_add(struct history_sums *sums, const struct history_row *row, int64_t account,
                 int64_t user, int64_t partition)
{
    const unsigned days = daily_usage_count(row);

    for (unsigned i = 0; i < days; i++) {
        struct sum one = {account, user, partition, {0}, 0};
        struct sum *sum;

        daily_usage_of(row, i, &one.usage);
        sum = find_sum(sums, &one);
        add_usage(&sum->usage, &one.usage);
        if (one.usage.wait_s > sum->wait_most_s)
            sum->wait_most_s = one.usage.wait_s;
    }
}

/* ---- Writing ---- */

static int
write_sum(sqlite3_stmt *s, int64_t when, const struct sum *sum, struct error *e)
{
    const struct daily_usage *u = &sum->usage;

    (void)sqlite3_bind_int64(s, 1, when);
    (void)sqlite3_bind_int64(s, 2, sum->account);
    (void)sqlite3_bind_int64(s, 3, sum->user);
    (void)sqlite3_bind_int64(s, 4, sum->partition);
    (void)sqlite3_bind_int64(s, 5, u->ended);
    (void)sqlite3_bind_int64(s, 6, u->completed);
    (void)sqlite3_bind_int64(s, 7, u->failed);
    (void)sqlite3_bind_int64(s, 8, u->stopped);
    (void)sqlite3_bind_double(s, 9, u->cpu_s);
    (void)sqlite3_bind_double(s, 10, u->cpu_used_s);
    (void)sqlite3_bind_double(s, 11, u->cpu_measured_s);
    (void)sqlite3_bind_double(s, 12, u->memory_gib_s);
    (void)sqlite3_bind_double(s, 13, u->device_s);
    (void)sqlite3_bind_int64(s, 14, u->started);
    (void)sqlite3_bind_int64(s, 15, u->wait_s);
    (void)sqlite3_bind_int64(s, 16, sum->wait_most_s);
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
            r = write_sum(sums->by_month, history_month_of_day(sum->usage.day), sum, err);
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

/* ---- Months ---- */

int64_t
history_month_of_day(int64_t day)
{
    const time_t when = (time_t)(day * DAY_S);
    struct tm tm = {0};

    (void)gmtime_r(&when, &tm);
    return (tm.tm_year + INT64_C(1900)) * 100 + tm.tm_mon + 1;
}

int64_t
history_first_day_of_month(int64_t month)
{
    struct tm tm = {
        .tm_year = (int)(month / 100 - 1900),
        .tm_mon = (int)(month % 100 - 1),
        .tm_mday = 1,
    };

    return timegm(&tm) / DAY_S;
}
