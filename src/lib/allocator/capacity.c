/* SPDX-License-Identifier: Apache-2.0 */
/* These questions are asked for each node that refuses a pod, so they are sums and no search.
 * They may only err to one side: a machine that passes here may still be unable to align the
 * pod, but one that fails can never run it.
 */
#include "lib/allocator/capacity.h"

#include "lib/allocator/demand.h"
#include "lib/allocator/topology_index.h"

static unsigned
threads_of(const struct topology_index *ti, unsigned core, const struct demand *d)
{
    unsigned n = ti->cores[core].n_pus;

    return d->threads_per_core > 0 && d->threads_per_core < n ? d->threads_per_core : n;
}

unsigned
capacity_usable(const struct topology_index *ti, unsigned numa, const struct demand *d)
{
    unsigned sum = 0;

    if (d->threads_per_core == 0 || d->threads_per_core >= ti->max_threads)
        return ti->numa[numa].n_pus;
    if (d->threads_per_core == 1)
        return ti->numa[numa].n_cores;
    if (ti->is_uniform)
        return ti->numa[numa].n_cores * d->threads_per_core;
    for (unsigned core = 0; core < ti->n_cores; core++)
        if (ti->cores[core].numa == numa)
            sum += threads_of(ti, core, d);
    return sum;
}

/* The usable PUs of as many cores of the package as the demand may have there;
 * cores with most threads count first.
 */
static unsigned
usable_of_package(const struct topology_index *ti, unsigned package, const struct demand *d)
{
    unsigned left = d->cores_per_package, sum = 0;

    for (unsigned threads = ti->max_threads; threads > 0 && left > 0; threads--)
        for (unsigned core = 0; core < ti->n_cores && left > 0; core++)
            if (ti->groups[ti->cores[core].group].package == package
                && threads_of(ti, core, d) == threads) {
                sum += threads;
                left--;
            }
    return sum;
}

static bool
has_cores(const struct topology_index *ti, const struct demand *d)
{
    unsigned sum = 0;

    if (d->pus == 0)
        return true;
    if (d->cores_per_package > 0)
        for (unsigned i = 0; i < ti->n_packages; i++)
            sum += usable_of_package(ti, i, d);
    else
        for (unsigned i = 0; i < ti->n_numa; i++)
            sum += capacity_usable(ti, i, d);
    return sum >= d->pus;
}

bool
capacity_has_devices(const struct topology_index *ti, const struct demand *d)
{
    for (unsigned i = 0; i < d->n_devices; i++) {
        const struct demand_device *wanted = &d->devices[i];
        unsigned count = 0;

        for (unsigned k = 0; k < ti->topology->n_devices; k++)
            count += topology_index_device_matches(ti, k, wanted->type, wanted->model);
        if (count < wanted->count)
            return false;
    }
    return true;
}

static bool
has_hugepages(const struct topology_index *ti, const struct demand_hugepages *wanted)
{
    unsigned page = topology_index_find_page(ti, wanted->page_bytes);
    int64_t bytes = 0;

    if (page == TOPOLOGY_INDEX_MAX_PAGES)
        return false;
    for (unsigned i = 0; i < ti->n_numa; i++)
        bytes += ti->numa[i].huge_bytes[page];
    return bytes >= wanted->bytes;
}

bool
capacity_fits(const struct topology_index *ti, const struct demand *d)
{
    if (d->memory_bytes > (int64_t)ti->memory_bytes || !has_cores(ti, d)
        || !capacity_has_devices(ti, d))
        return false;
    for (unsigned i = 0; i < d->n_hugepages; i++)
        if (!has_hugepages(ti, &d->hugepages[i]))
            return false;
    return true;
}
