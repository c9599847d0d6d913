/* SPDX-License-Identifier: Apache-2.0 */
/* Spreading and affinity ask for sums over a domain, which depend on all nodes in it, so
 * answers cannot be kept by node as those of other plugins are. The sums can: a column is
 * brought up to date by the nodes that have changed, each by the difference of its own number.
 * Whatever else the sums depend on, such as the labels of namespaces, is a version that the
 * caller passes; a new one means counting everything again.
 */
#include "controller/scheduler/plugins/pods/domain_counts.h"

#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"
#include "lib/base/map.h"

struct domain_counts {
    struct domain_column **columns;
    unsigned n_columns, capacity;
    bool is_counted;
    uint32_t n_slots;
    uint64_t generation;
    uint64_t removal_generation;
    uint64_t version;
    const struct snapshot *snapshot; /* during an update */
};

static void
column_clear(struct domain_column *c)
{
    for (uint32_t i = 1; i <= c->n_ids; i++)
        free(c->values[i]);
    map_free(c->by_value);
    free(c->ids);
    free(c->counts);
    free(c->is_in);
    free(c->sums);
    free(c->members);
    free(c->values);
}

static void
column_free(struct domain_column *c)
{
    column_clear(c);
    free(c->label);
    free(c);
}

static void
counts_free(struct domain_counts *d)
{
    for (unsigned i = 0; i < d->n_columns; i++)
        column_free(d->columns[i]);
    free(d->columns);
    free(d);
}

/* Domains */

/* Domain 0 is for nodes without the label and has no members. */
static void
make_room(struct domain_column *c, uint32_t capacity)
{
    c->capacity = capacity;
    c->sums = xrealloc_array(c->sums, capacity, sizeof(*c->sums));
    c->members = xrealloc_array(c->members, capacity, sizeof(*c->members));
    c->values = xrealloc_array(c->values, capacity, sizeof(char *));
    c->sums[0] = 0;
    c->members[0] = 0;
    c->values[0] = NULL;
}

static uint32_t
domain_of(struct domain_column *c, const struct node_view *node)
{
    const char *value = string_map_find(&node->node->meta.labels, c->label);
    uintptr_t id;

    if (value == NULL)
        return 0;
    id = (uintptr_t)map_find(c->by_value, value);
    if (id != 0)
        return (uint32_t)id;
    if (c->n_ids + 1 == c->capacity)
        make_room(c, c->capacity * 2);
    id = ++c->n_ids;
    c->sums[id] = 0;
    c->members[id] = 0;
    c->values[id] = xstrdup(value);
    map_put(c->by_value, value, (void *)id);
    return (uint32_t)id;
}

static void
change_sum(struct domain_column *c, uint32_t id, int64_t by)
{
    int64_t before = c->sums[id];

    c->sums[id] += by;
    c->n_not_zero += (c->sums[id] != 0) - (before != 0);
    if (by < 0 || before <= c->least)
        c->is_least_stale = true;
}

static void
change_members(struct domain_column *c, uint32_t id, int by)
{
    uint32_t before = c->members[id];

    c->members[id] = (uint32_t)((int64_t)before + by);
    c->n_inhabited += (c->members[id] != 0) - (before != 0);
    if (before == 0 || c->members[id] == 0)
        c->is_least_stale = true;
}

int64_t
domain_counts_least(struct domain_column *c)
{
    if (!c->is_least_stale)
        return c->least;
    c->least = INT32_MAX;
    for (uint32_t i = 1; i <= c->n_ids; i++)
        if (c->members[i] > 0 && c->sums[i] < c->least)
            c->least = c->sums[i];
    c->is_least_stale = false;
    return c->least;
}

/* Columns */

/* Resets the column: all nodes have 0. */
static void
column_begin(const struct domain_counts *d, struct domain_column *c)
{
    const struct snapshot *s = d->snapshot;

    column_clear(c);
    c->by_value = map_new();
    c->n_ids = c->n_inhabited = c->n_not_zero = 0;
    c->sums = NULL;
    c->members = NULL;
    c->values = NULL;
    make_room(c, 8);
    c->ids = xnew_array(uint32_t, d->n_slots + 1);
    c->counts = xnew_array(int64_t, d->n_slots + 1);
    c->is_in = xnew_array(bool, d->n_slots + 1);
    c->least = INT32_MAX;
    c->is_least_stale = true;
    for (uint32_t i = 0; i < s->n_nodes; i++)
        c->ids[s->nodes[i]->slot] = domain_of(c, s->nodes[i]);
}

unsigned
domain_counts_column(struct domain_counts *d, int purpose, const char *label)
{
    struct domain_column *c;

    for (unsigned i = 0; i < d->n_columns; i++)
        if (d->columns[i]->purpose == purpose && strcmp(d->columns[i]->label, label) == 0)
            return i;
    c = xnew(struct domain_column);
    c->label = xstrdup(label);
    c->purpose = purpose;
    column_begin(d, c);
    xgrow(d->columns, d->n_columns, d->capacity);
    d->columns[d->n_columns] = c;
    return d->n_columns++;
}

unsigned
domain_counts_columns(const struct domain_counts *d)
{
    return d->n_columns;
}

struct domain_column *
domain_counts_at(const struct domain_counts *d, unsigned at)
{
    return d->columns[at];
}

void
domain_counts_add(struct domain_counts *d, unsigned column, const struct node_view *node,
                  int64_t by)
{
    struct domain_column *c = d->columns[column];
    uint32_t id = c->ids[node->slot];

    if (id == 0 || by == 0)
        return;
    c->counts[node->slot] += by;
    change_sum(c, id, by);
}

void
domain_counts_include(struct domain_counts *d, unsigned column, const struct node_view *node)
{
    struct domain_column *c = d->columns[column];
    uint32_t id = c->ids[node->slot];

    if (id == 0 || c->is_in[node->slot])
        return;
    c->is_in[node->slot] = true;
    change_members(c, id, 1);
}

/* Updating */

static void
forget_node(struct domain_counts *d, const struct node_view *node)
{
    for (unsigned i = 0; i < d->n_columns; i++) {
        struct domain_column *c = d->columns[i];
        uint32_t id = c->ids[node->slot];

        if (id != 0 && c->counts[node->slot] != 0)
            change_sum(c, id, -c->counts[node->slot]);
        if (id != 0 && c->is_in[node->slot])
            change_members(c, id, -1);
        c->counts[node->slot] = 0;
        c->is_in[node->slot] = false;
        c->ids[node->slot] = domain_of(c, node);
    }
}

static void
count_all(struct domain_counts *d, domain_counts_fn *count, void *context)
{
    const struct snapshot *s = d->snapshot;

    d->n_slots = s->n_slots;
    d->is_counted = true;
    for (unsigned i = 0; i < d->n_columns; i++)
        column_begin(d, d->columns[i]);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        count(d, s->nodes[i], context);
}

static void
count_changed(struct domain_counts *d, domain_counts_fn *count, void *context)
{
    list_foreach(link, d->snapshot->recent)
    {
        const struct node_view *v = container_of(link, struct node_view, recent);

        if (v->generation <= d->generation)
            return;
        if (v->node == NULL)
            continue;
        forget_node(d, v);
        count(d, v, context);
    }
}

void
domain_counts_update(struct domain_counts *d, const struct snapshot *s, uint64_t version,
                     domain_counts_fn *count, void *context)
{
    d->snapshot = s;
    if (!d->is_counted || d->n_slots != s->n_slots || d->removal_generation != s->removal_generation
        || d->version != version)
        count_all(d, count, context);
    else if (d->generation != s->generation)
        count_changed(d, count, context);
    d->generation = s->generation;
    d->removal_generation = s->removal_generation;
    d->version = version;
    d->snapshot = NULL;
}

/* The cache */

struct cached_counts {
    struct list link; /* in cache.recent */
    char *key;
    struct domain_counts *domain_counts;
};

struct domain_counts_cache {
    struct map *by_key;
    struct list recent; /* most recently used first */
    unsigned most;
};

struct domain_counts_cache *
domain_counts_cache_new(unsigned most)
{
    struct domain_counts_cache *all = xnew(struct domain_counts_cache);

    all->by_key = map_new();
    all->most = most;
    list_init(&all->recent);
    return all;
}

static void
cached_counts_free(struct domain_counts_cache *all, struct cached_counts *s)
{
    map_remove(all->by_key, s->key);
    list_remove(&s->link);
    counts_free(s->domain_counts);
    free(s->key);
    free(s);
}

void
domain_counts_cache_free(struct domain_counts_cache *all)
{
    if (all == NULL)
        return;
    list_foreach_safe(link, &all->recent)
        cached_counts_free(all, container_of(link, struct cached_counts, link));
    map_free(all->by_key);
    free(all);
}

struct domain_counts *
domain_counts_cache_get(struct domain_counts_cache *all, const char *key)
{
    struct cached_counts *s = map_find(all->by_key, key);

    if (s == NULL) {
        s = xnew(struct cached_counts);
        s->key = xstrdup(key);
        s->domain_counts = xnew(struct domain_counts);
        list_init(&s->link);
        map_put(all->by_key, key, s);
        if (map_count(all->by_key) > all->most)
            cached_counts_free(all, container_of(all->recent.prev, struct cached_counts, link));
    }
    list_remove(&s->link);
    list_add_first(&all->recent, &s->link);
    return s->domain_counts;
}
