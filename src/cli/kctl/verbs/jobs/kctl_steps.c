/* SPDX-License-Identifier: Apache-2.0 */
/* kctl steps - lists the steps of jobs, what they used and how they ended
 *
 * A step is what one krun starts in a job. The data come from the controller, which gets
 * them from the agent of the job's first node, also while the job runs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/connect/inquiry.h"
#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/local_time.h"
#include "cli/print/sanitize_text.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/value/id_ranges.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define MOST_JOBS 1000
#define PAGE      5000
#define PATIENCE  20 /* attempts while the server is overloaded */
#define SECOND_US INT64_C(1000000)

struct steps_options {
    struct common_options common;
    const char *form;
    bool no_headings;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    NO_HEADERS_OPTION(struct steps_options),
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "table, wide (with the command), or json",
     .type = OPTION_TEXT,
     .offset = offsetof(struct steps_options, form)},
};

static const struct option_table table = {
    .name = "kctl steps",
    .usage = "[OPTION]... JOB|JOB_TASK...",
    .summary = "Show the steps of jobs, which krun started in them: of jobs that run and of "
               "jobs that ended, also of deleted ones.",
    OPTION_ROWS(rows),
    .more = "A step that has started or ended is shown after ten seconds at most.\n"
            "\n"
            "Examples:\n"
            "  kctl steps 1042\n"
            "  kctl steps -o wide 1042_7 1050-1060\n"
            "  kctl steps -o json 1042",
};

enum steps_form { AS_TABLE, AS_WIDE, AS_JSON };

struct steps_list {
    struct arena *arena;
    struct json *items, *omitted;
    const struct task_list *tasks; /* of the job that is asked for; NULL: all */
};

/* ---- The request ---- */

static int
ask(struct kctl *kctl, const char *target, struct arena *arena, struct json **ret_tree,
    struct error *err)
{
    const struct timespec moment = {.tv_nsec = 250000000};
    int r = inquiry_run(kctl->connection, HTTP_GET, target, NULL, arena, ret_tree, err);

    for (unsigned i = 1; r == -EAGAIN && i < PATIENCE; i++) {
        nanosleep(&moment, NULL);
        r = inquiry_run(kctl->connection, HTTP_GET, target, NULL, arena, ret_tree, err);
    }
    if (r == -ENOENT)
        return error_set(err, r, "this controller is of a release that does not know steps");
    return r;
}

static bool
is_wanted(const struct steps_list *list, const struct json *step)
{
    const int64_t task = json_get_int(step, "task", json_get_int(step, "index", -1));

    return list->tasks == NULL || (task >= 0 && task_list_index(list->tasks, task) >= 0);
}

static void
take(struct steps_list *list, const struct json *from, struct json *to)
{
    for (uint32_t i = 0; i < json_count(from); i++)
        if (is_wanted(list, json_at(from, i)))
            json_append(list->arena, to, json_at(from, i));
}

static int
add_job(struct kctl *kctl, int64_t id, struct steps_list *list, struct error *err)
{
    const char *next = "";
    int r = kctl_open(kctl, err);

    while (r == 0 && next != NULL) {
        struct json *tree = NULL;

        r = ask(kctl,
                arena_printf(list->arena, "/kiln/v1/steps?job=%" PRId64 "&limit=%d%s%s", id, PAGE,
                             next[0] != '\0' ? "&continue=" : "", next),
                list->arena, &tree, err);
        if (r < 0)
            return r;
        take(list, json_get(tree, "items"), list->items);
        take(list, json_get(json_get(tree, "metadata"), "omitted"), list->omitted);
        next = json_path_text(tree, "metadata.continue");
    }
    return r;
}

static int
add_all(struct kctl *kctl, const struct id_ranges *named, struct steps_list *list,
        struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < named->count; i++)
        for (int64_t id = named->items[i].first; r == 0 && id <= named->items[i].last; id++)
            r = add_job(kctl, id, list, err);
    for (size_t i = 0; r == 0 && i < named->n_elements; i++) {
        list->tasks = &named->elements[i].tasks;
        r = add_job(kctl, named->elements[i].job, list, err);
    }
    return r;
}

/* ---- The table ---- */

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

static int64_t
time_of(const struct json *step, const char *member)
{
    const char *text = json_get_text(step, member);
    int64_t us;

    return text != NULL && time_parse(text, &us) == 0 ? us : 0;
}

static const char *
job_name(struct arena *arena, const struct json *step)
{
    const int64_t task = json_get_int(step, "task", json_get_int(step, "index", -1));
    const int64_t job = json_get_int(step, "job", 0);

    return task >= 0 ? arena_printf(arena, "%" PRId64 "_%" PRId64, job, task)
                     : arena_printf(arena, "%" PRId64, job);
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

static void
add_row(struct grid *grid, struct arena *arena, const struct json *step, bool is_wide,
        int64_t now_us)
{
    const int64_t start_us = time_of(step, "startTime"), end_us = time_of(step, "endTime");
    char started[LOCAL_TIME_SIZE] = "";
    const char *cells[N_COLUMNS] = {
        [STEP] = arena_printf(arena, "%s.%" PRId64, job_name(arena, step),
                              json_get_int(step, "step", 0)),
        [NAME] = clean_text(arena, json_get_text(step, "name")),
        [STATE] = clean_text(arena, json_get_text(step, "state")),
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

static void
print_table(const struct steps_list *list, const struct steps_options *o, bool is_wide)
{
    CLEANUP(grid_freep) struct grid *grid = grid_new(terminal_colour_is_wanted());
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_set_gap(grid, 2);
    if (!is_wide)
        grid_set_width(grid, terminal_width());
    for (unsigned i = 0; i < N_COLUMNS; i++)
        if (i != COMMAND || is_wide)
            grid_add_styled(grid, &columns[i]);
    for (uint32_t i = 0; i < json_count(list->items); i++)
        add_row(grid, list->arena, json_at(list->items, i), is_wide, clock_real_us(&clock_system));
    grid_print(grid, !o->no_headings, &out);
    (void)fwrite(out.text, 1, out.length, stdout);
}

static void
print_json(const struct steps_list *list)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *tree = json_object(list->arena);

    json_set_string(list->arena, tree, "apiVersion", "kiln.hpc/v1");
    json_set_string(list->arena, tree, "kind", "StepList");
    json_set(list->arena, tree, "items", list->items);
    if (json_count(list->omitted) > 0)
        json_set(list->arena, json_make_object(list->arena, tree, "metadata"), "omitted",
                 list->omitted);
    json_print_indented(tree, &out);
    printf("%s\n", out.text);
}

static void
print_notes(const struct steps_list *list)
{
    for (uint32_t i = 0; i < json_count(list->omitted); i++) {
        const struct json *o = json_at(list->omitted, i);

        fprintf(stderr, "Job %s had %" PRId64 " more steps, of which there are no records\n",
                job_name(list->arena, o), json_get_int(o, "steps", 0));
    }
    if (json_count(list->items) == 0)
        fprintf(stderr, "No steps are recorded. A step is what krun (or srun) starts in a job; it "
                        "is recorded on nodes whose agent is of this release, and shown to the "
                        "job's owner\n");
}

/* ---- The verb ---- */

static int
parse_form(const char *text, enum steps_form *ret_form, struct error *err)
{
    if (text == NULL || strcmp(text, "table") == 0)
        *ret_form = AS_TABLE;
    else if (strcmp(text, "wide") == 0)
        *ret_form = AS_WIDE;
    else if (strcmp(text, "json") == 0)
        *ret_form = AS_JSON;
    else
        return error_set(err, -EINVAL, "--output: '%s' is not one of table, wide and json", text);
    return 0;
}

static int
steps_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
          struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct steps_options *o = options;
    struct steps_list list = {
        .arena = arena, .items = json_array(arena), .omitted = json_array(arena)};
    struct id_ranges named = {0};
    enum steps_form form = AS_TABLE;
    int r = parse_form(o->form, &form, err);

    if (r == 0 && n_operands == 0)
        r = error_set(err, -EINVAL, "give the job whose steps to show: kctl steps 1042");
    if (r == 0)
        r = job_operands_read_ids(n_operands, operands, MOST_JOBS, arena, &named, err);
    if (r == 0)
        r = add_all(kctl, &named, &list, err);
    if (r < 0)
        return r;
    if (form == AS_JSON)
        print_json(&list);
    else if (json_count(list.items) > 0)
        print_table(&list, o, form == AS_WIDE);
    if (form != AS_JSON)
        print_notes(&list);
    return 0;
}

const struct command steps_command = {
    .name = "steps",
    .options = &table,
    .options_size = sizeof(struct steps_options),
    .run = steps_run,
};
