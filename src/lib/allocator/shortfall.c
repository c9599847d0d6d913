/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/shortfall.h"

#include <inttypes.h>

#include "lib/allocator/demand.h"
#include "lib/allocator/numa_search.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/topology_index.h"
#include "lib/base/strbuf.h"

#define KIB INT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

/* The free amounts by NUMA node, and the number of NUMA nodes that the policy
 * allows.
 */
struct account {
    const struct occupancy *o;
    const struct demand *d;
    unsigned width;   /* NUMA nodes that the demand may use */
    const char *free; /* " free"; "" for an empty node */
    struct strbuf *out;
    bool is_short; /* some amount was reported as too small */
};

/* ---- Amounts ---- */

static void
add_bytes(struct strbuf *out, int64_t bytes)
{
    if (bytes % GIB == 0)
        strbuf_printf(out, "%" PRId64 "Gi", bytes / GIB);
    else if (bytes >= 10 * GIB)
        strbuf_printf(out, "%" PRId64 ".%" PRId64 "Gi", bytes / GIB, bytes % GIB * 10 / GIB);
    else
        strbuf_printf(out, "%" PRId64 "Mi", bytes / MIB);
}

static void
add_milli(struct strbuf *out, int64_t milli)
{
    strbuf_printf(out, "%" PRId64, milli / 1000);
    if (milli % 1000 != 0)
        strbuf_printf(out, ".%03" PRId64, milli % 1000);
    while (milli % 1000 != 0 && out->text[out->length - 1] == '0')
        strbuf_truncate(out, out->length - 1);
}

static void
add_page_size(struct strbuf *out, uint64_t bytes)
{
    if (bytes >= (uint64_t)MIB)
        add_bytes(out, (int64_t)bytes);
    else
        strbuf_printf(out, "%" PRIu64 "Ki", bytes / (uint64_t)KIB);
}

/* ---- What the pod needs ---- */

static void
separate(struct strbuf *out, size_t from, const char *by)
{
    if (out->length > from)
        strbuf_add_text(out, by);
}

static const char *
where_of(const struct demand *d)
{
    switch (d->numa_policy) {
    case NUMA_SINGLE:
        return " in one NUMA node";
    case NUMA_RESTRICTED:
        return " in as few NUMA nodes as possible";
    case NUMA_NONE:
    case NUMA_BEST_EFFORT:
        break;
    }
    return "";
}

static void
add_needed_cpus(const struct demand *d, struct strbuf *out)
{
    if (d->is_whole_node) {
        strbuf_add_text(out, "a whole node");
        if (d->pus > 0)
            strbuf_printf(out, " with %u CPU%s", d->pus, d->pus == 1 ? "" : "s");
    } else if (d->is_exclusive) {
        strbuf_printf(out, "%u CPU%s on whole cores", d->pus, d->pus == 1 ? "" : "s");
        if (d->threads_per_core > 0)
            strbuf_printf(out, ", %u of each", d->threads_per_core);
        if (d->cores_per_package > 0)
            strbuf_printf(out, ", at most %u core%s of each socket", d->cores_per_package,
                          d->cores_per_package == 1 ? "" : "s");
    } else if (d->shared_milli > 0) {
        add_milli(out, d->shared_milli);
        strbuf_printf(out, " CPU%s", d->shared_milli == 1000 ? "" : "s");
    }
}

static void
add_device_name(const struct demand_device *device, struct strbuf *out)
{
    strbuf_add_text(out, device->type);
    if (device->model != NULL)
        strbuf_printf(out, " (%s)", device->model);
}

void
shortfall_format_need(const struct demand *d, struct strbuf *out)
{
    size_t from = out->length;

    add_needed_cpus(d, out);
    if (out->length > from)
        strbuf_add_text(out, where_of(d));
    if (d->memory_bytes > 0) {
        separate(out, from, ", ");
        add_bytes(out, d->memory_bytes);
        strbuf_add_text(out, " of memory");
    }
    for (unsigned i = 0; i < d->n_hugepages; i++) {
        separate(out, from, ", ");
        add_bytes(out, d->hugepages[i].bytes);
        strbuf_add_text(out, " of huge pages of ");
        add_page_size(out, d->hugepages[i].page_bytes);
    }
    for (unsigned i = 0; i < d->n_devices; i++) {
        separate(out, from, ", ");
        strbuf_printf(out, "%u ", d->devices[i].count);
        add_device_name(&d->devices[i], out);
    }
}

/* ---- What the node has ---- */

/* The sum of the largest `width` amounts. */
static int64_t
sum_of_most(const int64_t *amounts, unsigned count, unsigned width)
{
    uint64_t taken = 0;
    int64_t sum = 0;

    for (unsigned n = 0; n < width && n < count; n++) {
        unsigned most = 64;

        for (unsigned i = 0; i < count; i++)
            if ((taken >> i & 1) == 0 && (most == 64 || amounts[i] > amounts[most]))
                most = i;
        taken |= UINT64_C(1) << most;
        sum += amounts[most];
    }
    return sum;
}

static void
add_count(struct strbuf *out, int64_t count)
{
    if (count == 0)
        strbuf_add_text(out, "no");
    else
        strbuf_printf(out, "%" PRId64, count);
}

static void
add_place(const struct account *a)
{
    if (a->width == 1)
        strbuf_add_text(a->out, " in one NUMA node");
    else
        strbuf_printf(a->out, " in %u NUMA nodes", a->width);
}

static void
fill_cpus(const struct account *a, int64_t cpus[64])
{
    for (unsigned i = 0; i < a->o->topology_index->n_numa; i++)
        cpus[i] = (int64_t)numa_search_usable(a->o, i, a->d->threads_per_core);
}

static unsigned
threads_of(const struct account *a, unsigned core)
{
    unsigned n = a->o->topology_index->cores[core].n_pus;

    return a->d->threads_per_core > 0 && a->d->threads_per_core < n ? a->d->threads_per_core : n;
}

/* CPUs of as many cores of each package as the demand may have, those with most
 * threads.
 */
static int64_t
capped_cpus(const struct account *a)
{
    const struct topology_index *ti = a->o->topology_index;
    int64_t sum = 0;

    for (unsigned p = 0; p < ti->n_packages; p++) {
        unsigned left = a->d->cores_per_package;

        for (unsigned n = ti->max_threads; n > 0 && left > 0; n--)
            bitset_foreach(core, &a->o->core_set)
            {
                if (left == 0 || threads_of(a, core) != n
                    || ti->groups[ti->cores[core].group].package != p)
                    continue;
                sum += n;
                left--;
            }
    }
    return sum;
}

static void
describe_cpus(struct account *a)
{
    unsigned n = a->o->topology_index->n_numa;
    int64_t cpus[64], all, most;

    fill_cpus(a, cpus);
    all = sum_of_most(cpus, n, n);
    most = sum_of_most(cpus, n, a->width);
    strbuf_add_text(a->out, "has ");
    add_count(a->out, all);
    strbuf_printf(a->out, " CPU%s%s", all == 1 ? "" : "s", a->free);
    if (most < all) {
        strbuf_printf(a->out, ", at most %" PRId64, most);
        add_place(a);
    }
    if (a->d->threads_per_core > 0)
        strbuf_printf(a->out, ", %u of each core", a->d->threads_per_core);
    if (a->d->cores_per_package > 0 && capped_cpus(a) < most) {
        most = capped_cpus(a);
        strbuf_printf(a->out, ", %" PRId64 " with so many cores of each socket", most);
    }
    if (most >= (int64_t)a->d->pus)
        return;
    a->is_short = true;
    if (a->free[0] == '\0')
        strbuf_printf(a->out, ", of the %u needed", a->d->pus);
}

static void
describe_shared(struct account *a)
{
    int64_t left = (int64_t)a->o->free_pus * 1000 - a->o->shared_milli;

    if (left >= a->d->shared_milli && a->o->free_pus > 0)
        return;
    strbuf_add_text(a->out, "has ");
    add_milli(a->out, left > 0 ? left : 0);
    strbuf_printf(a->out, " CPUs%s for all to share", a->free[0] != '\0' ? " left" : "");
    a->is_short = true;
}

static void
start_clause(const struct account *a, size_t from)
{
    strbuf_add_text(a->out, a->out->length > from ? "; " : "has ");
}

/* Writes the bytes of one kind of memory, if there are too few. */
static void
describe_bytes(struct account *a, const int64_t bytes[64], int64_t wanted, const char *what,
               uint64_t page_bytes, size_t from)
{
    unsigned n = a->o->topology_index->n_numa;
    int64_t all = sum_of_most(bytes, n, n);
    int64_t most = sum_of_most(bytes, n, a->width);

    if (most >= wanted)
        return;
    start_clause(a, from);
    add_bytes(a->out, all);
    strbuf_add_text(a->out, what);
    if (page_bytes > 0)
        add_page_size(a->out, page_bytes);
    strbuf_add_text(a->out, a->free);
    if (most < all) {
        strbuf_add_text(a->out, ", at most ");
        add_bytes(a->out, most);
        add_place(a);
    }
    a->is_short = true;
}

static void
describe_memory(struct account *a, size_t from)
{
    int64_t bytes[64];

    for (unsigned i = 0; i < a->o->topology_index->n_numa; i++)
        bytes[i] = a->o->numa[i].free_memory > 0 ? a->o->numa[i].free_memory : 0;
    describe_bytes(a, bytes, a->d->memory_bytes, " of memory", 0, from);
}

static void
describe_hugepages(struct account *a, const struct demand_hugepages *h, size_t from)
{
    unsigned page = topology_index_find_page(a->o->topology_index, h->page_bytes);
    int64_t bytes[64] = {0};

    for (unsigned i = 0; i < a->o->topology_index->n_numa; i++)
        if (page < TOPOLOGY_INDEX_MAX_PAGES && a->o->numa[i].free_huge[page] > 0)
            bytes[i] = a->o->numa[i].free_huge[page];
    describe_bytes(a, bytes, h->bytes, " of huge pages of ", h->page_bytes, from);
}

static void
describe_device(struct account *a, const struct demand_device *wanted, size_t from)
{
    const struct topology *t = a->o->topology_index->topology;
    unsigned n = a->o->topology_index->n_numa;
    int64_t count[64] = {0}, anywhere = 0, all, most;

    for (unsigned i = 0; i < t->n_devices; i++) {
        if (a->o->device_holders[i] > 0
            || !topology_index_device_matches(a->o->topology_index, i, wanted->type, wanted->model))
            continue;
        if (t->devices[i].numa == TOPOLOGY_NONE)
            anywhere++;
        else
            count[t->devices[i].numa]++;
    }
    all = sum_of_most(count, n, n) + anywhere;
    most = a->d->has_far_devices ? all : sum_of_most(count, n, a->width) + anywhere;
    if (most >= wanted->count)
        return;
    start_clause(a, from);
    add_count(a->out, all);
    strbuf_add_char(a->out, ' ');
    add_device_name(wanted, a->out);
    strbuf_add_text(a->out, a->free);
    if (most < all) {
        strbuf_printf(a->out, ", at most %" PRId64, most);
        add_place(a);
    }
    a->is_short = true;
}

/* The number of NUMA nodes that the demand may use here. A restricted demand
 * may use as many as it would get on the empty node.
 */
static unsigned
width_of(const struct occupancy *o, const struct demand *d)
{
    CLEANUP(occupancy_freep) struct occupancy *empty = NULL;
    struct allocator_choice choice;
    struct demand any = *d;

    if (d->numa_policy == NUMA_SINGLE)
        return 1;
    if (d->numa_policy != NUMA_RESTRICTED)
        return o->topology_index->n_numa;
    any.numa_policy = NUMA_BEST_EFFORT;
    any.distribution = DISTRIBUTION_PACK;
    any.rules = NULL;
    empty = occupancy_new(o->topology_index);
    return allocator_choose(empty, &any, &choice) == ALLOCATOR_FITS ? choice.width
                                                                    : o->topology_index->n_numa;
}

/* Writes the reason when each amount suffices and the demand still does not
 * fit.
 */
static void
describe_rest(const struct account *a, enum allocator_answer answer, size_t from)
{
    if (a->out->length == from)
        strbuf_add_text(a->out, "has enough");
    if (answer == ALLOCATOR_NO_CORES && a->o->n_shared > 0)
        strbuf_add_text(a->out, ", some of which pods that share CPUs need");
    else if (a->width == 1)
        strbuf_add_text(a->out, ", but no NUMA node has all that it needs");
    else
        strbuf_printf(a->out, ", but no %u NUMA nodes have all that it needs", a->width);
}

static void
describe_all(struct account *a, enum allocator_answer answer)
{
    const struct demand *d = a->d;
    size_t from = a->out->length;

    if (d->is_exclusive)
        describe_cpus(a);
    else
        describe_shared(a);
    describe_memory(a, from);
    for (unsigned i = 0; i < d->n_hugepages; i++)
        describe_hugepages(a, &d->hugepages[i], from);
    for (unsigned i = 0; i < d->n_devices; i++)
        describe_device(a, &d->devices[i], from);
    if (!a->is_short)
        describe_rest(a, answer, from);
}

void
shortfall_format(const struct occupancy *o, const struct demand *d, enum allocator_answer answer,
                 struct strbuf *out)
{
    CLEANUP(occupancy_freep) struct occupancy *empty = NULL;
    struct account a = {
        .o = o,
        .d = d,
        .width = width_of(o, d),
        .free = " free",
        .out = out,
    };

    if (answer == ALLOCATOR_FITS)
        return;
    if (answer == ALLOCATOR_NOT_EMPTY) {
        strbuf_printf(out, "is not empty: %u of its %u cores are free", o->free_cores,
                      o->topology_index->n_cores);
        return;
    }
    if (allocator_answer_lasts(answer)) {
        empty = occupancy_new(o->topology_index);
        a.o = empty;
        a.free = "";
    }
    describe_all(&a, answer);
}
