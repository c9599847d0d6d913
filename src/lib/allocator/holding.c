/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster keeps a holding for each running pod, a hundred thousand at a time, so it is one
 * allocation with indexes and amounts and without a pointer to anything. It is in terms of one
 * topology: after the node's hardware has changed, holdings are translated, and CPUs that are
 * gone simply belong to no core.
 */
#include "lib/allocator/holding.h"

#include <errno.h>
#include <string.h>

#include "lib/allocator/topology_index.h"
#include "lib/api/node/allocation.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

/* One allocation: the struct, then its arrays, those with the widest elements
 * first, for alignment.
 */
struct holding *
holding_new(unsigned n_cores, unsigned n_devices, unsigned n_memory)
{
    size_t memory = n_memory * sizeof(struct holding_memory);
    size_t cores = n_cores * sizeof(uint16_t);
    size_t devices = n_devices * sizeof(uint16_t);
    struct holding *h = xcalloc(1, sizeof(struct holding) + memory + cores + devices);

    h->memory = (struct holding_memory *)(h + 1);
    h->cores = (uint16_t *)(h->memory + n_memory);
    h->devices = h->cores + n_cores;
    h->n_cores = (uint16_t)n_cores;
    h->n_devices = (uint16_t)n_devices;
    h->n_memory = (uint16_t)n_memory;
    return h;
}

void
holding_free(struct holding *holding)
{
    free(holding);
}

static struct holding *
dup_holding(const struct holding *holding)
{
    struct holding *h = holding_new(holding->n_cores, holding->n_devices, holding->n_memory);

    h->shared_milli = holding->shared_milli;
    h->charged_milli = holding->charged_milli;
    h->is_shared = holding->is_shared;
    memcpy(h->cores, holding->cores, h->n_cores * sizeof(*h->cores));
    memcpy(h->devices, holding->devices, h->n_devices * sizeof(*h->devices));
    memcpy(h->memory, holding->memory, h->n_memory * sizeof(*h->memory));
    return h;
}

struct holding *
holding_dup_without_cores(const struct holding *holding)
{
    struct holding *h = dup_holding(holding);

    h->n_cores = 0;
    h->shared_milli = h->charged_milli = 0;
    h->is_shared = false;
    return h;
}

bool
holding_equals(const struct holding *a, const struct holding *b)
{
    if (a->n_cores != b->n_cores || a->n_devices != b->n_devices || a->n_memory != b->n_memory
        || a->is_shared != b->is_shared || a->shared_milli != b->shared_milli
        || a->charged_milli != b->charged_milli
        || memcmp(a->cores, b->cores, a->n_cores * sizeof(*a->cores)) != 0
        || memcmp(a->devices, b->devices, a->n_devices * sizeof(*a->devices)) != 0)
        return false;
    for (unsigned i = 0; i < a->n_memory; i++)
        if (a->memory[i].numa != b->memory[i].numa || a->memory[i].page != b->memory[i].page
            || a->memory[i].bytes != b->memory[i].bytes)
            return false;
    return true;
}

/* Adds every core that has one of the PUs. Returns the number of PUs that
 * belong to no core.
 */
static unsigned
add_cores(struct holding *h, const struct topology_index *ti, const struct bitset *pus)
{
    unsigned known = 0;

    h->n_cores = 0;
    for (unsigned core = 0; core < ti->n_cores; core++) {
        unsigned of_core = bitset_count_and(&ti->topology->cores[core].pus, pus);

        if (of_core == 0)
            continue;
        h->cores[h->n_cores++] = (uint16_t)core;
        known += of_core;
    }
    return bitset_count(pus) - known;
}

static unsigned
find_device(const struct topology_index *ti, const char *name)
{
    unsigned d = 0;

    while (d < ti->topology->n_devices && strcmp(ti->topology->devices[d].name, name) != 0)
        d++;
    return d;
}

static unsigned
add_devices(struct holding *h, const struct topology_index *ti, const struct allocation *a)
{
    unsigned unknown = 0;

    h->n_devices = 0;
    for (unsigned i = 0; i < a->devices.count; i++) {
        unsigned d = find_device(ti, a->devices.items[i]);

        if (d < ti->topology->n_devices)
            h->devices[h->n_devices++] = (uint16_t)d;
        else
            unknown++;
    }
    return unknown;
}

static unsigned
add_memory(struct holding *h, const struct topology_index *ti, const struct allocation *a)
{
    unsigned unknown = 0;

    h->n_memory = 0;
    for (unsigned i = 0; i < a->memory.count; i++) {
        const char *size = a->memory.items[i].page_size;
        unsigned numa = topology_index_find_numa(ti, a->memory.items[i].node);
        unsigned page = HOLDING_PLAIN;

        if (size != NULL)
            page = topology_index_find_page(ti, (uint64_t)quantity_text_value(size));
        if (numa == TOPOLOGY_NONE || page == TOPOLOGY_INDEX_MAX_PAGES) {
            unknown++;
            continue;
        }
        h->memory[h->n_memory++] = (struct holding_memory){
            .numa = (uint16_t)numa,
            .page = (uint16_t)page,
            .bytes = quantity_text_value(a->memory.items[i].bytes),
        };
    }
    return unknown;
}

/* `h` must have room for all devices and memory of `holding` and for every core
 * of the node.
 */
static void
translate(struct holding *h, const struct holding *holding, const struct topology_index *from,
          const struct topology_index *to)
{
    struct bitset pus = {0};

    for (unsigned i = 0; i < holding->n_cores; i++)
        bitset_or(&pus, &from->topology->cores[holding->cores[i]].pus);
    add_cores(h, to, &pus);
    for (unsigned i = 0; i < holding->n_devices; i++) {
        unsigned d = find_device(to, from->topology->devices[holding->devices[i]].name);

        if (d < to->topology->n_devices)
            h->devices[h->n_devices++] = (uint16_t)d;
    }
    for (unsigned i = 0; i < holding->n_memory; i++) {
        struct holding_memory m = holding->memory[i];
        unsigned page = HOLDING_PLAIN;
        unsigned numa = topology_index_find_numa(to, from->topology->numa[m.numa].os_index);

        if (m.page != HOLDING_PLAIN)
            page = topology_index_find_page(to, from->page_bytes[m.page]);
        if (numa == TOPOLOGY_NONE || page == TOPOLOGY_INDEX_MAX_PAGES)
            continue;
        h->memory[h->n_memory++] = (struct holding_memory){
            .numa = (uint16_t)numa,
            .page = (uint16_t)page,
            .bytes = m.bytes,
        };
    }
}

struct holding *
holding_translate(const struct holding *holding, const struct topology_index *from,
                  const struct topology_index *to)
{
    CLEANUP(holding_freep)
    struct holding *h =
        holding_new(to != NULL ? to->n_cores : 0, holding->n_devices, holding->n_memory);

    h->n_cores = h->n_devices = h->n_memory = 0;
    h->shared_milli = holding->shared_milli;
    h->charged_milli = holding->charged_milli;
    h->is_shared = holding->is_shared;
    if (to != NULL)
        translate(h, holding, from, to);
    return dup_holding(h);
}

int
holding_of_allocation(const struct topology_index *topology_index,
                      const struct allocation *allocation, struct holding **ret_holding,
                      struct error *err)
{
    struct bitset cpus = {0}, withheld = {0};
    struct holding *h;
    unsigned unknown;
    int r;

    if (allocation->cpus != NULL) {
        r = cpuset_parse(allocation->cpus, &cpus, err);
        if (r < 0)
            return error_wrap(err, -EINVAL, "cpus");
    }
    if (allocation->withheld != NULL) {
        r = cpuset_parse(allocation->withheld, &withheld, err);
        if (r < 0)
            return error_wrap(err, -EINVAL, "withheld");
    }
    bitset_or(&cpus, &withheld);
    h = holding_new(topology_index->n_cores, allocation->devices.count, allocation->memory.count);
    h->is_shared = allocation->cpus == NULL;
    h->shared_milli = quantity_text_milli(allocation->shared_cpu);
    h->charged_milli = (int64_t)bitset_count(&cpus) * 1000;
    unknown = add_cores(h, topology_index, &cpus);
    unknown += add_devices(h, topology_index, allocation);
    unknown += add_memory(h, topology_index, allocation);
    /* The holding has room for every core of the node; the copy has only what
     * is needed.
     */
    *ret_holding = dup_holding(h);
    holding_free(h);
    if (unknown > 0)
        return error_set(err, -ENXIO,
                         "%u of the CPUs, devices and memory nodes allocated "
                         "are not in the node's topology",
                         unknown);
    return 0;
}
