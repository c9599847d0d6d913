/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/step_table.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/local_time.h"
#include "cli/print/sanitize_text.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)

enum {
    STEP,
    NAME,
    STATE,
    EXIT,
    TASKS,
    CPUS,
    NODES,
    STARTED,
    ELAPSED,
    CPU_TIME,
    PEAK,
    ATTEMPT,
    COMMAND,
    N_COLUMNS
};

static const struct grid_column columns[N_COLUMNS] = {
    [STEP] = {.name = "Step"},
    [NAME] = {.name = "Name", .least = 8},
    [STATE] = {.name = "State"},
    [EXIT] = {.name = "Exit", .is_right = true},
    [TASKS] = {.name = "Tasks", .is_right = true},
    [CPUS] = {.name = "CPUs", .is_right = true},
    [NODES] = {.name = "Nodes", .least = 8},
    [STARTED] = {.name = "Started", .weight = 1},
    [ELAPSED] = {.name = "Elapsed", .is_right = true},
    [CPU_TIME] = {.name = "CPU-Time", .is_right = true},
    [PEAK] = {.name = "Peak", .is_right = true},
    [ATTEMPT] = {.name = "Attempt", .is_right = true, .weight = 2},
    [COMMAND] = {.name = "Command"},
};

int64_t
step_table_time(const struct json *step, const char *member)
{
    const char *text = json_get_text(step, member);
    int64_t us;

    return text != NULL && time_parse(text, &us) == 0 ? us : 0;
}

const char *
step_table_job(struct arena *arena, const struct json *step)
{
    const int64_t task = json_get_int(step, "task", json_get_int(step, "index", -1));
    const int64_t job = json_get_int(step, "job", 0);

    return task >= 0 ? arena_printf(arena, "%" PRId64 "_%" PRId64, job, task)
                     : arena_printf(arena, "%" PRId64, job);
}

const char *
step_table_name(struct arena *arena, const struct json *step)
{
    return arena_printf(arena, "%s.%" PRId64, step_table_job(arena, step),
                        json_get_int(step, "step", 0));
}

/* "1-02:03:04", as in sacct. */
static const char *
length_text(struct arena *arena, int64_t us)
{
    const int64_t s = us / SECOND_US;

    if (us < 0)
        return "";
    return arena_printf(arena, "%s%02" PRId64 ":%02" PRId64 ":%02" PRId64,
                        s >= 86400 ? arena_printf(arena, "%" PRId64 "-", s / 86400) : "",
                        s / 3600 % 24, s / 60 % 60, s % 60);
}

static const char *
clean_text(struct arena *arena, const char *text)
{
    CLEANUP_FREE char *clean = text != NULL ? sanitize_text_dup(text) : NULL;

    return clean != NULL ? arena_strdup(arena, clean) : "";
}

static const char *
number_text(struct arena *arena, const struct json *step, const char *member)
{
    return json_get(step, member) != NULL
               ? arena_printf(arena, "%" PRId64, json_get_int(step, member, 0))
               : "";
}

static const char *
exit_text(struct arena *arena, const struct json *step)
{
    const int64_t signal = json_get_int(step, "signal", 0);

    return signal > 0 ? arena_printf(arena, "0:%" PRId64, signal)
                      : number_text(arena, step, "exitCode");
}

static const char *
cpu_text(struct arena *arena, const struct json *step)
{
    if (json_get(step, "cpuUserMicros") == NULL)
        return "";
    return length_text(arena, json_get_int(step, "cpuUserMicros", 0)
                                  + json_get_int(step, "cpuSystemMicros", 0));
}

static const char *
peak_text(struct arena *arena, const struct json *step)
{
    char text[HUMAN_TEXT_SIZE] = "";

    if (json_get(step, "peakMemoryBytes") != NULL)
        human_bytes(json_get_int(step, "peakMemoryBytes", 0), text);
    return arena_strdup(arena, text);
}

/* Its tasks have got a signal, and may need some time. */
static const char *
state_text(struct arena *arena, const struct json *step)
{
    const char *state = json_get_text(step, "state");

    return json_get(step, "endedBy") != NULL && json_get(step, "endTime") == NULL
               ? "Ending"
               : clean_text(arena, state);
}

static void
add_row(struct grid *grid, struct arena *arena, const struct json *step, bool is_wide,
        int64_t now_us)
{
    const int64_t start_us = step_table_time(step, "startTime"),
                  end_us = step_table_time(step, "endTime");
    char started[LOCAL_TIME_SIZE] = "";
    const char *cells[N_COLUMNS] = {
        [STEP] = step_table_name(arena, step),
        [NAME] = clean_text(arena, json_get_text(step, "name")),
        [STATE] = state_text(arena, step),
        [EXIT] = exit_text(arena, step),
        [TASKS] = number_text(arena, step, "tasks"),
        [CPUS] = number_text(arena, step, "cpus"),
        [NODES] = clean_text(arena, json_get_text(step, "nodes")),
        [STARTED] = started,
        [ELAPSED] = length_text(arena, (end_us > 0 ? end_us : now_us) - start_us),
        [CPU_TIME] = cpu_text(arena, step),
        [PEAK] = peak_text(arena, step),
        [ATTEMPT] = number_text(arena, step, "attempt"),
        [COMMAND] = is_wide ? clean_text(arena, json_get_text(step, "command")) : NULL,
    };

    if (start_us > 0)
        local_time_format(start_us, started);
    grid_add_row(grid, cells);
}

void
step_table_print(const struct json *steps, bool is_wide, bool with_headings, struct arena *arena)
{
    CLEANUP(grid_freep) struct grid *grid = grid_new(terminal_colour_is_wanted());
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    if (json_count(steps) == 0)
        return;
    grid_set_gap(grid, 2);
    if (!is_wide)
        grid_set_width(grid, terminal_width());
    for (unsigned i = 0; i < N_COLUMNS; i++)
        if (i != COMMAND || is_wide)
            grid_add_styled(grid, &columns[i]);
    for (uint32_t i = 0; i < json_count(steps); i++)
        add_row(grid, arena, json_at(steps, i), is_wide, clock_real_us(&clock_system));
    grid_print(grid, with_headings, &out);
    (void)fwrite(out.text, 1, out.length, stdout);
}
