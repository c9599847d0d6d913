/* SPDX-License-Identifier: Apache-2.0 */
/* node_buckets.h - nodes grouped by how full they are, with bounds of each
 * bucket
 *
 * A class has the nodes of about the same size. A bucket of it has those with
 * about the same part in use and in the same tenth of `place`, the stable order
 * of nodes. An update costs only as much as has changed. The bounds of a bucket
 * hold for each of its nodes; those of a class may be wider than necessary.
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

struct bucket_node {
    struct node_view *view; /* NULL: no such node */
    struct bounds bounds;
    struct bucket_class *class;
    struct node_bucket *bucket;
    uint32_t at; /* index in bucket->slots */
};

struct node_bucket {
    struct bounds bounds;
    bool is_stale; /* the bounds may be wider than the nodes need */
    uint32_t *slots;
    uint32_t count, capacity;
};

#define BUCKETS_OF_CLASS 220u

struct bucket_class {
    uint64_t key;
    uint32_t n_nodes;
    struct bounds bounds;
    uint32_t removals; /* since the bounds were computed */
    struct node_bucket buckets[BUCKETS_OF_CLASS];
};

#define BUCKET_CLASSES 64u

struct node_buckets {
    uint64_t generation; /* of the latest node change seen */
    uint64_t removal_generation;
    struct bucket_node *nodes; /* by slot */
    uint32_t n_slots;
    /* The last class also takes the nodes of all further sizes. */
    struct bucket_class *classes[BUCKET_CLASSES];
    unsigned n_classes;
};

void node_buckets_free(struct node_buckets *b);
struct node_buckets *node_buckets_new(void) OWNED_BY(node_buckets_free);
DEFINE_CLEANUP(struct node_buckets, node_buckets_free)

void node_buckets_update(struct node_buckets *b, const struct snapshot *snapshot);

/* The exact bounds of a bucket that has nodes. */
const struct bounds *node_buckets_bounds(const struct node_buckets *b, struct node_bucket *bucket);
