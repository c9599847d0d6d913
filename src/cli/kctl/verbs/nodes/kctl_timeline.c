/* SPDX-License-Identifier: Apache-2.0 */
/* kctl timeline - draws nodes over time: running jobs with their ends, and
 * planned ones
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/picture_file.h"
#include "cli/print/local_time.h"
#include "cli/print/node_chart.h"
#include "cli/print/node_chart_svg.h"
#include "cli/print/node_chart_text.h"
#include "cli/print/sanitize_text.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define HOUR_US     (INT64_C(3600) * 1000000)
#define HOURS_MOST  (24 * 60)
#define HOURS_USUAL 24 /* at most, by default */
#define HOURS_EMPTY 6  /* if nothing has an end */
#define NODES_MOST  256
#define PLAIN_WIDTH 100 /* if the output is no terminal */
#define LEAST_WIDTH 48
#define SAME_US     INT64_C(5000000) /* between starts of pods in one bar */

struct timeline_options {
    struct common_options common;
    const char *svg;
    int64_t hours;
    int64_t limit;
};

#define PLACE(member) .offset = offsetof(struct timeline_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "hours",
     .argument = "N",
     .help = "how far ahead to draw (until the last known end, 24 at most)",
     .type = OPTION_INT,
     .min = 1,
     .max = HOURS_MOST,
     PLACE(hours)},
    {.name = "limit",
     .argument = "N",
     .help = "at most this many nodes, where none is named (40)",
     .type = OPTION_INT,
     .min = 1,
     .max = NODES_MOST,
     PLACE(limit)},
    {.name = "svg",
     .argument = "FILE",
     .help = "draw an SVG picture into this file; - is the standard output",
     .type = OPTION_TEXT,
     PLACE(svg)},
};

static const struct option_table table = {
    .name = "kctl timeline",
    .usage = "[OPTION]... [NODE]...",
    .summary = "Draw nodes over time: what runs, until its limit, and what is "
               "planned.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl timeline\n"
            "  kctl timeline --hours 48 n[1-4]\n"
            "  kctl timeline --svg cluster.svg",
};

/* ---- The request ---- */

static int
add_names(struct strbuf *path, size_t count, const char *const *names, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = names[i];

        if (name[0] == '\0' || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-")] != '\0')
            return error_set(err, -EINVAL, "'%.80s' is not a valid node name", name);
        strbuf_printf(path, "%s%s", i == 0 ? "?nodes=" : ",", name);
    }
    return 0;
}

static int
ask(struct kctl *kctl, const struct timeline_options *o, int n_operands, char **operands,
    struct arena *arena, struct json **ret_answer, struct error *err)
{
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;
    const char **names;
    size_t n_names;
    int r = resource_parse_nodes(kctl, n_operands, operands, arena, &names, &n_names, err);

    strbuf_add_text(&path, "/kiln/v1/timeline");
    if (r == 0 && n_names > NODES_MOST)
        r = error_set(err, -EINVAL, "these are %zu nodes; a timeline shows %d at most", n_names,
                      NODES_MOST);
    if (r == 0)
        r = add_names(&path, n_names, names, err);
    if (r == 0 && o->limit > 0 && n_names == 0)
        strbuf_printf(&path, "?limit=%lld", (long long)o->limit);
    if (r == 0)
        r = kctl_ask(kctl, path.text, arena, ret_answer, err);
    if (r == 0 && json_get(*ret_answer, "nodes") == NULL)
        return error_set(err, -EPROTO, "the server's answer is not a timeline");
    return r;
}

/* ---- The chart ---- */

static int64_t
time_of(const struct json *tree, const char *name, int64_t otherwise_us)
{
    const char *text = json_get_text(tree, name);
    int64_t us = 0;

    return text != NULL && time_parse(text, &us) == 0 ? us : otherwise_us;
}

static const char *
clean_text(const struct json *tree, const char *name, struct arena *arena)
{
    const char *text = json_get_text(tree, name);
    CLEANUP_FREE char *clean = sanitize_text_dup(text != NULL ? text : "");

    return arena_strdup(arena, clean);
}

static struct node_chart_bar
read_bar(const struct json *job, int64_t now_us, struct arena *arena)
{
    const int64_t id = json_get_int(job, "id", 0);
    struct node_chart_bar bar = {
        .kind = json_is_true(json_get(job, "isPlanned"))  ? CHART_PLANNED
                : json_is_true(json_get(job, "isFrozen")) ? CHART_STANDS
                                                          : CHART_RUNS,
        .user = clean_text(job, "user", arena),
        .from_us = time_of(job, "start", now_us),
        .until_us = time_of(job, "end", INT64_MAX),
        .cpu_milli = json_get_int(job, "milliCPU", 0),
        .has_lent = json_is_true(json_get(job, "hasLentCores")),
    };
    const char *name = clean_text(job, "name", arena);

    if (bar.kind == CHART_PLANNED && bar.from_us < now_us)
        bar.from_us = now_us;
    /* The job is past its limit and still running. */
    if (bar.kind <= CHART_STANDS && bar.until_us <= now_us)
        bar.until_us = now_us + 1;
    bar.label = id > 0 ? arena_printf(arena, "%lld %s", (long long)id, bar.user)
                       : arena_printf(arena, "%s %s", name, bar.user);
    if (json_is_true(json_get(job, "isFrozen")))
        bar.label = arena_printf(arena, "%s (S)", bar.label);
    bar.detail = id > 0 ? arena_printf(arena, "job %lld (%s)", (long long)id, name)
                        : arena_printf(arena, "pod %s", name);
    return bar;
}

static void
describe(struct node_chart_bar *bar, struct arena *arena)
{
    char from[LOCAL_TIME_SIZE], until[LOCAL_TIME_SIZE] = "";

    local_time_format(bar->from_us, from);
    if (bar->until_us != INT64_MAX)
        local_time_format(bar->until_us, until);
    bar->detail =
        arena_printf(arena, "%s of %s, %g CPUs, %s %s%s%s", bar->detail,
                     bar->user[0] != '\0' ? bar->user : "nobody", (double)bar->cpu_milli / 1000,
                     bar->kind == CHART_PLANNED ? "planned from" : "since", from,
                     until[0] == '\0'            ? ""
                     : bar->kind == CHART_STANDS ? " until about "
                                                 : " until at most ",
                     until[0] != '\0'            ? until
                     : bar->kind == CHART_STANDS ? ", with an unknown end"
                                                 : ", without a time limit");
}

/* Concurrent pods of one job are drawn as one bar. */
static bool
is_same(const struct node_chart_bar *a, const struct node_chart_bar *b)
{
    return a->kind == b->kind && a->has_lent == b->has_lent && strcmp(a->detail, b->detail) == 0
           && llabs(a->from_us - b->from_us) < SAME_US
           && (a->until_us == b->until_us
               || (a->until_us != INT64_MAX && b->until_us != INT64_MAX
                   && llabs(a->until_us - b->until_us) < SAME_US));
}

static void
read_jobs(struct node_chart_row *row, const struct json *jobs, int64_t now_us, struct arena *arena)
{
    for (uint32_t i = 0; i < json_count(jobs); i++) {
        const struct node_chart_bar bar = read_bar(json_at(jobs, i), now_us, arena);
        size_t at = 0;

        while (at < row->n_bars && !is_same(&row->bars[at], &bar))
            at++;
        if (at < row->n_bars)
            row->bars[at].cpu_milli += bar.cpu_milli;
        else
            row->bars[row->n_bars++] = bar;
    }
    for (size_t i = 0; i < row->n_bars; i++)
        describe(&row->bars[i], arena);
}

/* A reservation covers the whole node. */
static void
read_reservations(struct node_chart_row *row, const struct json *list, int64_t now_us,
                  struct arena *arena)
{
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *r = json_at(list, i);
        const char *name = clean_text(r, "name", arena);

        row->bars[row->n_bars++] = (struct node_chart_bar){
            .kind = CHART_RESERVED,
            .label = name,
            .detail = arena_printf(
                arena, "%s %s",
                json_is_true(json_get(r, "isMaintenance")) ? "maintenance" : "reservation", name),
            .user = "",
            .from_us = time_of(r, "start", now_us),
            .until_us = time_of(r, "end", INT64_MAX),
        };
    }
}

/* NULL: the node accepts jobs. */
static const char *
state_of(const struct json *node, struct arena *arena)
{
    static const char *const open[] = {"Idle", "Mixed", "Full"};
    const char *state = clean_text(node, "state", arena);
    const char *reason = clean_text(node, "reason", arena);

    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        if (strcmp(state, open[i]) == 0)
            return NULL;
    return reason[0] != '\0' ? arena_printf(arena, "%s: %s", state, reason) : state;
}

static void
read_rows(struct node_chart *chart, const struct json *nodes, struct arena *arena)
{
    chart->n_rows = json_count(nodes);
    chart->rows = arena_new_array(arena, struct node_chart_row, chart->n_rows + 1);
    for (uint32_t i = 0; i < json_count(nodes); i++) {
        const struct json *node = json_at(nodes, i);
        struct node_chart_row *row = &chart->rows[i];

        *row = (struct node_chart_row){
            .name = clean_text(node, "name", arena),
            .state = state_of(node, arena),
            .cpu_milli = json_get_int(node, "cpus", 0) * 1000,
            .kept_milli = json_get_int(node, "cpusKept", 0) * 1000,
            .n_more = (size_t)json_get_int(node, "more", 0),
        };
        row->bars = arena_new_array(arena, struct node_chart_bar,
                                    json_count(json_get(node, "jobs"))
                                        + json_count(json_get(node, "reservations")) + 1);
        read_jobs(row, json_get(node, "jobs"), chart->now_us, arena);
        read_reservations(row, json_get(node, "reservations"), chart->now_us, arena);
    }
}

/* Until the last known end, in whole hours. */
static int64_t
choose_hours(const struct node_chart *chart, int64_t asked)
{
    int64_t last_us = 0, hours;

    if (asked > 0)
        return asked;
    for (size_t i = 0; i < chart->n_rows; i++)
        for (size_t b = 0; b < chart->rows[i].n_bars; b++) {
            const struct node_chart_bar *bar = &chart->rows[i].bars[b];

            if (bar->kind != CHART_RESERVED && bar->until_us != INT64_MAX
                && bar->until_us > last_us)
                last_us = bar->until_us;
        }
    if (last_us == 0)
        return HOURS_EMPTY;
    hours = (last_us - chart->now_us + HOUR_US - 1) / HOUR_US;
    return hours < 1 ? 1 : hours > HOURS_USUAL ? HOURS_USUAL : hours;
}

static void
read_chart(struct node_chart *chart, const struct json *answer, int64_t asked_hours,
           struct arena *arena)
{
    int64_t span_us;

    *chart = (struct node_chart){.now_us = time_of(answer, "now", 0)};
    read_rows(chart, json_get(answer, "nodes"), arena);
    span_us = choose_hours(chart, asked_hours) * HOUR_US;
    chart->from_us = chart->now_us - span_us / 12;
    chart->until_us = chart->now_us + span_us;
    node_chart_lay_out(chart, arena);
}

/* ---- Text ---- */

static const char *
make_title(const struct node_chart *chart, struct arena *arena)
{
    char from[LOCAL_TIME_SIZE], until[LOCAL_TIME_SIZE];

    local_time_format(chart->now_us, from);
    local_time_format_minute(chart->until_us, chart->now_us, until);
    return arena_printf(arena, "%zu node%s, %.16s to %s", chart->n_rows,
                        chart->n_rows == 1 ? "" : "s", from, until);
}

static void
print_omissions(const struct node_chart *chart, const struct json *answer)
{
    const int64_t total = json_get_int(answer, "total", 0);

    if (total > (int64_t)chart->n_rows)
        fprintf(stderr,
                "Showing %zu of %lld nodes; name others, or raise --limit (%d "
                "at most)\n",
                chart->n_rows, (long long)total, NODES_MOST);
}

static struct node_chart_style
choose_style(void)
{
    unsigned width = terminal_width();

    return (struct node_chart_style){
        .width = width == 0            ? PLAIN_WIDTH
                 : width < LEAST_WIDTH ? LEAST_WIDTH
                                       : width,
        .has_colours = terminal_colour_is_wanted(),
        .is_ascii = node_chart_is_ascii(),
    };
}

static int
timeline_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
             struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct timeline_options *o = options;
    const struct node_chart_style style = choose_style();
    struct json *answer = NULL;
    struct node_chart chart;
    int r = ask(kctl, o, n_operands, operands, arena, &answer, err);

    if (r < 0)
        return r;
    read_chart(&chart, answer, o->hours, arena);
    if (chart.n_rows == 0) {
        fprintf(stderr, "No nodes found\n");
        return 0;
    }
    if (o->svg != NULL)
        node_chart_svg_print(&chart, make_title(&chart, arena), &out);
    else
        node_chart_text_print(&chart, &style, &out);
    r = picture_file_write(o->svg != NULL ? o->svg : "-", &out, err);
    if (r == 0)
        print_omissions(&chart, answer);
    return r;
}

const struct command timeline_command = {
    .name = "timeline",
    .options = &table,
    .options_size = sizeof(struct timeline_options),
    .run = timeline_run,
};
