/* SPDX-License-Identifier: Apache-2.0 */
/* Trying all sets of k of n NUMA nodes grows too fast beyond some sixteen of them. Whether any
 * set holds the demand is a smaller question: sums of amounts are built node by node, and a
 * sum that another one equals or exceeds in everything can be dropped. It answers yes or no
 * and gives one set, which need not be the closest; the search in numa_search.c comes first
 * and is preferred wherever it ends in time.
 */
#include "lib/allocator/numa_cover.h"

#include <string.h>

#include "lib/allocator/demand.h"
#include "lib/allocator/numa_search.h"
#include "lib/allocator/occupancy.h"
#include "lib/base/alloc.h"

#define SUMS_MAX 4096u

/* The amounts that are summed: PUs, memory, huge pages of each size, devices of
 * each type, and, apart, the PUs of the package at hand (HERE), which may
 * exceed the limit per package.
 */
enum {
    PUS,
    MEMORY,
    HERE,
    HUGE_PAGES,
    DEVICES = HUGE_PAGES + DEMAND_MAX_HUGEPAGES,
    AMOUNTS = DEVICES + DEMAND_MAX_DEVICES,
};

struct cover_sum {
    uint64_t set;
    int64_t amounts[AMOUNTS];
};

struct cover_sums {
    struct cover_sum *items;
    uint32_t count, capacity;
};

struct cover {
    const struct numa_search *s;
    int64_t wanted[AMOUNTS];
    int64_t package_most; /* PUs that may count per package; 0: no limit */
    unsigned order[64];   /* NUMA nodes, package by package */
    unsigned package[64];
    struct cover_sum *has; /* amounts of each NUMA node, by place */
    struct cover_sums by_width[65];
};

static int64_t
free_of_type(const struct occupancy *o, const struct demand_device *wanted, unsigned numa)
{
    const struct topology *t = o->topology_index->topology;
    int64_t n = 0;

    for (unsigned i = 0; i < t->n_devices; i++)
        n += o->device_holders[i] == 0 && t->devices[i].numa == numa
             && topology_index_device_matches(o->topology_index, i, wanted->type, wanted->model);
    return n;
}

static void
read_numa(struct cover *c, unsigned numa)
{
    const struct demand *d = c->s->d;
    const struct occupancy *o = c->s->o;
    int64_t *has = c->has[numa].amounts;

    has[c->package_most > 0 ? HERE : PUS] = c->s->pus[numa];
    has[MEMORY] = c->s->memory[numa];
    for (unsigned i = 0; i < d->n_hugepages; i++) {
        unsigned page = topology_index_find_page(o->topology_index, d->hugepages[i].page_bytes);

        if (page < TOPOLOGY_INDEX_MAX_PAGES && o->numa[numa].free_huge[page] > 0)
            has[HUGE_PAGES + i] = o->numa[numa].free_huge[page];
    }
    for (unsigned i = 0; i < d->n_devices && !d->has_far_devices; i++)
        has[DEVICES + i] = free_of_type(o, &d->devices[i], numa);
}

/* Devices without a NUMA node count for every set. */
static void
read_wanted(struct cover *c)
{
    const struct demand *d = c->s->d;
    const struct topology_index *ti = c->s->o->topology_index;
    unsigned threads = d->threads_per_core;

    c->wanted[PUS] = d->pus;
    c->wanted[MEMORY] = d->memory_bytes;
    for (unsigned i = 0; i < d->n_hugepages; i++)
        c->wanted[HUGE_PAGES + i] = d->hugepages[i].bytes;
    for (unsigned i = 0; i < d->n_devices && !d->has_far_devices; i++) {
        int64_t anywhere = free_of_type(c->s->o, &d->devices[i], TOPOLOGY_NONE);

        c->wanted[DEVICES + i] =
            d->devices[i].count > anywhere ? d->devices[i].count - anywhere : 0;
    }
    if (threads == 0 || threads > ti->max_threads)
        threads = ti->max_threads;
    c->package_most = d->pus > 0 ? (int64_t)d->cores_per_package * threads : 0;
}

static void
sort_by_package(struct cover *c)
{
    const struct topology_index *ti = c->s->o->topology_index;
    unsigned n = 0;

    for (unsigned i = 0; i < ti->n_numa; i++)
        c->package[i] = ti->numa[i].n_groups > 0 ? ti->groups[ti->numa[i].first_group].package : 0;
    for (unsigned p = 0; p < ti->n_packages || p == 0; p++)
        for (unsigned i = 0; i < ti->n_numa; i++)
            if (c->package[i] == p)
                c->order[n++] = i;
}

static bool
is_enough(const struct cover *c, const struct cover_sum *sum)
{
    for (unsigned k = 0; k < AMOUNTS; k++) {
        int64_t has = sum->amounts[k];

        if (k == PUS)
            has += sum->amounts[HERE];
        if (k != HERE && has < c->wanted[k])
            return false;
    }
    return true;
}

static bool
is_as_good(const struct cover_sum *a, const struct cover_sum *b)
{
    for (unsigned k = 0; k < AMOUNTS; k++)
        if (a->amounts[k] < b->amounts[k])
            return false;
    return true;
}

static void
keep(struct cover_sums *sums, const struct cover_sum *sum)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < sums->count; i++)
        if (is_as_good(&sums->items[i], sum))
            return;
    for (uint32_t i = 0; i < sums->count; i++)
        if (!is_as_good(sum, &sums->items[i]))
            sums->items[kept++] = sums->items[i];
    sums->count = kept;
    if (sums->count == SUMS_MAX)
        return;
    xgrow(sums->items, sums->count, sums->capacity);
    sums->items[sums->count++] = *sum;
}

/* An amount counts at most as far as it is wanted. */
static void
add(const struct cover *c, struct cover_sum *sum, unsigned numa)
{
    sum->set |= UINT64_C(1) << numa;
    for (unsigned k = 0; k < AMOUNTS; k++) {
        int64_t most = k == HERE ? c->package_most : c->wanted[k];

        sum->amounts[k] += c->has[numa].amounts[k];
        if (sum->amounts[k] > most)
            sum->amounts[k] = most;
    }
}

/* All NUMA nodes of the package have been considered: its PUs join the total.
 */
static void
close_package(struct cover *c)
{
    for (unsigned width = 0; width <= c->s->width; width++)
        for (uint32_t i = 0; i < c->by_width[width].count; i++) {
            int64_t *amounts = c->by_width[width].items[i].amounts;

            amounts[PUS] += amounts[HERE];
            if (amounts[PUS] > c->wanted[PUS])
                amounts[PUS] = c->wanted[PUS];
            amounts[HERE] = 0;
        }
}

static bool
add_numa(struct cover *c, unsigned numa, uint64_t *ret_set)
{
    for (unsigned width = c->s->width; width-- > 0;)
        for (uint32_t i = 0; i < c->by_width[width].count; i++) {
            struct cover_sum sum = c->by_width[width].items[i];

            add(c, &sum, numa);
            if (width + 1 < c->s->width) {
                keep(&c->by_width[width + 1], &sum);
            } else if (is_enough(c, &sum)) {
                *ret_set = sum.set;
                return true;
            }
        }
    return false;
}

bool
numa_cover_find(const struct numa_search *s, uint64_t *ret_set)
{
    unsigned n = s->o->topology_index->n_numa;
    struct cover *c = xnew(struct cover);
    struct cover_sum nothing = {0};
    bool has_found = false;

    c->s = s;
    c->has = xnew_array(struct cover_sum, n + 1);
    read_wanted(c);
    for (unsigned i = 0; i < n; i++)
        read_numa(c, i);
    sort_by_package(c);
    keep(&c->by_width[0], &nothing);
    for (unsigned i = 0; i < n && !has_found; i++) {
        if (i > 0 && c->package[c->order[i]] != c->package[c->order[i - 1]])
            close_package(c);
        has_found = add_numa(c, c->order[i], ret_set);
    }
    for (unsigned width = 0; width <= s->width; width++)
        free(c->by_width[width].items);
    free(c->has);
    free(c);
    return has_found;
}
