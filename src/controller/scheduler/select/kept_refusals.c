/* SPDX-License-Identifier: Apache-2.0 */
/* Most pods that wait fit nowhere, and there may be thousands of signatures of them. The full
 * results of a signature have scores and a tree; a refusal needs one answer for each node and
 * the few nodes that would do, so many more of them fit into the same memory. As soon as too
 * many nodes are feasible, the entry is dropped, for then a node has to be chosen and
 * node_results.c is the right place.
 */
#include "controller/scheduler/select/kept_refusals.h"

#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/select/answer_counts.h"
#include "controller/scheduler/select/rejected_nodes.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"

#define BATCH 64u

/* If more than this part of the nodes has changed, all are filtered again. */
#define CHANGED_PART 4u

struct kept_refusal {
    struct list link; /* most recently used first */
    uint32_t signature;
    uint64_t rejected_id; /* of the set of rejected nodes */
    uint64_t generation;  /* of the latest node change seen */
    uint64_t removal_generation;
    uint32_t n_slots;
    struct answer *answers; /* by slot; OK where there is no node */
    struct node_view *feasible[REFUSAL_FEASIBLE_MOST];
    unsigned n_feasible;
    struct answer_counts counts;
};

struct kept_refusals {
    size_t bytes, used;
    struct list kept;
    struct kept_refusal **by_signature;
    size_t n_signatures;
};

struct kept_refusals *
kept_refusals_new(size_t bytes)
{
    struct kept_refusals *r = xnew(struct kept_refusals);

    r->bytes = bytes > 0 ? bytes : (size_t)32 << 20;
    list_init(&r->kept);
    return r;
}

static size_t
bytes_of(const struct kept_refusal *k)
{
    return sizeof(*k) + k->n_slots * sizeof(*k->answers);
}

static void
drop(struct kept_refusals *r, struct kept_refusal *k)
{
    r->used -= bytes_of(k);
    r->by_signature[k->signature] = NULL;
    list_remove(&k->link);
    answer_counts_fini(&k->counts);
    free(k->answers);
    free(k);
}

void
kept_refusals_free(struct kept_refusals *r)
{
    if (r == NULL)
        return;
    list_foreach_safe(link, &r->kept) drop(r, container_of(link, struct kept_refusal, link));
    free(r->by_signature);
    free(r);
}

static void
reach(struct kept_refusals *r, uint32_t signature)
{
    size_t n = r->n_signatures;

    if (signature < n)
        return;
    r->n_signatures = (size_t)signature * 2 + 64;
    r->by_signature =
        xrealloc_array(r->by_signature, r->n_signatures, sizeof(struct kept_refusal *));
    memset(r->by_signature + n, 0, (r->n_signatures - n) * sizeof(struct kept_refusal *));
}

/* False: too many nodes are feasible. */
static bool
note_feasible(struct kept_refusal *k, struct node_view *node)
{
    if (k->n_feasible == REFUSAL_FEASIBLE_MOST)
        return false;
    k->feasible[k->n_feasible++] = node;
    return true;
}

static void
forget_feasible(struct kept_refusal *k, const struct node_view *node)
{
    for (unsigned i = 0; i < k->n_feasible; i++)
        if (k->feasible[i] == node) {
            k->feasible[i] = k->feasible[--k->n_feasible];
            return;
        }
}

void
kept_refusals_keep(struct kept_refusals *r, const struct cycle *c, uint32_t signature,
                   const struct rejected_nodes *rejected, const struct answer *answers)
{
    const struct snapshot *s = c->snapshot;
    struct kept_refusal *k = xnew(struct kept_refusal);

    reach(r, signature);
    if (r->by_signature[signature] != NULL)
        drop(r, r->by_signature[signature]);
    k->signature = signature;
    k->rejected_id = node_set_id(rejected);
    k->generation = s->generation;
    k->removal_generation = s->removal_generation;
    k->n_slots = s->n_slots;
    k->answers = xmemdup(answers, k->n_slots * sizeof(*answers));
    list_init(&k->link);
    list_add_first(&r->kept, &k->link);
    r->by_signature[signature] = k;
    r->used += bytes_of(k);
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (answers[s->nodes[i]->slot].verdict == VERDICT_OK && !note_feasible(k, s->nodes[i])) {
            drop(r, k);
            return;
        }
    answer_counts_make(&k->counts, s, k->answers);
    while (r->used > r->bytes && r->kept.prev != &k->link)
        drop(r, container_of(r->kept.prev, struct kept_refusal, link));
}

/* Replaces the node's answer and updates the counts. */
static void
set_answer(struct kept_refusal *k, const struct snapshot *s, const struct node_view *node,
           struct answer answer)
{
    struct answer before = k->answers[node->slot];

    k->answers[node->slot] = answer;
    answer_counts_change(&k->counts, s, k->answers, node, before);
}

static bool
ask(struct kept_refusal *k, const struct profile *profile, const struct cycle *c,
    const struct rejected_nodes *rejected, struct node_view *const *nodes, unsigned count)
{
    struct answer answers[BATCH];
    bool are_few = true;

    profile_filter(profile, profile->filters & ~profile->others & ~profile->timed, c,
                   (const struct node_view *const *)nodes, count, answers);
    for (unsigned i = 0; i < count; i++) {
        forget_feasible(k, nodes[i]);
        if (answers[i].verdict == VERDICT_OK && rejects_node(rejected, nodes[i]->slot))
            answers[i] = rejected->answer;
        set_answer(k, c->snapshot, nodes[i], answers[i]);
        if (answers[i].verdict == VERDICT_OK)
            are_few &= note_feasible(k, nodes[i]);
    }
    return are_few;
}

/* Filters the nodes that changed. False: too many nodes are feasible. */
static bool
ask_changed(struct kept_refusal *k, const struct profile *profile, const struct cycle *c,
            const struct rejected_nodes *rejected, unsigned *ret_evaluated)
{
    struct node_view *nodes[BATCH];
    unsigned count = 0;
    bool are_few = true;

    list_foreach(link, c->snapshot->recent)
    {
        struct node_view *v = container_of(link, struct node_view, recent);

        if (v->generation <= k->generation)
            break;
        nodes[count++] = v;
        ++*ret_evaluated;
        if (count == BATCH) {
            are_few &= ask(k, profile, c, rejected, nodes, count);
            count = 0;
        }
    }
    are_few &= ask(k, profile, c, rejected, nodes, count);
    k->generation = c->snapshot->generation;
    return are_few;
}

static bool
is_of_use(const struct kept_refusal *k, const struct snapshot *s)
{
    unsigned most = s->n_nodes / CHANGED_PART + 1;

    return k->n_slots == s->n_slots && k->removal_generation == s->removal_generation
           && snapshot_changed(s, k->generation, most) < most;
}

bool
kept_refusals_find(struct kept_refusals *r, const struct profile *profile, const struct cycle *c,
                   uint32_t signature, const struct rejected_nodes *rejected,
                   struct refusal_answers *ret_refusal)
{
    struct kept_refusal *k = signature < r->n_signatures ? r->by_signature[signature] : NULL;
    unsigned evaluated = 0;

    if (k == NULL)
        return false;
    if (k->rejected_id != node_set_id(rejected) || !is_of_use(k, c->snapshot)
        || !ask_changed(k, profile, c, rejected, &evaluated)) {
        drop(r, k);
        return false;
    }
    list_remove(&k->link);
    list_add_first(&r->kept, &k->link);
    *ret_refusal = (struct refusal_answers){
        .answers = k->answers,
        .n_feasible = k->n_feasible,
        .evaluated = evaluated,
        .counts = &k->counts,
    };
    memcpy(ret_refusal->feasible, k->feasible, sizeof(k->feasible));
    return true;
}
