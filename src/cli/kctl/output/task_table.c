/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/task_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/job_tasks.h"
#include "cli/print/grid.h"
#include "cli/print/local_time.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/yaml/yaml.h"

static const char *
format_number(struct arena *arena, const struct json *item, const char *name)
{
    return json_get(item, name) != NULL
               ? arena_printf(arena, "%" PRId64, json_get_int(item, name, 0))
               : NULL;
}

/* Local time for tables; JSON keeps the API's form. */
static const char *
format_time(struct arena *arena, const struct json *item, const char *name)
{
    const char *text = json_get_text(item, name);
    char local[LOCAL_TIME_SIZE];
    int64_t us;

    if (text == NULL || time_parse(text, &us) < 0)
        return text;
    local_time_format(us, local);
    return arena_strdup(arena, local);
}

static const char *
format_end(struct arena *arena, const struct json *item)
{
    const int64_t signal = json_get_int(item, "signal", 0);

    return signal > 0 ? arena_printf(arena, "signal %" PRId64, signal)
                      : format_number(arena, item, "exitCode");
}

static void
add_row(struct grid *grid, struct arena *arena, const struct json *item)
{
    const char *cells[] = {
        arena_printf(arena, "%" PRId64 "_%" PRId64, json_get_int(item, "job", 0),
                     json_get_int(item, "task", 0)),
        json_get_text(item, "state"),
        format_number(arena, item, "attempt"),
        json_get_text(item, "node"),
        format_time(arena, item, "startTime"),
        format_time(arena, item, "endTime"),
        format_end(arena, item),
    };

    grid_add_row(grid, cells);
}

static void
print_table(struct arena *arena, const struct json *items, bool with_headings)
{
    CLEANUP(grid_freep)
    struct grid *grid = grid_new(terminal_colour_is_wanted());
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    grid_add_column(grid, "ID");
    grid_add_column(grid, "State");
    grid_add_column(grid, "Attempt");
    grid_add_column(grid, "Node");
    grid_add_column(grid, "Start");
    grid_add_column(grid, "End");
    grid_add_column(grid, "Exit");
    grid_set_gap(grid, 2);
    grid_set_width(grid, terminal_width());
    for (uint32_t i = 0; i < json_count(items); i++)
        add_row(grid, arena, json_at(items, i));
    grid_print(grid, with_headings, &out);
    fputs(out.text, stdout);
}

int
task_table_show(struct kctl *kctl, int n_operands, char **operands, const char *form,
                bool with_headings, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *all = json_array(arena), *list = json_object(arena);
    int i = n_operands > 1 && job_tasks_is_type(operands[0]) ? 1 : 0;
    const bool is_json = form != NULL && strcmp(form, "json") == 0;
    const bool is_yaml = form != NULL && strcmp(form, "yaml") == 0;

    if (form != NULL && !is_json && !is_yaml && strcmp(form, "wide") != 0)
        return error_set(err, -EINVAL,
                         "-o %s: array tasks are shown as a table, json or "
                         "yaml; for tasks that have a pod, use 'kctl get pods "
                         "1042_7 -o %s'",
                         form, form);
    for (; i < n_operands; i++) {
        struct json *items = NULL;
        int r = job_tasks_fetch(kctl, operands[i], arena, &items, err);

        if (r < 0)
            return r;
        for (uint32_t k = 0; k < json_count(items); k++)
            json_append(arena, all, json_at(items, k));
    }
    json_set(arena, list, "items", all);
    if (is_json)
        json_print_indented(list, &out);
    else if (is_yaml)
        yaml_print(list, &out);
    else
        print_table(arena, all, with_headings);
    if (out.length > 0)
        fputs(out.text, stdout);
    return 0;
}
