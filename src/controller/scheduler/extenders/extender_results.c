/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/extenders/extender_results.h"

#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct extender_results {
    struct map *by_node;
    struct extender_result **items;
    unsigned count, capacity;
    struct proposals proposals;
    bool has_proposals;
};

struct extender_results *
extender_results_new(void)
{
    struct extender_results *c = xnew(struct extender_results);

    c->by_node = map_new();
    return c;
}

void
extender_results_free(struct extender_results *c)
{
    if (c == NULL)
        return;
    for (unsigned i = 0; i < c->count; i++) {
        free(c->items[i]->node_name);
        free(c->items[i]);
    }
    proposals_fini(&c->proposals);
    free(c->items);
    map_free(c->by_node);
    free(c);
}

struct extender_result *
extender_results_add(struct extender_results *c, const char *node_name)
{
    struct extender_result *o = map_find(c->by_node, node_name);

    if (o != NULL)
        return o;
    o = xnew(struct extender_result);
    o->node_name = xstrdup(node_name);
    o->answer = ANSWER_OK;
    map_put(c->by_node, node_name, o);
    xgrow(c->items, c->count, c->capacity);
    c->items[c->count++] = o;
    return o;
}

void
extender_results_set_proposals(struct extender_results *c, struct proposals *proposals)
{
    proposals_take(&c->proposals, proposals);
    c->has_proposals = true;
}

struct extender_result *
extender_results_find(const struct extender_results *c, const char *node_name)
{
    return map_find(c->by_node, node_name);
}

struct extender_result *
extender_results_at(const struct extender_results *c, unsigned place)
{
    return c->items[place];
}

unsigned
extender_results_count(const struct extender_results *c)
{
    return c->count;
}

const struct proposals *
extender_results_proposals(const struct extender_results *c)
{
    return c->has_proposals ? &c->proposals : NULL;
}
