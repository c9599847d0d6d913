/* SPDX-License-Identifier: Apache-2.0 */
/* Which pod of a group gets which of the nodes that were found.
 *
 * Each pod of a Job with its own node has its index as rank. Programs sort host
 * lists, and neighbours in a rack have neighbouring names, so the order of the
 * ranks is that of the domains, the widest level first, and in a leaf that of the names.
 * The cycle has found the nodes one after the other, best first; now that all are known,
 * the pods are placed again, each where its index belongs.
 */
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/select/node_finder.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/node_domains.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"

static int
compare_index(const void *a, const void *b)
{
    const struct assignment *x = *(struct assignment *const *)a;
    const struct assignment *y = *(struct assignment *const *)b;
    const int64_t i = x->cycle.pod->job_index, j = y->cycle.pod->job_index;

    return (i > j) - (i < j);
}

/* Only pods of one Job have indexes that can be compared. */
static bool
has_ranks(const struct assignment_group *g)
{
    const int64_t job = g->members[0]->cycle.pod->job_id;

    if (!g->is_one_per_node || g->count < 2 || job == 0)
        return false;
    for (unsigned i = 0; i < g->count; i++)
        if (g->members[i]->cycle.pod->job_id != job || g->members[i]->asks_nodes)
            return false;
    return true;
}

static bool
place(struct scheduler *s, struct assignment *a, const char *node_name)
{
    struct node_view *node;

    cache_update_snapshot(s->cache, &s->snapshot);
    cycle_fini(&a->cycle);
    cycle_init(&a->cycle, a->queued->pod, &s->snapshot);
    node = cache_find_node(s->cache, node_name);
    return node != NULL && node_finder_fits(a->profile, &a->cycle, node)
           && scheduler_assume(s, a, node).verdict == VERDICT_OK;
}

/* Takes all of them back, then places them. */
static bool
place_all(struct scheduler *s, struct cache_mark *mark, struct assignment **members,
          char *const *nodes, unsigned count)
{
    for (unsigned i = count; i-- > 0;)
        scheduler_displace(s, members[i]);
    cache_roll_back(s->cache, *mark);
    *mark = cache_begin(s->cache);
    for (unsigned i = 0; i < count; i++)
        if (!place(s, members[i], nodes[i]))
            return false;
    return true;
}

/* The members that were left out have no node. */
static unsigned
list_placed(const struct assignment_group *g, struct assignment **ret_members)
{
    unsigned count = 0;

    for (unsigned i = 0; i < g->count; i++)
        if (g->members[i]->node_name != NULL)
            ret_members[count++] = g->members[i];
    return count;
}

struct ranked_node {
    const char *values[DOMAIN_LEVELS_MAX]; /* NULL: the node lacks the label */
    char *name;
};

static int
compare_ranked(const void *a, const void *b)
{
    const struct ranked_node *x = a, *y = b;

    for (unsigned i = 0; i < DOMAIN_LEVELS_MAX; i++) {
        int order;

        if (x->values[i] == NULL || y->values[i] == NULL) {
            if (x->values[i] != y->values[i])
                return x->values[i] == NULL ? 1 : -1;
            continue;
        }
        order = hostlist_compare(&x->values[i], &y->values[i]);
        if (order != 0)
            return order;
    }
    return hostlist_compare(&(const char *){x->name}, &(const char *){y->name});
}

static void
sort_nodes(const struct scheduler *s, char **names, unsigned count)
{
    CLEANUP_FREE struct ranked_node *nodes = xnew_array(struct ranked_node, count + 1);

    for (unsigned i = 0; i < count; i++) {
        const struct node_view *node = cache_find_node(s->cache, names[i]);

        nodes[i].name = names[i];
        for (unsigned l = 0; l < node_domains_count(s->domains); l++) {
            const struct node_domain *domain =
                domain_level_of(node_domains_level(s->domains, l), node);

            nodes[i].values[l] = domain != NULL ? domain->value : NULL;
        }
    }
    qsort(nodes, count, sizeof(*nodes), compare_ranked);
    for (unsigned i = 0; i < count; i++)
        names[i] = nodes[i].name;
}

bool
scheduler_order_group(struct scheduler *s, struct assignment_group *g, struct cache_mark *mark)
{
    CLEANUP_FREE struct assignment **members = NULL;
    CLEANUP_FREE char **sorted = NULL, **found = NULL;
    bool is_sorted = true, is_placed;
    unsigned count;

    if (!has_ranks(g))
        return true;
    members = xnew_array(struct assignment *, g->count);
    sorted = xnew_array(char *, g->count);
    found = xnew_array(char *, g->count);
    count = list_placed(g, members);
    qsort(members, count, sizeof(*members), compare_index);
    for (unsigned i = 0; i < count; i++)
        sorted[i] = found[i] = xstrdup(members[i]->node_name);
    sort_nodes(s, sorted, count);
    for (unsigned i = 0; i < count && is_sorted; i++)
        is_sorted = sorted[i] == found[i];
    /* A pod that differs from the others, by its volumes, may not fit there. */
    is_placed = is_sorted || place_all(s, mark, members, sorted, count)
                || place_all(s, mark, members, found, count);
    for (unsigned i = 0; i < count; i++)
        free(found[i]);
    return is_placed;
}
