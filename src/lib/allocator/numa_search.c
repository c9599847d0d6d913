/* SPDX-License-Identifier: Apache-2.0 */
/* Most questions are about one NUMA node, so that case has a loop of its own, and a cheap
 * bound (the largest amounts of any k nodes) rejects most widths that are too small. Otherwise
 * sets are extended one by one, the closest first, with a limit of steps: the scheduler asks
 * this for thousands of nodes in one decision. Beyond the limit, neighbourhoods around each
 * node are tried, and at last any set that holds; whatever is returned holds the demand, and
 * only its quality may suffer.
 */
#include "lib/allocator/numa_search.h"

#include "lib/allocator/demand.h"
#include "lib/allocator/numa_cover.h"
#include "lib/allocator/occupancy.h"

/* The steps that a search of one width may take; partial sets count too. Enough
 * for all pairs of 64 NUMA nodes, all sets of up to 4 of 16, and all sets of
 * any width of 12.
 */
#define SEARCH_LIMIT 8000u
#define ALL_WIDTHS   3u /* times SEARCH_LIMIT, for all widths together */

unsigned
numa_search_usable(const struct occupancy *o, unsigned numa, unsigned threads)
{
    const struct topology_index *ti = o->topology_index;
    unsigned usable = 0;

    if (threads == 0 || threads >= ti->max_threads)
        return o->numa[numa].free_pus;
    if (threads == 1)
        return o->numa[numa].free_cores;
    if (ti->is_uniform)
        return o->numa[numa].free_cores * threads;
    bitset_foreach(core, &o->core_set)
    {
        unsigned n = ti->cores[core].n_pus;

        if (ti->cores[core].numa == numa)
            usable += n < threads ? n : threads;
    }
    return usable;
}

static unsigned
free_devices(const struct occupancy *o, const struct demand_device *wanted, uint64_t numa)
{
    const struct topology *t = o->topology_index->topology;
    unsigned n = 0;

    for (unsigned i = 0; i < t->n_devices; i++)
        if (o->device_holders[i] == 0
            && (t->devices[i].numa == TOPOLOGY_NONE || (numa >> t->devices[i].numa & 1) != 0)
            && topology_index_device_matches(o->topology_index, i, wanted->type, wanted->model))
            n++;
    return n;
}

bool
numa_search_has_devices(const struct occupancy *o, const struct demand *d, uint64_t numa)
{
    for (unsigned i = 0; i < d->n_devices; i++)
        if (free_devices(o, &d->devices[i], numa) < d->devices[i].count)
            return false;
    return true;
}

/* The PUs of at most `most` cores of the package within the set, those that
 * yield most.
 */
static unsigned
best_cores(const struct occupancy *o, unsigned package, uint64_t set, unsigned threads,
           unsigned most)
{
    const struct topology_index *ti = o->topology_index;
    unsigned counts[BITSET_BITS + 1] = {0}, sum = 0;

    bitset_foreach(core, &o->core_set)
    {
        const struct topology_index_core *c = &ti->cores[core];

        if (ti->groups[c->group].package == package && (set >> c->numa & 1))
            counts[c->n_pus < threads ? c->n_pus : threads]++;
    }
    for (unsigned yield = threads; yield > 0 && most > 0; yield--) {
        unsigned n = counts[yield] < most ? counts[yield] : most;

        sum += n * yield;
        most -= n;
    }
    return sum;
}

/* Counts the usable PUs of these NUMA nodes under the limit of cores per
 * package.
 */
static unsigned
usable_capped(const struct occupancy *o, const struct demand *d, uint64_t set)
{
    const struct topology_index *ti = o->topology_index;
    unsigned threads = d->threads_per_core, sum = 0;

    if (threads == 0 || threads > ti->max_threads)
        threads = ti->max_threads;
    for (unsigned p = 0; p < ti->n_packages; p++) {
        unsigned cores = 0;

        if (!ti->is_uniform) {
            sum += best_cores(o, p, set, threads, d->cores_per_package);
            continue;
        }
        for (unsigned g = 0; g < ti->n_groups; g++)
            if (ti->groups[g].package == p && (set >> ti->groups[g].numa & 1))
                cores += o->group_free[g];
        sum += (cores < d->cores_per_package ? cores : d->cores_per_package) * threads;
    }
    return sum;
}

bool
numa_search_has_cores(const struct occupancy *o, const struct demand *d, uint64_t set)
{
    return usable_capped(o, d, set) >= d->pus;
}

bool
numa_search_has_hugepages(const struct occupancy *o, const struct demand *d, uint64_t set)
{
    for (unsigned i = 0; i < d->n_hugepages; i++) {
        unsigned page = topology_index_find_page(o->topology_index, d->hugepages[i].page_bytes);
        int64_t bytes = 0;

        if (page == TOPOLOGY_INDEX_MAX_PAGES)
            return false;
        for (unsigned n = 0; n < o->topology_index->n_numa; n++)
            if ((set >> n & 1) != 0 && o->numa[n].free_huge[page] > 0)
                bytes += o->numa[n].free_huge[page];
        if (bytes < d->hugepages[i].bytes)
            return false;
    }
    return true;
}

void
numa_search_init(struct numa_search *s, const struct occupancy *o, const struct demand *d)
{
    unsigned n = o->topology_index->n_numa;

    s->o = o;
    s->d = d;
    s->most_pus = 0;
    s->most_memory = 0;
    s->all_visits = 0;
    s->limit = SEARCH_LIMIT;
    for (unsigned i = 0; i < n; i++) {
        s->pus[i] = d->pus > 0 ? numa_search_usable(o, i, d->threads_per_core) : 0;
        s->memory[i] = o->numa[i].free_memory > 0 ? o->numa[i].free_memory : 0;
        if (s->pus[i] > s->most_pus)
            s->most_pus = s->pus[i];
        if (s->memory[i] > s->most_memory)
            s->most_memory = s->memory[i];
    }
}

/* Whether cores, devices and huge pages of the set are enough. `pus` comes in
 * as the sum without the limit per package, and is lowered to the sum within
 * it.
 */
static bool
holds(const struct numa_search *s, uint64_t set, unsigned *pus)
{
    const struct demand *d = s->d;

    if (d->cores_per_package > 0 && d->pus > 0) {
        *pus = usable_capped(s->o, d, set);
        if (*pus < d->pus)
            return false;
    }
    if (d->n_hugepages > 0 && !numa_search_has_hugepages(s->o, d, set))
        return false;
    return d->n_devices == 0 || d->has_far_devices || numa_search_has_devices(s->o, d, set);
}

/* The number of L3 groups that are needed, taken from the largest on. */
static unsigned
groups_needed(const struct occupancy *o, unsigned numa, unsigned threads, unsigned pus)
{
    const struct topology_index_numa *n = &o->topology_index->numa[numa];
    const uint16_t *free_cores = o->group_free + n->first_group;
    struct bitset taken = {0};
    unsigned count = 0, sum = 0;

    while (sum < pus && count < n->n_groups) {
        unsigned best = BITSET_BITS;

        for (unsigned i = 0; i < n->n_groups; i++)
            if (!bitset_has(&taken, i) && (best == BITSET_BITS || free_cores[i] > free_cores[best]))
                best = i;
        bitset_add(&taken, best);
        sum += free_cores[best] * threads;
        count++;
    }
    return count;
}

/* How many more L3 groups the demand would use on this NUMA node than on an
 * empty machine. If cores differ, each counts as the largest.
 */
static unsigned
split_on(const struct numa_search *s, unsigned numa)
{
    const struct topology_index *topology_index = s->o->topology_index;
    unsigned threads = s->d->threads_per_core, fewest, used;

    if (s->d->pus == 0 || topology_index->numa[numa].n_groups <= 1
        || s->d->distribution != DISTRIBUTION_PACK)
        return 0;
    if (threads == 0 || threads > topology_index->max_threads)
        threads = topology_index->max_threads;
    used = groups_needed(s->o, numa, threads, s->d->pus);
    fewest = (s->d->pus + topology_index->most_in_group * threads - 1)
             / (topology_index->most_in_group * threads);
    return used > fewest ? used - fewest : 0;
}

static void
weigh(struct numa_search *s, uint64_t set, unsigned pus, unsigned distance)
{
    unsigned left, split;

    if (!holds(s, set, &pus))
        return;
    left = pus - s->d->pus;
    if (s->has_found && distance > s->best_distance)
        return;
    split = s->width == 1 ? split_on(s, (unsigned)__builtin_ctzll(set)) : 0;
    if (s->has_found && distance == s->best_distance
        && (split > s->best_split || (split == s->best_split && left >= s->best_left)))
        return;
    s->has_found = true;
    s->best = set;
    s->best_split = split;
    s->best_distance = distance;
    s->best_left = left;
}

static void
extend(struct numa_search *s, unsigned from, unsigned depth, uint64_t set, unsigned pus,
       int64_t memory, unsigned distance)
{
    unsigned more = s->width - depth;

    s->visits++;
    if (pus + more * s->most_pus < s->d->pus
        || memory + (int64_t)more * s->most_memory < s->d->memory_bytes)
        return;
    if (more == 0) {
        weigh(s, set, pus, distance);
        return;
    }
    for (unsigned i = from; i + more <= s->o->topology_index->n_numa; i++) {
        unsigned apart = distance;

        if (s->visits > s->limit)
            return;
        if (s->pus[i] == 0 && s->memory[i] == 0 && s->d->n_devices == 0 && s->d->n_hugepages == 0)
            continue;
        for (uint64_t rest = set; rest != 0; rest &= rest - 1)
            apart +=
                topology_index_distance(s->o->topology_index, (unsigned)__builtin_ctzll(rest), i);
        extend(s, i + 1, depth + 1, set | UINT64_C(1) << i, pus + s->pus[i], memory + s->memory[i],
               apart);
    }
}

/* ---- When there are too many sets ---- */

/* A score of how much of the demand a NUMA node could hold; cores, memory,
 * devices and huge pages have equal weight.
 */
static uint64_t
worth(const struct numa_search *s, unsigned i)
{
    uint64_t pus = s->d->pus > 0 ? 1024 * (uint64_t)s->pus[i] / s->d->pus : 0;
    uint64_t memory = s->d->memory_bytes > 0 ? (uint64_t)(s->memory[i] >> 10)
                                                   / ((uint64_t)(s->d->memory_bytes >> 20) + 1)
                                             : 0;
    uint64_t others = 0, one = UINT64_C(1) << i;

    if (s->d->n_hugepages > 0 && numa_search_has_hugepages(s->o, s->d, one))
        others += 1024;
    if (s->d->n_devices > 0 && !s->d->has_far_devices)
        for (unsigned k = 0; k < s->d->n_devices; k++)
            others += 1024 * (uint64_t)free_devices(s->o, &s->d->devices[k], one)
                      / s->d->devices[k].count;
    return pus + memory + others;
}

static unsigned
distance_within(const struct numa_search *s, uint64_t set)
{
    unsigned sum = 0;

    for (uint64_t a = set; a != 0; a &= a - 1)
        for (uint64_t b = a & (a - 1); b != 0; b &= b - 1)
            sum += topology_index_distance(s->o->topology_index, (unsigned)__builtin_ctzll(a),
                                           (unsigned)__builtin_ctzll(b));
    return sum;
}

/* Tries the set of the `width` NUMA nodes with the highest worth among the
 * first `count` of `near`. True: a set has been found.
 */
static bool
try_worthiest(struct numa_search *s, const uint64_t *worths, const uint8_t *near, unsigned count)
{
    uint64_t set = 0;
    unsigned pus = 0;
    int64_t memory = 0;

    for (unsigned n = 0; n < s->width; n++) {
        unsigned best = 64;

        for (unsigned k = 0; k < count; k++)
            if ((set >> near[k] & 1) == 0 && (best == 64 || worths[near[k]] > worths[best]))
                best = near[k];
        set |= UINT64_C(1) << best;
        pus += s->pus[best];
        memory += s->memory[best];
    }
    if (pus < s->d->pus || memory < s->d->memory_bytes)
        return false;
    weigh(s, set, pus, distance_within(s, set));
    return s->has_found;
}

/* Tries the neighbourhood of each NUMA node in turn, and enlarges it until its
 * best nodes hold the demand.
 */
static void
try_neighbourhoods(struct numa_search *s)
{
    unsigned n = s->o->topology_index->n_numa;
    uint64_t worths[64];

    for (unsigned i = 0; i < n; i++)
        worths[i] = worth(s, i);
    for (unsigned centre = 0; centre < n; centre++) {
        uint8_t near[64];

        for (unsigned i = 0; i < n; i++) {
            unsigned far = topology_index_distance(s->o->topology_index, centre, i), at = i;

            while (at > 0
                   && topology_index_distance(s->o->topology_index, centre, near[at - 1]) > far) {
                near[at] = near[at - 1];
                at--;
            }
            near[at] = (uint8_t)i;
        }
        for (unsigned count = s->width; count < n; count += s->width)
            if (try_worthiest(s, worths, near, count))
                break;
        if (!s->has_found && !try_worthiest(s, worths, near, n))
            return; /* all nodes were tried: every centre fails alike */
    }
}

static void
try_otherwise(struct numa_search *s)
{
    uint64_t set;
    unsigned pus = 0;

    try_neighbourhoods(s);
    if (s->has_found || !numa_cover_find(s, &set))
        return;
    for (uint64_t rest = set; rest != 0; rest &= rest - 1)
        pus += s->pus[__builtin_ctzll(rest)];
    weigh(s, set, pus, distance_within(s, set));
}

/* Whether the largest amounts of `width` NUMA nodes suffice, whichever nodes
 * have them. A cheap test that rejects most widths that are too small.
 */
static bool
can_hold(const struct numa_search *s)
{
    unsigned pus[65] = {0};
    int64_t memory[65] = {0};

    for (unsigned i = 0; i < s->o->topology_index->n_numa; i++) {
        unsigned at = s->width;

        for (; at > 0 && pus[at - 1] < s->pus[i]; at--)
            pus[at] = pus[at - 1];
        pus[at] = s->pus[i];
        for (at = s->width; at > 0 && memory[at - 1] < s->memory[i]; at--)
            memory[at] = memory[at - 1];
        memory[at] = s->memory[i];
    }
    for (unsigned i = 1; i < s->width; i++) {
        pus[0] += pus[i];
        memory[0] += memory[i];
    }
    return pus[0] >= s->d->pus && memory[0] >= s->d->memory_bytes;
}

/* Does the work of extend for a width of one without its steps, because most
 * pods ask most nodes for a single NUMA node.
 */
static void
try_each(struct numa_search *s)
{
    for (unsigned i = 0; i < s->o->topology_index->n_numa; i++)
        if (s->pus[i] >= s->d->pus && s->memory[i] >= s->d->memory_bytes)
            weigh(s, UINT64_C(1) << i, s->pus[i], 0);
}

bool
numa_search_run(struct numa_search *s, unsigned width)
{
    s->width = width;
    s->visits = 0;
    s->has_found = false;
    if (width == 1)
        try_each(s);
    else if (can_hold(s)) {
        if (s->all_visits < ALL_WIDTHS * s->limit)
            extend(s, 0, 0, 0, 0, 0, 0);
        s->all_visits += s->visits;
        if (s->visits > s->limit || s->visits == 0)
            try_otherwise(s);
    }
    return s->has_found;
}
