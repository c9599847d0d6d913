/* SPDX-License-Identifier: Apache-2.0 */
/* kctl jobs - lists jobs and their states, the query that users make most often
 *
 * One request: the server selects by user and time with an index, and makes the
 * rows including the reasons of the pods. With --watch the request is repeated,
 * less often the longer an answer takes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/input/job_selection.h"
#include "cli/kctl/output/job_list.h"
#include "cli/kctl/output/listing.h"
#include "cli/kctl/output/task_table.h"
#include "cli/kctl/verbs/jobs/cron_jobs.h"
#include "cli/kctl/verbs/jobs/job_query.h"
#include "cli/print/local_time.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "cli/values/time_expression.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)
#define RECENT_US (3600 * SECOND_US)
#define MOST_JOBS 1000 /* named jobs: one request each */
#define REDRAW_US (2 * SECOND_US)
#define PATIENCE  10 /* pause of a watch, in durations of its last request */

struct jobs_options {
    struct common_options common;
    struct job_selection selection;
    const char *form;
    const char *label_selector;
    const char *since;
    int64_t limit;
    bool all;
    bool all_users;
    bool cron;
    bool no_headings;
    bool watches;
};

#define PLACE(member) .offset = offsetof(struct jobs_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    JOB_SELECTION_OPTIONS(struct jobs_options, selection),
    {.name = "all",
     .letter = 'a',
     .help = "all jobs that ended and are still known, not only the last ten",
     .type = OPTION_FLAG,
     PLACE(all)},
    {.name = "all-users",
     .letter = 'A',
     .help = "jobs of all users; of those that ended in the last hour, the last ten",
     .type = OPTION_FLAG,
     PLACE(all_users)},
    {.name = "limit",
     .argument = "N",
     .help = "only the last N rows",
     .type = OPTION_INT,
     .min = 1,
     .max = INT32_MAX,
     PLACE(limit)},
    {.name = "cron",
     .help = "recurring jobs (CronJobs), and when they run next",
     .type = OPTION_FLAG,
     PLACE(cron)},
    NO_HEADERS_OPTION(struct jobs_options),
    {.name = "node",
     .argument = "NODES",
     .help = "only jobs that run or ran on these nodes: n1, n[1-4],gpu1",
     .type = OPTION_TEXT,
     PLACE(selection.node)},
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "wide, json, yaml, name, csv, or columns: id,name,state (or "
             "csv=id,name,state)",
     .type = OPTION_TEXT,
     PLACE(form)},
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "only jobs with these labels",
     .type = OPTION_TEXT,
     PLACE(label_selector)},
    {.name = "since",
     .argument = "TIME",
     .help = "all jobs that ended since this time: 3d, yesterday, 08:30, "
             "2026-01-31",
     .type = OPTION_TEXT,
     PLACE(since)},
    {.name = "watch",
     .letter = 'w',
     .help = "show the list again whenever it changes, until interrupted",
     .type = OPTION_FLAG,
     PLACE(watches)},
};

static const struct option_table table = {
    .name = "kctl jobs",
    .usage = "[OPTION]...\n[OPTION]... JOB...",
    .summary = "Show your jobs in all accounts: those that wait or run, and "
               "the last ten that ended; oldest first.",
    OPTION_ROWS(rows),
    .more = "Columns: id, name, user, account, partition, state, code, "
            "timelimit, time, limit, cpus, where, node, reason, submitted, "
            "started, ended, start, exit, priority, attempts, age, object\n"
            "\n"
            "Examples:\n"
            "  kctl jobs\n"
            "  kctl jobs 1042 1050-1060\n"
            "  kctl jobs 1042_7\n"
            "  kctl jobs --state Failed,TimedOut --since yesterday\n"
            "  kctl jobs --all-users --partition gpu --watch\n"
            "  kctl jobs -o id,state,ended --name 'sweep*'",
};

struct asking {
    const struct jobs_options *o;
    struct job_query q;
};

/* Makes the query, with defaults for options that were not given. */
static int
prepare(struct kctl *kctl, const struct jobs_options *o, struct arena *arena, struct asking *a,
        struct error *err)
{
    const int64_t now_us = clock_real_us(&clock_system);
    int r;

    a->q.selection = o->selection;
    r = job_selection_check(&a->q.selection, err);
    if (r == 0 && o->all_users && o->selection.user != NULL)
        r = error_set(err, -EINVAL, "--all-users does not go with --user");
    if (r == 0 && o->all && o->since != NULL)
        r = error_set(err, -EINVAL, "--all does not go with --since; give one of them");
    if (r == 0 && o->selection.account != NULL && kctl->namespace != NULL)
        r = error_set(err, -EINVAL, "-n and --account are the same; give one of them");
    if (r < 0)
        return r;
    if (kctl->namespace != NULL)
        a->q.selection.account = kctl->namespace;
    if (!o->all_users && o->selection.user == NULL) {
        a->q.is_mine = true;
        r = job_selection_find_own_user(kctl, arena, &a->q.selection.user, err);
    }
    if (r == 0 && o->since != NULL) {
        r = time_expression_parse(o->since, TIME_BACK, now_us, &a->q.ended_since_us, err);
        if (r < 0)
            error_wrap(err, r, "--since");
    } else if (!o->all && (a->q.selection.states & JOB_STATES_ENDED) == 0) {
        a->q.is_of_last = true;
        /* Only jobs of one user are found by their ends. */
        if (a->q.selection.user == NULL)
            a->q.ended_since_us = now_us - RECENT_US;
    }
    return r;
}

static void
print_nothing_found(const struct asking *a)
{
    char since[LOCAL_TIME_SIZE] = "";

    if (a->q.ended_since_us != 0 && !job_query_is_of_active(&a->q))
        local_time_format_brief(a->q.ended_since_us, clock_real_us(&clock_system), since);
    if (!job_selection_is_empty(&a->o->selection) || a->o->label_selector != NULL)
        fprintf(stderr, "No jobs match%s%s\n",
                since[0] != '\0' ? " among those that are active or ended "
                                   "since "
                                 : "",
                since);
    else if (since[0] != '\0')
        fprintf(stderr, "No jobs%s that are active or ended since %s\n",
                a->q.is_mine ? " of yours" : "", since);
    else
        fprintf(stderr, "No jobs%s; 'kctl history' shows those that were deleted%s\n",
                a->q.is_mine ? " of yours" : "",
                a->q.is_mine ? ", and --all-users those of all users" : "");
}

static struct job_list_style
style_of(const struct asking *a, const struct job_list_style *parsed)
{
    struct job_list_style style = *parsed;

    style.no_headings = a->o->no_headings;
    style.is_of_one = a->q.selection.user != NULL;
    style.has_colours = terminal_colour_is_wanted();
    style.width = terminal_width();
    return style;
}

static int
show_once(struct kctl *kctl, const struct asking *a, const struct job_list_style *parsed,
          struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(job_list_freep) struct job_list *list = job_list_new(arena);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct job_list_style style = style_of(a, parsed);
    const bool is_tree = style.form == JOB_LIST_JSON || style.form == JOB_LIST_YAML;
    int r = job_query_fetch(kctl, &a->q, is_tree, arena, list, err);

    if (r == 0 && job_list_count(list) == 0)
        r = job_selection_check_exists(kctl, &a->o->selection, err);
    if (r < 0)
        return r;
    if (job_list_count(list) == 0 && !is_tree) {
        print_nothing_found(a);
        return 0;
    }
    job_list_print(list, &style, &out);
    fwrite(out.text, 1, out.length, stdout);
    return 0;
}

/* ---- --watch ---- */

static bool
means_away(int r)
{
    return r == -ECONNREFUSED || r == -ECONNRESET || r == -ENOENT || r == -EHOSTUNREACH
           || r == -ETIMEDOUT || r == -EPIPE || r == -EAGAIN || r == -EIO;
}

static size_t
count_lines(const char *text)
{
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

/* Draws over the previous output. Lines that do not fit are left out at the
 * top, because the newest jobs are at the bottom.
 */
static void
redraw(const char *text, const char *notice, size_t *drawn)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const size_t height = terminal_height();
    const size_t room = height > 3 ? height - 2 : 1;
    size_t lines = count_lines(text);
    const char *heading = text;
    size_t n = 0;

    if (*drawn > 0)
        strbuf_printf(&out, "\033[%zuF", *drawn);
    if (lines > room) {
        const size_t length = strcspn(text, "\n") + 1;

        strbuf_add(&out, heading, length - 1);
        strbuf_add_text(&out, "\033[K\n");
        n++;
        for (size_t skipped = lines - room; skipped > 0; skipped--)
            text += strcspn(text, "\n") + 1;
        text += strcspn(text, "\n") + 1;
    }
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");

        strbuf_add(&out, text, length);
        strbuf_add_text(&out, "\033[K\n");
        text += length + 1;
        n++;
    }
    if (notice[0] != '\0') {
        strbuf_printf(&out, "%s\033[K\n", notice);
        n++;
    }
    strbuf_add_text(&out, "\033[J");
    fwrite(out.text, 1, out.length, stdout);
    *drawn = n;
}

/* Prints rows of jobs that changed; the heading only once. */
static void
print_changes(const struct job_list *list, struct job_list_style *style, struct map *known,
              struct arena *texts)
{
    for (size_t i = 0; i < job_list_count(list); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const struct job_row *row = job_list_row(list, i);
        const char *key = arena_printf(texts, "%s/%s/%lld_%lld", row->namespace, row->name,
                                       (long long)row->id, (long long)row->first_task);
        const char *now = job_list_signature(list, i, texts);
        const char *before = map_find(known, key);

        if (before != NULL && strcmp(before, now) == 0)
            continue;
        map_put(known, key, (void *)(uintptr_t)now);
        job_list_print_row(list, i, style, &out);
        fwrite(out.text, 1, out.length, stdout);
    }
}

static void
pause_for(int64_t us)
{
    const struct timespec length = {
        .tv_sec = (time_t)(us / SECOND_US),
        .tv_nsec = (long)(us % SECOND_US * 1000),
    };

    nanosleep(&length, NULL);
}

struct watching {
    struct map *known;   /* when output is no terminal */
    struct arena *texts; /* memory of `known` */
    struct strbuf shown; /* the table that was drawn last */
    size_t drawn;        /* lines */
    bool is_away;        /* the controller does not answer */
    bool has_begun;
};

/* Fetches the list once and shows the changes on the screen. */
static int
refresh(struct kctl *kctl, struct asking *a, const struct job_list_style *parsed,
        struct watching *w, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(job_list_freep) struct job_list *list = job_list_new(arena);
    struct job_list_style style = style_of(a, parsed);
    int r = job_query_fetch(kctl, &a->q, false, arena, list, err);

    if (r < 0 && !(w->has_begun && means_away(r)))
        return r;
    if (r < 0 && !w->is_away && !terminal_is_output())
        fprintf(stderr, "kctl: the controller does not answer; waiting until it "
                        "does\n");
    w->is_away = r < 0;
    if (!terminal_is_output()) {
        if (r == 0 && !w->has_begun) {
            CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

            /* The first rows determine the widths. */
            job_list_print(list, &style, &out);
            for (size_t i = 0; i < job_list_count(list); i++) {
                const struct job_row *row = job_list_row(list, i);

                map_put(w->known,
                        arena_printf(w->texts, "%s/%s/%lld_%lld", row->namespace, row->name,
                                     (long long)row->id, (long long)row->first_task),
                        (void *)(uintptr_t)job_list_signature(list, i, w->texts));
            }
            fwrite(out.text, 1, out.length, stdout);
        } else if (r == 0)
            print_changes(list, &style, w->known, w->texts);
    } else {
        if (r == 0) {
            strbuf_truncate(&w->shown, 0);
            job_list_print(list, &style, &w->shown);
        }
        redraw(w->shown.length > 0 ? w->shown.text : "",
               w->is_away ? "The controller does not answer; waiting until it "
                            "does."
                          : "",
               &w->drawn);
    }
    w->has_begun = true;
    kctl_stop_waiting(kctl);
    return fflush(stdout) == 0 ? 0 : -errno;
}

static int
watch(struct kctl *kctl, struct asking *a, const struct job_list_style *style, struct error *err)
{
    struct watching w = {.known = map_new(), .texts = arena_new(0)};
    const int64_t window_us = a->q.ended_since_us != 0 && a->q.is_of_last ? RECENT_US : 0;
    int r = 0;

    strbuf_init(&w.shown);
    while (r == 0) {
        const int64_t began_us = clock_monotonic_us(&clock_system);
        int64_t took_us;

        if (window_us != 0)
            a->q.ended_since_us = clock_real_us(&clock_system) - window_us;
        r = refresh(kctl, a, style, &w, err);
        took_us = clock_monotonic_us(&clock_system) - began_us;
        if (r == 0)
            pause_for(took_us * PATIENCE > REDRAW_US && !w.is_away ? took_us * PATIENCE
                                                                   : REDRAW_US);
    }
    strbuf_fini(&w.shown);
    map_free(w.known);
    arena_free(w.texts);
    return r;
}

static bool
has_selection(const struct jobs_options *o)
{
    return !job_selection_is_empty(&o->selection) || o->label_selector != NULL || o->since != NULL
           || o->all || o->all_users;
}

static int
show(struct kctl *kctl, struct asking *a, const struct job_list_style *style, struct error *err)
{
    return a->o->watches ? watch(kctl, a, style, err) : show_once(kctl, a, style, err);
}

/* Shows named jobs, and tasks in a table of their own: tasks that have ended
 * have no row among jobs.
 */
static int
show_named(struct kctl *kctl, struct asking *a, int n_operands, char **operands,
           const struct job_list_style *style, struct arena *arena, struct error *err)
{
    CLEANUP_STRBUF struct strbuf tasks = STRBUF_INIT;
    struct id_ranges ids = {0};
    char *operand;
    int r = job_operands_read_ids(n_operands, operands, MOST_JOBS, arena, &ids, err);

    if (r < 0)
        return r;
    if (has_selection(a->o))
        return error_set(err, -EINVAL,
                         "'%s': give either jobs or options that select jobs, "
                         "not both",
                         operands[0]);
    if (ids.n_elements > 0 && a->o->watches)
        return error_set(err, -EINVAL, "--watch does not go with single tasks of an array");
    a->q.ids = &ids;
    if (ids.count > 0)
        r = show(kctl, a, style, err);
    if (r < 0 || ids.n_elements == 0)
        return r;
    ids.count = 0;
    id_ranges_format(&ids, &tasks);
    operand = tasks.text;
    return task_table_show(kctl, 1, &operand, a->o->form, !a->o->no_headings, err);
}

static int
show_cron_jobs(struct kctl *kctl, const struct jobs_options *o, int n_operands, struct arena *arena,
               struct error *err)
{
    struct job_selection selection = o->selection;
    struct cron_jobs_list list = {.user = selection.user, .no_headings = o->no_headings};
    int r = 0;

    list.namespace = selection.account != NULL ? selection.account : kctl->namespace;
    selection.user = selection.account = NULL;
    if (o->form != NULL)
        return error_set(err, -EINVAL, "--cron has no -o; use 'kctl get cronjobs -o %s'", o->form);
    if (n_operands > 0 || !job_selection_is_empty(&selection) || o->label_selector != NULL
        || o->since != NULL || o->limit > 0 || o->all || o->watches)
        return error_set(err, -EINVAL,
                         "--cron goes only with --user, --all-users, --account and "
                         "--no-headings");
    if (o->all_users && list.user != NULL)
        return error_set(err, -EINVAL, "--all-users does not go with --user");
    if (!o->all_users && list.user == NULL)
        r = job_selection_find_own_user(kctl, arena, &list.user, err);
    return r < 0 ? r : cron_jobs_print(kctl, &list, err);
}

static int
jobs_run(struct kctl *kctl, const void *options, int n_operands, char **operands, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct jobs_options *o = options;
    struct job_list_style style = {0};
    struct asking a = {
        .o = o,
        .q = {.label_selector = o->label_selector, .limit = (size_t)o->limit},
    };
    int r = job_list_style_parse(o->form, &style, err);

    if (r == 0 && o->cron)
        return show_cron_jobs(kctl, o, n_operands, arena, err);
    if (r == 0 && o->watches && style.form != JOB_LIST_TABLE)
        r = error_set(err, -EINVAL, "--watch supports only the table output");
    if (r == 0 && n_operands > 0)
        return show_named(kctl, &a, n_operands, operands, &style, arena, err);
    if (r == 0)
        r = prepare(kctl, o, arena, &a, err);
    return r < 0 ? r : show(kctl, &a, &style, err);
}

const struct command jobs_command = {
    .name = "jobs",
    .options = &table,
    .options_size = sizeof(struct jobs_options),
    .run = jobs_run,
};
