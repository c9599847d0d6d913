/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/brackets.h"

#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/silicon.h"
#include "lib/base/alloc.h"

#define PLACES 10u
#define PARTS  (BRACKETS_OF_CLASS / PLACES)

/* After so many nodes have left a class its bounds are made anew. */
#define REMOVALS 4096u

struct brackets *
brackets_new(void)
{
    return xnew(struct brackets);
}

static void
class_free(struct bracket_class *class)
{
    for (unsigned i = 0; i < BRACKETS_OF_CLASS; i++)
        free(class->brackets[i].slots);
    free(class);
}

void
brackets_free(struct brackets *b)
{
    if (b == NULL)
        return;
    for (unsigned i = 0; i < b->n_classes; i++)
        class_free(b->classes[i]);
    free(b->nodes);
    free(b);
}

/* What is about the same of nodes of one size: their PUs and NUMA nodes, or
 * their CPUs.
 */
static uint64_t
key_of(const struct node_view *v)
{
    if (v->occupancy == NULL)
        return (uint64_t)v->allocatable.cpu_milli << 1;
    return (uint64_t)v->occupancy->silicon->n_pus << 32
           | (uint64_t)v->occupancy->silicon->n_numa << 1 | 1;
}

static struct bracket_class *
class_of(struct brackets *b, const struct node_view *v)
{
    uint64_t key = key_of(v);

    for (unsigned i = 0; i < b->n_classes; i++)
        if (b->classes[i]->key == key)
            return b->classes[i];
    if (b->n_classes == BRACKET_CLASSES)
        return b->classes[BRACKET_CLASSES - 1];
    b->classes[b->n_classes] = xnew(struct bracket_class);
    b->classes[b->n_classes]->key = key;
    return b->classes[b->n_classes++];
}

static struct bracket *
bracket_of(struct bracket_class *class, const struct node_view *v)
{
    int64_t all, left, part;

    if (v->occupancy != NULL) {
        all = v->occupancy->silicon->n_pus;
        left = v->occupancy->free_pus;
    } else {
        all = v->allocatable.cpu_milli;
        left = all - v->requested.cpu_milli;
    }
    part = all > 0 ? left * (PARTS - 1) / all : 0;
    if (part < 0)
        part = 0;
    if (part >= PARTS)
        part = PARTS - 1;
    return &class->brackets[(unsigned)part * PLACES + v->place / 100];
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
brackets_bounds(const struct brackets *b, struct bracket *bracket)
{
    if (!bracket->is_stale)
        return &bracket->bounds;
    for (uint32_t i = 0; i < bracket->count; i++)
        merge(&bracket->bounds, i == 0, &b->nodes[bracket->slots[i]].bounds);
    bracket->is_stale = false;
    return &bracket->bounds;
}

static void
remake_class(struct brackets *b, struct bracket_class *class)
{
    bool is_first = true;

    class->removals = 0;
    for (unsigned i = 0; i < BRACKETS_OF_CLASS; i++) {
        if (class->brackets[i].count == 0)
            continue;
        merge(&class->bounds,
              is_first,
              brackets_bounds(b, &class->brackets[i]));
        is_first = false;
    }
}

static void
take_out(struct brackets *b, struct bracket_node *node)
{
    struct bracket *bracket = node->bracket;
    uint32_t last = bracket->slots[--bracket->count];

    bracket->slots[node->at] = last;
    b->nodes[last].at = node->at;
    bracket->is_stale = true;
    node->class->n_nodes--;
    node->class->removals++;
    node->view = NULL;
}

static void
put_in(struct brackets *b, struct node_view *view)
{
    struct bracket_node *node = &b->nodes[view->slot];
    struct bracket_class *class = class_of(b, view);
    struct bracket *bracket = bracket_of(class, view);

    bounds_init(&node->bounds, view);
    node->view = view;
    node->class = class;
    node->bracket = bracket;
    node->at = bracket->count;
    xgrow(bracket->slots, bracket->count, bracket->capacity);
    bracket->slots[bracket->count] = view->slot;
    if (bracket->count == 0)
        bracket->is_stale = false;
    if (!bracket->is_stale)
        merge(&bracket->bounds, bracket->count == 0, &node->bounds);
    bracket->count++;
    merge(&class->bounds, class->n_nodes == 0, &node->bounds);
    class->n_nodes++;
    if (class->removals > REMOVALS)
        remake_class(b, class);
}

static void
make_all(struct brackets *b, const struct snapshot *s)
{
    for (unsigned i = 0; i < b->n_classes; i++)
        class_free(b->classes[i]);
    b->n_classes = 0;
    b->n_slots = s->n_slots;
    b->nodes =
        xrealloc_array(b->nodes, s->n_slots + 1, sizeof(struct bracket_node));
    memset(b->nodes, 0, (s->n_slots + 1) * sizeof(struct bracket_node));
    for (uint32_t i = 0; i < s->n_nodes; i++)
        put_in(b, s->nodes[i]);
}

static void
make_changed(struct brackets *b, const struct snapshot *s)
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
brackets_update(struct brackets *b, const struct snapshot *s)
{
    if (b->nodes == NULL || b->n_slots != s->n_slots
        || b->removal_generation != s->removal_generation)
        make_all(b, s);
    else if (b->generation != s->generation)
        make_changed(b, s);
    b->generation = s->generation;
    b->removal_generation = s->removal_generation;
}
