/* SPDX-License-Identifier: Apache-2.0 */
/* topology_decode.c - reads a topology from JSON
 *
 * See: topology.h for the form.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

struct topology_reader {
    struct topology *t;
    struct error *err;
};

static int
read_set(struct topology_reader *r, const struct json *value, const char *what,
         struct bitset *ret_set)
{
    const char *text = json_text(value);

    if (text == NULL || cpuset_parse(text, ret_set, NULL) < 0)
        return error_set(r->err, -EINVAL, "topology: %s: '%s' is not a list of CPUs", what,
                         text ? text : "");
    return 0;
}

/* Reads an array of CPU lists. Empty lists count too, because groups are
 * identified by their place.
 */
static int
read_groups(struct topology_reader *r, const struct json *o, const char *name,
            struct topology_group **ret_groups, unsigned *ret_n)
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

/* The word "cores" in place of the list means that each core has an L2 cache.
 */
static int
read_l2(struct topology_reader *r, const struct json *o)
{
    struct topology *t = r->t;
    const char *word = json_get_text(o, "l2");

    if (word == NULL)
        return read_groups(r, o, "l2", &t->l2, &t->n_l2);
    if (strcmp(word, "cores") != 0)
        return error_set(r->err, -EINVAL, "topology: l2: '%s' is neither a list nor 'cores'", word);
    t->n_l2 = t->n_cores;
    t->l2 = xnew_array(struct topology_group, t->n_l2);
    if (t->n_l2 > 0)
        memcpy(t->l2, t->cores, t->n_l2 * sizeof(*t->l2));
    return 0;
}

/* Without a list of cores every PU is a core of its own. */
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
read_hugepages(struct topology_reader *r, const struct json *o, struct topology_numa *n)
{
    const struct json *pages = json_get(o, "hugepages");

    for (unsigned i = 0; i < json_count(pages); i++) {
        const char *count = json_text(pages->members[i].value);

        if (n->n_hugepages == ARRAY_SIZE(n->hugepages) || count == NULL)
            return error_set(r->err, -EINVAL, "topology: hugepages of NUMA node %u", n->os_index);
        n->hugepages[n->n_hugepages++] = (struct topology_hugepages){
            .page_bytes = (uint64_t)quantity_text_value(pages->members[i].name),
            .count = strtoull(count, NULL, 10),
        };
    }
    return 0;
}

static int
read_distances(struct topology_reader *r, const struct json *o, unsigned i)
{
    const struct json *row = json_get(o, "distances");
    struct topology *t = r->t;
    int64_t distance;

    if (row == NULL)
        return 0;
    if (t->distances == NULL)
        t->distances = xnew_array(uint16_t, (size_t)t->n_numa * t->n_numa);
    for (unsigned j = 0; j < t->n_numa; j++) {
        if (json_to_int(json_at(row, j), &distance) < 0 || distance < 0 || distance > UINT16_MAX)
            return error_set(r->err, -EINVAL, "topology: distances of NUMA node %u",
                             t->numa[i].os_index);
        t->distances[i * t->n_numa + j] = (uint16_t)distance;
    }
    return 0;
}

static uint16_t
read_package(const struct topology *t, const struct json *node)
{
    int64_t package = json_get_int(node, "package", -1);

    return package >= 0 && package < (int64_t)t->n_packages ? (uint16_t)package : TOPOLOGY_NONE;
}

static int
read_numa(struct topology_reader *r, const struct json *o)
{
    const struct json *array = json_get(o, "numaNodes");
    struct topology *t = r->t;
    int result = 0;

    t->n_numa = json_count(array);
    if (t->n_numa == 0 || t->n_numa > TOPOLOGY_MAX_NUMA)
        return error_set(r->err, -EINVAL, "topology: %u NUMA nodes, expected 1 to %u", t->n_numa,
                         TOPOLOGY_MAX_NUMA);
    t->numa = xnew_array(struct topology_numa, t->n_numa);
    for (unsigned i = 0; i < t->n_numa && result == 0; i++) {
        const struct json *node = json_at(array, i);
        struct topology_numa *n = &t->numa[i];
        const struct json *cpus = json_get(node, "cpus");

        n->os_index = (unsigned)json_get_int(node, "node", i);
        n->kind = topology_memory_find(json_get_text(node, "kind"));
        n->package = cpus == NULL ? read_package(t, node) : TOPOLOGY_NONE;
        n->memory_bytes = (uint64_t)quantity_text_value(json_get_text(node, "memory"));
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
read_devices(struct topology_reader *r, const struct json *o)
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
            return error_set(r->err, -EINVAL, "topology: devices[%u] has no name or type", i);
    }
    return 0;
}

static int
read_kinds(struct topology_reader *r, const struct json *o)
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
        bitset_foreach(pu, &set) t->pu[pu].kind = (uint16_t)json_get_int(from, "kind", 0);
    }
    return 0;
}

/* ---- The invariant: the core, cache, package and NUMA node of each PU ---- */

static int
place_pus(struct topology_reader *r, const struct topology_group *list, unsigned n,
          const char *what, size_t offset)
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
                return error_set(r->err, -EINVAL, "topology: CPU %u is in two %s", pu, what);
            *place = (uint16_t)i;
        }
    }
    return 0;
}

static int
place_numa(struct topology_reader *r)
{
    struct topology *t = r->t;

    for (unsigned i = 0; i < t->n_numa; i++)
        bitset_foreach(pu, &t->numa[i].pus)
        {
            if (!bitset_has(&t->pus, pu))
                continue;
            if (t->pu[pu].numa != TOPOLOGY_NONE)
                return error_set(r->err, -EINVAL, "topology: CPU %u is in two NUMA nodes", pu);
            t->pu[pu].numa = (uint16_t)i;
        }
    return 0;
}

static int
check_places(struct topology_reader *r)
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
            return error_set(r->err, -EINVAL, "topology: CPU %u is in no %s", pu, missing);
    }
    return 0;
}

/* A NUMA node belongs to a package if all of its PUs do. */
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
place_all(struct topology_reader *r)
{
    struct topology *t = r->t;
    const struct {
        const struct topology_group *list;
        unsigned n;
        const char *what;
        size_t offset;
    } levels[] = {
        {t->cores, t->n_cores, "cores", offsetof(struct topology_pu, core)},
        {t->l2, t->n_l2, "L2 caches", offsetof(struct topology_pu, l2)},
        {t->l3, t->n_l3, "L3 caches", offsetof(struct topology_pu, l3)},
        {t->packages, t->n_packages, "packages", offsetof(struct topology_pu, package)},
    };
    int result = 0;

    bitset_foreach(pu, &t->pus) t->n_pu = pu + 1;
    t->pu = xnew_array(struct topology_pu, t->n_pu);
    for (unsigned i = 0; i < t->n_pu; i++)
        t->pu[i] = (struct topology_pu){TOPOLOGY_NONE, TOPOLOGY_NONE, TOPOLOGY_NONE,
                                        TOPOLOGY_NONE, TOPOLOGY_NONE, 0};
    for (size_t i = 0; i < ARRAY_SIZE(levels) && result == 0; i++)
        result = place_pus(r, levels[i].list, levels[i].n, levels[i].what, levels[i].offset);
    if (result == 0)
        result = place_numa(r);
    if (result == 0)
        result = check_places(r);
    find_packages(t);
    return result;
}

static int
read_version(struct topology_reader *r, const struct json *o)
{
    int64_t version = json_get_int(o, "version", 1);

    if (version >= 1 && version <= TOPOLOGY_VERSION)
        return 0;
    return error_set(r->err, -EINVAL,
                     "topology: unknown version %" PRId64 ", expected %d: the "
                     "node's agent is newer than this program",
                     version, TOPOLOGY_VERSION);
}

static int
read_cpus(struct topology_reader *r, const struct json *o)
{
    const struct {
        const char *name;
        struct bitset *set;
    } others[] = {
        {"reserved", &r->t->reserved},
        {"isolated", &r->t->isolated},
        {"offline", &r->t->offline},
    };
    int result = read_set(r, json_get(o, "cpus"), "cpus", &r->t->pus);

    if (result == 0 && bitset_is_empty(&r->t->pus))
        return error_set(r->err, -EINVAL, "topology: it has no CPUs");
    for (size_t i = 0; i < ARRAY_SIZE(others) && result == 0; i++)
        if (json_get(o, others[i].name) != NULL)
            result = read_set(r, json_get(o, others[i].name), others[i].name, others[i].set);
    return result;
}

static int
read_levels(struct topology_reader *r, const struct json *o)
{
    struct topology *t = r->t;
    const struct {
        const char *name;
        struct topology_group **list;
        unsigned *n;
    } levels[] = {
        {"packages", &t->packages, &t->n_packages}, {"dies", &t->dies, &t->n_dies},
        {"clusters", &t->clusters, &t->n_clusters}, {"l3", &t->l3, &t->n_l3},
        {"cores", &t->cores, &t->n_cores},
    };
    int result = 0;

    for (size_t i = 0; i < ARRAY_SIZE(levels) && result == 0; i++)
        result = read_groups(r, o, levels[i].name, levels[i].list, levels[i].n);
    if (result == 0 && t->n_cores == 0)
        make_single_cores(t);
    return result < 0 ? result : read_l2(r, o);
}

int
topology_decode(const struct json *o, struct topology **ret_topology, struct error *err)
{
    static int (*const steps[])(struct topology_reader * r, const struct json *o) = {
        read_version,
        read_cpus,
        read_levels,
        read_numa,
    };
    CLEANUP(topology_freep) struct topology *t = topology_new();
    struct topology_reader r = {.t = t, .err = err};
    int result = 0;

    for (size_t i = 0; i < ARRAY_SIZE(steps) && result == 0; i++)
        result = steps[i](&r, o);
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
