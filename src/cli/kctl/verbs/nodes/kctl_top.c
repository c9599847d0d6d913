/* SPDX-License-Identifier: Apache-2.0 */
/* kctl top - shows how much nodes, pods and jobs use of their allocations now
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/verbs/nodes/top.h"
#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/terminal.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

struct top_options {
    struct common_options common;
    const char *label_selector;
    bool all_namespaces;
    bool no_headings;
};

#define PLACE(member) .offset = offsetof(struct top_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "all-namespaces",
     .letter = 'A',
     .help = "in all namespaces",
     .type = OPTION_FLAG,
     PLACE(all_namespaces)},
    NO_HEADERS_OPTION(struct top_options),
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "only with these labels: kiln.hpc/user=alice",
     .type = OPTION_TEXT,
     PLACE(label_selector)},
};

static const struct option_table table = {
    .name = "kctl top",
    .usage = "[OPTION]... nodes|pods|jobs [NAME]...",
    .summary = "Show how much nodes, running pods or running jobs use now, of "
               "what they were given.",
    OPTION_ROWS(rows),
    .more = "Using: the cores in use recently. Efficiency: the CPU time so "
            "far, as a fraction\n"
            "of what the allocated CPUs could have provided. Jobs that are named are shown\n"
            "with their running steps.\n"
            "\n"
            "Examples: kctl top nodes -l kiln.hpc/partition=long\n"
            "          kctl top jobs 1042",
};

static const struct view {
    const struct kind *kind;
    top_fn *show;
} views[] = {
    {&node_kind, top_nodes},
    {&pod_kind, top_pods},
    {&job_kind, top_jobs},
};

const char *
top_percent(struct arena *arena, double part, double whole)
{
    return whole > 0 ? arena_printf(arena, "%.0f%%", part * 100 / whole) : "-";
}

const char *
top_cpus(struct arena *arena, int64_t mcpu)
{
    if (mcpu % 1000 == 0)
        return arena_printf(arena, "%lld", (long long)(mcpu / 1000));
    return arena_printf(arena, "%.1f", (double)mcpu / 1000.0);
}

const char *
top_bytes(struct arena *arena, int64_t bytes)
{
    char text[HUMAN_TEXT_SIZE];

    human_bytes(bytes, text);
    return arena_strdup(arena, text);
}

static const struct view *
find_view(const struct named_resources *wanted, struct error *err)
{
    const struct kind *kind = wanted->items[0].kind;

    for (size_t i = 1; i < wanted->count; i++)
        if (wanted->items[i].kind != kind)
            kind = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(views); i++)
        if (views[i].kind == kind)
            return &views[i];
    error_set(err, -EINVAL,
              "give nodes, pods or jobs, one of them at a time: kctl top "
              "nodes");
    return NULL;
}

static int
top_run(struct kctl *kctl, const void *options, int n_operands, char **operands, struct error *err)
{
    const struct top_options *o = options;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(grid_freep)
    struct grid *grid = grid_new(terminal_colour_is_wanted());
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct named_resources wanted;
    struct top_query question = {
        .wanted = &wanted,
        .label_selector = o->label_selector,
        .all_namespaces = o->all_namespaces,
    };
    char *all[] = {arena_strdup(arena, "nodes"), NULL};
    const struct view *view;
    int r;

    kctl->takes_tasks = n_operands > 0 && strncmp(operands[0], "po", 2) == 0;
    kctl->for_tasks = "'kctl top pods' shows running tasks, and 'kctl "
                      "history' what a task has used";
    r = resource_parse(kctl, NULL, n_operands > 0 ? n_operands : 1, n_operands > 0 ? operands : all,
                       arena, &wanted, err);

    if (r < 0)
        return r;
    grid_set_width(grid, terminal_width());
    view = find_view(&wanted, err);
    if (view == NULL)
        return -EINVAL;
    r = view->show(kctl, &question, arena, grid, err);
    if (r < 0)
        return r;
    if (grid_rows(grid) == 0) {
        fprintf(stderr, "%s\n",
                view->kind == &job_kind && wanted.items[0].name != NULL
                    ? "None of these jobs runs; 'kctl history' shows what jobs that ended have used"
                    : "No resources found");
        return 0;
    }
    grid_print(grid, !o->no_headings, &out);
    fwrite(out.text, 1, out.length, stdout);
    return 0;
}

const struct command top_command = {
    .name = "top",
    .options = &table,
    .options_size = sizeof(struct top_options),
    .run = top_run,
};
