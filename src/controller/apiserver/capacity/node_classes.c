/* SPDX-License-Identifier: Apache-2.0 */
/* Ten thousand nodes of a site are of some ten kinds. Two things hide that: labels whose value
 * is the node's own name, and firmware that keeps a different amount of memory on each. Both
 * are left out of what makes a class, and feasibility.c allows for the second. With too many
 * classes the list is incomplete, and says so, rather than slow.
 */
#include "controller/apiserver/capacity/node_classes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/allocator/occupancy.h"
#include "lib/allocator/topology_index.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* Amounts of memory are equal if their first bits are: two machines of one kind
 * differ by what their firmware keeps.
 */
#define SIGNIFICANT_BITS 5

struct node_classes {
    struct topology_cache *topologies;
    struct map *by_name; /* struct class_node */
    struct map *by_key;  /* struct node_class */
    struct node_class *items[NODE_CLASSES_MOST];
    unsigned count;
    size_t n_unclassed;
};

struct node_classes *
node_classes_new(void)
{
    struct node_classes *all = xnew(struct node_classes);

    all->topologies = topology_cache_new();
    all->by_name = map_new();
    all->by_key = map_new();
    return all;
}

static void
class_free(struct node_class *class)
{
    occupancy_free(class->room);
    free(class->key);
    free(class);
}

void
node_classes_free(struct node_classes *all)
{
    size_t at = 0;
    void *value;

    if (all == NULL)
        return;
    while (map_next(all->by_name, &at, NULL, &value)) {
        struct class_node *node = value;

        object_unref(node->object);
        free(node);
    }
    for (unsigned i = 0; i < all->count; i++)
        class_free(all->items[i]);
    map_free(all->by_name);
    map_free(all->by_key);
    topology_cache_free(all->topologies);
    free(all);
}

/* ---- What makes a class ---- */

static int64_t
round_bytes(int64_t bytes)
{
    unsigned cut = 0;

    while (bytes >> cut >= INT64_C(1) << SIGNIFICANT_BITS)
        cut++;
    return bytes >> cut << cut;
}

static int
compare_entries(const void *a, const void *b)
{
    const struct string_entry *x = a, *y = b;

    return strcmp(x->key, y->key);
}

/* A label whose value is the node's name (kubernetes.io/hostname) would make
 * each node a class of its own.
 */
static void
add_labels(const struct meta *meta, struct strbuf *out)
{
    const struct string_map *labels = &meta->labels;
    CLEANUP_FREE struct string_entry *sorted = xnew_array(struct string_entry, labels->count + 1);
    unsigned n = 0;

    for (unsigned i = 0; i < labels->count; i++)
        if (strcmp(labels->items[i].value, meta->name) != 0)
            sorted[n++] = labels->items[i];
    if (n > 1)
        qsort(sorted, n, sizeof(*sorted), compare_entries);
    for (unsigned i = 0; i < n; i++)
        strbuf_printf(out, "%s=%s\n", sorted[i].key, sorted[i].value);
}

static bool
is_coarse(const char *resource)
{
    return strcmp(resource, "memory") == 0 || strcmp(resource, "ephemeral-storage") == 0;
}

static void
add_amounts(const struct node *node, struct strbuf *out)
{
    const struct string_map *has = &node->status.allocatable;

    for (unsigned i = 0; i < has->count; i++) {
        strbuf_printf(out, "%s ", has->items[i].key);
        if (is_coarse(has->items[i].key))
            strbuf_add_int(out, round_bytes(quantity_text_value(has->items[i].value)));
        else
            strbuf_add_text(out, has->items[i].value);
        strbuf_add_char(out, '\n');
    }
    strbuf_printf(out, "scratch %" PRId64 "\n", round_bytes(node_scratch_bytes(node)));
}

static void
add_topology(const struct topology_index *s, struct strbuf *out)
{
    const struct topology *t = s->topology;

    strbuf_printf(out, "%u %u %u", s->n_packages, s->max_threads, s->n_kinds);
    for (unsigned i = 0; i < s->n_numa; i++) {
        const struct topology_index_numa *numa = &s->numa[i];

        strbuf_printf(out, "\n%u %u %u %u %" PRId64, t->numa[i].package, numa->n_groups,
                      numa->n_cores, numa->n_pus, round_bytes((int64_t)t->numa[i].memory_bytes));
        for (unsigned k = 0; k < s->n_pages; k++)
            strbuf_printf(out, " %" PRIu64 ":%" PRId64, s->page_bytes[k], numa->huge_bytes[k]);
    }
    for (unsigned i = 0; i < t->n_devices; i++) {
        const struct topology_device *d = &t->devices[i];

        strbuf_printf(out, "\n%s %u %s", d->type, d->numa, d->model != NULL ? d->model : "");
    }
}

/* ---- Classes ---- */

static int64_t
memory_of(const struct node *node)
{
    return quantity_text_value(string_map_find(&node->status.allocatable, "memory"));
}

static struct node_class *
class_new(struct node_classes *all, const struct node *node, struct topology_index *topology,
          char *key TAKES)
{
    struct node_class *class = xnew(struct node_class);

    class->key = key;
    class->is_unknown = string_map_find(&node->status.allocatable, "cpu") == NULL;
    class->room = topology != NULL ? occupancy_new(topology) : NULL;
    class->memory_bytes = memory_of(node);
    class->at = all->count;
    list_init(&class->nodes);
    all->items[all->count++] = class;
    map_put(all->by_key, class->key, class);
    return class;
}

/* NULL: there are too many classes. */
static struct node_class *
find_class(struct node_classes *all, const struct object *object)
{
    CLEANUP(topology_index_unrefp) struct topology_index *topology = NULL;
    CLEANUP_STRBUF struct strbuf key = STRBUF_INIT;
    const struct node *node = node_of(object);
    struct node_class *class;

    add_labels(object->meta, &key);
    add_amounts(node, &key);
    if (node->status.topology != NULL
        && topology_cache_find(all->topologies, node->status.topology, &topology, NULL) == 0)
        add_topology(topology, &key);
    class = map_find(all->by_key, key.text);
    if (class == NULL && all->count < NODE_CLASSES_MOST)
        class = class_new(all, node, topology, strbuf_take(&key));
    return class;
}

static void
swap_places(struct node_classes *all, unsigned a, unsigned b)
{
    struct node_class *class = all->items[a];

    all->items[a] = all->items[b];
    all->items[b] = class;
    all->items[a]->at = a;
    all->items[b]->at = b;
}

static void
leave_class(struct node_classes *all, struct class_node *node)
{
    struct node_class *class = node->class;

    if (class == NULL) {
        all->n_unclassed--;
        return;
    }
    list_remove(&node->link);
    node->class = NULL;
    if (--class->count > 0)
        return;
    map_remove(all->by_key, class->key);
    swap_places(all, class->at, all->count - 1);
    all->count--;
    class_free(class);
}

static void
join_class(struct node_classes *all, struct class_node *node)
{
    const struct node *view = node_of(node->object);
    const int64_t memory = memory_of(view), scratch = node_scratch_bytes(view);
    struct node_class *class = node->class = find_class(all, node->object);

    if (class == NULL) {
        all->n_unclassed++;
        return;
    }
    list_add_last(&class->nodes, &node->link);
    class->count++;
    class->is_mixed |= memory != class->memory_bytes;
    if (memory > class->memory_bytes)
        class->memory_bytes = memory;
    if (scratch > class->scratch_bytes)
        class->scratch_bytes = scratch;
}

/* ---- Changes ---- */

static bool
maps_equal(const struct string_map *a, const struct string_map *b)
{
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++)
        if (strcmp(a->items[i].key, b->items[i].key) != 0
            || strcmp(a->items[i].value, b->items[i].value) != 0)
            return false;
    return true;
}

static bool
is_of_same_class(const struct object *a, const struct object *b)
{
    const struct node *x = node_of(a), *y = node_of(b);
    const struct json *s = x->status.topology, *t = y->status.topology;

    return maps_equal(&a->meta->labels, &b->meta->labels)
           && maps_equal(&x->status.allocatable, &y->status.allocatable)
           && node_scratch_bytes(x) == node_scratch_bytes(y)
           && (s == t || (s != NULL && t != NULL && json_equals(s, t)));
}

static void
remove_node(struct node_classes *all, const char *name)
{
    struct class_node *node = map_remove(all->by_name, name);

    if (node == NULL)
        return;
    leave_class(all, node);
    object_unref(node->object);
    free(node);
}

void
node_classes_moved(struct node_classes *all, const struct object *before,
                   const struct object *after)
{
    struct class_node *node;
    const struct object *old;

    if (after == NULL) {
        remove_node(all, before->meta->name);
        return;
    }
    node = map_find(all->by_name, after->meta->name);
    if (node == NULL) {
        node = xnew(struct class_node);
        node->object = object_ref(after);
        map_put(all->by_name, after->meta->name, node);
        join_class(all, node);
        return;
    }
    old = node->object;
    node->object = object_ref(after);
    if (!is_of_same_class(old, after)) {
        leave_class(all, node);
        join_class(all, node);
    }
    object_unref(old);
}

void
node_classes_prefer(struct node_classes *all, struct node_class *class)
{
    swap_places(all, class->at, 0);
}

/* ---- Look ---- */

struct node_class *
node_classes_at(const struct node_classes *all, unsigned n)
{
    return n < all->count ? all->items[n] : NULL;
}

const struct class_node *
node_classes_find(const struct node_classes *all, const char *name)
{
    return map_find(all->by_name, name);
}

size_t
node_classes_nodes(const struct node_classes *all)
{
    return map_count(all->by_name);
}

bool
node_classes_are_complete(const struct node_classes *all)
{
    return all->n_unclassed == 0;
}

void
node_classes_visit_names(const struct node_classes *all, node_classes_name_fn *visit, void *context)
{
    const char *name;
    void *ignored;
    size_t at = 0;

    while (map_next(all->by_name, &at, &name, &ignored))
        if (!visit(name, context))
            return;
}
