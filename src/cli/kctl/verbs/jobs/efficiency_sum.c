/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/jobs/efficiency_sum.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/output/history_columns.h"
#include "cli/print/human.h"
#include "cli/print/sanitize_text.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MOST_STATES 16

struct worst_row {
    double waste_us;
    struct arena *arena; /* of the row */
    const struct json *row;
};

/* Least and most of a value; most < least: unknown. */
struct value_range {
    double least, most;
};

struct efficiency_sum {
    struct arena *arena;
    const struct json *first; /* the first row */
    int64_t rows;
    int64_t attempts; /* that started */
    int64_t never_started;
    struct {
        const char *name;
        int64_t count;
    } states[MOST_STATES];
    size_t n_states;
    int64_t *tasks; /* their indexes, with repetitions */
    size_t n_tasks, tasks_room;
    int64_t elapsed_us;
    int64_t cpu_us; /* used, if known */
    double held_us; /* CPUs times time, of attempts with known use */
    int64_t peak_bytes, most_bytes;
    double asked_bytes; /* of attempts that have a peak */
    double peaks_bytes; /* of attempts that requested memory */
    double read_bytes, written_bytes;
    double gpu_held_us, gpu_busy_us; /* GPUs times time, where their use is known */
    int64_t gpu_peak_bytes;
    struct value_range lengths_us, cpus_milli, percents;
    struct worst_row worst[EFFICIENCY_WORST];
    size_t n_worst;
};

struct efficiency_sum *
efficiency_sum_new(void)
{
    struct efficiency_sum *sum = xnew(struct efficiency_sum);

    sum->arena = arena_new(0);
    sum->lengths_us = sum->cpus_milli = sum->percents = (struct value_range){1, 0};
    return sum;
}

void
efficiency_sum_free(struct efficiency_sum *sum)
{
    if (sum == NULL)
        return;
    for (size_t i = 0; i < sum->n_worst; i++)
        arena_free(sum->worst[i].arena);
    free(sum->tasks);
    arena_free(sum->arena);
    free(sum);
}

/* ---- Adding ---- */

static void
widen(struct value_range *range, double value)
{
    if (range->most < range->least)
        range->least = range->most = value;
    else if (value < range->least)
        range->least = value;
    else if (value > range->most)
        range->most = value;
}

static double
held_us(const struct json *row)
{
    return (double)history_columns_elapsed_us(row) * (double)json_get_int(row, "cpuMillis", 0)
           / 1000;
}

double
efficiency_sum_waste(const struct json *row)
{
    double waste;

    if (history_columns_elapsed_us(row) <= 0 || json_get(row, "cpuTimeMicros") == NULL)
        return -1;
    waste = held_us(row) - (double)json_get_int(row, "cpuTimeMicros", 0);
    return waste > 0 ? waste : 0;
}

/* Keeps the list sorted, worst first. */
static void
keep_if_worst(struct efficiency_sum *sum, const struct json *row)
{
    const double waste_us = efficiency_sum_waste(row);
    size_t at = sum->n_worst;
    struct worst_row *w;

    while (at > 0 && sum->worst[at - 1].waste_us < waste_us)
        at--;
    if (at == EFFICIENCY_WORST)
        return;
    if (sum->n_worst == EFFICIENCY_WORST)
        arena_free(sum->worst[--sum->n_worst].arena);
    w = &sum->worst[at];
    memmove(w + 1, w, (sum->n_worst - at) * sizeof(*w));
    sum->n_worst++;
    w->waste_us = waste_us;
    w->arena = arena_new(0);
    w->row = json_dup(w->arena, row);
}

static void
count_state(struct efficiency_sum *sum, const struct json *row)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    size_t i = 0;

    history_columns_text("state", row, &text);
    if (text.length == 0)
        return;
    while (i < sum->n_states && strcmp(sum->states[i].name, text.text) != 0)
        i++;
    if (i == MOST_STATES)
        return;
    if (i == sum->n_states) {
        sum->states[i].name = arena_strdup(sum->arena, text.text);
        sum->n_states++;
    }
    sum->states[i].count++;
}

static void
count_never_started(struct efficiency_sum *sum, const struct json *row)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *text = json_get_text(row, "tasks");
    struct task_list tasks;

    if (text != NULL && task_list_parse(arena, text, &tasks, NULL) == 0)
        sum->never_started += tasks.total;
    else
        sum->never_started++;
}

static void
add_memory(struct efficiency_sum *sum, const struct json *row)
{
    const int64_t memory = json_get_int(row, "memoryBytes", 0);
    const int64_t peak = history_columns_memory_bytes(row);

    if (peak > sum->peak_bytes)
        sum->peak_bytes = peak;
    if (peak < 0 || memory <= 0)
        return;
    sum->peaks_bytes += (double)peak;
    sum->asked_bytes += (double)memory;
    if (memory > sum->most_bytes)
        sum->most_bytes = memory;
}

static void
add_gpus(struct efficiency_sum *sum, const struct json *row, double elapsed_us)
{
    const int64_t peak = json_get_int(row, "gpuPeakMemoryBytes", 0);

    sum->gpu_held_us += (double)json_get_int(row, "gpus", 0) * elapsed_us;
    sum->gpu_busy_us += (double)json_get_int(row, "gpuMillis", 0) / 1000 * elapsed_us;
    if (peak > sum->gpu_peak_bytes)
        sum->gpu_peak_bytes = peak;
}

void
efficiency_sum_add(struct efficiency_sum *sum, const struct json *row)
{
    const int64_t elapsed_us = history_columns_elapsed_us(row);
    const double held = held_us(row);
    const int64_t used_us = json_get_int(row, "cpuTimeMicros", 0);

    if (sum->rows++ == 0)
        sum->first = json_dup(sum->arena, row);
    if (elapsed_us < 0) {
        count_never_started(sum, row);
        return;
    }
    sum->attempts++;
    count_state(sum, row);
    keep_if_worst(sum, row);
    if (json_get(row, "index") != NULL) {
        xgrow(sum->tasks, sum->n_tasks, sum->tasks_room);
        sum->tasks[sum->n_tasks++] = json_get_int(row, "index", 0);
    }
    sum->elapsed_us += elapsed_us;
    widen(&sum->lengths_us, (double)elapsed_us);
    widen(&sum->cpus_milli, (double)json_get_int(row, "cpuMillis", 0));
    if (held > 0 && json_get(row, "cpuTimeMicros") != NULL) {
        sum->cpu_us += used_us;
        sum->held_us += held;
        widen(&sum->percents, (double)used_us * 100 / held);
    }
    add_memory(sum, row);
    add_gpus(sum, row, (double)elapsed_us);
    sum->read_bytes += (double)json_get_int(row, "readBytes", 0);
    sum->written_bytes += (double)json_get_int(row, "writtenBytes", 0);
}

/* ---- Looking ---- */

int64_t
efficiency_sum_count(const struct efficiency_sum *sum)
{
    return sum->rows;
}

int64_t
efficiency_sum_attempts(const struct efficiency_sum *sum)
{
    return sum->attempts;
}

const struct json *
efficiency_sum_only(const struct efficiency_sum *sum)
{
    return sum->rows == 1 ? sum->first : NULL;
}

size_t
efficiency_sum_worst(const struct efficiency_sum *sum, const struct json *rows[EFFICIENCY_WORST])
{
    for (size_t i = 0; i < sum->n_worst; i++)
        rows[i] = sum->worst[i].row;
    return sum->n_worst;
}

/* ---- Text ---- */

static int
compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t
count_tasks(struct efficiency_sum *sum)
{
    int64_t count = 0;

    if (sum->n_tasks > 0)
        qsort(sum->tasks, sum->n_tasks, sizeof(*sum->tasks), compare_numbers);
    for (size_t i = 0; i < sum->n_tasks; i++)
        count += i == 0 || sum->tasks[i] != sum->tasks[i - 1];
    return count;
}

/* The text of a column of kctl history for a row with this one member. */
static const char *
text_of(const char *column, const char *member, double value, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *row = json_object(arena);

    json_set_int(arena, row, member, (int64_t)value);
    history_columns_text(column, row, &text);
    return arena_strdup(arena, text.length > 0 ? text.text : "0");
}

static const char *
cpu_time(double us, struct arena *arena)
{
    return text_of("cputime", "cpuTimeMicros", us, arena);
}

void
efficiency_sum_add_line(struct efficiency_sum *sum, struct strbuf *out)
{
    const int64_t tasks = count_tasks(sum);
    char peak[HUMAN_TEXT_SIZE], most[HUMAN_TEXT_SIZE];

    if (sum->attempts == 0)
        return;
    strbuf_add_text(out, "\nSum: ");
    if (tasks > 0)
        strbuf_printf(out, "%" PRId64 " task%s, ", tasks, tasks > 1 ? "s" : "");
    strbuf_printf(out, "%" PRId64 " attempt%s", sum->attempts, sum->attempts > 1 ? "s" : "");
    if (sum->held_us > 0)
        strbuf_printf(
            out, "; CPU efficiency %.2f%% (%s of %s)", (double)sum->cpu_us * 100 / sum->held_us,
            cpu_time((double)sum->cpu_us, sum->arena), cpu_time(sum->held_us, sum->arena));
    human_bytes(sum->peak_bytes, peak);
    human_bytes(sum->most_bytes, most);
    if (sum->asked_bytes > 0)
        strbuf_printf(out, "; memory efficiency %.2f%% (at most %s, asked for %s)",
                      sum->peaks_bytes * 100 / sum->asked_bytes, peak, most);
    else if (sum->peak_bytes > 0)
        strbuf_printf(out, "; memory at most %s, none was asked for", peak);
    if (sum->gpu_held_us > 0)
        strbuf_printf(out, "; GPU efficiency %.2f%%", sum->gpu_busy_us * 100 / sum->gpu_held_us);
    strbuf_add_char(out, '\n');
}

static const char *
column(const struct json *row, const char *name, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    history_columns_text(name, row, &text);
    return text.length > 0 ? arena_strdup(arena, text.text) : "unknown";
}

static void PRINTF(3, 4) add_fact(struct strbuf *out, const char *name, const char *format, ...)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FREE char *clean = NULL;
    va_list args;

    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    clean = sanitize_text_dup(text.text);
    strbuf_printf(out, "%-20s%s\n", name, clean);
}

static void
describe_attempts(struct efficiency_sum *sum, bool is_together, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf states = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf never = STRBUF_INIT;

    for (size_t i = 0; i < sum->n_states; i++)
        strbuf_printf(&states, "%s%" PRId64 " %s", i > 0 ? ", " : "", sum->states[i].count,
                      sum->states[i].name);
    if (sum->never_started > 0)
        strbuf_printf(&never, ", %" PRId64 " never started", sum->never_started);
    add_fact(out, is_together ? "Pods:" : "Tasks:", "%" PRId64 " ran%s", count_tasks(sum),
             never.length > 0 ? never.text : "");
    if (sum->attempts > 0)
        add_fact(out, "Attempts:", "%" PRId64 ": %s", sum->attempts,
                 states.length > 0 ? states.text : "");
}

static void
describe_memory(const struct efficiency_sum *sum, const char *part, struct strbuf *out)
{
    char peak[HUMAN_TEXT_SIZE], most[HUMAN_TEXT_SIZE];

    human_bytes(sum->peak_bytes, peak);
    human_bytes(sum->most_bytes, most);
    add_fact(out, "Memory used:", "at most %s", peak);
    if (sum->asked_bytes > 0)
        add_fact(out, "Memory efficiency:", "%.2f%% on average, of at most %s",
                 sum->peaks_bytes * 100 / sum->asked_bytes, most);
    else
        add_fact(out, "Memory efficiency:", "unknown: no %s asked for memory", part);
}

/* Part: "task" or "pod". */
static void
describe_use(const struct efficiency_sum *sum, const char *part, struct strbuf *out)
{
    struct arena *arena = sum->arena;
    char read[HUMAN_TEXT_SIZE], written[HUMAN_TEXT_SIZE];

    if (sum->cpus_milli.least < sum->cpus_milli.most)
        add_fact(out, "CPUs:", "%g to %g for each %s", sum->cpus_milli.least / 1000,
                 sum->cpus_milli.most / 1000, part);
    else
        add_fact(out, "CPUs:", "%g for each %s", sum->cpus_milli.least / 1000, part);
    add_fact(out, "Elapsed:", "%s on average, from %s to %s",
             cpu_time((double)sum->elapsed_us / (double)sum->attempts, arena),
             cpu_time(sum->lengths_us.least, arena), cpu_time(sum->lengths_us.most, arena));
    if (sum->held_us > 0)
        add_fact(out, "CPU efficiency:", "%.2f%% (%s of %s), from %.2f%% to %.2f%%",
                 (double)sum->cpu_us * 100 / sum->held_us, cpu_time((double)sum->cpu_us, arena),
                 cpu_time(sum->held_us, arena), sum->percents.least, sum->percents.most);
    else
        add_fact(out, "CPU efficiency:", "unknown: no %s ran for a second", part);
    describe_memory(sum, part, out);
    if (sum->gpu_held_us > 0) {
        human_bytes(sum->gpu_peak_bytes, read);
        add_fact(out, "GPU efficiency:", "%.2f%%", sum->gpu_busy_us * 100 / sum->gpu_held_us);
        add_fact(out, "GPU memory used:", "at most %s", read);
    }
    human_bytes((int64_t)sum->read_bytes, read);
    human_bytes((int64_t)sum->written_bytes, written);
    add_fact(out, "Read from storage:", "%s", read);
    add_fact(out, "Written to storage:", "%s", written);
}

void
efficiency_sum_describe(struct efficiency_sum *sum, bool is_together, struct strbuf *out)
{
    struct arena *arena = sum->arena;

    if (sum->first == NULL)
        return;
    add_fact(out, is_together ? "Job:" : "Array:", "%" PRId64 " (%s)",
             json_get_int(sum->first, "job", 0), column(sum->first, "name", arena));
    add_fact(out, "User/account:", "%s/%s", column(sum->first, "user", arena),
             column(sum->first, "account", arena));
    describe_attempts(sum, is_together, out);
    if (sum->attempts > 0)
        describe_use(sum, is_together ? "pod" : "task", out);
}
