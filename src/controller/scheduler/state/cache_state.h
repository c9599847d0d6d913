/* SPDX-License-Identifier: Apache-2.0 */
/* cache_state.h - the internals of the cache, for its own files
 *
 * Called by: cache.c, cache_groups.c and cache_look.c. No other file.
 * Thread:    the scheduler's.
 */
#pragma once

#include "controller/scheduler/state/cache.h"
#include "lib/base/list.h"

struct heap;
struct journal;
struct map;
struct node_tree;
struct topology_cache;

struct cached_pod {
    struct pod_view *pod;
    struct node_view *node;
    bool is_assumed;
    bool is_binding_finished;
    int64_t deadline_us;
    int64_t end_us;       /* latest end, real clock; 0: no limit */
    size_t end_place;     /* in `ends` */
    struct list link;     /* of the assumed pods, or of none */
    struct list of_group; /* pods that name the same PodGroup, or of none */
};

struct cache {
    struct cache_settings settings;
    struct topology_cache *topologies;
    struct journal *journal; /* of trial placements */
    /* Name to struct node_view, including nodes that the API does not have. */
    struct map *nodes;
    struct map *pods;       /* uid to struct cached_pod */
    struct map *retained;   /* uid to struct retained_allocation */
    struct map *claims;     /* "namespace/name" to how many pods use it */
    struct map *groups;     /* key of a PodGroup to the list of its pods */
    struct map *partitions; /* name to how many nodes have it */
    struct node_tree *tree;
    struct list recent;
    struct list closed; /* nodes */
    struct list assumed;
    size_t n_assumed;
    struct heap *ends; /* pods with an end, the first on top */
    uint64_t generation;
    uint64_t removal_generation;
    bool has_new_order;
    uint32_t n_slots;
    uint32_t *free_slots;
    size_t n_free_slots, free_slot_capacity;

    /* Lists that snapshots borrow. */
    struct node_view **ordered;
    uint32_t n_ordered;
    uint32_t n_with_affinity;
    uint32_t n_with_anti_affinity;
};

/* When the cores of a pod that has yielded are free again: the last end of the
 * pods that use them. 0: not known.
 */
int64_t cache_free_at_us(const struct node_view *node, const struct pod_view *pod, int64_t now_us);

/* The pods on nodes by the PodGroup that they name (cache_groups.c). Leave: also
 * a pod that names none.
 */
void cache_join_group(struct cache *cache, struct cached_pod *p);
void cache_leave_group(struct cache *cache, struct cached_pod *p);
void cache_free_groups(struct cache *cache);

/* The pod of the same uid, or NULL. */
struct cached_pod *cache_look_up(const struct cache *cache, const struct pod_view *pod);
