/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a node with kept results when pods on other nodes, or nominated pods,
 * matter to the pod. The plugins that depend on them run on the nodes that the
 * kept results let pass.
 */
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/nominator.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/select/node_finder_state.h"
#include "controller/scheduler/select/node_results.h"
#include "lib/base/alloc.h"

#define BATCH 256u

plugin_set
node_finder_find_others(const struct profile *profile, struct cycle *c)
{
    plugin_set others = profile->others;

    profile_prescore(profile, ALL_PLUGINS, c, NULL, 0);
    return others
           & ((profile->filters & ~c->skipped_filters) | (profile->scores & ~c->skipped_scores));
}

/* By slot: nodes with nominated pods that count against this pod. */
struct crowded_nodes {
    const struct cycle *c;
    bool *is_crowded;
};

static void
note_crowded(const struct node_view *node, void *context)
{
    const struct crowded_nodes *crowded = context;

    if (node->slot < crowded->c->snapshot->n_slots && profile_has_nominated(crowded->c, node))
        crowded->is_crowded[node->slot] = true;
}

/* NULL: there are no nominated pods. */
static bool *
find_crowded(const struct profile *profile, const struct cycle *c)
{
    struct crowded_nodes crowded = {c, NULL};

    if (nominator_count(profile->handle->nominator) == 0)
        return NULL;
    crowded.is_crowded = xnew_array(bool, c->snapshot->n_slots + 1);
    nominator_visit_nodes(profile->handle->nominator, note_crowded, &crowded);
    return crowded.is_crowded;
}

/* Keeps the nodes that are feasible by the kept results and by the other
 * plugins. A node with nominated pods is filtered again, with and without them.
 */
static unsigned
filter_others(struct node_finder *f, const struct profile *profile, const struct cycle *c,
              const struct answer *answers)
{
    const struct snapshot *s = c->snapshot;
    CLEANUP_FREE bool *is_crowded = find_crowded(profile, c);
    unsigned passed = 0;

    for (uint32_t at = 0; at < s->n_nodes;) {
        struct node_view *nodes[BATCH];
        struct answer given[BATCH];
        unsigned count = 0;

        for (; at < s->n_nodes && count < BATCH; at++) {
            uint32_t slot = s->nodes[at]->slot;
            struct answer answer = answers[slot];

            if (is_crowded != NULL && is_crowded[slot]) {
                answer = profile_filter_nominated(profile, c, s->nodes[at]);
                if (answer.verdict == VERDICT_OK)
                    f->feasible[passed++] = s->nodes[at];
                else
                    f->answers[slot] = answer;
            } else if (answer.verdict == VERDICT_OK) {
                nodes[count++] = s->nodes[at];
            } else {
                f->answers[slot] = answer;
            }
        }
        profile_filter(profile, profile->others | profile->timed, c,
                       (const struct node_view *const *)nodes, count, given);
        for (unsigned i = 0; i < count; i++)
            if (given[i].verdict == VERDICT_OK)
                f->feasible[passed++] = nodes[i];
            else
                f->answers[nodes[i]->slot] = given[i];
    }
    return passed;
}

static void
add_others(struct node_finder *f, const struct profile *profile, struct cycle *c, unsigned count)
{
    const struct node_view *const *nodes = (const struct node_view *const *)f->feasible;

    profile_prescore(profile, profile->others, c, nodes, count);
    node_finder_mark(f, STEP_PRESCORE);
    node_finder_add_scores(f, profile, profile->others, c, count);
}

struct node_view *
node_finder_choose_with_others(struct node_finder *f, const struct profile *profile,
                               struct cycle *c, const struct node_results *node_results)
{
    unsigned count;

    node_finder_clear_answers(f, c->snapshot);
    f->diagnosis.answers = f->answers;
    count = filter_others(f, profile, c, node_results_answers(node_results));
    node_finder_mark(f, STEP_FILTER);
    f->facts.evaluated = c->snapshot->n_nodes;
    f->facts.feasible = count;
    f->facts.nodes = f->feasible;
    if (count == 0) {
        node_finder_note_rejectors(f, c->snapshot);
        return NULL;
    }
    if (count == 1)
        return f->feasible[0];
    node_results_totals(node_results, (const struct node_view *const *)f->feasible, count,
                        f->totals);
    add_others(f, profile, c, count);
    node_finder_mark(f, STEP_SCORE);
    f->facts.totals = f->totals;
    f->facts.n_totals = count;
    return node_finder_pick_best(f, count);
}
