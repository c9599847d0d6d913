/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outlook/tenancy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/outlook/bid.h"
#include "cli/outlook/stowage.h"
#include "lib/allocator/allocator.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/shortfall.h"
#include "lib/allocator/topology_index.h"
#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_sums.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

struct tenant {     /* a pod on the node */
    int64_t *takes; /* of the bid's amounts */
    int64_t scratch_bytes;
    int64_t ends_us;         /* 0: nobody knows */
    struct holding *holding; /* or NULL */
};

struct tenancy {
    const struct node *node;
    const struct bid *bid;
    struct topology_index *topology_index; /* NULL: it tells no topology */
    struct occupancy *occupancy;
    int64_t *has, *free; /* the bid's amounts: of the node, and left */
    int64_t free_scratch, free_pods;
    struct tenant *tenants;
    unsigned n_tenants, capacity;
    unsigned n_ended;
    bool is_sorted;
};

/* ---- Life ---- */

void
tenancy_free(struct tenancy *t)
{
    if (t == NULL)
        return;
    for (unsigned i = 0; i < t->n_tenants; i++) {
        free(t->tenants[i].takes);
        holding_free(t->tenants[i].holding);
    }
    free(t->tenants);
    occupancy_free(t->occupancy);
    topology_index_unref(t->topology_index);
    free(t->has);
    free(t->free);
    free(t);
}

static void
take(struct tenancy *t, const struct tenant *tenant, int64_t sign)
{
    for (unsigned i = 0; i < t->bid->n_amounts; i++)
        t->free[i] -= sign * tenant->takes[i];
    t->free_pods -= sign;
    if (tenant->holding == NULL)
        return;
    if (sign > 0)
        occupancy_take(t->occupancy, tenant->holding);
    else
        occupancy_release(t->occupancy, tenant->holding);
}

static struct holding *
read_holding(const struct tenancy *t, const struct allocation *a)
{
    struct holding *holding = NULL;

    if (a != NULL && t->topology_index != NULL)
        (void)holding_of_allocation(t->topology_index, a, &holding, NULL);
    return holding;
}

/* Takes `takes`. Threads that it keeps idle are counted as used. */
static void
add_tenant(struct tenancy *t,
           int64_t *takes,
           const struct allocation *allocation,
           int64_t scratch_bytes,
           int64_t ends_us)
{
    struct tenant *tenant;

    xgrow(t->tenants, t->n_tenants, t->capacity);
    tenant = &t->tenants[t->n_tenants++];
    *tenant = (struct tenant){
        .takes = takes,
        .scratch_bytes = scratch_bytes,
        .ends_us = ends_us,
        .holding = read_holding(t, allocation),
    };
    for (unsigned i = 0; i < t->bid->n_amounts; i++)
        if (tenant->holding != NULL
            && strcmp(t->bid->amounts[i].name, "cpu") == 0
            && takes[i] < tenant->holding->charged_milli)
            takes[i] = tenant->holding->charged_milli;
    take(t, tenant, 1);
    t->is_sorted = false;
}

static void
add_remnants(struct tenancy *t)
{
    const struct node_status *status = &t->node->status;

    for (unsigned i = 0; i < status->remnants.count; i++) {
        const struct remnant *r = &status->remnants.items[i].value;
        int64_t *takes = xnew_array(int64_t, t->bid->n_amounts + 1);

        for (unsigned k = 0; k < t->bid->n_amounts; k++)
            takes[k] = bid_amount_in(&t->bid->amounts[k], &r->requests);
        add_tenant(t, takes, r->allocation, 0, 0);
    }
}

struct tenancy *
tenancy_new(const struct node *node,
            const struct bid *bid,
            struct topology_cache *topologies)
{
    struct tenancy *t = xnew(struct tenancy);
    const char *pods = string_map_find(&node->status.allocatable, "pods");

    t->node = node;
    t->bid = bid;
    t->has = xnew_array(int64_t, bid->n_amounts + 1);
    t->free = xnew_array(int64_t, bid->n_amounts + 1);
    for (unsigned i = 0; i < bid->n_amounts; i++)
        t->free[i] = t->has[i] =
            bid_amount_in(&bid->amounts[i], &node->status.allocatable);
    t->free_scratch = node_scratch_bytes(node);
    t->free_pods = pods != NULL ? quantity_text_value(pods) : INT64_MAX;
    if (node->status.topology != NULL
        && topology_cache_find(topologies,
                               node->status.topology,
                               &t->topology_index,
                               NULL)
               == 0)
        t->occupancy = occupancy_new(t->topology_index);
    add_remnants(t);
    return t;
}

/* ---- Change ---- */

void
tenancy_add(struct tenancy *t, const struct pod *pod, int64_t ends_us)
{
    CLEANUP(pod_sums_fini) struct pod_sums requests = {0};
    int64_t *takes = xnew_array(int64_t, t->bid->n_amounts + 1);

    pod_sums_add_requests(&requests, &pod->spec, NULL);
    for (unsigned i = 0; i < t->bid->n_amounts; i++)
        takes[i] = bid_amount_of_pod(&t->bid->amounts[i], &requests);
    add_tenant(t,
               takes,
               pod->status.allocation,
               stowage_wanted(&pod->spec),
               ends_us);
}

void
tenancy_add_volumes(struct tenancy *t, int64_t bytes)
{
    t->free_scratch -= bytes;
}

static int
compare_ends(const void *a, const void *b)
{
    const struct tenant *x = a, *y = b;

    /* Those without an end come last. */
    if (x->ends_us == 0 || y->ends_us == 0)
        return (x->ends_us == 0) - (y->ends_us == 0);
    return (x->ends_us > y->ends_us) - (x->ends_us < y->ends_us);
}

int64_t
tenancy_end_next(struct tenancy *t)
{
    const struct tenant *next;

    if (!t->is_sorted && t->n_tenants - t->n_ended > 1)
        qsort(t->tenants + t->n_ended,
              t->n_tenants - t->n_ended,
              sizeof(*t->tenants),
              compare_ends);
    t->is_sorted = true;
    if (t->n_ended == t->n_tenants || t->tenants[t->n_ended].ends_us == 0)
        return 0;
    next = &t->tenants[t->n_ended++];
    take(t, next, -1);
    t->free_scratch += next->scratch_bytes;
    return next->ends_us;
}

/* ---- Look ---- */

static int64_t
find_amount(const struct tenancy *t, const int64_t *amounts, const char *name)
{
    for (unsigned i = 0; i < t->bid->n_amounts; i++)
        if (strcmp(t->bid->amounts[i].name, name) == 0)
            return amounts[i];
    return 0;
}

static void
add_bytes(struct strbuf *out, int64_t bytes)
{
    const int64_t mib = INT64_C(1) << 20;
    struct quantity q =
        quantity_of((bytes + mib - 1) / mib * mib, QUANTITY_BINARY_SI);
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(&q, text);
    strbuf_add_text(out, text);
}

static void
add_cpus(struct strbuf *out, int64_t mcpu)
{
    if (mcpu % 1000 == 0)
        strbuf_printf(out, "%" PRId64, mcpu / 1000);
    else
        strbuf_printf(out, "%.3g", (double)mcpu / 1000.0);
}

static bool
is_of_bytes(const char *name)
{
    return strcmp(name, "memory") == 0 || strcmp(name, "ephemeral-storage") == 0
           || strncmp(name, "hugepages-", 10) == 0;
}

/* "has 4 CPUs of the 10 needed" */
static void
tell_size(const struct bid_amount *a, int64_t has, struct strbuf *out)
{
    if (strcmp(a->name, "cpu") == 0) {
        strbuf_add_text(out, "has ");
        add_cpus(out, has);
        strbuf_add_text(out, " CPUs of the ");
        add_cpus(out, a->amount);
    } else if (is_of_bytes(a->name)) {
        strbuf_add_text(out, "has ");
        add_bytes(out, has);
        strbuf_printf(out, " of %s of the ", a->name);
        add_bytes(out, a->amount);
    } else if (has == 0) {
        strbuf_printf(out, "has no %s of the %" PRId64, a->name, a->amount);
    } else {
        strbuf_printf(out,
                      "has %" PRId64 " %s of the %" PRId64,
                      has,
                      a->name,
                      a->amount);
    }
    strbuf_add_text(out, " needed");
}

/* "lacks 2 free CPUs" */
static void
tell_lack(const struct bid_amount *a, int64_t lacks, struct strbuf *out)
{
    strbuf_add_text(out, "lacks ");
    if (strcmp(a->name, "cpu") == 0) {
        add_cpus(out, lacks);
        strbuf_printf(out, " free CPU%s", lacks == 1000 ? "" : "s");
    } else if (is_of_bytes(a->name)) {
        add_bytes(out, lacks);
        strbuf_printf(out, " of free %s", a->name);
    } else {
        strbuf_printf(out, "%" PRId64 " free %s", lacks, a->name);
    }
}

static bool
has_amounts(const struct tenancy *t,
            const int64_t *amounts,
            struct strbuf *words)
{
    for (unsigned i = 0; i < t->bid->n_amounts; i++) {
        const struct bid_amount *a = &t->bid->amounts[i];

        if (a->amount <= amounts[i])
            continue;
        if (amounts == t->has)
            tell_size(a, amounts[i], words);
        else
            tell_lack(a, a->amount - amounts[i], words);
        return false;
    }
    return true;
}

static bool
has_scratch(const struct tenancy *t, struct strbuf *words)
{
    int64_t wants = t->bid->scratch_bytes;

    if (wants <= t->free_scratch)
        return true;
    strbuf_add_text(words, "lacks ");
    add_bytes(words, wants - t->free_scratch);
    strbuf_add_text(words, " of free scratch");
    return false;
}

/* As the scheduler would find it. */
static bool
is_allocated(const struct tenancy *t,
             const struct occupancy *o,
             struct strbuf *words)
{
    struct allocator_choice choice;
    enum allocator_answer answer;

    if (o == NULL)
        return true;
    answer = allocator_choose(o, &t->bid->demand, &choice);
    shortfall_format(o, &t->bid->demand, answer, words);
    return answer == ALLOCATOR_FITS;
}

bool
tenancy_can_hold(const struct tenancy *t, struct strbuf *words)
{
    CLEANUP(occupancy_freep) struct occupancy *empty = NULL;
    int64_t scratch = node_scratch_bytes(t->node);

    if (!has_amounts(t, t->has, words))
        return false;
    if (t->bid->scratch_bytes > scratch) {
        strbuf_add_text(words, "has ");
        add_bytes(words, scratch);
        strbuf_add_text(words, " of scratch of the ");
        add_bytes(words, t->bid->scratch_bytes);
        strbuf_add_text(words, " needed");
        return false;
    }
    if (t->topology_index != NULL)
        empty = occupancy_new(t->topology_index);
    return is_allocated(t, empty, words);
}

/* A whole node is one that nobody else is on. */
static bool
is_alone(const struct tenancy *t, struct strbuf *words)
{
    if (!t->bid->demand.is_whole_node || t->occupancy != NULL
        || t->n_ended == t->n_tenants)
        return true;
    strbuf_add_text(words, "is not empty");
    return false;
}

/* The words name cores first when the bid asks for cores, else amounts. */
bool
tenancy_has_room(const struct tenancy *t, struct strbuf *words)
{
    bool is_exact = t->bid->demand.is_exclusive;

    if (is_exact && !is_allocated(t, t->occupancy, words))
        return false;
    if (!has_amounts(t, t->free, words) || !has_scratch(t, words)
        || !is_alone(t, words))
        return false;
    if (t->free_pods < 1) {
        strbuf_add_text(words, "has as many pods as it takes");
        return false;
    }
    return is_exact || is_allocated(t, t->occupancy, words);
}

int64_t
tenancy_lacks_of_size(const struct tenancy *t)
{
    int64_t lacks = t->bid->cpu_milli - find_amount(t, t->has, "cpu");

    return lacks > 0 ? lacks : 0;
}

int64_t
tenancy_lacks(const struct tenancy *t)
{
    int64_t lacks = t->bid->cpu_milli - find_amount(t, t->free, "cpu"), exact;

    if (t->occupancy != NULL && t->bid->demand.is_exclusive) {
        exact = (int64_t)t->bid->demand.pus
                - (int64_t)shortfall_cpus(t->occupancy, &t->bid->demand);
        if (exact * 1000 > lacks)
            lacks = exact * 1000;
    }
    return lacks > 0 ? lacks : 0;
}

int64_t
tenancy_has(const struct tenancy *t, const char *name)
{
    return find_amount(t, t->has, name);
}

int64_t
tenancy_left(const struct tenancy *t, const char *name)
{
    return find_amount(t, t->free, name);
}
