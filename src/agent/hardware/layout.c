/* SPDX-License-Identifier: Apache-2.0 */
/* Firmware describes machines in ways that no job needs: dies that are packages, groups that
 * repeat a NUMA node, memory without CPUs, memory of a GPU that looks like a NUMA node. The
 * rules here bring them to one form, so that two machines of one kind give one text: the
 * scheduler shares everything between nodes with equal texts.
 */
#include "agent/hardware/layout.h"

#include <errno.h>
#include <string.h>

#include <hwloc/cpukinds.h>
#include <hwloc/distances.h>

#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

/* PUs */

static int
refuse_large(hwloc_topology_t machine, struct error *err)
{
    hwloc_const_cpuset_t all = hwloc_topology_get_complete_cpuset(machine);
    int last = hwloc_bitmap_last(all);
    int numa = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_NUMANODE);

    if (last < 0 || last >= (int)BITSET_BITS)
        return error_set(err, -E2BIG,
                         "the topology has a PU with index %d; a node can "
                         "have at most %u PUs",
                         last, BITSET_BITS);
    if (numa > (int)TOPOLOGY_MAX_NUMA)
        return error_set(err, -E2BIG,
                         "the topology has %d NUMA nodes; a node can have at "
                         "most %u",
                         numa, TOPOLOGY_MAX_NUMA);
    return 0;
}

/* Adds the other threads of the same cores: a job that is given a core has all
 * of its threads, and a core with a CPU reserved for the system should run no
 * job.
 */
static struct bitset
whole_cores(hwloc_topology_t machine, const struct topology *t, const struct bitset *pus)
{
    struct bitset whole = *pus;
    hwloc_obj_t core = NULL;

    while ((core = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_CORE, core))) {
        struct bitset threads = {0};

        bitset_foreach(pu, &t->pus) if (hwloc_bitmap_isset(core->cpuset, pu))
            bitset_add(&threads, pu);
        if (bitset_intersects(&threads, pus))
            bitset_or(&whole, &threads);
    }
    return whole;
}

static int
remove_reserved(hwloc_topology_t machine, struct topology *t, const struct layout_limits *s,
                struct error *err)
{
    struct bitset missing = *s->reserved;
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;

    bitset_and_not(&missing, &t->pus);
    if (!bitset_is_empty(&missing)) {
        cpuset_format(&missing, &list);
        return error_set(err, -EINVAL,
                         "the reserved CPUs %s are not all online and allowed "
                         "on this machine",
                         list.text);
    }
    t->reserved = whole_cores(machine, t, s->reserved);
    t->isolated = *s->isolated;
    bitset_and(&t->isolated, &t->pus);
    bitset_and_not(&t->pus, &t->reserved);
    if (!s->offers_isolated)
        bitset_and_not(&t->pus, &t->isolated);
    if (bitset_is_empty(&t->pus))
        return error_set(err, -EINVAL,
                         "no CPU is left for jobs: all are reserved, on the "
                         "same cores as reserved ones, isolated or not "
                         "allowed");
    return 0;
}

static int
fill_pus(hwloc_topology_t machine, const struct layout_limits *limits, struct topology *t,
         struct error *err)
{
    hwloc_obj_t pu = NULL;
    int r;

    while ((pu = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_PU, pu)))
        if (limits->allowed == NULL || bitset_has(limits->allowed, pu->os_index)
            || bitset_has(limits->isolated, pu->os_index))
            bitset_add(&t->pus, pu->os_index);
    r = remove_reserved(machine, t, limits, err);
    if (r < 0)
        return r;
    for (unsigned i = bitset_next(&t->pus, 0); i < BITSET_BITS; i = bitset_next(&t->pus, i + 1))
        t->n_pu = i + 1;
    t->pu = xnew_array(struct topology_pu, t->n_pu + 1);
    for (unsigned i = 0; i < t->n_pu; i++)
        t->pu[i] = (struct topology_pu){
            .core = TOPOLOGY_NONE,
            .l2 = TOPOLOGY_NONE,
            .l3 = TOPOLOGY_NONE,
            .numa = TOPOLOGY_NONE,
            .package = TOPOLOGY_NONE,
        };
    return 0;
}

/* Groups: packages, dies, caches, cores */

static struct bitset
members(const struct topology *t, hwloc_const_cpuset_t cpus)
{
    struct bitset set = {0};

    bitset_foreach(pu, &t->pus) if (hwloc_bitmap_isset(cpus, pu)) bitset_add(&set, pu);
    return set;
}

static unsigned
fill_groups(hwloc_topology_t machine, const struct topology *t, hwloc_obj_type_t type,
            struct topology_group **ret_groups)
{
    int count = hwloc_get_nbobjs_by_type(machine, type);
    struct topology_group *groups = xnew_array(struct topology_group, (count > 0 ? count : 0) + 1);
    hwloc_obj_t object = NULL;
    unsigned n = 0;

    while ((object = hwloc_get_next_obj_by_type(machine, type, object))) {
        struct bitset pus = members(t, object->cpuset);

        if (!bitset_is_empty(&pus))
            groups[n++].pus = pus;
    }
    *ret_groups = groups;
    return n;
}

/* A description may have no packages: then the whole machine is one package. */
static void
fill_packages(hwloc_topology_t machine, struct topology *t)
{
    t->n_packages = fill_groups(machine, t, HWLOC_OBJ_PACKAGE, &t->packages);
    if (t->n_packages == 0)
        t->packages[t->n_packages++].pus = t->pus;
    for (unsigned i = 0; i < t->n_packages; i++)
        bitset_foreach(pu, &t->packages[i].pus) t->pu[pu].package = (uint16_t)i;
}

/* Dies are dropped if each package is one die, because they add no information.
 */
static void
fill_dies(hwloc_topology_t machine, struct topology *t)
{
    t->n_dies = fill_groups(machine, t, HWLOC_OBJ_DIE, &t->dies);
    if (t->n_dies <= t->n_packages)
        t->n_dies = 0;
}

static void
fill_l2(hwloc_topology_t machine, struct topology *t)
{
    t->n_l2 = fill_groups(machine, t, HWLOC_OBJ_L2CACHE, &t->l2);
    for (unsigned i = 0; i < t->n_l2; i++)
        bitset_foreach(pu, &t->l2[i].pus) t->pu[pu].l2 = (uint16_t)i;
}

static void
fill_l3(hwloc_topology_t machine, struct topology *t)
{
    t->n_l3 = fill_groups(machine, t, HWLOC_OBJ_L3CACHE, &t->l3);
    for (unsigned i = 0; i < t->n_l3; i++)
        bitset_foreach(pu, &t->l3[i].pus) t->pu[pu].l3 = (uint16_t)i;
}

static bool
is_among(const struct bitset *pus, const struct topology_group *list, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (bitset_equals(&list[i].pus, pus))
            return true;
    return false;
}

/* Takes hwloc's groups of cores as clusters, except groups that equal another
 * level, for example one that hwloc made for a NUMA node. Call it after all
 * other levels are filled.
 */
static void
fill_clusters(hwloc_topology_t machine, struct topology *t)
{
    struct topology_group *all;
    unsigned n = fill_groups(machine, t, HWLOC_OBJ_GROUP, &all);

    t->clusters = all;
    for (unsigned i = 0; i < n; i++) {
        const struct bitset pus = all[i].pus;
        bool is_known = is_among(&pus, t->packages, t->n_packages)
                        || is_among(&pus, t->dies, t->n_dies) || is_among(&pus, t->l3, t->n_l3)
                        || is_among(&pus, t->l2, t->n_l2) || is_among(&pus, t->cores, t->n_cores)
                        || is_among(&pus, t->clusters, t->n_clusters);

        for (unsigned j = 0; j < t->n_numa && !is_known; j++)
            is_known = bitset_equals(&t->numa[j].pus, &pus);
        if (!is_known)
            t->clusters[t->n_clusters++].pus = pus;
    }
}

/* A PU that belongs to no core (a description may have none) becomes a core of
 * its own.
 */
static void
fill_cores(hwloc_topology_t machine, struct topology *t)
{
    struct bitset alone = t->pus;

    t->n_cores = fill_groups(machine, t, HWLOC_OBJ_CORE, &t->cores);
    for (unsigned i = 0; i < t->n_cores; i++)
        bitset_and_not(&alone, &t->cores[i].pus);
    t->cores = xrealloc_array(t->cores, t->n_cores + bitset_count(&alone) + 1, sizeof(*t->cores));
    bitset_foreach(pu, &alone)
    {
        t->cores[t->n_cores] = (struct topology_group){0};
        bitset_add(&t->cores[t->n_cores++].pus, pu);
    }
    for (unsigned i = 0; i < t->n_cores; i++)
        bitset_foreach(pu, &t->cores[i].pus) t->pu[pu].core = (uint16_t)i;
}

static void
fill_kinds(hwloc_topology_t machine, struct topology *t)
{
    int kinds = hwloc_cpukinds_get_nr(machine, 0);
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();

    for (int kind = 0; kinds > 1 && kind < kinds; kind++) {
        int efficiency;

        if (hwloc_cpukinds_get_info(machine, (unsigned)kind, cpus, &efficiency, NULL, NULL, 0) < 0)
            continue;
        bitset_foreach(pu, &t->pus) if (hwloc_bitmap_isset(cpus, pu)) t->pu[pu].kind =
            (uint16_t)kind;
    }
    hwloc_bitmap_free(cpus);
}

/* NUMA nodes */

static bool
has_subtype(hwloc_obj_t object, const char *subtype)
{
    return object->subtype != NULL && strcmp(object->subtype, subtype) == 0;
}

/* Excludes memory that no job should get as host memory: a GPU's own memory
 * (POWER9, Grace Hopper), and the empty nodes that represent a GPU's
 * partitions.
 */
static bool
is_for_jobs(hwloc_obj_t node)
{
    if (has_subtype(node, "GPUMemory"))
        return false;
    return node->attr->numanode.local_memory > 0 || !hwloc_bitmap_iszero(node->cpuset);
}

/* Where several nodes contain a PU (DRAM beside HBM, a CPU-less node that is
 * local to a whole package) the PU belongs to the one with the fewest PUs;
 * among equals to plain memory, then to the first.
 */
static bool
is_nearer(hwloc_obj_t a, hwloc_obj_t b)
{
    int weight_a = hwloc_bitmap_weight(a->cpuset);
    int weight_b = hwloc_bitmap_weight(b->cpuset);
    bool plain_a = a->subtype == NULL || has_subtype(a, "DRAM");
    bool plain_b = b->subtype == NULL || has_subtype(b, "DRAM");

    if (weight_a != weight_b)
        return weight_a < weight_b;
    if (plain_a != plain_b)
        return plain_a;
    return a->os_index < b->os_index;
}

static enum topology_memory
memory_kind(hwloc_obj_t node)
{
    if (has_subtype(node, "MCDRAM")) /* Xeon Phi's HBM */
        return TOPOLOGY_MEMORY_HBM;
    if (node->subtype != NULL && strncmp(node->subtype, "CXL", 3) == 0)
        return TOPOLOGY_MEMORY_CXL;
    return topology_memory_find(node->subtype);
}

static int
give_pus_their_nodes(struct topology *t, const hwloc_obj_t *nodes, struct error *err)
{
    bitset_foreach(pu, &t->pus)
    {
        unsigned best = TOPOLOGY_NONE;

        for (unsigned i = 0; i < t->n_numa; i++)
            if (hwloc_bitmap_isset(nodes[i]->cpuset, pu)
                && (best == TOPOLOGY_NONE || is_nearer(nodes[i], nodes[best])))
                best = i;
        if (best == TOPOLOGY_NONE)
            return error_set(err, -EINVAL, "PU %u belongs to no NUMA node", pu);
        t->pu[pu].numa = (uint16_t)best;
        bitset_add(&t->numa[best].pus, pu);
    }
    return 0;
}

static uint16_t
package_of(const struct topology *t, hwloc_const_cpuset_t cpus)
{
    struct bitset pus = members(t, cpus);

    for (unsigned i = 0; i < t->n_packages; i++)
        if (!bitset_is_empty(&pus) && bitset_contains(&t->packages[i].pus, &pus))
            return (uint16_t)i;
    return TOPOLOGY_NONE;
}

/* Huge pages are subtracted, because they are not available as ordinary memory.
 * hwloc lists the ordinary page, the smallest, first.
 */
static void
fill_memory(hwloc_obj_t node, struct topology_numa *numa)
{
    const struct hwloc_numanode_attr_s *attr = &node->attr->numanode;

    numa->memory_bytes = attr->local_memory;
    for (unsigned i = 0; i < attr->page_types_len; i++) {
        uint64_t size = attr->page_types[i].size;
        uint64_t count = attr->page_types[i].count;

        if ((i == 0 && size < (UINT64_C(1) << 20)) || size == 0 || count == 0
            || numa->n_hugepages == ARRAY_SIZE(numa->hugepages)
            || count > numa->memory_bytes / size)
            continue;
        numa->hugepages[numa->n_hugepages++] =
            (struct topology_hugepages){.page_bytes = size, .count = count};
        numa->memory_bytes -= size * count;
    }
}

static void
fill_distances(hwloc_topology_t machine, struct topology *t, const hwloc_obj_t *nodes)
{
    struct hwloc_distances_s *d = NULL;
    unsigned nr = 1;

    if (hwloc_distances_get_by_name(machine, "NUMALatency", &nr, &d, 0) < 0 || nr == 0)
        return;
    t->distances = xnew_array(uint16_t, t->n_numa * t->n_numa);
    for (unsigned from = 0; from < t->n_numa; from++) {
        for (unsigned to = 0; to < t->n_numa; to++) {
            int row = hwloc_distances_obj_index(d, nodes[from]);
            int column = hwloc_distances_obj_index(d, nodes[to]);
            uint64_t value;

            if (row < 0 || column < 0)
                continue;
            value = d->values[(unsigned)row * d->nbobjs + (unsigned)column];
            t->distances[from * t->n_numa + to] = value > UINT16_MAX ? UINT16_MAX : (uint16_t)value;
        }
    }
    hwloc_distances_release(machine, d);
}

/* The nodes are sorted by the kernel's numbers, which has nodes without CPUs
 * after the others; hwloc lists such a node beside its nearest one.
 */
static unsigned
list_nodes(hwloc_topology_t machine, hwloc_obj_t nodes[TOPOLOGY_MAX_NUMA])
{
    hwloc_obj_t node = NULL;
    unsigned n = 0;

    while ((node = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE, node))) {
        unsigned at = n;

        if (!is_for_jobs(node))
            continue;
        for (; at > 0 && nodes[at - 1]->os_index > node->os_index; at--)
            nodes[at] = nodes[at - 1];
        nodes[at] = node;
        n++;
    }
    return n;
}

static int
fill_numa(hwloc_topology_t machine, struct topology *t, struct error *err)
{
    hwloc_obj_t nodes[TOPOLOGY_MAX_NUMA];
    int r;

    t->n_numa = list_nodes(machine, nodes);
    t->numa = xnew_array(struct topology_numa, t->n_numa + 1);
    for (unsigned i = 0; i < t->n_numa; i++) {
        if (nodes[i]->os_index >= BITSET_BITS)
            return error_set(err, -E2BIG, "the index of NUMA node %u is above %u",
                             nodes[i]->os_index, BITSET_BITS - 1);
        t->numa[i].os_index = nodes[i]->os_index;
        t->numa[i].kind = memory_kind(nodes[i]);
        t->numa[i].package = package_of(t, nodes[i]->cpuset);
        fill_memory(nodes[i], &t->numa[i]);
    }
    r = give_pus_their_nodes(t, nodes, err);
    if (r < 0)
        return r;
    if (t->n_numa > 1)
        fill_distances(machine, t, nodes);
    return 0;
}

int
layout_fill(hwloc_topology_t machine, const struct layout_limits *limits, struct topology *t,
            struct error *err)
{
    int r = refuse_large(machine, err);

    if (r < 0)
        return r;
    r = fill_pus(machine, limits, t, err);
    if (r < 0)
        return r;
    fill_packages(machine, t);
    fill_dies(machine, t);
    fill_l3(machine, t);
    fill_l2(machine, t);
    fill_cores(machine, t);
    fill_kinds(machine, t);
    r = fill_numa(machine, t, err);
    if (r == 0)
        fill_clusters(machine, t);
    return r;
}
