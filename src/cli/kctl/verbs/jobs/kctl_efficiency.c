/* SPDX-License-Identifier: Apache-2.0 */
/* kctl efficiency - how much of its CPUs and memory a job used
 *
 * The data come from history, so the job must have ended. Each attempt is a
 * line, followed by their sum; a job with one attempt is printed as a
 * paragraph, as seff does.
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
#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/sanitize_text.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
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
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "json",
     .type = OPTION_TEXT,
     .offset = offsetof(struct efficiency_options, form)},
};

static const struct option_table table = {
    .name = "kctl efficiency",
    .usage = "[OPTION]... JOB...",
    .summary = "Show how much a job that ended used of the CPUs and the "
               "memory that it held.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl efficiency 1042\n"
            "  kctl efficiency 1042_7 1050-1060",
};

struct efficiency_usage {
    struct arena *arena;
    struct json *attempts; /* with their efficiencies */
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

static bool
add_attempt(const struct json *source, void *context)
{
    struct efficiency_usage *u = context;
    struct json *row = json_dup(u->arena, source);
    const int64_t elapsed_us = history_columns_elapsed_us(row);
    const int64_t milli = json_get_int(row, "cpuMillis", 0);

    if (elapsed_us > 0 && json_get(row, "cpuTimeMicros") != NULL)
        set_percent(u->arena, row, "cpuEfficiencyPercent",
                    part_of(json_get_int(row, "cpuTimeMicros", 0),
                            (double)elapsed_us * (double)milli / 1000));
    if (json_get(row, "peakMemoryBytes") != NULL)
        set_percent(u->arena, row, "memoryEfficiencyPercent",
                    part_of(json_get_int(row, "peakMemoryBytes", 0),
                            (double)json_get_int(row, "memoryBytes", 0)));
    json_append(u->arena, u->attempts, row);
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

static void
describe(const struct json *row, struct arena *arena, struct strbuf *out)
{
    const char *cpu = percent(row, "cpuEfficiencyPercent", arena);
    const char *memory = percent(row, "memoryEfficiencyPercent", arena);
    const char *exit_code = column(row, "exit", arena);

    add_line(out, "Job:",
             arena_printf(arena, "%s (%s)", column(row, "id", arena), column(row, "name", arena)));
    add_line(
        out, "User/account:",
        arena_printf(arena, "%s/%s", column(row, "user", arena), column(row, "account", arena)));
    add_line(out, "State:",
             arena_printf(arena, "%s (exit code %s)", column(row, "state", arena), exit_code));
    add_line(out, "Node:", column(row, "node", arena));
    add_line(out, "CPUs:", column(row, "cpus", arena));
    add_line(out, "Elapsed:", column(row, "elapsed", arena));
    add_line(out, "CPU time:", column(row, "cputime", arena));
    add_line(out, "CPU efficiency:",
             cpu != NULL ? arena_printf(arena, "%s of %s CPUs for %s", cpu,
                                        column(row, "cpus", arena), column(row, "elapsed", arena))
                         : "unknown: it ran for less than a second");
    add_line(out, "Memory used:", column(row, "peak", arena));
    add_line(out, "Memory efficiency:",
             memory != NULL ? arena_printf(arena, "%s of %s", memory, column(row, "memory", arena))
                            : "unknown: it asked for no memory");
    add_line(out, "Read from storage:", column(row, "read", arena));
    add_line(out, "Written to storage:", column(row, "written", arena));
}

static void
print_table(const struct json *attempts, struct arena *arena, struct strbuf *out)
{
    static const struct grid_column columns[] = {
        {"Job", false, 0, 0, false},    {"Attempt", true, 0, 0, false},
        {"State", false, 0, 0, false},  {"CPUs", true, 0, 0, false},
        {"Elapsed", true, 0, 0, false}, {"CPU time", true, 0, 0, false},
        {"CPU%", true, 0, 0, false},    {"Memory", true, 0, 0, false},
        {"Peak", true, 0, 0, false},    {"Mem%", true, 0, 0, false},
        {"Read", true, 0, 1, false},    {"Written", true, 0, 1, false},
    };
    CLEANUP(grid_freep)
    struct grid *grid = grid_new(terminal_colour_is_wanted());

    grid_set_gap(grid, 2);
    grid_set_width(grid, terminal_width());
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        grid_add_styled(grid, &columns[i]);
    for (uint32_t i = 0; i < json_count(attempts); i++) {
        const struct json *row = json_at(attempts, i);
        const char *const cells[] = {
            column(row, "id", arena),
            column(row, "attempt", arena),
            column(row, "state", arena),
            column(row, "cpus", arena),
            column(row, "elapsed", arena),
            column(row, "cputime", arena),
            percent(row, "cpuEfficiencyPercent", arena),
            column(row, "memory", arena),
            column(row, "peak", arena),
            percent(row, "memoryEfficiencyPercent", arena),
            column(row, "read", arena),
            column(row, "written", arena),
        };

        grid_add_row(grid, cells);
    }
    grid_print(grid, true, out);
}

/* ---- The sum ---- */

/* Of the attempts that started. */
struct efficiency_sum {
    int64_t attempts;
    int64_t *tasks; /* their indexes, with repetitions */
    size_t n_tasks;
    int64_t cpu_us; /* used, if known */
    double held_us; /* CPUs times time, of attempts with known use */
    int64_t peak_bytes, most_bytes;
    double asked_bytes; /* of attempts that have a peak */
    double peaks_bytes; /* of attempts that requested memory */
};

static void
sum_attempt(const struct json *row, struct efficiency_sum *sum)
{
    const int64_t elapsed_us = history_columns_elapsed_us(row);
    const int64_t memory = json_get_int(row, "memoryBytes", 0);
    const int64_t peak = json_get_int(row, "peakMemoryBytes", -1);

    if (elapsed_us < 0)
        return;
    sum->attempts++;
    if (json_get(row, "index") != NULL)
        sum->tasks[sum->n_tasks++] = json_get_int(row, "index", 0);
    if (elapsed_us > 0 && json_get(row, "cpuTimeMicros") != NULL) {
        sum->cpu_us += json_get_int(row, "cpuTimeMicros", 0);
        sum->held_us += (double)elapsed_us * (double)json_get_int(row, "cpuMillis", 0) / 1000;
    }
    if (peak > sum->peak_bytes)
        sum->peak_bytes = peak;
    if (peak >= 0 && memory > 0) {
        sum->peaks_bytes += (double)peak;
        sum->asked_bytes += (double)memory;
        if (memory > sum->most_bytes)
            sum->most_bytes = memory;
    }
}

static int
compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t
count_different(int64_t *numbers, size_t n)
{
    int64_t count = 0;

    if (n > 0)
        qsort(numbers, n, sizeof(*numbers), compare_numbers);
    for (size_t i = 0; i < n; i++)
        count += i == 0 || numbers[i] != numbers[i - 1];
    return count;
}

static void
add_counts(struct efficiency_sum *sum, struct strbuf *out)
{
    const int64_t tasks = count_different(sum->tasks, sum->n_tasks);

    strbuf_add_text(out, "Sum: ");
    if (tasks > 0)
        strbuf_printf(out, "%" PRId64 " task%s, ", tasks, tasks > 1 ? "s" : "");
    strbuf_printf(out, "%" PRId64 " attempt%s", sum->attempts, sum->attempts > 1 ? "s" : "");
}

/* Formatted like the column above it. */
static const char *
cpu_time(int64_t us, struct arena *arena)
{
    struct json *row = json_object(arena);

    json_set_int(arena, row, "cpuTimeMicros", us);
    return column(row, "cputime", arena);
}

static void
add_sum(const struct json *attempts, struct arena *arena, struct strbuf *out)
{
    const uint32_t n = json_count(attempts);
    CLEANUP_FREE int64_t *tasks = xnew_array(int64_t, n);
    struct efficiency_sum sum = {.tasks = tasks};
    char peak[HUMAN_TEXT_SIZE], most[HUMAN_TEXT_SIZE];

    for (uint32_t i = 0; i < n; i++)
        sum_attempt(json_at(attempts, i), &sum);
    if (sum.attempts == 0)
        return;
    strbuf_add_char(out, '\n');
    add_counts(&sum, out);
    if (sum.held_us > 0)
        strbuf_printf(out, "; CPU efficiency %.2f%% (%s of %s)",
                      (double)sum.cpu_us * 100 / sum.held_us, cpu_time(sum.cpu_us, arena),
                      cpu_time((int64_t)sum.held_us, arena));
    human_bytes(sum.peak_bytes, peak);
    human_bytes(sum.most_bytes, most);
    if (sum.asked_bytes > 0)
        strbuf_printf(out, "; memory efficiency %.2f%% (at most %s, asked for %s)",
                      sum.peaks_bytes * 100 / sum.asked_bytes, peak, most);
    else if (sum.peak_bytes > 0)
        strbuf_printf(out, "; memory at most %s, none was asked for", peak);
    strbuf_add_char(out, '\n');
}

/* Adds the attempts of one job, or of tasks of it. -ENOENT: it has none. */
static int
visit_job(struct kctl *kctl, int64_t id, const struct task_list *tasks, struct efficiency_usage *u,
          struct error *err)
{
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const uint32_t before = json_count(u->attempts);
    int r;

    history_query_add(&query, "job", arena_printf(u->arena, "%" PRId64, id));
    if (tasks != NULL) {
        task_list_format(tasks, &text);
        history_query_add(&query, "task", text.text);
    }
    r = history_pages_visit(kctl, query.text, add_attempt, u, err);
    if (r == 0 && json_count(u->attempts) == before)
        r = error_set(err, -ENOENT,
                      "job %" PRId64 "%s%s has not ended, or you may not see its "
                      "history ('kctl jobs' shows running jobs)",
                      id, tasks != NULL ? "_" : "", text.length > 0 ? text.text : "");
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
        const uint32_t before = json_count(u->attempts);

        for (int64_t id = range->first; id <= range->last; id++) {
            r = visit_job(kctl, id, NULL, u, err);
            if (r < 0 && (r != -ENOENT || range->first == range->last))
                return r;
        }
        if (json_count(u->attempts) == before)
            return error_set(err, -ENOENT, "no job from %" PRId64 " to %" PRId64 " has ended",
                             range->first, range->last);
    }
    r = 0;
    for (size_t i = 0; r == 0 && i < named->n_elements; i++)
        r = visit_job(kctl, named->elements[i].job, &named->elements[i].tasks, u, err);
    return r;
}

static int
efficiency_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
               struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct efficiency_options *o = options;
    struct efficiency_usage u = {.arena = arena, .attempts = json_array(arena)};
    struct id_ranges named = {0};
    int r;

    if (n_operands == 0)
        return error_set(err, -EINVAL, "which job? (kctl efficiency 1042)");
    if (o->form != NULL && strcmp(o->form, "json") != 0)
        return error_set(err, -EINVAL, "-o: '%s' is not an output format; use json", o->form);
    r = job_operands_read_ids(n_operands, operands, MOST_JOBS, arena, &named, err);
    if (r == 0)
        r = visit_jobs(kctl, &named, &u, err);
    if (r < 0)
        return r;
    if (o->form != NULL) {
        json_print_indented(u.attempts, &out);
        strbuf_add_char(&out, '\n');
    } else if (json_count(u.attempts) == 1) {
        describe(json_at(u.attempts, 0), arena, &out);
    } else {
        print_table(u.attempts, arena, &out);
        add_sum(u.attempts, arena, &out);
    }
    fwrite(out.text, 1, out.length, stdout);
    return 0;
}

const struct command efficiency_command = {
    .name = "efficiency",
    .options = &table,
    .options_size = sizeof(struct efficiency_options),
    .run = efficiency_run,
};
