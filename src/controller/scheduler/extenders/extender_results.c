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
    struct extender_results *r = xnew(struct extender_results);

    r->by_node = map_new();
    return r;
}

void
extender_results_free(struct extender_results *r)
{
    if (r == NULL)
        return;
    for (unsigned i = 0; i < r->count; i++) {
        free(r->items[i]->node_name);
        free(r->items[i]);
    }
    proposals_fini(&r->proposals);
    free(r->items);
    map_free(r->by_node);
    free(r);
}

struct extender_result *
extender_results_add(struct extender_results *r, const char *node_name)
{
    struct extender_result *result = map_find(r->by_node, node_name);

    if (result != NULL)
        return result;
    result = xnew(struct extender_result);
    result->node_name = xstrdup(node_name);
    result->answer = ANSWER_OK;
    map_put(r->by_node, node_name, result);
    xgrow(r->items, r->count, r->capacity);
    r->items[r->count++] = result;
    return result;
}

void
extender_results_set_proposals(struct extender_results *r, struct proposals *proposals)
{
    proposals_take(&r->proposals, proposals);
    r->has_proposals = true;
}

struct extender_result *
extender_results_find(const struct extender_results *r, const char *node_name)
{
    return map_find(r->by_node, node_name);
}

struct extender_result *
extender_results_at(const struct extender_results *r, unsigned place)
{
    return r->items[place];
}

unsigned
extender_results_count(const struct extender_results *r)
{
    return r->count;
}

const struct proposals *
extender_results_proposals(const struct extender_results *r)
{
    return r->has_proposals ? &r->proposals : NULL;
}
