/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/node_load.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/verbs/nodes/top.h"
#include "cli/print/grid.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

/* The free cores and memory of the NUMA node that has most: "14 cores, 48Gi".
 */
static const char *
largest_hole(struct arena *arena, const struct json *node, const struct node_load *load)
{
    CLEANUP(topology_freep) struct topology *t = NULL;
    const struct json *wire = json_get_path(node, "status.topology");
    unsigned best_cores = 0;
    int64_t best_bytes = 0;

    if (wire == NULL || json_is(wire, JSON_NULL) || topology_decode(wire, &t, NULL) < 0)
        return "-";
    for (unsigned i = 0; i < t->n_numa; i++) {
        unsigned cores = node_load_free_cores(load, t, i);
        int64_t bytes = node_load_free_bytes(load, t, i);

        if (cores < best_cores || (cores == best_cores && bytes <= best_bytes))
            continue;
        best_cores = cores;
        best_bytes = bytes;
    }
    return arena_printf(arena, "%u core%s, %s", best_cores, best_cores == 1 ? "" : "s",
                        top_bytes(arena, best_bytes));
}

static void
add_node(struct grid *grid, struct arena *arena, const struct map *loads, const struct map *metrics,
         const struct json *node)
{
    static const struct node_load nothing;
    const struct json *there = json_get_path(node, "status.allocatable");
    const char *name = json_path_text(node, "metadata.name");
    const struct node_load *load = map_find(loads, name);
    const struct json *usage = json_get(map_find(metrics, name), "usage");
    const int64_t mcpu = quantity_text_milli(json_get_text(there, "cpu"));
    const int64_t memory = quantity_text_value(json_get_text(there, "memory"));
    const char *used_cpu = json_get_text(usage, "cpu");
    const char *used_memory = json_get_text(usage, "memory");
    const char *cells[11];

    if (load == NULL)
        load = &nothing;
    cells[0] = name;
    cells[1] = top_cpus(arena, load->mcpu);
    cells[2] = top_cpus(arena, mcpu);
    cells[3] = top_percent(arena, (double)load->mcpu, (double)mcpu);
    cells[4] = used_cpu != NULL ? top_cpus(arena, quantity_text_milli(used_cpu)) : "-";
    cells[5] = top_bytes(arena, load->memory_bytes);
    cells[6] = top_bytes(arena, memory);
    cells[7] = top_percent(arena, (double)load->memory_bytes, (double)memory);
    cells[8] = used_memory != NULL ? top_bytes(arena, quantity_text_value(used_memory)) : "-";
    cells[9] = arena_printf(arena, "%u", load->pods);
    cells[10] = largest_hole(arena, node, load);
    grid_add_row(grid, cells);
}

static bool
is_wanted(const struct named_resources *wanted, const char *name)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (wanted->items[i].name == NULL || strcmp(wanted->items[i].name, name) == 0)
            return true;
    return false;
}

/* All named nodes must exist. */
static int
check(struct kctl *kctl, const struct named_resources *wanted, struct error *err)
{
    for (size_t i = 0; i < wanted->count; i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *node = NULL;
        int r = wanted->items[i].name != NULL ? kctl_get(kctl, &wanted->items[i], arena, &node, err)
                                              : 0;

        if (r < 0)
            return r;
    }
    return 0;
}

static int
collect_metrics(struct kctl *kctl, struct arena *arena, struct map *metrics, struct error *err)
{
    const struct target_object all = {.kind = &node_metrics_kind};
    struct json *items = NULL;
    int r = kctl_list(kctl, &all, NULL, NULL, arena, &items, err);

    for (uint32_t i = 0; i < json_count(items); i++)
        map_put(metrics, json_path_text(json_at(items, i), "metadata.name"), json_at(items, i));
    return r;
}

int
top_nodes(struct kctl *kctl, const struct top_query *question, struct arena *arena,
          struct grid *grid, struct error *err)
{
    static const struct grid_column columns[] = {
        {.name = "Name", .least = 8},
        {.name = "CPU"},
        {.name = "of"},
        {.name = "CPU%"},
        {.name = "Using"},
        {.name = "Memory"},
        {.name = "of"},
        {.name = "Memory%"},
        {.name = "Using"},
        {.name = "Pods"},
        {.name = "Free in one NUMA node", .least = 8, .weight = 1},
    };
    CLEANUP(map_freep) struct map *loads = map_new();
    CLEANUP(map_freep) struct map *metrics = map_new();
    struct json *nodes = NULL;
    int r = check(kctl, question->wanted, err);

    if (r == 0)
        r = node_loads_collect(kctl, question->label_selector, arena, loads, &nodes, err);
    if (r == 0)
        r = collect_metrics(kctl, arena, metrics, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
        grid_add_styled(grid, &columns[i]);
    for (uint32_t i = 0; i < json_count(nodes); i++)
        if (is_wanted(question->wanted, json_path_text(json_at(nodes, i), "metadata.name")))
            add_node(grid, arena, loads, metrics, json_at(nodes, i));
    return 0;
}
