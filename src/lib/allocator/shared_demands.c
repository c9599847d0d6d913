/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/shared_demands.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/allocator/demand.h"
#include "lib/base/alloc.h"

#define PLACES 256u

struct shared_demand {
    unsigned refs;
    struct demand demand;
};

struct shared_demands {
    struct shared_demand *places[PLACES]; /* by hash; only the latest of each */
};

struct shared_demands *
shared_demands_new(void)
{
    return xnew(struct shared_demands);
}

static void
unref(struct shared_demand *d)
{
    if (d != NULL && --d->refs == 0)
        free(d);
}

void
shared_demands_free(struct shared_demands *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < PLACES; i++)
        unref(s->places[i]);
    free(s);
}

static struct shared_demand *
shared_of(const struct demand *demand)
{
    return (struct shared_demand *)((uintptr_t)demand - offsetof(struct shared_demand, demand));
}

void
shared_demand_unref(const struct demand *demand)
{
    if (demand != NULL)
        unref(shared_of(demand));
}

static bool
has_same_lists(const struct demand *a, const struct demand *b)
{
    if (a->n_devices != b->n_devices || a->n_hugepages != b->n_hugepages)
        return false;
    for (unsigned i = 0; i < a->n_devices; i++)
        if (a->devices[i].type != b->devices[i].type || a->devices[i].model != b->devices[i].model
            || a->devices[i].count != b->devices[i].count)
            return false;
    for (unsigned i = 0; i < a->n_hugepages; i++)
        if (a->hugepages[i].page_bytes != b->hugepages[i].page_bytes
            || a->hugepages[i].bytes != b->hugepages[i].bytes)
            return false;
    return true;
}

/* Device types are compared by address: equal types share one text, the
 * scheduler's name of the resource.
 */
static bool
is_same(const struct demand *a, const struct demand *b)
{
    return a->rules == b->rules && a->numa_policy == b->numa_policy
           && a->distribution == b->distribution && a->memory_policy == b->memory_policy
           && a->is_exclusive == b->is_exclusive && a->is_whole_node == b->is_whole_node
           && a->has_far_devices == b->has_far_devices && a->pus == b->pus
           && a->threads_per_core == b->threads_per_core
           && a->cores_per_package == b->cores_per_package && a->shared_milli == b->shared_milli
           && a->memory_bytes == b->memory_bytes && a->gpu_model == b->gpu_model
           && has_same_lists(a, b);
}

static unsigned
place_of(const struct demand *d)
{
    uint64_t hash = d->pus;

    hash = hash * 31 + (uint64_t)d->shared_milli;
    hash = hash * 31 + (uint64_t)d->memory_bytes;
    hash = hash * 31 + d->n_devices + 7u * d->n_hugepages;
    hash = hash * 31 + (uint64_t)d->numa_policy + 5u * d->is_exclusive;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(hash >> 32) % PLACES;
}

static struct shared_demand *
shared_demand_new(const struct demand *demand)
{
    struct shared_demand *d = xnew(struct shared_demand);

    d->refs = 1;
    d->demand = *demand;
    return d;
}

const struct demand *
shared_demands_get(struct shared_demands *s, const struct demand *demand)
{
    struct shared_demand **place, *d;

    if (s == NULL || demand->gpu_model != NULL)
        return &shared_demand_new(demand)->demand;
    place = &s->places[place_of(demand)];
    d = *place;
    if (d == NULL || !is_same(&d->demand, demand)) {
        unref(d);
        d = *place = shared_demand_new(demand);
    }
    d->refs++;
    return &d->demand;
}
