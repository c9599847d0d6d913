/* SPDX-License-Identifier: Apache-2.0 */
/* kctl report - usage by user, account or partition, from the daily sums of
 * history
 *
 * Days are in UTC. The utilization of the cluster is relative to its current
 * CPUs: history does not know how many it had.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/history_pages.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_selection.h"
#include "cli/kctl/output/node_rows.h"
#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/sanitize_text.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "cli/values/time_expression.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)
#define DAY_S     86400
#define DEFAULT_S (30 * DAY_S)

struct report_options {
    struct common_options common;
    const char *by;
    const char *form;
    const char *since;
    const char *until;
    const char *user;
    const char *partition;
    const char *account;
    int64_t top;
    bool wasted;
};

#define PLACE(member) .offset = offsetof(struct report_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "account",
     .argument = "NAME",
     .help = "only jobs of this account",
     .type = OPTION_TEXT,
     PLACE(account)},
    {.name = "by",
     .argument = "WHAT",
     .help = "account, user, partition, day, month, all, or account,user "
             "(account)",
     .type = OPTION_TEXT,
     PLACE(by)},
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "table, json or csv",
     .type = OPTION_TEXT,
     PLACE(form)},
    {.name = "partition",
     .letter = 'p',
     .argument = "NAME",
     .help = "only jobs in this partition",
     .type = OPTION_TEXT,
     PLACE(partition)},
    {.name = "since",
     .argument = "TIME",
     .help = "from this day on (30d)",
     .type = OPTION_TEXT,
     PLACE(since)},
    {.name = "top",
     .argument = "N",
     .help = "only the first N rows",
     .type = OPTION_INT,
     .min = 1,
     .max = INT32_MAX,
     PLACE(top)},
    {.name = "until",
     .argument = "TIME",
     .help = "until this day",
     .type = OPTION_TEXT,
     PLACE(until)},
    {.name = "user",
     .letter = 'u',
     .argument = "NAME",
     .help = "only jobs of this user",
     .type = OPTION_TEXT,
     PLACE(user)},
    {.name = "wasted",
     .help = "sort by wasted CPU time, most first",
     .type = OPTION_FLAG,
     PLACE(wasted)},
};

static const struct option_table table = {
    .name = "kctl report",
    .usage = "[OPTION]...",
    .summary = "Show what jobs that ended used: by account, user, partition, "
               "day or month; how long they waited, and what was left unused.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl report --by month --since 2026-01-01\n"
            "  kctl report --by account,user --since 7d -o csv\n"
            "  kctl report --by user --wasted --top 10",
};

struct period {
    int64_t since_us, until_us; /* 0: now */
};

static int
find_period(const struct report_options *o, struct period *p, struct error *err)
{
    const int64_t now_us = clock_real_us(&clock_system);
    int r = 0;

    *p = (struct period){.since_us = now_us - DEFAULT_S * SECOND_US};
    if (o->since != NULL
        && (r = time_expression_parse(o->since, TIME_BACK, now_us, &p->since_us, err)) < 0)
        return error_wrap(err, r, "--since");
    if (o->until != NULL
        && (r = time_expression_parse(o->until, TIME_END, now_us, &p->until_us, err)) < 0)
        return error_wrap(err, r, "--until");
    if (p->until_us > now_us)
        p->until_us = 0; /* no resources were used in the future */
    if (p->until_us > 0 && p->since_us >= p->until_us)
        return error_set(err, -EINVAL, "--until is before --since");
    return 0;
}

static int
fetch(struct kctl *kctl, const struct report_options *o, const struct period *period,
      struct arena *arena, struct json **ret_items, struct error *err)
{
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf target = STRBUF_INIT;
    struct json *answer = NULL;
    int r = kctl_open(kctl, err);

    if (r < 0)
        return r;
    history_query_add(&query, "by", o->by != NULL ? o->by : "account");
    history_query_add_time(&query, "since", period->since_us);
    history_query_add_time(&query, "until", period->until_us);
    history_query_add(&query, "user", o->user);
    history_query_add(&query, "partition", o->partition);
    history_query_add(&query, "account", o->account != NULL ? o->account : kctl->namespace);
    strbuf_printf(&target, "/kiln/v1/history/report%s", query.text);
    r = kctl_ask(kctl, target.text, arena, &answer, err);
    if (r == 0)
        *ret_items = json_get(answer, "items");
    return r;
}

static int
count_cpus(struct kctl *kctl, struct arena *arena, int64_t *ret_cpus, struct error *err)
{
    struct json *answer = NULL;
    struct node_sum sum = {0};
    const struct json *nodes;
    int r = kctl_ask(kctl, "/kiln/v1/nodes", arena, &answer, err);

    nodes = json_get(answer, "nodes");
    if (nodes == NULL)
        nodes = json_get(answer, "items");
    for (uint32_t i = 0; r == 0 && i < json_count(nodes); i++)
        node_sum_add(&sum, json_at(nodes, i));
    *ret_cpus = sum.cpus;
    return r;
}

/* ---- Values of rows ---- */

static double
number_of(const struct json *row, const char *name)
{
    const struct json *value = json_get(row, name);

    return json_is(value, JSON_NUMBER) ? strtod(value->text, NULL) : 0;
}

static double
wasted_s(const struct json *row)
{
    return number_of(row, "cpuMeasuredSeconds") - number_of(row, "cpuUsedSeconds");
}

static int
compare_waste(const void *a, const void *b)
{
    const double x = wasted_s(*(const struct json *const *)a);
    const double y = wasted_s(*(const struct json *const *)b);

    return x < y ? 1 : x > y ? -1 : 0;
}

/* The part of the period that a row covers, in seconds; 0: the row is not for a
 * span of time.
 */
static int64_t
find_span(const struct json *row, const struct period *period)
{
    const int64_t now_s = clock_real_us(&clock_system) / SECOND_US;
    const char *day = json_get_text(row, "day");
    const char *month = json_get_text(row, "month");
    int64_t from = period->since_us / SECOND_US / DAY_S * DAY_S;
    int64_t until =
        period->until_us > 0 ? (period->until_us / SECOND_US + DAY_S - 1) / DAY_S * DAY_S : now_s;
    struct tm tm = {.tm_mday = 1};
    int64_t first, last;

    if (day != NULL && strptime(day, "%Y-%m-%d", &tm) != NULL) {
        first = timegm(&tm);
        last = first + DAY_S;
    } else if (month != NULL && strptime(month, "%Y-%m", &tm) != NULL) {
        first = timegm(&tm);
        tm.tm_mon++;
        last = timegm(&tm);
    } else if (json_get(row, "account") != NULL || json_get(row, "user") != NULL
               || json_get(row, "partition") != NULL)
        return 0;
    else {
        first = from;
        last = until;
    }
    from = first > from ? first : from;
    until = last < until ? last : until;
    until = until < now_s ? until : now_s;
    return until > from ? until - from : 0;
}

/* ---- Output ---- */

#define GROUPS 2

static const char *const group_names[] = {"account", "user", "partition", "day", "month"};

static size_t
find_groups(const struct json *row, const char *groups[GROUPS])
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(group_names) && n < GROUPS; i++)
        if (json_get(row, group_names[i]) != NULL)
            groups[n++] = group_names[i];
    return n;
}

static const char *
percent(double part, double whole, struct arena *arena)
{
    return whole > 0 ? arena_printf(arena, "%.1f", 100 * part / whole) : "";
}

static const char *
hours(double s, struct arena *arena)
{
    return arena_printf(arena, "%.2f", s / 3600);
}

static const char *
length(double s, struct arena *arena)
{
    char text[HUMAN_TEXT_SIZE];

    human_duration((int64_t)(s * SECOND_US), text);
    return arena_strdup(arena, text);
}

static const struct {
    const char *heading, *csv;
} columns[] = {
    {"Jobs", "ended"},
    {"Good", "completed"},
    {"Failed", "failed"},
    {"Stopped", "stopped"},
    {"CPU hours", "cpu_hours"},
    {"Used %", "cpu_used_percent"},
    {"Unused h", "cpu_unused_hours"},
    {"Mem GiBh", "memory_gib_hours"},
    {"Device h", "device_hours"},
    {"Mean wait", "mean_wait_seconds"},
    {"Most", "most_wait_seconds"},
    {"Util %", "utilization_percent"},
};

#define COLUMNS ARRAY_SIZE(columns)

static void
make_cells(const struct json *row, const struct period *period, int64_t cpus, bool is_for_programs,
           struct arena *arena, const char *cells[COLUMNS])
{
    const double started = number_of(row, "started");
    const double mean = started > 0 ? number_of(row, "waitSeconds") / started : 0;
    const double most = number_of(row, "waitMostSeconds");
    const double cpu_s = number_of(row, "cpuSeconds");
    size_t n = 0;

    for (; n < 4; n++)
        cells[n] = arena_printf(arena, "%" PRId64, json_get_int(row, columns[n].csv, 0));
    cells[n++] = hours(cpu_s, arena);
    cells[n++] =
        percent(number_of(row, "cpuUsedSeconds"), number_of(row, "cpuMeasuredSeconds"), arena);
    cells[n++] = hours(wasted_s(row), arena);
    cells[n++] = hours(number_of(row, "memoryGiBSeconds"), arena);
    cells[n++] = hours(number_of(row, "deviceSeconds"), arena);
    cells[n++] = is_for_programs ? arena_printf(arena, "%.1f", mean) : length(mean, arena);
    cells[n++] = is_for_programs ? arena_printf(arena, "%.0f", most) : length(most, arena);
    cells[n++] = percent(cpu_s, (double)cpus * (double)find_span(row, period), arena);
}

static void
print_csv(const struct json *items, const struct period *period, int64_t cpus, struct arena *arena,
          struct strbuf *out)
{
    const char *groups[GROUPS], *cells[COLUMNS];
    const size_t n = find_groups(json_at(items, 0), groups);

    for (size_t i = 0; i < n; i++)
        strbuf_printf(out, "%s,", groups[i]);
    for (size_t i = 0; i < COLUMNS; i++)
        strbuf_printf(out, "%s%s", i > 0 ? "," : "", columns[i].csv);
    strbuf_add_char(out, '\n');
    for (uint32_t k = 0; k < json_count(items); k++) {
        const struct json *row = json_at(items, k);

        make_cells(row, period, cpus, true, arena, cells);
        for (size_t i = 0; i < n; i++) {
            sanitize_text_add_csv(json_get_text(row, groups[i]), out);
            strbuf_add_char(out, ',');
        }
        for (size_t i = 0; i < COLUMNS; i++)
            strbuf_printf(out, "%s%s", i > 0 ? "," : "", cells[i]);
        strbuf_add_char(out, '\n');
    }
}

static void
print_table(const struct json *items, const struct period *period, int64_t cpus,
            struct arena *arena, struct strbuf *out)
{
    CLEANUP(grid_freep)
    struct grid *grid = grid_new(terminal_colour_is_wanted());
    const char *groups[GROUPS], *cells[GROUPS + COLUMNS];
    const size_t n = find_groups(json_at(items, 0), groups);
    const bool is_of_time = n == 0 || find_span(json_at(items, 0), period) > 0;
    const size_t shown = is_of_time ? COLUMNS : COLUMNS - 1;

    grid_set_gap(grid, 2);
    grid_set_width(grid, terminal_width());
    for (size_t i = 0; i < n; i++)
        grid_add_column(grid, groups[i]);
    for (size_t i = 0; i < shown; i++)
        grid_add_styled(grid, &(struct grid_column){
                                  .name = columns[i].heading,
                                  .is_right = true,
                                  .weight = i == 0 || i == 4 ? 0 : 20 - (unsigned)i,
                              });
    for (uint32_t k = 0; k < json_count(items); k++) {
        const struct json *row = json_at(items, k);

        for (size_t i = 0; i < n; i++)
            cells[i] = json_get_text(row, groups[i]);
        make_cells(row, period, cpus, false, arena, cells + n);
        grid_add_row(grid, cells);
    }
    grid_print(grid, true, out);
}

static int
check_form(const struct report_options *o, struct error *err)
{
    static const char *const forms[] = {"table", "json", "csv"};

    if (o->form == NULL)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        if (strcmp(o->form, forms[i]) == 0)
            return 0;
    return error_set(err, -EINVAL, "-o: '%s' is not an output format; use table, json or csv",
                     o->form);
}

static int
check_by(const struct report_options *o, struct error *err)
{
    static const char *const names[] = {
        "account", "user", "partition", "day", "month", "all", "account,user",
    };
    const char *near;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (o->by == NULL || strcmp(o->by, names[i]) == 0)
            return 0;
    near = strcmp(o->by, "user,account") == 0 ? "account,user"
                                              : spelling_nearest(o->by, names, ARRAY_SIZE(names));
    if (near != NULL)
        return error_set(err, -EINVAL, "--by: cannot sum by '%s' (did you mean '%s'?)", o->by,
                         near);
    return error_set(err, -EINVAL,
                     "--by: cannot sum by '%s'; use account, user, partition, "
                     "day, month, all, or account,user",
                     o->by);
}

static int
report_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct report_options *o = options;
    struct json *items = NULL;
    struct period period;
    int64_t cpus = 0;
    int r = check_form(o, err);

    if (n_operands > 0)
        return error_set(err, -EINVAL, "'%s' is not expected; did you mean --by %s?", operands[0],
                         operands[0]);
    if (r == 0)
        r = check_by(o, err);
    if (r == 0)
        r = find_period(o, &period, err);
    if (r == 0)
        r = fetch(kctl, o, &period, arena, &items, err);
    if (r == 0 && json_count(items) == 0)
        r = job_selection_check_exists(kctl,
                                       &(struct job_selection){
                                           .user = o->user,
                                           .partition = o->partition,
                                           .account = o->account,
                                       },
                                       err);
    if (r == 0)
        r = count_cpus(kctl, arena, &cpus, err);
    if (r < 0)
        return r;
    if (o->wasted && json_count(items) > 0)
        qsort(items->items, items->count, sizeof(*items->items), compare_waste);
    if (o->top > 0 && items->count > o->top)
        json_keep_first(items, (uint32_t)o->top);
    if (o->form != NULL && strcmp(o->form, "json") == 0) {
        json_print_indented(items, &out);
        strbuf_add_char(&out, '\n');
    } else if (json_count(items) == 0)
        fprintf(stderr, "No job of yours, or of your accounts, ended in that time\n");
    else if (o->form != NULL && strcmp(o->form, "csv") == 0)
        print_csv(items, &period, cpus, arena, &out);
    else
        print_table(items, &period, cpus, arena, &out);
    if (out.length > 0)
        fwrite(out.text, 1, out.length, stdout);
    return 0;
}

const struct command report_command = {
    .name = "report",
    .options = &table,
    .options_size = sizeof(struct report_options),
    .run = report_run,
};
