/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/cluster_parts.h"

#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"

static int
fetch_levels(struct kctl *kctl, struct arena *arena, struct cluster_parts *p, struct error *err)
{
    struct json *status = NULL;
    const struct json *levels;
    int r = kctl_ask(kctl, "/kiln/v1/status", arena, &status, err);

    if (r < 0)
        return r;
    levels = json_get_path(status, "topology.levels");
    p->keys = arena_new_array(arena, const char *, json_count(levels) + 1);
    for (uint32_t i = 0; i < json_count(levels); i++)
        if (json_text(json_at(levels, i)) != NULL)
            p->keys[p->n_levels++] = json_text(json_at(levels, i));
    return 0;
}

static const char *
value_of(const struct json *node, const char *key)
{
    return json_get_text(json_get_path(node, "metadata.labels"), key);
}

static int
compare_parts(const void *a, const void *b)
{
    const struct cluster_part *x = a, *y = b;

    return hostlist_compare(&x->value, &y->value);
}

static void
sort_names(const char **names, size_t count)
{
    if (count > 1)
        qsort(names, count, sizeof(*names), hostlist_compare);
}

/* Each value once. */
static void
find_inner(struct arena *arena, struct cluster_part *part, struct json *const *nodes,
           const char *key)
{
    CLEANUP(map_freep) struct map *seen = map_new();

    part->inner = arena_new_array(arena, const char *, part->n_nodes + 1);
    for (size_t i = 0; i < part->n_nodes; i++) {
        const char *value = value_of(nodes[i], key);

        if (value != NULL && map_put(seen, value, part) == NULL)
            part->inner[part->n_inner++] = value;
    }
    sort_names(part->inner, part->n_inner);
}

/* Two passes: the first one counts. */
static void
add_level(struct arena *arena, struct cluster_parts *p, const struct json *nodes, unsigned level)
{
    CLEANUP(map_freep) struct map *by_value = map_new();
    const size_t first = p->count;
    CLEANUP_FREE struct json **sorted = xnew_array(struct json *, json_count(nodes) + 1);
    size_t at = 0;

    for (uint32_t i = 0; i < json_count(nodes); i++) {
        const char *value = value_of(json_at(nodes, i), p->keys[level]);
        struct cluster_part *part = value != NULL ? map_find(by_value, value) : NULL;

        if (value == NULL)
            continue;
        if (part == NULL) {
            part = &p->items[p->count++];
            *part = (struct cluster_part){.level = level, .value = value};
            map_put(by_value, value, part);
        }
        part->n_nodes++;
    }
    for (size_t k = first; k < p->count; k++) {
        p->items[k].nodes = arena_new_array(arena, const char *, p->items[k].n_nodes + 1);
        p->items[k].n_nodes = 0;
    }
    for (uint32_t i = 0; i < json_count(nodes); i++) {
        const char *value = value_of(json_at(nodes, i), p->keys[level]);
        struct cluster_part *part = value != NULL ? map_find(by_value, value) : NULL;

        if (part != NULL)
            part->nodes[part->n_nodes++] = json_path_text(json_at(nodes, i), "metadata.name");
    }
    for (size_t k = first; k < p->count && level + 1 < p->n_levels; k++) {
        at = 0;
        for (uint32_t i = 0; i < json_count(nodes); i++) {
            const char *value = value_of(json_at(nodes, i), p->keys[level]);

            if (value != NULL && strcmp(value, p->items[k].value) == 0)
                sorted[at++] = json_at(nodes, i);
        }
        find_inner(arena, &p->items[k], sorted, p->keys[level + 1]);
    }
    for (size_t k = first; k < p->count; k++)
        sort_names(p->items[k].nodes, p->items[k].n_nodes);
    qsort(p->items + first, p->count - first, sizeof(*p->items), compare_parts);
}

int
cluster_parts_fetch(struct kctl *kctl, struct arena *arena, struct cluster_parts *ret,
                    struct error *err)
{
    const struct target_object all = {.kind = &node_kind};
    struct json *nodes = NULL;
    int r;

    *ret = (struct cluster_parts){0};
    r = fetch_levels(kctl, arena, ret, err);
    if (r == 0 && ret->n_levels > 0)
        r = kctl_list(kctl, &all, NULL, NULL, arena, &nodes, err);
    if (r < 0 || ret->n_levels == 0)
        return r;
    ret->items =
        arena_new_array(arena, struct cluster_part, (size_t)json_count(nodes) * ret->n_levels + 1);
    for (unsigned i = 0; i < ret->n_levels; i++)
        add_level(arena, ret, nodes, i);
    return 0;
}

bool
cluster_part_has(const struct cluster_part *part, const char *node)
{
    for (size_t i = 0; i < part->n_nodes; i++)
        if (strcmp(part->nodes[i], node) == 0)
            return true;
    return false;
}
