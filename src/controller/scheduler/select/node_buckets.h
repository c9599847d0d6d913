/* SPDX-License-Identifier: Apache-2.0 */
/* node_buckets.h - the nodes by how full they are, with bounds of each bucket
 *
 * Nodes of about the same size, with about as much of it in use, and in the
 * same tenth of the order of places are one bucket; node buckets of nodes of
 * one size are a class. Brought up to date at the cost of what has changed. The
 * bounds of a bucket hold for each of its nodes; those of a class may be wider
 * than need be.
 *
 * Owns:    copies of numbers; the views are the cache's.
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdint.h>

#include "controller/scheduler/framework/bounds.h"
#include "lib/base/macro.h"

struct node_bucket;
struct bucket_class;
struct node_view;
struct snapshot;

/* A node in its bucket. */
struct bucket_node {
    struct node_view *view; /* NULL: no such node */
    struct bounds bounds;
    struct bucket_class *class;
    struct node_bucket *bucket;
    uint32_t at; /* its place there */
};

struct node_bucket {
    struct bounds bounds;
    bool is_stale; /* the bounds are wider than the nodes left */
    uint32_t *slots;
    uint32_t count, capacity;
};

#define BUCKETS_OF_CLASS 220u

struct bucket_class {
    uint64_t key;
    uint32_t n_nodes;
    struct bounds bounds;
    uint32_t removals; /* since the bounds were made */
    struct node_bucket buckets[BUCKETS_OF_CLASS];
};

#define BUCKET_CLASSES 64u

struct node_buckets {
    uint64_t generation; /* seen */
    uint64_t removal_generation;
    struct bucket_node *nodes; /* by slot */
    uint32_t n_slots;
    struct bucket_class *classes[BUCKET_CLASSES]; /* the last one: the rest */
    unsigned n_classes;
};

void node_buckets_free(struct node_buckets *b);
struct node_buckets *node_buckets_new(void) OWNED_BY(node_buckets_free);
DEFINE_CLEANUP(struct node_buckets, node_buckets_free)

void node_buckets_update(struct node_buckets *b,
                         const struct snapshot *snapshot);

/* The bounds of a bucket that has nodes, as they are now. */
const struct bounds *node_buckets_bounds(const struct node_buckets *b,
                                         struct node_bucket *bucket);
