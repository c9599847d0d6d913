/* SPDX-License-Identifier: Apache-2.0 */
/* kctl top - how full the nodes are: what is given to pods, of what there is */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/command.h"
#include "cli/kctl/kctl.h"
#include "cli/kctl/node_load.h"
#include "cli/kctl/resource.h"
#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/ink.h"
#include "lib/api/kind.h"
#include "lib/api/quantity.h"
#include "lib/api/topology.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct top_options {
    struct common_options common;
    const char *label_selector;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "the nodes with these labels",
     .type = OPTION_TEXT,
     .offset = offsetof(struct top_options, label_selector)},
};

static const struct option_table table = {
    .name = "kctl top",
    .usage = "[OPTION]... nodes [NODE]...",
    .summary = "Show how much of the nodes is given to pods.",
    OPTION_ROWS(rows),
    .more = "Example: kctl top nodes -l kiln.hpc/partition=long",
};

static const char *
percent(struct arena *arena, int64_t part, int64_t whole)
{
    if (whole <= 0)
        return "-";
    return arena_printf(
        arena,
        "%lld%%",
        (long long)((double)part * 100.0 / (double)whole + 0.5));
}

/* Of thousandths: "4", "1.5" */
static const char *
cpus_text(struct arena *arena, int64_t mcpu)
{
    if (mcpu % 1000 == 0)
        return arena_printf(arena, "%lld", (long long)(mcpu / 1000));
    return arena_printf(arena, "%.1f", (double)mcpu / 1000.0);
}

static const char *
bytes_text(struct arena *arena, int64_t bytes)
{
    char text[HUMAN_TEXT_SIZE];

    human_bytes(bytes, text);
    return arena_strdup(arena, text);
}

/* The cores and memory free in the NUMA node that has most: "14 cores, 48Gi" */
static const char *
largest_hole(struct arena *arena,
             const struct json *node,
             const struct node_load *load)
{
    CLEANUP(topology_freep) struct topology *t = NULL;
    const struct json *wire = json_get_path(node, "status.topology");
    unsigned best_cores = 0;
    int64_t best_bytes = 0;

    if (wire == NULL || json_is(wire, JSON_NULL)
        || topology_decode(wire, &t, NULL) < 0)
        return "-";
    for (unsigned i = 0; i < t->n_numa; i++) {
        unsigned cores = node_load_free_cores(load, t, i);
        int64_t bytes = node_load_free_bytes(load, t, i);

        if (cores < best_cores || (cores == best_cores && bytes <= best_bytes))
            continue;
        best_cores = cores;
        best_bytes = bytes;
    }
    return arena_printf(arena,
                        "%u core%s, %s",
                        best_cores,
                        best_cores == 1 ? "" : "s",
                        bytes_text(arena, best_bytes));
}

static void
add_node(struct grid *grid,
         struct arena *arena,
         const struct map *loads,
         const struct json *node)
{
    static const struct node_load nothing;
    const struct json *there = json_get_path(node, "status.allocatable");
    const char *name = json_path_text(node, "metadata.name");
    const struct node_load *load = map_find(loads, name);
    const int64_t mcpu = quantity_text_milli(json_get_text(there, "cpu"));
    const int64_t memory = quantity_text_value(json_get_text(there, "memory"));
    const char *cells[9];

    if (load == NULL)
        load = &nothing;
    cells[0] = name;
    cells[1] = cpus_text(arena, load->mcpu);
    cells[2] = cpus_text(arena, mcpu);
    cells[3] = percent(arena, load->mcpu, mcpu);
    cells[4] = bytes_text(arena, load->memory_bytes);
    cells[5] = bytes_text(arena, memory);
    cells[6] = percent(arena, load->memory_bytes, memory);
    cells[7] = arena_printf(arena, "%u", load->pods);
    cells[8] = largest_hole(arena, node, load);
    grid_add_row(grid, cells);
}

static bool
is_wanted(const struct resources *wanted, const char *name)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (wanted->items[i].name == NULL
            || strcmp(wanted->items[i].name, name) == 0)
            return true;
    return false;
}

static int
show(struct kctl *kctl,
     const struct top_options *o,
     const struct resources *wanted,
     struct error *err)
{
    static const char *const columns[] = {"Name",
                                          "CPU",
                                          "of",
                                          "CPU%",
                                          "Memory",
                                          "of",
                                          "Memory%",
                                          "Pods",
                                          "Free in one NUMA node"};
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(map_freep) struct map *loads = map_new();
    CLEANUP(grid_freep) struct grid *grid = grid_new(ink_is_wanted());
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *nodes = NULL;
    int r =
        node_loads_collect(kctl, o->label_selector, arena, loads, &nodes, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        grid_add_column(grid, columns[i]);
    for (uint32_t i = 0; i < json_count(nodes); i++)
        if (is_wanted(wanted,
                      json_path_text(json_at(nodes, i), "metadata.name")))
            add_node(grid, arena, loads, json_at(nodes, i));
    if (grid_rows(grid) == 0) {
        fprintf(stderr, "No resources found\n");
        return 0;
    }
    grid_print(grid, true, &out);
    fwrite(out.text, 1, out.length, stdout);
    return 0;
}

/* Each that is named must be there. */
static int
check(struct kctl *kctl, const struct resources *wanted, struct error *err)
{
    for (size_t i = 0; i < wanted->count; i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *node = NULL;
        int r;

        if (wanted->items[i].kind != &node_kind)
            return error_set(err,
                             -EINVAL,
                             "only nodes have a top: kctl top nodes");
        if (wanted->items[i].name == NULL)
            continue;
        r = kctl_get(kctl, &wanted->items[i], arena, &node, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int
top_run(struct kctl *kctl,
        const void *options,
        int n_operands,
        char **operands,
        struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct resources wanted;
    char *all[] = {arena_strdup(arena, "nodes"), NULL};
    int r = resource_parse(kctl,
                           NULL,
                           n_operands > 0 ? n_operands : 1,
                           n_operands > 0 ? operands : all,
                           arena,
                           &wanted,
                           err);

    if (r == 0)
        r = check(kctl, &wanted, err);
    if (r == 0)
        r = show(kctl, options, &wanted, err);
    return r;
}

const struct command top_command = {
    .name = "top",
    .options = &table,
    .options_size = sizeof(struct top_options),
    .run = top_run,
};
