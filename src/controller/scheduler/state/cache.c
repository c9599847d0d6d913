/* SPDX-License-Identifier: Apache-2.0 */
/* A pod counts on its node from the decision on, not from the moment when the API has written
 * it: otherwise the next cycle, some microseconds later, would give the same cores away. The
 * API is right in every case: if it confirms the pod elsewhere, or the binding failed, the
 * assumed pod is taken back.
 *
 * A node that the API has deleted stays here while pods hold room on it, are nominated to it
 * or left something behind, because a node that is created again under its name must not be
 * thought empty.
 */
#include "controller/scheduler/state/cache.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/state/cache_state.h"
#include "controller/scheduler/state/node_tree.h"
#include "lib/allocator/holding.h"
#include "lib/allocator/topology_index.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/heap.h"
#include "lib/base/log.h"
#include "lib/base/map.h"

static bool
ends_earlier(const void *a, const void *b, void *context)
{
    const struct cached_pod *x = a, *y = b;

    (void)context;
    return x->end_us < y->end_us;
}

struct cache *
cache_new(const struct cache_settings *settings)
{
    struct cache *cache = xnew(struct cache);

    cache->settings = *settings;
    cache->topologies = topology_cache_new();
    cache->journal = journal_new();
    cache->nodes = map_new();
    cache->pods = map_new();
    cache->retained = map_new();
    cache->claims = map_new();
    cache->groups = map_new();
    cache->partitions = map_new();
    cache->tree = node_tree_new();
    list_init(&cache->recent);
    list_init(&cache->closed);
    list_init(&cache->assumed);
    cache->ends = heap_new(ends_earlier, NULL, offsetof(struct cached_pod, end_place));
    return cache;
}

static void
cached_pod_free(struct cached_pod *p)
{
    list_remove(&p->link);
    list_remove(&p->of_group);
    pod_view_unref(p->pod);
    free(p);
}

void
cache_free(struct cache *cache)
{
    size_t at = 0;
    void *value;

    if (cache == NULL)
        return;
    while (map_next(cache->pods, &at, NULL, &value))
        cached_pod_free(value);
    at = 0;
    while (map_next(cache->retained, &at, NULL, &value))
        node_view_release(value);
    at = 0;
    while (map_next(cache->nodes, &at, NULL, &value))
        node_view_free(value);
    heap_free(cache->ends);
    map_free(cache->pods);
    map_free(cache->nodes);
    map_free(cache->retained);
    map_free(cache->claims);
    cache_free_groups(cache);
    map_free(cache->partitions);
    node_tree_free(cache->tree);
    topology_cache_free(cache->topologies);
    journal_free(cache->journal);
    free(cache->free_slots);
    free(cache->ordered);
    free(cache);
}

/* Nodes */

static uint32_t
take_slot(struct cache *cache)
{
    if (cache->n_free_slots > 0)
        return cache->free_slots[--cache->n_free_slots];
    return cache->n_slots++;
}

static void
give_slot(struct cache *cache, uint32_t slot)
{
    xgrow(cache->free_slots, cache->n_free_slots, cache->free_slot_capacity);
    cache->free_slots[cache->n_free_slots++] = slot;
}

/* Updates the counts of nodes that have pods with pod affinity. */
static void
count_affinity(struct cache *cache, struct node_view *v)
{
    bool has_any = v->object != NULL && v->with_affinity.count > 0;
    bool has_anti = v->object != NULL && v->with_required_anti_affinity.count > 0;

    cache->n_with_affinity += (uint32_t)has_any - v->is_counted_affinity;
    cache->n_with_anti_affinity += (uint32_t)has_anti - v->is_counted_anti_affinity;
    v->is_counted_affinity = has_any;
    v->is_counted_anti_affinity = has_anti;
}

void
cache_touch(struct cache *cache, struct node_view *v)
{
    v->generation = ++cache->generation;
    list_remove(&v->recent);
    list_add_first(&cache->recent, &v->recent);
    count_affinity(cache, v);
}

struct node_view *
cache_make_node(struct cache *cache, const char *name)
{
    struct node_view *v = map_find(cache->nodes, name);

    if (v != NULL)
        return v;
    v = node_view_new(name, cache->journal);
    v->slot = take_slot(cache);
    map_put(cache->nodes, name, v);
    return v;
}

/* Frees a node that the API does not have, once no pod holds room on it or is
 * nominated to it.
 */
static void
drop_if_empty(struct cache *cache, struct node_view *v)
{
    if (v->object != NULL || v->ledger.count > 0 || v->ledger.n_nominated > 0)
        return;
    map_remove(cache->nodes, v->name);
    give_slot(cache, v->slot);
    node_view_free(v);
}

void
cache_leave_node(struct cache *cache, struct node_view *node)
{
    drop_if_empty(cache, node);
}

static void
count_partition(struct cache *cache, const struct object *node, int by)
{
    const char *name = node != NULL ? string_map_find(&node->meta->labels, LABEL_PARTITION) : NULL;
    uintptr_t nodes;

    if (name == NULL)
        return;
    nodes = (uintptr_t)map_find(cache->partitions, name) + (uintptr_t)by;
    if (nodes > 0)
        map_put(cache->partitions, name, (void *)nodes);
    else
        map_remove(cache->partitions, name);
}

bool
cache_has_partition(const struct cache *cache, const char *name)
{
    return map_find(cache->partitions, name) != NULL;
}

void
cache_set_node(struct cache *cache, const struct object *node)
{
    struct node_view *v = cache_make_node(cache, node->meta->name);

    count_partition(cache, node, 1);
    count_partition(cache, v->object, -1);
    if (v->object == NULL) {
        node_tree_add(cache->tree, v, node);
        cache->has_new_order = true;
    } else if (v->object != node) {
        /* The node is listed in its new zone when the order is made the next
         * time.
         */
        node_tree_move(cache->tree, v, v->object, node);
    }
    node_view_set_object(v, node, cache->settings.resources, cache->topologies);
    cache_touch(cache, v);
}

void
cache_remove_node(struct cache *cache, const char *name)
{
    struct node_view *v = map_find(cache->nodes, name);

    if (v == NULL || v->object == NULL)
        return;
    node_tree_remove(cache->tree, v, v->object);
    count_partition(cache, v->object, -1);
    node_view_set_object(v, NULL, cache->settings.resources, cache->topologies);
    count_affinity(cache, v);
    cache->has_new_order = true;
    cache->removal_generation = ++cache->generation;
    list_remove(&v->recent);
    drop_if_empty(cache, v);
}

/* Pods */

#define POD_KEY_SIZE OBJECT_KEY_SIZE

static const char *
key_of(const struct pod_view *pod, char buffer[POD_KEY_SIZE])
{
    if (pod->uid != NULL)
        return pod->uid;
    snprintf(buffer, POD_KEY_SIZE, "%s/%s", pod->namespace, pod->name);
    return buffer;
}

struct cached_pod *
cache_look_up(const struct cache *cache, const struct pod_view *pod)
{
    char buffer[POD_KEY_SIZE];

    return map_find(cache->pods, key_of(pod, buffer));
}

/* Records when the pod must end. As long as the start of a pod is not known, it
 * counts as starting now.
 */
static void
note_end(struct cache *cache, struct cached_pod *p)
{
    int64_t now_us = clock_real_us(cache->settings.clock);
    int64_t end_us = pod_view_end_us(p->pod, now_us);

    if (end_us == p->end_us)
        return;
    if (p->end_us != 0)
        heap_remove(cache->ends, p);
    p->end_us = end_us;
    if (end_us != 0)
        heap_push(cache->ends, p);
}

/* Updates the ends of the pods on the node that have yielded their cores. */
static void
note_ends_of_yielded(struct cache *cache, const struct node_view *v)
{
    for (uint32_t i = 0; v->ledger.n_yielded > 0 && i < v->pods.count; i++) {
        struct pod_view *pod = v->pods.items[i];
        struct cached_pod *p;

        if (!pod->has_yielded)
            continue;
        pod->free_at_us = cache_free_at_us(v, pod, clock_real_us(cache->settings.clock));
        p = cache_look_up(cache, pod);
        if (p != NULL && p->pod == pod)
            note_end(cache, p);
    }
}

static void
changed(struct cache *cache, struct node_view *v)
{
    ledger_settle(&v->ledger);
    note_ends_of_yielded(cache, v);
    if (v->object != NULL)
        cache_touch(cache, v);
    else
        drop_if_empty(cache, v);
}

/* Updates the counts of pods by claim. */
static void
count_claims(struct cache *cache, const struct pod_view *pod, int by)
{
    const struct pod_spec *spec = &pod->pod->spec;
    char buffer[POD_CLAIM_NAME_SIZE], key[OBJECT_KEY_SIZE];

    for (unsigned i = 0; i < spec->volumes.count; i++) {
        const char *name = pod_volume_claim(pod->pod, &spec->volumes.items[i], buffer);
        uintptr_t users;

        if (name == NULL)
            continue;
        snprintf(key, sizeof(key), "%s/%s", pod->namespace, name);
        users = (uintptr_t)map_find(cache->claims, key) + (uintptr_t)by;
        if (users > 0)
            map_put(cache->claims, key, (void *)users);
        else
            map_remove(cache->claims, key);
    }
}

static struct cached_pod *
put_pod(struct cache *cache, struct pod_view *pod, struct node_view *v, enum ledger_state state)
{
    char buffer[POD_KEY_SIZE];
    struct cached_pod *p = xnew(struct cached_pod);

    if (!journal_is_open(cache->journal))
        cache_release(cache, key_of(pod, buffer));
    p->pod = pod_view_ref(pod);
    p->node = v;
    list_init(&p->link);
    note_end(cache, p);
    map_put(cache->pods, key_of(pod, buffer), p);
    cache_join_group(cache, p);
    node_view_add_pod(v, pod, state);
    count_claims(cache, pod, 1);
    changed(cache, v);
    return p;
}

static void
set_confirmed(struct cache *cache, struct cached_pod *p)
{
    if (!p->is_assumed)
        return;
    p->is_assumed = false;
    list_remove(&p->link);
    cache->n_assumed--;
}

/* The pod was removed from its node already. */
static void
drop_pod(struct cache *cache, struct cached_pod *p)
{
    char buffer[POD_KEY_SIZE];
    struct node_view *v = p->node;

    set_confirmed(cache, p);
    map_remove(cache->pods, key_of(p->pod, buffer));
    cache_leave_group(cache, p);
    count_claims(cache, p->pod, -1);
    if (p->end_us != 0)
        heap_remove(cache->ends, p);
    cached_pod_free(p);
    changed(cache, v);
}

static void
take_pod(struct cache *cache, struct cached_pod *p)
{
    node_view_remove_pod(p->node, p->pod);
    drop_pod(cache, p);
}

int
cache_assume(struct cache *cache, struct pod_view *pod, const char *node_name)
{
    struct node_view *v = map_find(cache->nodes, node_name);
    struct cached_pod *p;

    if (v == NULL || v->object == NULL)
        return -ENOENT;
    if (cache_look_up(cache, pod) != NULL)
        return -EEXIST;
    p = put_pod(cache, pod, v, LEDGER_ASSUMED);
    p->is_assumed = true;
    list_add_last(&cache->assumed, &p->link);
    cache->n_assumed++;
    return 0;
}

void
cache_hold(struct cache *cache, struct pod_view *pod, struct holding *holding TAKES)
{
    struct cached_pod *p = cache_look_up(cache, pod);

    if (p == NULL) {
        holding_free(holding);
        return;
    }
    node_view_remove_pod(p->node, p->pod);
    holding_free(p->pod->holding); /* NULL while a journal is open */
    p->pod->holding = holding;
    node_view_add_pod(p->node, p->pod, p->is_assumed ? LEDGER_ASSUMED : LEDGER_RUNNING);
    changed(cache, p->node);
}

void
cache_finish_binding(struct cache *cache, const struct pod_view *pod)
{
    struct cached_pod *p = cache_look_up(cache, pod);

    if (p == NULL || !p->is_assumed)
        return;
    p->is_binding_finished = true;
    p->deadline_us = clock_monotonic_us(cache->settings.clock) + cache->settings.expire_us;
}

bool
cache_forget(struct cache *cache, const struct pod_view *pod)
{
    struct cached_pod *p = cache_look_up(cache, pod);

    if (p == NULL || !p->is_assumed)
        return false;
    take_pod(cache, p);
    return true;
}

/* Trial placements */

struct cache_mark
cache_begin(struct cache *cache)
{
    return (struct cache_mark){
        .journal = journal_begin(cache->journal),
        .assumed = cache->n_assumed,
    };
}

/* Releases the retained allocations of the pods now, and not when they were
 * assumed, because the journal cannot restore them.
 */
void
cache_keep(struct cache *cache, struct cache_mark mark)
{
    struct list *link = cache->assumed.prev;

    journal_keep(cache->journal, mark.journal);
    for (size_t i = cache->n_assumed; i > mark.assumed; i--) {
        const struct cached_pod *p = container_of(link, struct cached_pod, link);
        char buffer[POD_KEY_SIZE];

        link = link->prev;
        cache_release(cache, key_of(p->pod, buffer));
    }
}

/* The holdings of the pods are freed last, because the ledgers borrow them. */
void
cache_roll_back(struct cache *cache, struct cache_mark mark)
{
    journal_roll_back(cache->journal, mark.journal);
    while (cache->n_assumed > mark.assumed) {
        struct cached_pod *p = container_of(cache->assumed.prev, struct cached_pod, link);

        holding_free(p->pod->holding);
        p->pod->holding = NULL;
        drop_pod(cache, p);
    }
}

/* The pod stays on its node. Usually nothing but the API's object has changed.
 */
static void
renew_pod(struct cache *cache, struct cached_pod *p, struct pod_view *pod)
{
    struct node_view *v = p->node;

    set_confirmed(cache, p);
    pod_view_ref(pod);
    if (!node_view_replace_pod(v, pod)) {
        node_view_remove_pod(v, p->pod);
        node_view_add_pod(v, pod, LEDGER_RUNNING);
        changed(cache, v);
    } else if (v->ledger.n_yielded > 0 || p->pod->has_yielded != pod->has_yielded) {
        changed(cache, v);
    }
    pod_view_unref(p->pod);
    p->pod = pod;
    note_end(cache, p);
}

void
cache_set_pod(struct cache *cache, struct pod_view *pod, const char *node_name)
{
    struct cached_pod *p = cache_look_up(cache, pod);

    if (p != NULL && strcmp(p->node->name, node_name) == 0) {
        renew_pod(cache, p, pod);
        return;
    }
    if (p != NULL) {
        log_warning("pod '%s/%s' was assumed on node '%s' but is bound to "
                    "'%s', following the API",
                    pod->namespace, pod->name, p->node->name, node_name);
        take_pod(cache, p);
    }
    put_pod(cache, pod, cache_make_node(cache, node_name), LEDGER_RUNNING);
}

bool
cache_remove_pod(struct cache *cache, const struct pod_view *pod)
{
    struct cached_pod *p = cache_look_up(cache, pod);

    if (p == NULL)
        return false;
    take_pod(cache, p);
    return true;
}

void
cache_take_back(struct cache *cache, const struct pod_view *pod)
{
    struct cached_pod *p = cache_look_up(cache, pod);

    if (p == NULL || !p->pod->has_yielded)
        return;
    node_view_remove_pod(p->node, p->pod);
    p->pod->has_yielded = false;
    node_view_add_pod(p->node, p->pod, LEDGER_RUNNING);
    changed(cache, p->node);
}

bool
cache_retain(struct cache *cache, const char *node_name, const char *uid,
             const struct remnant *remnant)
{
    struct node_view *v = map_find(cache->nodes, node_name);

    if (v == NULL || map_find(cache->pods, uid) != NULL || map_find(cache->retained, uid) != NULL)
        return false;
    map_put(cache->retained, uid, node_view_retain(v, uid, remnant, cache->settings.resources));
    changed(cache, v);
    return true;
}

bool
cache_release(struct cache *cache, const char *uid)
{
    struct retained_allocation *retained = map_remove(cache->retained, uid);
    struct node_view *v;

    if (retained == NULL)
        return false;
    v = retained->node;
    node_view_release(retained);
    changed(cache, v);
    return true;
}

unsigned
cache_expire(struct cache *cache)
{
    int64_t now_us = clock_monotonic_us(cache->settings.clock);
    unsigned expired = 0;

    if (cache->settings.expire_us == 0)
        return 0;
    list_foreach_safe(link, &cache->assumed)
    {
        struct cached_pod *p = container_of(link, struct cached_pod, link);

        if (!p->is_binding_finished || p->deadline_us > now_us)
            continue;
        log_warning("pod '%s/%s' was bound to node '%s' but the API never "
                    "confirmed it, forgetting it",
                    p->pod->namespace, p->pod->name, p->node->name);
        take_pod(cache, p);
        expired++;
    }
    return expired;
}
