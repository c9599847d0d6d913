/* SPDX-License-Identifier: Apache-2.0 */
/* Best first: what could have the highest score is opened before the rest, and a class becomes
 * buckets, a bucket nodes, and a node its answer. A bound may promise too much and never too
 * little, so the search may stop at the first bound below the best total. Bounds that tie with
 * it are opened all the same, because the winner is drawn at random among all the best, and an
 * evaluation of everything would have drawn among the same.
 *
 * A full cluster is the worst case, as no answer ever closes the search. Therefore it gives up
 * after a quarter of the nodes, and its average cost is compared with that of keeping the
 * results of all nodes.
 */
#include "controller/scheduler/select/bounded_search.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/select/node_buckets.h"
#include "lib/base/alloc.h"
#include "lib/base/random.h"

#define BATCH 32u

/* The search gives up when a quarter of the nodes, but at least VAIN_LEAST of
 * them, were evaluated and none is feasible.
 */
#define VAIN_PART  4u
#define VAIN_LEAST 256u

/* A run also spends time on bounds and on sorting ties. These numbers say how
 * many bounds, or ties, cost as much as evaluating one node; OVERHEAD is the
 * fixed cost of a run, in nodes.
 */
#define OVERHEAD       32u
#define BOUNDS_OF_NODE 4u
#define TIES_OF_NODE   4u

/* A class, bucket or node that is not evaluated yet, with an upper bound of its
 * score.
 */
struct search_candidate {
    int64_t most;
    struct bucket_class *class; /* exactly one of the three is set */
    struct node_bucket *bucket;
    struct node_view *view;
};

struct bounded_search {
    struct node_buckets *buckets;
    struct search_candidate *heap; /* max-heap by `most` */
    uint32_t n_heap, heap_capacity;
    struct node_view **best; /* all nodes with the best total */
    uint32_t n_best, best_capacity;
    int64_t best_total;
    unsigned evaluated, feasible;
    unsigned bounded; /* how many bounds were computed */
    unsigned cost;    /* moving average over runs, times 16 */

    /* The current run */
    const struct profile *profile;
    const struct cycle *c;
    plugin_set filters, scorers;
    int64_t constant; /* the part of the total that is equal for all nodes */
};

struct bounded_search *
bounded_search_new(void)
{
    struct bounded_search *s = xnew(struct bounded_search);

    s->buckets = node_buckets_new();
    s->cost = 16 * OVERHEAD;
    return s;
}

void
bounded_search_free(struct bounded_search *s)
{
    if (s == NULL)
        return;
    node_buckets_free(s->buckets);
    free(s->heap);
    free(s->best);
    free(s);
}

/* The heap */

static void
push(struct bounded_search *s, struct search_candidate one)
{
    uint32_t at = s->n_heap;

    xgrow(s->heap, s->n_heap, s->heap_capacity);
    s->n_heap++;
    while (at > 0 && s->heap[(at - 1) / 2].most < one.most) {
        s->heap[at] = s->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->heap[at] = one;
}

static struct search_candidate
pop(struct bounded_search *s)
{
    struct search_candidate top = s->heap[0], last = s->heap[--s->n_heap];
    uint32_t at = 0, child;

    while ((child = 2 * at + 1) < s->n_heap) {
        if (child + 1 < s->n_heap && s->heap[child + 1].most > s->heap[child].most)
            child++;
        if (s->heap[child].most <= last.most)
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
    return top;
}

/* Bounds */

static int64_t
best_score(const struct bounded_search *s, unsigned plugin, const struct bounds *bounds)
{
    const struct profile_entry *e = &s->profile->entries[plugin];
    int64_t most =
        e->plugin->best_score != NULL ? e->plugin->best_score(e->self, s->c, bounds) : SCORE_MAX;

    if (most == SCORE_NOWHERE && (s->filters & PLUGIN_BIT(plugin)) == 0)
        return SCORE_MAX;
    return most;
}

static bool
is_normalized(const struct bounded_search *s, unsigned plugin)
{
    return s->profile->entries[plugin].plugin->normalization != NORMALIZE_NOT;
}

/* The upper bound of the total of a node within the bounds; INT64_MIN: no such
 * node is feasible.
 */
static int64_t
most_total(struct bounded_search *s, const struct bounds *bounds)
{
    int64_t total = s->constant;

    s->bounded++;
    for (plugin_set left = s->scorers; left != 0; left &= left - 1) {
        unsigned plugin = (unsigned)__builtin_ctzll(left);
        int64_t most;

        if (is_normalized(s, plugin))
            continue;
        most = best_score(s, plugin, bounds);
        if (most == SCORE_NOWHERE)
            return INT64_MIN;
        total += most * s->profile->entries[plugin].weight;
    }
    return total;
}

/* For scores that are normalized by the largest: if no node can score above 0,
 * the normalized score is the same for all nodes and known in advance.
 * Otherwise it depends on every node, and the search cannot be used (false).
 */
static bool
find_constant(struct bounded_search *s)
{
    s->constant = 0;
    for (plugin_set left = s->scorers; left != 0; left &= left - 1) {
        unsigned plugin = (unsigned)__builtin_ctzll(left);
        const struct profile_entry *e = &s->profile->entries[plugin];

        if (!is_normalized(s, plugin))
            continue;
        if (e->plugin->normalization == NORMALIZE_CUSTOM || e->plugin->best_score == NULL)
            return false;
        for (unsigned i = 0; i < s->buckets->n_classes; i++)
            if (s->buckets->classes[i]->n_nodes > 0
                && best_score(s, plugin, &s->buckets->classes[i]->bounds) > 0)
                return false;
        s->constant +=
            profile_normalize_one(0, 0, e->plugin->normalization == NORMALIZE_REVERSED) * e->weight;
    }
    return true;
}

/* Evaluation */

static void
note_best(struct bounded_search *s, struct node_view *view, int64_t total)
{
    if (s->n_best > 0 && total < s->best_total)
        return;
    if (s->n_best > 0 && total > s->best_total)
        s->n_best = 0;
    xgrow(s->best, s->n_best, s->best_capacity);
    s->best[s->n_best++] = view;
    s->best_total = total;
}

static void
evaluate(struct bounded_search *s, struct node_view *const *views, unsigned count)
{
    struct node_view *passed[BATCH];
    const struct node_view *const *nodes = (const struct node_view *const *)passed;
    struct answer answers[BATCH];
    int64_t scores[BATCH], totals[BATCH];
    unsigned n = 0;

    profile_filter(s->profile, s->filters, s->c, (const struct node_view *const *)views, count,
                   answers);
    for (unsigned i = 0; i < count; i++)
        if (answers[i].verdict == VERDICT_OK) {
            totals[n] = s->constant;
            passed[n++] = views[i];
        }
    for (plugin_set left = s->scorers; left != 0 && n > 0; left &= left - 1) {
        unsigned plugin = (unsigned)__builtin_ctzll(left);

        if (is_normalized(s, plugin))
            continue;
        profile_score(s->profile, plugin, s->c, nodes, n, scores);
        for (unsigned i = 0; i < n; i++)
            totals[i] += scores[i] * s->profile->entries[plugin].weight;
    }
    for (unsigned i = 0; i < n; i++)
        note_best(s, passed[i], totals[i]);
    s->evaluated += count;
    s->feasible += n;
}

static bool
can_win(const struct bounded_search *s, int64_t most)
{
    return most != INT64_MIN && (s->n_best == 0 || most >= s->best_total);
}

static void
push_nodes(struct bounded_search *s, const struct node_bucket *bucket)
{
    for (uint32_t i = 0; i < bucket->count; i++) {
        struct bucket_node *node = &s->buckets->nodes[bucket->slots[i]];
        int64_t most = most_total(s, &node->bounds);

        if (can_win(s, most))
            push(s, (struct search_candidate){.most = most, .view = node->view});
    }
}

static void
push_buckets(struct bounded_search *s, struct bucket_class *class)
{
    for (unsigned i = 0; i < BUCKETS_OF_CLASS; i++) {
        struct node_bucket *bucket = &class->buckets[i];
        int64_t most;

        if (bucket->count == 0)
            continue;
        most = most_total(s, node_buckets_bounds(s->buckets, bucket));
        if (can_win(s, most))
            push(s, (struct search_candidate){.most = most, .bucket = bucket});
    }
}

static void
push_classes(struct bounded_search *s)
{
    for (unsigned i = 0; i < s->buckets->n_classes; i++) {
        struct bucket_class *class = s->buckets->classes[i];
        int64_t most = class->n_nodes > 0 ? most_total(s, &class->bounds) : INT64_MIN;

        if (most != INT64_MIN)
            push(s, (struct search_candidate){.most = most, .class = class});
    }
}

/* Takes the next nodes to evaluate. The first batch is a single node, so that
 * its total can already rule out others.
 */
static unsigned
take_batch(struct bounded_search *s, struct node_view **views)
{
    unsigned count = 0, most = s->n_best == 0 ? 1 : BATCH;

    while (count < most && s->n_heap > 0 && can_win(s, s->heap[0].most)) {
        struct search_candidate top = pop(s);

        if (top.class != NULL)
            push_buckets(s, top.class);
        else if (top.bucket != NULL)
            push_nodes(s, top.bucket);
        else
            views[count++] = top.view;
    }
    return count;
}

static int
slot_order(const void *a, const void *b)
{
    uint32_t left = (*(struct node_view *const *)a)->slot;
    uint32_t right = (*(struct node_view *const *)b)->slot;

    return left < right ? -1 : left > right;
}

static unsigned
vain_most(const struct bounded_search *s)
{
    uint32_t part = s->c->snapshot->n_nodes / VAIN_PART;

    return part > VAIN_LEAST ? part : VAIN_LEAST;
}

bool
bounded_search_run(struct bounded_search *s, const struct profile *profile, const struct cycle *c)
{
    struct node_view *views[BATCH];
    unsigned count;

    s->profile = profile;
    s->c = c;
    s->filters = profile->filters & ~profile->others & ~profile->timed & ~c->skipped_filters;
    s->scorers = profile->scores & ~profile->others & ~c->skipped_scores;
    s->n_heap = s->n_best = 0;
    s->evaluated = s->feasible = s->bounded = 0;
    node_buckets_update(s->buckets, c->snapshot);
    if (!find_constant(s))
        return false;
    push_classes(s);
    while ((count = take_batch(s, views)) > 0) {
        evaluate(s, views, count);
        if (s->n_best == 0 && s->evaluated > vain_most(s))
            break;
    }
    s->cost += s->evaluated + s->bounded / BOUNDS_OF_NODE + s->n_best / TIES_OF_NODE + OVERHEAD
               - s->cost / 16;
    if (s->n_best > 1)
        qsort(s->best, s->n_best, sizeof(struct node_view *), slot_order);
    return s->n_best > 0;
}

struct node_view *
bounded_search_pick(const struct bounded_search *s, struct random_source *random,
                    int64_t *ret_total)
{
    *ret_total = s->best_total;
    return s->best[random_below(random, s->n_best)];
}

unsigned
bounded_search_evaluated(const struct bounded_search *s)
{
    return s->evaluated;
}

unsigned
bounded_search_feasible(const struct bounded_search *s)
{
    return s->feasible;
}

unsigned
bounded_search_cost(const struct bounded_search *s)
{
    return s->cost / 16;
}
