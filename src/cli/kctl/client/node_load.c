/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/node_load.h"

#include "cli/kctl/client/kctl.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

static int64_t
amount(const struct json *list, const char *name, bool milli)
{
    const char *text = json_get_text(list, name);

    return milli ? quantity_text_milli(text) : quantity_text_value(text);
}

static void
add_cpus(struct node_load *load, const char *list)
{
    struct bitset set = {0};

    if (list != NULL && cpuset_parse(list, &set, NULL) == 0)
        bitset_or(&load->cpus, &set);
}

static void
add_allocation(struct node_load *load, struct arena *arena, const struct json *allocation)
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

static struct node_load *
load_of(struct map *loads, struct arena *arena, const char *node)
{
    struct node_load *load = map_find(loads, node);

    if (load == NULL) {
        load = arena_alloc(arena, sizeof(*load));
        map_put(loads, node, load);
    }
    return load;
}

/* Pods deleted by force count while they hold resources. */
static void
add_remnants(struct map *loads, struct arena *arena, const struct json *node)
{
    const struct json *remnants = json_get_path(node, "status.remnants");

    for (uint32_t i = 0; i < json_count(remnants); i++)
        add_allocation(load_of(loads, arena, json_path_text(node, "metadata.name")), arena,
                       json_get(remnants->members[i].value, "allocation"));
}

static void
add_pod(struct map *loads, struct arena *arena, const struct json *pod)
{
    const char *node = json_path_text(pod, "spec.nodeName");
    const struct json *containers = json_get_path(pod, "spec.containers");
    struct node_load *load;

    if (node == NULL)
        return;
    load = load_of(loads, arena, node);
    load->pods++;
    add_allocation(load, arena, json_get_path(pod, "status.allocation"));
    for (uint32_t i = 0; i < json_count(containers); i++) {
        const struct json *requests = json_get_path(json_at(containers, i), "resources.requests");

        load->mcpu += amount(requests, "cpu", true);
        load->memory_bytes += amount(requests, "memory", false);
    }
}

int
node_loads_collect(struct kctl *kctl, const char *label_selector, struct arena *arena,
                   struct map *loads, struct json **ret_nodes, struct error *err)
{
    const struct target_object nodes = {.kind = &node_kind};
    const struct target_object pods = {.kind = &pod_kind};
    struct json *items = NULL;
    int r = kctl_list(kctl, &nodes, label_selector, NULL, arena, ret_nodes, err);

    if (r == 0)
        r = kctl_list(kctl, &pods, NULL,
                      "spec.nodeName!=,status.phase!=Succeeded,"
                      "status.phase!=Failed",
                      arena, &items, err);
    for (uint32_t i = 0; i < json_count(items); i++)
        add_pod(loads, arena, json_at(items, i));
    for (uint32_t i = 0; i < json_count(*ret_nodes); i++)
        add_remnants(loads, arena, json_at(*ret_nodes, i));
    return r;
}

static bool
is_free(const struct node_load *load, const struct topology *t, unsigned numa, unsigned core)
{
    return bitset_contains(&t->numa[numa].pus, &t->cores[core].pus)
           && !bitset_intersects(&load->cpus, &t->cores[core].pus);
}

unsigned
node_load_free_cores(const struct node_load *load, const struct topology *t, unsigned numa)
{
    unsigned count = 0;

    for (unsigned i = 0; i < t->n_cores; i++)
        count += is_free(load, t, numa, i);
    return count;
}

int64_t
node_load_free_bytes(const struct node_load *load, const struct topology *t, unsigned numa)
{
    int64_t bytes = (int64_t)t->numa[numa].memory_bytes;

    for (const struct memory_hold *h = load->memory; h != NULL; h = h->next)
        if (h->node == t->numa[numa].os_index)
            bytes -= h->bytes;
    return bytes > 0 ? bytes : 0;
}
