/* SPDX-License-Identifier: Apache-2.0 */
/* cache_state.h - the insides of the cache, for its own files
 *
 * Called by: cache.c and cache_look.c. Nobody else.
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
    int64_t end_us;   /* when it must end, on the real clock; 0: no limit */
    size_t end_place; /* in `ends` */
    struct list link; /* among the assumed */
};

struct cache {
    struct cache_settings settings;
    struct topology_cache *topologies;
    struct journal *journal; /* of what is tried out on the nodes */
    struct map *nodes;       /* name to struct node_view, ghosts too */
    struct map *pods;        /* uid to struct cached_pod */
    struct map *retained;    /* uid to struct retained_allocation */
    struct map *claims;      /* "namespace/name" to how many pods use it */
    struct map *partitions;  /* name to how many nodes have it */
    struct node_tree *tree;
    struct list recent;
    struct list assumed;
    size_t n_assumed;
    struct heap *ends; /* the pods that have one, the first end on top */
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

/* When the last that has cores of a pod that stands still for others will have
 * ended. 0: nobody knows.
 */
int64_t cache_free_at_us(const struct node_view *node,
                         const struct pod_view *pod,
                         int64_t now_us);

/* The pod of the same uid, or NULL. */
struct cached_pod *cache_look_up(const struct cache *cache,
                                 const struct pod_view *pod);
