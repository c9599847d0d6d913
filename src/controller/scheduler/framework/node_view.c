/* SPDX-License-Identifier: Apache-2.0 */
/* Outside of a journal, resources and pods of a view change only through the cache, which
 * gives it a new generation each time. Kept results compare generations, so a change that is
 * made past the cache would leave them wrong without any sign. Changes within a journal need
 * none, because they are rolled back before anybody compares.
 */
#include "controller/scheduler/framework/node_view.h"

#include <errno.h>
#include <string.h>

#include "controller/scheduler/framework/pod_view.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/topology_index.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_times.h"
#include "lib/api/value/selector.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

static uint16_t
place_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */

    for (const char *c = name; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return (uint16_t)((hash ^ hash >> 32) % 1000);
}

struct node_view *
node_view_new(const char *name, struct journal *journal)
{
    struct node_view *v = xnew(struct node_view);

    v->name = xstrdup(name);
    v->place = place_of(name);
    v->lowest_priority = INT64_MAX;
    list_init(&v->recent);
    list_init(&v->closed);
    list_init(&v->retained);
    ledger_init(&v->ledger, journal);
    return v;
}

static void
pods_fini(struct pod_list *pods)
{
    for (uint32_t i = 0; i < pods->count; i++)
        pod_view_unref(pods->items[i]);
    free(pods->items);
    free(pods->label_bits);
    *pods = (struct pod_list){0};
}

void
node_view_free(struct node_view *v)
{
    if (v == NULL)
        return;
    list_remove(&v->recent);
    list_remove(&v->closed);
    amounts_fini(&v->allocatable);
    ledger_fini(&v->ledger);
    pods_fini(&v->pods);
    pods_fini(&v->with_affinity);
    pods_fini(&v->with_required_anti_affinity);
    object_unref(v->object);
    free(v->name);
    free(v);
}

static void
pods_add(struct pod_list *pods, struct pod_view *pod)
{
    if (pods->count == pods->capacity)
        pods->label_bits = xrealloc_array(pods->label_bits, pods->capacity ? pods->capacity * 2 : 8,
                                          sizeof(uint64_t));
    xgrow(pods->items, pods->count, pods->capacity);
    pods->label_bits[pods->count] = pod->label_bits;
    pods->items[pods->count++] = pod_view_ref(pod);
}

#define NOT_THERE UINT32_MAX

/* Compares addresses first, without reading the pods, because the caller nearly
 * always passes the very view that is in the list.
 */
static uint32_t
pods_index(const struct pod_list *pods, const struct pod_view *pod)
{
    for (uint32_t i = 0; i < pods->count; i++)
        if (pods->items[i] == pod)
            return i;
    for (uint32_t i = 0; i < pods->count; i++)
        if (pod_view_is_same(pods->items[i], pod))
            return i;
    return NOT_THERE;
}

/* Moves the last pod to the place of the removed one, as upstream does. */
static void
pods_take(struct pod_list *pods, uint32_t at)
{
    if (at == NOT_THERE)
        return;
    pods->items[at] = pods->items[--pods->count];
    pods->label_bits[at] = pods->label_bits[pods->count];
}

static void
pods_put_back(struct pod_list *pods, struct pod_view *pod, uint32_t at)
{
    if (at == NOT_THERE)
        return;
    pods->label_bits[pods->count] = pods->label_bits[at];
    pods->label_bits[at] = pod->label_bits;
    pods->items[pods->count++] = pods->items[at];
    pods->items[at] = pod;
}

static struct ledger_entry
make_entry(const struct pod_view *pod, enum ledger_state state)
{
    struct ledger_entry e = {
        .owner = pod,
        .state = state,
        .from_us = pod_view_start_us(pod),
        .until_us = INT64_MAX,
        .requests = &pod->requests,
        .holding = pod->holding,
        .nonzero_cpu_milli = pod->nonzero_cpu_milli,
        .nonzero_memory_bytes = pod->nonzero_memory_bytes,
        .has_yielded = pod->has_yielded,
    };

    if (e.from_us != INT64_MAX && !pod_is_frozen(pod->pod))
        e.until_us = pod_limit_end_us(pod->pod, e.from_us, pod->pod->status.frozen_us);
    return e;
}

/* NULL: the allocation cannot be read, or the node has no topology. */
static struct holding *
read_allocation(const struct node_view *v, const struct allocation *a, const char *namespace,
                const char *name)
{
    struct holding *holding = NULL;
    struct error err = {0};
    int r;

    if (a == NULL || v->ledger.occupancy == NULL)
        return NULL;
    r = holding_of_allocation(v->ledger.occupancy->topology_index, a, &holding, &err);
    if (r < 0)
        log_warning("pod '%s/%s' on node '%s': %s%s", namespace, name, v->name, err.text,
                    r == -ENXIO ? ", counting only the other parts"
                                : ", counting it as no allocation");
    return holding;
}

/* Reads from the pod's status what a bound pod holds. This is needed when another scheduler
 * bound the pod, or when the node's topology has changed since.
 */
static void
read_holding(const struct node_view *v, struct pod_view *pod)
{
    const struct allocation *a = pod->pod->status.allocation;

    if (a == NULL || v->ledger.occupancy == NULL)
        return;
    holding_free(pod->holding);
    pod->holding = read_allocation(v, a, pod->namespace, pod->name);
}

static void
unref_lists(struct pod_view *pod)
{
    bool has_affinity = pod->has_affinity;
    bool has_anti_affinity = pod->has_required_anti_affinity;

    if (has_affinity)
        pod_view_unref(pod);
    if (has_anti_affinity)
        pod_view_unref(pod);
    pod_view_unref(pod);
}

static void
close_added(struct journal_note *note, bool is_kept)
{
    struct node_view *v = note->changed;
    struct pod_view *pod = note->removed;

    if (is_kept)
        return;
    v->pods.count--;
    v->with_affinity.count -= pod->has_affinity;
    v->with_required_anti_affinity.count -= pod->has_required_anti_affinity;
    v->lowest_priority = note->before;
    unref_lists(pod);
}

void
node_view_add_pod(struct node_view *v, struct pod_view *pod, enum ledger_state state)
{
    struct ledger_entry entry;

    if (pod->holding == NULL)
        read_holding(v, pod);
    if (journal_is_open(v->ledger.journal))
        journal_add(v->ledger.journal, &(struct journal_note){
                                           .close = close_added,
                                           .changed = v,
                                           .removed = pod,
                                           .before = v->lowest_priority,
                                       });
    if (pod->label_bits == 0)
        pod->label_bits = label_bits(&pod->pod->meta.labels);
    pods_add(&v->pods, pod);
    if (pod->priority < v->lowest_priority)
        v->lowest_priority = pod->priority;
    if (pod->has_affinity)
        pods_add(&v->with_affinity, pod);
    if (pod->has_required_anti_affinity)
        pods_add(&v->with_required_anti_affinity, pod);
    entry = make_entry(pod, state);
    ledger_add(&v->ledger, &entry);
}

static int64_t
find_lowest_priority(const struct pod_list *pods)
{
    int64_t lowest = INT64_MAX;

    for (uint32_t i = 0; i < pods->count; i++)
        if (pods->items[i]->priority < lowest)
            lowest = pods->items[i]->priority;
    return lowest;
}

/* While the journal is open, it owns the references that the lists had. */
static void
close_removed(struct journal_note *note, bool is_kept)
{
    struct node_view *v = note->changed;
    struct pod_view *pod = note->removed;

    if (is_kept) {
        unref_lists(pod);
        return;
    }
    pods_put_back(&v->pods, pod, note->at[0]);
    pods_put_back(&v->with_affinity, pod, note->at[1]);
    pods_put_back(&v->with_required_anti_affinity, pod, note->at[2]);
    v->lowest_priority = note->before;
}

bool
node_view_remove_pod(struct node_view *v, const struct pod_view *pod)
{
    struct journal_note note = {
        .close = close_removed,
        .changed = v,
        .before = v->lowest_priority,
        .at = {pods_index(&v->pods, pod), NOT_THERE, NOT_THERE},
    };
    struct pod_view *found;

    if (note.at[0] == NOT_THERE)
        return false;
    note.removed = found = v->pods.items[note.at[0]];
    if (found->has_affinity)
        note.at[1] = pods_index(&v->with_affinity, pod);
    if (found->has_required_anti_affinity)
        note.at[2] = pods_index(&v->with_required_anti_affinity, pod);
    pods_take(&v->pods, note.at[0]);
    pods_take(&v->with_affinity, note.at[1]);
    pods_take(&v->with_required_anti_affinity, note.at[2]);
    if (found->priority <= v->lowest_priority)
        v->lowest_priority = find_lowest_priority(&v->pods);
    ledger_remove(&v->ledger, found, note.at[0]);
    if (journal_is_open(v->ledger.journal))
        journal_add(v->ledger.journal, &note);
    else
        unref_lists(found);
    return true;
}

/* Whether both request the same from the node. */
static bool
is_same_load(const struct pod_view *a, const struct pod_view *b)
{
    const struct amounts *ra = &a->requests, *rb = &b->requests;

    return ra->cpu_milli == rb->cpu_milli && ra->memory_bytes == rb->memory_bytes
           && ra->ephemeral_bytes == rb->ephemeral_bytes && ra->n_scalars == rb->n_scalars
           && (ra->n_scalars == 0
               || memcmp(ra->scalars, rb->scalars, ra->n_scalars * sizeof(*ra->scalars)) == 0)
           && a->nonzero_cpu_milli == b->nonzero_cpu_milli
           && a->nonzero_memory_bytes == b->nonzero_memory_bytes && a->n_ports == b->n_ports
           && a->priority == b->priority;
}

static bool
pods_replace(struct pod_list *pods, struct pod_view *pod)
{
    for (uint32_t i = 0; i < pods->count; i++)
        if (pod_view_is_same(pods->items[i], pod)) {
            pod->label_bits = pods->label_bits[i]; /* the same labels */
            pod_view_unref(pods->items[i]);
            pods->items[i] = pod_view_ref(pod);
            return true;
        }
    return false;
}

/* Whether other pods see both alike: labels, deletion, keeping users off. */
static bool
counts_alike(const struct pod_view *a, const struct pod_view *b)
{
    const struct string_map *la = &a->pod->meta.labels;
    const struct string_map *lb = &b->pod->meta.labels;

    if (pod_view_is_terminating(a) != pod_view_is_terminating(b)
        || a->keeps_users_off != b->keeps_users_off || la->count != lb->count)
        return false;
    for (unsigned i = 0; i < la->count; i++)
        if (strcmp(la->items[i].key, lb->items[i].key) != 0
            || strcmp(la->items[i].value, lb->items[i].value) != 0)
            return false;
    return true;
}

/* Whether the allocation is unchanged and was read before. */
static bool
says_same_holding(const struct pod_view *old, const struct pod_view *pod)
{
    const struct allocation *before = old->pod->status.allocation;
    const struct allocation *now = pod->pod->status.allocation;

    return old->holding != NULL && before != NULL && now != NULL && allocation_equals(before, now);
}

bool
node_view_replace_pod(struct node_view *v, struct pod_view *pod)
{
    uint32_t at = pods_index(&v->pods, pod);
    struct pod_view *old = at != NOT_THERE ? v->pods.items[at] : NULL;
    struct ledger_entry entry;

    if (old == NULL || !is_same_load(old, pod) || !counts_alike(old, pod)
        || old->has_affinity != pod->has_affinity
        || old->has_required_anti_affinity != pod->has_required_anti_affinity)
        return false;
    if (pod->holding == NULL && !says_same_holding(old, pod))
        read_holding(v, pod);
    if (pod->holding == NULL) {
        pod->holding = old->holding;
        old->holding = NULL;
    } else if (old->holding == NULL || !holding_equals(old->holding, pod->holding)) {
        return false;
    }
    entry = make_entry(pod, LEDGER_RUNNING);
    ledger_replace(&v->ledger, old, &entry);
    pods_replace(&v->pods, pod);
    pods_replace(&v->with_affinity, pod);
    pods_replace(&v->with_required_anti_affinity, pod);
    return true;
}

bool
node_view_lend_to(struct node_view *v, const struct pod_view *pod)
{
    bool lends = false;

    if (v->ledger.n_yielded == 0 || !pod->demand->is_exclusive)
        return false;
    for (uint32_t i = 0; i < v->pods.count; i++) {
        const struct pod_view *other = v->pods.items[i];

        if (!other->has_yielded || other->priority >= pod->priority)
            continue;
        ledger_lend(&v->ledger, other);
        lends = true;
    }
    return lends;
}

/* Reads the holding from the node's report. */
static void
read_retained(struct node_view *v, struct retained_allocation *retained,
              const struct remnant *remnant)
{
    holding_free(retained->holding);
    retained->holding = read_allocation(v, remnant->allocation, remnant->namespace, remnant->name);
}

/* Requests that it lacks count as a container's do (pod_view.h). */
struct retained_allocation *
node_view_retain(struct node_view *v, const char *uid, const struct remnant *remnant,
                 struct string_ids *resources)
{
    struct retained_allocation *retained = xnew(struct retained_allocation);
    const struct amounts *requests = &retained->requests;
    int64_t pods;

    retained->uid = xstrdup(uid);
    retained->node = v;
    amounts_parse(&retained->requests, resources, &remnant->requests, &pods);
    read_retained(v, retained, remnant);
    list_add_last(&v->retained, &retained->link);
    ledger_add(&v->ledger,
               &(struct ledger_entry){
                   .owner = retained,
                   .state = LEDGER_RETAINED,
                   .from_us = remnant->left_at_us,
                   .until_us = INT64_MAX,
                   .requests = requests,
                   .holding = retained->holding,
                   .nonzero_cpu_milli = string_map_find(&remnant->requests, "cpu") != NULL
                                            ? requests->cpu_milli
                                            : POD_DEFAULT_CPU_MILLI,
                   .nonzero_memory_bytes = string_map_find(&remnant->requests, "memory") != NULL
                                               ? requests->memory_bytes
                                               : POD_DEFAULT_MEMORY_BYTES,
               });
    return retained;
}

void
node_view_release(struct retained_allocation *retained)
{
    if (retained == NULL)
        return;
    ledger_remove(&retained->node->ledger, retained, 0);
    list_remove(&retained->link);
    amounts_fini(&retained->requests);
    holding_free(retained->holding);
    free(retained->uid);
    free(retained);
}

static struct topology_index *
find_topology_index(const struct node *node, struct topology_cache *topologies)
{
    struct topology_index *topology_index;
    struct error err = {0};

    if (node == NULL || node->status.topology == NULL)
        return NULL;
    if (topology_cache_find(topologies, node->status.topology, &topology_index, &err) == 0)
        return topology_index;
    log_warning("node '%s': its topology cannot be used: %s; no cores are "
                "allocated there",
                node->meta.name, err.text);
    return NULL;
}

/* Rewrites the pod's holding, which refers to the node's former topology. For a
 * pod that is not bound yet, the holding is the only record of its cores.
 */
static void
translate_holding(const struct node_view *v, struct pod_view *pod, const struct topology_index *to)
{
    struct holding *old = pod->holding;

    if (old == NULL || v->ledger.occupancy == NULL)
        return;
    pod->holding = holding_translate(old, v->ledger.occupancy->topology_index, to);
    holding_free(old);
}

/* No entry may have a holding while the topology is exchanged. */
static void
drop_holdings(struct node_view *v, const struct topology_index *to)
{
    for (uint32_t i = 0; i < v->pods.count; i++) {
        ledger_hold(&v->ledger, v->pods.items[i], NULL);
        translate_holding(v, v->pods.items[i], to);
    }
    list_foreach(link, &v->retained)
        ledger_hold(&v->ledger, container_of(link, struct retained_allocation, link), NULL);
}

/* Reads all holdings again, in terms of the new topology. */
static void
read_holdings(struct node_view *v)
{
    for (uint32_t i = 0; i < v->pods.count; i++) {
        struct pod_view *pod = v->pods.items[i];

        read_holding(v, pod);
        ledger_hold(&v->ledger, pod, pod->holding);
    }
    list_foreach(link, &v->retained)
    {
        struct retained_allocation *retained = container_of(link, struct retained_allocation, link);
        const struct remnant *remnant = node_find_remnant(v->node, retained->uid);

        if (remnant == NULL)
            continue;
        read_retained(v, retained, remnant);
        ledger_hold(&v->ledger, retained, retained->holding);
    }
}

static void
set_topology_index(struct node_view *v, struct topology_index *topology_index)
{
    drop_holdings(v, topology_index);
    ledger_set_occupancy(&v->ledger, topology_index != NULL ? occupancy_new(topology_index) : NULL);
    read_holdings(v);
}

static uint32_t
count_soft_taints(const struct node *node)
{
    uint32_t n = 0;

    for (unsigned i = 0; node != NULL && i < node->spec.taints.count; i++)
        n += strcmp(node->spec.taints.items[i].effect, "PreferNoSchedule") == 0;
    return n;
}

void
node_view_set_object(struct node_view *v, const struct object *object, struct string_ids *resources,
                     struct topology_cache *topologies)
{
    CLEANUP(topology_index_unrefp) struct topology_index *topology_index = NULL;

    if (object != NULL)
        object_ref(object);
    object_unref(v->object);
    v->object = object;
    v->node = object != NULL ? node_of(object) : NULL;
    v->is_unschedulable = v->node != NULL && v->node->spec.unschedulable;
    v->has_taints = v->node != NULL && v->node->spec.taints.count > 0;
    v->n_soft_taints = count_soft_taints(v->node);
    amounts_fini(&v->allocatable);
    v->allowed_pods = 0;
    if (v->node == NULL)
        return;
    amounts_parse(&v->allocatable, resources, &v->node->status.allocatable, &v->allowed_pods);
    topology_index = find_topology_index(v->node, topologies);
    if (topology_index
        != (v->ledger.occupancy != NULL ? v->ledger.occupancy->topology_index : NULL))
        set_topology_index(v, topology_index);
}
