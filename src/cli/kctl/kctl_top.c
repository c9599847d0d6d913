/* SPDX-License-Identifier: Apache-2.0 */
/* kctl top - how full the nodes are: what is given to pods, of what there is */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/command.h"
#include "cli/kctl/kctl.h"
#include "cli/kctl/resource.h"
#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/ink.h"
#include "lib/api/cpuset.h"
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

struct memory_hold { /* by one pod, of one NUMA node */
    int64_t node, bytes;
    struct memory_hold *next;
};

struct load {
    int64_t mcpu;
    int64_t memory_bytes;
    unsigned pods;
    struct bitset cpus; /* that pods have to themselves, or keep idle */
    struct memory_hold *memory;
};

static int64_t
amount(const struct json *list, const char *name, bool milli)
{
    const char *text = json_get_text(list, name);

    return milli ? quantity_text_milli(text) : quantity_text_value(text);
}

static void
add_cpus(struct load *load, const char *list)
{
    struct bitset set = {0};

    if (list != NULL && cpuset_parse(list, &set, NULL) == 0)
        bitset_or(&load->cpus, &set);
}

static void
add_allocation(struct load *load,
               struct arena *arena,
               const struct json *allocation)
{
    const struct json *memory = json_get(allocation, "memory");

    add_cpus(load, json_get_text(allocation, "cpus"));
    add_cpus(load, json_get_text(allocation, "withheld"));
    for (uint32_t i = 0; i < json_count(memory); i++) {
        const struct json *part = json_at(memory, i);
        struct memory_hold *hold;

        if (json_get(part, "pageSize") != NULL)
            continue;
        hold = arena_alloc(arena, sizeof(*hold));
        hold->node = json_get_int(part, "node", -1);
        hold->bytes = amount(part, "bytes", false);
        hold->next = load->memory;
        load->memory = hold;
    }
}

static struct load *
load_of(struct map *loads, struct arena *arena, const char *node)
{
    struct load *load = map_find(loads, node);

    if (load == NULL) {
        load = arena_alloc(arena, sizeof(*load));
        map_put(loads, node, load);
    }
    return load;
}

/* What pods deleted by force still hold. */
static void
add_remnants(struct map *loads, struct arena *arena, const struct json *node)
{
    const struct json *remnants = json_get_path(node, "status.remnants");

    for (uint32_t i = 0; i < json_count(remnants); i++)
        add_allocation(
            load_of(loads, arena, json_path_text(node, "metadata.name")),
            arena,
            json_get(remnants->members[i].value, "allocation"));
}

static void
add_pod(struct map *loads, struct arena *arena, const struct json *pod)
{
    const char *node = json_path_text(pod, "spec.nodeName");
    const struct json *containers = json_get_path(pod, "spec.containers");
    struct load *load;

    if (node == NULL)
        return;
    load = load_of(loads, arena, node);
    load->pods++;
    add_allocation(load, arena, json_get_path(pod, "status.allocation"));
    for (uint32_t i = 0; i < json_count(containers); i++) {
        const struct json *requests =
            json_get_path(json_at(containers, i), "resources.requests");

        load->mcpu += amount(requests, "cpu", true);
        load->memory_bytes += amount(requests, "memory", false);
    }
}

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

static unsigned
free_cores(const struct topology *t, unsigned numa, const struct load *load)
{
    unsigned count = 0;

    for (unsigned i = 0; i < t->n_cores; i++)
        count += bitset_contains(&t->numa[numa].pus, &t->cores[i].pus)
                 && !bitset_intersects(&load->cpus, &t->cores[i].pus);
    return count;
}

static int64_t
free_bytes(const struct topology *t, unsigned numa, const struct load *load)
{
    int64_t bytes = (int64_t)t->numa[numa].memory_bytes;

    for (const struct memory_hold *h = load->memory; h != NULL; h = h->next)
        if (h->node == t->numa[numa].os_index)
            bytes -= h->bytes;
    return bytes > 0 ? bytes : 0;
}

/* The cores and memory free in the NUMA node that has most: "14 cores, 48Gi" */
static const char *
largest_hole(struct arena *arena,
             const struct json *node,
             const struct load *load)
{
    CLEANUP(topology_freep) struct topology *t = NULL;
    const struct json *wire = json_get_path(node, "status.topology");
    unsigned best_cores = 0;
    int64_t best_bytes = 0;

    if (wire == NULL || json_is(wire, JSON_NULL)
        || topology_decode(wire, &t, NULL) < 0)
        return "-";
    for (unsigned i = 0; i < t->n_numa; i++) {
        unsigned cores = free_cores(t, i, load);
        int64_t bytes = free_bytes(t, i, load);

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
    static const struct load nothing;
    const struct json *there = json_get_path(node, "status.allocatable");
    const char *name = json_path_text(node, "metadata.name");
    const struct load *load = map_find(loads, name);
    const int64_t mcpu = amount(there, "cpu", true);
    const int64_t memory = amount(there, "memory", false);
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
collect(struct kctl *kctl,
        const char *label_selector,
        struct arena *arena,
        struct map *loads,
        struct json **ret_nodes,
        struct error *err)
{
    const struct target_object nodes = {.kind = &node_kind};
    const struct target_object pods = {.kind = &pod_kind};
    struct json *items = NULL;
    int r =
        kctl_list(kctl, &nodes, label_selector, NULL, arena, ret_nodes, err);

    if (r == 0)
        r = kctl_list(kctl,
                      &pods,
                      NULL,
                      "spec.nodeName!=,status.phase!=Succeeded,"
                      "status.phase!=Failed",
                      arena,
                      &items,
                      err);
    for (uint32_t i = 0; i < json_count(items); i++)
        add_pod(loads, arena, json_at(items, i));
    for (uint32_t i = 0; i < json_count(*ret_nodes); i++)
        add_remnants(loads, arena, json_at(*ret_nodes, i));
    return r;
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
    int r = collect(kctl, o->label_selector, arena, loads, &nodes, err);

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
