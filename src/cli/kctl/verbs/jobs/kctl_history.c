/* SPDX-License-Identifier: Apache-2.0 */
/* kctl history - lists jobs and their usage, also long after the jobs are gone
 *
 * One row for each attempt, in the order of their end, read page by page;
 * output for programs is printed as it arrives.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/history_pages.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/step_list.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/input/job_selection.h"
#include "cli/kctl/output/history_columns.h"
#include "cli/kctl/output/step_table.h"
#include "cli/print/grid.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "cli/values/time_expression.h"
#include "lib/api/job/job_state.h"
#include "lib/api/value/id_ranges.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define DAY_US     INT64_C(86400000000)
#define WRITE_SIZE 65536
#define PAGE       INT64_C(5000) /* rows */
#define MOST_JOBS  1000          /* named jobs: one request each */

struct history_options {
    struct common_options common;
    struct job_selection selection;
    const char *form;
    const char *node;
    bool nodes;
    const char *job;
    const char *since;
    const char *until;
    int64_t limit;
    bool all;
    bool no_headings;
    bool steps;
};

#define PLACE(member) .offset = offsetof(struct history_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    JOB_SELECTION_OPTIONS(struct history_options, selection),
    {.name = "all",
     .letter = 'a',
     .help = "the same as --all-users, its name in former releases",
     .type = OPTION_FLAG,
     PLACE(all)},
    {.name = "all-users",
     .letter = 'A',
     .help = "attempts of all users, as far as you may see them",
     .type = OPTION_FLAG,
     PLACE(all)},
    {.name = "job",
     .letter = 'j',
     .argument = "ID",
     .help = "only this job, no matter when it ended, or some of its tasks, "
             "ID_TASK, ID_[3-9]; or several jobs: ID,ID or ID-ID",
     .type = OPTION_TEXT,
     PLACE(job)},
    {.name = "limit",
     .argument = "N",
     .help = "only the first N",
     .type = OPTION_INT,
     .min = 1,
     .max = INT32_MAX,
     PLACE(limit)},
    NO_HEADERS_OPTION(struct history_options),
    {.name = "node",
     .argument = "NODES",
     .help = "only attempts that ran on these nodes: n1, n[1-4],gpu1",
     .type = OPTION_TEXT,
     PLACE(node)},
    {.name = "nodes",
     .help = "of attempts of several nodes, what ran on each",
     .type = OPTION_FLAG,
     PLACE(nodes)},
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "table, json, csv, swf (Standard Workload Format), or columns: "
             "id,user,state (or csv=id,user,state)",
     .type = OPTION_TEXT,
     PLACE(form)},
    {.name = "since",
     .argument = "TIME",
     .help = "only attempts that ended at this time or later: 3d, yesterday, "
             "08:30, 2026-01-31 (24h)",
     .type = OPTION_TEXT,
     PLACE(since)},
    {.name = "steps",
     .help = "below the table, the steps of the named jobs, as kctl steps shows them",
     .type = OPTION_FLAG,
     PLACE(steps)},
    {.name = "until",
     .argument = "TIME",
     .help = "only attempts that ended before this time",
     .type = OPTION_TEXT,
     PLACE(until)},
};

static const struct option_table table = {
    .name = "kctl history",
    .usage = "[OPTION]... [JOB|JOB_TASK]...",
    .summary = "Show each attempt of jobs that ended, also of deleted jobs: "
               "by default yours of the last day, oldest first.",
    OPTION_ROWS(rows),
    .more =
        "Columns: id, name, user, account, partition, state, attempt, ended, "
        "elapsed, cpus, node, exit, reason, uid, object, pod, submitted, "
        "eligible, started, waited, limit, memory, peak, rss, cache, gpuutil, "
        "gpupeak, gpumemory, read, written, cputime, devices, signal, by, message, script, index, task, lost; or "
        "all\n"
        "\n"
        "Examples:\n"
        "  kctl history --since 7d --state Failed,TimedOut\n"
        "  kctl history 1041_7 1042-1044\n"
        "  kctl history --job 1041 -o id,attempt,started,ended,node\n"
        "  kctl history -A --since 2026-01-01 -o csv=all",
};

enum history_form { AS_TABLE, AS_JSON, AS_CSV, AS_SWF };

struct printing {
    enum history_form form;
    struct history_columns columns;
    struct grid *grid;
    struct history_swf *swf;
    struct strbuf out;
    int64_t count, most;
};

static int
parse_form(const char *text, struct printing *p, struct error *err)
{
    const char *columns = NULL;

    if (text != NULL && strcmp(text, "json") == 0)
        p->form = AS_JSON;
    else if (text != NULL && strcmp(text, "swf") == 0)
        p->form = AS_SWF;
    else if (text != NULL && strcmp(text, "csv") == 0)
        p->form = AS_CSV;
    else if (text != NULL && strncmp(text, "csv=", 4) == 0) {
        p->form = AS_CSV;
        columns = text + 4;
    } else if (text != NULL && strcmp(text, "table") != 0)
        columns = text;
    return history_columns_parse(columns, &p->columns, err);
}

/* History has ended attempts only. */
static int
check_states(uint32_t states, struct error *err)
{
    if (states == 0 || (states & JOB_STATES_ENDED) != 0)
        return 0;
    return error_set(err, -EINVAL,
                     "--state: history has only what has ended; 'kctl jobs --state' shows jobs "
                     "that have not");
}

static void
add_states(uint32_t states, struct strbuf *query)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (states == 0)
        return;
    for (enum job_state s = JOB_STATE_PENDING; s < JOB_STATE_COUNT; s++)
        if ((states & JOB_STATE_BIT(s)) != 0)
            strbuf_printf(&text, "%s%s", text.length > 0 ? "," : "", job_state_words(s)->name);
    history_query_add(query, "state", text.text);
}

static int
add_times(const struct history_options *o, struct strbuf *query, struct error *err)
{
    const int64_t now_us = clock_real_us(&clock_system);
    int64_t since_us = o->job == NULL ? now_us - DAY_US : 0, until_us = 0;
    int r = 0;

    if (o->since != NULL
        && (r = time_expression_parse(o->since, TIME_BACK, now_us, &since_us, err)) < 0)
        return error_wrap(err, r, "--since");
    if (o->until != NULL
        && (r = time_expression_parse(o->until, TIME_END, now_us, &until_us, err)) < 0)
        return error_wrap(err, r, "--until");
    if (until_us > 0 && since_us >= until_us)
        return error_set(err, -EINVAL, "--until is before --since");
    history_query_add_time(query, "since", since_us);
    history_query_add_time(query, "until", until_us);
    return 0;
}

/* The default is the user's own rows. The server finds them by uid, so rows
 * from before a change of name are included.
 */
static int
add_user(struct kctl *kctl, const struct history_options *o, struct arena *arena,
         struct strbuf *query, struct error *err)
{
    const char *own = NULL;
    int r;

    if (o->selection.user != NULL)
        history_query_add(query, "user", o->selection.user);
    if (o->selection.user != NULL || o->all || o->job != NULL)
        return 0;
    r = job_selection_find_own_user(kctl, arena, &own, err);
    if (r == 0)
        history_query_add(query, "user", own);
    return r;
}

static int
make_query(struct kctl *kctl, const struct history_options *o, struct arena *arena,
           struct strbuf *query, struct error *err)
{
    struct job_selection selection = o->selection;
    const char *account = kctl->namespace != NULL ? kctl->namespace : selection.account;
    char limit[24];
    int r = job_selection_check(&selection, err);

    if (r == 0 && o->all && selection.user != NULL)
        r = error_set(err, -EINVAL, "--all-users does not go with --user");
    if (r == 0)
        r = check_states(selection.states, err);
    if (r == 0 && account != NULL && strchr(account, ',') != NULL)
        r = error_set(err, -EINVAL, "--account: give only one account");
    if (r == 0)
        r = add_user(kctl, o, arena, query, err);
    if (r == 0)
        r = add_times(o, query, err);
    if (r < 0)
        return r;
    history_query_add(query, "account", account);
    history_query_add(query, "partition", selection.partition);
    history_query_add(query, "node", o->node);
    if (o->nodes)
        history_query_add(query, "nodes", "true");
    history_query_add(query, "name", selection.name);
    add_states(selection.states, query);
    (void)snprintf(limit, sizeof(limit), "%" PRId64,
                   o->limit > 0 && o->limit < PAGE ? o->limit : PAGE);
    history_query_add(query, "limit", limit);
    return 0;
}

static void
add_fields(const struct history_columns *columns, struct strbuf *query)
{
    CLEANUP_STRBUF struct strbuf members = STRBUF_INIT;

    history_columns_add_members(columns, &members);
    history_query_add(query, "fields", members.text);
}

/* ---- Rows ---- */

static bool
write_out(struct printing *p)
{
    const bool is_written = fwrite(p->out.text, 1, p->out.length, stdout) == p->out.length;

    strbuf_truncate(&p->out, 0);
    return is_written;
}

static bool
add_row(const struct json *row, void *context)
{
    struct printing *p = context;

    switch (p->form) {
    case AS_TABLE:
        history_columns_add_row(&p->columns, row, p->grid);
        break;
    case AS_CSV:
        history_columns_add_csv(&p->columns, row, &p->out);
        break;
    case AS_SWF:
        history_swf_add(p->swf, row, &p->out);
        break;
    case AS_JSON:
        strbuf_add_text(&p->out, p->count > 0 ? ",\n" : "");
        json_print(row, &p->out);
        break;
    }
    p->count++;
    if (p->out.length >= WRITE_SIZE && !write_out(p))
        return false;
    return p->most == 0 || p->count < p->most;
}

static void
begin(struct printing *p, const struct history_options *o)
{
    strbuf_init(&p->out);
    p->most = o->limit;
    p->grid = grid_new(terminal_colour_is_wanted());
    p->swf = history_swf_new();
    grid_set_gap(p->grid, 2);
    if (o->form == NULL)
        grid_set_width(p->grid, terminal_width());
    history_columns_add_to(&p->columns, p->grid);
    if (p->form == AS_CSV && !o->no_headings)
        history_columns_add_csv(&p->columns, NULL, &p->out);
    if (p->form == AS_JSON)
        strbuf_add_text(&p->out, "{\"apiVersion\":\"kiln.hpc/v1\","
                                 "\"kind\":\"HistoryList\",\"items\":[\n");
}

static void
finish(struct printing *p, const struct history_options *o)
{
    if (p->form == AS_JSON)
        strbuf_add_text(&p->out, "]}\n");
    else if (p->form == AS_TABLE && p->count > 0)
        grid_print(p->grid, !o->no_headings, &p->out);
    (void)write_out(p);
}

/* Nothing was found: prints the default limits, and how to widen them. */
static void
print_none(const struct history_options *o)
{
    bool is_own = o->selection.user == NULL && !o->all && o->job == NULL;
    bool is_of_a_day = o->since == NULL && o->job == NULL;

    fprintf(stderr, "No attempts of jobs%s in history%s match%s%s\n", is_own ? " of yours" : "",
            is_of_a_day ? " of the last day" : "", is_of_a_day ? "; --since goes further back" : "",
            is_own ? "; -A shows those of all users" : "");
}

static void
clean_up(struct printing *p)
{
    grid_free(p->grid);
    history_swf_free(p->swf);
    strbuf_fini(&p->out);
}

/* ---- Named jobs ---- */

static int
visit_job(struct kctl *kctl, int64_t id, const struct task_list *tasks, const struct strbuf *query,
          struct printing *p, struct error *err)
{
    CLEANUP_STRBUF struct strbuf of_job = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (p->most > 0 && p->count >= p->most)
        return 0;
    strbuf_add(&of_job, query->text, query->length);
    strbuf_printf(&text, "%" PRId64, id);
    history_query_add(&of_job, "job", text.text);
    if (tasks != NULL) {
        strbuf_truncate(&text, 0);
        task_list_format(tasks, &text);
        history_query_add(&of_job, "task", text.text);
    }
    return history_pages_visit_job(kctl, id, of_job.text, add_row, p, err);
}

/* Of each named job, below its attempts. */
static int
print_steps(struct kctl *kctl, const struct id_ranges *named, bool with_headings,
            struct arena *arena, struct error *err)
{
    struct step_list list = step_list_make(arena);
    int r = 0;

    for (size_t i = 0; i < named->count; i++)
        for (int64_t id = named->items[i].first; r == 0 && id <= named->items[i].last; id++)
            r = step_list_add(&list, kctl, id, NULL, false, err);
    for (size_t i = 0; r == 0 && i < named->n_elements; i++)
        r = step_list_add(&list, kctl, named->elements[i].job, &named->elements[i].tasks, false,
                          err);
    if (r == 0 && json_count(list.items) > 0) {
        (void)fputc('\n', stdout);
        step_table_print(list.items, false, with_headings, arena);
    }
    return r;
}

/* Sends one request, or one for each named job. */
static int
visit(struct kctl *kctl, const struct id_ranges *named, const struct strbuf *query,
      struct printing *p, struct error *err)
{
    int r = 0;

    if (named->total == 0 && named->n_elements == 0)
        return history_pages_visit(kctl, query->text, add_row, p, err);
    for (size_t i = 0; i < named->count; i++)
        for (int64_t id = named->items[i].first; r == 0 && id <= named->items[i].last; id++)
            r = visit_job(kctl, id, NULL, query, p, err);
    for (size_t i = 0; r == 0 && i < named->n_elements; i++)
        r = visit_job(kctl, named->elements[i].job, &named->elements[i].tasks, query, p, err);
    return r;
}

static int
history_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
            struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    struct history_options with_job = *(const struct history_options *)options;
    const struct history_options *o = &with_job;
    struct id_ranges named = {0};
    struct printing p = {0};
    int r = 0;

    if (with_job.job != NULL && n_operands > 0)
        return error_set(err, -EINVAL, "give jobs either with --job or without it, not both");
    if (with_job.job != NULL)
        r = job_operands_read_ids(1, (char **)(uintptr_t)&with_job.job, MOST_JOBS, arena, &named,
                                  err);
    else if (n_operands > 0) {
        r = job_operands_read_ids(n_operands, operands, MOST_JOBS, arena, &named, err);
        with_job.job = operands[0];
    }
    if (r == 0 && o->steps && (with_job.job == NULL || o->form != NULL))
        return error_set(err, -EINVAL,
                         "--steps goes with named jobs and the table; 'kctl steps -o json JOB' has "
                         "them for programs");
    if (r == 0)
        r = parse_form(o->form, &p, err);
    if (r == 0)
        r = make_query(kctl, o, arena, &query, err);
    if (r < 0)
        return r;
    if (p.form == AS_TABLE || p.form == AS_CSV)
        add_fields(&p.columns, &query);
    begin(&p, o);
    r = visit(kctl, &named, &query, &p, err);
    if (r == 0 && p.count == 0)
        r = job_selection_check_exists(kctl, &o->selection, err);
    if (r == 0)
        finish(&p, o);
    if (r == 0 && p.count == 0 && p.form == AS_TABLE)
        print_none(o);
    if (r == 0 && o->steps)
        r = print_steps(kctl, &named, !o->no_headings, arena, err);
    clean_up(&p);
    return r;
}

const struct command history_command = {
    .name = "history",
    .options = &table,
    .options_size = sizeof(struct history_options),
    .run = history_run,
};
