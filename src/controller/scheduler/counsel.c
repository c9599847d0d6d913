/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/counsel.h"

#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct counsel {
    struct map *by_node;
    struct opinion **items;
    unsigned count, capacity;
    struct proposals proposals;
    bool has_proposals;
};

struct counsel *
counsel_new(void)
{
    struct counsel *c = xnew(struct counsel);

    c->by_node = map_new();
    return c;
}

void
counsel_free(struct counsel *c)
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

struct opinion *
counsel_add(struct counsel *c, const char *node_name)
{
    struct opinion *o = map_find(c->by_node, node_name);

    if (o != NULL)
        return o;
    o = xnew(struct opinion);
    o->node_name = xstrdup(node_name);
    o->answer = ANSWER_OK;
    map_put(c->by_node, node_name, o);
    xgrow(c->items, c->count, c->capacity);
    c->items[c->count++] = o;
    return o;
}

void
counsel_set_proposals(struct counsel *c, struct proposals *proposals)
{
    proposals_take(&c->proposals, proposals);
    c->has_proposals = true;
}

struct opinion *
counsel_find(const struct counsel *c, const char *node_name)
{
    return map_find(c->by_node, node_name);
}

struct opinion *
counsel_at(const struct counsel *c, unsigned place)
{
    return c->items[place];
}

unsigned
counsel_count(const struct counsel *c)
{
    return c->count;
}

const struct proposals *
counsel_proposals(const struct counsel *c)
{
    return c->has_proposals ? &c->proposals : NULL;
}
