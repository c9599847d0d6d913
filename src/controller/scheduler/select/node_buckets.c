/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes are divided by how much they have in use and, within that, by a stable order of their
 * names, because NumaFit scores by the first and, where that is equal, by the second. With
 * both, the bounds of a bucket are tight, and few buckets are opened.
 *
 * A node that leaves a bucket makes its bounds stale instead of computing them: the next
 * search reads only the buckets that it opens. Classes do not shrink with their nodes either,
 * and are made anew after some thousand removals.
 */
#include "controller/scheduler/select/node_buckets.h"

#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/topology_index.h"
#include "lib/base/alloc.h"

#define PLACES 10u
#define PARTS  (BUCKETS_OF_CLASS / PLACES)

/* After this many removals the bounds of a class are computed again. */
#define REMOVALS 4096u

struct node_buckets *
node_buckets_new(void)
{
    return xnew(struct node_buckets);
}

static void
class_free(struct bucket_class *class)
{
    for (unsigned i = 0; i < BUCKETS_OF_CLASS; i++)
        free(class->buckets[i].slots);
    free(class);
}

void
node_buckets_free(struct node_buckets *b)
{
    if (b == NULL)
        return;
    for (unsigned i = 0; i < b->n_classes; i++)
        class_free(b->classes[i]);
    free(b->nodes);
    free(b);
}

/* Nodes of a class have the same numbers of PUs and NUMA nodes, or of CPUs. */
static uint64_t
key_of(const struct node_view *v)
{
    if (v->ledger.occupancy == NULL)
        return (uint64_t)v->allocatable.cpu_milli << 1;
    return (uint64_t)v->ledger.occupancy->topology_index->n_pus << 32
           | (uint64_t)v->ledger.occupancy->topology_index->n_numa << 1 | 1;
}

static struct bucket_class *
class_of(struct node_buckets *b, const struct node_view *v)
{
    uint64_t key = key_of(v);

    for (unsigned i = 0; i < b->n_classes; i++)
        if (b->classes[i]->key == key)
            return b->classes[i];
    if (b->n_classes == BUCKET_CLASSES)
        return b->classes[BUCKET_CLASSES - 1];
    b->classes[b->n_classes] = xnew(struct bucket_class);
    b->classes[b->n_classes]->key = key;
    return b->classes[b->n_classes++];
}

static struct node_bucket *
bucket_of(struct bucket_class *class, const struct node_view *v)
{
    int64_t all, left, part;

    if (v->ledger.occupancy != NULL) {
        all = v->ledger.occupancy->topology_index->n_pus;
        left = v->ledger.occupancy->free_pus;
    } else {
        all = v->allocatable.cpu_milli;
        left = all - v->ledger.requested.cpu_milli;
    }
    part = all > 0 ? left * (PARTS - 1) / all : 0;
    if (part < 0)
        part = 0;
    if (part >= PARTS)
        part = PARTS - 1;
    return &class->buckets[(unsigned)part * PLACES + v->place / 100];
}

static void
merge(struct bounds *into, bool is_first, const struct bounds *bounds)
{
    if (is_first)
        *into = *bounds;
    else
        bounds_add(into, bounds);
}

const struct bounds *
node_buckets_bounds(const struct node_buckets *b, struct node_bucket *bucket)
{
    if (!bucket->is_stale)
        return &bucket->bounds;
    for (uint32_t i = 0; i < bucket->count; i++)
        merge(&bucket->bounds, i == 0, &b->nodes[bucket->slots[i]].bounds);
    bucket->is_stale = false;
    return &bucket->bounds;
}

static void
remake_class(struct node_buckets *b, struct bucket_class *class)
{
    bool is_first = true;

    class->removals = 0;
    for (unsigned i = 0; i < BUCKETS_OF_CLASS; i++) {
        if (class->buckets[i].count == 0)
            continue;
        merge(&class->bounds, is_first, node_buckets_bounds(b, &class->buckets[i]));
        is_first = false;
    }
}

static void
take_out(struct node_buckets *b, struct bucket_node *node)
{
    struct node_bucket *bucket = node->bucket;
    uint32_t last = bucket->slots[--bucket->count];

    bucket->slots[node->at] = last;
    b->nodes[last].at = node->at;
    bucket->is_stale = true;
    node->class->n_nodes--;
    node->class->removals++;
    node->view = NULL;
}

static void
put_in(struct node_buckets *b, struct node_view *view)
{
    struct bucket_node *node = &b->nodes[view->slot];
    struct bucket_class *class = class_of(b, view);
    struct node_bucket *bucket = bucket_of(class, view);

    bounds_init(&node->bounds, view);
    node->view = view;
    node->class = class;
    node->bucket = bucket;
    node->at = bucket->count;
    xgrow(bucket->slots, bucket->count, bucket->capacity);
    bucket->slots[bucket->count] = view->slot;
    if (bucket->count == 0)
        bucket->is_stale = false;
    if (!bucket->is_stale)
        merge(&bucket->bounds, bucket->count == 0, &node->bounds);
    bucket->count++;
    merge(&class->bounds, class->n_nodes == 0, &node->bounds);
    class->n_nodes++;
    if (class->removals > REMOVALS)
        remake_class(b, class);
}

static void
make_all(struct node_buckets *b, const struct snapshot *s)
{
    for (unsigned i = 0; i < b->n_classes; i++)
        class_free(b->classes[i]);
    b->n_classes = 0;
    b->n_slots = s->n_slots;
    b->nodes = xrealloc_array(b->nodes, s->n_slots + 1, sizeof(struct bucket_node));
    memset(b->nodes, 0, (s->n_slots + 1) * sizeof(struct bucket_node));
    for (uint32_t i = 0; i < s->n_nodes; i++)
        put_in(b, s->nodes[i]);
}

static void
make_changed(struct node_buckets *b, const struct snapshot *s)
{
    list_foreach(link, s->recent)
    {
        struct node_view *v = container_of(link, struct node_view, recent);

        if (v->generation <= b->generation)
            break;
        if (b->nodes[v->slot].view != NULL)
            take_out(b, &b->nodes[v->slot]);
        if (v->node != NULL)
            put_in(b, v);
    }
}

void
node_buckets_update(struct node_buckets *b, const struct snapshot *s)
{
    if (b->nodes == NULL || b->n_slots != s->n_slots
        || b->removal_generation != s->removal_generation)
        make_all(b, s);
    else if (b->generation != s->generation)
        make_changed(b, s);
    b->generation = s->generation;
    b->removal_generation = s->removal_generation;
}
