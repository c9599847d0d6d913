/* SPDX-License-Identifier: Apache-2.0 */
/* The search goes from narrow sets of NUMA nodes to wide ones and stops at the first width
 * that holds the demand, because a pod that spans more memory nodes than it must is slower for
 * as long as it runs. Among equals the fullest fit wins, so that the largest hole of a node
 * survives for a large pod.
 *
 * An answer also says whether it lasts. "Not now" is asked again when the node changes; "never
 * on this node" is not, which spares preemption on nodes where nothing would help. Therefore
 * the empty machine is judged by the same rules as the present one, and "restricted" is
 * measured against it, all resources together (decision 52).
 */
#include "lib/allocator/allocator.h"

#include "lib/allocator/capacity.h"
#include "lib/allocator/demand.h"
#include "lib/allocator/kubelet_grant.h"
#include "lib/allocator/numa_search.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/topology_index.h"
#include "lib/base/alloc.h"

/* PUs that leave the shared pool, withheld ones included. Exact when all cores
 * are alike, otherwise a lower bound.
 */
static unsigned
taken_pus(const struct topology_index *ti, const struct demand *d)
{
    unsigned threads = d->threads_per_core;

    if (threads == 0 || threads > ti->max_threads)
        threads = ti->max_threads;
    if (threads == 0)
        return d->pus;
    if (ti->is_uniform)
        return (d->pus + threads - 1) / threads * ti->max_threads;
    return d->pus;
}

static unsigned
total_usable(const struct occupancy *o, const struct demand *d)
{
    unsigned usable = 0;

    for (unsigned i = 0; i < o->topology_index->n_numa; i++)
        usable += numa_search_usable(o, i, d->threads_per_core);
    return usable;
}

static bool
leaves_shared_pool(const struct occupancy *o, unsigned taken)
{
    unsigned left;

    if (o->n_shared == 0)
        return true;
    left = o->free_pus > taken ? o->free_pus - taken : 0;
    return (left > 0 && (int64_t)left * 1000 >= o->shared_milli);
}

/* Checks the requirements that do not depend on the choice of NUMA nodes. */
static enum allocator_answer
check_totals(const struct occupancy *o, const struct demand *d)
{
    const struct topology_index *ti = o->topology_index;

    if (d->pus > ti->n_pus || d->memory_bytes > (int64_t)ti->memory_bytes)
        return ALLOCATOR_TOO_SMALL;
    if (d->is_whole_node && (o->free_cores < ti->n_cores || o->n_shared > 0))
        return ALLOCATOR_NOT_EMPTY;
    if (d->is_exclusive) {
        if (total_usable(o, d) < d->pus || !leaves_shared_pool(o, taken_pus(ti, d)))
            return ALLOCATOR_NO_CORES;
    } else if (o->free_pus == 0
               || o->shared_milli + d->shared_milli > (int64_t)o->free_pus * 1000) {
        return ALLOCATOR_NO_SHARED;
    }
    if (d->memory_bytes > o->free_memory)
        return ALLOCATOR_NO_MEMORY;
    if (d->n_devices > 0 && !numa_search_has_devices(o, d, UINT64_MAX))
        return ALLOCATOR_NO_DEVICES;
    if (d->n_hugepages > 0 && !numa_search_has_hugepages(o, d, UINT64_MAX))
        return ALLOCATOR_NO_HUGEPAGES;
    return ALLOCATOR_FITS;
}

static void
set_choice(const struct numa_search *s, struct allocator_choice *ret_choice)
{
    unsigned pairs = s->width * (s->width - 1) / 2;

    *ret_choice = (struct allocator_choice){
        .numa = s->best,
        .width = s->width,
        .distance = pairs > 0 ? s->best_distance / pairs : 10,
        .split = s->best_split,
        .left_pus = s->best_left,
    };
}

/* Chooses all NUMA nodes that have something free: either the pod is to be
 * spread out, or no set was found within the search's limit. check_totals has
 * seen that the totals suffice; only a limit of cores per package can still
 * fail. If no node has free PUs or memory, which a pod that asks for neither
 * allows, all NUMA nodes are chosen.
 */
static enum allocator_answer
settle_on_all(struct numa_search *s, struct allocator_choice *ret_choice)
{
    struct allocator_choice all = {.distance = 20};
    unsigned n = s->o->topology_index->n_numa;

    if (s->d->cores_per_package > 0 && !numa_search_has_cores(s->o, s->d, UINT64_MAX))
        return ALLOCATOR_NO_CORES;
    for (unsigned i = 0; i < n; i++) {
        if (s->pus[i] == 0 && s->memory[i] == 0)
            continue;
        all.numa |= UINT64_C(1) << i;
        all.width++;
        all.left_pus += s->pus[i];
    }
    if (all.width == 0) {
        all.numa = UINT64_MAX >> (64 - n);
        all.width = n;
    }
    all.left_pus -= s->d->pus;
    *ret_choice = all;
    return ALLOCATOR_FITS;
}

/* Searches for the fewest NUMA nodes that hold the demand, between `first` and
 * `last` of them.
 */
static bool
search_widths(struct numa_search *s, unsigned first, unsigned last)
{
    for (unsigned width = first; width <= last; width++)
        if (numa_search_run(s, width))
            return true;
    return false;
}

/* The number of NUMA nodes that the demand would get on this machine when
 * nothing runs on it; 0: it never fits.
 */
static unsigned
empty_width(struct topology_index *topology_index, const struct demand *d)
{
    CLEANUP(occupancy_freep)
    struct occupancy *empty = occupancy_new(topology_index);
    struct numa_search s;

    numa_search_init(&s, empty, d);
    return search_widths(&s, 1, topology_index->n_numa) ? s.width : 0;
}

static enum allocator_answer
choose_restricted(struct numa_search *s, struct allocator_choice *ret_choice)
{
    unsigned width;

    if (!numa_search_run(s, 1)) {
        width = empty_width(s->o->topology_index, s->d);
        if (width == 0)
            return ALLOCATOR_TOO_SMALL;
        if (width == 1 || !numa_search_run(s, width))
            return ALLOCATOR_NOT_ALIGNED;
    }
    set_choice(s, ret_choice);
    return ALLOCATOR_FITS;
}

/* Whether one NUMA node of the empty machine holds the demand. Avoids a search
 * where possible, because this runs for every node that cannot align the pod.
 */
static bool
fits_one_empty(struct topology_index *ti, const struct demand *d)
{
    if (d->n_devices > 0 || d->n_hugepages > 0 || d->cores_per_package > 0)
        return empty_width(ti, d) == 1;
    for (unsigned i = 0; i < ti->n_numa; i++)
        if (capacity_usable(ti, i, d) >= d->pus
            && (int64_t)ti->topology->numa[i].memory_bytes >= d->memory_bytes)
            return true;
    return false;
}

static enum allocator_answer
choose_single(struct numa_search *s, struct allocator_choice *ret_choice)
{
    if (!numa_search_run(s, 1))
        return fits_one_empty(s->o->topology_index, s->d) ? ALLOCATOR_NOT_ALIGNED
                                                          : ALLOCATOR_TOO_SMALL;
    set_choice(s, ret_choice);
    return ALLOCATOR_FITS;
}

static enum allocator_answer
choose_by_kubelet(const struct occupancy *o, const struct demand *d,
                  struct allocator_choice *ret_choice)
{
    CLEANUP_FREE struct grant *g = xnew(struct grant);
    enum allocator_answer answer = kubelet_grant(o, d, d->rules, g);

    if (answer != ALLOCATOR_FITS)
        return answer;
    if (!leaves_shared_pool(o, bitset_count(&g->cpus) + bitset_count(&g->withheld)))
        return ALLOCATOR_NO_CORES;
    *ret_choice = (struct allocator_choice){.distance = 10};
    bitset_foreach(core, &g->cores) ret_choice->numa |= UINT64_C(1)
                                                        << o->topology_index->cores[core].numa;
    ret_choice->numa |= g->memory_nodes;
    for (unsigned i = 0; i < o->topology_index->n_numa; i++)
        if ((ret_choice->numa >> i & 1) != 0) {
            ret_choice->width++;
            ret_choice->left_pus += o->numa[i].free_pus;
        }
    ret_choice->left_pus -= bitset_count(&g->cpus) + bitset_count(&g->withheld);
    return ALLOCATOR_FITS;
}

static enum allocator_answer
choose_here(const struct occupancy *o, const struct demand *d, struct allocator_choice *ret_choice)
{
    struct numa_search s;

    numa_search_init(&s, o, d);
    if (d->numa_policy == NUMA_SINGLE)
        return choose_single(&s, ret_choice);
    if (d->numa_policy == NUMA_RESTRICTED)
        return choose_restricted(&s, ret_choice);
    if (d->is_whole_node || d->distribution != DISTRIBUTION_PACK
        || !search_widths(&s, 1, o->topology_index->n_numa))
        return settle_on_all(&s, ret_choice);
    set_choice(&s, ret_choice);
    return ALLOCATOR_FITS;
}

static enum allocator_answer
choose(const struct occupancy *o, const struct demand *d, struct allocator_choice *ret_choice)
{
    enum allocator_answer answer = check_totals(o, d);

    if (answer != ALLOCATOR_FITS)
        return answer;
    if (d->rules != NULL && kubelet_grant_knows(d))
        return choose_by_kubelet(o, d, ret_choice);
    answer = choose_here(o, d, ret_choice);
    if (answer == ALLOCATOR_FITS && o->n_shared > 0 && d->is_exclusive
        && !o->topology_index->is_uniform
        && !leaves_shared_pool(o, grant_taken_pus(o, d, ret_choice->numa)))
        return ALLOCATOR_NO_CORES;
    return answer;
}

/* Whether the demand would fit if nothing ran on the node. For an answer of
 * ALLOCATOR_NOT_ALIGNED, choose_single and choose_restricted have checked this
 * already.
 */
static bool
could_ever_fit(struct topology_index *ti, const struct demand *d)
{
    return capacity_fits(ti, d) && (d->numa_policy != NUMA_SINGLE || fits_one_empty(ti, d));
}

enum allocator_answer
allocator_choose(const struct occupancy *o, const struct demand *d,
                 struct allocator_choice *ret_choice)
{
    enum allocator_answer answer = choose(o, d, ret_choice);

    if (answer == ALLOCATOR_FITS || allocator_answer_lasts(answer)
        || answer == ALLOCATOR_NOT_ALIGNED || could_ever_fit(o->topology_index, d))
        return answer;
    return capacity_has_devices(o->topology_index, d) ? ALLOCATOR_TOO_SMALL
                                                      : ALLOCATOR_NO_SUCH_DEVICES;
}
