/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet_grant.h"

#include <string.h>

#include "lib/allocator/demand.h"
#include "lib/allocator/kubelet/cpu_layout.h"
#include "lib/allocator/kubelet/kubelet_node.h"
#include "lib/allocator/occupancy.h"
#include "lib/base/alloc.h"

/* One node under the kubelet's managers, built for a single question. */
struct grant_stage {
    const struct occupancy *o;
    const struct demand *d;
    const struct topology_index *s;
    struct cpu_layout *layout;
    struct kubelet_node node;
    struct kubelet_container container;
    uint16_t ids[64];
};

bool
kubelet_grant_knows(const struct demand *d)
{
    return d->is_exclusive && !d->is_whole_node && d->pus > 0 && d->threads_per_core == 0
           && d->cores_per_package == 0 && d->distribution == DISTRIBUTION_PACK
           && !d->has_far_devices && d->gpu_model == NULL;
}

static struct cpu_layout *
lay_out(const struct topology_index *ti)
{
    const struct topology *t = ti->topology;
    CLEANUP_FREE struct cpu_location *seats = xnew_array(struct cpu_location, ti->n_pus + 1);
    unsigned n = 0;

    bitset_foreach(pu, &t->pus)
    {
        const struct topology_pu *p = &t->pu[pu];
        unsigned first = bitset_next(&t->cores[p->core].pus, 0);

        seats[n++] = (struct cpu_location){
            .cpu = (uint16_t)pu,
            .unit = {[LEVEL_CORE] = (uint16_t)first,
                     [LEVEL_UNCORE] = p->l3 != TOPOLOGY_NONE ? p->l3 : p->package,
                     [LEVEL_NUMA] = p->numa,
                     [LEVEL_SOCKET] = p->package},
        };
    }
    return cpu_layout_new(seats, n, ti->n_packages);
}

static void
set_cell(struct memory_cell *cell, int64_t all, int64_t left)
{
    if (left < 0)
        left = 0;
    *cell = (struct memory_cell){
        .allocatable = (uint64_t)all,
        .reserved = (uint64_t)(all - left),
        .free = (uint64_t)left,
    };
}

static void
set_memory(struct grant_stage *st)
{
    for (uint16_t i = 0; i < st->s->n_numa; i++) {
        const struct occupancy_numa *numa = &st->o->numa[i];
        struct memory_node *n;

        memory_manager_add_node(&st->node.memory, i);
        n = memory_manager_find(&st->node.memory, i);
        n->assignments = numa->blocks;
        n->group = numa->blocks > 0 ? numa->group : UINT64_C(1) << i;
        set_cell(&n->cells[0], (int64_t)st->s->topology->numa[i].memory_bytes, numa->free_memory);
        for (unsigned page = 0; page < st->s->n_pages; page++)
            if (page + 1 < MEMORY_TYPES)
                set_cell(&n->cells[page + 1], st->s->numa[i].huge_bytes[page],
                         numa->free_huge[page]);
    }
}

/* The index of a device's type in the demand serves as its resource number. */
static void
set_devices(struct grant_stage *st)
{
    const struct topology *t = st->s->topology;
    struct device_manager *b = &st->node.devices;

    for (unsigned i = 0; i < t->n_devices && i < DEVICE_MANAGER_MAX; i++) {
        unsigned resource = 0;

        while (resource < st->d->n_devices
               && strcmp(st->d->devices[resource].type, t->devices[i].type) != 0)
            resource++;
        b->seats[b->count++] = (struct device_slot){
            .resource = resource,
            .nodes = t->devices[i].numa != TOPOLOGY_NONE ? UINT64_C(1) << t->devices[i].numa : 0,
        };
        if (st->o->device_holders[i] > 0)
            bitset_add(&b->used, i);
    }
    b->numa_ids = st->ids;
    b->n_numa = st->s->n_numa;
}

static void
set_container(struct grant_stage *st)
{
    struct kubelet_container *c = &st->container;
    const struct demand *d = st->d;

    c->cpu_milli = (int64_t)d->pus * 1000;
    c->memory.is_asked[0] = d->memory_bytes > 0;
    c->memory.bytes[0] = (uint64_t)d->memory_bytes;
    for (unsigned i = 0; i < d->n_hugepages; i++) {
        unsigned page = topology_index_find_page(st->s, d->hugepages[i].page_bytes);

        if (page + 1 < MEMORY_TYPES) {
            c->memory.is_asked[page + 1] = true;
            c->memory.bytes[page + 1] = (uint64_t)d->hugepages[i].bytes;
        }
    }
    for (unsigned i = 0; i < d->n_devices && i < KUBELET_DEVICES; i++) {
        c->devices[i].resource = i;
        c->devices[i].count = d->devices[i].count;
        c->n_devices++;
    }
}

static void
set_stage(struct grant_stage *st, const struct kubelet_rules *rules)
{
    static const enum hint_policy policies[] = {
        [NUMA_NONE] = HINT_NONE,
        [NUMA_BEST_EFFORT] = HINT_BEST_EFFORT,
        [NUMA_RESTRICTED] = HINT_RESTRICTED,
        [NUMA_SINGLE] = HINT_SINGLE,
    };
    struct bitset nothing = {0};

    for (uint16_t i = 0; i < st->s->n_numa; i++)
        st->ids[i] = i;
    st->layout = lay_out(st->s);
    cpu_manager_init(&st->node.cpus, st->layout, &rules->options, &nothing);
    for (unsigned core = 0; core < st->s->n_cores; core++)
        if (!bitset_has(&st->o->core_set, core))
            bitset_and_not(&st->node.cpus.shared, &st->s->topology->cores[core].pus);
    st->node.merge = (struct hint_merge){
        .policy = policies[st->d->numa_policy],
        .prefers_closest = rules->prefers_closest,
        .nodes = UINT64_MAX >> (64 - st->s->n_numa),
        .distances = st->s->topology->distances,
    };
    st->node.scope = SCOPE_POD;
    set_memory(st);
    set_devices(st);
    set_container(st);
}

/* Grants the memory by which the kubelet's accounts fall below the occupancy's
 * free memory. A pod that asked for no memory still gets the memory nodes of
 * its cores.
 */
static void
read_memory(struct grant_stage *st, struct grant *g)
{
    for (uint16_t i = 0; i < st->s->n_numa; i++) {
        const struct occupancy_numa *numa = &st->o->numa[i];
        const struct memory_node *n = memory_manager_find(&st->node.memory, i);

        if (numa->free_memory > 0)
            g->memory[i] = numa->free_memory - (int64_t)n->cells[0].free;
        for (unsigned page = 0; page < st->s->n_pages; page++)
            if (page + 1 < MEMORY_TYPES && numa->free_huge[page] > 0)
                g->huge[page][i] = numa->free_huge[page] - (int64_t)n->cells[page + 1].free;
    }
    for (unsigned b = 0; b < st->container.n_blocks; b++)
        g->memory_nodes |= st->container.blocks[b].nodes;
    if (g->memory_nodes == 0)
        bitset_foreach(pu, &g->cpus) g->memory_nodes |= UINT64_C(1) << st->s->topology->pu[pu].numa;
}

static void
read_stage(struct grant_stage *st, struct grant *g)
{
    const struct topology *t = st->s->topology;

    memset(g, 0, sizeof(*g));
    g->cpus = st->container.cpus;
    g->devices = st->container.got_devices;
    bitset_foreach(pu, &g->cpus)
    {
        bitset_add(&g->cores, t->pu[pu].core);
        bitset_or(&g->withheld, &t->cores[t->pu[pu].core].pus);
    }
    bitset_and_not(&g->withheld, &g->cpus);
    read_memory(st, g); /* needs the CPUs */
}

static enum allocator_answer
answer_of(enum kubelet_reason reason, const char *detail)
{
    if (reason == KUBELET_ADMITTED)
        return ALLOCATOR_FITS;
    if (reason == KUBELET_TOPOLOGY_AFFINITY)
        return ALLOCATOR_NOT_ALIGNED;
    if (strncmp(detail, "memory", 6) == 0)
        return ALLOCATOR_NO_MEMORY;
    if (strcmp(detail, "not-enough-devices") == 0)
        return ALLOCATOR_NO_DEVICES;
    return ALLOCATOR_NO_CORES;
}

enum allocator_answer
kubelet_grant(const struct occupancy *o, const struct demand *d, const struct kubelet_rules *rules,
              struct grant *ret_grant)
{
    struct grant_stage *st = xnew(struct grant_stage);
    struct kubelet_pod pod = {.is_guaranteed = true, .count = 1};
    enum allocator_answer answer;
    enum kubelet_reason reason;
    const char *detail = "";

    st->o = o;
    st->d = d;
    st->s = o->topology_index;
    pod.containers = &st->container;
    set_stage(st, rules);
    reason = kubelet_node_admit(&st->node, &pod, &detail);
    answer = answer_of(reason, detail);
    if (answer == ALLOCATOR_FITS)
        read_stage(st, ret_grant);
    cpu_layout_free(st->layout);
    free(st);
    return answer;
}
