/* SPDX-License-Identifier: Apache-2.0 */
/* cache_look.c - the snapshot of a cycle, and other queries of the cache */
#include "controller/scheduler/state/cache_state.h"

#include <stddef.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/node_tree.h"
#include "lib/allocator/holding.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/heap.h"
#include "lib/base/map.h"

static void
make_order(struct cache *cache)
{
    cache->n_ordered = (uint32_t)node_tree_count(cache->tree);
    cache->ordered =
        xrealloc_array(cache->ordered, cache->n_ordered + 1, sizeof(struct node_view *));
    node_tree_list(cache->tree, cache->ordered);
    cache->has_new_order = false;
}

void
cache_update_snapshot(struct cache *cache, struct snapshot *snapshot)
{
    if (cache->has_new_order)
        make_order(cache);
    *snapshot = (struct snapshot){
        .nodes = cache->ordered,
        .n_nodes = cache->n_ordered,
        .n_with_affinity = cache->n_with_affinity,
        .n_with_required_anti_affinity = cache->n_with_anti_affinity,
        .generation = cache->generation,
        .removal_generation = cache->removal_generation,
        .n_slots = cache->n_slots,
        .recent = &cache->recent,
        .by_name = cache->nodes,
        .claims = cache->claims,
    };
}

struct cache_counts
cache_count(const struct cache *cache)
{
    return (struct cache_counts){
        .nodes = node_tree_count(cache->tree),
        .pods = map_count(cache->pods) + map_count(cache->retained),
        .assumed = cache->n_assumed,
    };
}

bool
cache_is_assumed(const struct cache *cache, const struct pod_view *pod)
{
    const struct cached_pod *p = cache->n_assumed > 0 ? cache_look_up(cache, pod) : NULL;

    return p != NULL && p->is_assumed;
}

struct node_view *
cache_find_node(const struct cache *cache, const char *name)
{
    return map_find(cache->nodes, name);
}

struct pod_view *
cache_find_pod(const struct cache *cache, const struct pod_view *like)
{
    const struct cached_pod *p = cache_look_up(cache, like);

    return p != NULL ? p->pod : NULL;
}

void
cache_visit_pods(const struct cache *cache, cache_visit_fn *visit, void *context)
{
    size_t at = 0;
    void *value;

    while (map_next(cache->pods, &at, NULL, &value)) {
        const struct cached_pod *p = value;

        visit(p->pod, p->is_assumed, context);
    }
}

static bool
shares_cores(const struct holding *a, const struct holding *b)
{
    for (unsigned i = 0; a != NULL && b != NULL && i < a->n_cores; i++)
        for (unsigned k = 0; k < b->n_cores; k++)
            if (a->cores[i] == b->cores[k])
                return true;
    return false;
}

int64_t
cache_free_at_us(const struct node_view *node, const struct pod_view *pod, int64_t now_us)
{
    int64_t free_us = now_us;

    for (uint32_t i = 0; i < node->pods.count; i++) {
        const struct pod_view *other = node->pods.items[i];
        int64_t end_us;

        if (other->has_yielded || !shares_cores(other->holding, pod->holding))
            continue;
        end_us = pod_view_end_us(other, now_us);
        if (end_us == 0)
            return 0;
        free_us = end_us > free_us ? end_us : free_us;
    }
    return free_us;
}

/* The pods are in a binary heap. The walk keeps a second heap, of the roots of
 * the subtrees that it has not visited.
 */
struct end_walk {
    size_t place;
    size_t index;
    int64_t end_us;
    const struct cached_pod *pod;
};

static bool
is_before(const void *a, const void *b, void *context)
{
    const struct end_walk *x = a, *y = b;

    (void)context;
    return x->end_us < y->end_us;
}

void
cache_visit_ends(const struct cache *cache, size_t most, cache_end_fn *visit, void *context)
{
    size_t count = heap_count(cache->ends), n_items = 0, visited = 0;
    CLEANUP_FREE struct end_walk *items = NULL;
    CLEANUP(heap_freep)
    struct heap *roots = heap_new(is_before, NULL, offsetof(struct end_walk, place));

    most = most < count ? most : count;
    items = xnew_array(struct end_walk, 2 * most + 1);
    for (size_t next = 0, last = 1; visited < most; visited++) {
        const struct end_walk *first;

        for (; next < last && next < count; next++) {
            struct end_walk *item = &items[n_items++];

            item->index = next;
            item->pod = heap_at(cache->ends, next);
            item->end_us = item->pod->end_us;
            heap_push(roots, item);
        }
        first = heap_pop(roots);
        if (!visit(first->pod->pod, first->pod->node, first->end_us, context))
            return;
        next = 2 * first->index + 1;
        last = next + 2;
    }
}
