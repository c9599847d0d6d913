/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/counsel.h"

#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct counsel {
    struct map *by_node;
    struct opinion **items;
    unsigned count, capacity;
};

struct counsel *
counsel_new(void)
{
    struct counsel *a = xnew(struct counsel);

    a->by_node = map_new();
    return a;
}

void
counsel_free(struct counsel *a)
{
    if (a == NULL)
        return;
    for (unsigned i = 0; i < a->count; i++) {
        free(a->items[i]->node_name);
        free(a->items[i]);
    }
    free(a->items);
    map_free(a->by_node);
    free(a);
}

struct opinion *
counsel_add(struct counsel *a, const char *node_name)
{
    struct opinion *o = map_find(a->by_node, node_name);

    if (o != NULL)
        return o;
    o = xnew(struct opinion);
    o->node_name = xstrdup(node_name);
    o->answer = ANSWER_OK;
    map_put(a->by_node, node_name, o);
    xgrow(a->items, a->count, a->capacity);
    a->items[a->count++] = o;
    return o;
}

struct opinion *
counsel_find(const struct counsel *a, const char *node_name)
{
    return map_find(a->by_node, node_name);
}

struct opinion *
counsel_at(const struct counsel *a, unsigned place)
{
    return a->items[place];
}

unsigned
counsel_count(const struct counsel *a)
{
    return a->count;
}
