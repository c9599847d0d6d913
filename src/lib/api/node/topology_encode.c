/* SPDX-License-Identifier: Apache-2.0 */
/* topology_encode.c - writes a topology as JSON
 *
 * See: topology.h for the form.
 */
#include <inttypes.h>
#include <stdio.h>

#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define KI              1024u
#define L2_OF_EACH_CORE "cores"

static struct json *
set_text(struct arena *arena, const struct bitset *set)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    cpuset_format(set, &text);
    return json_string_n(arena, text.text, text.length);
}

static struct json *
groups(struct arena *arena, const struct topology_group *list, unsigned n)
{
    struct json *array = json_array(arena);

    for (unsigned i = 0; i < n; i++)
        json_append(arena, array, set_text(arena, &list[i].pus));
    return array;
}

/* In the largest unit that divides the number: "64Gi", or plain bytes. */
static char *
bytes_text(struct arena *arena, uint64_t bytes)
{
    static const char units[] = "KMGT";
    unsigned unit = 0;
    uint64_t n = bytes / KI;

    if (bytes % KI != 0)
        return arena_printf(arena, "%" PRIu64, bytes);
    while (unit < 3 && n >= KI && n % KI == 0) {
        n /= KI;
        unit++;
    }
    return arena_printf(arena, "%" PRIu64 "%ci", n, units[unit]);
}

static struct json *
encode_numa(struct arena *arena, const struct topology *t, unsigned i)
{
    const struct topology_numa *n = &t->numa[i];
    struct json *o = json_object(arena);

    json_set_int(arena, o, "node", n->os_index);
    if (n->kind != TOPOLOGY_MEMORY_PLAIN)
        json_set_string(arena, o, "kind", topology_memory_name(n->kind));
    if (!bitset_is_empty(&n->pus))
        json_set(arena, o, "cpus", set_text(arena, &n->pus));
    else if (n->package != TOPOLOGY_NONE) /* otherwise the CPUs tell */
        json_set_int(arena, o, "package", n->package);
    json_set_string(arena, o, "memory", bytes_text(arena, n->memory_bytes));
    if (t->distances != NULL) {
        struct json *row = json_array(arena);

        for (unsigned j = 0; j < t->n_numa; j++)
            json_append(arena, row, json_int(arena, t->distances[i * t->n_numa + j]));
        json_set(arena, o, "distances", row);
    }
    for (unsigned j = 0; j < n->n_hugepages; j++)
        json_set_string(arena, json_make_object(arena, o, "hugepages"),
                        bytes_text(arena, n->hugepages[j].page_bytes),
                        arena_printf(arena, "%" PRIu64, n->hugepages[j].count));
    return o;
}

static struct json *
encode_device(struct arena *arena, const struct topology *t, const struct topology_device *d)
{
    struct json *o = json_object(arena);

    json_set_string(arena, o, "name", d->name);
    json_set_string(arena, o, "type", d->type);
    if (d->path != NULL)
        json_set_string(arena, o, "path", d->path);
    if (d->model != NULL)
        json_set_string(arena, o, "model", d->model);
    if (d->numa != TOPOLOGY_NONE)
        json_set_int(arena, o, "node", t->numa[d->numa].os_index);
    return o;
}

/* Writes one entry for each kind above 0; kind 0 is the default. */
static struct json *
encode_kinds(struct arena *arena, const struct topology *t)
{
    struct json *array = json_array(arena);
    unsigned highest = 0;

    bitset_foreach(pu, &t->pus) if (t->pu[pu].kind > highest) highest = t->pu[pu].kind;
    for (unsigned kind = 1; kind <= highest; kind++) {
        struct bitset set = {0};
        struct json *o = json_object(arena);

        bitset_foreach(pu, &t->pus) if (t->pu[pu].kind == kind) bitset_add(&set, pu);
        json_set(arena, o, "cpus", set_text(arena, &set));
        json_set_int(arena, o, "kind", kind);
        json_append(arena, array, o);
    }
    return array;
}

static bool
has_siblings(const struct topology *t)
{
    for (unsigned i = 0; i < t->n_cores; i++)
        if (bitset_count(&t->cores[i].pus) != 1)
            return true;
    return false;
}

static void
set_unless_empty(struct arena *arena, struct json *o, const char *name, struct json *array)
{
    if (json_count(array) > 0)
        json_set(arena, o, name, array);
}

static void
set_cpus_unless_empty(struct arena *arena, struct json *o, const char *name,
                      const struct bitset *set)
{
    if (!bitset_is_empty(set))
        json_set(arena, o, name, set_text(arena, set));
}

/* Most cores have an L2 cache of their own; the form then has a word in place
 * of the list.
 */
static bool
has_l2_of_each_core(const struct topology *t)
{
    if (t->n_l2 == 0 || t->n_l2 != t->n_cores)
        return false;
    for (unsigned i = 0; i < t->n_l2; i++)
        if (!bitset_equals(&t->l2[i].pus, &t->cores[i].pus))
            return false;
    return true;
}

struct json *
topology_encode(const struct topology *t, struct arena *arena)
{
    struct json *o = json_object(arena);
    struct json *numa = json_array(arena);
    struct json *devices = json_array(arena);

    json_set_int(arena, o, "version", TOPOLOGY_VERSION);
    json_set(arena, o, "cpus", set_text(arena, &t->pus));
    set_cpus_unless_empty(arena, o, "reserved", &t->reserved);
    set_cpus_unless_empty(arena, o, "isolated", &t->isolated);
    set_cpus_unless_empty(arena, o, "offline", &t->offline);
    if (t->is_virtual)
        json_set_bool(arena, o, "virtual", true);
    json_set(arena, o, "packages", groups(arena, t->packages, t->n_packages));
    set_unless_empty(arena, o, "dies", groups(arena, t->dies, t->n_dies));
    set_unless_empty(arena, o, "clusters", groups(arena, t->clusters, t->n_clusters));
    set_unless_empty(arena, o, "l3", groups(arena, t->l3, t->n_l3));
    if (has_l2_of_each_core(t))
        json_set_string(arena, o, "l2", L2_OF_EACH_CORE);
    else
        set_unless_empty(arena, o, "l2", groups(arena, t->l2, t->n_l2));
    if (has_siblings(t))
        json_set(arena, o, "cores", groups(arena, t->cores, t->n_cores));
    set_unless_empty(arena, o, "kinds", encode_kinds(arena, t));
    for (unsigned i = 0; i < t->n_numa; i++)
        json_append(arena, numa, encode_numa(arena, t, i));
    json_set(arena, o, "numaNodes", numa);
    for (unsigned i = 0; i < t->n_devices; i++)
        json_append(arena, devices, encode_device(arena, t, &t->devices[i]));
    set_unless_empty(arena, o, "devices", devices);
    return o;
}
