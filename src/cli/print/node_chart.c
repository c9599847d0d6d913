/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/print/node_chart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"

#define SECOND_US INT64_C(1000000)
#define DAY_S     86400

/* ---- Lanes ---- */

static int
compare_bars(const void *a, const void *b)
{
    const struct node_chart_bar *x = a, *y = b;

    if (x->kind != y->kind && (x->kind == CHART_RESERVED) != (y->kind == CHART_RESERVED))
        return x->kind == CHART_RESERVED ? 1 : -1;
    if (x->from_us != y->from_us)
        return x->from_us < y->from_us ? -1 : 1;
    if (x->cpu_milli != y->cpu_milli)
        return x->cpu_milli > y->cpu_milli ? -1 : 1;
    return strverscmp(x->label, y->label);
}

static bool
overlap(const struct node_chart_bar *a, const struct node_chart_bar *b)
{
    return a->from_us < b->until_us && b->from_us < a->until_us;
}

static bool
is_lane_free(const struct node_chart_row *row, size_t at, unsigned lane)
{
    for (size_t i = 0; i < at; i++)
        if (row->bars[i].lane == lane && overlap(&row->bars[i], &row->bars[at]))
            return false;
    return true;
}

/* An earlier bar that overlaps the bar at that offset of CPUs; NULL: none. */
static const struct node_chart_bar *
find_in_way(const struct node_chart_row *row, size_t at, int64_t above)
{
    for (size_t i = 0; i < at; i++) {
        const struct node_chart_bar *b = &row->bars[i];

        if (overlap(b, &row->bars[at]) && b->above_milli < above + row->bars[at].cpu_milli
            && above < b->above_milli + b->cpu_milli)
            return b;
    }
    return NULL;
}

/* Finds an offset for the bar's CPUs at which it overlaps no other bar. If free
 * CPUs are not adjacent, the bar may be drawn over others.
 */
static void
stack(struct node_chart_row *row, size_t at)
{
    struct node_chart_bar *bar = &row->bars[at];
    const struct node_chart_bar *in_way;
    int64_t above = 0;

    while ((in_way = find_in_way(row, at, above)) != NULL)
        above = in_way->above_milli + (in_way->cpu_milli > 0 ? in_way->cpu_milli : 1);
    if (above + bar->cpu_milli > row->cpu_milli)
        above = row->cpu_milli - bar->cpu_milli;
    bar->above_milli = above > 0 ? above : 0;
}

static void
lay_out_row(struct node_chart_row *row)
{
    if (row->n_bars > 1)
        qsort(row->bars, row->n_bars, sizeof(*row->bars), compare_bars);
    row->n_lanes = 0;
    for (size_t i = 0; i < row->n_bars; i++) {
        struct node_chart_bar *bar = &row->bars[i];

        bar->lane = 0;
        while (!is_lane_free(row, i, bar->lane))
            bar->lane++;
        if (bar->lane >= row->n_lanes)
            row->n_lanes = bar->lane + 1;
        stack(row, i);
    }
}

/* ---- Users ---- */

static int
compare_users(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
collect_users(struct node_chart *chart, struct arena *arena)
{
    size_t most = 0, n = 0;

    for (size_t i = 0; i < chart->n_rows; i++)
        most += chart->rows[i].n_bars;
    chart->users = arena_new_array(arena, const char *, most + 1);
    for (size_t i = 0; i < chart->n_rows; i++)
        for (size_t b = 0; b < chart->rows[i].n_bars; b++)
            if (chart->rows[i].bars[b].user[0] != '\0')
                chart->users[n++] = chart->rows[i].bars[b].user;
    if (n > 1)
        qsort(chart->users, n, sizeof(*chart->users), compare_users);
    chart->n_users = 0;
    for (size_t i = 0; i < n; i++)
        if (chart->n_users == 0 || strcmp(chart->users[chart->n_users - 1], chart->users[i]) != 0)
            chart->users[chart->n_users++] = chart->users[i];
}

void
node_chart_lay_out(struct node_chart *chart, struct arena *arena)
{
    for (size_t i = 0; i < chart->n_rows; i++)
        lay_out_row(&chart->rows[i]);
    collect_users(chart, arena);
}

/* FNV-1a, so that a name has the same colour on every host. */
static unsigned
wanted_colour(const char *user, unsigned n_colours)
{
    uint32_t hash = 2166136261u;

    for (; *user != '\0'; user++)
        hash = (hash ^ (unsigned char)*user) * 16777619u;
    return (hash >> 8) % n_colours;
}

unsigned
node_chart_colour(const struct node_chart *chart, const char *user, unsigned n_colours)
{
    CLEANUP_FREE bool *taken = xnew_array(bool, n_colours);
    unsigned at = 0;

    for (size_t i = 0; i < chart->n_users; i++) {
        at = wanted_colour(chart->users[i], n_colours);
        for (unsigned n = 0; n < n_colours && taken[at]; n++)
            at = (at + 1) % n_colours;
        taken[at] = true;
        if (strcmp(chart->users[i], user) == 0)
            return at;
    }
    return wanted_colour(user, n_colours);
}

/* ---- Time ---- */

int64_t
node_chart_step_us(const struct node_chart *chart, unsigned most)
{
    static const int64_t steps[] = {60,   120,   300,   600,   900,   1800,      3600,
                                    7200, 10800, 21600, 43200, DAY_S, 2 * DAY_S, 7 * DAY_S};
    int64_t span_s = (chart->until_us - chart->from_us) / SECOND_US;

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
        if (span_s <= steps[i] * most)
            return steps[i] * SECOND_US;
    return (span_s / (most > 0 ? most : 1) + DAY_S) / DAY_S * DAY_S * SECOND_US;
}

int64_t
node_chart_first_us(const struct node_chart *chart, int64_t step_us)
{
    time_t from = (time_t)(chart->from_us / SECOND_US);
    int64_t step_s = step_us / SECOND_US, local_s;
    struct tm tm = {0};

    localtime_r(&from, &tm);
    local_s = (int64_t)from + tm.tm_gmtoff;
    return ((local_s + step_s - 1) / step_s * step_s - tm.tm_gmtoff) * SECOND_US;
}

void
node_chart_format_time(int64_t us, char out[NODE_CHART_TIME_SIZE])
{
    time_t at = (time_t)(us / SECOND_US);
    struct tm tm = {0};

    localtime_r(&at, &tm);
    if (strftime(out, NODE_CHART_TIME_SIZE, tm.tm_hour == 0 && tm.tm_min == 0 ? "%b %e" : "%H:%M",
                 &tm)
        == 0)
        snprintf(out, NODE_CHART_TIME_SIZE, "?");
}
