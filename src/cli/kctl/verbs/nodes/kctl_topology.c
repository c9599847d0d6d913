/* SPDX-License-Identifier: Apache-2.0 */
/* kctl topology - draws nodes with the tenants of their cores; without a node, lists the
 * parts of the cluster
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/cluster_parts.h"
#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/node_summary.h"
#include "cli/kctl/output/picture_file.h"
#include "cli/print/human.h"
#include "cli/print/terminal_colour.h"
#include "cli/print/topology_svg.h"
#include "cli/print/topology_text.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct topology_options {
    struct common_options common;
    const char *svg;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "svg",
     .argument = "FILE",
     .help = "draw one node as an SVG picture into this file; - is the "
             "standard output",
     .type = OPTION_TEXT,
     .offset = offsetof(struct topology_options, svg)},
};

static const struct option_table table = {
    .name = "kctl topology",
    .usage = "[OPTION]... [NODE]...",
    .summary = "Draw the packages, NUMA nodes, caches and cores of nodes, and "
               "which pods hold them. Without a node, list the parts of the cluster that "
               "topology.levels of the controller's configuration names, and their nodes.",
    OPTION_ROWS(rows),
    .more = "A group of characters is a core, a character one of its hardware "
            "threads:\n"
            "a letter for a pod, '-' kept idle for the pod beside it, '.' "
            "free.\n"
            "Cores that share an L2 cache are adjacent; CPUs that jobs cannot "
            "have are\n"
            "listed as text. A device has the letter of its pod, or '.'.",
};

struct topology_view {
    struct arena *arena;
    const struct topology *topology;
    struct json *pods; /* the pods that hold resources of the node */
    struct topology_tenant *tenants;
    size_t n_tenants;
};

/* A set that cannot be parsed is drawn as empty. */
static struct bitset
cpus_of(const struct json *pod, const char *path)
{
    const char *text = json_path_text(pod, path);
    struct bitset set = {0};

    if (text != NULL && cpuset_parse(text, &set, NULL) < 0)
        set = (struct bitset){0};
    return set;
}

/* Bytes by index of NUMA node. Huge pages are left out, because the total does
 * not contain them.
 */
static const int64_t *
memory_of(struct topology_view *v, const struct json *pod)
{
    const struct json *parts = json_get_path(pod, "status.allocation.memory");
    int64_t *bytes = arena_new_array(v->arena, int64_t, v->topology->n_numa);

    for (uint32_t i = 0; i < json_count(parts); i++) {
        const struct json *part = json_at(parts, i);

        for (unsigned n = 0; n < v->topology->n_numa; n++)
            if (json_get(part, "pageSize") == NULL
                && json_get_int(part, "node", -1) == (int64_t)v->topology->numa[n].os_index)
                bytes[n] += quantity_text_value(json_get_text(part, "bytes"));
    }
    return bytes;
}

static void
add_tenant(struct topology_view *v, struct json *pod)
{
    struct topology_tenant *tenant = &v->tenants[v->n_tenants++];
    const struct json *devices = json_get_path(pod, "status.allocation.devices");
    const char **names = arena_new_array(v->arena, const char *, json_count(devices) + 1);

    json_append(v->arena, v->pods, pod);
    for (uint32_t i = 0; i < json_count(devices); i++)
        names[i] = json_text(json_at(devices, i));
    *tenant = (struct topology_tenant){
        .cpus = cpus_of(pod, "status.allocation.cpus"),
        .withheld = cpus_of(pod, "status.allocation.withheld"),
        .memory = memory_of(v, pod),
        .devices = names,
        .n_devices = json_count(devices),
    };
}

/* Pods deleted by force count as pods while they hold resources. */
static void
add_remnants(struct topology_view *v, const struct json *remnants)
{
    for (uint32_t i = 0; i < json_count(remnants); i++) {
        struct json *remnant = remnants->members[i].value;
        struct json *pod = json_object(v->arena);

        json_set(v->arena, pod, "metadata", remnant);
        json_set(v->arena, json_make_object(v->arena, pod, "status"), "allocation",
                 json_get(remnant, "allocation"));
        json_set_bool(v->arena, pod, "isRemnant", true);
        add_tenant(v, pod);
    }
}

/* Sorts job-9 before job-10. */
static int
compare_pods(const void *a, const void *b)
{
    return strverscmp(json_path_text(*(struct json *const *)a, "metadata.name"),
                      json_path_text(*(struct json *const *)b, "metadata.name"));
}

static int
find_tenants(struct kctl *kctl, const struct target_object *node, const struct json *remnants,
             struct topology_view *v, struct error *err)
{
    const struct target_object all = {.kind = &pod_kind};
    struct json *pods = NULL, **sorted;
    int r = kctl_list(kctl, &all, NULL,
                      arena_printf(v->arena,
                                   "spec.nodeName=%s,status.phase!=Succeeded,"
                                   "status.phase!=Failed",
                                   node->name),
                      v->arena, &pods, err);

    if (r < 0)
        return r;
    v->pods = json_array(v->arena);
    v->tenants = arena_new_array(v->arena, struct topology_tenant,
                                 json_count(pods) + json_count(remnants) + 1);
    sorted = arena_new_array(v->arena, struct json *, json_count(pods) + 1);
    for (uint32_t i = 0; i < json_count(pods); i++)
        sorted[i] = json_at(pods, i);
    qsort(sorted, json_count(pods), sizeof(*sorted), compare_pods);
    for (uint32_t i = 0; i < json_count(pods); i++)
        if (json_get_path(sorted[i], "status.allocation") != NULL)
            add_tenant(v, sorted[i]);
    add_remnants(v, remnants);
    return 0;
}

static void
add_title(struct strbuf *out, const char *name, const struct topology *t)
{
    uint64_t memory = 0;
    char text[HUMAN_TEXT_SIZE];

    for (unsigned i = 0; i < t->n_numa; i++)
        memory += t->numa[i].memory_bytes;
    human_bytes((int64_t)memory, text);
    strbuf_printf(out, "node %s: ", name);
    node_summary_add(t, out);
    strbuf_printf(out, ", %s%s", text, t->is_virtual ? " (virtual: nothing is bound)" : "");
}

/* "default/job-7-0  alice  CPUs 0-3  memory of node 0  gpu0" */
static void
describe_tenant(struct strbuf *out, const struct json *pod, const struct topology_tenant *tenant)
{
    const char *user = json_get_text(json_get_path(pod, "metadata.annotations"), ANNOTATION_USER);
    const char *cpus = json_path_text(pod, "status.allocation.cpus");
    const char *nodes = json_path_text(pod, "status.allocation.memoryNodes");

    strbuf_printf(out, "%s/%s  %s", json_path_text(pod, "metadata.namespace"),
                  json_path_text(pod, "metadata.name"), user != NULL ? user : "");
    if (cpus != NULL)
        strbuf_printf(out, "  CPUs %s", cpus);
    else
        strbuf_add_text(out, "  shared CPUs");
    if (nodes != NULL)
        strbuf_printf(out, "  memory of node %s", nodes);
    for (size_t i = 0; i < tenant->n_devices; i++)
        strbuf_printf(out, "%s%s", i > 0 ? "," : "  ", tenant->devices[i]);
    if (json_is_true(json_get(pod, "isRemnant")))
        strbuf_add_text(out, "  (deleted by force, but not gone yet)");
}

static void
label_tenants(struct topology_view *v)
{
    for (size_t i = 0; i < v->n_tenants; i++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        describe_tenant(&text, json_at(v->pods, (uint32_t)i), &v->tenants[i]);
        v->tenants[i].label = arena_strdup(v->arena, text.text);
    }
}

static void
add_line(const char *sentence, void *context)
{
    strbuf_printf(context, "%s\n", sentence);
}

static void
print(const struct topology_view *v, const char *title, const struct topology *topology,
      struct strbuf *out)
{
    strbuf_printf(out, "%s\n", title);
    node_summary_reserved_cpus(topology, add_line, out);
    topology_text_print(topology, v->tenants, v->n_tenants, terminal_colour_is_wanted(), out);
    for (size_t i = 0; i < v->n_tenants; i++)
        strbuf_printf(out, "%c  %s\n", topology_tenant_mark(i), v->tenants[i].label);
}

static int
draw(struct kctl *kctl, const struct target_object *node, const char *svg, struct error *err)
{
    CLEANUP_STRBUF struct strbuf title = STRBUF_INIT;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(topology_freep) struct topology *topology = NULL;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct topology_view view = {.arena = arena};
    struct json *object = NULL;
    const struct json *wire;
    int r = kctl_get(kctl, node, arena, &object, err);

    if (r < 0)
        return r;
    wire = json_get_path(object, "status.topology");
    if (wire == NULL || json_is(wire, JSON_NULL))
        return error_set(err, -ENOENT, "%s has not reported its hardware", kctl_label(node, arena));
    r = topology_decode(wire, &topology, err);
    view.topology = topology;
    if (r == 0)
        r = find_tenants(kctl, node, json_get_path(object, "status.remnants"), &view, err);
    if (r < 0)
        return r;
    label_tenants(&view);
    add_title(&title, node->name, topology);
    if (svg != NULL)
        topology_svg_print(topology, title.text, view.tenants, view.n_tenants, &out);
    else
        print(&view, title.text, topology, &out);
    return picture_file_write(svg != NULL ? svg : "-", &out, err);
}

/* ---- The cluster ---- */

static int
list_parts(struct kctl *kctl, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct cluster_parts parts;
    int r = cluster_parts_fetch(kctl, arena, &parts, err);

    if (r < 0)
        return r;
    if (parts.n_levels == 0)
        return error_set(err, -ENOENT,
                         "the cluster has no levels (topology.levels of the controller's "
                         "configuration); kctl topology NODE draws the hardware of a node");
    for (unsigned level = 0; level < parts.n_levels; level++) {
        printf("%s%s:\n", level > 0 ? "\n" : "", parts.keys[level]);
        for (size_t i = 0; i < parts.count; i++) {
            const struct cluster_part *part = &parts.items[i];
            CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT, inner = STRBUF_INIT;

            if (part->level != level)
                continue;
            hostlist_format(part->nodes, part->n_nodes, 0, &nodes);
            hostlist_format(part->inner, part->n_inner, 0, &inner);
            printf("  %-20s %5zu node%s  %s", part->value, part->n_nodes,
                   part->n_nodes == 1 ? " " : "s", nodes.text);
            if (part->n_inner > 0)
                printf("  of %s", inner.text);
            putchar('\n');
        }
    }
    return 0;
}

static int
topology_run(struct kctl *kctl, const void *chosen, int n_operands, char **operands,
             struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct topology_options *options = chosen;
    struct named_resources nodes;
    int r;

    if (n_operands == 0 && options->svg == NULL)
        return list_parts(kctl, err);
    r = resource_parse(kctl, &node_kind, n_operands, operands, arena, &nodes, err);
    if (r == 0 && options->svg != NULL && nodes.count != 1)
        return error_set(err, -EINVAL, "--svg draws one node; give one");
    for (size_t i = 0; r == 0 && i < nodes.count; i++) {
        if (i > 0)
            putchar('\n');
        r = draw(kctl, &nodes.items[i], options->svg, err);
    }
    return r;
}

const struct command topology_command = {
    .name = "topology",
    .options = &table,
    .options_size = sizeof(struct topology_options),
    .run = topology_run,
};
