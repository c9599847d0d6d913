/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/state/node_tree.h"

#include <string.h>

#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"

struct zone {
    char *name;
    struct node_view **views;
    size_t count, capacity;
};

struct node_tree {
    struct zone *zones; /* in the order they were added */
    size_t n_zones, capacity;
    size_t n_views;
};

struct node_tree *
node_tree_new(void)
{
    return xnew(struct node_tree);
}

void
node_tree_free(struct node_tree *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->n_zones; i++) {
        free(t->zones[i].name);
        free(t->zones[i].views);
    }
    free(t->zones);
    free(t);
}

static const char *
label_of(const struct object *node, const char *name, const char *old_name)
{
    const char *value = string_map_find(&node->meta->labels, name);

    if (value == NULL)
        value = string_map_find(&node->meta->labels, old_name);
    return value != NULL ? value : "";
}

/* Region and zone, separated by a character that no label contains. */
static char *
zone_name(const struct object *node)
{
    return xasprintf(
        "%s\n%s",
        label_of(node, "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"),
        label_of(node, "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"));
}

static struct zone *
find_zone(const struct node_tree *t, const char *name)
{
    for (size_t i = 0; i < t->n_zones; i++)
        if (strcmp(t->zones[i].name, name) == 0)
            return &t->zones[i];
    return NULL;
}

void
node_tree_add(struct node_tree *t, struct node_view *view, const struct object *node)
{
    CLEANUP_FREE char *name = zone_name(node);
    struct zone *zone = find_zone(t, name);

    if (zone == NULL) {
        xgrow(t->zones, t->n_zones, t->capacity);
        zone = &t->zones[t->n_zones++];
        *zone = (struct zone){.name = name};
        name = NULL;
    }
    xgrow(zone->views, zone->count, zone->capacity);
    zone->views[zone->count++] = view;
    t->n_views++;
}

static void
remove_zone(struct node_tree *t, struct zone *zone)
{
    size_t at = (size_t)(zone - t->zones);

    free(zone->name);
    free(zone->views);
    t->n_zones--;
    memmove(zone, zone + 1, (t->n_zones - at) * sizeof(*zone));
}

void
node_tree_remove(struct node_tree *t, struct node_view *view, const struct object *node)
{
    CLEANUP_FREE char *name = zone_name(node);
    struct zone *zone = find_zone(t, name);
    size_t i = 0;

    if (zone == NULL)
        return;
    while (i < zone->count && zone->views[i] != view)
        i++;
    if (i == zone->count)
        return;
    zone->count--;
    memmove(zone->views + i, zone->views + i + 1, (zone->count - i) * sizeof(struct node_view *));
    t->n_views--;
    if (zone->count == 0)
        remove_zone(t, zone);
}

void
node_tree_move(struct node_tree *t, struct node_view *view, const struct object *old_node,
               const struct object *new_node)
{
    CLEANUP_FREE char *old_name = zone_name(old_node);
    CLEANUP_FREE char *new_name = zone_name(new_node);

    if (strcmp(old_name, new_name) == 0)
        return;
    node_tree_remove(t, view, old_node);
    node_tree_add(t, view, new_node);
}

size_t
node_tree_count(const struct node_tree *t)
{
    return t->n_views;
}

void
node_tree_list(const struct node_tree *t, struct node_view **ret_views)
{
    size_t n = 0;

    for (size_t round = 0; n < t->n_views; round++)
        for (size_t i = 0; i < t->n_zones; i++)
            if (round < t->zones[i].count)
                ret_views[n++] = t->zones[i].views[round];
}
