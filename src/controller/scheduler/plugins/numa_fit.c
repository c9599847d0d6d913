/* SPDX-License-Identifier: Apache-2.0 */
/* NumaFit - a node must have the cores, memory and devices where the pod's
 * placement wants them; chooses them exactly
 *
 * Extension points:  prefilter (for what is to come), filter, score, reserve
 * Arguments:         numaStrategy (default, kubelet), cpuManagerOptions,
 *                    preferClosestNumaNodes: which rules choose cores
 * Woken by:          a pod leaving; a node joining or changing its resources
 *
 * Where room is being made for a pod, others keep off the cores, memory and
 * devices that it is to have; not only off as much of them.
 *
 * On a node without a topology it has nothing to say, and the pod gets no
 * allocation there.
 */
#include <errno.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/allocator/allocator.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/kubelet_grant.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/silicon.h"
#include "lib/api/pod.h"
#include "lib/api/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct numa_fit {
    struct handle *handle;
    bool is_kubelet;
    struct kubelet_rules rules;
    uint32_t reasons[ALLOCATOR_TOO_SMALL + 1];
};

static const char *const reason_texts[] = {
    [ALLOCATOR_FITS] = "",
    [ALLOCATOR_NO_CORES] = "node(s) didn't have enough free whole cores",
    [ALLOCATOR_NO_SHARED] =
        "node(s) didn't have enough CPU left in the shared pool",
    [ALLOCATOR_NO_MEMORY] =
        "node(s) didn't have enough free memory in their NUMA nodes",
    [ALLOCATOR_NO_DEVICES] = "node(s) didn't have enough free devices",
    [ALLOCATOR_NO_HUGEPAGES] = "node(s) didn't have enough free huge pages",
    [ALLOCATOR_NOT_ALIGNED] =
        "node(s) couldn't align cores, memory and devices to NUMA nodes",
    [ALLOCATOR_NOT_EMPTY] = "node(s) were not empty",
    [ALLOCATOR_TOO_SMALL] =
        "node(s) were too small for the requested placement",
};

/* clang-format off */
static const struct field numa_fit_args_fields[] = {
    OPAQUE(STRING, "numaStrategy", 0, ONE_OF("default", "kubelet")),
    OPAQUE_LIST(STRING, "cpuManagerOptions", 0),
    OPAQUE(BOOL, "preferClosestNumaNodes", 0),
};
static OPAQUE_RECORD(numa_fit_args, "NumaFitArgs");
/* clang-format on */

/* The options are the kubelet's, and mean something under its strategy alone.
 */
static int
read_args(struct numa_fit *self, const struct json *args, struct error *err)
{
    const struct json *options = json_get(args, "cpuManagerOptions");
    const char *strategy = json_get_text(args, "numaStrategy");

    self->is_kubelet = strategy != NULL && strcmp(strategy, "kubelet") == 0;
    if (strategy != NULL && !self->is_kubelet
        && strcmp(strategy, "default") != 0)
        return error_set(err,
                         -EINVAL,
                         "numaStrategy: '%s' is neither default nor kubelet",
                         strategy);
    self->rules.prefers_closest =
        json_is_true(json_get(args, "preferClosestNumaNodes"));
    for (uint32_t i = 0; i < json_count(options); i++) {
        const char *name = json_text(json_at(options, i));

        if (name == NULL || !cpu_options_add(&self->rules.options, name))
            return error_set(err,
                             -EINVAL,
                             "cpuManagerOptions: '%s' is no option of the "
                             "kubelet's CPU manager, such as full-pcpus-only",
                             name != NULL ? name : "");
    }
    if (!self->is_kubelet
        && (json_count(options) > 0 || self->rules.prefers_closest))
        return error_set(err,
                         -EINVAL,
                         "cpuManagerOptions and preferClosestNumaNodes go "
                         "with numaStrategy: kubelet");
    return 0;
}

/* The pod's, with the strategy of this profile. */
static struct demand
demand_of(const struct numa_fit *self, const struct pod_view *pod)
{
    struct demand d = pod->demand;

    d.rules = self->is_kubelet ? &self->rules : NULL;
    return d;
}

static int
numa_fit_make(struct handle *handle,
              const struct json *args,
              void **ret_self,
              struct error *err)
{
    struct numa_fit *self = xnew(struct numa_fit);
    int r = read_args(self, args, err);

    if (r < 0) {
        free(self);
        return r;
    }
    self->handle = handle;
    for (unsigned i = 1; i < ARRAY_SIZE(reason_texts); i++)
        self->reasons[i] = handle_reason(handle, reason_texts[i]);
    *ret_self = self;
    return 0;
}

static bool
numa_fit_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    const struct demand *d = &pod->demand;

    (void)self;
    strbuf_printf(out,
                  "%d %d %d %d %d %d %u %u %u %lld %lld",
                  (int)d->numa_policy,
                  (int)d->distribution,
                  (int)d->memory_policy,
                  d->is_exclusive,
                  d->is_whole_node,
                  d->has_far_devices,
                  d->pus,
                  d->threads_per_core,
                  d->cores_per_package,
                  (long long)d->shared_milli,
                  (long long)d->memory_bytes);
    for (unsigned i = 0; i < d->n_devices; i++)
        strbuf_printf(out,
                      " %s:%u:%s",
                      d->devices[i].type,
                      d->devices[i].count,
                      d->devices[i].model != NULL ? d->devices[i].model : "");
    for (unsigned i = 0; i < d->n_hugepages; i++)
        strbuf_printf(out,
                      " %llu:%lld",
                      (unsigned long long)d->hugepages[i].page_bytes,
                      (long long)d->hugepages[i].bytes);
    return true;
}

static void
numa_fit_filter(void *self,
                const struct cycle *c,
                const struct node_view *const *nodes,
                unsigned count,
                struct answer *answers)
{
    const struct numa_fit *me = self;
    const struct demand d = demand_of(me, c->pod);

    for (unsigned i = 0; i < count; i++) {
        struct allocator_choice choice;
        enum allocator_answer answer;

        if (nodes[i]->occupancy == NULL)
            continue;
        answer = allocator_choose(nodes[i]->occupancy, &d, &choice);
        if (answer == ALLOCATOR_FITS)
            continue;
        answers[i].verdict =
            answer == ALLOCATOR_TOO_SMALL ? VERDICT_NEVER : VERDICT_REJECT;
        answers[i].reason = me->reasons[answer];
    }
}

/* What the pod, nominated on the node, will hold when those are gone that leave
 * to make room.
 */
static void
take_ahead(const struct numa_fit *self,
           struct occupancy *o,
           const struct node_view *node,
           const struct pod_view *pod)
{
    CLEANUP(occupancy_freep) struct occupancy *then = occupancy_dup(o);
    CLEANUP(holding_freep) struct holding *holding = NULL;
    CLEANUP_FREE struct grant *grant = xnew(struct grant);
    const struct demand d = demand_of(self, pod);

    for (uint32_t i = 0; i < node->pods.count; i++) {
        const struct pod_view *other = node->pods.items[i];

        if (other->holding != NULL && other->priority < pod->priority
            && pod_view_is_terminating(other))
            occupancy_release(then, other->holding);
    }
    if (allocator_grant(then, &d, grant) != ALLOCATOR_FITS)
        return;
    holding = grant_holding(grant, o->silicon);
    occupancy_take(o, holding);
}

static enum verdict
numa_fit_prefilter(void *self,
                   struct cycle *c,
                   struct narrowing *ret_narrowing,
                   uint32_t *ret_reason)
{
    (void)self;
    (void)c;
    (void)ret_narrowing;
    (void)ret_reason;
    return VERDICT_OK;
}

/* The node is a copy to try things on. What a pod holds is counted by it; one
 * that is nominated holds nothing yet.
 */
static void
numa_fit_add_pod(void *self,
                 struct cycle *c,
                 const struct pod_view *other,
                 const struct node_view *node)
{
    (void)c;
    if (node->occupancy != NULL && other->holding == NULL
        && other->pod->spec.node_name == NULL)
        take_ahead(self, node->occupancy, node, other);
}

/* Without what those will have who are to come and are not less important than
 * the pod; NULL: there are none.
 */
static struct occupancy *
leave_room(const struct numa_fit *self,
           const struct cycle *c,
           const struct node_view *node)
{
    struct occupancy *o = NULL;
    size_t count;
    struct pod_view *const *pods =
        nominator_pods(self->handle->nominator, node->name, &count);

    for (size_t i = 0; i < count; i++) {
        if (!nominator_counts(pods[i], c->pod))
            continue;
        if (o == NULL)
            o = occupancy_dup(node->occupancy);
        take_ahead(self, o, node, pods[i]);
    }
    return o;
}

/* 0 to 999: the node's place in an order that is always the same. */
static int64_t
place_of(const struct node_view *node)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    for (const char *c = node->name; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return (int64_t)((hash ^ hash >> 32) % 1000);
}

/* Forty for few NUMA nodes close together, thirty for filling those that it
 * takes, twenty for filling the node: what stays free elsewhere stays whole.
 * Ten for being early in the order, so that nodes late in it run empty and a
 * job that needs all of one need not wait for luck.
 */
static int64_t
numa_fit_score_one(void *self,
                   const struct cycle *c,
                   const struct node_view *node)
{
    const struct occupancy *o = node->occupancy;
    const struct demand d = demand_of(self, c->pod);
    struct allocator_choice choice;
    int64_t pus = d.pus, span, full, fuller, place;

    if (o == NULL || allocator_choose(o, &d, &choice) != ALLOCATOR_FITS)
        return 0;
    if (!d.is_exclusive)
        return SCORE_MAX / 2;
    span = 400
           / (int64_t)(choice.width
                       * (choice.distance > 10 ? choice.distance : 10));
    full = pus > 0 ? 30 * pus / (pus + choice.left_pus) : 0;
    fuller = 20 - 20 * (o->free_pus - pus) / o->silicon->n_pus;
    place = place_of(node) / 100;
    return span + full + fuller + place;
}

static void
drop_silicon(void *silicon)
{
    silicon_unref(silicon);
}

static enum verdict
numa_fit_reserve(void *self,
                 struct cycle *c,
                 const struct node_view *node,
                 uint32_t *ret_reason)
{
    const struct numa_fit *me = self;
    const struct demand d = demand_of(me, c->pod);
    CLEANUP(occupancy_freep) struct occupancy *room = NULL;
    enum allocator_answer answer;
    struct grant *grant;

    if (node->occupancy == NULL)
        return VERDICT_OK;
    room = leave_room(me, c, node);
    grant = xnew(struct grant);
    answer = allocator_grant(room != NULL ? room : node->occupancy, &d, grant);
    if (answer != ALLOCATOR_FITS) {
        free(grant);
        *ret_reason = me->reasons[answer];
        return VERDICT_REJECT;
    }
    me->handle->hold(me->handle->host,
                     c->pod,
                     node,
                     grant_holding(grant, node->occupancy->silicon));
    cycle_put(c, CYCLE_GRANT, grant, free, NULL);
    cycle_put(c,
              CYCLE_SILICON,
              silicon_ref(node->occupancy->silicon),
              drop_silicon,
              NULL);
    return VERDICT_OK;
}

static const struct wake wakes[] = {
    {EVENT_POD, ACTION_DELETE, NULL},
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_ALLOCATABLE, NULL},
    WAKE_NEW_NODES,
};

static unsigned
most_free_pus(const struct occupancy *o)
{
    unsigned most = 0;

    for (unsigned i = 0; i < o->silicon->n_numa; i++)
        if (o->numa[i].free_pus > most)
            most = o->numa[i].free_pus;
    return most;
}

static void
numa_fit_explain(void *self,
                 const struct cycle *c,
                 const struct node_view *node,
                 struct strbuf *out)
{
    const struct demand own = demand_of(self, c->pod), *d = &own;
    struct allocator_choice choice;

    if (node->occupancy == NULL
        || allocator_choose(node->occupancy, d, &choice) == ALLOCATOR_FITS)
        return;
    if (d->is_exclusive)
        strbuf_printf(out,
                      "needs %u CPUs on whole cores%s; %u are free, at most "
                      "%u in one NUMA node; ",
                      d->pus,
                      d->numa_policy == NUMA_SINGLE ? " in one NUMA node" : "",
                      node->occupancy->free_pus,
                      most_free_pus(node->occupancy));
    if (d->memory_bytes > node->occupancy->free_memory)
        strbuf_printf(out,
                      "needs %lld MiB of memory, its NUMA nodes have %lld; ",
                      (long long)(d->memory_bytes >> 20),
                      (long long)(node->occupancy->free_memory >> 20));
}

const struct plugin numa_fit_plugin = {
    .name = "NumaFit",
    .args = &numa_fit_args_record,
    .default_args = "{\"numaStrategy\":\"default\"}",
    .make = numa_fit_make,
    .drop = free,
    .sign = numa_fit_sign,
    .prefilter = numa_fit_prefilter,
    .add_pod = numa_fit_add_pod,
    .filter = numa_fit_filter,
    .score_one = numa_fit_score_one,
    .reserve = numa_fit_reserve,
    .wakes = wakes,
    .n_wakes = ARRAY_SIZE(wakes),
    .explain = numa_fit_explain,
};
