/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/rows/daily_usage.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/job/history_row.h"
#include "lib/api/job/job_state.h"

#define SECOND_US INT64_C(1000000)
#define DAY_US    (86400 * SECOND_US)
#define GIB       (1024.0 * 1024 * 1024)

static int64_t
day_of(int64_t us)
{
    return us / DAY_US;
}

unsigned
daily_usage_count(const struct history_row *row)
{
    int64_t days;

    if (row->start_at_us == 0 || row->start_at_us > row->end_at_us)
        return 1;
    days = day_of(row->end_at_us) - day_of(row->start_at_us) + 1;
    return days < DAILY_USAGE_MOST ? (unsigned)days : DAILY_USAGE_MOST;
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
add_end(const struct history_row *row, struct daily_usage *u)
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
        u->wait_s = (row->start_at_us - row->eligible_at_us) / SECOND_US;
}

void
daily_usage_of(const struct history_row *row, unsigned n, struct daily_usage *u)
{
    const unsigned days = daily_usage_count(row);
    const int64_t last = day_of(row->end_at_us);
    int64_t from, until;
    double seconds, part;

    *u = (struct daily_usage){.day = last - (days - 1) + n};
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
