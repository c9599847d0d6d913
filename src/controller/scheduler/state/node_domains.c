/* SPDX-License-Identifier: Apache-2.0 */
/* Where a group may go is decided by counts, before any node is looked at: each domain knows
 * how many of its nodes have how much free, in two sizes for each power of two. That is coarse
 * on purpose; the cycle then places each pod as ever, among the nodes of the domain that was
 * chosen (decision 705). Levels of labels that users name are made when they are asked for,
 * and the least recently used ones go.
 */
#include "controller/scheduler/state/node_domains.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"
#include "lib/base/map.h"

/* How many levels that are not configured are kept, of labels that nodes have. */
#define OTHER_LEVELS 32u

#define LEVELS (DOMAIN_LEVELS_MAX + OTHER_LEVELS)

struct domain_slot {
    struct node_view *view;      /* NULL: no such node */
    const struct object *object; /* a reference; its labels are in effect */
    unsigned size;
};

struct node_domains {
    struct domain_level *levels[LEVELS]; /* the configured ones come first */
    unsigned n_configured, n_levels;
    struct domain_level *empty; /* of every label that no node has: users may name any */
    struct map *label_keys;     /* to the number of nodes that have it, as a pointer */
    struct domain_slot *slots;
    uint32_t n_slots;
    uint64_t generation, removal_generation;
    uint64_t n_uses;
};

/* ---- Sizes ---- */

/* Two sizes for each power of two. */
static unsigned
size_of(int64_t mcpu)
{
    unsigned log, size;

    if (mcpu <= 0)
        return 0;
    log = 63u - (unsigned)__builtin_clzll((uint64_t)mcpu);
    size = 1 + 2 * log + (log > 0 ? (unsigned)(mcpu >> (log - 1)) & 1 : 0);
    return size < DOMAIN_SIZES ? size : DOMAIN_SIZES - 1;
}

/* The largest amount of that size. */
static int64_t
most_of(unsigned size)
{
    const unsigned log = (size - 1) / 2;
    const int64_t least = INT64_C(1) << log;

    if (size == 0)
        return 0;
    if (size == DOMAIN_SIZES - 1)
        return INT64_MAX;
    return (size - 1) % 2 == 0 ? least + least / 2 - (log > 0) : 2 * least - 1;
}

static int64_t
free_mcpu(const struct node_view *node)
{
    return node->allocatable.cpu_milli - node->ledger.requested.cpu_milli;
}

/* ---- Levels ---- */

static struct domain_level *
level_new(const char *key)
{
    struct domain_level *level = xnew(struct domain_level);

    level->key = xstrdup(key);
    level->by_value = map_new();
    return level;
}

static void
level_free(struct domain_level *level)
{
    for (unsigned i = 0; i < level->n_domains; i++) {
        free(level->domains[i]->value);
        free(level->domains[i]->nodes);
        free(level->domains[i]);
    }
    free(level->domains);
    free(level->of_slot);
    map_free(level->by_value);
    free(level->key);
    free(level);
}

static struct node_domain *
make_domain(struct domain_level *level, const char *value)
{
    struct node_domain *domain = map_find(level->by_value, value);

    if (domain != NULL)
        return domain;
    domain = xnew(struct node_domain);
    domain->value = xstrdup(value);
    domain->index = level->n_domains;
    xgrow(level->domains, level->n_domains, level->capacity);
    level->domains[level->n_domains++] = domain;
    map_put(level->by_value, value, domain);
    return domain;
}

static void
add_node(struct node_domain *domain, struct node_view *node, unsigned size)
{
    uint32_t from = 0, to = domain->n_nodes;

    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        const char *name = domain->nodes[middle]->name;

        if (hostlist_compare(&name, &(const char *){node->name}) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    xgrow(domain->nodes, domain->n_nodes, domain->capacity);
    memmove(domain->nodes + from + 1, domain->nodes + from,
            (domain->n_nodes - from) * sizeof(struct node_view *));
    domain->nodes[from] = node;
    domain->n_nodes++;
    domain->of_size[size]++;
}

/* The view may be gone already. */
static void
remove_node(struct node_domain *domain, const struct node_view *node, unsigned size)
{
    uint32_t at = 0;

    while (domain->nodes[at] != node)
        at++;
    domain->n_nodes--;
    memmove(domain->nodes + at, domain->nodes + at + 1,
            (domain->n_nodes - at) * sizeof(struct node_view *));
    domain->of_size[size]--;
}

static const char *
label_of(const struct object *node, const char *key)
{
    return node != NULL ? string_map_find(&node->meta->labels, key) : NULL;
}

static void
join(struct domain_level *level, const struct domain_slot *slot, uint32_t at)
{
    const char *value = label_of(slot->object, level->key);

    level->of_slot[at] = value != NULL ? make_domain(level, value) : NULL;
    if (level->of_slot[at] != NULL)
        add_node(level->of_slot[at], slot->view, slot->size);
}

static void
leave(struct domain_level *level, const struct domain_slot *slot, uint32_t at)
{
    if (level->of_slot[at] != NULL)
        remove_node(level->of_slot[at], slot->view, slot->size);
    level->of_slot[at] = NULL;
}

static void
make_slots_of(struct domain_level *level, uint32_t before, uint32_t now)
{
    level->of_slot = xrealloc_array(level->of_slot, now + 1, sizeof(struct node_domain *));
    memset(level->of_slot + before, 0, (now + 1 - before) * sizeof(struct node_domain *));
}

/* ---- Life ---- */

struct node_domains *
node_domains_new(const char *const *keys, unsigned count)
{
    struct node_domains *d = xnew(struct node_domains);

    d->label_keys = map_new();
    d->empty = level_new("");
    make_slots_of(d->empty, 0, 0);
    for (unsigned i = 0; i < count && i < DOMAIN_LEVELS_MAX; i++) {
        d->levels[i] = level_new(keys[i]);
        make_slots_of(d->levels[i], 0, 0);
        d->n_configured = d->n_levels = i + 1;
    }
    return d;
}

void
node_domains_free(struct node_domains *d)
{
    if (d == NULL)
        return;
    for (unsigned i = 0; i < d->n_levels; i++)
        level_free(d->levels[i]);
    for (uint32_t i = 0; i < d->n_slots; i++)
        object_unref(d->slots[i].object);
    level_free(d->empty);
    map_free(d->label_keys);
    free(d->slots);
    free(d);
}

/* ---- Update ---- */

static void
count_labels(struct node_domains *d, const struct object *node, int by)
{
    const struct string_map *labels = &node->meta->labels;

    for (size_t i = 0; i < labels->count; i++) {
        const char *key = labels->items[i].key;
        const intptr_t count = (intptr_t)map_find(d->label_keys, key) + by;

        if (count > 0)
            (void)map_put(d->label_keys, key,
                          (void *)count); /* NOLINT(performance-no-int-to-ptr) */
        else
            (void)map_remove(d->label_keys, key);
    }
}

static void
take_out(struct node_domains *d, uint32_t at)
{
    struct domain_slot *slot = &d->slots[at];

    if (slot->view == NULL)
        return;
    for (unsigned i = 0; i < d->n_levels; i++)
        leave(d->levels[i], slot, at);
    count_labels(d, slot->object, -1);
    object_unref(slot->object);
    *slot = (struct domain_slot){0};
}

static void
put_in(struct node_domains *d, struct node_view *view)
{
    struct domain_slot *slot = &d->slots[view->slot];

    *slot = (struct domain_slot){view, object_ref(view->object), size_of(free_mcpu(view))};
    for (unsigned i = 0; i < d->n_levels; i++)
        join(d->levels[i], slot, view->slot);
    count_labels(d, view->object, 1);
}

/* Most changes of nodes, their heartbeats, are of no label. */
static bool
has_same_labels(const struct object *a, const struct object *b)
{
    const struct string_map *x = &a->meta->labels, *y = &b->meta->labels;

    if (x->count != y->count)
        return false;
    for (size_t i = 0; i < x->count; i++)
        if (strcmp(x->items[i].key, y->items[i].key) != 0
            || strcmp(x->items[i].value, y->items[i].value) != 0)
            return false;
    return true;
}

/* False: it is another node, or in other domains than before. */
static bool
is_in_place(struct domain_slot *slot, const struct node_view *view)
{
    if (slot->view != view || view->node == NULL)
        return false;
    if (slot->object == view->object)
        return true;
    if (!has_same_labels(slot->object, view->object))
        return false;
    object_unref(slot->object);
    slot->object = object_ref(view->object);
    return true;
}

static void
resize(struct node_domains *d, struct domain_slot *slot, uint32_t at)
{
    const unsigned size = size_of(free_mcpu(slot->view));

    if (size == slot->size)
        return;
    for (unsigned i = 0; i < d->n_levels; i++) {
        struct node_domain *domain = d->levels[i]->of_slot[at];

        if (domain == NULL)
            continue;
        domain->of_size[slot->size]--;
        domain->of_size[size]++;
    }
    slot->size = size;
}

static void
make_slots(struct node_domains *d, uint32_t count)
{
    if (count <= d->n_slots)
        return;
    d->slots = xrealloc_array(d->slots, count, sizeof(struct domain_slot));
    memset(d->slots + d->n_slots, 0, (count - d->n_slots) * sizeof(struct domain_slot));
    for (unsigned i = 0; i < d->n_levels; i++)
        make_slots_of(d->levels[i], d->n_slots, count);
    make_slots_of(d->empty, d->n_slots, count);
    d->n_slots = count;
}

/* Nodes that were removed are not among those that have changed. */
static void
sweep(struct node_domains *d, const struct snapshot *s)
{
    CLEANUP_FREE const struct node_view **present =
        xnew_array(const struct node_view *, d->n_slots + 1);

    for (uint32_t i = 0; i < s->n_nodes; i++)
        present[s->nodes[i]->slot] = s->nodes[i];
    for (uint32_t i = 0; i < d->n_slots; i++)
        if (d->slots[i].view != present[i])
            take_out(d, i);
}

/* The values of labels may come and go for years. */
static void
forget_values(struct node_domains *d)
{
    for (unsigned i = 0; i < d->n_levels; i++) {
        struct domain_level *level = d->levels[i];

        if (level->n_domains <= 2 * d->n_slots + 64)
            continue;
        d->levels[i] = level_new(level->key);
        make_slots_of(d->levels[i], 0, d->n_slots);
        d->levels[i]->used = level->used;
        level_free(level);
        for (uint32_t at = 0; at < d->n_slots; at++)
            if (d->slots[at].view != NULL)
                join(d->levels[i], &d->slots[at], at);
    }
}

void
node_domains_update(struct node_domains *d, const struct snapshot *s)
{
    if (d->generation == s->generation && d->removal_generation == s->removal_generation)
        return;
    make_slots(d, s->n_slots);
    if (d->removal_generation != s->removal_generation)
        sweep(d, s);
    list_foreach(link, s->recent)
    {
        struct node_view *v = container_of(link, struct node_view, recent);
        struct domain_slot *slot = &d->slots[v->slot];

        if (v->generation <= d->generation)
            break;
        if (is_in_place(slot, v)) {
            resize(d, slot, v->slot);
            continue;
        }
        take_out(d, v->slot);
        if (v->node != NULL)
            put_in(d, v);
    }
    d->generation = s->generation;
    d->removal_generation = s->removal_generation;
    forget_values(d);
}

/* ---- Look ---- */

unsigned
node_domains_count(const struct node_domains *d)
{
    return d->n_configured;
}

const struct domain_level *
node_domains_level(const struct node_domains *d, unsigned index)
{
    return d->levels[index];
}

int
node_domains_index(const struct node_domains *d, const char *key)
{
    for (unsigned i = 0; i < d->n_configured; i++)
        if (strcmp(d->levels[i]->key, key) == 0)
            return (int)i;
    return -1;
}

static struct domain_level *
add_level(struct node_domains *d, const char *key)
{
    struct domain_level *level = level_new(key);
    unsigned at = d->n_levels;

    if (at == d->n_configured + OTHER_LEVELS) {
        at = d->n_configured;
        for (unsigned i = at; i < d->n_levels; i++)
            if (d->levels[i]->used < d->levels[at]->used)
                at = i;
        level_free(d->levels[at]);
    } else {
        d->n_levels++;
    }
    d->levels[at] = level;
    make_slots_of(level, 0, d->n_slots);
    for (uint32_t i = 0; i < d->n_slots; i++)
        if (d->slots[i].view != NULL)
            join(level, &d->slots[i], i);
    return level;
}

const struct domain_level *
node_domains_find(struct node_domains *d, const struct snapshot *snapshot, const char *key)
{
    struct domain_level *level = NULL;

    node_domains_update(d, snapshot);
    for (unsigned i = 0; i < d->n_levels && level == NULL; i++)
        if (strcmp(d->levels[i]->key, key) == 0)
            level = d->levels[i];
    if (level == NULL && map_find(d->label_keys, key) == NULL)
        return d->empty;
    if (level == NULL)
        level = add_level(d, key);
    level->used = ++d->n_uses;
    return level;
}

const struct node_domain *
domain_level_of(const struct domain_level *level, const struct node_view *node)
{
    return level->of_slot[node->slot];
}

static uint64_t
room_of(const struct domain_need *need, int64_t mcpu)
{
    if (mcpu < need->mcpu)
        return 0;
    if (need->is_one_per_node)
        return 1;
    if (need->mcpu <= 0 || mcpu / need->mcpu > UINT32_MAX)
        return UINT32_MAX;
    return (uint64_t)(mcpu / need->mcpu);
}

uint64_t
node_domain_most(const struct node_domain *domain, const struct domain_need *need)
{
    uint64_t room = 0;

    for (unsigned size = size_of(need->mcpu); size < DOMAIN_SIZES; size++)
        if (domain->of_size[size] > 0)
            room += domain->of_size[size] * room_of(need, most_of(size));
    return room;
}

uint64_t
domain_need_room(const struct domain_need *need, const struct node_view *node)
{
    return node->is_closed ? 0 : room_of(need, free_mcpu(node));
}

uint64_t
node_domain_room(const struct node_domain *domain, const struct domain_need *need)
{
    uint64_t room = 0;

    for (uint32_t i = 0; i < domain->n_nodes; i++)
        room += domain_need_room(need, domain->nodes[i]);
    return room;
}

bool
node_domains_differ(const struct node_domains *d, const struct object *old_node,
                    const struct object *new_node)
{
    for (unsigned i = 0; i < d->n_levels; i++) {
        const char *before = label_of(old_node, d->levels[i]->key);
        const char *after = label_of(new_node, d->levels[i]->key);

        if ((before == NULL) != (after == NULL) || (before != NULL && strcmp(before, after) != 0))
            return true;
    }
    return false;
}
