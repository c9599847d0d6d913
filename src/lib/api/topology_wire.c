/* SPDX-License-Identifier: Apache-2.0 */
/* topology_wire.c - a topology to JSON and back
 *
 * See: topology.h for the form.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/cpuset.h"
#include "lib/api/quantity.h"
#include "lib/api/topology.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define KI 1024u

/* ---- Writing ---- */

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

/* "64Gi", or as many Ki as it is. */
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
    if (!bitset_is_empty(&n->pus))
        json_set(arena, o, "cpus", set_text(arena, &n->pus));
    json_set_string(arena, o, "memory", bytes_text(arena, n->memory_bytes));
    if (t->distances != NULL) {
        struct json *row = json_array(arena);

        for (unsigned j = 0; j < t->n_numa; j++)
            json_append(arena,
                        row,
                        json_int(arena, t->distances[i * t->n_numa + j]));
        json_set(arena, o, "distances", row);
    }
    for (unsigned j = 0; j < n->n_hugepages; j++)
        json_set_string(arena,
                        json_make_object(arena, o, "hugepages"),
                        bytes_text(arena, n->hugepages[j].page_bytes),
                        arena_printf(arena, "%" PRIu64, n->hugepages[j].count));
    return o;
}

static struct json *
encode_device(struct arena *arena,
              const struct topology *t,
              const struct topology_device *d)
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

/* One entry for each kind above the first, which is not written. */
static struct json *
encode_kinds(struct arena *arena, const struct topology *t)
{
    struct json *array = json_array(arena);
    unsigned highest = 0;

    bitset_foreach(pu, &t->pus) if (t->pu[pu].kind > highest) highest =
        t->pu[pu].kind;
    for (unsigned kind = 1; kind <= highest; kind++) {
        struct bitset set = {0};
        struct json *o = json_object(arena);

        bitset_foreach(pu, &t->pus) if (t->pu[pu].kind == kind)
            bitset_add(&set, pu);
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
set_unless_empty(struct arena *arena,
                 struct json *o,
                 const char *name,
                 struct json *array)
{
    if (json_count(array) > 0)
        json_set(arena, o, name, array);
}

struct json *
topology_encode(const struct topology *t, struct arena *arena)
{
    struct json *o = json_object(arena);
    struct json *numa = json_array(arena);
    struct json *devices = json_array(arena);

    json_set(arena, o, "cpus", set_text(arena, &t->pus));
    if (!bitset_is_empty(&t->reserved))
        json_set(arena, o, "reserved", set_text(arena, &t->reserved));
    if (t->is_virtual)
        json_set_bool(arena, o, "virtual", true);
    json_set(arena, o, "packages", groups(arena, t->packages, t->n_packages));
    set_unless_empty(arena, o, "l3", groups(arena, t->l3, t->n_l3));
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

/* ---- Reading ---- */

struct reader {
    struct topology *t;
    struct error *err;
};

static int
read_set(struct reader *r,
         const struct json *value,
         const char *what,
         struct bitset *ret_set)
{
    const char *text = json_text(value);

    if (text == NULL || cpuset_parse(text, ret_set, NULL) < 0)
        return error_set(r->err,
                         -EINVAL,
                         "topology: %s: '%s' is not a list of CPUs",
                         what,
                         text ? text : "");
    return 0;
}

/* An array of CPU lists. Those that are empty count too: a place is a name. */
static int
read_groups(struct reader *r,
            const struct json *o,
            const char *name,
            struct topology_group **ret_groups,
            unsigned *ret_n)
{
    const struct json *array = json_get(o, name);
    unsigned n = json_count(array);
    int result;

    if (n > BITSET_BITS)
        return error_set(r->err, -EINVAL, "topology: too many %s", name);
    *ret_groups = xnew_array(struct topology_group, n);
    *ret_n = n;
    for (unsigned i = 0; i < n; i++) {
        result = read_set(r, json_at(array, i), name, &(*ret_groups)[i].pus);
        if (result < 0)
            return result;
    }
    return 0;
}

/* Without siblings every PU is a core of its own. */
static void
make_single_cores(struct topology *t)
{
    free(t->cores);
    t->n_cores = bitset_count(&t->pus);
    t->cores = xnew_array(struct topology_group, t->n_cores);
    unsigned i = 0;
    bitset_foreach(pu, &t->pus) bitset_add(&t->cores[i++].pus, pu);
}

static int
read_hugepages(struct reader *r, const struct json *o, struct topology_numa *n)
{
    const struct json *pages = json_get(o, "hugepages");

    for (unsigned i = 0; i < json_count(pages); i++) {
        const char *count = json_text(pages->members[i].value);

        if (n->n_hugepages == ARRAY_SIZE(n->hugepages) || count == NULL)
            return error_set(r->err,
                             -EINVAL,
                             "topology: hugepages of NUMA node %u",
                             n->os_index);
        n->hugepages[n->n_hugepages++] = (struct topology_hugepages){
            .page_bytes = (uint64_t)quantity_text_value(pages->members[i].name),
            .count = strtoull(count, NULL, 10),
        };
    }
    return 0;
}

static int
read_distances(struct reader *r, const struct json *o, unsigned i)
{
    const struct json *row = json_get(o, "distances");
    struct topology *t = r->t;
    int64_t distance;

    if (row == NULL)
        return 0;
    if (t->distances == NULL)
        t->distances = xnew_array(uint16_t, (size_t)t->n_numa * t->n_numa);
    for (unsigned j = 0; j < t->n_numa; j++) {
        if (json_to_int(json_at(row, j), &distance) < 0 || distance < 0
            || distance > UINT16_MAX)
            return error_set(r->err,
                             -EINVAL,
                             "topology: distances of NUMA node %u",
                             t->numa[i].os_index);
        t->distances[i * t->n_numa + j] = (uint16_t)distance;
    }
    return 0;
}

static int
read_numa(struct reader *r, const struct json *o)
{
    const struct json *array = json_get(o, "numaNodes");
    struct topology *t = r->t;
    int result = 0;

    t->n_numa = json_count(array);
    if (t->n_numa == 0 || t->n_numa > TOPOLOGY_MAX_NUMA)
        return error_set(r->err,
                         -EINVAL,
                         "topology: %u NUMA nodes, expected 1 to %u",
                         t->n_numa,
                         TOPOLOGY_MAX_NUMA);
    t->numa = xnew_array(struct topology_numa, t->n_numa);
    for (unsigned i = 0; i < t->n_numa && result == 0; i++) {
        const struct json *node = json_at(array, i);
        struct topology_numa *n = &t->numa[i];
        const struct json *cpus = json_get(node, "cpus");

        n->os_index = (unsigned)json_get_int(node, "node", i);
        n->package = TOPOLOGY_NONE;
        n->memory_bytes =
            (uint64_t)quantity_text_value(json_get_text(node, "memory"));
        if (cpus != NULL)
            result = read_set(r, cpus, "numaNodes", &n->pus);
        if (result == 0)
            result = read_hugepages(r, node, n);
        if (result == 0)
            result = read_distances(r, node, i);
    }
    return result;
}

static char *
dup_text(const struct json *o, const char *name)
{
    const char *text = json_get_text(o, name);

    return text != NULL ? xstrdup(text) : NULL;
}

static uint16_t
numa_place(const struct topology *t, int64_t os_index)
{
    for (unsigned i = 0; i < t->n_numa; i++)
        if (t->numa[i].os_index == os_index)
            return (uint16_t)i;
    return TOPOLOGY_NONE;
}

static int
read_devices(struct reader *r, const struct json *o)
{
    const struct json *array = json_get(o, "devices");
    struct topology *t = r->t;
    unsigned n = json_count(array);

    t->devices = xnew_array(struct topology_device, n);
    for (unsigned i = 0; i < n; i++) {
        const struct json *from = json_at(array, i);
        struct topology_device *d = &t->devices[t->n_devices++];

        d->name = dup_text(from, "name");
        d->type = dup_text(from, "type");
        d->path = dup_text(from, "path");
        d->model = dup_text(from, "model");
        d->numa = numa_place(t, json_get_int(from, "node", -1));
        if (d->name == NULL || d->type == NULL)
            return error_set(r->err,
                             -EINVAL,
                             "topology: devices[%u] has no name or type",
                             i);
    }
    return 0;
}

static int
read_kinds(struct reader *r, const struct json *o)
{
    const struct json *array = json_get(o, "kinds");
    struct topology *t = r->t;

    for (unsigned i = 0; i < json_count(array); i++) {
        const struct json *from = json_at(array, i);
        struct bitset set = {0};
        int result = read_set(r, json_get(from, "cpus"), "kinds", &set);

        if (result < 0)
            return result;
        bitset_and(&set, &t->pus);
        bitset_foreach(pu, &set) t->pu[pu].kind =
            (uint16_t)json_get_int(from, "kind", 0);
    }
    return 0;
}

/* ---- The invariant: which core, cache, package and NUMA node of each PU ---- */

static int
place_pus(struct reader *r,
          const struct topology_group *list,
          unsigned n,
          const char *what,
          size_t offset)
{
    struct topology *t = r->t;

    for (unsigned i = 0; i < n; i++) {
        bitset_foreach(pu, &list[i].pus)
        {
            uint16_t *place;

            if (!bitset_has(&t->pus, pu))
                continue; /* reserved */
            place = (uint16_t *)(void *)((char *)&t->pu[pu] + offset);
            if (*place != TOPOLOGY_NONE)
                return error_set(r->err,
                                 -EINVAL,
                                 "topology: CPU %u is in two %s",
                                 pu,
                                 what);
            *place = (uint16_t)i;
        }
    }
    return 0;
}

static int
place_numa(struct reader *r)
{
    struct topology *t = r->t;

    for (unsigned i = 0; i < t->n_numa; i++)
        bitset_foreach(pu, &t->numa[i].pus)
        {
            if (!bitset_has(&t->pus, pu))
                continue;
            if (t->pu[pu].numa != TOPOLOGY_NONE)
                return error_set(r->err,
                                 -EINVAL,
                                 "topology: CPU %u is in two NUMA nodes",
                                 pu);
            t->pu[pu].numa = (uint16_t)i;
        }
    return 0;
}

static int
check_places(struct reader *r)
{
    const struct topology *t = r->t;

    bitset_foreach(pu, &t->pus)
    {
        const struct topology_pu *p = &t->pu[pu];
        const char *missing = p->core == TOPOLOGY_NONE      ? "core"
                              : p->package == TOPOLOGY_NONE ? "package"
                              : p->numa == TOPOLOGY_NONE    ? "NUMA node"
                                                            : NULL;

        if (missing != NULL)
            return error_set(r->err,
                             -EINVAL,
                             "topology: CPU %u is in no %s",
                             pu,
                             missing);
    }
    return 0;
}

/* A NUMA node is of a package when all of its PUs are. */
static void
find_packages(struct topology *t)
{
    for (unsigned i = 0; i < t->n_numa; i++)
        for (unsigned j = 0; j < t->n_packages; j++)
            if (!bitset_is_empty(&t->numa[i].pus)
                && bitset_contains(&t->packages[j].pus, &t->numa[i].pus))
                t->numa[i].package = (uint16_t)j;
}

static int
place_all(struct reader *r)
{
    struct topology *t = r->t;
    int result;

    bitset_foreach(pu, &t->pus) t->n_pu = pu + 1;
    t->pu = xnew_array(struct topology_pu, t->n_pu);
    for (unsigned i = 0; i < t->n_pu; i++)
        t->pu[i] = (struct topology_pu){TOPOLOGY_NONE,
                                        TOPOLOGY_NONE,
                                        TOPOLOGY_NONE,
                                        TOPOLOGY_NONE,
                                        0};
    result = place_pus(r,
                       t->cores,
                       t->n_cores,
                       "cores",
                       offsetof(struct topology_pu, core));
    if (result == 0)
        result = place_pus(r,
                           t->l3,
                           t->n_l3,
                           "L3 caches",
                           offsetof(struct topology_pu, l3));
    if (result == 0)
        result = place_pus(r,
                           t->packages,
                           t->n_packages,
                           "packages",
                           offsetof(struct topology_pu, package));
    if (result == 0)
        result = place_numa(r);
    if (result == 0)
        result = check_places(r);
    find_packages(t);
    return result;
}

int
topology_decode(const struct json *o,
                struct topology **ret_topology,
                struct error *err)
{
    CLEANUP(topology_freep) struct topology *t = topology_new();
    struct reader r = {.t = t, .err = err};
    const struct json *reserved = json_get(o, "reserved");
    int result = read_set(&r, json_get(o, "cpus"), "cpus", &t->pus);

    if (result == 0 && bitset_is_empty(&t->pus))
        result = error_set(err, -EINVAL, "topology: it has no CPUs");
    if (result == 0 && reserved != NULL)
        result = read_set(&r, reserved, "reserved", &t->reserved);
    if (result == 0)
        result = read_groups(&r, o, "packages", &t->packages, &t->n_packages);
    if (result == 0)
        result = read_groups(&r, o, "l3", &t->l3, &t->n_l3);
    if (result == 0)
        result = read_groups(&r, o, "cores", &t->cores, &t->n_cores);
    if (result == 0 && t->n_cores == 0)
        make_single_cores(t);
    if (result == 0)
        result = read_numa(&r, o);
    if (result == 0)
        result = place_all(&r);
    if (result == 0)
        result = read_kinds(&r, o);
    if (result == 0)
        result = read_devices(&r, o);
    if (result < 0)
        return result;
    t->is_virtual = json_is_true(json_get(o, "virtual"));
    *ret_topology = t;
    t = NULL;
    return 0;
}
