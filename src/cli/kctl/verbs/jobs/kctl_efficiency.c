/* SPDX-License-Identifier: Apache-2.0 */
/* kctl efficiency - how much of its CPUs and memory a job used
 *
 * The data come from history, so the job must have ended. Each attempt is a
 * line, followed by their sum; a job with one attempt is printed as a
 * paragraph, as seff does. An array is summarized, with the tasks that wasted
 * most.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/history_pages.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/output/history_columns.h"
#include "cli/kctl/verbs/jobs/efficiency_sum.h"
#include "cli/print/grid.h"
#include "cli/print/sanitize_text.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MOST_JOBS 1000 /* one request each */

struct efficiency_options {
    struct common_options common;
    const char *form;
    bool all_tasks;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "json",
     .type = OPTION_TEXT,
     .offset = offsetof(struct efficiency_options, form)},
    {.name = "tasks",
     .help = "list all tasks of an array, not only those that wasted most",
     .type = OPTION_FLAG,
     .offset = offsetof(struct efficiency_options, all_tasks)},
};

static const struct option_table table = {
    .name = "kctl efficiency",
    .usage = "[OPTION]... JOB...",
    .summary = "Show how much a job that ended used of the CPUs and the "
               "memory that it held.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl efficiency 1042\n"
            "  kctl efficiency --tasks 1042\n"
            "  kctl efficiency 1042_7 1050-1060",
};

struct efficiency_usage {
    struct arena *arena;
    struct json *attempts;        /* with their efficiencies */
    bool summarizes;              /* arrays that are named as a whole */
    struct efficiency_sum *array; /* of the present job; NULL: list its rows */
    struct strbuf arrays;         /* the text about arrays */
    size_t n_found;               /* rows */
};

/* In hundredths of a percent; -1: unknown. */
static int64_t
part_of(int64_t used, double held)
{
    return held > 0 ? (int64_t)((double)used * 10000 / held + 0.5) : -1;
}

static void
set_percent(struct arena *arena, struct json *row, const char *name, int64_t hundredths)
{
    if (hundredths >= 0)
        json_set(arena, row, name,
                 json_number(arena, arena_printf(arena, "%" PRId64 ".%02" PRId64, hundredths / 100,
                                                 hundredths % 100)));
}

static struct json *
add_percents(struct arena *arena, const struct json *source)
{
    struct json *row = json_dup(arena, source);
    const int64_t elapsed_us = history_columns_elapsed_us(row);
    const int64_t milli = json_get_int(row, "cpuMillis", 0);

    if (elapsed_us > 0 && json_get(row, "cpuTimeMicros") != NULL)
        set_percent(arena, row, "cpuEfficiencyPercent",
                    part_of(json_get_int(row, "cpuTimeMicros", 0),
                            (double)elapsed_us * (double)milli / 1000));
    if (history_columns_memory_bytes(row) >= 0)
        set_percent(arena, row, "memoryEfficiencyPercent",
                    part_of(history_columns_memory_bytes(row),
                            (double)json_get_int(row, "memoryBytes", 0)));
    if (history_columns_gpu_percent(row) >= 0) {
        set_percent(arena, row, "gpuEfficiencyPercent",
                    part_of(json_get_int(row, "gpuMillis", 0),
                            (double)json_get_int(row, "gpus", 0) * 1000));
        set_percent(arena, row, "gpuMemoryEfficiencyPercent",
                    part_of(json_get_int(row, "gpuPeakMemoryBytes", 0),
                            (double)json_get_int(row, "gpuMemoryBytes", 0)));
    }
    return row;
}

static bool
add_attempt(const struct json *source, void *context)
{
    struct efficiency_usage *u = context;

    u->n_found++;
    if (u->array != NULL
        && (json_get(source, "index") != NULL || json_get(source, "tasks") != NULL))
        efficiency_sum_add(u->array, source);
    else
        json_append(u->arena, u->attempts, add_percents(u->arena, source));
    return true;
}

static void
add_line(struct strbuf *out, const char *name, const char *text)
{
    CLEANUP_FREE char *clean = sanitize_text_dup(text);

    strbuf_printf(out, "%-20s%s\n", name, clean);
}

/* The text of a column of kctl history. */
static const char *
column(const struct json *row, const char *name, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    history_columns_text(name, row, &text);
    return text.length > 0 ? arena_strdup(arena, text.text) : "unknown";
}

static const char *
percent(const struct json *row, const char *name, struct arena *arena)
{
    const struct json *value = json_get(row, name);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (value == NULL)
        return NULL;
    json_print(value, &text);
    return arena_printf(arena, "%s%%", text.text);
}

/* "nvidia.com/gpu=2" in the devices of history. */
static bool
had_gpus(const struct json *row)
{
    const char *devices = json_get_text(row, "devices");

    return devices != NULL && strcasestr(devices, "gpu") != NULL;
}

/* Nothing for a job without GPUs. */
static void
describe_gpus(const struct json *row, struct arena *arena, struct strbuf *out)
{
    const char *busy = percent(row, "gpuEfficiencyPercent", arena);
    const int64_t gpus = json_get_int(row, "gpus", 0);

    if (busy == NULL) {
        if (had_gpus(row))
            add_line(out,
                     "GPU efficiency:", "unknown: nothing measured it, or the job was too short");
        return;
    }
    add_line(out, "GPU efficiency:",
             arena_printf(arena, "%s of %" PRId64 " GPU%s", busy, gpus, gpus == 1 ? "" : "s"));
    add_line(out, "GPU memory used:",
             arena_printf(arena, "at most %s of %s", column(row, "gpupeak", arena),
                          column(row, "gpumemory", arena)));
}

static void
describe(const struct json *row, struct arena *arena, struct strbuf *out)
{
    const char *cpu = percent(row, "cpuEfficiencyPercent", arena);
    const char *memory = percent(row, "memoryEfficiencyPercent", arena);
    const char *state = column(row, "state", arena);
    const char *exit_code = column(row, "exit", arena);
    const bool has_started = json_get(row, "startTime") != NULL;

    add_line(out, "Job:",
             arena_printf(arena, "%s (%s)", column(row, "id", arena), column(row, "name", arena)));
    add_line(
        out, "User/account:",
        arena_printf(arena, "%s/%s", column(row, "user", arena), column(row, "account", arena)));
    add_line(out, "State:",
             has_started ? arena_printf(arena, "%s (exit code %s)", state, exit_code) : state);
    /* It held nothing of what it asked for: this is the whole report. */
    if (!has_started) {
        add_line(out, "CPUs:",
                 arena_printf(arena, "none of the %g it asked for: it never started",
                              (double)json_get_int(row, "cpuMillis", 0) / 1000));
        return;
    }
    add_line(out, "Node:", column(row, "node", arena));
    add_line(out, "CPUs:", column(row, "cpus", arena));
    add_line(out, "Elapsed:", column(row, "elapsed", arena));
    add_line(out, "CPU time:", column(row, "cputime", arena));
    add_line(out, "CPU efficiency:",
             cpu != NULL ? arena_printf(arena, "%s of %s CPUs for %s", cpu,
                                        column(row, "cpus", arena), column(row, "elapsed", arena))
                         : "unknown: it ran for less than a second");
    add_line(out, "Memory used:",
             json_get(row, "rssBytes") == NULL
                 ? column(row, "peak", arena)
                 : arena_printf(arena, "%s, of which processes %s; page cache at the end %s",
                                column(row, "peak", arena), column(row, "rss", arena),
                                column(row, "cache", arena)));
    add_line(out, "Memory efficiency:",
             memory != NULL ? arena_printf(arena, "%s of %s", memory, column(row, "memory", arena))
                            : "unknown: it asked for no memory");
    describe_gpus(row, arena, out);
    add_line(out, "Read from storage:", column(row, "read", arena));
    add_line(out, "Written to storage:", column(row, "written", arena));
}

#define GPU_COLUMN 11

/* The column of GPUs is shown if one of the rows has GPUs. */
static void
print_table(const struct json *const *rows_shown, size_t n, struct arena *arena, struct strbuf *out)
{
    static const struct grid_column columns[] = {
        {"Job", false, 0, 0, false},    {"Attempt", true, 0, 0, false},
        {"State", false, 0, 0, false},  {"CPUs", true, 0, 0, false},
        {"Elapsed", true, 0, 0, false}, {"CPU time", true, 0, 0, false},
        {"CPU%", true, 0, 0, false},    {"Memory", true, 0, 0, false},
        {"Peak", true, 0, 0, false},    {"Cache", true, 0, 2, false},
        {"Mem%", true, 0, 0, false},    [GPU_COLUMN] = {"GPU%", true, 0, 0, false},
        {"Read", true, 0, 1, false},    {"Written", true, 0, 1, false},
    };
    CLEANUP(grid_freep)
    struct grid *grid = grid_new(terminal_colour_is_wanted());
    bool has_gpus = false;

    for (size_t i = 0; i < n; i++)
        has_gpus |= json_get(rows_shown[i], "gpuEfficiencyPercent") != NULL;
    grid_set_gap(grid, 2);
    grid_set_width(grid, terminal_width());
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        if (has_gpus || i != GPU_COLUMN)
            grid_add_styled(grid, &columns[i]);
    for (size_t i = 0; i < n; i++) {
        const struct json *row = rows_shown[i];
        const char *cells[ARRAY_SIZE(columns)] = {
            column(row, "id", arena),
            column(row, "attempt", arena),
            column(row, "state", arena),
            column(row, "cpus", arena),
            column(row, "elapsed", arena),
            column(row, "cputime", arena),
            percent(row, "cpuEfficiencyPercent", arena),
            column(row, "memory", arena),
            column(row, "peak", arena),
            json_get(row, "cacheBytes") != NULL ? column(row, "cache", arena) : "",
            percent(row, "memoryEfficiencyPercent", arena),
            [GPU_COLUMN] = percent(row, "gpuEfficiencyPercent", arena),
            column(row, "read", arena),
            column(row, "written", arena),
        };

        if (!has_gpus)
            memmove(cells + GPU_COLUMN, cells + GPU_COLUMN + 1,
                    (ARRAY_SIZE(columns) - GPU_COLUMN - 1) * sizeof(*cells));
        grid_add_row(grid, cells);
    }
    grid_print(grid, true, out);
}

/* ---- Arrays ---- */

static int
compare_waste(const void *a, const void *b)
{
    const double x = efficiency_sum_waste(*(const struct json *const *)a);
    const double y = efficiency_sum_waste(*(const struct json *const *)b);

    return (x < y) - (x > y);
}

static bool
are_tasks_of_one(const struct json *a, const struct json *b)
{
    return json_get(a, "index") != NULL && json_get(b, "index") != NULL
           && json_get_int(a, "job", 0) == json_get_int(b, "job", 0);
}

/* Sorts the tasks of each array, worst first; other rows keep their places. */
static void
sort_tasks(const struct json **rows_shown, size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && are_tasks_of_one(rows_shown[i], rows_shown[end]); end++)
            ;
        qsort(rows_shown + i, end - i, sizeof(*rows_shown), compare_waste);
    }
}

/* The summary of an array, or of a job whose pods were placed together, and the
 * parts that are worth a look.
 */
static void
print_array(struct efficiency_sum *array, bool is_together, struct arena *arena, struct strbuf *out)
{
    const struct json *worst[EFFICIENCY_WORST];
    const size_t n = efficiency_sum_worst(array, worst);

    if (out->length > 0)
        strbuf_add_char(out, '\n');
    efficiency_sum_describe(array, is_together, out);
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        worst[i] = add_percents(arena, worst[i]);
    strbuf_printf(out, "\n%s that left most CPU time unused:\n", is_together ? "Pods" : "Tasks");
    print_table(worst, n, arena, out);
    if (efficiency_sum_attempts(array) > (int64_t)n)
        strbuf_printf(out, "%" PRId64 " more; --tasks lists all\n",
                      efficiency_sum_attempts(array) - (int64_t)n);
}

/* History does not say it, so a job that is deleted counts as an array. */
static int
find_together(struct kctl *kctl, int64_t id, struct arena *arena, bool *ret_is, struct error *err)
{
    const struct target_object everywhere = {.kind = &job_kind};
    struct json *jobs = NULL;
    int r = kctl_list(kctl, &everywhere, NULL, arena_printf(arena, "status.id=%" PRId64, id), arena,
                      &jobs, err);

    *ret_is =
        r == 0 && json_get_path(json_at(jobs, 0), "spec.scheduling.schedulingPolicy.gang") != NULL;
    return r;
}

static int
end_array(struct kctl *kctl, int64_t id, struct efficiency_usage *u, struct error *err)
{
    const struct json *only = efficiency_sum_only(u->array);
    bool is_together;
    int r;

    if (only != NULL) {
        json_append(u->arena, u->attempts, add_percents(u->arena, only));
        return 0;
    }
    if (efficiency_sum_count(u->array) == 0)
        return 0;
    r = find_together(kctl, id, u->arena, &is_together, err);
    if (r == 0)
        print_array(u->array, is_together, u->arena, &u->arrays);
    return r;
}

/* Adds the attempts of one job, or of tasks of it. -ENOENT: it has none. */
static int
visit_job(struct kctl *kctl, int64_t id, const struct task_list *tasks, struct efficiency_usage *u,
          struct error *err)
{
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP(efficiency_sum_freep)
    struct efficiency_sum *array = u->summarizes && tasks == NULL ? efficiency_sum_new() : NULL;
    const size_t before = u->n_found;
    int r;

    history_query_add(&query, "job", arena_printf(u->arena, "%" PRId64, id));
    if (tasks != NULL) {
        task_list_format(tasks, &text);
        history_query_add(&query, "task", text.text);
    }
    u->array = array;
    r = history_pages_visit_job(kctl, id, query.text, add_attempt, u, err);
    if (r == 0 && u->n_found == before)
        r = error_set(err, -ENOENT,
                      "job %" PRId64 "%s%s has no attempt that has ended, or you may "
                      "not see its history ('kctl jobs' shows its state)",
                      id, tasks != NULL ? "_" : "", text.length > 0 ? text.text : "");
    if (r == 0 && array != NULL)
        r = end_array(kctl, id, u, err);
    u->array = NULL;
    return r;
}

/* Jobs of a range that have no history are passed over, if any has one. */
static int
visit_jobs(struct kctl *kctl, const struct id_ranges *named, struct efficiency_usage *u,
           struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < named->count; i++) {
        const struct id_range *range = &named->items[i];
        const size_t before = u->n_found;

        for (int64_t id = range->first; id <= range->last; id++) {
            r = visit_job(kctl, id, NULL, u, err);
            if (r < 0 && (r != -ENOENT || range->first == range->last))
                return r;
        }
        if (u->n_found == before)
            return error_set(err, -ENOENT, "no job from %" PRId64 " to %" PRId64 " has ended",
                             range->first, range->last);
    }
    r = 0;
    for (size_t i = 0; r == 0 && i < named->n_elements; i++)
        r = visit_job(kctl, named->elements[i].job, &named->elements[i].tasks, u, err);
    return r;
}

/* Jobs and tasks that are listed: one as a paragraph, several as a table. */
static void
print_listed(const struct json *attempts, struct arena *arena, struct strbuf *out)
{
    CLEANUP(efficiency_sum_freep) struct efficiency_sum *sum = efficiency_sum_new();
    const uint32_t n = json_count(attempts);
    const struct json **listed = arena_new_array(arena, const struct json *, n + 1);

    for (uint32_t i = 0; i < n; i++) {
        listed[i] = json_at(attempts, i);
        efficiency_sum_add(sum, listed[i]);
    }
    if (n == 1) {
        describe(listed[0], arena, out);
        return;
    }
    sort_tasks(listed, n);
    print_table(listed, n, arena, out);
    efficiency_sum_add_line(sum, out);
}

static int
efficiency_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
               struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct efficiency_options *o = options;
    struct efficiency_usage u = {
        .arena = arena,
        .attempts = json_array(arena),
        .summarizes = o->form == NULL && !o->all_tasks,
    };
    struct id_ranges named = {0};
    int r;

    if (n_operands == 0)
        return error_set(err, -EINVAL, "which job? (kctl efficiency 1042)");
    if (o->form != NULL && strcmp(o->form, "json") != 0)
        return error_set(err, -EINVAL, "-o: '%s' is not an output format; use json", o->form);
    strbuf_init(&u.arrays);
    r = job_operands_read_ids(n_operands, operands, MOST_JOBS, arena, &named, err);
    if (r == 0)
        r = visit_jobs(kctl, &named, &u, err);
    if (r == 0 && o->form != NULL) {
        json_print_indented(u.attempts, &out);
        strbuf_add_char(&out, '\n');
    } else if (r == 0) {
        if (json_count(u.attempts) > 0)
            print_listed(u.attempts, arena, &out);
        if (json_count(u.attempts) > 0 && u.arrays.length > 0)
            strbuf_add_char(&out, '\n');
        strbuf_add(&out, u.arrays.text, u.arrays.length);
    }
    fwrite(out.text, 1, out.length, stdout);
    strbuf_fini(&u.arrays);
    return r;
}

const struct command efficiency_command = {
    .name = "efficiency",
    .options = &table,
    .options_size = sizeof(struct efficiency_options),
    .run = efficiency_run,
};
